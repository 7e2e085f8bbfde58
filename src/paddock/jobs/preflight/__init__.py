"""Manifest text -> what is wrong with it, each with its line, before anything is sent.

`read_documents(text)` gives the documents, `check(document)` the problems of one, `check_together` those that only
several show. If any document has a problem that is an error, none of the text should be applied: that is the caller's
to keep. `format_problem` has the one form in which a problem is printed, in each language. The API server checks again
whatever arrives; it knows no lines.

One module for each kind of mistake: `kinds`, `spelling`, `levels` (a field at the wrong level), `containers`, `ports`,
`devices`, `dumps`, `quotes`. They read manifests of any kind of job through `parts`. What must hold for a job to be
planned is not here but in its API (`jobs.apis`), whose problems come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.documents import Document, read_bytes, read_documents
from paddock.jobs.phrases import phrase, render
from paddock.jobs.preflight.containers import check_containers, check_labels
from paddock.jobs.preflight.devices import check_devices
from paddock.jobs.preflight.dumps import check_dump, without_server_fields
from paddock.jobs.preflight.kinds import KNOWN, check_kind, place_versions
from paddock.jobs.preflight.levels import place_fields
from paddock.jobs.preflight.parts import mapping, read_parts
from paddock.jobs.preflight.quotes import check_quotes
from paddock.jobs.preflight.spelling import find_near_api, mend_names
from paddock.jobs.problems import InvalidJob, Problem
from paddock.jobs.structure import check_structure
from paddock.jobs.text import told
from paddock.kube.meta import Resource
from paddock.kube.schemas import definition

__all__ = [
    "KNOWN",
    "Document",
    "check",
    "check_together",
    "find_api",
    "format_problem",
    "read_bytes",
    "read_documents",
    "without_server_fields",
]


def check(document: Document, known: Collection[Resource] = KNOWN) -> tuple[Problem, ...]:
    """Every problem of one document, in the order of its lines; `severity` tells errors from warnings."""
    problems = list(document.problems)
    if document.manifest:
        wrong = any(each.severity == "error" for each in problems)
        problems += [] if wrong else check_kind(document.manifest, known)
        api = find_api(document) or find_near_api(document.manifest, known)
        if api and (lost := _check_indentation(document.manifest)):
            return (_place(lost, document),)
        found = _check_job(document, api) if api else []
        said = {problem.path for problem in problems}
        problems += [each for each in found if each.path not in said]
    placed = [_place(each, document) for each in problems]
    return tuple(sorted(placed, key=lambda each: (each.line or 0, each.column or 0)))


def check_together(documents: Sequence[Document]) -> list[Problem | None]:
    """For each document its problem with those before it: an object of the same kind and name."""
    seen: dict[tuple[object, ...], int] = {}
    result: list[Problem | None] = []
    for document in documents:
        manifest = document.manifest
        name = mapping(manifest.get("metadata")).get("name")
        key = (manifest.get("kind"), mapping(manifest.get("metadata")).get("namespace"), name)
        problem = None
        if manifest and isinstance(name, str) and all(isinstance(part, str | None) for part in key):
            if key in seen:
                said = phrase("a {kind} of this name stands in line {line} already", kind=str(key[0]), line=seen[key])
                problem = _place(told("metadata.name", said, name), document)
            seen.setdefault(key, document.line_of("metadata.name"))
        result.append(problem)
    return result


def find_api(document: Document) -> JobApi | None:
    """How the document's kind is read; None for what is no job."""
    version, kind = document.manifest.get("apiVersion"), document.manifest.get("kind")
    return next((api for each, api in KINDS.items() if (each.api_version, each.kind) == (version, kind)), None)


def format_problem(problem: Problem, file: str, language: str = "en") -> str:
    """`wide.yaml:12:15: spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed`."""
    place = ":".join(str(part) for part in (file, problem.line, problem.column) if part)
    severity = "" if problem.severity == "error" else f"{render(phrase(problem.severity), language)}: "
    path = f"{problem.path}: " if problem.path else ""
    return f"{place}: {severity}{path}{render(problem.said or problem.message, language)}"


def _place(problem: Problem, document: Document) -> Problem:
    if problem.line:
        return problem
    place = document.place_of(problem.path)
    return replace(problem, line=place.line, column=place.column if problem.about_key else place.value_column)


def _check_job(document: Document, api: JobApi) -> list[Problem]:
    """What `read_job` says, then the schema, then the rest: the first word about a field is the only one. Misspelt
    names come besides, and what stands below them is checked as if they were right."""
    schema = api.build_schema()
    schema = {**schema, "properties": {**schema["properties"], "metadata": definition("ObjectMeta")}}
    own = {**document.manifest, "apiVersion": api.resource.api_version, "kind": api.resource.kind}
    whole, spelling = mend_names(own, schema)
    manifest = {key: value for key, value in whole.items() if key != "status"}
    try:
        read = list(api.read_job(whole).warnings)
    except InvalidJob as invalid:
        read = list(invalid.problems)
    parts = read_parts(manifest)
    later = (
        *check_structure(schema, manifest),
        *check_labels(mapping(mapping(manifest.get("metadata")).get("labels")), "metadata.labels"),
        *(problem for part in parts for problem in check_containers(part)),
        *check_devices(parts, api.resource.kind),
        *check_dump(document.manifest),
    )
    problems = _unsaid((*check_quotes(manifest), *read, *later))
    placed = place_versions(place_fields(problems, schema, manifest), api)
    return [*spelling.problems, *map(spelling.as_written, placed)]


def _check_indentation(manifest: Mapping[str, Any]) -> Problem | None:
    """Text that came through a chat or a web form may have lost all of it: then one sentence is worth more than ten."""
    others = [key for key in manifest if key not in ("apiVersion", "kind", "metadata", "spec", "status")]
    if "metadata" not in manifest or manifest["metadata"] is not None or not others:
        return None
    said = phrase(
        "nothing belongs to it: the lines below have lost their indentation; what belongs to a field begins two "
        "columns to the right of it",
    )
    return told("metadata", said, about_key=True)


def _unsaid(problems: Iterable[Problem]) -> list[Problem]:
    said: dict[str, Problem] = {}
    for problem in problems:
        said.setdefault(problem.path, problem)
    return list(said.values())
