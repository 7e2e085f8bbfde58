"""Reads the logs of all jobs' pods into the kept files: those that end at once, the others in rounds (`rounds`).

A pod that ends, or is about to go, is followed to its end, as its log goes with it. All others share a bounded number
of connections and requests a second, whatever runs on the cluster: a log that is open costs the API server, the kubelet
and this process a connection each, and most ranks print little.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.app.consoles.keeping.health import Health
from paddock.app.consoles.keeping.rounds import Rounds
from paddock.app.consoles.spool.containers import is_ending, read_container
from paddock.app.consoles.spool.copying import Copier
from paddock.app.consoles.spool.files import ClusterSpool, read_progress
from paddock.app.history import read_place
from paddock.jobs.labels import JOB_LABEL
from paddock.kube.errors import ApiError, BadRequest, Forbidden, NotFound
from paddock.kube.meta import (
    PODS,
    Manifest,
    annotations_of,
    controller_of,
    labels_of,
    metadata,
    name_of,
    uid_of,
)
from paddock.kube.pod_logs import MAIN_CONTAINER, name_main_container, read_directory

if TYPE_CHECKING:
    from paddock.client.client import Client

READER = "keeper"
RATE = 20.0
"""Requests for logs of running pods in a second."""
MOST_READ = 16
"""Such requests at once."""
MOST_ENDING = 64
"""Logs of pods that end which are followed at once."""
_TICK = 0.25
_AGAIN_SECONDS = 15.0
_AT_ONCE = 50
_TRIES = 20
"""Logs that are tried again while nothing can be read, or written."""

_log = logging.getLogger("paddock.keeper")


def slim(pod: Manifest) -> Manifest:
    """What is needed of a pod to read its log and to say whose it is: a fleet's pods as they are would be most of the
    memory. Pure."""
    head, spec, status = metadata(pod), pod.get("spec") or {}, pod.get("status") or {}
    named = annotations_of(pod).get(MAIN_CONTAINER)
    kept = ("name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp")
    return {
        "metadata": {
            **{name: head[name] for name in kept if name in head},
            **({"annotations": {MAIN_CONTAINER: named}} if named else {}),
        },
        "spec": {
            "containers": [{"name": each.get("name")} for each in spec.get("containers") or ()],
            "restartPolicy": spec.get("restartPolicy"),
        },
        "status": {
            "phase": status.get("phase"),
            "containerStatuses": [_slim(each) for each in status.get("containerStatuses") or ()],
        },
    }


def _slim(status: Mapping[str, Any]) -> Manifest:
    state = {name: {"there": True} for name in status.get("state") or {}}
    return {"name": status.get("name"), "state": state, "restartCount": status.get("restartCount") or 0}


class LogKeeper:
    """`run` it until it is cancelled, while the spool is held by this process. `cluster`: with the keeper's rights."""

    def __init__(self, cluster: Client, spool: ClusterSpool, health: Health) -> None:
        self._cluster, self._spool, self._health = cluster, spool, health
        self._copier = Copier(cluster, spool, reader=READER, most=MOST_ENDING, on_write=self._hear)
        self._rounds = Rounds()
        self._pods: dict[str, Manifest] = {}
        """By UID; those that have a rank."""
        self._reading: set[asyncio.Task[None]] = set()
        self._synced = False

    @property
    def followed(self) -> int:
        """Running pods that are in the round."""
        return len(self._rounds)

    async def run(self) -> None:
        """Raises `ApiError` where the pods cannot be followed at all."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow())
                group.create_task(self._go_round())
                group.create_task(self._look_again())
        finally:
            for task in self._reading:
                task.cancel()
            await asyncio.gather(*self._reading, return_exceptions=True)
            await self._copier.stop()

    async def _follow(self) -> None:
        async for event in self._cluster.follow(PODS, labels=JOB_LABEL):
            if event.type == "SYNCED":
                self._synced = True
                await self._miss_gone()
            elif event.type == "DELETED":
                await self._lose(uid_of(event.object))
            else:
                self._see(event.object)
                await asyncio.sleep(0)  # a list of thousands looks at as many files

    def _see(self, seen: Manifest) -> None:
        if read_place(labels_of(seen), name_of(seen)) is None or controller_of(seen) is None:
            return
        pod = self._pods[uid_of(seen)] = slim(seen)
        if is_ending(pod):
            self._rounds.drop(uid_of(pod))
            self._copier.see(pod)
        elif read_container(pod, name_main_container(pod)).started:
            self._rounds.add(uid_of(pod), asyncio.get_running_loop().time())

    async def _lose(self, uid: str) -> None:
        self._rounds.drop(uid)
        if (pod := self._pods.pop(uid, None)) is not None:
            self._copier.lose(pod)
            await self._miss(pod)

    async def _miss(self, pod: Manifest) -> None:
        """Notes that the end of its log is not known, unless it was read, or is being read."""
        if read_container(pod, name_main_container(pod)).started:
            try:
                await self._copier.miss(pod)
            except OSError as error:
                self._health.note("logs", error)

    async def _miss_gone(self) -> None:
        """The same of pods that went while no keeper looked."""
        for path in await asyncio.to_thread(lambda: list(find_unended(self._spool.home.pod_logs))):
            if read_directory(path.parents[1].name).uid in self._pods or self._spool.is_held(path):
                continue
            try:
                self._spool.miss(path)
            except OSError as error:
                self._health.note("logs", error)
            await asyncio.sleep(0)

    # -- the round

    async def _go_round(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            free = min(MOST_READ - len(self._reading), int(RATE * _TICK))
            for uid in self._rounds.take(loop.time(), free):
                task = asyncio.create_task(self._read(uid))
                self._reading.add(task)
                task.add_done_callback(self._reading.discard)
            await asyncio.sleep(max(_TICK, min(1.0, self._rounds.wait(loop.time()) or 0.0)))

    async def _read(self, uid: str) -> None:
        grew, pod = False, self._pods.get(uid)
        try:
            if pod is not None:
                grew = await self._copier.read(pod)
                self._health.note("logs", None)
        except (OSError, Forbidden) as error:
            self._hear(error)
        except (BadRequest, NotFound):
            pass  # it does not run yet, or not any more: an event tells
        except ApiError as error:
            _log.info("the log of %s was not read: %s", name_of(pod or {}), error.message)
        finally:
            self._rounds.done(uid, asyncio.get_running_loop().time(), grew=grew)
        await self._catch_up(uid, pod)

    async def _catch_up(self, uid: str, pod: Manifest | None) -> None:
        """What has happened to the pod while its log was read."""
        now = self._pods.get(uid)
        if now is None and pod is not None:
            await self._miss(pod)
        elif now is not None and is_ending(now):
            self._copier.see(now)

    def _hear(self, error: Exception | None) -> None:
        self._health.note("logs", error)

    async def _look_again(self) -> None:
        """Of what could not be read or written there may be something now; and a reader who has left may have begun."""
        while True:
            await asyncio.sleep(_AGAIN_SECONDS)
            ended = [pod for pod in self._pods.values() if is_ending(pod)]
            for number, pod in enumerate(ended[:_TRIES] if self._health.fails else ended):
                self._copier.see(pod)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)


def find_unended(directory: Path) -> Iterator[Path]:
    """The kept logs that were not read to their ends. Blocks."""
    for path in directory.glob("*/*/0.log"):
        if not read_progress(path).ended:
            yield path
