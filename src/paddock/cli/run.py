"""paddock run"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from paddock.app import launch
from paddock.app.home import Home
from paddock.cli.delete import end_job, kill_pods
from paddock.cli.display import View, build_end, build_head
from paddock.cli.errors import Failed, UserError
from paddock.cli.failure import fetch_failure
from paddock.cli.find import find_outputs, in_namespace
from paddock.cli.follow import Follower, Gone
from paddock.cli.logs import choose_ranks
from paddock.cli.manifests import (
    Checked,
    check_with_server,
    create_all,
    drop_devices,
    fetch_devices,
    read_devices,
    read_files,
)
from paddock.cli.patience import FAILURES, Patience
from paddock.cli.screen import Screen
from paddock.cli.session import connect, ensure_up, keep_up, namespace_option
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CleanPods, Phase, Rank
from paddock.kube.errors import Conflict, NotFound, Unavailable
from paddock.kube.meta import Manifest, Resource, metadata, name_of, namespace_of, uid_of
from paddock.kube.quantities import format_quantity
from paddock.kube.times import format_duration, read_time

if TYPE_CHECKING:
    from paddock.client.client import Client

_KILL_SECONDS = 10.0
_AGAIN = 0.2


@click.command(name="run")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--without", multiple=True, metavar="RESOURCE", help="Do not ask for it, e.g. nvidia.com/gpu.")
@click.option("--role", default="", metavar="ROLE", help="Print the lines of this role alone.")
@click.option("--rank", "index", type=int, default=None, metavar="N", help="Print the lines of this rank alone.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    default="auto",
    help="What pods run in, if the cluster is not up yet.",
)
@namespace_option
def command(file: str, without: tuple[str, ...], role: str, index: int | None, sandbox: str, namespace: str) -> int:
    """Train: start what is needed, submit the manifest, follow the job to its end.

    \b
    paddock run job.yaml
    paddock run job.yaml --without nvidia.com/gpu
    paddock run job.yaml --rank 0 | tee log

    What else the file holds (a ConfigMap, a PodGroup) is created, or brought to the file's state. A finished job of
    the same name gives way; an unfinished one does not. A job without runPolicy.backoffLimit is given up after three
    failures alike.

    Exit code: 0 completed, 1 failed, 2 the manifest is wrong, 130 interrupted. Ctrl-C ends the job politely, a second
    one at once.
    """
    checked = read_files([file], namespace)
    jobs = [each for each in checked if each.is_job]
    if len(jobs) != 1:
        raise UserError(f"{file}: run follows one job, here are {len(jobs)}: `paddock submit {file}` submits them all")
    job = KINDS[jobs[0].resource].read_job(jobs[0].manifest)
    which = choose_ranks(job.key.name, job.ranks(), role, index, None)
    place = ensure_up(sandbox=sandbox)
    with Screen() as screen:
        run = Run(place, screen, which.shows)
        return asyncio.run(run.run(checked, without))


class Run:
    """One `paddock run`, from the checked manifest to the exit code."""

    def __init__(self, place: Home, screen: Screen, shows: Callable[[Rank], bool]) -> None:
        self._place, self._screen, self._shows = place, screen, shows
        self._interrupts: asyncio.Queue[None] = asyncio.Queue()
        self._creating = False
        """From here on there may be a job to end."""
        self._patience = Patience()
        self._limits: set[asyncio.Task[None]] = set()

    async def run(self, checked: list[Checked], without: tuple[str, ...]) -> int:
        async with connect(self._place) as client, _interrupts(self._interrupts):
            interrupt = asyncio.create_task(self._interrupts.get())
            submitting = asyncio.create_task(self._submit(client, checked, without))
            try:
                await asyncio.wait([interrupt, submitting], return_when=asyncio.FIRST_COMPLETED)
                if not submitting.done() and not self._creating:
                    self._screen.talk("interrupted: nothing was submitted")
                    return 130
                resource, manifest = await submitting
                self._screen.line(build_head(KINDS[resource].read_job(manifest)))
                return await self._follow(client, resource, manifest, interrupt)
            finally:
                await _cancel(interrupt, submitting, *self._limits)

    async def _submit(
        self, client: Client, checked: list[Checked], without: tuple[str, ...]
    ) -> tuple[Resource, Manifest]:
        checked = await self._adapt(client, checked, without)
        job = next(each for each in checked if each.is_job)
        await self._replace_finished(client, job)
        await check_with_server(client, checked, update=True)
        self._creating = True
        created = await create_all(client, checked, update=True)
        return job.resource, created[checked.index(job)]

    async def _adapt(self, client: Client, checked: list[Checked], without: tuple[str, ...]) -> list[Checked]:
        """Without the devices that the user named, and without those that no node has."""
        asked = read_devices(each.manifest for each in checked if each.is_job)
        there = await fetch_devices(client)
        lacking = [name for name in asked if name not in there and name not in without]
        for name in lacking:
            self._screen.talk(
                f"the job asks for {format_quantity(asked[name])} {name} and this machine has none: "
                f"training on the CPU (--without {name})"
            )
        return drop_devices(checked, (*without, *lacking))

    async def _replace_finished(self, client: Client, job: Checked) -> None:
        """A finished job of this name gives way; an unfinished one is somebody's work and does not."""
        try:
            current = await client.get(job.resource, *job.key)
        except NotFound:
            return
        phase = KINDS[job.resource].read_status(current).phase
        created = read_time(metadata(current).get("creationTimestamp")) or time.time()
        age = format_duration(time.time() - created)
        if not phase.terminal:
            raise UserError(
                f"{job.label} exists already, {phase or Phase.PENDING} for {age}: `paddock logs {job.key.name} -f` "
                f"follows it, `paddock delete {job.key.name}` ends it"
            )
        self._screen.talk(f"replacing {job.label}, {phase} ({age} old)")
        await end_job(client, job.resource, current)

    async def _follow(self, client: Client, resource: Resource, job: Manifest, interrupt: asyncio.Task[None]) -> int:
        def look(view: View) -> None:
            limit = self._patience.note(view)
            if limit is not None:
                self._limits.add(asyncio.create_task(self._set_limit(client, resource, job, limit)))

        follower = Follower(client, self._place, resource, job, self._screen, self._shows, on_view=look)
        following = asyncio.create_task(follower.run())
        watching = asyncio.create_task(keep_up(self._place, self._screen.talk))
        try:
            await asyncio.wait([following, interrupt, watching], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                return await self._end(client, resource, job, following.result())
            if watching.done():
                raise Failed(watching.result())
            return await self._interrupted(client, resource, job)
        except Gone:
            raise Failed("the job was deleted while it ran") from None
        finally:
            await _cancel(following, watching)

    async def _set_limit(self, client: Client, resource: Resource, job: Manifest, limit: int) -> None:
        """See `cli.patience`. The job may be gone by now; then there is nothing to limit."""
        try:
            patch = {"metadata": {"uid": uid_of(job)}, "spec": {"runPolicy": {"backoffLimit": limit}}}
            await client.patch(resource, namespace_of(job), name_of(job), patch)
        except (NotFound, Conflict):
            return
        self._screen.talk(
            f"it has failed alike {FAILURES - 1} times: once more, and the job is given up "
            "(runPolicy.backoffLimit in the manifest sets another limit)"
        )

    async def _interrupted(self, client: Client, resource: Resource, job: Manifest) -> int:
        self._screen.talk("stopping the job (Ctrl-C again kills it)")
        ending = asyncio.create_task(_insist(lambda: end_job(client, resource, job)))
        again = asyncio.create_task(self._interrupts.get())
        try:
            await asyncio.wait([ending, again], return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                self._screen.talk("killing it")
                await _insist(lambda: kill_pods(client, job))
                await asyncio.wait([ending], timeout=_KILL_SECONDS)
            if ending.done():
                ending.result()
                self._screen.talk("interrupted: the job and its pods are gone; its outputs are kept")
            else:
                self._screen.talk("interrupted: the job is deleted, some of its pods have not ended yet")
            return 130
        finally:
            await _cancel(ending, again)

    async def _end(self, client: Client, resource: Resource, job: Manifest, view: View) -> int:
        completed = view.status.phase is Phase.COMPLETED
        if not completed:
            for line in await fetch_failure(client, self._place, job, view.status):
                self._screen.line(line)
        self._screen.line(build_end(view), "bold green" if completed else "bold red")
        outputs = find_outputs(self._place, job)
        shown = f"      outputs: {outputs}" if outputs else ""
        self._screen.line(f"logs: paddock logs {name_of(job)}{in_namespace(job)}{shown}")
        if completed and view.job.policies.clean_pods is CleanPods.NEVER and any(not r.decides for r in view.job.roles):
            delete = f"paddock delete {name_of(job)}{in_namespace(job)}"
            self._screen.talk(f"its servers are kept running (cleanPodPolicy: Never): {delete}")
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


@contextlib.asynccontextmanager
async def _interrupts(queue: asyncio.Queue[None]) -> AsyncIterator[None]:
    """Ctrl-C and SIGTERM go into the queue while the context lasts."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, queue.put_nowait, None)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
