"""The history of a home: the records, the logs and the keeper of `paddock.history`, put together with what reads a
job's status (`paddock.jobs`) and opens a log that a program may have replaced (`paddock.node`)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from paddock.app.home import Home
from paddock.app.written_metrics import find_file, read_written
from paddock.history.keeper import Files, Keeper, Kinds, read_metrics
from paddock.history.log_times import find_offset, read_last_marks
from paddock.history.logs import LogFile, LogLocation, PodDirectories, PodLogs, find_log_files, find_pod_log
from paddock.history.metrics import COUNTS, Metrics, name_place
from paddock.history.note_files import read_notes
from paddock.history.notes import Note
from paddock.history.package_sets import read_set
from paddock.history.recording import JobState
from paddock.history.records import Cause, Damaged, RunRecord, read_records
from paddock.history.retention import Limits, WrongLimit, read_limits, write_limits
from paddock.history.surroundings import Packages
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.causes import NEW_ATTEMPT_REASONS, Resized
from paddock.jobs.given_up import GIVEN_UP, read_given_up
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, ROLE_LABEL
from paddock.jobs.model import CauseRecord, Job, Phase, RestartScope, Status
from paddock.jobs.names import read_pod_name
from paddock.kube.api import Api
from paddock.kube.log_marks import Marks
from paddock.kube.meta import Manifest, Resource, annotations_of
from paddock.kube.pod_logs import LogOwner, find_directory
from paddock.kube.times import Moment
from paddock.logs.nearest_line import Nearest, find_nearest
from paddock.logs.printed_lines import Latest, choose_lines
from paddock.logs.progress import METRICS
from paddock.node.runtime.log_bounds import read_on
from paddock.node.runtime.pod_files import open_regular, read_end, remove_tree
from paddock.words.phrases import Phrase
from paddock.words.problems import InvalidJob

_TAIL = 64 * 2**10
"""Bytes at the end of a log in which the last progress is looked for."""
_LONGEST_NUMBER = 9
_MOST_LOGS = 8
"""That are searched for a line that is nearly one of a metric: the ranks of a gang print alike."""
_CHUNK = 1 << 20


def read_place(labels: Mapping[str, str], pod: str) -> LogLocation | None:
    """The location of a log by Paddock's labels; by the pod's name where a node of an older Paddock wrote no labels."""
    index, attempt = labels.get(INDEX_LABEL, ""), labels.get(ATTEMPT_LABEL, "0")
    if labels.get(ROLE_LABEL) and _is_number(index) and _is_number(attempt):
        return LogLocation(labels[ROLE_LABEL], int(index), int(attempt))
    rank = read_pod_name(pod)
    return LogLocation(rank.role, rank.index, 0) if rank else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER


def read_state(resource: Resource, job: Manifest) -> JobState:
    """What a record has of a job's status."""
    status = KINDS[resource].read_status(job)
    given_up = read_given_up(job) if status.phase is Phase.SUSPENDED else None
    placed, started = tell_steps(status)
    timed_out = status.phase is Phase.SUSPENDED and GIVEN_UP in annotations_of(job) and given_up is None
    return JobState(
        phase=str(status.phase),
        final=status.phase.terminal,
        ended=status.finished,
        attempt=status.attempt,
        restarts=status.restarts,
        cause=_cause(given_up or status.cause),
        given_up="environment" if given_up else "timeout" if timed_out else "",
        renewals=dict(status.renewals),
        later=status.cause is not None and status.cause.reason not in NEW_ATTEMPT_REASONS,
        placed=placed,
        started=started,
        ranks=_count_of(status, "running", "succeeded") if status.phase is Phase.RUNNING else None,
    )


def tell_steps(status: Status) -> tuple[bool, bool]:
    """Whether all pods of the attempt have nodes, and whether all their programs run or have ended."""
    wanted, begun = _count_of(status, "wanted"), _count_of(status, "running", "succeeded", "failed")
    return begun + _count_of(status, "starting") >= wanted > 0, begun >= wanted > 0


def _count_of(status: Status, *words: str) -> int:
    """How many pods are in one of these states."""
    return sum(getattr(counts, word) for counts in status.roles.values() for word in words)


def _cause(cause: CauseRecord | None) -> Cause | None:
    return Cause(cause.reason, dict(cause.args), cause.since) if cause else None


def read_cause(cause: Cause | None) -> CauseRecord | None:
    """The cause of a record, for `jobs.sentences.explain`."""
    return CauseRecord(cause.reason, dict(cause.args), cause.since) if cause else None


def read_job(run: RunRecord) -> Job | None:
    """The job of a record; None where its manifest is not valid, or of a kind that this Paddock does not know."""
    kind = (run.api_version, run.kind)
    resource = next((each for each in KINDS if (each.api_version, each.kind) == kind), None)
    metadata = {"name": run.name, "namespace": run.namespace, "uid": run.uid, "annotations": dict(run.annotations)}
    manifest = {"apiVersion": run.api_version, "kind": run.kind, "metadata": metadata, "spec": dict(run.spec)}
    try:
        return KINDS[resource].read_job(manifest) if resource else None
    except InvalidJob:
        return None


def list_sizes(run: RunRecord) -> tuple[tuple[Moment, int], ...]:
    """Since when how many ranks trained together, oldest first. Of a job of a fixed size only what an edit changed:
    that its ranks begin and end one after another is no other size. Pure."""
    if run.renewals or _may_train_smaller(read_job(run)):
        return tuple((each.begun, each.ranks) for each in run.sizes)
    resized = {each.number for each in run.attempts if each.cause is not None and each.cause.reason == Resized.__name__}
    largest = dict[int, tuple[Moment, int]]()
    for each in run.sizes:
        since = max((number for number in resized if number <= each.attempt), default=0)
        if since not in largest or largest[since][1] < each.ranks:
            largest[since] = (each.begun, each.ranks)
    return tuple(largest.values())


def _may_train_smaller(job: Job | None) -> bool:
    """Whether its ranks may go on while others are away; also of a job that cannot be read."""
    if job is None:
        return True
    return job.elasticity is not None or job.launch.elastic is not None or job.scope is RestartScope.POD


def read_log_metrics(path: Path) -> Metrics:
    """The last number of each name in a log, with its place; empty if there is none, or no log."""
    latest = Latest()
    latest.feed(choose_lines(_read_last_lines(path)))
    return build_metrics(latest)


def build_metrics(latest: Latest) -> Metrics:
    """Those of a record: where the training stood, its metrics, what else was printed under names of its own, and at
    which epoch and step each was printed (`history.metrics.combine` drops those that are the last ones)."""
    progress = latest.progress
    if progress is None:
        return {}
    known = {name: getattr(progress, name) for name in ("epoch", "step", *METRICS)}
    numbers = {name: number for name, number in known.items() if number is not None}
    others = {name: number for name, number in progress.others.items() if name not in known}
    found = {name: number if math.isfinite(number) else str(number) for name, number in {**numbers, **others}.items()}
    placed = {name: zip(COUNTS, place, strict=True) for name, place in latest.places.items() if name in found}
    places = {name_place(name, count): at for name, place in placed.items() for count, at in place if at is not None}
    return {**found, **places}


def _read_last_lines(path: Path) -> list[str]:
    """As far back as the end of a log is read; of a line that was drawn again and again its last state. Empty where
    there is no log."""
    try:
        text = read_end(path, _TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.rpartition("\r")[2] for line in text.split("\n")]


KEPT = Kinds({resource: partial(read_state, resource) for resource in KINDS}, read_place)
"""The kinds that are recorded: every kind of job."""


def build_files(home: Home) -> Files:
    return Files(home.history, home.pod_logs, read_log_metrics, remove_tree, partial(_read_written, home))


def _read_written(home: Home, owner: LogOwner, place: LogLocation) -> Metrics:
    path = find_file(home, owner.namespace, owner.name, owner.uid, f"{place.role}-{place.index}", place.attempt)
    return build_metrics(read_written(path).latest)


def build_keeper(api: Api, home: Home, on_prune: Callable[[RunRecord], None] = lambda _: None) -> Keeper:
    """The keeper of a home's history. `on_prune`: removes what else belongs to a run."""
    return Keeper(api, KEPT, build_files(home), limits=partial(read_kept_limits, home), on_prune=on_prune)


def read_kept_limits(home: Home) -> Limits:
    """The limits that `paddock up --keep-logs` wrote, else the defaults."""
    try:
        return read_limits(_limits_file(home).read_text().strip())
    except (OSError, UnicodeError, WrongLimit):
        return Limits()


def write_kept_limits(home: Home, limits: Limits) -> None:
    path = _limits_file(home)
    path.touch(mode=0o600)
    path.write_text(write_limits(limits) + "\n")


def _limits_file(home: Home) -> Path:
    return home.root / "keep-logs"


class Kept(Protocol):
    """What is kept of jobs and of their logs: the files of a home (`History`), or what a bundle has of them."""

    def read(self, namespace: str = "", name: str = "") -> tuple[list[RunRecord], list[Damaged]]: ...

    def find_logs(self, run: RunRecord) -> list[LogFile]: ...

    def find_job_logs(self, namespace: str, name: str, uid: str) -> list[LogFile]: ...

    def find_last_logs(self, namespace: str, name: str, uid: str) -> dict[str, LogFile]: ...

    def find_pod_log(self, pod: Manifest) -> LogFile | None: ...

    def read_log(self, file: LogFile, start: int = 0, first: int | None = None) -> bytes: ...

    def read_last_marks(self, file: LogFile) -> Marks: ...

    def read_ends(self, file: LogFile, end: int | None, leave_out: Callable[[int], None]) -> Iterator[bytes]: ...

    def read_packages(self, digest: str) -> Packages | None: ...


@dataclass(frozen=True, slots=True)
class History:
    """What a home has kept, read from its files: the cluster need not be up."""

    home: Home

    def read(self, namespace: str = "", name: str = "") -> tuple[list[RunRecord], list[Damaged]]:
        """The runs, oldest first, and what is damaged: of all namespaces, of one, of one name."""
        found = list(read_records(self.home.history, namespace, name))
        runs = [each for each in found if isinstance(each, RunRecord)]
        return sorted(runs, key=lambda run: (run.created, run.run)), [e for e in found if isinstance(e, Damaged)]

    def read_notes(self, namespace: str = "", name: str = "") -> Mapping[str, Note | Damaged]:
        """What was written about these runs beside their records, by UID."""
        return read_notes(self.home.history, namespace, name)

    # Which log is that of a rank: asked by `paddock logs`, `doctor`, the console, the history and of what is copied.

    def find_logs(self, run: RunRecord) -> list[LogFile]:
        """The logs of the run's ranks in all its attempts, by attempt, role and index."""
        return self.survey().find_logs(run)

    def find_job_logs(self, namespace: str, name: str, uid: str) -> list[LogFile]:
        """The same of a job that need not be recorded yet: a name has logs of other runs too, so its UID counts."""
        return find_log_files(PodDirectories(self.home.pod_logs, read_place).find(namespace, name, uid), uid)

    def find_last_logs(self, namespace: str, name: str, uid: str) -> dict[str, LogFile]:
        """The last log of each rank of this job, by the rank's name, never that of another run."""
        return {file.rank: file for file in self.find_job_logs(namespace, name, uid)}

    def find_pod_log(self, pod: Manifest) -> LogFile | None:
        """The log of this pod, and of no other that had its name."""
        return find_pod_log(self.home.pod_logs / find_directory(pod).name, read_place)

    def read_packages(self, digest: str) -> Packages | None:
        """The packages of a digest of a run; None where the set is not kept."""
        return read_set(self.home.history, digest)

    # What stands in a log, for who may read the log of a bundle as well.

    def read_log(self, file: LogFile, start: int = 0, first: int | None = None) -> bytes:
        """As the function `read_log`. Raises OSError as `open_log`."""
        return read_log(file, start, first)

    def read_last_marks(self, file: LogFile) -> Marks:
        """When the lines at the end of a log were printed; none where nobody noted it."""
        return read_last_marks(file.path)

    def read_ends(self, file: LogFile, end: int | None, leave_out: Callable[[int], None]) -> Iterator[bytes]:
        """The log in chunks; with `end`, so many bytes of its beginning and as many of its end. `leave_out` is told how
        many bytes are left out before the next chunk. Raises OSError as `open_log`."""
        return read_ends(file, end, leave_out)

    def survey(self) -> Survey:
        """The logs of any runs, for who reads of many."""
        return Survey(self.home)


class Survey:
    """The logs of runs of a home: listed once, when the first is asked for, and looked into as far as they may be of
    runs that are asked for."""

    def __init__(self, home: Home) -> None:
        self._home, self._files = home, build_files(home)
        self._directories = PodDirectories(self._files.logs, read_place)

    def _of(self, run: RunRecord) -> list[PodLogs]:
        return self._directories.find(run.namespace, run.name, run.uid, run.created)

    def find_logs(self, run: RunRecord) -> list[LogFile]:
        """As `History.find_logs`."""
        return find_log_files(self._of(run), run.uid)

    def read_metrics(self, run: RunRecord) -> Mapping[str, Metrics]:
        """As recorded; those of a run that goes on, or that nobody has settled yet, are read now."""
        if run.settled or (run.ended is not None and run.metrics):
            return run.metrics
        return read_metrics(self._files, self._of(run), run.uid) or run.metrics

    def find_unread(self, run: RunRecord) -> tuple[str, Phrase] | None:
        """The first rank whose PADDOCK_METRICS was not read whole, and why; None where all were."""
        for file in self.find_logs(run):
            path = find_file(self._home, run.namespace, run.name, run.uid, file.rank, file.place.attempt)
            if (why := read_written(path).problem) is not None:
                return file.rank, why
        return None

    def find_nearest(self, run: RunRecord) -> Nearest | None:
        """Of a run without metrics the line that was nearest to one, in the last logs of its ranks; None without
        any."""
        last = {file.rank: file for file in self.find_logs(run)}
        found = (find_nearest(_read_last_lines(file.path)) for file in list(last.values())[:_MOST_LOGS])
        return next(filter(None, found), None)


def open_log(file: LogFile) -> int:
    """A descriptor of a log, for reading; OSError where a program has put something else in its place."""
    return open_regular(file.path)


def read_chunks(file: LogFile, start: int = 0) -> Iterator[bytes]:
    """The content of a log from byte `start`; a negative one counts from its end. Raises OSError as `open_log`."""
    descriptor = open_log(file)
    try:
        if start:
            os.lseek(descriptor, start if start > 0 else max(0, os.fstat(descriptor).st_size + start), os.SEEK_SET)
        while chunk := read_on(descriptor, _CHUNK):
            yield chunk
    finally:
        os.close(descriptor)


def read_size(file: LogFile) -> int:
    """Of a log, in bytes. Raises OSError as `open_log`."""
    descriptor = open_log(file)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def find_since(file: LogFile, moment: Moment) -> int | None:
    """Where the first line of a log begins that ended at `moment` or later, in bytes: by the marks beside it, which are
    half a second apart, and farther only where the cluster was down. None where nobody noted when it was printed.
    Raises OSError as `open_log`."""
    place = find_offset(file.path, moment)
    if not place:
        return place
    descriptor = open_log(file)
    try:
        # A last line without its end was printed before, if nothing was added to it.
        return _find_line(descriptor, place) if place < os.fstat(descriptor).st_size else place
    finally:
        os.close(descriptor)


def _find_line(file: int, place: int) -> int:
    """Where the line of the byte at `place` begins."""
    while place:
        begin = max(0, place - _CHUNK)
        if (found := os.pread(file, place - begin, begin).rfind(b"\n")) >= 0:
            return begin + found + 1
        place = begin
    return 0


def read_log(file: LogFile, start: int = 0, first: int | None = None) -> bytes:
    """The same whole; `first`: so many bytes, or some more, suffice."""
    found = bytearray()
    for chunk in read_chunks(file, start):
        found += chunk
        if first is not None and len(found) >= first:
            break
    return bytes(found)


def read_ends(file: LogFile, end: int | None, leave_out: Callable[[int], None]) -> Iterator[bytes]:
    """As `History.read_ends`."""
    descriptor = open_log(file)
    try:
        left_out = 0 if end is None else os.fstat(descriptor).st_size - 2 * end
        if end is not None and left_out > 0:
            yield os.read(descriptor, end)
            os.lseek(descriptor, end + left_out, os.SEEK_SET)
            leave_out(left_out)
        while chunk := read_on(descriptor, _CHUNK):
            yield chunk
    finally:
        os.close(descriptor)
