"""A console on an API of objects in memory, which remembers what it is sent: for pages that are about no logs."""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aiohttp import web

from paddock.app.consoles.environments import read_build_log
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.kube.api import Event
from paddock.kube.calls import Call, Get, List, Listing, T
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest, Resource, name_of
from support.consoles import Written
from support.readers import Reader, reading


class Remembered(Written):
    """Lists what is written, and reads an Environment of it. Other reads are `NotFound`; everything else succeeds, and
    is remembered."""

    def __init__(
        self,
        objects: Mapping[Resource, Sequence[Manifest]],
        allowed: Collection[tuple[Resource, str]] | None = None,
        unserved: Collection[Resource] = (),
    ) -> None:
        """`allowed`: what may be followed, and where; None for all. `unserved`: kinds that nobody can follow."""
        super().__init__(objects)
        self.listed, self._allowed, self._unserved = 0, allowed, unserved
        self.calls: list[Call[object]] = []

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, List) and call.resource in self._objects:
            self.listed += 1
            return Listing([*self._objects[call.resource]], "1")  # type: ignore[return-value]
        if isinstance(call, Get) and call.resource == ENVIRONMENTS:
            for each in self._objects.get(ENVIRONMENTS, ()):
                if name_of(each) == call.name:
                    return copy.deepcopy(each)  # type: ignore[return-value]
        if isinstance(call, Get | List):
            raise NotFound("not served")
        self.calls.append(call)  # type: ignore[arg-type]
        return {}  # type: ignore[return-value]

    async def follow(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        if self._allowed is not None and (resource, namespace) not in self._allowed:
            raise Forbidden(f"cannot list {resource.plural}")
        if resource in self._unserved:
            raise NotFound("not served")
        async for event in super().follow(resource, namespace, labels, fields):
            yield event


@dataclass(frozen=True, slots=True)
class Denied:
    """The rights of a reader who may not use these verbs."""

    verbs: Collection[str]

    async def may(self, verb: str, _resource: Resource, _namespace: str, subresource: str = "") -> bool:
        return f"{verb} {subresource}".strip() not in self.verbs


@dataclass(frozen=True, slots=True)
class Place:
    session: Reader
    api: Remembered
    root: Path = field(default_factory=Path)

    async def read(self, address: str) -> str:
        async with self.session.get(address) as answer:
            return await answer.text()


@asynccontextmanager
async def serve_place(
    objects: Mapping[Resource, Sequence[Manifest]],
    directory: Path,
    *,
    local: bool = True,
    allowed: Collection[tuple[Resource, str]] | None = None,
    denied: Collection[str] = (),
    unserved: Collection[Resource] = (),
) -> AsyncIterator[Place]:
    """`directory`: where environments are built, and leave their logs. `allowed`: see `Remembered`. `denied`: verbs
    that the reader may not use, `create exec` of a subresource."""
    api = Remembered(objects, allowed, unserved)
    read_log = partial(read_build_log, directory) if local else None
    backend = Backend("test", local, lambda _: api, read_build_log=read_log, rights=lambda _: Denied(denied))
    console = Console(backend, b"k" * 32)
    runner = web.AppRunner(console.application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with reading(url, headers={"Origin": url}) as session:
            await session.enter(console.make_link(time.time()))
            yield Place(session, api, directory)
    finally:
        await console.close()
        await runner.cleanup()
