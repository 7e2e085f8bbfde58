"""From a command to an API: the local cluster is started if it is not up, and a client speaks to it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from paddock import __version__
from paddock.app import launch
from paddock.app.home import Home, is_up, read_home, read_running
from paddock.cli.terminal import stderr

if TYPE_CHECKING:
    from paddock.client.client import Client

T = TypeVar("T")

_LOOK = 0.5
"""Seconds between two looks whether the cluster that a command follows is still up."""
_LITTLE = 64 * 2**10
"""Bytes of a disk that count as none: the store writes pages."""

namespace_option = click.option(
    "-n", "--namespace", default="default", show_default=True, metavar="NAME", help="The namespace."
)


def home() -> Home:
    return read_home(os.environ)


def ensure_up(*, sandbox: str = "auto") -> Home:
    """The local cluster, ready; a line on stderr when it had to be started."""
    place = home()
    started = launch.start(place, sandbox=sandbox)
    running = started.running
    if started.fresh:
        stderr().print(
            f"embedded cluster started in {started.seconds:.1f} s ({running.machine}; pods in {running.sandbox})"
        )
    elif running.version != __version__:
        stderr().print(
            f"the cluster that is up is of paddock {running.version}, this is {__version__}: after `paddock down` "
            "the next command starts one of this version"
        )
    return place


@asynccontextmanager
async def connect(place: Home) -> AsyncIterator[Client]:
    from paddock.client.client import Client
    from paddock.client.kubeconfig import read_config

    async with Client(read_config(str(place.kubeconfig))) as client:
        yield client


def talk(work: Callable[[Client, Home], Awaitable[T]]) -> T:
    """Run `work` against the local cluster, which is started first if need be."""
    place = ensure_up()

    async def conversation() -> T:
        async with connect(place) as client:
            return await work(client, place)

    return run(conversation())


async def keep_up(place: Home, say: Callable[[str], None]) -> str:
    """Start the cluster again whenever it was killed: its pods live on. Returns, with a sentence, when it was stopped
    on purpose. Says when it cannot write: nothing that happens is recorded then. Raises `StartError`."""
    full = False
    while True:
        await asyncio.sleep(_LOOK)
        if is_up(place):
            was, full = full, shutil.disk_usage(place.root).free < _LITTLE
            if full and not was:
                say(f"the disk that holds {place.root} is full: nothing is recorded until some of it is free")
            continue
        if read_running(place) is None:
            return "the cluster was stopped; the job begins a new attempt at the next `paddock up`"
        started = await asyncio.to_thread(launch.start, place)
        how = f"started again in {started.seconds:.1f} s" if started.fresh else "it is up again"
        say(f"the cluster was killed; {how}, the job goes on")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
