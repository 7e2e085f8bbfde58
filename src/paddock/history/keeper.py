"""Writes the records of a cluster's jobs, and prunes what is older than the limits.

A client of the API as every part: it follows the jobs and needs nothing of who runs them. A record is written at each
change of what it has; after a crash the next keeper reads the jobs again, so that a change is late and not lost. A job
that was created and deleted while no keeper looked has left its logs, beside which the node has written whose they are:
a record is made from that.

Metrics are read from the ends of the logs: some time after a run is over, as its ranks may print until their pods'
grace period ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.history.logs import (
    LogLocation,
    PodDirectories,
    PodLogs,
    ReadLocation,
    find_log_files,
    group_logs,
    measure,
)
from paddock.history.metrics import Metrics, combine
from paddock.history.package_sets import drop_unused
from paddock.history.recording import JobState, build_from_owner, build_record, mark_deleted, update_record
from paddock.history.records import (
    RunRecord,
    find_runs,
    next_run,
    path_of,
    read_records,
    remove_record,
    write_record,
)
from paddock.history.retention import Kept, Limits, plan_pruning
from paddock.history.surroundings import Surroundings, add
from paddock.kube.api import Api, Event
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of, uid_of
from paddock.kube.pod_logs import LogOwner
from paddock.kube.times import Moment

SETTLING = (1.0, 6.0, 35.0)
"""Seconds after the end of a run at which its metrics are read: the usual grace period has 30."""
_TIDY_SECONDS = 600.0
_LONGEST_PAUSE = 60.0
_MOST_TOLD = 1_000
"""Runs of which something is told before they are recorded: a job is recorded when it is created, so these are few."""
_LAST_SECONDS = 2.0
"""In which the metrics that are due are read at the end; what is left is read by the next keeper."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The jobs that are recorded: what reads each kind, and what reads the labels of their pods."""

    read_state: Mapping[Resource, Callable[[Manifest], JobState]]
    read_place: ReadLocation

    def has(self, api_version: str, kind: str) -> bool:
        """Whether a controller of this kind has records, so that the node keeps the logs of its pods."""
        return any((each.api_version, each.kind) == (api_version, kind) for each in self.read_state)


@dataclass(frozen=True, slots=True)
class Files:
    """What a keeper reads and removes."""

    records: Path
    """The directory of records."""
    logs: Path
    """The node's directory of logs."""
    read_metrics: Callable[[Path], Metrics]
    """The last numbers in a log, each with its place."""
    remove: Callable[[Path], None]
    """Removes a directory of logs, whatever a program has put into it."""
    read_written: Callable[[LogOwner, LogLocation], Metrics] = lambda _owner, _place: {}
    """The last numbers that a rank of a run wrote on purpose, beside its log; they count more than printed ones."""


class Keeper:
    """Keeps one history. `limits`: asked before each pruning; `on_prune`: called with each record that is pruned, so
    that what else belongs to the run goes with it (its outputs). An error of it is logged, and the run is pruned."""

    def __init__(
        self,
        api: Api,
        kinds: Kinds,
        files: Files,
        *,
        limits: Callable[[], Limits] = Limits,
        on_prune: Callable[[RunRecord], None] = lambda _: None,
        clock: Callable[[], Moment] = time.time,
    ) -> None:
        self._api, self._kinds, self._files = api, kinds, files
        self._limits, self._on_prune, self._clock = limits, on_prune, clock
        self._records: dict[str, RunRecord] = {}
        self._states: dict[str, JobState] = {}
        """Of the jobs that are there, by UID: as they were seen last."""
        self._unwritten: set[str] = set()
        self._why_unwritten: Exception | None = None
        self._damaged: set[Path] = set()
        self._settling: dict[str, list[Moment]] = {}
        self._told: dict[str, list[Surroundings]] = {}
        """Of runs that are not recorded yet, by UID."""
        self._woken, self._tidying = asyncio.Event(), asyncio.Lock()
        self._synced = 0

    async def run(self) -> None:
        """Runs until cancelled; the metrics that are still due are read then."""
        self._synced = 0  # `_supervise` calls again after an error: the first lists are to come anew
        self._states.clear()
        self._load()
        try:
            async with asyncio.TaskGroup() as group:
                for resource in self._kinds.read_state:
                    group.create_task(self._follow(resource))
                group.create_task(self._work())
        finally:
            due = [self._records[uid] for uid in self._settling if uid in self._records]
            deadline = time.monotonic() + _LAST_SECONDS
            self._settle(await asyncio.to_thread(self._read_all_metrics, due, deadline))

    def _load(self) -> None:
        for each in read_records(self._files.records):
            if isinstance(each, RunRecord):
                if each.uid not in self._unwritten:  # else memory has the newer one
                    self._records[each.uid] = each
                if each.ended is not None and not each.settled:  # a keeper was killed in these seconds
                    self._settling[each.uid] = [self._clock()]
            else:
                _log.warning("%s is not the record of a run and is left alone: %s", each.path, each.why)
                self._damaged.add(each.path)

    @property
    def unwritten(self) -> Exception | None:
        """Why a record was not written last; None where all are. They are tried again each minute."""
        return self._why_unwritten if self._unwritten else None

    def note(self, uid: str, told: Surroundings) -> None:
        """What a run began with, told when its programs start; a part that is known already stays as it is."""
        if uid in self._records:
            self._keep(_with_surroundings(self._records[uid], told))
        elif len(self._told) < _MOST_TOLD:
            self._told.setdefault(uid, []).append(told)

    # Jobs

    async def _follow(self, resource: Resource) -> None:
        seen, is_listed = set[str](), False
        async for event in self._api.follow(resource):
            try:
                if event.type == "SYNCED":
                    is_listed = True
                    self._on_all(resource, seen)
                else:
                    seen.add(uid_of(event.object))
                    self._take(resource, event)
            except Exception:
                _log.exception("%s of a %s was not recorded; this is a bug", event.type, resource.kind)
            if not is_listed:
                await asyncio.sleep(0)  # a list of a thousand jobs is a thousand files

    def _on_all(self, resource: Resource, seen: set[str]) -> None:
        """A job that is recorded and not in the first list was deleted while no keeper looked."""
        for record in list(self._records.values()):
            mine = (record.api_version, record.kind) == (resource.api_version, resource.kind)
            if mine and record.deleted is None and record.uid not in seen:
                self._keep(mark_deleted(record, self._clock()))
        self._synced += 1
        self._woken.set()

    def _take(self, resource: Resource, event: Event) -> None:
        job, now = event.object, self._clock()
        record = self._records.get(uid_of(job))
        if "spec" in job:  # a DELETED event may have the identity alone
            record = record or build_record(job, self._number(job, resource), now)
            state = self._kinds.read_state[resource](job)
            record = update_record(record, job, state, now, self._states.get(record.uid))
            self._states[record.uid] = state
        if event.type == "DELETED":
            self._states.pop(uid_of(job), None)
        if record is not None:
            for told in self._told.pop(record.uid, ()):
                record = _with_surroundings(record, told)
            self._keep(mark_deleted(record, now) if event.type == "DELETED" else record)

    def _number(self, job: Manifest, resource: Resource) -> int:
        identity = (resource.group, resource.kind, namespace_of(job), name_of(job))
        return next_run(self._of_name(namespace_of(job), name_of(job)), identity)

    def _of_name(self, namespace: str, name: str) -> Iterable[RunRecord]:
        """Also those that could not be written, and those that another keeper wrote."""
        unwritten = (self._records[uid] for uid in self._unwritten if uid in self._records)
        return [*find_runs(self._files.records, namespace, name), *unwritten]

    def _keep(self, record: RunRecord) -> None:
        before = self._records.get(record.uid)
        if before == record and record.uid not in self._unwritten:
            return
        if record.ended is None and record.settled:  # a run that was given up is resumed
            record = replace(record, settled=False)
        self._records[record.uid] = record
        if record.ended is not None and (before is None or before.ended is None):
            now = self._clock()
            self._settling[record.uid] = [now + seconds for seconds in SETTLING]
            self._woken.set()
        self._write(record)

    def _write(self, record: RunRecord) -> None:
        try:
            self._set_aside(path_of(self._files.records, record))
            write_record(self._files.records, record)
            self._unwritten.discard(record.uid)
        except (OSError, ValueError) as error:
            # A full disk: tried again at the next change, and each minute.
            self._unwritten.add(record.uid)
            self._why_unwritten = error
            _log.warning("the record of %s/%s was not written: %s", record.namespace, record.name, error)

    def _set_aside(self, path: Path) -> None:
        """What is damaged and has the name of a record to write is renamed, as somebody may want to mend it."""
        if path in self._damaged:
            aside = path.with_name(f"{path.name}.damaged")
            self._damaged.discard(path)
            with contextlib.suppress(FileNotFoundError):  # somebody has removed it
                path.rename(aside)
            _log.warning("%s is %s now: a record has its place", path, aside.name)

    # Metrics and pruning. Files are read and removed in threads; what is known changes on the loop alone.

    async def _work(self) -> None:
        tidied = float("-inf")
        while True:
            self._woken.clear()
            now = self._clock()
            for uid in list(self._unwritten):
                self._write(self._records[uid])
            due = [self._records[uid] for uid, times in self._settling.items() if times[0] <= now]
            if due:
                self._settle(await asyncio.to_thread(self._read_all_metrics, due))
                tidied = float("-inf")
            # Before the first lists nobody knows which jobs are gone.
            if self._synced >= len(self._kinds.read_state) and not tidied <= now < tidied + _TIDY_SECONDS:
                await self.tidy()
                tidied = now
            await self._sleep()

    async def _sleep(self) -> None:
        next_due = min((times[0] for times in self._settling.values()), default=self._clock() + _LONGEST_PAUSE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(_LONGEST_PAUSE, max(0.05, next_due - self._clock()))):
                await self._woken.wait()

    def _read_all_metrics(
        self, records: list[RunRecord], deadline: float = math.inf
    ) -> dict[str, Mapping[str, Metrics]]:
        return read_all_metrics(self._files, self._kinds.read_place, records, deadline)

    def _settle(self, found: Mapping[str, Mapping[str, Metrics]]) -> None:
        """Keeps the metrics of runs whose time has come."""
        now = self._clock()
        for uid, metrics in found.items():
            left = [moment for moment in self._settling.pop(uid, ()) if moment > now]
            if left:
                self._settling[uid] = left
            record = self._records.get(uid)
            if record is not None and record.ended is not None:
                self._keep(replace(record, metrics=metrics or record.metrics, settled=not left))

    async def tidy(self) -> int:
        """Records the runs of which there are logs alone, prunes by the limits, and returns the number of pruned
        runs."""
        async with self._tidying:  # a survey of before another's pruning would record its runs again
            return await self._tidy()

    async def _tidy(self) -> int:
        self._forget_removed()
        pods = await asyncio.to_thread(self._survey)
        for uid, (logs, _) in pods.items():
            if uid not in self._records:
                self._adopt(logs)
        none: tuple[list[PodLogs], int] = ([], 0)
        kept = [Kept(each, pods.get(uid, none)[1]) for uid, each in self._records.items()]
        plan = plan_pruning(kept, self._limits(), self._clock())
        for record in plan.logs:
            await asyncio.to_thread(self._remove_logs, pods.get(record.uid, none)[0])
            self._keep(replace(self._records[record.uid], logs_pruned=True))
            _log.info("pruned the logs of run %d of %s %s/%s", record.run, record.kind, record.namespace, record.name)
        for record in plan.runs:
            await asyncio.to_thread(self._prune, record, pods.get(record.uid, none)[0])
            self._records.pop(record.uid, None)
            self._unwritten.discard(record.uid)
            self._settling.pop(record.uid, None)
            _log.info("pruned run %d of %s %s/%s", record.run, record.kind, record.namespace, record.name)
        used = {digest for each in self._records.values() for digest in each.surroundings.packages.values()}
        await asyncio.to_thread(drop_unused, self._files.records, used, time.time())
        return len(plan.runs)

    def _forget_removed(self) -> None:
        """Who cleans up has removed the records of runs that nothing can happen to any more."""
        for uid, record in list(self._records.items()):
            over = record.deleted is not None and uid not in self._unwritten and uid not in self._settling
            if over and not path_of(self._files.records, record).exists():
                del self._records[uid]

    def _survey(self) -> dict[str, tuple[list[PodLogs], int]]:
        """The logs of each run by its UID, and the bytes that they take."""
        found = group_logs(self._files.logs, self._kinds.read_place)
        return {
            uid: (logs, sum(map(measure, logs)))
            for uid, logs in found.items()
            if self._kinds.has(logs[0].owner.api_version, logs[0].owner.kind)
        }

    def _adopt(self, logs: list[PodLogs]) -> None:
        owner, started = logs[0].owner, min(each.started for each in logs)
        identity = (owner.api_version.partition("/")[0], owner.kind, owner.namespace, owner.name)
        run = next_run(self._of_name(owner.namespace, owner.name), identity)
        self._keep(build_from_owner(owner, run, started))

    def _prune(self, record: RunRecord, logs: Iterable[PodLogs]) -> None:
        try:
            self._on_prune(record)
        except Exception:
            _log.exception("what belongs to run %d of %s/%s stays", record.run, record.namespace, record.name)
        self._remove_logs(logs)
        try:
            remove_record(self._files.records, record)
        except OSError as error:
            _log.warning("%s stays: %s", path_of(self._files.records, record), error)

    def _remove_logs(self, logs: Iterable[PodLogs]) -> None:
        for each in logs:
            self._files.remove(each.directory)


def _with_surroundings(record: RunRecord, told: Surroundings) -> RunRecord:
    return replace(record, surroundings=add(record.surroundings, told))


def read_all_metrics(
    files: Files, read_place: ReadLocation, records: Collection[RunRecord], deadline: float = math.inf
) -> dict[str, Mapping[str, Metrics]]:
    """The metrics of each run by its UID. What was not read before `deadline` (`time.monotonic`) is left out."""
    directories, found = PodDirectories(files.logs, read_place), dict[str, Mapping[str, Metrics]]()
    for each in records:
        if time.monotonic() > deadline:
            break
        logs = directories.find(each.namespace, each.name, each.uid, each.created)
        try:
            found[each.uid] = read_metrics(files, logs, each.uid)
        except Exception:  # a log that cannot be read as it should must not stop the history of the others
            _log.exception("the metrics of %s/%s run %s are not read", each.namespace, each.name, each.run)
            found[each.uid] = {}
    return found


def read_metrics(files: Files, logs: Iterable[PodLogs], uid: str) -> dict[str, Metrics]:
    """The last numbers of each rank of a run, from its newest attempt that has some."""
    found: dict[str, Metrics] = {}
    known = list(logs)
    owner = next((each.owner for each in known if each.owner.uid == uid), None)
    for file in find_log_files(known, uid):
        written = files.read_written(owner, file.place) if owner is not None else {}
        if metrics := combine(files.read_metrics(file.path), written):
            found[file.rank] = metrics
    return found
