"""One rehearsal, from the planned documents to its outcome: submitted, followed until it has told enough, removed.

`submission.rehearsal` plans it, `submission.rehearsal_report` judges and tells; this module looks, waits and removes.
Whatever ends it, an interrupt too, the job, its pods and what was made for it are gone afterwards; its logs and outputs
stay, as those of any job.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.examined_jobs import Looked, look_at_job
from paddock.app.written_metrics import build_reader, find_file
from paddock.cli.cluster.deletion import delete_job
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import Local
from paddock.cli.cluster.session import connect
from paddock.cli.follow.datasets import is_final
from paddock.cli.follow.failed_environment import ENVIRONMENT_FAILED
from paddock.cli.follow.failure import fetch_failure
from paddock.cli.follow.follow import Follower, JobDeleted
from paddock.cli.follow.outcome import cancel
from paddock.cli.output.display import strip_failed
from paddock.cli.output.interrupts import queue_interrupts
from paddock.cli.output.screen import Screen
from paddock.cli.rehearsed_findings import asks_for_device, find_apart
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.submitter import submit
from paddock.environments.needed import Needed
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import Job, JobProgress, Phase, PodPhase, Rank, Role
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.program_ranks import count_processes
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import ApiError
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, Resource, key_of, uid_of
from paddock.logs.metric_lines import MetricLines, Place
from paddock.logs.nearest_line import explain_nearest
from paddock.logs.printed_lines import LineReader
from paddock.logs.step_count import StepCount
from paddock.submission.rehearsal import Asked, Rehearsal
from paddock.submission.rehearsal_report import (
    Outcome,
    RoleSeen,
    Verdict,
    explain_too_few,
    find_ended,
    find_lacking,
    read_met,
)
from paddock.views.followed import FollowedJob
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_LOOK_SECONDS = 0.2
_SETTLE_SECONDS = 1.0
"""After the steps that were wanted: a peer that fails at this moment is seen."""
_JUDGE_SECONDS = 10.0
"""How long a job may go on of which a rank has failed."""
_LEAST_MEMORY = 256 << 20
_LEAST_SHARE = 0.03
"""Of the machine's memory: below, the kernel would soon end a process of anybody."""
_BUILDS = frozenset({"BuildingEnvironment", "WaitingForDataset"})
"""Causes whose time is not that of the job."""
_MOST_WRITERS = 64


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a rehearsal has come to."""

    outcome: Outcome
    looked: Looked | None = None
    """What doctor has found; None of one that went well."""
    last: tuple[Phrase | str, ...] = ()
    """The last lines of the rank that has failed."""
    outputs: Path | None = None
    cause: str = ""
    """The reason of the recorded cause."""


@dataclass(slots=True)
class Counting:
    """The steps that ranks have told, by what they print, what they write to PADDOCK_METRICS, and what they post."""

    printed: dict[tuple[Rank, int], tuple[LineReader, StepCount]] = field(default_factory=dict)
    written: dict[Rank, tuple[MetricLines, Place, StepCount]] = field(default_factory=dict)
    posted: StepCount = field(default_factory=StepCount)
    """By what the job's status tells, where no rank prints or writes: clients of Kubeflow's API post it."""
    last: JobProgress | None = None

    def read(self, rank: Rank, attempt: int, lines: Sequence[str]) -> None:
        reader, count = self.printed.get((rank, attempt)) or (LineReader(), StepCount())
        for line in lines:
            if (found := reader.read(line)) is not None:
                count = count.read(found)
        self.printed[rank, attempt] = reader, count

    def look(self, rank: Rank, file: Path) -> None:
        lines, place, count = self.written.get(rank) or (MetricLines(), Place(), StepCount())
        piece = build_reader(file)(place)
        for found in lines.feed(piece.data):
            count = count.read(found)
        self.written[rank] = lines, piece.place, count

    def note(self, progress: JobProgress | None) -> None:
        if progress is not None and progress != self.last:
            self.last, self.posted = progress, self.posted.note_change()

    def has_done(self, job: Job, steps: int) -> bool:
        """Whether one rank that trains has told so many steps."""
        trains = [(rank, _count_processes(job, role)) for role in job.roles if role.trains for rank in role.ranks()]
        if any(self.best_of(rank, processes).has_done(steps, processes) for rank, processes in trains):
            return True
        return self.is_posted(job) and self.posted.has_done(steps)

    def is_posted(self, job: Job) -> bool:
        """Whether all that is known was posted."""
        trains = (rank for role in job.roles if role.trains for rank in role.ranks())
        return self.posted.first is not None and all(self.best_of(rank).first is None for rank in trains)

    def best_of(self, rank: Rank, processes: int = 1) -> StepCount:
        """Of what a rank has printed in each attempt and what it has written, what tells most, the earliest and printed
        first where two tell as much. `processes`: of its pod, as in `StepCount.count`."""
        attempts = sorted(attempt for each, attempt in self.printed if each == rank)
        counts = [self.printed[rank, attempt][1] for attempt in attempts]
        counts += [self.written[rank][2]] if rank in self.written else []
        return max(
            counts,
            key=lambda each: (each.epochs, each.count(processes), each.first is not None),
            default=StepCount(),
        )


class RehearsedRun:
    """`needed`: environments of requirements files; `workdir`: of --workdir."""

    def __init__(
        self,
        place: Local,
        screen: Screen,
        plan: Rehearsal,
        asked: Asked,
        *,
        needed: Sequence[Needed] = (),
        workdir: str | None = None,
    ) -> None:
        self._place, self._screen, self._plan, self._asked = place, screen, plan, asked
        self._needed, self._workdir = needed, workdir
        self._interrupts: asyncio.Queue[None] = asyncio.Queue()
        self._creating = False
        self._made: list[Manifest] = []
        """What was created, in the order of the plan's documents."""
        self._counting = Counting()
        self._begun = self._since = time.monotonic()
        self._ran = False
        self._failed = 0.0
        """When a failed rank was first seen."""
        self._started: dict[str, int] = {}
        """By role, the most ranks that were seen to run or to have run."""

    async def run(self) -> Rehearsed | None:
        """None where it was interrupted. Raises `UserError`, `Failed`, `ApiError`."""
        async with connect(self._place) as client, queue_interrupts(self._interrupts):
            submission = Submission(
                client, self._place, list(self._plan.documents), self._screen.notify, self._workdir,
                needed=self._needed, runs=True, creates_only=True,
            )  # fmt: skip
            interrupt = asyncio.create_task(self._interrupts.get())
            submitting = asyncio.create_task(submit(submission, self._note_creating, self._made))
            job: StoredJob | None = None
            try:
                await asyncio.wait([interrupt, submitting], return_when=asyncio.FIRST_COMPLETED)
                if not submitting.done() and not self._creating:
                    self._screen.notify(phrase("interrupted: nothing was submitted"))
                    return None
                submitted = await submitting
                ((sent, created),) = ((each, made) for each, made in submitted.documents if each.is_job)
                job = read_stored(sent.resource, created)
                await self._own(client, job)
                for said in submitted.programs:
                    self._screen.notify(said)
                return await self._follow(client, job, interrupt)
            finally:
                await cancel(submitting)
                if self._creating:
                    await self._remove(client, job)
                await cancel(interrupt)

    async def _own(self, client: Client, job: StoredJob) -> None:
        """The job owns what was made for it: where this command is killed, it goes with the job."""
        owner = {
            "apiVersion": job.resource.api_version,
            "kind": job.resource.kind,
            "name": job.key.name,
            "uid": job.uid,
        }
        for resource, made in self._list_made():
            with contextlib.suppress(ApiError):
                await client.patch(resource, *key_of(made), {"metadata": {"ownerReferences": [owner]}})

    def _list_made(self) -> list[tuple[Resource, Manifest]]:
        """The ConfigMaps and Secrets that were created."""
        pairs = zip(self._plan.documents, self._made, strict=False)
        return [(each.resource, made) for each, made in pairs if each.resource in (CONFIG_MAPS, SECRETS)]

    def _note_creating(self) -> None:
        self._creating = True

    async def _follow(self, client: Client, job: StoredJob, interrupt: asyncio.Task[None]) -> Rehearsed | None:
        follower = Follower(client, self._place, job, self._screen, lambda _: False,
                            on_view=self._note, on_lines=self._counting.read)  # fmt: skip
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(self._place.attend(client, job, self._screen.notify))
        self._begun = self._since = time.monotonic()
        try:
            verdict = await self._watch(client, job, follower, (following, watching, interrupt))
            if verdict is None:
                self._screen.notify(phrase("interrupted: ending the ranks"))
                return None
            await cancel(following)
            return await self._examine(client, job, follower.view, verdict)
        except JobDeleted:
            raise Failed(phrase("the job was deleted while it ran")) from None
        finally:
            await cancel(following, watching)

    def _note(self, view: FollowedJob) -> None:
        self._counting.note(view.status.progress)
        for name, counts in view.status.roles.items():
            seen = counts.running + counts.succeeded + counts.failed
            self._started[name] = max(seen, self._started.get(name, 0))

    async def _watch(
        self,
        client: Client,
        job: StoredJob,
        follower: Follower,
        tasks: tuple[asyncio.Task[FollowedJob], asyncio.Task[Phrase], asyncio.Task[None]],
    ) -> Verdict | None:
        """Until something ends it. None: an interrupt."""
        following, watching, interrupt = tasks
        while True:
            await asyncio.wait(tasks, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if interrupt.done():
                return None
            if following.done():
                status = following.result().status
                return Verdict.FAILED if read_exit_code(status.phase, status.cause) else Verdict.COMPLETED
            if watching.done():
                raise Failed(watching.result())
            if (verdict := await self._look(client, job, follower.view)) is not None:
                return verdict

    async def _look(self, client: Client, job: StoredJob, view: FollowedJob) -> Verdict | None:
        """The verdict on a job that goes on; None where there is none yet."""
        cause, now = view.status.cause, time.monotonic()
        if cause is not None and (cause.reason == ENVIRONMENT_FAILED or is_final(cause)):
            return Verdict.NOT_STARTED
        if cause is not None and cause.reason in _BUILDS:
            self._since = now
        if not self._ran and view.status.phase is Phase.RUNNING:
            self._ran, self._since = True, now
        if _is_short_of_memory():
            return Verdict.NO_MEMORY
        await self._read_written(job, view)
        if any(counts.failed for counts in view.status.roles.values()):
            self._failed = self._failed or now
            return Verdict.FAILED if now - self._failed > _JUDGE_SECONDS else None
        is_late = now - self._since > self._asked.seconds
        if not self._has_stepped(view.job) and not is_late:
            return None
        started, failed = await self._count(client, job)
        if failed:  # the operator records it in a moment
            return None
        if self._has_stepped(view.job) and started == len(view.job.ranks()):
            return await self._settle(client, job)
        if not is_late:
            return None
        return Verdict.UNKNOWN if started == len(view.job.ranks()) else Verdict.NOT_STARTED

    async def _settle(self, client: Client, job: StoredJob) -> Verdict | None:
        await asyncio.sleep(_SETTLE_SECONDS)
        _, failed = await self._count(client, job)
        return None if failed else Verdict.STEPPED

    async def _count(self, client: Client, job: StoredJob) -> tuple[int, bool]:
        """How many ranks have started, and whether one has failed."""
        pods = [pod for each in await fetch_pods(client, job) if (pod := read_pod(each)) is not None]
        started = {pod.rank for pod in pods if pod.phase in (PodPhase.RUNNING, PodPhase.SUCCEEDED, PodPhase.FAILED)}
        return len(started), any(pod.phase is PodPhase.FAILED for pod in pods)

    def _has_stepped(self, job: Job) -> bool:
        return self._counting.has_done(job, self._asked.steps)

    async def _read_written(self, job: StoredJob, view: FollowedJob) -> None:
        for rank in view.job.ranks()[:_MOST_WRITERS]:
            file = find_file(self._place.home, *job.key, job.uid, str(rank), view.status.attempt)
            await asyncio.to_thread(self._counting.look, rank, file)

    # What it has come to

    async def _examine(self, client: Client, job: StoredJob, view: FollowedJob, verdict: Verdict) -> Rehearsed:
        seconds = time.monotonic() - (self._since if self._ran else self._begun)
        assert job.job is not None
        looked = await look_at_job(
            client, job.job, view.status, job.uid,
            history=self._place.kept, local=True, now=time.time(), named=job.key.name,
            options=self._place.flags.of(job.key.namespace), most=1 << 24, is_gone=True,
        )  # fmt: skip
        last = list[Phrase | str]()
        if verdict is Verdict.FAILED:
            last = await fetch_failure(client, self._place, job, view.status)
        pods = [pod for each in await fetch_pods(client, job) if (pod := read_pod(each)) is not None]
        begun = {pod.rank for pod in pods if pod.phase not in (PodPhase.PENDING, PodPhase.STARTING)}
        begun |= {rank for rank, _ in self._counting.printed}
        roles = tuple(self._see(role, view, looked, begun) for role in view.job.roles)
        apart = find_apart(looked.findings) if not any(role.count.first for role in roles) else None
        if apart is not None:
            roles = tuple(replace(role, met=role.met if role.alone else False) for role in roles)
            verdict = Verdict.FAILED if verdict is Verdict.UNKNOWN else verdict
        why = self._explain(view, verdict, roles, looked) if view.status.phase.terminal or apart is None else apart
        cause = view.status.cause
        wants = asks_for_device(looked.findings)
        errors = (*(role.error for role in roles), *map(str, last))
        lacks = find_lacking(self._plan.replaced, errors) if verdict is Verdict.FAILED else None
        return Rehearsed(
            Outcome(verdict, seconds, roles, why, wants_device=wants, lacks=lacks, ended=find_ended(pods)),
            None if verdict in (Verdict.STEPPED, Verdict.COMPLETED) else looked,
            tuple(last), self._place.find_outputs(job), cause.reason if cause else "",
        )  # fmt: skip

    def _explain(self, view: FollowedJob, verdict: Verdict, roles: Sequence[RoleSeen], looked: Looked) -> Phrase | str:
        if verdict is Verdict.UNKNOWN:
            return explain_too_few(roles, self._asked.steps, explain_nearest(looked.nearest))
        failed = [name for name, counts in view.status.roles.items() if counts.failed]
        if verdict is Verdict.FAILED and failed and not view.status.phase.terminal:
            return phrase("a rank of {role} has failed, and the others go on", role=failed[0])
        if view.status.cause is None:
            return phrase("no cause is recorded")
        return strip_failed(explain(view.status.cause, self._screen.language))

    def _see(self, role: Role, view: FollowedJob, looked: Looked, begun: set[Rank]) -> RoleSeen:
        ranks, processes = role.ranks(), _count_processes(view.job, role)
        counts = {rank: self._counting.best_of(rank, processes) for rank in ranks}
        if role.trains and ranks and self._counting.is_posted(view.job):
            counts[ranks[0]] = self._counting.posted
        teller = max(
            (rank for rank in ranks if counts[rank].first is not None),
            key=lambda rank: (counts[rank].epochs, counts[rank].count(processes), -rank.index),
            default=None,
        )
        logs = [looked.printed[str(rank)].log for rank in ranks if str(rank) in looked.printed]
        complaints = [view.complaints[rank].text for rank in ranks if rank in view.complaints]
        errors = complaints or [log.error.text for log in logs if log.error is not None and log.ends_in_error]
        return RoleSeen(
            role.name,
            len(ranks),
            min(len(ranks), max(sum(rank in begun for rank in ranks), self._started.get(role.name, 0))),
            read_met(view.job, role, watched=any(log.watching for log in logs), told=teller is not None),
            len(view.job.ranks()) == 1,
            str(teller or ""),
            counts[teller] if teller else StepCount(),
            processes,
            errors[0] if errors else "",
        )

    # Clean-up

    async def _remove(self, client: Client, job: StoredJob | None) -> None:
        """The job, its pods, and the ConfigMaps and Secrets that were made for it. `job`: None where none was created.
        Interrupts are no reason to stop."""
        with contextlib.suppress(ApiError):
            if job is not None and (held := await delete_job(client, job, now=True, flags=self._place.flags)):
                self._screen.notify(held)
        for resource, made in self._list_made():
            with contextlib.suppress(ApiError):
                await client.delete(resource, *key_of(made), uid=uid_of(made))


def _count_processes(job: Job, role: Role) -> int:
    return count_processes(job, role) or 1


def _is_short_of_memory() -> bool:
    import psutil

    memory = psutil.virtual_memory()
    return bool(memory.available < max(_LEAST_MEMORY, memory.total * _LEAST_SHARE))
