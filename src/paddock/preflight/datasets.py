"""A manifest of a Dataset -> its problems with their lines, as `preflight` finds those of a job. Pure.

`examine_document` is for a file, in which jobs and Datasets may stand. The API server checks again, without lines; what
an address means only the controller knows there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from paddock.datasets.crd import build_crd
from paddock.datasets.manifests import ACCESS_MODES, Asked, find_problems
from paddock.datasets.options import OPTIONS, read_options
from paddock.datasets.sources import hide
from paddock.kube.meta import DATASETS
from paddock.kube.nearness import Suggestions, nearest
from paddock.kube.schemas import Schema, definition
from paddock.manifests.dumps import check_dump
from paddock.manifests.levels import Levels, drop_resolved
from paddock.manifests.parts import mapping
from paddock.manifests.structure import check_structure
from paddock.manifests.unrendered import check_placeholders
from paddock.manifests.yaml_nodes import Document
from paddock.preflight import BESIDE_JOBS, KNOWN, Examined, examine
from paddock.preflight.spelling import correct_names
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import perhaps, told, wrong

_PATHS = {
    "name": "metadata.name",
    "uri": "spec.source.uri",
    **{name: each.path for name, each in OPTIONS.items()},
}
"""The path in a manifest of each field of `Asked`."""


def examine_document(document: Document, *, beside: bool = False) -> Examined:
    """What a document of any kind is, and its problems in the order of its lines. `beside`: whether a job stands in the
    same file, beside which more kinds are sent."""
    examined = examine(document, BESIDE_JOBS if beside else KNOWN, beside=beside)
    if not is_dataset(document.manifest):
        return examined
    found = examined.problems
    said = {each.path for each in found}
    own = (_place(each, document) for each in find_file_problems(document.manifest) if each.path not in said)
    return Examined(tuple(sorted((*found, *own), key=lambda each: (each.line or 0, each.column or 0))))


def is_dataset(manifest: Mapping[str, Any]) -> bool:
    return (manifest.get("apiVersion"), manifest.get("kind")) == (DATASETS.api_version, DATASETS.kind)


def find_file_problems(manifest: Mapping[str, Any]) -> list[Problem]:
    """Without lines; of a field the first problem alone."""
    schema = _build_schema()
    suggestions = Suggestions()
    whole, spelling = correct_names(manifest, schema, suggestions.nearest)
    own = {key: value for key, value in whole.items() if key != "status"}
    others = [
        *check_structure(schema, own, partial(Levels(schema, own).tell_unknown, nearest=suggestions.nearest)),
        *_check_values(own),
        *check_dump(manifest),
    ]
    found = check_placeholders(own, {each.path for each in others if each.severity == "error"})
    first: dict[str, Problem] = {}
    for problem in (*found.problems, *(each for each in others if each.path not in found.paths)):
        first.setdefault(problem.path, problem)
    return [*spelling.problems, *map(spelling.as_written, drop_resolved(first.values()))]


@cache
def _build_schema() -> Schema:
    own: Schema = build_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    outer = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": definition("ObjectMeta"),
    }
    return {**own, "properties": {**own["properties"], **outer}}


def _check_values(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """What no type says: the address, and what must fit it. A value of a wrong type counts as absent."""
    metadata, spec = mapping(manifest.get("metadata")), mapping(manifest.get("spec"))
    source = mapping(spec.get("source"))
    asked = Asked(_text(metadata, "name"), _text(source, "uri"), **read_options(spec))
    generated = not asked.name and bool(_text(metadata, "generateName"))
    for field, said in find_problems(asked):
        if field == "uri" and "uri" not in source:
            continue  # its absence is told by the schema
        if field == "name" and generated:
            continue
        if field == "access_modes":
            continue  # each has its own place, below
        found = hide(asked.uri) if field == "uri" else getattr(asked, field)
        yield told(_PATHS[field], said, found)
    for place, mode in enumerate(asked.access_modes):
        yield from _check_mode(place, mode)
    yield from _check_round(spec.get("round"))


def _check_mode(place: int, mode: str) -> Iterator[Problem]:
    if mode not in ACCESS_MODES:
        near = nearest(mode, ACCESS_MODES)
        said = phrase("{found} is no access mode: write {allowed}", found=repr(mode), allowed=ACCESS_MODES)
        yield told(
            f"spec.storage.accessModes[{place}]",
            phrase("{said}{perhaps}", said=said, perhaps=perhaps(near)),
            mode,
            ", ".join(ACCESS_MODES),
            near,
        )


def _check_round(value: object) -> Iterator[Problem]:
    if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value < 2**31:
        yield wrong("spec.round", value, phrase("a whole number from {low} to {high}", low=0, high=2**31 - 1))


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _place(problem: Problem, document: Document) -> Problem:
    if problem.line:
        return problem
    place = document.position_of(problem.path)
    return replace(problem, line=place.line, column=place.column if problem.about_key else place.value_column)
