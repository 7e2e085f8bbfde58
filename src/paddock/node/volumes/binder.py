"""The binder: watches PersistentVolumes and claims, and applies the plan of `paddock.node.volumes.claims`.

It creates directories (mode 0700, never in place of anything) and removes them only if they are empty. Each write is
guarded by the resourceVersion that was decided on. Time alone causes no write but a volume that is due.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paddock.controllers.events import EventSink, build_event
from paddock.controllers.informer import Informer
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from paddock.kube.meta import CLAIMS, VOLUMES, Key, Manifest, Resource, key_of, version_of
from paddock.kube.times import Moment, format_time
from paddock.node.volumes.claims import Bind, Decision, Provision, Reclaim, SetPhase, Wait, plan_claims
from paddock.node.volumes.storage import (
    DIRECTORY_ANNOTATION,
    NOT_BOUND,
    Volume,
    build_claim_reference,
    build_identity,
    build_volume,
    read_claim,
    read_volume,
)
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

COMPONENT = "paddock-binder"
_RETRY = 2.0  # seconds from a failed write, or a directory that could not be created, to the next plan

_log = logging.getLogger(__name__)


class Binder:
    """Binds claims to volumes. One per cluster. `directory`: the parent of the directories that it creates itself."""

    def __init__(self, api: Api, directory: Path, *, clock: Callable[[], Moment] = time.time) -> None:
        self._api = api
        self._root = directory
        self._clock = clock
        self._sink = EventSink(api, counts=False)
        self._changed = changed = asyncio.Event()
        self._volumes = Informer(
            api,
            VOLUMES,
            lambda manifest: read_volume(manifest, directory),
            lambda _: changed.set(),
            on_synced=changed.set,
        )
        self._claims = Informer(api, CLAIMS, read_claim, lambda _: changed.set(), on_synced=changed.set)

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._volumes.run())
            tasks.create_task(self._claims.run())
            tasks.create_task(self._reconcile())

    async def _reconcile(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            # Before both are listed, a volume could look unclaimed and be released.
            if not (self._volumes.synced.is_set() and self._claims.synced.is_set()):
                continue
            now = self._clock()
            claims, volumes = self._claims.mirror.objects.values(), self._volumes.mirror.objects.values()
            plan = plan_claims(claims, volumes, now)
            for decision in plan.decisions:
                await self._try(decision)
            if plan.wake is not None:
                self._wake_in(plan.wake - now)

    def _wake_in(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(max(0.0, seconds), self._changed.set)

    async def _try(self, decision: Decision) -> None:
        # Nothing to retry after a conflict: the watch event of the newer object starts the next plan.
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
            case SetPhase():
                await self._set_phase(decision)
            case Reclaim():
                await self._reclaim(decision)

    async def _bind(self, bind: Bind) -> None:
        claim, volume = bind.claim, bind.volume
        if problem := _make_directory(volume):
            self._wake_in(_RETRY)
            wait = Wait(claim, "FailedBinding", f"PersistentVolume {volume.name}: {problem}")
            if wait.is_unreported:
                await self._wait(wait)
            return
        # The volume before the claim: after a crash in between, the next plan finds the volume reserved for this claim.
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
        await self._publish(mine, "Bound", bind.note)
        await self._publish(found, "Bound", bind.note)

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
        await self._publish(mine, wait.reason, wait.message, kind="Warning")

    async def _set_phase(self, change: SetPhase) -> None:
        volume = change.volume
        found = build_identity(volume)
        if change.release:
            found = await self._patch(VOLUMES, Key("", volume.name), volume.version, {}, {"claimRef": None})
        status = {"phase": change.phase, "reason": change.reason or None, "message": change.message or None}
        found = await self._patch_status(found, VOLUMES, status)
        if change.message:
            await self._publish(found, change.reason, change.message)

    async def _reclaim(self, reclaim: Reclaim) -> None:
        volume = reclaim.volume
        if volume.ours and _remove_if_empty(Path(volume.directory)):
            await self._api.delete(VOLUMES, "", volume.name, uid=volume.uid)
        else:
            await self._set_phase(reclaim.kept)

    async def _patch(
        self, resource: Resource, key: Key, version: str, meta: Mapping[str, Any], spec: Mapping[str, Any]
    ) -> Manifest:
        patch = {"metadata": {**meta, "resourceVersion": version}, "spec": spec}
        return await self._api.patch(resource, key.namespace, key.name, patch)

    async def _patch_status(self, found: Manifest, resource: Resource, status: Mapping[str, Any]) -> Manifest:
        key = key_of(found)
        patch = {"metadata": {"resourceVersion": version_of(found)}, "status": status}
        return await self._api.patch(resource, key.namespace, key.name, patch, subresource="status")

    async def _publish(self, about: Manifest, reason: str, message: str, *, kind: str = "Normal") -> None:
        await self._sink.write(build_event(about, reason, message, self._clock(), component=COMPONENT, type=kind))


def _make_directory(volume: Volume) -> str:
    """Creates the directory if need be; an existing one is not changed. Returns why there is none, or ''."""
    path = Path(volume.directory)
    try:
        if volume.makes:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return str(phrase("the directory {path} cannot be made: {why}", path=str(path), why=explain_unreadable(error)))
    if path.is_dir():
        return ""
    return str(
        phrase("the directory {path} does not exist; make it: {command}", path=str(path), command=f"mkdir -p {path}")
    )


def _remove_if_empty(path: Path) -> bool:
    """Whether the directory is gone now."""
    try:
        # No check for files first: one could appear in between. rmdir itself refuses a directory that is not empty.
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            _log.warning("%s cannot be removed: %s", path, error.strerror)
        return False
    return True
