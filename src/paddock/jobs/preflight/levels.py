"""Where a field belongs that stands at the wrong level: `spec.replicas` is `spec.worker.replicas`.

The schema is searched from where the field stands, outwards and then inwards; the fewest steps win. Lists count as a
step and are entered at their first item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paddock.jobs.problems import Problem
from paddock.jobs.text import is_unknown, join_path, split_path, unknown

Schema = Mapping[str, Any]

_FARTHEST = 5
"""Steps outwards and inwards together; what is farther away is another thing of the same name."""
_MOST_HOMES = 3


def place_fields(problems: Iterable[Problem], schema: Schema, manifest: Mapping[str, Any]) -> list[Problem]:
    """The same problems; those of fields that nobody knows say where such a field belongs, and what is missing there is
    not complained of as well."""
    result = []
    mended: set[str] = set()
    for problem in problems:
        if is_unknown(problem):
            problem = _place_field(problem, schema, manifest)
            home = problem.suggestion
            *parents, _ = split_path(problem.path)
            mended.add(home if "." in home or not parents else join_path(_parent(problem.path), home))
        result.append(problem)
    return [each for each in result if not any(_is_around(home, _path_of_lack(each)) for home in mended)]


def _path_of_lack(problem: Problem) -> str:
    """Where something is missing or empty, if that is what the problem is of."""
    empty = dict(problem.said.args).get("path") if problem.said else None
    return problem.path if problem.found == "nothing" else str(empty or "")


def _is_around(home: str, path: str) -> bool:
    return home == path or home.startswith(f"{path}.") or path.startswith(f"{home}.")


def _parent(path: str) -> str:
    return path[: max(path.rfind("."), path.rfind("["), 0)]


def _place_field(problem: Problem, schema: Schema, manifest: Mapping[str, Any]) -> Problem:
    *parents, key = split_path(problem.path)
    if parents[-1:] == ["resources"]:  # its fields are names of resources, of which no schema knows
        homes: tuple[str, ...] = (join_path(f"{_format(tuple(parents))}.limits", key),)
    else:
        homes = find_homes(schema, manifest, tuple(parents), key)
    names = _properties(_walk(schema, parents))
    return unknown(problem.path, key, names, homes) if homes else problem


def find_homes(schema: Schema, manifest: Mapping[str, Any], parents: tuple[str, ...], key: str) -> tuple[str, ...]:
    """The nearest paths that have a field `key`, at most three; of those, such as the manifest has room for."""
    for distance in range(1, _FARTHEST + 1):
        found = [
            (*steps, key)
            for up in range(min(distance, len(parents)) + 1)
            for steps in _inwards(schema, parents[: len(parents) - up], distance - up, key)
        ]
        there = [steps for steps in found if _has(manifest, steps[:-1])]
        if found:
            return tuple(dict.fromkeys(_format(steps) for steps in (there or found)[:_MOST_HOMES]))
    return ()


def _inwards(schema: Schema, start: tuple[str, ...], depth: int, key: str) -> Iterator[tuple[str, ...]]:
    """Paths of mappings `depth` steps below `start` that have the field."""
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
