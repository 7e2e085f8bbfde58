"""Manifest text -> what is wrong with it, each with its line, before anything is sent.

`read_documents(text)` gives the documents, `check(document)` the problems of one. If any document has a problem that is
an error, none of the text should be applied: that is the caller's to keep. `format_problem` has the one form in which a
problem is printed. The API server checks again whatever arrives; it knows no lines.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.documents import Document, read_documents
from paddock.jobs.model import InvalidJob, Problem
from paddock.jobs.structure import check_structure
from paddock.jobs.text import either, missing, nearest, wrong
from paddock.kube import meta
from paddock.kube.meta import Resource
from paddock.kube.schemas import definition

__all__ = ["KNOWN", "Document", "check", "find_api", "format_problem", "read_documents"]

KNOWN: tuple[Resource, ...] = (
    *KINDS,
    *(value for value in vars(meta).values() if isinstance(value, Resource)),
)
"""Kinds that Paddock itself knows; a cluster that serves more of them is asked by the caller."""


def check(document: Document, known: Collection[Resource] = KNOWN) -> tuple[Problem, ...]:
    """Every problem of one document, in the order of its lines; `severity` tells errors from warnings."""
    problems = list(document.problems) or list(_check_kind(document, known))
    api = find_api(document)
    if api is not None and not document.problems:
        problems += _check_job(document, api)
    placed = [replace(each, line=each.line or document.line_of(each.path)) for each in problems]
    return tuple(sorted(placed, key=lambda each: each.line or 0))


def find_api(document: Document) -> JobApi | None:
    """How the document's kind is read; None for what is no job."""
    version, kind = document.manifest.get("apiVersion"), document.manifest.get("kind")
    return next((api for each, api in KINDS.items() if (each.api_version, each.kind) == (version, kind)), None)


def format_problem(problem: Problem, file: str) -> str:
    """`wide.yaml:12: spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed`."""
    place = f"{file}:{problem.line}" if problem.line else file
    severity = "" if problem.severity == "error" else f"{problem.severity}: "
    path = f"{problem.path}: " if problem.path else ""
    return f"{place}: {severity}{path}{problem.message}"


def _check_job(document: Document, api: JobApi) -> list[Problem]:
    """What `read_job` says, and of the schema what is not said already about the same field or what is around it."""
    try:
        problems = list(api.read_job(document.manifest).warnings)
    except InvalidJob as invalid:
        problems = list(invalid.problems)
    said = {problem.path for problem in problems}
    manifest = {key: value for key, value in document.manifest.items() if key != "status"}
    structural = [
        *check_structure(definition("ObjectMeta"), manifest.get("metadata"), "metadata"),
        *check_structure(api.build_schema(), manifest),
    ]
    for problem in structural:
        if problem.path not in said:
            said.add(problem.path)
            problems.append(problem)
    return problems


def _check_kind(document: Document, known: Collection[Resource]) -> list[Problem]:
    version, kind = document.manifest.get("apiVersion"), document.manifest.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
        jobs = [each for each in known if each in KINDS]
        example = {"apiVersion": f'like "{jobs[0].api_version}"', "kind": f'like "{jobs[0].kind}"'} if jobs else {}
        fields = {"apiVersion": version, "kind": kind}
        bad = {key: value for key, value in fields.items() if not isinstance(value, str) or not value}
        return [
            missing(key, f"a text {example.get(key, '')}".strip())
            if value is None
            else wrong(key, value, f"a text {example.get(key, '')}".strip())
            for key, value in bad.items()
        ]
    if any((each.api_version, each.kind) == (version, kind) for each in known):
        return []
    versions = sorted({each.api_version for each in known if each.kind == kind})
    if versions:
        return [wrong("apiVersion", version, f"{either(versions)} for a {kind}", _nearest_of(version, versions))]
    kinds = sorted({each.kind for each in known if each.api_version == version} or {each.kind for each in known})
    return [wrong("kind", kind, either(kinds), _nearest_of(kind, kinds))]


def _nearest_of(name: str, names: list[str]) -> str:
    """Where one alone is allowed it needs no repeating."""
    return nearest(name, names) if len(names) > 1 else ""
