"""What somebody says of a new Environment -> its manifest, for the command line and the console. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.environments.definition import BUILD_REQUESTED
from paddock.environments.requirement_files import Requirements
from paddock.kube.meta import ENVIRONMENTS, Manifest
from paddock.kube.times import Moment

PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8")
"""To choose from, the newest first: those that uv finds or fetches. Older ones have few wheels of either framework."""


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


def build_manifest(name: str, read: Sequence[Requirements], settings: Settings) -> Manifest:
    """The Environment of requirements without problems. The settings override them."""
    urls = [each.index_url for each in read if each.index_url]
    spec: dict[str, Any] = {
        "images": list(settings.images),
        "python": settings.python,
        "requirements": list(dict.fromkeys(package for each in read for package in each.packages)),
        "indexURL": settings.index_url or (urls[-1] if urls else ""),
        "extraIndexURLs": list(settings.extra) or [url for each in read for url in each.extra_index_urls],
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


def read_variables(variables: Sequence[str]) -> dict[str, str]:
    return {key: value for key, _, value in (each.partition("=") for each in variables)}


def build_variables(variables: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]
