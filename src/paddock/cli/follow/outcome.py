"""The end of `paddock run`: what is printed, whether the job is deleted or suspended, and the exit code.

A job ends by itself, or `run` stops it: at an interrupt (deleted), after --timeout, or if an environment cannot be
built or a dataset cannot be fetched (suspended). Pods get their grace period; a second interrupt kills them.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.app import launch
from paddock.app.written_metrics import explain_unread, read_run
from paddock.cli.cluster.deletion import delete_job, kill_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.datasets import WAITING
from paddock.cli.follow.failed_environment import explain_suspended, fetch_steps
from paddock.cli.follow.since_completed import find_since
from paddock.cli.follow.suspend import suspend
from paddock.cli.output.display import build_doubt, build_end, build_not_started, build_timeout
from paddock.cli.output.screen import Screen
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import CauseRecord, CleanPods, Job
from paddock.jobs.policies.fates import Situation, read_situation
from paddock.kube.errors import Unavailable
from paddock.submission.same_name import read_directory
from paddock.views.flags import Flags, build_next
from paddock.views.followed import FollowedJob, find_last_error, read_view_code
from paddock.views.given_up import write_given_up
from paddock.views.outputs import find_places
from paddock.views.phases import is_cancelled
from paddock.views.steps import build_steps
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client

_KILL_SECONDS = 10.0
_RETRY_SECONDS = 0.2
_MOST_RANKS = 64
"""Whose PADDOCK_METRICS is looked at."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Each public method is one way to end and returns the exit code; `kill` is done at another interrupt."""

    client: Client
    place: ClusterChoice
    screen: Screen
    job: StoredJob
    again: str = ""
    """The typed command; empty where it cannot be typed again."""

    async def end(self, view: FollowedJob, *, limited: bool) -> int:
        """The job has ended by itself. `limited`: `paddock run` has set its backoffLimit."""
        recorded, code = read_exit_code(view.status.phase, view.status.cause), read_view_code(view)
        if recorded:
            # late, as what reads a failure takes longer to import than a small job to run
            from paddock.cli.follow.failure import fetch_failure

            for line in await fetch_failure(self.client, self.place, self.job, view.status, view.printed):
                self.screen.line(line)
        cancelled = is_cancelled(view.status.phase, view.status.cause)
        well = "bold yellow" if find_last_error(view) is not None else "bold green"
        style = "bold" if cancelled else "bold red" if code else well
        self.screen.line(build_end(view, self.screen.language), style)
        for said in await self._tell_held(view) if recorded else ():
            self.screen.line(said)
        for said in find_since(self.place, self.job, view.status) if recorded else ():
            self.screen.line(said)
        if limited and view.status.cause and view.status.cause.reason == "BackoffLimitExceeded":
            self.screen.line(
                phrase(
                    "(paddock run gives up after three failures alike; runPolicy.backoffLimit in the manifest sets "
                    "another limit)"
                )
            )
        for said in build_doubt(view):
            self.screen.line(said, "bold yellow")
        if locations := explain_locations(self.place, self.job, view, self.screen.language):
            self.screen.line(locations)
        for said in self._tell_written(view, failed=bool(code)):
            self.screen.notify(said)
        if directory := self.place.find_directory(self.job):
            written = read_run(directory, list(view.job.ranks())[:_MOST_RANKS], view.status.attempt)
            if unread := explain_unread(written):
                self.screen.line(unread, "bold yellow")
        if _servers_kept(view):
            said = phrase(
                "its servers are kept running (cleanPodPolicy: Never): {command}", command=self._command("delete")
            )
            self.screen.notify(said)
        return code

    async def _tell_held(self, view: FollowedJob) -> list[Phrase]:
        """Which ranks are held for a shell, and how to get there."""
        if view.job.hold is None or self.place.home is None:
            return []
        from paddock.cli.follow.held_ranks import fetch_held

        return await fetch_held(self.client, self.job, view.status, self.place.flags)

    def _tell_written(self, view: FollowedJob, *, failed: bool) -> Iterator[Phrase]:
        """What is left of it elsewhere than where each run has its own; and how a run goes on that failed."""
        directory = self.place.find_directory(self.job)
        if directory is None or view.status.started is None:
            return
        from paddock.app.outputs import CHECKPOINTS, find_written, measure  # late, as in `places`
        from paddock.cli.follow.kept_outputs import explain_written

        if (where := read_directory(self.job.manifest)) and not self.place.find_outputs(self.job):
            found = find_written(where, view.submitted, time.time())
            if found is not None and (said := explain_written(where, found)):
                yield said
        if failed and measure(directory / CHECKPOINTS).files and (command := write_resuming(self.again)):
            yield phrase("it left checkpoints: `{command}` goes on from them", command=command)

    async def interrupt(self, view: FollowedJob, kill: asyncio.Task[None], *, by_user: bool = True) -> int:
        """The user has interrupted, or --watch has seen a change: the job is deleted."""
        self.screen.notify(
            phrase("stopping the job (Ctrl-C again kills it)") if by_user else phrase("stopping the job")
        )
        held: list[Phrase] = []

        async def end() -> None:
            if said := await delete_job(self.client, self.job, flags=self.place.flags):
                held.append(said)

        gone = await self._stop(end, kill) and not held
        if not by_user and gone:
            return 130
        whole = phrase("interrupted: the job and its pods are gone")
        if self.place.find_outputs(self.job):
            whole = phrase("interrupted: the job and its pods are gone; its outputs are kept")
        part = phrase("interrupted: the job is deleted, some of its pods have not ended yet")
        self.screen.notify(whole if gone else held[0] if held else part)
        if self.place.home is not None and view.status.started is not None:
            self.screen.notify(
                phrase(
                    "the run is kept: `{history}`, what it printed: `{logs}`",
                    history=self._command("history"), logs=self._command("logs"),
                )
            )  # fmt: skip
        if view.status.cause and view.status.cause.reason == "BuildingEnvironment":
            self.screen.notify(phrase("the build goes on; `{command}` shows it", command="paddock env list"))
        if view.status.cause and view.status.cause.reason == WAITING:
            where = self.place.flags.of(self.job.key.namespace)
            self.screen.notify(
                phrase(
                    "the dataset is fetched all the same; `{command}` shows it", command=f"paddock dataset list{where}"
                )
            )
        return 130

    async def time_out(self, view: FollowedJob, seconds: float, file: str, kill: asyncio.Task[None]) -> int:
        """--timeout is over: prints why the job has not completed and what to do, and suspends it.

        The job is suspended, not deleted: the log of a job that hangs is the only evidence of the reason.
        """
        language, cause = self.screen.language, view.status.cause
        self.screen.line(build_timeout(view, seconds, language), "bold red")
        if cause and cause.reason == "WaitingForScheduler":
            flags, key = self.place.flags, self.job.key
            for step in build_next(build_steps(cause, key.name, key.namespace, file, local=flags.local), flags):
                self.screen.line(step)
        if outputs := self.place.find_outputs(self.job):
            self.screen.line(phrase("outputs: {path} (PADDOCK_OUTPUT_DIR)", path=str(outputs)))
        rests = await self._stop(lambda: suspend(self.client, self.job, ""), kill)
        commands = {"logs": self._command("logs"), "delete": self._command("delete")}
        whole = phrase(
            "the job is suspended, it holds no pods: `{logs}` shows what it printed, `{delete}` removes it", **commands
        )
        if view.status.started is None:  # it never ran, so there is nothing to show
            whole = phrase(
                "the job is suspended, it holds no pods: `{resume}` lets it go on, `{delete}` removes it",
                resume=self._command("resume"), delete=self._command("delete"),
            )  # fmt: skip
        part = phrase(
            "the job is suspended, some of its pods have not ended yet: `{logs}` shows what it printed, `{delete}` "
            "removes it",
            **commands,
        )
        self.screen.notify(whole if rests else part)
        return 1

    async def give_up_dataset(self, view: FollowedJob, kill: asyncio.Task[None]) -> int:
        """The job cannot start until somebody has mended a dataset: the wait is over."""
        cause, key = view.status.cause, self.job.key
        assert cause is not None
        steps = build_next(build_steps(cause, key.name, key.namespace, local=self.place.flags.local), self.place.flags)
        return await self._give_up(view, cause, steps, kill)

    async def give_up_environment(self, view: FollowedJob, kill: asyncio.Task[None]) -> int:
        """The job cannot start until somebody has mended what its environment's sentence names: the wait is over."""
        cause = view.status.cause
        assert cause is not None
        steps = await fetch_steps(self.client, self.place, self.job, cause, self.again)
        return await self._give_up(view, cause, steps, kill)

    async def _give_up(
        self, view: FollowedJob, cause: CauseRecord, steps: Sequence[Phrase], kill: asyncio.Task[None]
    ) -> int:
        self.screen.line(build_not_started(view, time.time(), self.screen.language), "bold red")
        for step in steps:
            self.screen.line(step)
        why = write_given_up(cause)
        rests = await self._stop(lambda: suspend(self.client, self.job, why), kill)
        self.screen.notify(explain_suspended(self._command("delete"), rests=rests))
        return 1

    def _command(self, verb: str) -> str:
        return f"paddock {verb} {self.job.key.name}{self.place.flags.of(self.job.key.namespace)}"

    async def _stop(self, end: Callable[[], Awaitable[None]], kill: asyncio.Task[None]) -> bool:
        """Ends the job's pods by `end`; kills them when `kill` is done. False: some pods remain."""
        ending = asyncio.create_task(_retry_unavailable(end))
        try:
            await asyncio.wait([ending, kill], return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                self.screen.notify(phrase("killing it"))
                await _retry_unavailable(lambda: kill_pods(self.client, self.job))
                await asyncio.wait([ending], timeout=_KILL_SECONDS)
            if ending.done():
                ending.result()
            return ending.done()
        finally:
            await cancel(ending)


def _servers_kept(view: FollowedJob) -> bool:
    """Whether cleanPodPolicy Never keeps parameter servers running after the job has completed."""
    kept = read_situation(view.job, view.status) is Situation.COMPLETED_KEPT
    return kept and view.job.policies.clean_pods is CleanPods.NEVER and any(not r.trains for r in view.job.roles)


async def _retry_unavailable(work: Callable[[], Awaitable[None]]) -> None:
    """Retries while the API is unavailable: `ClusterChoice.attend` restarts a cluster that was killed."""
    deadline = time.monotonic() + launch.START_SECONDS
    while True:
        try:
            return await work()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_RETRY_SECONDS)


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and waits until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def explain_locations(place: ClusterChoice, job: StoredJob, view: FollowedJob, language: str) -> str:
    """Logs outlive their pods only on the local cluster; on a remote one outputs outlive them only in volumes."""
    logs = phrase("logs: {command}", command=f"paddock logs {job.key.name}{place.flags.of(job.key.namespace)}")
    outputs = place.find_outputs(job)
    said = [logs, phrase("outputs: {path} (PADDOCK_OUTPUT_DIR)", path=str(outputs))] if outputs else [logs]
    if _was_not_started(view):  # no rank has printed anything
        said = said[1:]
    if place.home is None:
        gone = phrase("logs: gone with the pods (cleanPodPolicy {policy})", policy=view.job.policies.clean_up)
        said = [gone if _is_cleaned_up(view) else logs, explain_outputs(view.job, place.flags)]
    return "      ".join(render(each, language) for each in said)


def write_resuming(command: str) -> str:
    """`paddock run --resume -- python train.py`; empty for no command. Pure."""
    own, dashes, program = command.partition(" -- ")
    own = re.sub(r" --resume(=\d+)?(?= |$)", "", own)
    return f"{own} --resume{dashes}{program}" if own else ""


def _was_not_started(view: FollowedJob) -> bool:
    """Of a job of one rank, that its program could not be started."""
    cause = view.status.cause
    failed = cause is not None and cause.reason == "RankFailed" and bool(cause.args.get("message"))
    return failed and view.status.attempt == 0 and len(view.job.ranks()) == 1


def explain_outputs(job: Job, flags: Flags) -> Phrase:
    """The command that has them from the claim of the job; else the mount paths of volumes that outlive the pods."""
    if job.outputs:
        return phrase("outputs: {command}", command=f"paddock outputs {job.key.name}{flags.of(job.key.namespace)}")
    if not (places := find_places(job)):
        return phrase("outputs: the job has no volume that outlives its pods, so what they wrote goes with them")
    return phrase("outputs: {path}", path=", ".join(places))


def _is_cleaned_up(view: FollowedJob) -> bool:
    """Whether cleanPodPolicy deletes the pods at this end."""
    return read_situation(view.job, view.status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
