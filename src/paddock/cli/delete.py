"""paddock delete"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from paddock.cli.context_options import namespace_option
from paddock.cli.find import fetch_job, fetch_pods, printed_name
from paddock.cli.language import readers_language
from paddock.cli.names import complete_jobs
from paddock.cli.places import Place
from paddock.cli.session import talk
from paddock.cli.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.phrases import Phrase, phrase, render
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, Manifest, Resource, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.kube.api import Api

_QUIET = 2.0
"""Seconds of waiting without a word."""
_LONGEST_PAUSE = 1.0


@click.command(name="delete", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--now", is_flag=True, help="Do not wait for the ranks to end by themselves: kill them.")
@click.option("--wait/--no-wait", default=True, help="Wait until the job and its pods are gone.", show_default=True)
@namespace_option
def command(names: tuple[str, ...], now: bool, wait: bool, namespace: str) -> None:
    """End a job and remove it, with its pods and their logs. Its outputs are kept.

    \b
    paddock delete resnet
    paddock delete resnet mnist --now
    """

    async def work(client: Client, place: Place) -> None:
        found = [await fetch_job(client, namespace, name, place.flags) for name in names]
        for resource, job in found:
            await end_job(client, resource, job, now=now, wait=wait, say=_say)
            stdout().print(f"{printed_name(resource, job['metadata']['name'])} deleted")

    talk(work)


def _say(said: Phrase) -> None:
    stderr().print(render(said, readers_language()))


async def end_job(
    api: Api,
    resource: Resource,
    job: Manifest,
    *,
    now: bool = False,
    wait: bool = True,
    say: Callable[[Phrase], None] | None = None,
) -> None:
    """Delete the job; its pods are ended politely, or at once with `now`. With `wait` until all of it is gone; `say`
    hears once when that takes its time."""
    namespace, name, uid = namespace_of(job), str(job["metadata"]["name"]), uid_of(job)
    try:
        await api.delete(resource, namespace, name, uid=uid)
    except (NotFound, Conflict):  # gone, or another of the name: this one is deleted
        pass
    if now:
        await kill_pods(api, job)
    begun, pause = time.monotonic(), 0.1
    while wait and (await _exists(api, resource, job) or await fetch_pods(api, job)):
        await asyncio.sleep(pause)  # asking again costs less than two watches
        pause = min(_LONGEST_PAUSE, pause * 1.2)
        if say and not now and time.monotonic() - begun > _QUIET:
            say(build_waiting(await fetch_pods(api, job)))
            say = None


def build_waiting(pods: Sequence[Manifest]) -> Phrase:
    """How long it may take: the longest grace of the pods, 30 s where none is given (Kubernetes' default)."""
    graces = [(pod.get("spec") or {}).get("terminationGracePeriodSeconds") for pod in pods]
    longest = max((30 if grace is None else int(grace) for grace in graces), default=30)
    return phrase("waiting up to {time} s for its ranks to end; --now kills them", time=longest)


async def kill_pods(api: Api, job: Manifest) -> None:
    """End every pod of the job at once, without grace."""
    for pod in await fetch_pods(api, job):
        try:
            await api.delete(PODS, namespace_of(pod), str(pod["metadata"]["name"]), uid=uid_of(pod), grace=1)
        except (NotFound, Conflict):
            continue


async def _exists(api: Api, resource: Resource, job: Manifest) -> bool:
    try:
        current = await api.get(resource, namespace_of(job), str(job["metadata"]["name"]))
    except NotFound:
        return False
    return uid_of(current) == uid_of(job)
