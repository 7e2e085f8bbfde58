"""Finds the right path of a field at the wrong level: `spec.replicas` belongs to `spec.worker.replicas`.

The schema is searched from the field's position, outwards and then inwards; the path with the fewest steps wins. A list
counts as one step, to its first item; a map whose keys are the user's own (`pytorchReplicaSpecs`), to the keys that it
has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from paddock.kube.nearness import Nearest
from paddock.kube.validation.field_errors import Code
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, split_path, unknown

Schema: TypeAlias = Mapping[str, Any]
Steps: TypeAlias = tuple[str, ...]

_NOTHING: Schema = {}
_FARTHEST = 5
"""The limit of steps, outwards and inwards together; a field farther away only has the same name."""
_MOST_PATHS = 3
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_PODS_OWN = ("template", "spec", "resources")
"""The amounts of a whole pod, which Kubernetes has since 1.34: who writes `resources` elsewhere means a container's."""
_MOST_FOUND = 60
"""Paths of one distance that are looked for in the manifest."""


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


class Levels:
    """Where the schema of one manifest has a field. What lies below a part of the schema is collected once, as a
    manifest may have a thousand fields at wrong levels."""

    def __init__(self, schema: Schema, manifest: Mapping[str, Any]) -> None:
        self._schema, self._manifest = _name_keys(schema, manifest), manifest
        self._below: dict[tuple[int, int], Mapping[str, list[Steps]]] = {}

    def tell_unknown(self, path: str, key: str, names: Iterable[str], nearest: Nearest) -> Problem:
        """The problem of an unknown field, with the paths at which the schema has such a field."""
        *parents, key = split_path(path)
        if parents[-1:] == ["resources"]:  # the key is a resource name, which no schema has
            homes: tuple[str, ...] = (join_path(f"{_format(tuple(parents))}.limits", key),)
        elif parents[-2:-1] == ["containers"] and (key in _NATIVE or "/" in key):
            homes = (join_path(f"{_format(tuple(parents))}.resources.limits", key),)
        else:
            homes = self.find_valid_paths(tuple(parents), key)
        return unknown(path, key, _properties(_walk(self._schema, parents)) if homes else names, homes, nearest)

    def find_valid_paths(self, parents: Steps, key: str) -> tuple[str, ...]:
        """The nearest paths with a field `key`, at most three; preferably those whose parent exists in the manifest."""
        around = [_walk(self._schema, parents[: len(parents) - up]) for up in range(min(_FARTHEST, len(parents)) + 1)]
        for distance in range(1, _FARTHEST + 1):
            found = [
                (*parents[: len(parents) - up], *steps, key)
                for up in range(min(distance, len(parents)) + 1)
                for steps in self._find_below(around[up], distance - up).get(key, ())
                if (*steps, key)[-len(_PODS_OWN) :] != _PODS_OWN
            ][:_MOST_FOUND]
            there = [steps for steps in found if _has(self._manifest, steps[:-1])]
            if found:
                return tuple(dict.fromkeys(_format(steps) for steps in (there or found)[:_MOST_PATHS]))
        return ()

    def _find_below(self, outer: Schema, depth: int) -> Mapping[str, list[Steps]]:
        """The fields of the mappings `depth` steps below, with the steps to each mapping."""
        known = self._below.get((id(outer), depth))  # each part lives as long as the schema
        if known is None:
            known = self._below[id(outer), depth] = _collect(outer, depth)
        return known


def _name_keys(schema: Schema, value: Any) -> Schema:
    """The schema with fields for the first keys of each map of objects: those of the roles that there are."""
    if not isinstance(value, Mapping):
        return schema
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        named = dict.fromkeys([key for key in value if isinstance(key, str)][:_MOST_PATHS], others)
        return {**schema, "properties": named} if _properties(others) else schema
    fields = _properties(schema)
    named = {key: _name_keys(fields[key], item) for key, item in value.items() if key in fields}
    changed = {key: inner for key, inner in named.items() if inner is not fields[key]}
    return {**schema, "properties": {**fields, **changed}} if changed else schema


def _collect(outer: Schema, depth: int) -> Mapping[str, list[Steps]]:
    level: list[tuple[Steps, Schema]] = [((), outer)]
    for _ in range(depth):
        level = [
            ((*steps, name), inner) for steps, each in level for name, inner in _children(each) if name != "status"
        ]
    fields: dict[str, list[Steps]] = {}
    for steps, inner in level:
        for name in _properties(inner):
            fields.setdefault(name, []).append(steps)
    return fields


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from _properties(schema).items()
    if isinstance(items := schema.get("items"), Mapping):
        yield "0", items


def _walk(schema: Schema, steps: Iterable[str]) -> Schema:
    for step in steps:
        inner = _properties(schema).get(step)
        if inner is None:
            inner = schema.get("items" if step.isdecimal() else "additionalProperties")
        schema = inner if isinstance(inner, Mapping) else _NOTHING
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
