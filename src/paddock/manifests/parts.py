"""The roles in a manifest of any kind of job, for checks of pod templates.

They are read from an invalid job too, so that the user gets all problems at once; no function here raises. The kinds
are in `jobs.apis`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.words.sentences import join_path

_ROLE_DEPTH = 2
"""`spec.worker` and `spec.paddleReplicaSpecs.Worker`."""


@dataclass(frozen=True, slots=True)
class Container:
    path: str
    value: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.value.get("name") or "")

    def amounts(self, key: str) -> Mapping[str, Any]:
        """`requests` or `limits`."""
        return mapping(mapping(self.value.get("resources")).get(key))


@dataclass(frozen=True, slots=True)
class Part:
    """One role."""

    name: str
    path: str
    """In the manifest (`spec.worker`)."""
    replicas: int
    """At least 0."""
    template: Mapping[str, Any]

    @property
    def spec_path(self) -> str:
        return f"{self.path}.template.spec"

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.template.get("spec"))

    def containers(self, *keys: str) -> list[Container]:
        """The containers, or those of the lists `keys` (`initContainers`)."""
        return [
            Container(path, value)
            for key in keys or ("containers",)
            for path, value in mappings(self.spec.get(key), f"{self.spec_path}.{key}")
        ]


def read_parts(manifest: Mapping[str, Any]) -> tuple[Part, ...]:
    return tuple(_find(mapping(manifest.get("spec")), "spec", _ROLE_DEPTH))


def _find(value: Mapping[str, Any], path: str, depth: int) -> Iterator[Part]:
    for key, item in value.items():
        if not isinstance(item, Mapping):
            continue
        here = join_path(path, key)
        if isinstance(item.get("template"), Mapping):
            replicas = item.get("replicas", 1)
            count = replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else 1
            yield Part(key, here, max(count, 0), item["template"])
        elif depth > 1:
            yield from _find(item, here, depth - 1)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any, path: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The mappings of a list, each with its path."""
    items = value if isinstance(value, list) else []
    return [(join_path(path, index), item) for index, item in enumerate(items) if isinstance(item, Mapping)]
