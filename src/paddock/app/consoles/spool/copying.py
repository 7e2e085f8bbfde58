"""Copies the logs of pods as they grow: each once, to its end, over broken streams and an API that is down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from paddock.app.consoles.spool.containers import Seen, read_container
from paddock.app.consoles.spool.files import ClusterSpool, CopiedLog
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound
from paddock.kube.meta import Manifest, name_of, namespace_of, uid_of
from paddock.kube.pod_logs import name_main_container

MOST = 200
"""By default. Logs that are followed at once: each is a connection of its own."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0

_log = logging.getLogger(__name__)


class LogSource(Protocol):
    """What streams logs: `client.client.Client`, with the rights of one reader."""

    def stream_log(
        self, namespace: str, pod: str, *, container: str = "", follow: bool = False, since_time: str = "",
        timestamps: bool = False, previous: bool = False,
    ) -> AsyncIterator[bytes]: ...  # fmt: skip


class Copier:
    """Of one reader, by a name that no other one has. `see` gets every change of the pods whose logs are wanted.
    `most`: logs that are followed at once. `on_write`: told of each log that was written, with None, or why it was not.
    """

    def __init__(
        self,
        source: LogSource,
        spool: ClusterSpool,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        reader: str = "own",
        most: int = MOST,
        on_write: Callable[[Exception | None], None] = lambda _: None,
    ) -> None:
        self._source, self._spool, self._sleep, self._reader = source, spool, sleep, reader
        self._on_write = on_write
        spool.room.enter(reader)
        self._pods: dict[str, Manifest] = {}
        self._gone: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, asyncio.Event] = {}
        self._room = asyncio.Semaphore(most)

    def see(self, pod: Manifest) -> None:
        """Its log is copied from now on, if it has one yet, and is not copied already."""
        uid = uid_of(pod)
        if uid in self._tasks:
            self._pods[uid] = pod
        elif read_container(pod, name_main_container(pod)).started and not self._is_copied(pod):
            self._pods[uid], self._begun[uid] = pod, asyncio.Event()
            task = self._tasks[uid] = asyncio.create_task(self._copy(uid), name=f"log of {name_of(pod)}")
            task.add_done_callback(lambda _: self._forget(uid))

    def lose(self, pod: Manifest) -> None:
        """The pod is gone: what is not copied of its log cannot be."""
        if uid_of(pod) in self._tasks:
            self._gone.add(uid_of(pod))

    async def read(self, pod: Manifest) -> bool:
        """What its program has printed since the last time, and no more; whether there was anything. A log that
        somebody else copies now is left to them. Raises `ApiError`, OSError."""
        uid = uid_of(pod)
        if uid in self._tasks or self._is_copied(pod):
            return False
        self._pods[uid], self._begun[uid] = pod, asyncio.Event()
        log = self._spool.begin(pod, self._reader)
        before = log.at.size
        try:
            await self._read(log, uid)
            log.save()
        finally:
            self._spool.finish(log)
            if uid not in self._tasks:
                self._forget(uid)
        return log.at.size > before

    async def _read(self, log: CopiedLog, uid: str) -> None:
        seen = self._look(uid)
        if seen.restarts > log.at.restarts and not log.at.plain:
            await self._copy_previous(log, uid)
        else:
            log.doubt()
        log.at.restarts = seen.restarts
        try:
            await self._stream(log, uid, follow=False)
        except BadRequest as error:
            if "timestamps" not in error.message or log.at.plain:
                raise
            log.at.plain = True
            await self._stream(log, uid, follow=False)

    async def miss(self, pod: Manifest) -> None:
        """The pod is gone, and its log was not read to its end: that is noted beside it. Raises OSError."""
        if uid_of(pod) in self._tasks or self._is_copied(pod):
            return
        log = self._spool.begin(pod, self._reader)
        try:
            log.miss()
        finally:
            self._spool.finish(log)

    @property
    def namespaces(self) -> set[str]:
        """The namespaces of the pods whose logs are being copied."""
        return {namespace_of(self._pods[uid]) for uid in self._tasks}

    async def wait(self, seconds: float) -> None:
        """Until each log that is being copied has its first lines."""
        if waiting := [asyncio.ensure_future(event.wait()) for event in self._begun.values()]:
            _, left = await asyncio.wait(waiting, timeout=seconds)
            for each in left:
                each.cancel()

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._spool.room.leave(self._reader)

    def _is_copied(self, pod: Manifest) -> bool:
        try:
            return self._spool.is_copied(pod, self._reader)
        except ValueError:
            return True

    def _forget(self, uid: str) -> None:
        self._tasks.pop(uid, None)
        self._pods.pop(uid, None)
        self._gone.discard(uid)
        if begun := self._begun.pop(uid, None):
            begun.set()

    async def _copy(self, uid: str) -> None:
        pod = self._pods[uid]
        async with self._room:
            if self._is_copied(pod):  # another reader's copier began while this one waited
                return
            try:
                log = self._spool.begin(pod, self._reader)
            except OSError as error:
                self._tell(pod, error)
                return
            try:
                await self._copy_into(log, uid)
                log.save()
            except asyncio.CancelledError:
                log.save()
                raise
            except OSError as error:
                self._tell(pod, error)
            finally:
                self._spool.finish(log)

    def _tell(self, pod: Manifest, error: OSError) -> None:
        _log.warning("the log of %s/%s is not copied: %s", namespace_of(pod), name_of(pod), error)
        self._on_write(error)

    async def _copy_into(self, log: CopiedLog, uid: str) -> None:
        """Returns when nothing more will come, or may be read."""
        pause, is_whole = _FIRST_PAUSE, False
        while True:
            before, seen = log.at.size, self._look(uid)
            if uid in self._gone:  # its name may be another pod's by now, that of the next attempt
                return _close(log, is_whole=is_whole)
            try:
                # What the container printed before it was started again; its times are before the others.
                if seen.restarts > log.at.restarts and not log.at.plain:
                    await self._copy_previous(log, uid)
                log.at.restarts = seen.restarts
                await self._stream(log, uid, follow=True)
                is_whole = True
                self._on_write(None)
                if log.at.full:  # its end is not here, although it may have one
                    return None
                # Asked before the stream: one that ended before the container did is asked for again.
                if seen.ended or uid in self._gone:
                    return log.end()
            except NotFound:
                return _close(log, is_whole=is_whole)
            except Forbidden as error:
                self._on_write(error)
                _log.warning("the log of %s is not copied: %s", name_of(self._pods[uid]), error.message)
                return None
            except BadRequest as error:
                if "timestamps" in error.message and not log.at.plain:
                    log.at.plain = True
                    continue
                if seen.ended:
                    return _close(log, is_whole=is_whole)
            except ApiError as error:
                is_whole = False
                _log.info("the log of %s broke off: %s", name_of(self._pods[uid]), error.message)
            log.save()
            pause = _FIRST_PAUSE if log.at.size > before else min(2 * pause, _LONGEST_PAUSE)
            await self._sleep(pause if not self._look(uid).ended else min(pause, _FIRST_PAUSE))

    async def _copy_previous(self, log: CopiedLog, uid: str) -> None:
        try:
            await self._stream(log, uid, follow=False, previous=True)
            log.end_container()
        except BadRequest as error:  # it is not kept there any more
            _log.info("%s", error.message)

    def _look(self, uid: str) -> Seen:
        pod = self._pods[uid]
        return read_container(pod, name_main_container(pod))

    async def _stream(self, log: CopiedLog, uid: str, *, follow: bool, previous: bool = False) -> None:
        pod = self._pods[uid]
        log.begin()
        chunks = self._source.stream_log(
            namespace_of(pod), name_of(pod), container=name_main_container(pod), follow=follow, since_time=log.since,
            timestamps=not log.at.plain, previous=previous,
        )  # fmt: skip
        async with aclosing(chunks) as stream:  # type: ignore[type-var]
            async for chunk in stream:
                log.write(chunk)
                self._begun[uid].set()
                if log.at.full:
                    return
        log.save()


def _close(log: CopiedLog, *, is_whole: bool) -> None:
    """Nothing more will come. `is_whole`: a stream has ended by itself, so it has brought all that was printed."""
    log.end() if is_whole or log.at.ended else log.miss()
