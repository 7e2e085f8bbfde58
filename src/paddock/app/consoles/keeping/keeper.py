"""Keeps the records and the logs of a cluster's jobs in one directory, for as long as its console runs.

One process at a time: who does not hold the directory's lock reads what is there, and waits until it is free. Records
are written by the keeper of the laptop's history (`history.keeper`), which is a client of the API like every part.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.app.consoles.keeping.health import Health
from paddock.app.consoles.keeping.logs import LogKeeper
from paddock.app.consoles.keeping.room import bound_log, fit
from paddock.app.consoles.spool.files import ClusterSpool
from paddock.app.consoles.spool.room import BESIDE, Room
from paddock.app.health import CannotServe, explain_os_error
from paddock.app.history import KEPT, build_files
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.kubeconfig import Config
from paddock.history.keeper import Keeper, Kinds
from paddock.history.retention import Limits
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import Resource
from paddock.words.phrases import phrase

LIMITS = Limits(seconds=30 * 86400.0, bytes=20 * 2**30)
"""By default: 30d,20GiB. Of a claim that is smaller, what it has room for (`room.fit`)."""
_ROOM = 1.25
"""What logs may take until the next pruning, as a part of the limit."""
_STANDBY_SECONDS = 5.0
_AGAIN_SECONDS = 15.0
_WATCH_SECONDS = 60.0
"""Between two looks at the disk, and at the kinds that the cluster serves."""

_log = logging.getLogger("paddock.keeper")


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a console is to keep. `config`: with the keeper's own credential."""

    directory: Path
    config: Config
    limits: Limits = LIMITS


def open_spool(keeping: Keeping, cache: Path) -> ClusterSpool:
    """The directory as a home whose logs are copies. Raises `CannotServe` for one that cannot be read and written."""
    directory = keeping.directory
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for needed in (os.R_OK, os.W_OK, os.X_OK):
            if not os.access(directory, needed):
                raise PermissionError(13, "Permission denied")
    except OSError as error:
        said = phrase("{flag}: cannot use {path}: {why}", flag="--keep", path=str(directory),
                      why=explain_os_error(error))  # fmt: skip
        raise CannotServe(said) from None
    most = int(keeping.limits.bytes * _ROOM)
    return ClusterSpool(Home(directory, cache), Room(most, bound_log(keeping.limits), BESIDE))


class ClusterKeeper:
    """`run` it until it is cancelled."""

    def __init__(self, keeping: Keeping, spool: ClusterSpool, health: Health) -> None:
        self._keeping, self._spool, self._health = keeping, spool, health
        self._removed: set[Path] = set()

    async def run(self) -> None:
        await self._hold()
        async with Client(self._keeping.config) as client, asyncio.TaskGroup() as group:
            group.create_task(self._go_on("logs", lambda: LogKeeper(client, self._spool, self._health).run()))
            group.create_task(self._go_on("records", lambda: self._keep_records(client)))

    async def _hold(self) -> None:
        """Returns when this process alone writes in the directory."""
        while True:
            try:
                if self._spool.acquire():
                    break
                self._health.stand_by(stands=True)
                self._health.note("logs", None)
            except OSError as error:
                self._health.note("logs", error)
            await asyncio.sleep(_STANDBY_SECONDS)
        self._health.stand_by(stands=False)
        self._health.note("logs", None)

    async def _go_on(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Begins again what has ended: a right may come back, and so may an API server."""
        while True:
            try:
                await work()
            except Exception as error:
                causes = _list_errors(error)
                for each in causes:
                    self._health.note(what, each)
                if all(isinstance(each, ApiError | OSError) for each in causes):
                    _log.warning("the %s of the cluster are not kept: %s", what, causes[0])
                else:
                    _log.exception("the %s of the cluster are not kept, by a bug of Paddock", what)
            await asyncio.sleep(_AGAIN_SECONDS)

    # -- records

    async def _keep_records(self, client: Client) -> None:
        """Of the kinds that the cluster serves; returns when these are others."""
        served = await fetch_served(client)
        files = build_files(self._spool.home)
        keeper = Keeper(
            client,
            Kinds({each: KEPT.read_state[each] for each in served}, KEPT.read_place),
            replace(files, remove=self._build_remove(files.remove)),
            limits=self._limits,
        )
        self._health.note("records", None)
        work = asyncio.ensure_future(keeper.run())
        try:
            while await self._are_served(client, served):
                await asyncio.wait([work], timeout=_WATCH_SECONDS)
                if work.done():
                    return work.result()
                await self._watch(keeper)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _are_served(self, client: Client, served: list[Resource]) -> bool:
        """Whether the cluster has these kinds still, as far as it says: one that does not answer ends no keeper."""
        try:
            return await fetch_served(client) == served
        except ApiError:
            return True

    async def _watch(self, keeper: Keeper) -> None:
        self._health.note("records", keeper.unwritten)
        if self._spool.room.taken > self._limits().bytes:
            await keeper.tidy()
        removed, self._removed = self._removed, set()
        if removed:
            self._spool.forget(removed)

    def _build_remove(self, remove: Callable[[Path], None]) -> Callable[[Path], None]:
        def gone(directory: Path) -> None:
            remove(directory)
            self._removed.add(directory)

        return gone

    def _limits(self) -> Limits:
        """Raises nothing: a disk that says nothing of itself is taken for as large as was asked for."""
        try:
            disk = os.statvfs(self._spool.home.root)
        except OSError:
            return self._keeping.limits
        return fit(self._keeping.limits, self._spool.room.taken, disk.f_bavail * disk.f_frsize)


def _list_errors(error: BaseException) -> list[Exception]:
    if isinstance(error, BaseExceptionGroup):
        return [found for each in error.exceptions for found in _list_errors(each)]
    return [error] if isinstance(error, Exception) else []


async def fetch_served(client: Client) -> list[Resource]:
    """The kinds of job that the cluster has, by its discovery, which every account may read. Raises `ApiError`."""
    found: dict[str, set[str]] = {}
    for version in sorted({each.api_version for each in KEPT.read_state}):
        try:
            answer: Mapping[str, list[Mapping[str, str]]] = await client.fetch(f"/apis/{version}")
        except NotFound:
            continue
        found[version] = {str(each.get("name")) for each in answer.get("resources") or ()}
    return [each for each in KEPT.read_state if each.plural in found.get(each.api_version, ())]
