"""In which fields the manifests of several jobs, or of several runs of one, differ. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FEWEST, MOST = 2, 8
"""Jobs, or runs, that stand side by side."""
_NAMED = "name"
"""What Kubernetes tells the items of containers, variables, ports and volumes apart by."""
_OWN = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Difference:
    """`values`: of each manifest, in their order; None where it has no such field."""

    path: str
    values: tuple[str | None, ...]


def find_differences(manifests: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """The fields that are not the same in all, by path, in the order in which they are first met. Names and namespaces
    differ always, so they are left out."""
    return compare(manifests).differences


@dataclass(frozen=True, slots=True)
class Comparison:
    """What several manifests have in common, and in what they differ."""

    differences: list[Difference]
    equal: int
    """How many fields are the same in all."""


def compare(manifests: Sequence[Mapping[str, Any]]) -> Comparison:
    """As `find_differences`, with the number of the other fields."""
    flat = [dict(_flatten(manifest, "")) for manifest in manifests]
    paths = dict.fromkeys(path for each in flat for path in each if path not in _OWN)
    found = [Difference(path, tuple(each.get(path) for each in flat)) for path in paths]
    differences = [each for each in found if len(set(each.values)) > 1]
    return Comparison(differences, len(found) - len(differences))


def _flatten(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _flatten(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) and _NAMED in each for each in value):
        for each in value:
            yield from _flatten(
                {key: own for key, own in each.items() if key != _NAMED} or "", f"{path}[{each[_NAMED]}]"
            )
    elif isinstance(value, list):
        yield path, " ".join(map(_write, value))  # a command is read as one line
    else:
        yield path, _write(value)


def _write(value: Any) -> str:
    """As in YAML: `true`, `null`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
