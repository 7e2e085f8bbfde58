"""The runs of jobs as rows of a list: which are shown, in which order, and what each says. Pure.

A row is a run that the history keeps, or a job of a cluster that keeps none; the second has no number, no metrics and
none of what a laptop records. What is not known sorts last, in either direction.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from paddock.history.metrics import Metrics
from paddock.history.notes import Note, read_note
from paddock.history.records import RunRecord
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import CauseRecord
from paddock.kube.code_annotation import CODE_ANNOTATION, Code, read_code, write_code
from paddock.kube.described import read_owner
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.meta import annotations_of, metadata
from paddock.kube.times import Moment, read_time
from paddock.views.numbers import find_first
from paddock.views.phases import show_phase
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, counted

_REQUIREMENTS = "paddock.dev/requirements"
_DIGEST = 7
_MOST_COMMANDS = 32
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class RunView:
    """One row."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    number: int
    """Among the runs of its name, from 1; 0 of a job whose runs are not kept."""
    end: str
    """How it ended, in one word, or its phase so far (`RunRecord.outcome`)."""
    cause: CauseRecord | None
    is_over: bool
    began: Moment | None
    ended: Moment | None
    attempts: int
    restarts: int
    code: Code | None = None
    environment: str = ""
    """The name of its Environment, else of its requirements file, else its image."""
    note: Note = field(default_factory=Note)
    owner: str = ""
    metrics: Mapping[str, Metrics] = field(default_factory=dict)
    record: RunRecord | None = None

    @property
    def has_failed_rank(self) -> bool:
        """It completed, and a rank of it failed."""
        return has_failed_rank(self.end, self.cause)

    @property
    def loss(self) -> float | None:
        """The last loss of its first rank, that of evaluations where it printed no other."""
        found = (find_first(self.metrics).get(name) for name in ("loss", "val_loss"))
        return next((float(each) for each in found if isinstance(each, int | float)), None)

    def measure(self, now: Moment) -> float | None:
        """Its seconds from the begin to the end, or until now; None of what has not begun, and of a run that was never
        seen to end."""
        if self.began is None:
            return None
        return max(0.0, (now if self.ended is None else self.ended) - self.began)


def view_run(record: RunRecord, note: Note) -> RunView:
    """The row of a run. `note`: the one that counts (`history.note_files.choose_note`)."""
    cause = record.told
    return RunView(
        record.api_version, record.kind, record.namespace, record.name, record.uid, record.run, record.outcome,
        CauseRecord(cause.reason, dict(cause.args), cause.since) if cause else None,
        record.over or bool(record.given_up), record.created, record.ended, len(record.attempts) or 1, record.restarts,
        read_code(record.annotations.get(CODE_ANNOTATION, "")), name_environment(record.annotations, record.spec),
        note, read_owner(record.annotations), record.metrics, record,
    )  # fmt: skip


def view_job(stored: StoredJob) -> RunView:
    """The row of a job of which no run is kept."""
    status, annotations = stored.shown_status, annotations_of(stored.manifest)
    namespace, name = stored.key.namespace, stored.key.name
    spec = stored.manifest.get("spec")
    return RunView(
        stored.resource.api_version, stored.resource.kind, namespace, name, stored.uid, 0, show_phase(status),
        status.cause, status.phase.terminal,
        status.started or read_time(metadata(stored.manifest).get("creationTimestamp")), status.finished,
        status.attempt + 1, status.restarts,
        code=read_code(annotations.get(CODE_ANNOTATION, "")),
        environment=name_environment(annotations, spec if isinstance(spec, Mapping) else {}),
        note=read_note(annotations), owner=read_owner(annotations),
    )  # fmt: skip


def name_environment(annotations: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    """The Environment that the job names, else its requirements file, else the image of its first container."""
    for key in (ENVIRONMENT_ANNOTATION, _REQUIREMENTS):
        if found := annotations.get(key) or _find_annotation(spec, key):
            return found
    images = (str(each.get("image") or "") for each in _walk_containers(spec, 0))
    return next((image for image in images if image), "")


def _find_annotation(value: Any, key: str, depth: int = 0) -> str:
    """Of the first template of pods that has it."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return ""
    known = value.get("annotations")
    if isinstance(known, Mapping) and isinstance(known.get(key), str):
        return str(known[key])
    return next((found for each in value.values() if (found := _find_annotation(each, key, depth + 1))), "")


def _walk_containers(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """The containers of every template of pods, in the order of the manifest. A manifest may hold anything."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return
    for key, each in value.items():
        if key == "containers" and isinstance(each, list):
            yield from (container for container in each if isinstance(container, Mapping))
        else:
            yield from _walk_containers(each, depth + 1)


def list_commands(spec: Mapping[str, Any]) -> list[str]:
    """What its containers start, each once, as a shell reads it; at most 32."""
    found: dict[str, None] = {}
    for container in _walk_containers(spec, 0):
        words = [*_words(container.get("command")), *_words(container.get("args"))]
        if words:
            found[shlex.join(words)] = None
        if len(found) == _MOST_COMMANDS:
            break
    return list(found)


def _words(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


# Code


def name_code(code: Code | None) -> Phrase | str | None:
    """`3f2a1c9`, `3f2a1c9 and 2 changed files`, or a digest of the program's files; None where nothing is known."""
    if code is None:
        return None
    if not code.commit:
        digest = sha256(write_code(code).encode()).hexdigest()[:_DIGEST]
        return counted("{digest} ({count} file)", "{digest} ({count} files)", count=code.count, digest=digest)
    if not code.count:
        return code.short
    return counted(
        "{commit} and {count} changed file", "{commit} and {count} changed files", count=code.count, commit=code.short
    )


def list_files(code: Code | None) -> list[str]:
    """Its files that were recorded by name: those that differ from the commit, or all."""
    return sorted(code.files) if code else []


# Which, and in which order


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What a reader wants to see; an empty value is all."""

    text: str = ""
    """In the name, the note or a tag, in any case."""
    namespace: str = ""
    tag: str = ""
    owner: str = ""
    end: str = ""

    def matches(self, run: RunView) -> bool:
        return (
            self.namespace in ("", run.namespace)
            and (not self.tag or self.tag in run.note.tags)
            and self.owner in ("", run.owner)
            and self.end in ("", run.end)
            and (not self.text or self.text.lower() in _searched(run))
        )


def _searched(run: RunView) -> str:
    return "\n".join((f"{run.namespace}/{run.name}", run.note.text, *run.note.tags)).lower()


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that a filter may have, each that there is."""

    tags: Sequence[str]
    owners: Sequence[str]
    ends: Sequence[str]
    namespaces: Sequence[str]


MOST_CHOICES = 200
"""Of one kind; an address may name others."""


def list_choices(runs: Iterable[RunView]) -> Choices:
    known = list(runs)
    return Choices(
        _choices(tag for run in known for tag in run.note.tags),
        _choices(run.owner for run in known),
        _choices(run.end for run in known),
        _choices(run.namespace for run in known),
    )


def _choices(found: Iterable[str]) -> list[str]:
    return sorted({each for each in found if each})[:MOST_CHOICES]


_KEYS: Mapping[str, Callable[[RunView, Moment], Any]] = {
    "name": lambda run, _: (run.name, run.namespace, run.kind, run.number),
    "end": lambda run, _: run.end or None,
    "began": lambda run, _: run.began,
    "took": lambda run, now: run.measure(now),
    "loss": lambda run, _: run.loss,
    "restarts": lambda run, _: run.restarts,
    "code": lambda run, _: (run.code.commit, write_code(run.code)) if run.code else None,
    "environment": lambda run, _: run.environment or None,
    "owner": lambda run, _: run.owner or None,
    "tags": lambda run, _: run.note.tags or None,
}
SORTS: Collection[str] = tuple(_KEYS)
"""By what a list is sorted; `-began` is the newest first."""
NEWEST = "-began"


def read_sort(text: str) -> tuple[str, bool]:
    """(by what, downwards). A text that names nothing is the newest first."""
    name, down = text.removeprefix("-"), text.startswith("-")
    return (name, down) if name in _KEYS else ("began", True)


def sort_runs(runs: Iterable[RunView], sort: str, now: Moment) -> list[RunView]:
    """The rows in this order; among equals the newest is first."""
    name, down = read_sort(sort)
    newest = sorted(runs, key=lambda run: (-(run.began or 0.0), -run.number, run.name))
    keyed = [(_KEYS[name](run, now), run) for run in newest]
    known = sorted((each for each in keyed if each[0] is not None), key=lambda each: each[0], reverse=down)
    return [run for _, run in known] + [run for key, run in keyed if key is None]
