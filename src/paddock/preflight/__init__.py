"""Client-side validation: manifest text -> its problems, each with its line, before anything is sent.

`read_documents(text)` gives the documents, `examine(document)` the problems of one document and the job that it is,
`check` the problems alone, `check_together` those between documents. If one document has an error, the caller must not
apply any of them. `format_problem` formats a problem in any language. The API server validates again,
without line numbers.

Each kind of mistake has a module: `kinds`, `foreign_fields`, `spelling`, `levels` (a field at the wrong level),
`containers`, `ports`, `devices`, `gpu_shares`, `accounts`, `keys` (of metadata), `servers`, `dumps`, `nulls`,
`quotes`, and for what a container starts `commands` with `command_words`, `continuations`, `paddle_options`,
`paddle_cures`, `torchrun_options`, `launchers`, `replicas`, `group_variables`, `graces` and `pod_devices`. They read
manifests of any kind of job through `parts`. `JobApi.read_job` (`jobs.apis`) checks what a job needs to be planned; its
problems come first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import FRAMEWORK_ANNOTATION
from paddock.jobs.model import Job
from paddock.kube.meta import Key, Resource
from paddock.kube.nearness import Suggestions
from paddock.kube.schemas import definition
from paddock.kube.validation.field_errors import Code
from paddock.launches.programs import is_shell
from paddock.manifests.documents import read_bytes, read_documents
from paddock.manifests.dumps import check_dump, without_server_fields
from paddock.manifests.levels import Levels, drop_resolved
from paddock.manifests.nulls import check_nulls, without_nulls
from paddock.manifests.parts import Part, mapping, read_parts
from paddock.manifests.structure import check_structure
from paddock.manifests.unrendered import check_placeholders
from paddock.manifests.yaml_nodes import Document
from paddock.preflight.accounts import check_accounts
from paddock.preflight.commands import check_commands
from paddock.preflight.containers import check_containers, check_labels, check_pod_fields
from paddock.preflight.devices import check_devices
from paddock.preflight.foreign_fields import explain_foreign_fields, place_versions
from paddock.preflight.gpu_shares import check_gpu_shares
from paddock.preflight.indentation import restore_indentation
from paddock.preflight.inside import check_inside, check_owned
from paddock.preflight.keys import check_keys
from paddock.preflight.kinds import BESIDE_JOBS, KNOWN, check_kind
from paddock.preflight.quotes import check_quotes
from paddock.preflight.servers import check_servers
from paddock.preflight.spelling import correct_names, find_near_api
from paddock.words.phrases import phrase, render
from paddock.words.problems import InvalidJob, Problem
from paddock.words.sentences import told

__all__ = [
    "BESIDE_JOBS",
    "KNOWN",
    "Document",
    "Examined",
    "check",
    "check_together",
    "examine",
    "explain_problem",
    "find_api",
    "format_problem",
    "read_bytes",
    "read_documents",
    "without_server_fields",
]


_LONGEST_ROLE = 200
"""Characters of the path of a role."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What one document is, and what is wrong with it."""

    problems: tuple[Problem, ...]
    """Errors and warnings, in the order of the lines."""
    job: Job | None = None
    """The job of the manifest exactly as it is written; None for another kind, and where it cannot be read so."""


def check(document: Document, known: Collection[Resource] = KNOWN, own: Collection[Key] = ()) -> tuple[Problem, ...]:
    """The problems of `examine`."""
    return examine(document, known, own).problems


def examine(
    document: Document, known: Collection[Resource] = KNOWN, own: Collection[Key] = (), *, beside: bool = False
) -> Examined:
    """Every problem of one document, and its job. `own`: the service accounts of Paddock itself, where they are known
    (`kube.service_accounts`); `beside`: as in `check_kind`."""
    problems, job = list(document.problems), None
    if document.inside and not document.manifest and (problem := check_inside(document, known)):
        problems = [problem]  # a list of manifests
    if document.manifest or not (problems or document.inside):  # `{}` is a manifest that lacks all
        inside = check_inside(document, known)
        wrong = any(each.severity == "error" for each in problems)
        replaced = inside is not None and inside.severity == "error"
        problems += [] if wrong or replaced else check_kind(document.manifest, known, beside=beside)
        problems += [inside] if inside else []
        problems += [] if find_api(document) else check_owned(document.manifest)
        api = find_api(document) or find_near_api(document.manifest, known)
        lost = restore_indentation(document, api) if api else None
        if lost:
            document = lost.document
            problems = [*([] if lost.is_flat else problems), *lost.problems]
        found: list[Problem] = []
        if api and not (lost and lost.is_flat):
            found, read = _check_job(document, api, own)
            job = read if find_api(document) and not lost else None
        said = {problem.path for problem in problems}
        problems += [each for each in found if each.path not in said]
    placed = [_place(each, document) for each in problems]
    return Examined(tuple(sorted(placed, key=lambda each: (each.line or 0, each.column or 0))), job)


def check_together(documents: Sequence[Document], namespace: str = "") -> list[Problem | None]:
    """For each document its problem with earlier ones, or None: an object of the same kind and name. `namespace`: of
    documents that name none."""
    seen: dict[tuple[object, ...], int] = {}
    result: list[Problem | None] = []
    for document in documents:
        manifest = document.manifest
        name = mapping(manifest.get("metadata")).get("name")
        key = (manifest.get("kind"), mapping(manifest.get("metadata")).get("namespace") or namespace, name)
        problem = None
        if manifest and isinstance(name, str) and all(isinstance(part, str | None) for part in key):
            if key in seen:
                said = phrase("a {kind} of this name stands in line {line} already", kind=str(key[0]), line=seen[key])
                problem = _place(told("metadata.name", said, name, code=Code.DUPLICATE), document)
            seen.setdefault(key, document.line_of("metadata.name"))
        result.append(problem)
    return result


def find_api(document: Document) -> JobApi | None:
    """The API of the document's kind; None if it is no job."""
    version, kind = document.manifest.get("apiVersion"), document.manifest.get("kind")
    return next((api for each, api in KINDS.items() if (each.api_version, each.kind) == (version, kind)), None)


def format_problem(problem: Problem, file: str, language: str = "en") -> str:
    """`wide.yaml:12:15: spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed`."""
    place = ":".join(str(part) for part in (file, problem.line, problem.column) if part)
    severity = "" if problem.severity == "error" else render(phrase("warning: "), language)
    return f"{place}: {severity}{explain_problem(problem, language)}"


def explain_problem(problem: Problem, language: str = "en") -> str:
    """`spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed`."""
    path = f"{problem.path}: " if problem.path else ""
    return f"{path}{render(problem.said or problem.message, language)}"


def _place(problem: Problem, document: Document) -> Problem:
    if problem.line:
        return problem
    place = document.position_of(problem.path)
    return replace(problem, line=place.line, column=place.column if problem.about_key else place.value_column)


def _check_job(document: Document, api: JobApi, accounts: Collection[Key]) -> tuple[list[Problem], Job | None]:
    """The problems of `read_job`, then of the schema, then the others; only the first problem of a field counts.
    Misspelt names are problems too, and the fields below them are checked as if the names were right. The job: None
    where it is not that of the manifest as it is written."""
    schema = api.build_schema()
    schema = {**schema, "properties": {**schema["properties"], "metadata": definition("ObjectMeta")}}
    nearest = Suggestions().nearest
    own = {**document.manifest, "apiVersion": api.resource.api_version, "kind": api.resource.kind}
    whole, spelling = correct_names(own, schema, nearest)
    written = without_server_fields(whole)
    manifest = without_nulls(written, schema)
    job = None
    try:
        job = api.read_job(manifest)
        read = list(job.warnings)
    except InvalidJob as invalid:
        read = list(invalid.problems)
    parts = read_parts(manifest)
    later = (
        *check_nulls(mapping(written.get("spec")), schema["properties"]["spec"], "spec"),
        *(problem for part in parts for problem in check_containers(part, nearest)),
        *check_pod_fields(parts, _find_restart(api)),
        *check_structure(schema, manifest, partial(Levels(schema, manifest).tell_unknown, nearest=nearest)),
        *check_labels(mapping(mapping(manifest.get("metadata")).get("labels")), "metadata.labels"),
        *check_devices(parts, paddle=_trains_with_paddle(api, manifest)),
        *check_gpu_shares(parts, manifest, framework=_find_framework(api, manifest)),
        *check_servers(parts, api.resource.kind),
        *check_accounts(parts, manifest, accounts),
        *check_keys(parts, manifest, _find_scheduling(api)),
        *check_dump(document.manifest),
    )
    others = (*check_quotes(manifest), *read, *later)
    wrong = {each.path for each in others if each.severity == "error"}
    filled = check_placeholders(manifest, wrong, is_shell)
    commands = check_commands(parts, api.resource.kind, mapping(manifest.get("spec")), is_filled_in=filled.is_filled_in)
    others = tuple(each for each in (*others, *commands) if each.path not in filled.paths)
    problems = _first_of_each_path((*filled.problems, *others))
    placed = place_versions(drop_resolved(explain_foreign_fields(problems, api)), api)
    found = [*spelling.problems, *map(spelling.as_written, _join_roles(placed, parts))]
    return found, None if spelling.problems else job


def _trains_with_paddle(api: JobApi, manifest: Mapping[str, object]) -> bool:
    """Whether the kind is PaddlePaddle's, and its program is not one that trains with no framework."""
    return _find_framework(api, manifest) == "paddle"


def _find_framework(api: JobApi, manifest: Mapping[str, object]) -> str:
    """With what the program of a job trains; empty for no framework."""
    written = mapping(mapping(manifest.get("metadata")).get("annotations"))
    return "" if written.get(FRAMEWORK_ANNOTATION) == "none" else api.framework


def _find_restart(api: JobApi) -> str:
    """The path of a role's restartPolicy, below the role."""
    return "template.spec.restartPolicy" if api.resource.group == "batch.paddlepaddle.org" else "restartPolicy"


def _find_scheduling(api: JobApi) -> str:
    """The path of the kind's scheduling policy."""
    return "spec.schedulingPolicy" if "schedulingPolicy" in api.spec_fields else "spec.runPolicy.schedulingPolicy"


def _join_roles(problems: Iterable[Problem], parts: Sequence[Part]) -> list[Problem]:
    """Merges a warning about several roles into one, at the first role, which names the others."""
    by_path = {part.path: part for part in parts}
    joined: dict[tuple[object, ...], tuple[Problem, list[str]]] = {}
    for each in problems:
        part = _find_part(each.path, by_path)
        is_shared = part is not None and each.severity == "warning"
        key = (
            (each.message, each.path[len(part.path) :])
            if part and is_shared
            else (each.path, each.message, len(joined))
        )
        _, roles = joined.setdefault(key, (each, []))
        roles += [part.name] if part else []
    return [_name_roles(problem, roles[1:]) for problem, roles in joined.values()]


def _find_part(path: str, by_path: Mapping[str, Part]) -> Part | None:
    """The role that a path is in. There may be hundreds of each; a role is two or three steps below the top."""
    dots = islice((place for place, character in enumerate(path[:_LONGEST_ROLE]) if character == "."), 1, None)
    return next((by_path[path[:dot]] for dot in dots if path[:dot] in by_path), None)


def _name_roles(problem: Problem, others: Sequence[str]) -> Problem:
    if not others:
        return problem
    said = phrase("{said} (the same in {roles})", said=problem.said or problem.message, roles=", ".join(others))
    return replace(problem, said=said, message=render(said))


def _first_of_each_path(problems: Iterable[Problem]) -> list[Problem]:
    """A warning hides no error."""
    said: dict[str, Problem] = {}
    for problem in problems:
        first = said.setdefault(problem.path, problem)
        if first.severity != "error" and problem.severity == "error":
            said[problem.path] = problem
    return list(said.values())
