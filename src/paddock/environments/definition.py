"""What an Environment object says, as a value, and the key of what is built from it. Pure.

The key covers what decides the files that are built: requirements, the object's own index, Python and platform. Name,
program, command and variables are not in it, so two Environments with equal requirements share one directory. Machine
settings of pip and uv are not in it either: a mirror serves the same packages.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from paddock.kube.meta import name_of

PROGRAMS = Path(__file__).parent / "programs"
"""The training programs that images stand for; each directory is the WORKDIR of an image."""

BUILD_REQUESTED = "paddock.dev/build-requested"
"""Annotation on an Environment: build it now, though no pod waits for it, and though it has failed a moment ago. A new
value is a new wish; `status.requested` has the last one that was heeded."""

FORMAT = 1
"""Of the built directory. A change of how environments are built gives every one of them a new key."""


@dataclass(frozen=True, slots=True)
class Definition:
    """`spec` of an Environment (paddock.dev/v1alpha1); the fields are described in `environments.crd`."""

    name: str
    images: tuple[str, ...] = ()
    python: str = ""
    requirements: tuple[str, ...] = ()
    index_url: str = field(default="", repr=False)  # may carry a password: never printed
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    program: str = ""
    verify: str = ""

    @property
    def on_host(self) -> bool:
        """Nothing to build: the programs of this machine."""
        return not self.requirements and not self.python

    @property
    def subject(self) -> str:
        """What people know it by: `paddlepaddle 3.0.0`, from the first requirement; the name where there is none."""
        return explain_requirement(self.requirements[0]) if self.requirements else self.name


def read_definition(manifest: Mapping[str, Any]) -> Definition:
    """The spec of a stored Environment, which the API has validated against the schema."""
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    return Definition(
        name=name_of(manifest),
        images=tuple(spec.get("images") or ()),
        python=str(spec.get("python") or ""),
        requirements=tuple(spec.get("requirements") or ()),
        index_url=str(spec.get("indexURL") or ""),
        extra_index_urls=tuple(spec.get("extraIndexURLs") or ()),
        environment=tuple((str(each["name"]), str(each.get("value") or "")) for each in spec.get("env") or ()),
        command=tuple(spec.get("command") or ()),
        program=str(spec.get("program") or ""),
        verify=str(spec.get("verify") or ""),
    )


def build_key(definition: Definition, python: tuple[int, ...], platform: str) -> str:
    """The name of the built directory: 20 hexadecimal digits. URLs go in hashed, as the rest does."""
    content = [
        FORMAT,
        sorted(normalise_requirement(each) for each in definition.requirements),
        definition.index_url,
        list(definition.extra_index_urls),
        list(python[:2]),
        platform,
    ]
    return _digest(content)[:20]


def build_check_key(definition: Definition) -> str:
    """Names one check of a built directory: the snippet and the variables it ran with."""
    return _digest([definition.verify, sorted(definition.environment)])[:12]


def build_spec_digest(manifest: Mapping[str, Any]) -> str:
    """Equal for two Environments that say the same, however they are written."""
    return _digest({**asdict(read_definition(manifest)), "name": ""})[:16]


def normalise_requirement(text: str) -> str:
    """`Protobuf < 7` and `protobuf<7` are one (PEP 503 for the name; spaces mean nothing but before a marker)."""
    requirement, semicolon, marker = text.partition(";")
    compact = re.sub(r"\s+", "", requirement)
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", compact)
    if match is not None and "@" not in compact:
        compact = re.sub(r"[-_.]+", "-", match[0]).lower() + compact[match.end() :]
    return compact + (";" + " ".join(marker.split()) if semicolon else "")


def requirement_name(text: str) -> str:
    """The package of a requirement, in lower case with dashes: `opt_einsum==3.3.0` -> `opt-einsum`."""
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", text.strip())
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else text.strip()


def explain_requirement(text: str) -> str:
    """`paddlepaddle==3.0.0` -> `paddlepaddle 3.0.0`; without a pinned version, the name alone."""
    match = re.fullmatch(r"\s*([\w.-]+)(?:\[[^]]*])?\s*===?\s*([\w.+!-]+)\s*(?:;.*)?", text)
    return f"{match[1]} {match[2]}" if match else requirement_name(text)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
