"""The binder: follows PersistentVolumes and claims, and carries out what `paddock.node.claims` says.

It makes directories, 0700 and never over anything, and removes them only when they are empty. Each write is guarded by
the version that was decided on; the volume is written first, so that a crash in between leaves a claim that the next
plan finds reserved. Nothing is written by the clock but a directory that was promised for then.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from paddock.kube.api import Api, Event
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import CLAIMS, VOLUMES, Key, Manifest, Resource, key_of, version_of
from paddock.kube.times import Moment, format_time
from paddock.node.claims import Bind, Decision, Provision, Reclaim, Settle, Wait, plan_claims
from paddock.node.notices import build_notice, publish
from paddock.node.storage import (
    DIRECTORY_ANNOTATION,
    NOT_BOUND,
    Volume,
    build_claim_reference,
    build_volume,
    read_claim,
    read_volume,
)

COMPONENT = "paddock-binder"
_RETRY = 2.0  # seconds until a plan after a write that failed, or a directory that cannot be made

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class _Known(Generic[_T]):
    """The objects of one kind: as they are, and as `read` understands them."""

    def __init__(self, resource: Resource, read: Callable[[Manifest], _T]) -> None:
        self.resource = resource
        self.manifests: dict[Key, Manifest] = {}
        self.values: dict[Key, _T] = {}
        self.synced = False
        self._read = read

    def take(self, event: Event) -> None:
        if event.type == "SYNCED":
            self.synced = True
            return
        key = key_of(event.object)
        self.manifests.pop(key, None)
        self.values.pop(key, None)
        if event.type == "DELETED":
            return
        try:
            self.values[key] = self._read(event.object)
            self.manifests[key] = event.object
        except (ValueError, TypeError, AttributeError) as error:  # one that nobody understands stops no other
            _log.warning("%s %s is left out: %s", self.resource.kind, key, error)


class Binder:
    """One for a cluster. `directory` is where volumes are that are not directories of the user's own."""

    def __init__(self, api: Api, directory: Path, *, clock: Callable[[], Moment] = time.time) -> None:
        self._api = api
        self._root = directory
        self._clock = clock
        self._volumes = _Known(VOLUMES, lambda manifest: read_volume(manifest, directory))
        self._claims = _Known(CLAIMS, read_claim)
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(self._volumes))
            tasks.create_task(self._follow(self._claims))
            tasks.create_task(self._act())

    async def _follow(self, known: _Known[Any]) -> None:
        async for event in self._api.follow(known.resource):
            known.take(event)
            self._changed.set()

    async def _act(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            if not (self._volumes.synced and self._claims.synced):
                continue
            now = self._clock()
            plan = plan_claims(self._claims.values.values(), self._volumes.values.values(), now)
            for decision in plan.decisions:
                await self._try(decision)
            if plan.wake is not None:
                self._wake_in(plan.wake - now)

    def _wake_in(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(max(0.0, seconds), self._changed.set)

    async def _try(self, decision: Decision) -> None:
        """An object that has moved on brings its own change, and with it the next plan."""
        try:
            await self._apply(decision)
        except (Conflict, NotFound, AlreadyExists) as error:
            _log.debug("overtaken: %s", error)
        except ApiError as error:
            _log.warning("a claim or volume could not be written: %s; trying again in %.0f s", error, _RETRY)
            self._wake_in(_RETRY)

    async def _apply(self, decision: Decision) -> None:
        match decision:
            case Bind():
                await self._bind(decision)
            case Provision():
                await self._api.create(VOLUMES, build_volume(decision.claim, self._root))
            case Wait():
                await self._wait(decision)
            case Settle():
                await self._settle(decision)
            case Reclaim():
                await self._reclaim(decision)

    async def _bind(self, bind: Bind) -> None:
        claim, volume = bind.claim, bind.volume
        if problem := _make_directory(volume):
            self._wake_in(_RETRY)
            wait = Wait(claim, "FailedBinding", f"PersistentVolume {volume.name}: {problem}")
            if wait.is_news:
                await self._wait(wait)
            return
        where = {DIRECTORY_ANNOTATION: volume.directory}
        spec: Manifest = {"claimRef": build_claim_reference(claim)}
        found = await self._patch(VOLUMES, Key("", volume.name), volume.version, {"annotations": where}, spec)
        found = await self._patch_status(found, VOLUMES, {"phase": "Bound", "message": None, "reason": None})
        meta: Manifest = {"annotations": where}
        mine = await self._patch(CLAIMS, claim.key, claim.version, meta, {"volumeName": volume.name})
        status = {
            "phase": "Bound",
            "accessModes": found["spec"].get("accessModes"),
            "capacity": found["spec"].get("capacity"),
            "conditions": None,
        }
        mine = await self._patch_status(mine, CLAIMS, status)
        await self._say(mine, "Bound", bind.note)
        await self._say(found, "Bound", bind.note)

    async def _wait(self, wait: Wait) -> None:
        claim = wait.claim
        condition = {
            "type": NOT_BOUND,
            "status": "False",
            "reason": wait.reason,
            "message": wait.message,
            "lastTransitionTime": format_time(self._clock()),
        }
        status = {"phase": wait.phase, "conditions": [condition]}
        patch = {"metadata": {"resourceVersion": claim.version}, "status": status}
        mine = await self._api.patch(CLAIMS, claim.key.namespace, claim.key.name, patch, subresource="status")
        await self._say(mine, wait.reason, wait.message, kind="Warning")

    async def _settle(self, settle: Settle) -> None:
        volume = settle.volume
        found = self._volumes.manifests[Key("", volume.name)]
        if settle.release:
            found = await self._patch(VOLUMES, Key("", volume.name), volume.version, {}, {"claimRef": None})
        status = {"phase": settle.phase, "reason": settle.reason or None, "message": settle.message or None}
        found = await self._patch_status(found, VOLUMES, status)
        if settle.message:
            await self._say(found, settle.reason, settle.message)

    async def _reclaim(self, reclaim: Reclaim) -> None:
        volume = reclaim.volume
        if volume.ours and _remove_if_empty(Path(volume.directory)):
            await self._api.delete(VOLUMES, "", volume.name, uid=volume.uid)
        else:
            await self._settle(reclaim.kept)

    async def _patch(
        self, resource: Resource, key: Key, version: str, meta: Mapping[str, Any], spec: Mapping[str, Any]
    ) -> Manifest:
        patch = {"metadata": {**meta, "resourceVersion": version}, "spec": spec}
        return await self._api.patch(resource, key.namespace, key.name, patch)

    async def _patch_status(self, found: Manifest, resource: Resource, status: Mapping[str, Any]) -> Manifest:
        key = key_of(found)
        patch = {"metadata": {"resourceVersion": version_of(found)}, "status": status}
        return await self._api.patch(resource, key.namespace, key.name, patch, subresource="status")

    async def _say(self, about: Manifest, reason: str, message: str, *, kind: str = "Normal") -> None:
        await publish(self._api, build_notice(about, reason, message, self._clock(), component=COMPONENT, kind=kind))


def _make_directory(volume: Volume) -> str:
    """Why there is no directory, or ''. One that is there stays as it is, whoever made it."""
    path = Path(volume.directory)
    try:
        if volume.makes:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"the directory {path} cannot be made: {error.strerror}"
    return "" if path.is_dir() else f"the directory {path} does not exist; make it: mkdir -p {path}"


def _remove_if_empty(path: Path) -> bool:
    """Whether the directory is gone. Emptiness is the file system's to judge, at the moment of removing."""
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            _log.warning("%s cannot be removed: %s", path, error.strerror)
        return False
    return True
