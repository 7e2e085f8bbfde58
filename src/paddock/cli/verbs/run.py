"""paddock run"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, connect, typed_command
from paddock.cli.follow.dataset_waits import is_final
from paddock.cli.follow.failed_environment import ENVIRONMENT_FAILED
from paddock.cli.follow.follow import Follower, JobDeleted
from paddock.cli.follow.give_up import FAILURES, RepeatedFailures
from paddock.cli.follow.on_end import OnEnd, call_on_end, read_on_end
from paddock.cli.follow.outcome import Outcome, cancel
from paddock.cli.follow.ranks import Ranges, RanksType, choose_ranks
from paddock.cli.follow.suspend import read_run_policy
from paddock.cli.follow.watch import Watch
from paddock.cli.output.display import build_head
from paddock.cli.output.interrupts import Listen, queue_interrupts
from paddock.cli.output.language import readers_language
from paddock.cli.output.periods import read_seconds
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_line
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.next_steps import explain_console, explain_following
from paddock.cli.submit.script.documents import Documents, read_documents
from paddock.cli.submit.script.options import ScriptOptions, read_options, script_options
from paddock.cli.submit.script.typed_command import CommandVerb, read_typed
from paddock.cli.submit.script.written_manifest import write_manifests
from paddock.cli.submit.submission import drop_devices
from paddock.cli.submit.submitter import submit
from paddock.cli.submit.watched_files import find_watched, refuse_watching
from paddock.cli.submit.workdir import refuse_impossible, workdir_option
from paddock.jobs.model import CauseRecord, Rank
from paddock.kube.errors import Conflict, NotFound
from paddock.views.ended import End, read_end
from paddock.views.followed import FollowedJob
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.client.client import Client


@click.command(name="run", cls=CommandVerb)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(allow_dash=True))
@script_options
@click.option("--print", "shown", is_flag=True, help="Print the manifest and create nothing.")
@click.option("--detach", is_flag=True, help="Come back as soon as the job is submitted.")
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option(
    "--timeout",
    type=read_seconds,
    default=None,
    metavar="SECONDS",
    help="Suspend a job that has not completed by then: 60, 10m.",
)
@click.option("--role", default="", metavar="ROLE", help="Print the lines of this role alone.")
@click.option("--rank", "index", type=RanksType(), metavar="N", help="Print the lines of these ranks alone: 0,3-5.")
@click.option("--raw", is_flag=True, help="Print all lines, those of launchers and libraries too.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    default="auto",
    help="What pods run in, if the local cluster is not up yet.",
)
@click.option("--watch", "watches", is_flag=True, help="Run it again when a file of the program changes.")
@click.option(
    "--on-end",
    default=None,
    metavar="COMMAND|URL",
    help="Start this command, or POST to this address, when the job has ended.",
)
@workdir_option
@namespace_option
def command(
    file: str | None,
    shown: bool,
    detach: bool,
    watches: bool,
    without: tuple[str, ...],
    timeout: float | None,
    role: str,
    index: Ranges | None,
    raw: bool,
    sandbox: str,
    workdir: str | None,
    on_end: str | None,
    namespace: str,
    **typed: Any,
) -> int:
    """Train: start what is needed, submit a program or a manifest, follow the job to its end.

    \b
    paddock run -- python train.py --lr 0.1
    paddock run --workers 2 -r requirements.txt -- python train.py
    paddock run --workers 2 --print -- python train.py
    paddock run --watch -- python train.py
    paddock run job.yaml
    paddock run job.yaml -- --lr 0.5
    paddock run job.yaml --without nvidia.com/gpu
    paddock run job.yaml --data imagenet:/data
    paddock run job.yaml --rank 0 | tee log
    paddock run --context prod --image IMAGE --workdir . -- python train.py

    What stands behind `--` is run as it is typed, by no shell. It becomes a PaddleJob or, of a program that imports
    torch, a PyTorchJob like any other: --print shows it and `paddock init` writes it to a file. It is not restarted
    unless --restarts says so. Behind a FILE, what follows `--` are arguments for its program, in every role.

    On the local cluster a script that is named by a relative path is taken from the directory that this is called in,
    or --workdir names. With --context the job goes to that Kubernetes, and a directory goes with it only where
    --workdir names one (--workdir . for this one): at most 900 KiB, and no file that looks like a secret.
    What else the file holds (a ConfigMap, a PodGroup) is created, or brought to the file's state. A job of the same
    name gives way if it has finished or --timeout suspended it, else not. A manifest's job without
    runPolicy.backoffLimit is given up after three failures alike.

    --watch runs the job again when the script or the manifest, a file that an option names, or a Python file of the
    directory that was there when the run began changes: a job that still runs is ended politely. Other files, which
    the job may write itself, and what .gitignore names do not count.

    What the program prints goes to standard output: of one rank alone just as it was printed, of several each line with
    its rank. All that Paddock says goes to standard error.

    When the job has ended, --on-end starts a command (without a shell; PADDOCK_JOB, PADDOCK_NAMESPACE, PADDOCK_PHASE,
    PADDOCK_CAUSE and PADDOCK_SECONDS are in its environment) or sends the same in JSON to a web address. It does not
    change the exit code.

    Exit code: 0 every rank did its work, 1 one failed, 2 the command or the manifest is wrong, 130 interrupted. Of a
    command every rank is waited for, and one that fails fails the job; --end-wait ends those that run on. Ctrl-C ends
    the job politely, a second one at once.
    """
    options = read_options(typed, workdir, namespace)
    refuse_contradictions(file, timeout, on_end, detach=detach, watches=watches)
    called = read_on_end(on_end) if on_end is not None else None
    call = Call(file, options, choose_place(), without, timeout, role, index, sandbox, called, shown, detach, raw)
    if not watches or shown:
        return call.once(queue_interrupts)
    between = Screen(language=readers_language())
    watch = Watch(find_watched(file, read_typed(), options), between.notify)
    return watch.repeat(lambda listen: call.once(listen, lambda: watch.is_changed))


def refuse_contradictions(
    file: str | None, timeout: float | None, on_end: str | None, *, detach: bool, watches: bool
) -> None:
    """Raises `UserError` for options of which one leaves nothing to do for the other."""
    if detach and timeout is not None:
        raise UserError(phrase("--timeout suspends the job from here, and --detach leaves it alone: leave one out"))
    if watches:
        refuse_watching(file, detach=detach)
    if detach and on_end is not None:
        raise UserError(phrase("--on-end is called from here, and --detach does not wait for the end: leave one out"))


@dataclass(frozen=True, slots=True)
class Call:
    """What was typed, as the options of `command`. `options`: those that make a job of a typed command; `index`: the
    ranks of --rank; `on_end`: what is called when the job has ended; `shown`: --print."""

    file: str | None
    options: ScriptOptions
    place: ClusterChoice
    without: tuple[str, ...]
    timeout: float | None
    role: str
    index: Ranges | None
    sandbox: str
    on_end: OnEnd | None
    shown: bool
    detach: bool
    raw: bool

    def once(self, listen: Listen, is_changed: Callable[[], bool] = lambda: False) -> int:
        """Runs it to the end of the job, and returns the exit code. `listen` tells it to end early, and `is_changed`
        whether that is for a change: --watch runs it again then, with the files read again, and nobody is called."""
        with Screen(language=readers_language()) as screen:
            documents = read_documents(self.file, read_typed(), self.options, self.place, screen.notify)
        checked, job = documents.checked, documents.job
        if self.shown:
            print_line(write_manifests([each.manifest for each in drop_devices(checked, self.without)]), end="")
            return 0
        which = choose_ranks(job.key.name, job.ranks(), self.role, self.index, None)
        if self.place.home is None and self.sandbox != "auto":
            raise UserError(
                phrase(
                    "--sandbox is for the local cluster: on a cluster pods run in containers of their images; leave it "
                    "out"
                )
            )
        with Screen(language=readers_language()) as screen:
            refuse_impossible(self.place, checked, screen.notify)
        self.place.start(sandbox=self.sandbox)
        with Screen(language=readers_language(), goes_on=True) as screen:
            return self._follow(documents, which.shows, screen, listen, is_changed)

    def _follow(
        self,
        documents: Documents,
        shows: Callable[[Rank], bool],
        screen: Screen,
        listen: Listen,
        is_changed: Callable[[], bool],
    ) -> int:
        run = Run(
            self.place, screen, shows, self.timeout, self.options.workdir, "" if self.file == "-" else typed_command(),
            typed=self.file is None, detach=self.detach, raw=self.raw, listen=listen, is_changed=is_changed,
        )  # fmt: skip
        code: int | None = None
        try:
            code = asyncio.run(run.run(documents, self.without))
        finally:
            called = self.on_end if run.view and not is_changed() else None
            if called and (problem := call_on_end(called, run.read_end(code))):
                screen.notify(problem)
        return code


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
                documents.needed, documents.data, runs=True, typed=self._typed,
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
                if console := explain_console(self._place, job):
                    self._screen.notify(console)
                if self._detach and interrupt.done():  # it came after the create request was sent
                    outcome = Outcome(client, self._place, self._screen, job)
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
                            folds=not self._raw, unreported=_hinders)  # fmt: skip
        outcome = Outcome(client, self._place, self._screen, job)
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(self._place.attend(client, job, self._screen.notify))
        cannot_start = asyncio.create_task(self._cannot_start.wait())
        try:
            parts = (following, interrupt, watching, cannot_start)
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED, timeout=self._timeout)
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
                return await outcome.give_up_environment(self._hindered, self._command, interrupt)
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
