"""Corrects misspelt field names of a manifest, so that the fields below them are checked too.

Without this, a misspelt `workers` would hide all mistakes below it until the user corrects the name. The checks get the
corrected manifest, with the right paths; `Spelling.as_written` converts these to the user's spelling. A name is
corrected only if it is very similar to one field that is absent. `manifests.structure` reports other unknown fields,
and `levels` those at the wrong level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Resource
from paddock.kube.nearness import Nearest, likeness
from paddock.manifests.levels import Levels, Schema
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, split_path, unknown

_NEAR = 0.75
"""The similarity from which a name is corrected; for a suggestion less is enough (`kube.nearness`)."""


@dataclass(slots=True)
class Spelling:
    """The corrections of names."""

    problems: list[Problem] = field(default_factory=list)
    """One for each name."""
    written: dict[str, str] = field(default_factory=dict)
    """Corrected path -> path as written."""

    def as_written(self, problem: Problem) -> Problem:
        """The problem with its path as the user wrote it, by the innermost corrected name: its written path includes
        the outer ones."""
        corrected = next((path for path in _outwards(problem.path) if path in self.written), None)
        if corrected is None:
            return problem
        return replace(problem, path=self.written[corrected] + problem.path[len(corrected) :])

    def path_as_written(self, path: str) -> str:
        return self.as_written(Problem(path, "")).path


def find_near_api(manifest: Mapping[str, Any], known: Collection[Resource]) -> JobApi | None:
    """The most similar kind of job, which may be the manifest's own; None if none is similar."""
    version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    alike = {
        likeness(kind, each.kind) + likeness(version, each.api_version): api
        for each, api in KINDS.items()
        if each in known and min(likeness(kind, each.kind), likeness(version, each.api_version)) >= _NEAR
    }
    return alike[max(alike)] if alike else None


def correct_names(manifest: Mapping[str, Any], schema: Schema, nearest: Nearest) -> tuple[dict[str, Any], Spelling]:
    """A copy of the manifest with the right names, and the corrections."""
    spelling = Spelling()
    return _Correction(Levels(schema, manifest), spelling, nearest).mapping(manifest, schema, ""), spelling


@dataclass(frozen=True, slots=True)
class _Correction:
    levels: Levels
    spelling: Spelling
    nearest: Nearest

    def mapping(self, value: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        """A mapping with corrected names. `path`: its corrected path."""
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        closed = bool(properties) and not others and not schema.get("x-kubernetes-preserve-unknown-fields")
        result: dict[str, Any] = {}
        for key, item in value.items():
            name = self._right_name(key, value, properties, path) if closed and key not in properties else key
            if name in result:  # of two names for one field, only the first is corrected
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
        name = self.nearest(key, sorted(properties))
        if not name or name in value or likeness(key, name) < _NEAR:
            return key
        if _shape(value[key]) != _SHAPES.get(properties[name].get("type", ""), "scalar"):
            return key
        in_other_case = key.casefold() == name.casefold()
        parents = tuple(split_path(path))
        return name if in_other_case or not self.levels.find_valid_paths(parents, key) else key

    def _note(self, path: str, key: str, name: str, properties: Mapping[str, Schema]) -> None:
        written = join_path(self.spelling.path_as_written(path), key)
        self.spelling.problems.append(unknown(written, key, properties, nearest=self.nearest))
        self.spelling.written[join_path(path, name)] = written


_LONGEST_PATH = 1_000
"""Characters within which a corrected name is looked for: a name of the user's own may have a million dots."""
_SHAPES = {"object": "mapping", "array": "list"}


def _shape(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"


def _outwards(path: str) -> Iterator[str]:
    """The path, then each that it is below, the innermost first."""
    yield path
    for place in range(min(len(path), _LONGEST_PATH) - 1, 0, -1):
        if path[place] in ".[":
            yield path[:place]
