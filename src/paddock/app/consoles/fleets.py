"""The console of several clusters, those of contexts and the local one, beside the terminal of their user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from paddock.app.consoles.cluster import Shown, Started, open_backend, serve_alone
from paddock.app.consoles.local import build_backend
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.credentials import open_credentials
from paddock.client.errors import Said
from paddock.client.kubeconfig import Config
from paddock.console.backend import Backend
from paddock.console.fleet import build_fleet


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
        backends = {each.context: await opened.enter_async_context(_open(each, home, notify)) for each in members}
        await serve_alone(lambda key, hosts: build_fleet(backends, key, hosts), port, started)


@asynccontextmanager
async def _open(member: Member, home: Home, notify: Callable[[Said], None]) -> AsyncIterator[Backend]:
    async with open_credentials(member.config, interactive=True, notify=notify) as credentials:
        if not member.machine:
            async with open_backend(member.config, member.shown, credentials, home) as backend:
                yield backend
            return
        async with Client(member.config, credentials=credentials) as client:
            local = build_backend(client, home, member.machine)
            yield replace(local, silent_since=lambda _: client.silent_since)
