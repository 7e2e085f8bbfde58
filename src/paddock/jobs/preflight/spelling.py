"""A manifest read as it was meant: misspelt names are told, and what stands below them is checked all the same.

Without this a misspelt `workers` would hide every mistake of the workers until it is mended, and the one after it, and
so on. The checks get the mended manifest, so their paths have the right names; `Spelling.as_written` gives them back as
the user wrote them. A name is mended only where it is very near to one field that is not there; others are told by
`jobs.structure`, and those that belong elsewhere by `levels`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.preflight.levels import Schema, find_homes
from paddock.jobs.problems import Problem
from paddock.jobs.text import join_path, nearest, split_path, unknown
from paddock.kube.meta import Resource

_NEAR = 0.75
"""How alike two names must be for one to be read as the other; to be asked about they need less."""


@dataclass(slots=True)
class Spelling:
    """What was mended: one problem for each name, and the paths as they are and as they were written."""

    problems: list[Problem] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)

    def as_written(self, problem: Problem) -> Problem:
        """The innermost misspelt name around the problem decides: its path has those around it already."""
        around = [path for path in self.written if _is_within(problem.path, path)]
        if not around:
            return problem
        mended = max(around, key=len)
        return replace(problem, path=self.written[mended] + problem.path[len(mended) :])

    def path_as_written(self, path: str) -> str:
        return self.as_written(Problem(path, "")).path


def find_near_api(manifest: Mapping[str, Any], known: Collection[Resource]) -> JobApi | None:
    """The kind of job that was most likely meant; its own kind where that is right."""
    version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    alike = {
        _likeness(kind, each.kind) + _likeness(version, each.api_version): api
        for each, api in KINDS.items()
        if each in known and min(_likeness(kind, each.kind), _likeness(version, each.api_version)) >= _NEAR
    }
    return alike[max(alike)] if alike else None


def mend_names(manifest: Mapping[str, Any], schema: Schema) -> tuple[dict[str, Any], Spelling]:
    """A copy of the manifest with the right names, and what was mended."""
    spelling = Spelling()
    return _Mending(manifest, schema, spelling).mapping(manifest, schema, ""), spelling


@dataclass(frozen=True, slots=True)
class _Mending:
    manifest: Mapping[str, Any]
    schema: Schema
    spelling: Spelling

    def mapping(self, value: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        """`path` has the right names."""
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        closed = bool(properties) and not others and not schema.get("x-kubernetes-preserve-unknown-fields")
        result: dict[str, Any] = {}
        for key, item in value.items():
            name = self._right_name(key, value, properties, path) if closed and key not in properties else key
            if name in result:  # of two that are read as one field, the second is merely unknown
                name = key
            if name != key:
                self._note(path, key, name, properties)
            inner = properties.get(name, others if isinstance(others, Mapping) else {})
            result[name] = self._value(item, inner, join_path(path, name))
        return result

    def _value(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, dict):
            return self.mapping(value, schema, path)
        items = schema.get("items")
        if isinstance(value, list) and isinstance(items, Mapping):
            return [self._value(item, items, join_path(path, index)) for index, item in enumerate(value)]
        return value

    def _right_name(self, key: str, value: Mapping[str, Any], properties: Mapping[str, Schema], path: str) -> str:
        name = nearest(key, properties)
        if not name or name in value or _likeness(key, name) < _NEAR:
            return key
        if _shape(value[key]) != _SHAPES.get(properties[name].get("type", ""), "scalar"):
            return key
        in_other_case = key.casefold() == name.casefold()
        parents = tuple(split_path(path))
        return name if in_other_case or not find_homes(self.schema, self.manifest, parents, key) else key

    def _note(self, path: str, key: str, name: str, properties: Mapping[str, Schema]) -> None:
        written = join_path(self.spelling.path_as_written(path), key)
        self.spelling.problems.append(unknown(written, key, properties))
        self.spelling.written[join_path(path, name)] = written


_SHAPES = {"object": "mapping", "array": "list"}


def _shape(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"


def _likeness(name: str, other: str) -> float:
    """From 0 to 1; the case of letters makes no difference."""
    return difflib.SequenceMatcher(None, name.casefold()[:100], other.casefold()).ratio()


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))
