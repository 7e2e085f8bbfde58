"""The cluster that a command's options name, started if needed, and a client of its API."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from paddock.app.home import Home, read_home
from paddock.cli.cluster.context_flags import read_chosen
from paddock.cli.cluster.errors import build_phrase
from paddock.cli.cluster.places import Cluster, ClusterChoice, Local, build_cluster
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.client.errors import Said

T = TypeVar("T")


def choose_place(context: click.Context | None = None) -> ClusterChoice:
    """The cluster that the options name. Raises `ConfigError` for a context that cannot be used."""
    context = context or click.get_current_context(silent=True)
    chosen = read_chosen(context)
    if not chosen:
        return Local(home())
    from paddock.client.kubeconfig import read_config

    name, file = chosen.get("context"), chosen.get("kubeconfig")
    return build_cluster(read_config(file, name), name, file)


def typed_command() -> str:
    """The typed command, quoted for a shell and without secrets, for a sentence that advises it again."""
    context = click.get_current_context(silent=True)
    words = context.find_root().obj if context else None
    return shlex.join(["paddock", *mask_words(words)]) if words else ""


def mask_words(words: Sequence[str]) -> list[str]:
    """The words of a command with *** for what may be a secret: values of --env, addresses of --on-end (those of chat
    programs have their password in the path) and those of --prometheus that have one. The advised command is printed
    into logs of CI. Pure."""
    end = words.index("--") if "--" in words else len(words)
    masked = list(words)
    for place, word in enumerate(words[:end]):
        option, is_joined, value = word.partition("=")
        if option not in _MASKED:
            continue
        if is_joined:
            masked[place] = f"{option}={_MASKED[option](value)}"
        elif place + 1 < end:
            masked[place + 1] = _MASKED[option](words[place + 1])
    return masked


def _mask_variable(text: str) -> str:
    name, sign, _ = text.partition("=")
    return f"{name}={_MASK}" if sign else text


_MASK = "***"
_MASKED: dict[str, Callable[[str], str]] = {
    "--env": _mask_variable,
    "--on-end": lambda text: _MASK if "://" in text else text,
    "--prometheus": lambda text: _MASK if "@" in text else text,
}


def home() -> Home:
    return read_home(os.environ)


def ensure_up(*, sandbox: str = "auto") -> Home:
    """Starts the local cluster if it is not up, with a line on stderr."""
    place = home()
    Local(place).start(sandbox=sandbox)
    return place


@asynccontextmanager
async def connect(place: ClusterChoice, *, interactive: bool = True) -> AsyncIterator[Client]:
    """`interactive`: the cluster's credential plug-in may use this terminal, as for a password."""
    from paddock.client.client import Client
    from paddock.client.credentials import open_credentials

    config = place.read_config()
    async with (
        open_credentials(config, interactive=interactive, notify=_notify) as credentials,
        Client(config, credentials=credentials) as client,
    ):
        if isinstance(place, Cluster):
            from paddock.cli.cluster.rbac import explained_refusals
            from paddock.cli.cluster.served import check_served

            with explained_refusals(place):
                await check_served(client, place)
                yield client
        else:
            yield client


def _notify(said: Said) -> None:
    """By `sys.stderr`, which the live line of a followed job redirects above itself."""
    print_line(localized(build_phrase(said)), to=sys.stderr)


def run_with_client(work: Callable[[Client, ClusterChoice], Awaitable[T]]) -> T:
    """Runs `work` with a client of the cluster that the command names; starts the local cluster if it is not up."""
    place = choose_place()
    place.start()

    async def connected() -> T:
        async with connect(place) as client:
            return await work(client, place)

    return run(connected())


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
