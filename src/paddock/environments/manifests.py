"""What somebody says of a new Environment -> its manifest, for the command line and the console. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.environments.definition import BUILD_REQUESTED
from paddock.environments.pytorch.builds import AUTO, BACKEND_PATTERN, CPU, PLAIN
from paddock.environments.requirement_files import Requirements, explain_url
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of
from paddock.kube.times import Moment
from paddock.words.phrases import Names, Phrase, phrase

PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8")
"""To choose from, the newest first: those that uv finds or fetches. Older ones have few wheels of either framework."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
"""The name of an environment variable: an identifier of C, and what Kubernetes allows besides."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of an Environment beside its packages, as typed. What is empty was not typed."""

    images: tuple[str, ...] = ()
    index_url: str = field(default="", repr=False)
    extra: tuple[str, ...] = field(default=(), repr=False)
    variables: tuple[str, ...] = ()
    python: str = ""
    torch_backend: str = ""

    @property
    def names_index(self) -> bool:
        """An index of the options overrides those of the files."""
        return bool(self.index_url or self.extra)


def find_problems(read: Sequence[Requirements], settings: Settings) -> list[Phrase]:
    """What is wrong with a new Environment, in its requirements files and in its settings."""
    return [*(problem for each in read for problem in each.problems), *find_setting_problems(settings)]


def build_manifest(name: str, read: Sequence[Requirements], settings: Settings) -> Manifest:
    """A new Environment, of what has no problems. The settings override the files."""
    urls = [each.index_url for each in read if each.index_url]
    spec: dict[str, Any] = {
        "images": list(settings.images),
        "python": settings.python,
        "requirements": list(dict.fromkeys(package for each in read for package in each.packages)),
        "indexURL": settings.index_url or (urls[-1] if urls else ""),
        "extraIndexURLs": list(settings.extra) or [url for each in read for url in each.extra_index_urls],
        "pipOptions": [option for each in read for option in each.options],
        "torchBackend": settings.torch_backend,
        "env": build_variables(read_variables(settings.variables)),
    }
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value},
    }


def build_request(now: Moment) -> Manifest:
    """The merge patch that asks for a build."""
    return {"metadata": {"annotations": {BUILD_REQUESTED: f"{now:.6f}"}}}


def with_request(environment: Manifest, now: Moment) -> Manifest:
    """The Environment with the request for a build in it."""
    annotations = {**annotations_of(environment), **annotations_of(build_request(now))}
    return {**environment, "metadata": {**environment["metadata"], "annotations": annotations}}


def read_variables(variables: Sequence[str]) -> dict[str, str]:
    return {key: value for key, _, value in (each.partition("=") for each in variables)}


def build_variables(variables: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def find_setting_problems(settings: Settings) -> list[Phrase]:
    """Each sentence after the option that it is about."""
    index = settings.index_url
    problems = [_of_option("--index-url", said) for said in (explain_url(index) if index else None,) if said]
    problems += [_of_option("--extra-index-url", said) for each in settings.extra if (said := explain_url(each))]
    problems += [said for each in settings.variables if (said := _explain_variable(each))]
    if settings.torch_backend and not re.fullmatch(BACKEND_PATTERN, settings.torch_backend):
        problems.append(_explain_backend(settings.torch_backend))
    return [*problems, *(_of_option("--python", said) for said in (explain_python(settings.python),) if said)]


def explain_python(specifier: str) -> Phrase | str | None:
    """Why it is no valid specifier of a Python version; None if it is valid, or empty."""
    if re.fullmatch(r"\d+\.\d+", specifier):
        return phrase("found {found}; did you mean {suggestion}?", found=specifier, suggestion=f"=={specifier}.*")
    # late: what finds interpreters runs programs, and most that import this module name none
    from paddock.environments.pythons import match_version

    try:
        match_version(specifier, (3, 11, 0))
    except ValueError as error:
        return str(error)
    return None


def _explain_backend(text: str) -> Phrase:
    return phrase(
        "--torch-backend: found {found}; wanted is one of {names}, or a build of download.pytorch.org, as in cu128",
        found=repr(text), names=Names((AUTO, CPU, PLAIN)),
    )  # fmt: skip


def _of_option(option: str, problem: Phrase | str) -> Phrase:
    return phrase("{option}: {problem}", option=option, problem=problem)


def _explain_variable(text: str) -> Phrase | None:
    name, equals, _ = text.partition("=")
    if equals and _VARIABLE.fullmatch(name):
        return None
    return phrase("--env: found {found}; NAME=VALUE is wanted, as in FLAGS_use_mkldnn=1", found=repr(text))
