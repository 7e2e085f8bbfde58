"""The record of one run: one life of a job's name, from its creation to its deletion, identified by the job's UID.

    <directory>/NAMESPACE/NAME/UID.json     one `RunRecord`; 0600, in directories 0700, replaced atomically

Runs of a name are numbered 1, 2, 3, … for each kind. The newest record of a name is kept longer than others
(`history.retention`), so that numbers are not given twice. Any program of the user can write in the directory: what is
no record is reported as a `Damaged` and left alone, never an error of the reader.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from paddock.history.metrics import Metrics
from paddock.history.surroundings import Surroundings
from paddock.kube.times import Moment

LARGEST = 8 * 2**20
"""Bytes of a record; the API server takes objects of 3 MiB."""

_DIRECTORY = "paddock.dev/working-directory"
"""See `jobs.labels`."""
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")

CANCELLED = "Cancelled"
"""The reason of the cause with which a cancelled job has failed (`jobs.causes.Cancelled`), and what such a run is
called."""


@dataclass(frozen=True, slots=True)
class Cause:
    """As recorded in the job's `status.cause`; the command line renders it as a sentence."""

    reason: str
    args: Mapping[str, Any] = field(default_factory=dict)
    since: Moment | None = None

    @property
    def rank(self) -> str:
        """The rank that it names, the first of several; empty if it names none."""
        ranks = self.args.get("ranks")
        return str(ranks[0]) if isinstance(ranks, list | tuple) and ranks else ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of the gang."""

    number: int
    begun: Moment
    """When it was first seen."""
    cause: Cause | None = None
    """Why it was started, None for the first one."""
    placed: Moment | None = None
    """When all its pods were first seen on nodes; None where nobody saw it come."""
    started: Moment | None = None
    """When all its programs were first seen running; None where nobody saw it come."""


MOST_RENEWALS = 100
"""Of a run, the newest are kept: a job without a limit may start a rank again for ever."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Ranks that were started again alone within an attempt, while their peers ran on."""

    attempt: int
    begun: Moment
    """When it was first seen."""
    ranks: tuple[str, ...]
    cause: Cause | None = None
    """As in `Attempt`, None where no keeper looked when it was recorded."""


MOST_SIZES = 200
"""Of a run, the newest are kept: an elastic job may change its size for ever."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many ranks of an attempt train together, from a moment on."""

    attempt: int
    begun: Moment
    """When it was first seen."""
    ranks: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    run: int
    created: Moment
    ended: Moment | None = None
    """When it completed, was deleted or given up; None while it goes on."""
    deleted: Moment | None = None
    """When the object was deleted."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """The manifest's, in its last state."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The manifest's under paddock.dev/, in its last state."""
    phase: str = ""
    """As last recorded; empty before the first status."""
    finished: bool = False
    """The phase is a final one."""
    given_up: str = ""
    """Why `paddock run` suspended the job, `timeout` or `environment`; empty if it did not."""
    cause: Cause | None = None
    restarts: int = 0
    attempts: tuple[Attempt, ...] = ()
    renewals: tuple[Renewal, ...] = ()
    """At most `MOST_RENEWALS`, oldest first."""
    renewals_dropped: int = 0
    """How many older ones are not kept."""
    renewed: Mapping[str, int] = field(default_factory=dict)
    """How often each rank was started again alone in the last attempt, as last seen; by rank, without those that never
    were."""
    sizes: tuple[Size, ...] = ()
    """At most `MOST_SIZES`, oldest first."""
    metrics: Mapping[str, Metrics] = field(default_factory=dict)
    """Of each rank (`worker-0`), from its last log."""
    logs_pruned: bool = False
    """Its logs were removed to keep the limits."""
    settled: bool = False
    """Its metrics were read after its end and its grace period: they never change, and its logs need not be read."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    """Packages, datasets and machine, as they were when its first programs started; nothing of a run of an earlier
    version."""

    @property
    def over(self) -> bool:
        """Nothing more can happen in this run."""
        return self.finished or self.deleted is not None

    @property
    def outcome(self) -> str:
        """How it ended, in one word: the final phase, `Cancelled` of a job that somebody cancelled, `TimedOut`,
        `NotStarted`, `Stopped`; else the phase so far."""
        if self.finished and self.phase == "Failed" and self.cause is not None and self.cause.reason == CANCELLED:
            return CANCELLED
        if self.finished:
            return self.phase
        if self.given_up:
            return "TimedOut" if self.given_up == "timeout" else "NotStarted"
        return "Stopped" if self.deleted is not None else self.phase or "Pending"

    @property
    def told(self) -> Cause | None:
        """The cause as it is told. Of a job that is gone, without the servers that it kept: they went with it."""
        if self.cause is None or self.deleted is None:
            return self.cause
        return replace(self.cause, args={name: each for name, each in self.cause.args.items() if name != "kept"})

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What its number counts: the group, kind, namespace and name."""
        return (self.api_version.partition("/")[0], self.kind, self.namespace, self.name)

    @property
    def directory(self) -> str:
        """Where its programs started, absolute; empty for a job of kubectl, a form or an SDK, which names none."""
        return self.annotations.get(_DIRECTORY, "").rstrip("/")

    @property
    def failed(self) -> str:
        """The rank that the cause of a failure names; empty if it names none."""
        return self.cause.rank if self.cause else ""

    @property
    def attempt(self) -> int:
        """The number of the last attempt."""
        return max((each.number for each in self.attempts), default=0)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that is no record, and why."""

    path: Path
    why: str


def find_runs(directory: Path, namespace: str, name: str) -> list[RunRecord]:
    """The runs of a name, oldest first; of all kinds of jobs that had it. What is damaged is left out."""
    found = (each for each in read_records(directory, namespace, name) if isinstance(each, RunRecord))
    return sorted(found, key=lambda record: (record.identity, record.run, record.created))


def is_file_name(part: str) -> bool:
    """Whether a namespace, a name or a UID is the name of a file, and no path."""
    return _PART.fullmatch(part) is not None


def read_records(directory: Path, namespace: str = "", name: str = "") -> Iterator[RunRecord | Damaged]:
    """Every record below `directory`: of all namespaces, of one, or of one name. Never raises for what a file holds."""
    for where in list_directories(directory, namespace, name):
        for path in sorted(where.glob("*.json")):
            yield read_record(path)


def list_directories(directory: Path, namespace: str, name: str) -> Iterator[Path]:
    """Where the records of all namespaces are, of one, or of one name; each may be absent."""
    if any(part and not is_file_name(part) for part in (namespace, name)):
        return
    for space in [directory / namespace] if namespace else _list(directory):
        yield from [space / name] if name else _list(space)


def _list(directory: Path) -> list[Path]:
    try:
        found = (path for path in directory.iterdir() if not path.name.startswith("."))
        return sorted(path for path in found if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


def read_record(path: Path) -> RunRecord | Damaged:
    """The record of a file. Never raises for what it holds."""
    try:
        record = msgspec.json.decode(_content(path), type=RunRecord)
    except OSError as error:
        return Damaged(path, error.strerror or str(error))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Damaged(path, str(error))
    # A record that somebody copied elsewhere would be pruned and numbered in another's place.
    if path_of(path.parents[2], record) != path:
        return Damaged(path, "it is the record of another run")
    return record


def _content(path: Path) -> bytes:
    """At most `LARGEST` bytes of a regular file; no link is followed, and nothing else is waited for."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as reader:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "not a regular file")
        return reader.read(LARGEST + 1)


def path_of(directory: Path, record: RunRecord) -> Path:
    return directory / record.namespace / record.name / f"{record.uid}.json"


def write_record(directory: Path, record: RunRecord) -> None:
    """Replaces the record's file in one step. Raises OSError; ValueError for a name that is no file's name."""
    if not all(map(is_file_name, (record.namespace, record.name, record.uid))):
        raise ValueError(f"{record.namespace}/{record.name} ({record.uid}) cannot be the name of a file")
    path = path_of(directory, record)
    for each in (directory, path.parents[1], path.parent):
        each.mkdir(mode=0o700, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as writer:
        writer.write(msgspec.json.encode(record))
    fresh.replace(path)


def remove_record(directory: Path, record: RunRecord) -> None:
    """Removes the record's file, the note beside it, and the directories that are empty then."""
    path = path_of(directory, record)
    for each in (path, path.with_suffix(".note")):  # `history.note_files`
        each.unlink(missing_ok=True)
    for each in path.parents[:2]:
        try:
            each.rmdir()
        except OSError:
            return


def next_run(runs: Iterable[RunRecord], identity: tuple[str, str, str, str]) -> int:
    """The number of the next run of this name."""
    return 1 + max((each.run for each in runs if each.identity == identity), default=0)
