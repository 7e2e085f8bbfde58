"""The console of several clusters, those of contexts and the local one, beside the terminal of their user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from paddock.app.consoles.cluster import Shown, Started, open_world, serve_alone
from paddock.app.consoles.local import build_world
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.credentials import open_credentials
from paddock.client.errors import Said
from paddock.client.kubeconfig import Config
from paddock.console.fleet import build_fleet
from paddock.console.world import World


@dataclass(frozen=True, slots=True)
class Member:
    """One of the clusters. `machine`: of the local cluster, whose logs and environments are on this disk; empty for any
    other."""

    context: str
    config: Config
    shown: Shown
    machine: str = ""


async def serve_fleet(
    members: Sequence[Member],
    port: int,
    started: Started,
    home: Home,
    notify: Callable[[Said], None],
) -> None:
    """See `cluster.serve_user`. A cluster that does not answer hides no other. Raises `CannotServe`."""
    async with AsyncExitStack() as opened:
        worlds = {each.context: await opened.enter_async_context(_open(each, home, notify)) for each in members}
        await serve_alone(lambda key, hosts: build_fleet(worlds, key, hosts), port, started)


@asynccontextmanager
async def _open(member: Member, home: Home, notify: Callable[[Said], None]) -> AsyncIterator[World]:
    async with open_credentials(member.config, interactive=True, notify=notify) as credentials:
        if not member.machine:
            async with open_world(member.config, member.shown, credentials, home) as world:
                yield world
            return
        async with Client(member.config, credentials=credentials) as client:
            local = build_world(client, home, member.machine)
            yield replace(local, silent_since=lambda _: client.silent_since)
