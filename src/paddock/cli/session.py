"""From a command to an API: which place its options name, made ready, and a client that speaks to it."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from paddock.app.home import Home, read_home
from paddock.cli.context_options import CHOSEN
from paddock.cli.places import Cluster, Local, Place, build_cluster

if TYPE_CHECKING:
    from paddock.client.client import Client

T = TypeVar("T")


def choose_place(context: click.Context | None = None) -> Place:
    """Where the command's jobs are. Raises `ConfigError` for a context that cannot be used."""
    context = context or click.get_current_context(silent=True)
    chosen: dict[str, str] = context.meta.get(CHOSEN, {}) if context else {}
    if not chosen:
        return Local(home())
    from paddock.client.kubeconfig import read_config

    name, file = chosen.get("context"), chosen.get("kubeconfig")
    return build_cluster(read_config(file, name), name, file)


def typed_command() -> str:
    """The command as it was typed, quoted for a shell: for a sentence that advises it again."""
    context = click.get_current_context(silent=True)
    words = context.find_root().obj if context else None
    return shlex.join(["paddock", *words]) if words else ""


def home() -> Home:
    return read_home(os.environ)


def ensure_up(*, sandbox: str = "auto") -> Home:
    """The local cluster, ready; a line on stderr when it had to be started."""
    place = home()
    Local(place).start(sandbox=sandbox)
    return place


@asynccontextmanager
async def connect(place: Place) -> AsyncIterator[Client]:
    from paddock.client.client import Client

    async with Client(place.read_config()) as client:
        if isinstance(place, Cluster):
            from paddock.cli.refusals import in_words
            from paddock.cli.served import check_served

            with in_words(place):
                await check_served(client, place)
                yield client
        else:
            yield client


def talk(work: Callable[[Client, Place], Awaitable[T]]) -> T:
    """Run `work` against the place that the command names; the local cluster is started first if need be."""
    place = choose_place()
    place.start()

    async def conversation() -> T:
        async with connect(place) as client:
            return await work(client, place)

    return run(conversation())


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
