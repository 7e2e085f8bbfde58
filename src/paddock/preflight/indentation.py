"""Manifests that lost their indentation, in a chat or a web form: reports the first such line and restores the
fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from paddock.jobs.apis import JobApi
from paddock.kube.schemas import definition
from paddock.manifests.yaml_nodes import Document
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_OF_JOBS = ("apiVersion", "kind", "metadata", "spec", "status")


class LostIndentation(NamedTuple):
    """A text that has lost its indentation."""

    problems: list[Problem]
    document: Document  # with the fields in their places
    is_flat: bool  # no line is indented, so further checks are useless


def restore_indentation(document: Document, api: JobApi) -> LostIndentation | None:
    """Moves the fields that stand beside an empty `metadata:` or `spec:` into it; None if there are none."""
    manifest = document.manifest
    fields = {
        "metadata": set(definition("ObjectMeta")["properties"]),
        "spec": set(api.build_schema()["properties"]["spec"]["properties"]),
    }
    problems, places = [], dict(document.places)
    restored: dict[str, Any] = dict(manifest)
    for parent, names in fields.items():
        keys = [key for key in manifest if key in names and key not in _OF_JOBS]
        if parent not in manifest or manifest[parent] is not None or not keys:
            continue
        line = document.line_of(parent)
        said = phrase(
            "this line and those below it have lost their indentation: {key} belongs to {parent} in line {line}, and "
            "begins two columns to the right of it",
            key=keys[0], parent=parent, line=line,
        )  # fmt: skip
        problems.append(told(keys[0], said, about_key=True))
        restored[parent] = {key: restored.pop(key) for key in keys}
        places |= {f"{parent}.{path}": place for key in keys for path, place in _below(document, key)}
    if not problems:
        return None
    is_flat = any(value is None for key in ("metadata", "spec") for value in (restored.get(key) or {"": None}).values())
    place = document.position_of(problems[0].path)  # its sentence covers all lines below it
    first = replace(problems[0], line=place.line, column=place.column)
    return LostIndentation([first], replace(document, manifest=restored, places=places), is_flat)


def _below(document: Document, key: str) -> Iterator[tuple[str, Any]]:
    for path, place in document.places.items():
        if path == key or path.startswith((f"{key}.", f"{key}[")):
            yield path, place
