"""Finds the right path of a field at the wrong level: `spec.replicas` belongs to `spec.worker.replicas`.

The schema is searched from the field's position, outwards and then inwards; the path with the fewest steps wins. A list
counts as one step, to its first item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddock.jobs.text.problems import Problem
from paddock.jobs.text.sentences import join_path, split_path, unknown
from paddock.kube.validation.field_errors import Code

Schema = Mapping[str, Any]

_FARTHEST = 5
"""The limit of steps, outwards and inwards together; a field farther away only has the same name."""
_MOST_PATHS = 3


def tell_unknown(path: str, key: str, names: Iterable[str], schema: Schema, manifest: Mapping[str, Any]) -> Problem:
    """The problem of an unknown field, with the paths at which the schema has such a field."""
    *parents, key = split_path(path)
    if parents[-1:] == ["resources"]:  # the key is a resource name, which no schema has
        homes: tuple[str, ...] = (join_path(f"{_format(tuple(parents))}.limits", key),)
    else:
        homes = find_valid_paths(schema, manifest, tuple(parents), key)
    return unknown(path, key, _properties(_walk(schema, parents)) if homes else names, homes)


def drop_resolved(problems: Iterable[Problem]) -> list[Problem]:
    """Drops problems of missing fields that go away when an unknown field is moved to its right path."""
    problems = list(problems)
    homes = {_valid_path_of(each) for each in problems if each.code is Code.UNKNOWN_FIELD}
    return [each for each in problems if not (each.missing and any(_is_around(home, each.missing) for home in homes))]


def _valid_path_of(problem: Problem) -> str:
    home = problem.suggestion
    parent = _parent(problem.path)
    return home if "." in home or not parent else join_path(parent, home)


def _is_around(home: str, path: str) -> bool:
    return home == path or home.startswith(f"{path}.") or path.startswith(f"{home}.")


def _parent(path: str) -> str:
    return path[: max(path.rfind("."), path.rfind("["), 0)]


def find_valid_paths(
    schema: Schema, manifest: Mapping[str, Any], parents: tuple[str, ...], key: str
) -> tuple[str, ...]:
    """The nearest paths with a field `key`, at most three; preferably those whose parent exists in the manifest."""
    for distance in range(1, _FARTHEST + 1):
        found = [
            (*steps, key)
            for up in range(min(distance, len(parents)) + 1)
            for steps in _inwards(schema, parents[: len(parents) - up], distance - up, key)
        ]
        there = [steps for steps in found if _has(manifest, steps[:-1])]
        if found:
            return tuple(dict.fromkeys(_format(steps) for steps in (there or found)[:_MOST_PATHS]))
    return ()


def _inwards(schema: Schema, start: tuple[str, ...], depth: int, key: str) -> Iterator[tuple[str, ...]]:
    """Paths of mappings `depth` steps below `start` with the field `key`."""
    level: list[tuple[tuple[str, ...], Schema]] = [(start, _walk(schema, start))]
    for _ in range(depth):
        level = [
            ((*steps, name), inner) for steps, outer in level for name, inner in _children(outer) if name != "status"
        ]
    for steps, inner in level:
        if key in _properties(inner):
            yield steps


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from _properties(schema).items()
    if isinstance(items := schema.get("items"), Mapping):
        yield "0", items


def _walk(schema: Schema, steps: Iterable[str]) -> Schema:
    for step in steps:
        inner = _properties(schema).get(step)
        if inner is None and step.isdecimal():
            inner = schema.get("items")
        schema = inner if isinstance(inner, Mapping) else {}
    return schema


def _properties(schema: Schema) -> Mapping[str, Schema]:
    return schema.get("properties") or {}


def _has(value: Any, steps: tuple[str, ...]) -> bool:
    for step in steps:
        if isinstance(value, list):
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return False
    return True


def _format(steps: tuple[str, ...]) -> str:
    path = ""
    for step in steps:
        path = join_path(path, int(step) if step.isdecimal() else step)
    return path
