"""paddock run"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from paddock.app import launch
from paddock.cli.context_options import namespace_option
from paddock.cli.delete import end_job, kill_pods
from paddock.cli.display import View, build_doubt, build_end, build_head, build_not_started, build_timeout
from paddock.cli.errors import Failed, UserError
from paddock.cli.failure import fetch_failure
from paddock.cli.find import in_namespace
from paddock.cli.follow import Follower, Gone
from paddock.cli.interrupts import queue_interrupts
from paddock.cli.jobs_view import write_given_up
from paddock.cli.language import readers_language
from paddock.cli.logs import choose_ranks
from paddock.cli.patience import FAILURES, Patience
from paddock.cli.places import Place
from paddock.cli.same_name import explain_replaced, explain_taken
from paddock.cli.screen import Screen
from paddock.cli.sent_directories import create_with_maps
from paddock.cli.session import choose_place, connect, typed_command
from paddock.cli.submission import (
    Checked,
    check_with_server,
    drop_devices,
    fetch_devices,
    read_devices,
    read_files,
)
from paddock.cli.suspend import read_run_policy, suspend
from paddock.cli.unbuilt import ENVIRONMENT_FAILED, explain_suspended, fetch_steps
from paddock.cli.verb import Verb
from paddock.cli.where import explain_where
from paddock.cli.workdir import place_directories, refuse_impossible, workdir_option
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CleanPods, Phase, Rank
from paddock.jobs.phrases import phrase
from paddock.kube.errors import Conflict, NotFound, Unavailable
from paddock.kube.meta import NODES, Manifest, Resource, name_of, namespace_of, uid_of
from paddock.kube.quantities import format_quantity

if TYPE_CHECKING:
    from paddock.client.client import Client

_LEFT_PODS = phrase("waiting for the pods of that job to end")
_KILL_SECONDS = 10.0
_AGAIN = 0.2


def read_seconds(text: str) -> float:
    """`60`, `60s`, `10m`, `1.5h`, as kubectl takes a timeout; a number alone is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not seconds:
        raise click.BadParameter(f"{text!r} is no time: seconds, or a number with s, m or h, such as 60 or 10m")
    return seconds


@click.command(name="run", cls=Verb)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option(
    "--timeout",
    type=read_seconds,
    default=None,
    metavar="SECONDS",
    help="Suspend a job that has not completed by then: 60, 10m.",
)
@click.option("--role", default="", metavar="ROLE", help="Print the lines of this role alone.")
@click.option("--rank", "index", type=int, default=None, metavar="N", help="Print the lines of this rank alone.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    default="auto",
    help="What pods run in, if the local cluster is not up yet.",
)
@workdir_option
@namespace_option
def command(
    file: str,
    without: tuple[str, ...],
    timeout: float | None,
    role: str,
    index: int | None,
    sandbox: str,
    workdir: str | None,
    namespace: str,
) -> int:
    """Train: start what is needed, submit the manifest, follow the job to its end.

    \b
    paddock run job.yaml
    paddock run job.yaml --without nvidia.com/gpu
    paddock run job.yaml --rank 0 | tee log
    paddock run job.yaml --context prod --workdir .

    On the local cluster a script that no image brings (python train.py) is taken from the directory that this is
    called in. With --context the job goes to that Kubernetes, and a directory goes with it only where --workdir names
    one (--workdir . for this one): at most 900 KiB, and no file that looks like a secret.
    What else the file holds (a ConfigMap, a PodGroup) is created, or brought to the file's state. A job of the same
    name gives way if it has finished or --timeout suspended it, else not. A job without runPolicy.backoffLimit is
    given up after three failures alike.

    Exit code: 0 completed, 1 failed, 2 the manifest is wrong, 130 interrupted. Ctrl-C ends the job politely, a second
    one at once.
    """
    checked = read_files([file], namespace)
    jobs = [each for each in checked if each.is_job]
    if len(jobs) != 1:
        raise UserError(f"{file}: run follows one job, here are {len(jobs)}: `paddock submit {file}` submits them all")
    job = KINDS[jobs[0].resource].read_job(jobs[0].manifest)
    which = choose_ranks(job.key.name, job.ranks(), role, index, None)
    place = choose_place()
    if place.home is None and sandbox != "auto":
        raise UserError(
            phrase(
                "--sandbox is for the local cluster: on a cluster pods run in containers of their images; leave it out"
            )
        )
    with Screen(language=readers_language()) as screen:
        refuse_impossible(place, checked, screen.talk)
    place.start(sandbox=sandbox)
    with Screen(language=readers_language()) as screen:
        run = Run(place, screen, which.shows, timeout, workdir, "" if file == "-" else typed_command())
        return asyncio.run(run.run(checked, without))


class Run:
    """One `paddock run`, from the checked manifest to the exit code."""

    def __init__(
        self,
        place: Place,
        screen: Screen,
        shows: Callable[[Rank], bool],
        timeout: float | None = None,
        workdir: str | None = None,
        command: str = "",
    ) -> None:
        self._command = command
        """What was typed, to be typed again; empty where its file cannot be read again."""
        self._place, self._screen, self._shows, self._timeout = place, screen, shows, timeout
        self._workdir = workdir
        self._interrupts: asyncio.Queue[None] = asyncio.Queue()
        self._creating = False
        """From here on there may be a job to end."""
        self._patience = Patience()
        self._limits: set[asyncio.Task[None]] = set()
        self._gave_up = False
        """The limit of restarts that the job has is ours."""
        self._cannot_start = asyncio.Event()
        self._hopeless: View | None = None
        """The job when it was first said that an environment which it needs cannot be built."""

    async def run(self, checked: list[Checked], without: tuple[str, ...]) -> int:
        async with connect(self._place) as client, queue_interrupts(self._interrupts):
            interrupt = asyncio.create_task(self._interrupts.get())
            submitting = asyncio.create_task(self._submit(client, checked, without))
            try:
                await asyncio.wait([interrupt, submitting], return_when=asyncio.FIRST_COMPLETED)
                if not submitting.done() and not self._creating:
                    self._screen.talk(phrase("interrupted: nothing was submitted"))
                    return 130
                resource, manifest = await submitting
                self._screen.line(build_head(KINDS[resource].read_job(manifest), self._screen.language))
                return await self._follow(client, resource, manifest, interrupt, checked[0].file)
            finally:
                await _cancel(interrupt, submitting, *self._limits)

    async def _submit(
        self, client: Client, checked: list[Checked], without: tuple[str, ...]
    ) -> tuple[Resource, Manifest]:
        checked = await self._adapt(client, checked, without)
        checked = await place_directories(client, self._place, checked, self._workdir, self._screen.talk)
        job = next(each for each in checked if each.is_job)
        await self._replace_finished(client, job)
        await check_with_server(client, checked, update=True, flags=self._place.flags)
        self._creating = True
        created = await create_with_maps(client, checked, self._screen.talk, update=True)
        return job.resource, created[checked.index(job)]

    async def _adapt(self, client: Client, checked: list[Checked], without: tuple[str, ...]) -> list[Checked]:
        """Without the devices that the user named, and on the laptop without those that no node has; where the job
        could not start without them either, it stays as it is written, so that it waits with all of its reasons. On a
        cluster nodes may come that have them."""
        checked = drop_devices(checked, without)
        if self._place.home is None:
            return checked
        asked = read_devices(each.manifest for each in checked if each.is_job)
        there = await fetch_devices(client) if asked else set()
        lacking = [name for name in asked if name not in there]
        fewer = drop_devices(checked, lacking)
        if not lacking or not await self._fits(client, fewer):
            return checked
        for name in lacking:
            said = phrase(
                "the job asks for {amount} {device} and this machine has none: training on the CPU "
                "(--without {device})",
                amount=format_quantity(asked[name]),
                device=name,
            )
            self._screen.talk(said)
        return fewer

    async def _fits(self, client: Client, checked: Sequence[Checked]) -> bool:
        """Whether the job's pods would fit on the cluster if it were empty."""
        from paddock.cli.why_not import plan_why_not

        job = next(each for each in checked if each.is_job)
        nodes = (await client.list(NODES)).items
        return plan_why_not(KINDS[job.resource].read_job(job.manifest), [], nodes, [], time.time()) is None

    async def _replace_finished(self, client: Client, job: Checked) -> None:
        """A finished job of this name gives way; an unfinished one is somebody's work and does not."""
        if not job.key.name:  # generateName: the server makes a new name
            return
        try:
            current = await client.get(job.resource, *job.key)
        except NotFound:
            return
        if taken := explain_taken(job.resource, current, time.time(), self._place.flags):
            raise UserError(taken)
        self._screen.talk(explain_replaced(job.resource, current, job.label, time.time()))
        await end_job(client, job.resource, current, say=lambda _: self._screen.talk(_LEFT_PODS))

    async def _follow(
        self, client: Client, resource: Resource, job: Manifest, interrupt: asyncio.Task[None], file: str
    ) -> int:
        def look(view: View) -> None:
            limit = self._patience.note(view)
            if limit is not None:
                self._limits.add(asyncio.create_task(self._set_limit(client, resource, job, limit)))
            if view.status.cause and view.status.cause.reason == ENVIRONMENT_FAILED and self._hopeless is None:
                self._hopeless = view
                self._cannot_start.set()

        follower = Follower(client, self._place, resource, job, self._screen, self._shows, on_view=look,
                            untold=frozenset({ENVIRONMENT_FAILED}))  # fmt: skip
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(self._place.attend(client, resource, job, self._screen.talk))
        hopeless = asyncio.create_task(self._cannot_start.wait())
        try:
            parts = (following, interrupt, watching, hopeless)
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED, timeout=self._timeout)
            if following.done():
                return await self._end(client, resource, job, following.result())
            if watching.done():
                raise Failed(watching.result())
            if interrupt.done():
                return await self._interrupted(client, resource, job, follower.view)
            await _cancel(following)  # its words about a job that is suspended are not for this one
            if self._hopeless is not None:
                return await self._give_up_environment(client, resource, job, self._hopeless, interrupt)
            return await self._give_up(client, resource, job, follower.view, interrupt, file)
        except Gone:
            raise Failed("the job was deleted while it ran") from None
        finally:
            await _cancel(following, watching, hopeless)

    async def _set_limit(self, client: Client, resource: Resource, job: Manifest, limit: int) -> None:
        """See `cli.patience`. The job may be gone by now; then there is nothing to limit."""
        try:
            patch = {"metadata": {"uid": uid_of(job)}, "spec": {"runPolicy": {"backoffLimit": limit}}}
            patched = await client.patch(resource, namespace_of(job), name_of(job), patch)
        except (NotFound, Conflict):
            return
        if read_run_policy(patched).get("backoffLimit") != limit:  # not a field of the definition there
            return
        self._gave_up = True
        said = phrase(
            "it has failed alike {count} times: once more, and the job is given up",
            count=FAILURES - 1,
        )
        self._screen.talk(said)

    async def _interrupted(self, client: Client, resource: Resource, job: Manifest, view: View) -> int:
        self._screen.talk(phrase("stopping the job (Ctrl-C again kills it)"))
        again = asyncio.create_task(self._interrupts.get())
        try:
            gone = await self._stop(client, job, lambda: end_job(client, resource, job), again)
        finally:
            await _cancel(again)
        whole = phrase("interrupted: the job and its pods are gone")
        if self._place.find_outputs(job):
            whole = phrase("interrupted: the job and its pods are gone; its outputs are kept")
        part = phrase("interrupted: the job is deleted, some of its pods have not ended yet")
        self._screen.talk(whole if gone else part)
        if view.status.cause and view.status.cause.reason == "BuildingEnvironment":
            self._screen.talk(phrase("the build goes on; `{command}` shows it", command="paddock env list"))
        return 130

    async def _give_up(
        self, client: Client, resource: Resource, job: Manifest, view: View, interrupt: asyncio.Task[None], file: str
    ) -> int:
        """The time is over: why it has not completed, what to do about it, and what became of the job.

        It is suspended, not deleted: what a job that hangs has printed is the only evidence of why.
        """
        from paddock.cli.explain import build_next, build_steps

        language, cause = self._screen.language, view.status.cause
        self._screen.line(build_timeout(view, self._timeout or 0, language), "bold red")
        steps = build_steps(cause, name_of(job), namespace_of(job), file, self._place.flags) if cause else []
        for step in build_next(steps) if cause and cause.reason == "WaitingForScheduler" else ():
            self._screen.line(step)
        if outputs := self._place.find_outputs(job):
            self._screen.line(phrase("outputs: {path}", path=str(outputs)))
        rests = await self._stop(client, job, lambda: suspend(client, resource, job, ""), interrupt)
        name = f"{name_of(job)}{in_namespace(job, self._place.flags)}"
        commands = {"logs": f"paddock logs {name}", "delete": f"paddock delete {name}"}
        whole = phrase(
            "the job is suspended, it holds no pods: `{logs}` shows what it printed, `{delete}` removes it", **commands
        )
        part = phrase(
            "the job is suspended, some of its pods have not ended yet: `{logs}` shows what it printed, `{delete}` "
            "removes it",
            **commands,
        )
        self._screen.talk(whole if rests else part)
        return 1

    async def _give_up_environment(
        self, client: Client, resource: Resource, job: Manifest, view: View, interrupt: asyncio.Task[None]
    ) -> int:
        """The job cannot start until somebody has mended what its environment's sentence names: the wait is over."""
        cause = view.status.cause
        assert cause is not None
        self._screen.line(build_not_started(view, time.time(), self._screen.language), "bold red")
        for step in await fetch_steps(client, self._place, job, cause, self._command):
            self._screen.line(step)
        why = write_given_up(cause)
        rests = await self._stop(client, job, lambda: suspend(client, resource, job, why), interrupt)
        delete = f"paddock delete {name_of(job)}{in_namespace(job, self._place.flags)}"
        self._screen.talk(explain_suspended(delete, rests=rests))
        return 1

    async def _stop(
        self, client: Client, job: Manifest, end: Callable[[], Awaitable[None]], kill: asyncio.Task[None]
    ) -> bool:
        """End the job's pods politely by `end`, and at once when `kill` is done. False: some are still there."""
        ending = asyncio.create_task(_insist(end))
        try:
            await asyncio.wait([ending, kill], return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                self._screen.talk(phrase("killing it"))
                await _insist(lambda: kill_pods(client, job))
                await asyncio.wait([ending], timeout=_KILL_SECONDS)
            if ending.done():
                ending.result()
            return ending.done()
        finally:
            await _cancel(ending)

    async def _end(self, client: Client, resource: Resource, job: Manifest, view: View) -> int:
        completed = view.status.phase is Phase.COMPLETED
        if not completed:
            for line in await fetch_failure(client, self._place, job, view.status):
                self._screen.line(line)
        self._screen.line(build_end(view, self._screen.language), "bold green" if completed else "bold red")
        if self._gave_up and view.status.cause and view.status.cause.reason == "BackoffLimitExceeded":
            self._screen.line(
                phrase(
                    "(paddock run gives up after three failures alike; runPolicy.backoffLimit in the manifest sets "
                    "another limit)"
                )
            )
        if doubt := build_doubt(view):
            self._screen.line(doubt, "bold yellow")
        self._screen.line(explain_where(self._place, job, view, self._screen.language))
        if completed and view.job.policies.clean_pods is CleanPods.NEVER and any(not r.decides for r in view.job.roles):
            delete = f"paddock delete {name_of(job)}{in_namespace(job, self._place.flags)}"
            self._screen.talk(phrase("its servers are kept running (cleanPodPolicy: Never): {command}", command=delete))
        return 0 if completed else 1


async def _insist(work: Callable[[], Awaitable[None]]) -> None:
    """Again while nobody answers: a cluster that was killed is being started again (`session.keep_up`)."""
    deadline = time.monotonic() + launch.START_SECONDS
    while True:
        try:
            return await work()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_AGAIN)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
