"""What a claim is filled with, and the name that follows from it. Pure.

A claim is named by its content: equal content is one claim, which jobs of the namespace share, and another content is
another claim, so nothing in a claim changes while a job mounts it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Any

from paddock.environments.requirement_files import Requirements
from paddock.environments.requirements import requirement_name
from paddock.kube.meta import Manifest
from paddock.words.phrases import Phrase, phrase

PACKAGES_SIZE = "10Gi"
"""Asked for without --storage: torch with CUDA takes 6 GiB."""
_LEAST = 2**30
"""Bytes of a claim for a directory: what clouds give at least, as a rule."""
_DIGITS = 12
_SHOWN = 4
_PYTHON = re.compile(r"(?:.*/)?python(?:\d+(?:\.\d+)?)?")
_WHO = re.compile(r"\bhttps?://([^/\s@]+)@")
_OF_VARIABLES = re.compile(r"\$\{[A-Z0-9_]+\}")
"""pip and uv put the variable's value there."""


class Kind(StrEnum):
    """The values of the label."""

    PACKAGES = "packages"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Content:
    """What one claim is filled with."""

    kind: Kind
    digest: str
    """64 hexadecimal digits, of all that decides what is in the claim."""
    about: str
    """In a few words, for who lists the claims: `numpy, six for registry.example/paddle:3.3`."""
    size: str
    """Of the claim, a quantity."""
    image: str
    python: str
    """The program by which the pod is started: as the job's command names it."""
    template: Mapping[str, Any] = field(repr=False, compare=False)
    """The pods of the job that mount it: the one that fills it runs as they do."""
    container: Mapping[str, Any] = field(repr=False, compare=False)
    """The one of the template that trains."""
    requirements: str = field(default="", repr=False)
    """A text as pip and uv read it."""

    @property
    def name(self) -> str:
        """Of the claim: `env-3f2a9c01de77`, `code-…`."""
        return f"{'env' if self.kind is Kind.PACKAGES else 'code'}-{self.digest[:_DIGITS]}"


def build_packages(read: Requirements, template: Mapping[str, Any], container: Mapping[str, Any], size: str) -> Content:
    """The packages of a requirements file over an image. Which packages an image has is its own matter, so the image is
    part of the name; what a tag stands for may change without being seen."""
    text = write_requirements(read)
    image, python = str(container.get("image") or ""), choose_python(container)
    names = [requirement_name(each) for each in read.packages]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    about = f"{', '.join(names[:_SHOWN])}{more} for {image}"
    indexes = [each for each in list_variables(container) if each["name"].startswith(("PIP_", "UV_"))]
    digest = hash_values(
        "packages", sorted(read.packages), read.index_url, read.extra_index_urls, image, python, indexes,
        *([read.options] if read.options else ()),
    )  # fmt: skip
    return Content(Kind.PACKAGES, digest, about, size or PACKAGES_SIZE, image, python, template, container, text)


def build_code(
    digest: str, size: int, about: str, template: Mapping[str, Any], container: Mapping[str, Any]
) -> Content:
    """A directory. `digest`: of its files; `size`: their bytes. It has nothing of the image, whose Python unpacks it
    alone."""
    wanted = max(_LEAST, size * 5 // 4)
    image, python = str(container.get("image") or ""), choose_python(container)
    return Content(Kind.CODE, digest, about, f"{ceil(Fraction(wanted, 2**30))}Gi", image, python, template, container)


def hash_values(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def write_requirements(read: Requirements) -> str:
    """One text of a file and of those that it includes: the options, an empty line, the packages."""
    options = [f"--index-url {read.index_url}"] if read.index_url else []
    options += [f"--extra-index-url {each}" for each in read.extra_index_urls]
    options += [each for each in read.options if not each.startswith("#")]
    return "\n".join([*options, "", *read.packages, ""])


def find_problems(read: Requirements, file: str) -> list[Phrase]:
    """What a pod of a cluster cannot do with a requirements file, or may not be told. Addresses are not printed."""
    problems = [*read.problems, *read.unshared]
    for place, package in zip(read.places, read.packages, strict=True):
        if _tells_a_secret(package):
            problems.append(phrase("{option}: {problem}", option=place, problem=_explain_password()))
        elif "file:" in package or package.startswith("/"):
            said = phrase("found a file of this machine, which no pod of a cluster sees: put the wheel into a package "
                          "index, or into the image")  # fmt: skip
            problems.append(phrase("{option}: {problem}", option=place, problem=said))
    if any(each.startswith("-c ") for each in read.options):
        said = phrase("constraints are not read: write the versions into the requirements")
        problems.append(phrase("{option}: {problem}", option=file, problem=said))
    for url in filter(None, (read.index_url, *read.extra_index_urls, *read.options)):
        if _tells_a_secret(url):
            problems.append(phrase("{option}: {problem}", option=file, problem=_explain_password()))
        elif url.startswith(("file:", "-f file:", "-f /")):
            said = phrase("its package index is a directory of this machine, which no pod of a cluster sees")
            problems.append(phrase("{option}: {problem}", option=file, problem=said))
    return problems


def _tells_a_secret(text: str) -> bool:
    """Whether an address has a user name, a password or a token in it."""
    return any(_OF_VARIABLES.sub("", who).strip(":") for who in _WHO.findall(text))


def _explain_password() -> Phrase:
    return phrase(
        "an address has a user name or a password in it, which who may read pods of the namespace could read: in a "
        "manifest, the variable PIP_INDEX_URL or UV_DEFAULT_INDEX of the container can be a Secret's (valueFrom)"
    )


def choose_python(container: Mapping[str, Any]) -> str:
    """The Python that the container's command starts, else `python3`: of another one the packages would be for
    nothing."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    first = str(words[0]) if words else ""
    return first if _PYTHON.fullmatch(first) else "python3"


_OF_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
               "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH")  # fmt: skip


def list_variables(container: Mapping[str, Any]) -> list[Manifest]:
    """Those of the job's container that say where packages come from, and how its Python starts; no other, as they may
    be secrets."""
    return [
        dict(each)
        for each in container.get("env") or ()
        if str(each.get("name")).startswith(("PIP_", "UV_")) or str(each.get("name")).upper() in _OF_NETWORK
    ]


def list_same(contents: Iterable[Content]) -> Sequence[Content]:
    """Each once: roles of one image share a claim."""
    return list({each.name: each for each in contents}.values())
