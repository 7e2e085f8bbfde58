"""The readers of a console that serves many: each with a client of their own, whose requests carry their token.

A token is in the memory of this process alone, from sign-in until the reader's last session ends.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from paddock.app.consoles.heartbeat import keep_asking
from paddock.app.consoles.rights import ReviewedRights, build_client, fetch_rules
from paddock.app.consoles.spool.cluster_logs import ClusterLogs
from paddock.app.consoles.spool.files import ClusterSpool
from paddock.client.client import Client
from paddock.client.credentials import Credentials
from paddock.client.identity import is_token
from paddock.client.kubeconfig import Config
from paddock.client.own_name import fetch_user
from paddock.console.backend import Identity, KeptLog, KeptRun, Logs
from paddock.history.log_shelf import OpenLog
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import Unauthorized
from paddock.kube.meta import PODS, Resource
from paddock.kube.times import Moment

_ANONYMOUS = "system:anonymous"


class Nobody(Api):
    """The API of who has not signed in."""

    async def send(self, call: Call[T]) -> T:
        raise Unauthorized("nobody is signed in")

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        for event in (await self.list(resource, namespace)).items:
            yield Event("ADDED", event)


NOBODY = Nobody()


class _NoLogs:
    """Of who has not signed in."""

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        raise Unauthorized("nobody is signed in")

    def open(self, log: KeptLog) -> AbstractContextManager[OpenLog]:
        raise PermissionError(log.id)


@dataclass(frozen=True, slots=True)
class _Reader:
    client: Client
    rights: ReviewedRights
    logs: ClusterLogs
    asking: asyncio.Task[None]
    credentials: Credentials | None

    async def close(self) -> None:
        self.asking.cancel()
        await self.logs.stop()
        await _close(self.client, self.credentials)


async def _close(client: Client, credentials: Credentials | None) -> None:
    await client.__aexit__()
    if credentials is not None:
        await credentials.close()


_NO_LOGS = _NoLogs()


class Readers:
    """A `console.backend.TokenLogin`. `server`: without a credential. `spool`: where the logs of pods are copied to,
    once for all readers; each look at a copy asks for the reader's right to the log. `is_kept`: the logs of all jobs
    are (`app.consoles.keeping`)."""

    def __init__(self, server: Config, spool: ClusterSpool, *, is_kept: bool = False) -> None:
        self._server, self._spool, self._is_kept = server, spool, is_kept
        self._readers: dict[str, _Reader] = {}

    def connect(self, identity: Identity) -> Api:
        reader = self._readers.get(identity.id)
        return reader.client if reader else NOBODY

    def rights(self, identity: Identity) -> ReviewedRights:
        reader = self._readers.get(identity.id)
        return reader.rights if reader else ReviewedRights(NOBODY)

    def logs(self, identity: Identity) -> Logs:
        reader = self._readers.get(identity.id)
        return reader.logs if reader else _NO_LOGS

    def silent_since(self, identity: Identity) -> Moment | None:
        reader = self._readers.get(identity.id)
        return reader.client.silent_since if reader else None

    async def enter(self, token: str, credentials: Credentials | None = None) -> Identity:
        """`credentials`: give this token, and later others in its place; closed here when the reader has left."""
        if not is_token(token):
            raise Unauthorized("a token has no spaces, and no letters but ASCII's")
        client = build_client(replace(self._server, token=token), credentials)
        await client.__aenter__()
        try:
            name = await check_user(client)
        except BaseException:
            await _close(client, credentials)
            raise
        identity = Identity(hashlib.sha256(token.encode()).hexdigest(), name)
        if identity.id in self._readers:
            await _close(client, credentials)
        else:
            rights = ReviewedRights(client)
            logs = read_logs(self._spool, client, rights, name or identity.id, is_kept=self._is_kept)
            asking = asyncio.create_task(keep_asking(client))
            self._readers[identity.id] = reader = _Reader(client, rights, logs, asking, credentials)
            await reader.logs.start()
        return identity

    async def look(self, identity: Identity) -> None:
        await check_user(self.connect(identity))

    async def leave(self, identity: Identity) -> None:
        if reader := self._readers.pop(identity.id, None):
            await reader.close()

    async def close(self) -> None:
        for identity in list(self._readers):
            await self.leave(Identity(identity))


def read_logs(
    spool: ClusterSpool, client: Client, rights: ReviewedRights, reader: str, *, is_kept: bool = False
) -> ClusterLogs:
    """The logs for a reader with these rights. A copy may be another reader's, or the keeper's, so the API has to allow
    it; of a job that is gone nothing else is asked of the API, so the right to get jobs is proven too. `reader`: the
    user: many tokens of one have one share of the room."""
    return ClusterLogs(
        spool,
        client,
        lambda namespace: rights.is_allowed("get", PODS, namespace, "log"),
        reader=reader,
        may_job=lambda resource, namespace: rights.is_allowed("get", resource, namespace),
        is_kept=is_kept,
    )


async def check_user(api: Api) -> str:
    """The user that the API takes this client for; empty for a server before Kubernetes 1.26, which says it to nobody.
    Raises `Unauthorized` for a token that is none of its own, also where nobody in particular may ask; `ApiError`."""
    name = await fetch_user(api)
    if name == _ANONYMOUS:
        raise Unauthorized("the API takes this for nobody's token")
    if not name:  # an old server: any question that every user may ask
        await fetch_rules(api, "default")
    return name
