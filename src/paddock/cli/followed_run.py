"""One run, from checked documents to the exit code: submitted, followed to its end, ended politely where it must end.

`cli.verbs.run` calls it for a command line, `sdk.runs` for a Python call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import connect
from paddock.cli.follow.datasets import is_final
from paddock.cli.follow.failed_environment import ENVIRONMENT_FAILED
from paddock.cli.follow.follow import Follower, JobDeleted
from paddock.cli.follow.give_up import FAILURES, RepeatedFailures
from paddock.cli.follow.outcome import Outcome, cancel
from paddock.cli.follow.suspend import read_run_policy
from paddock.cli.output.display import build_head
from paddock.cli.output.interrupts import Listen, queue_interrupts
from paddock.cli.output.screen import Screen
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.next_steps import explain_following
from paddock.cli.submit.script.documents import Documents
from paddock.cli.submit.submitter import submit
from paddock.cli.submit.ways_of_sending import open_pushes
from paddock.jobs.ended import End
from paddock.jobs.model import CauseRecord, Rank
from paddock.kube.errors import Conflict, NotFound
from paddock.views.ended import read_end
from paddock.views.followed import FollowedJob
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client


def _hinders(cause: CauseRecord) -> bool:
    """Whether the job cannot start until somebody has mended something: then the command ends."""
    return cause.reason == ENVIRONMENT_FAILED or is_final(cause)


class Run:
    """One `paddock run`, from the checked manifest to the exit code."""

    def __init__(
        self,
        place: ClusterChoice,
        screen: Screen,
        shows: Callable[[Rank], bool],
        timeout: float | None = None,
        workdir: str | None = None,
        command: str = "",
        *,
        typed: bool = False,
        detach: bool = False,
        raw: bool = False,
        listen: Listen = queue_interrupts,
        is_changed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.job: StoredJob | None = None
        """The job, once it is created."""
        self.view: FollowedJob | None = None
        """How it stood when it was last looked at."""
        self._listen, self._is_changed, self._raw = listen, is_changed, raw
        self._command = command
        """The typed command, for a sentence that advises it again; empty if its file was stdin."""
        self._place, self._screen, self._shows, self._timeout = place, screen, shows, timeout
        self._workdir = workdir
        self._typed, self._detach = typed, detach
        self._interrupts: asyncio.Queue[None] = asyncio.Queue()
        self._creating = False
        """A create request was sent: from now on an interrupt must delete the job."""
        self._failures = RepeatedFailures()
        self._limits: set[asyncio.Task[None]] = set()
        self._gave_up = False
        """The job's backoffLimit was set by this command."""
        self._timed_out = False
        self._cannot_start = asyncio.Event()
        self._hindered: FollowedJob | None = None
        """The job as it was when its environment, or a dataset of it, was first reported as failed."""

    async def run(self, documents: Documents, without: tuple[str, ...]) -> int:
        checked = documents.checked
        async with connect(self._place) as client, self._listen(self._interrupts):
            submission = Submission(
                client, self._place, checked, self._screen.notify, self._workdir, without,
                documents.needed, documents.data, packages=documents.packages, storage=documents.storage, runs=True,
                typed=self._typed, show=self._screen.status, queue=documents.queue, priority=documents.priority,
                pushes=open_pushes(documents.push, self._workdir, self._screen.notify, self._show),
            )  # fmt: skip
            interrupt = asyncio.create_task(self._interrupts.get())
            submitting = asyncio.create_task(submit(submission, self._note_creating))
            try:
                await asyncio.wait([interrupt, submitting], return_when=asyncio.FIRST_COMPLETED)
                if not submitting.done() and not self._creating:
                    self._screen.notify(phrase("interrupted: nothing was submitted"))
                    return 130
                submitted = await submitting
                ((sent, created),) = ((each, made) for each, made in submitted.documents if each.is_job)
                self.job = job = read_stored(sent.resource, created)
                assert job.job is not None, "the server took what was checked"
                say = self._screen.answer if self._detach else self._screen.line
                say(build_head(job.job, self._screen.language))
                for said in submitted.programs:
                    say(said)
                if self._detach and interrupt.done():  # it came after the create request was sent
                    outcome = Outcome(client, self._place, self._screen, job, self._command)
                    return await self._interrupt(outcome, FollowedJob(job.job, job.status, time.time()))
                if self._detach:
                    self._screen.notify(explain_following(job.manifest, self._place.flags))
                    return 0
                return await self._follow(client, job, interrupt, checked[0].file)
            finally:
                await cancel(interrupt, submitting, *self._limits)

    def read_end(self, code: int | None) -> End:
        """How the job that was followed ended. `code`: what `run` returned, None if it raised an error."""
        assert self.view is not None
        limit = self._timeout if self._timed_out else None
        return read_end(self.view, code, time.time(), self._screen.language, limit=limit)

    def _show(self, said: Phrase) -> None:
        self._screen.status(render(said, self._screen.language))

    def _note_creating(self) -> None:
        self._creating = True

    async def _follow(self, client: Client, job: StoredJob, interrupt: asyncio.Task[None], file: str) -> int:
        def look(view: FollowedJob) -> None:
            limit = self._failures.add(view)
            if limit is not None:
                self._limits.add(asyncio.create_task(self._set_limit(client, job, limit)))
            cause = view.status.cause
            if cause and self._hindered is None and _hinders(cause):
                self._hindered = view
                self._cannot_start.set()

        follower = Follower(client, self._place, job, self._screen, self._shows, on_view=look,
                            folds=not self._raw, from_start=True, unreported=_hinders)  # fmt: skip
        outcome = Outcome(client, self._place, self._screen, job, self._command)
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(self._place.attend(client, job, self._screen.notify))
        cannot_start = asyncio.create_task(self._cannot_start.wait())
        try:
            parts = (following, interrupt, watching, cannot_start)
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED, timeout=self._timeout)
            if watching.done() and follower.view.status.phase.terminal:  # its files tell what it printed
                await asyncio.wait([following])
            if following.done():
                return await outcome.end(following.result(), limited=self._gave_up)
            if watching.done():
                raise Failed(watching.result())
            if interrupt.done():
                return await self._interrupt(outcome, follower.view)
            await cancel(following)  # it would report the suspension that follows
            if self._hindered is not None and is_final(self._hindered.status.cause):
                return await outcome.give_up_dataset(self._hindered, interrupt)
            if self._hindered is not None:
                return await outcome.give_up_environment(self._hindered, interrupt)
            self._timed_out = True
            return await outcome.time_out(follower.view, self._timeout or 0, file, interrupt)
        except JobDeleted:
            raise Failed(phrase("the job was deleted while it ran")) from None
        finally:
            self.view = follower.view
            await cancel(following, watching, cannot_start)

    async def _interrupt(self, outcome: Outcome, view: FollowedJob) -> int:
        again = asyncio.create_task(self._interrupts.get())
        try:
            return await outcome.interrupt(view, again, by_user=not self._is_changed())
        finally:
            await cancel(again)

    async def _set_limit(self, client: Client, job: StoredJob, limit: int) -> None:
        """See `cli.follow.give_up`. Does nothing if the job was deleted meanwhile."""
        try:
            patch = {"metadata": {"uid": job.uid}, "spec": {"runPolicy": {"backoffLimit": limit}}}
            patched = await client.patch(job.resource, *job.key, patch)
        except (NotFound, Conflict):
            return
        if (
            read_run_policy(patched).get("backoffLimit") != limit
        ):  # another operator's CRD has no such field and pruned it
            return
        self._gave_up = True
        said = phrase(
            "it has failed alike {count} times: once more, and the job is given up",
            count=FAILURES - 1,
        )
        self._screen.notify(said)
