"""Follows a job to its end: its status, its pods with their logs, and the environments that they wait for.

Only reads. Watches survive broken connections and a restart of the cluster: `Client.follow` resumes them, and
`rank_log` resumes a log at the byte where it broke off. The result is a `FollowedJob`, which `display` formats.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from paddock.app.written_metrics import read_run
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.building import Builds
from paddock.cli.follow.datasets import DatasetWaits
from paddock.cli.follow.printed import Printed
from paddock.cli.follow.queue_waits import QueueWaits
from paddock.cli.follow.rank_log import find_kept_log, find_kept_logs, follow_lines, read_kept_lines
from paddock.cli.output.display import build_live_line
from paddock.cli.output.log_lines import Lines
from paddock.cli.output.screen import Screen
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import CauseRecord, Phase, Rank
from paddock.jobs.objects.pods import read_pod
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS, Report
from paddock.jobs.sentences.explain import explain, explain_edit
from paddock.kube.errors import ApiError
from paddock.kube.meta import ENVIRONMENTS, PODS, Key, Manifest, is_controlled_by, name_of, uid_of
from paddock.logs.complaints import Complaint
from paddock.logs.printed_lines import Latest
from paddock.logs.progress import Progress, merge
from paddock.logs.swallowed import Swallowed
from paddock.views.flags import Flags, build_next
from paddock.views.followed import FollowedJob, with_status
from paddock.views.pods import ended_message, prepared_message, rank_name
from paddock.views.steps import build_steps
from paddock.views.stored import StoredJob
from paddock.words.message_facts import read_environment
from paddock.words.messages import translate_message
from paddock.words.phrases import Names, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.history.logs import LogFile

_DRAIN_SECONDS = 3.0
"""Seconds without a line, since the last stream was opened, after which the stream of an ended rank is cut: the file
that is kept of its log is read instead, and where none is kept it is said."""
_LOOK_SECONDS = 0.5
_NEWEST = 50
"""Lines of a batch that are searched for progress: a script may print a gigabyte."""
_PAINT_SECONDS = 0.125
_WRITTEN_SECONDS = 2.0
"""Between two looks at what is written to PADDOCK_METRICS."""
_MOST_WRITERS = 64
"""Ranks that are looked at."""


class JobDeleted(Exception):
    """The job was deleted while it was followed."""


class Follower:
    """One followed job. `shows` selects the ranks whose lines are printed, each with its rank's name unless it is one
    rank alone; progress is read from all ranks.

    `folds`: what launchers and libraries print is counted, not shown (`logs.folding`);
    `from_start`: the job was made just now, so what an attempt printed whose pods had gone before the first look is
    printed too;
    `container`: another than the one that trains, whose lines are printed;
    `tail`: at most so many of the lines printed before now; `on_view`: called for each new status; `on_lines`: with
    the lines of each rank in their order, and its attempt; `unreported`: tells the causes that the caller reports
    itself; `patience`: see `_DRAIN_SECONDS`.
    """

    def __init__(
        self,
        client: Client,
        place: ClusterChoice,
        job: StoredJob,
        screen: Screen,
        shows: Callable[[Rank], bool],
        *,
        container: str = "",
        tail: int | None = None,
        folds: bool = True,
        from_start: bool = False,
        on_view: Callable[[FollowedJob], None] = lambda _: None,
        on_lines: Callable[[Rank, int, list[str]], None] = lambda _rank, _attempt, _lines: None,
        unreported: Callable[[CauseRecord], bool] = lambda _: False,
        patience: float = _DRAIN_SECONDS,
    ) -> None:
        assert job.job is not None, "what cannot be read cannot be followed"
        self._client, self._place, self._resource = client, place, job.resource
        self._api = KINDS[job.resource]
        self._job, self._uid, self._key = job, job.uid, job.key
        self.view = FollowedJob(job.job, job.status, time.time())
        self._screen, self._shows, self._tail, self._on_view = screen, shows, tail, on_view
        self._container = container
        self._on_lines = on_lines
        self._unreported, self._patience = unreported, patience
        self._from_start = from_start
        self._looked = asyncio.Event()  # set after the first look at pods
        self._lost: asyncio.Task[None] | None = None  # prints what had gone before it
        self._folds, self._printed = folds, Printed(folds)
        alone = sum(map(shows, job.job.ranks())) == 1
        self._width = 0 if alone else max((len(str(rank)) for rank in job.job.ranks()), default=0)
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._cutting = False  # no stream is waited for any more
        self._limits: dict[str, asyncio.Timeout] = {}  # of streams
        self._cut: dict[str, str] = {}  # the ranks, by the UIDs of their pods, of whose lines some are not known
        self._ended = asyncio.Event()
        self._unprintable: OSError | None = None
        self._pods: dict[Rank, str] = {}  # the UID of each rank's newest pod
        self._over: set[str] = set()  # ended or deleted pods
        self._awaited = asyncio.Event()
        self._environments: set[str] = set()
        self._builds = Builds(screen)
        self._datasets = DatasetWaits(screen)
        self._queue = QueueWaits(client, job.resource, screen)
        self._said = ""
        self._prepared = ""
        self._bars: dict[str, str] = {}
        self._lines_read = 0
        self._written: dict[Rank, Progress] = {}  # what was written on purpose
        self._edit: Phrase | None = None

    async def run(self) -> FollowedJob:
        """Returns when the job has ended. Raises `JobDeleted`, `ApiError`; OSError where lines cannot be printed."""
        parts = [self._follow_job(), self._follow_pods(), self._follow_environments(), self._paint()]
        parts.append(self._queue.follow() if self._place.home is None else self._follow_written())
        tasks = [asyncio.create_task(part) for part in parts]
        ended = asyncio.create_task(self._ended.wait())
        try:
            done, _ = await asyncio.wait([*tasks, ended], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._drain()
            if self._place.home is not None:
                await self._read_written()
            if self._unprintable is not None:
                raise self._unprintable
            self.view = replace(self.view, printed=self._printed.just_printed())
            return self.view
        finally:
            every = (*tasks, ended, *self._streams.values(), *([self._lost] if self._lost is not None else []))
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)
            self._report_folded()

    def _report_folded(self) -> None:
        """What was not printed of the logs, once, at the end."""
        where = self._place.flags.of(self._key.namespace)
        where += f" --container {self._container}" if self._container else ""
        command = f"paddock logs {self._key.name}{where} --raw"
        for said in self._printed.explain(command, self._screen.language):
            self._screen.notify(said)

    async def _drain(self) -> None:
        """Reads the last lines of ended ranks, and does not wait for those of servers that are kept running."""
        if self._unprintable is not None:
            return
        known = False
        # An error leaves the result without a termination message, the phase is known.
        with contextlib.suppress(ApiError):
            await self._read_unseen_ends()
            known = True
        self._looked.set()
        if self._lost is not None:  # before the kept log of the last attempt, which is printed after those before it
            await asyncio.wait([self._lost])
        await self._open_kept_logs()
        ended = {uid: task for uid, task in self._streams.items() if uid in self._over or not known}
        await self._wait_while_read(ended.values())
        self._cutting = True
        for uid, limit in self._limits.items():
            if not self._streams[uid].done():
                limit.reschedule(0.0)
        if self._streams:
            await asyncio.wait(self._streams.values())
        if ranks := sorted({rank for uid, rank in self._cut.items() if uid in ended}):
            self._report_cut(ranks)

    async def _wait_while_read(self, tasks: Collection[asyncio.Task[None]]) -> None:
        """Until all have ended, or no line has come for as long as one has patience: a script may have printed a
        gigabyte."""
        deadline = time.monotonic() + self._patience
        while tasks and (left := deadline - time.monotonic()) > 0:
            read = self._lines_read
            _, tasks = await asyncio.wait(tasks, timeout=min(left, _LOOK_SECONDS))
            if self._lines_read != read:
                deadline = time.monotonic() + self._patience

    def _report_cut(self, ranks: list[str]) -> None:
        command = f"paddock logs {self._key.name}{self._place.flags.of(self._key.namespace)}"
        self._screen.notify(
            phrase("not all that {ranks} printed was shown, as the cluster did not send it in time: {command}",
                   ranks=Names(tuple(ranks), most=8), command=command)
        )  # fmt: skip

    async def _read_unseen_ends(self) -> None:
        """Reads the pods if the watch of pods has not shown the end of each: it may be behind the watch of the job, by
        seconds where each reconnects by itself after the cluster was killed, by less where a job fails at once. Servers
        of a job that has completed may be kept running."""
        phase = self.view.status.phase
        roles = [role for role in self.view.job.roles if role.trains or phase is not Phase.COMPLETED]
        ended = all(self._pods.get(rank) in self._over for role in roles for rank in role.ranks())
        if ended or not phase.terminal:
            return
        pods = await fetch_pods(self._client, self._job)
        self._over |= set(self._streams) - set(map(uid_of, pods))  # clean-up has deleted them: their log streams end
        for pod in pods:
            self._take_pod(pod)

    async def _open_kept_logs(self) -> None:
        """Opens the logs of ranks whose last pods nobody saw run: they had ended and were deleted before the first look
        at pods."""
        unseen = [rank for rank in self.view.job.ranks() if self._pods.get(rank) not in self._streams]
        if not unseen or not self.view.status.phase.terminal:
            return
        kept = {log.rank: log for log in await find_kept_logs(self._place, self._job)}
        for rank in unseen:
            if (log := kept.get(str(rank))) is not None:
                self._open_kept(log, rank)

    def _open_kept(self, log: LogFile, rank: Rank) -> asyncio.Task[None] | None:
        """Begins to print the log of a pod that is gone; None where it is printed already, or is not of the container
        that is asked for."""
        chosen: LogFile | None = log
        if self._container:
            from paddock.history.logs import find_of_container  # late, as `History`

            chosen = find_of_container(log, self._container)
        if chosen is None or log.uid in self._streams:
            return None
        lines = read_kept_lines(chosen, self._tail, self._screen.notify, Lines(raw=not self._folds))
        stream = asyncio.create_task(self._stream(lines, rank, str(rank), chosen.place.attempt))
        self._streams[log.uid] = stream
        self._over.add(log.uid)
        return stream

    def _find_lost_logs(self) -> None:
        """At the first sign of a second attempt."""
        if self._from_start and self._lost is None:
            self._lost = asyncio.create_task(self._open_lost_logs())

    async def _open_lost_logs(self) -> None:
        """Prints the logs of pods that had ended and were deleted before the first look at pods, as of a rank that
        fails at once and is started again."""
        await self._looked.wait()
        ranks = {str(rank): rank for rank in self.view.job.ranks()}
        lost = [log for log in await find_kept_logs(self._place, self._job) if log.uid not in self._streams]
        if not lost:
            return
        try:
            there = set(map(uid_of, await fetch_pods(self._client, self._job)))
        except ApiError:  # what is lost of one attempt does not end the others; after the end nothing is there to come
            if not self._ended.is_set():
                return
            there = set()
        for log in lost:
            rank = ranks.get(log.rank)
            if rank is not None and log.uid not in there and (stream := self._open_kept(log, rank)) is not None:
                await asyncio.wait([stream])

    async def _follow_job(self) -> None:
        async for event in self._client.follow(
            self._resource, self._key.namespace, fields=f"metadata.name={self._key.name}"
        ):
            if event.type == "SYNCED" or uid_of(event.object) != self._uid:
                continue
            if event.type == "DELETED":
                raise JobDeleted
            self.view = with_status(self.view, self._api.read_status(event.object), time.time())
            self._report_edit()
            self._report_cause()
            self._queue.note(event.object, self.view.status.cause)
            if self.view.status.attempt:
                self._find_lost_logs()
            self._on_view(self.view)
            if self.view.status.phase.terminal:
                self._ended.set()

    def _report_edit(self) -> None:
        """Prints what is wrong in an edit that the job does not follow."""
        edit = explain_edit(self.view.status)
        if edit is not None and edit != self._edit:
            self._screen.notify(render(edit, self._screen.language))
        self._edit = edit

    def _report_cause(self) -> None:
        """Prints a line for each new cause whose row asks for one; the others appear on the live line alone."""
        status = self.view.status
        cause = None if status.phase.terminal else status.cause
        worth = cause is not None and _read_report(cause) is not Report.LIVE and not self._unreported(cause)
        sentence = explain(cause, self._screen.language) if worth and cause else ""
        if sentence and sentence != self._said:
            self._screen.notify(sentence)
            for step in _steps(status.cause, self._key, self._place.flags):
                self._screen.notify(step)
        self._said = sentence or self._said
        self._datasets.show(status.cause)

    async def _follow_pods(self) -> None:
        async for event in self._client.follow(PODS, self._key.namespace):
            if event.type == "DELETED":  # after a reconnect the object has metadata only
                self._over.add(uid_of(event.object))
            if event.type != "SYNCED":
                self._take_pod(event.object)
            else:
                self._looked.set()

    def _take_pod(self, pod: Manifest) -> None:
        read = read_pod(pod) if is_controlled_by(pod, self._uid) else None
        if read is not None:
            if read.attempt:
                self._find_lost_logs()
            self._note(pod, read.rank, read.ended)

    def _read_container(self, pod: Manifest) -> Manifest:
        """The status of the container whose lines are printed; empty before it exists."""
        status = pod.get("status") or {}
        if self._container:
            every = (each for kind in ("containerStatuses", "initContainerStatuses") for each in status.get(kind) or ())
            return next((each for each in every if each.get("name") == self._container), {})
        statuses: list[Manifest] = status.get("containerStatuses") or []
        return statuses[main_container(self.view.job, statuses)] if statuses else {}

    def _note(self, pod: Manifest, rank: Rank, ended: bool) -> None:
        uid, container = uid_of(pod), self._read_container(pod)
        state = container.get("state") or {}
        # of a rank that failed and was started again it is the end of a log, and says nothing about the job's end
        if (pod.get("status") or {}).get("phase") == "Succeeded" and (message := ended_message(pod)):
            self.view = replace(self.view, messages={**self.view.messages, rank: message})
        if self._place.home is None and not self._prepared and (said := prepared_message(pod)):
            self._prepared = said  # by the rank that came first
            self._screen.notify(translate_message(said, self._screen.language))
        if self._place.home is not None:  # Environments exist on the local cluster alone
            self._note_environment(state.get("waiting") or {})
        self._pods[rank] = uid
        if ended:
            self._over.add(uid)
        if uid not in self._streams and _has_run(state):
            self._streams[uid] = asyncio.create_task(self._stream_pod(pod, str(container.get("name") or ""), rank))

    async def _stream_pod(self, pod: Manifest, container: str, rank: Rank) -> None:
        label, attempt = rank_name(pod), read.attempt if (read := read_pod(pod)) else None
        if attempt and self._lost is not None:
            await asyncio.wait([self._lost])
        await self._stream(self._read_pod(pod, container, rank, label), rank, label, attempt)

    async def _read_pod(self, pod: Manifest, container: str, rank: Rank, label: str) -> AsyncIterator[list[str]]:
        """The lines that a pod sends; once they are cut, the rest of the file that is kept of them."""
        lines, notify = Lines(raw=not self._folds), self._screen.notify
        draw = partial(self._draw, label) if self._shows(rank) else _draw_nothing
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.0 if self._cutting else None) as limit:
                self._limits[uid_of(pod)] = limit
                async for batch in follow_lines(
                    self._client, self._place, pod, container, self._tail, notify, draw, lines
                ):
                    yield batch
                return
        if (log := find_kept_log(self._place.kept, pod, container)) is not None:
            async for batch in read_kept_lines(log, self._tail, notify, lines):
                yield batch
            return
        if self._shows(rank):
            self._cut[uid_of(pod)] = label
        yield lines.end()

    async def _stream(self, batches: AsyncIterator[list[str]], rank: Rank, label: str, attempt: int | None) -> None:
        folding = self._printed.open(label) if self._shows(rank) else None
        errors, latest = Swallowed(first=1 if self._tail is None else None), Latest()
        self._screen.end_line()  # of the attempt before
        try:
            async for lines in batches:
                self._read(rank, lines, errors, latest)
                self._on_lines(rank, attempt or 0, lines)
                if folding is not None:
                    self._print(label, folding.feed(lines), attempt)
        except OSError as error:  # the reader of a pipe has gone, or a disk is full
            self._unprintable = error
            self._ended.set()
        finally:  # also if it is cancelled: what was held is printed
            self._draw(label, "")
            if folding is not None and (held := folding.end()):
                self._screen.end_line()
                self._print(label, held, attempt)

    def _read(self, rank: Rank, lines: list[str], errors: Swallowed, latest: Latest) -> None:
        self._lines_read += len(lines)
        before = latest.progress
        latest.feed(lines[-_NEWEST:])
        if latest.progress is not None and latest.progress is not before:
            self._note_progress(rank, merge(latest.progress, self._written.get(rank, Progress())))
        errors.feed(lines)
        if errors.error != self.view.complaints.get(rank):
            self.view = replace(self.view, complaints=_with(self.view.complaints, rank, errors.error))
        if (end := errors.end) != self.view.ends.get(rank):
            self.view = replace(self.view, ends=_with(self.view.ends, rank, end))

    def _note_progress(self, rank: Rank, progress: Progress) -> None:
        self.view = replace(self.view, progress={**self.view.progress, rank: progress})

    async def _follow_written(self) -> None:
        while True:
            await asyncio.sleep(_WRITTEN_SECONDS)
            await self._read_written()

    async def _read_written(self) -> None:
        """What ranks on this machine write to PADDOCK_METRICS in the present attempt; it counts more than what they
        print."""
        directory = self._place.find_directory(self._job)
        if directory is None:
            return
        ranks = self.view.job.ranks()[:_MOST_WRITERS]
        found = await asyncio.to_thread(read_run, directory, ranks, self.view.status.attempt)
        for rank, written in found.items():
            if written.progress is not None and written.progress != self._written.get(rank):
                self._written[rank] = written.progress
                self._note_progress(rank, merge(self.view.progress.get(rank, Progress()), written.progress))

    def _draw(self, label: str, bar: str) -> None:
        """A progress bar stands on the live line until it is complete."""
        self._bars.pop(label, None)
        if bar:
            self._bars[label] = bar

    def _print(self, label: str, lines: list[str], attempt: int | None) -> None:
        self._printed.note(label, len(lines))
        self._screen.rank_lines(label, self._width, lines, attempt)

    def _note_environment(self, waiting: Mapping[str, Any]) -> None:
        if named := read_environment(str(waiting.get("message") or "")):
            self._environments.add(named)
            self._awaited.set()

    async def _follow_environments(self) -> None:
        """Starts when a pod first waits for an environment."""
        await self._awaited.wait()
        async for event in self._client.follow(ENVIRONMENTS):
            if event.type == "SYNCED" or (name := name_of(event.object)) not in self._environments:
                continue
            self._builds.show(name, event.object.get("status") or {})

    async def _paint(self) -> None:
        while True:
            line = build_live_line(self.view, time.time(), self._screen.language)
            bar = next((f"{rank}: {self._bars[rank]}" for rank in sorted(self._bars)), "")
            self._screen.status(self._builds.live or bar or line)
            await asyncio.sleep(_PAINT_SECONDS)


def _with(known: Mapping[Rank, Complaint], rank: Rank, found: Complaint | None) -> dict[Rank, Complaint]:
    others = {each: error for each, error in known.items() if each != rank}
    return others if found is None else {**others, rank: found}


def _draw_nothing(_: str) -> None:
    """The bar of a rank that is not shown."""


def _read_report(cause: CauseRecord) -> Report:
    """What is printed of the cause; of one that another version wrote the live line alone tells."""
    row = CAUSE_ROWS.get(cause.reason)
    return Report.LIVE if row is None else row.report


def _steps(cause: CauseRecord | None, key: Key, flags: Flags) -> list[Phrase]:
    """Next steps, for causes that only the user can resolve."""
    if cause is None or _read_report(cause) is not Report.STEPS:
        return []
    return build_next(build_steps(cause, key.name, key.namespace, local=flags.local), flags)


def _has_run(state: Mapping[str, Any]) -> bool:
    """Whether the container has a log: false if its program could not be started."""
    return "running" in state or ("terminated" in state and state["terminated"].get("reason") != "StartError")
