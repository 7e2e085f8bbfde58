"""Garbage collection: deletes the dependents of deleted owners, and the contents of deleted namespaces and CRDs.

`plan_collection` decides for one object from its owners and dependents; it is pure. `Collector` queues the keys of
objects that may be collectable, and applies the decisions. Source: Kubernetes' garbage collector controller and the
namespace lifecycle controller. Rule: ownership is by UID only, never by name.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from paddock.apiserver.objects.builtin_strategies import CRD_FINALIZER
from paddock.apiserver.objects.strategy import FOREGROUND, ORPHAN, DeleteOptions
from paddock.apiserver.objects.writes import Objects
from paddock.apiserver.storage.records import Change, Stored, is_going, storage_key
from paddock.controllers.queue import WorkQueue
from paddock.kube.calls import Propagation
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import CRDS, NAMESPACES, Manifest, is_deleting, metadata, uid_of

log = logging.getLogger(__name__)

_CRDS, _NAMESPACES = storage_key(CRDS), storage_key(NAMESPACES)
_RETRY = 2.0
_TURN = 200

T = TypeVar("T")

_IGNORED_OWNER: Manifest = {}
"""Stands for an owner that is not read, of an invalid reference or damaged: it counts as existing, so the reference
deletes nothing."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete the object, with this propagation policy for its dependents."""

    propagation: Propagation


@dataclass(frozen=True, slots=True)
class DropOwners:
    """Remove these owner references: the owners are deleted or wait for dependents, and another owner remains."""

    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Orphan:
    """Remove the owner references of its dependents, then its finalizer "orphan"."""


@dataclass(frozen=True, slots=True)
class AwaitDependents:
    """Foreground deletion: keep the finalizer while a dependent blocks, and enqueue the dependents."""

    blocked: bool


Decision = Keep | Remove | DropOwners | Orphan | AwaitDependents


def plan_collection(
    manifest: Mapping[str, Any],
    owners: Mapping[str, Mapping[str, Any] | None],
    dependents: Sequence[Mapping[str, Any]],
    ancestors: frozenset[str] = frozenset(),
) -> Decision:
    """The decision about one object. `owners`: by UID in its ownerReferences, the existing owner or None; `dependents`:
    the existing objects that name it as their owner; `ancestors`: the UIDs of its owners, of their owners, and so on.
    """
    meta = metadata(manifest)
    finalizers = meta.get("finalizers") or ()
    if is_deleting(manifest):
        if ORPHAN in finalizers:
            return Orphan()
        if FOREGROUND not in finalizers:
            return Keep()
        return AwaitDependents(blocked=any(_blocks(dependent, meta.get("uid"), ancestors) for dependent in dependents))
    going = {uid for uid, owner in owners.items() if owner is not None and _waits_for_dependents(owner)}
    gone = {uid for uid, owner in owners.items() if owner is None}
    if not owners or not gone | going:
        return Keep()
    if set(owners) - gone - going:
        return DropOwners(frozenset(gone | going))
    if going and dependents:
        return Remove("Foreground")
    return Remove("Background")


def _waits_for_dependents(owner: Mapping[str, Any]) -> bool:
    return is_deleting(owner) and FOREGROUND in (metadata(owner).get("finalizers") or ())


def _blocks(dependent: Mapping[str, Any], uid: Any, ancestors: frozenset[str]) -> bool:
    if uid_of(dependent) in ancestors and _waits_for_dependents(dependent):
        return False  # a cycle of owners: the dependent itself waits for this object
    references = metadata(dependent).get("ownerReferences") or ()
    return any(reference.get("uid") == uid and reference.get("blockOwnerDeletion") for reference in references)


def without_owners(manifest: Manifest, uids: frozenset[str]) -> Manifest:
    meta = dict(manifest["metadata"])
    kept = [reference for reference in meta.get("ownerReferences") or () if reference.get("uid") not in uids]
    meta.pop("ownerReferences", None)
    return manifest | {"metadata": meta | ({"ownerReferences": kept} if kept else {})}


def without_finalizer(manifest: Manifest, finalizer: str) -> Manifest:
    meta = dict(manifest["metadata"])
    kept = [found for found in meta.get("finalizers") or () if found != finalizer]
    meta.pop("finalizers", None)
    return manifest | {"metadata": meta | ({"finalizers": kept} if kept else {})}


def without_spec_finalizers(namespace: Manifest) -> Manifest:
    """The namespace without its spec.finalizers, so that it is deleted."""
    spec = {key: value for key, value in (namespace.get("spec") or {}).items() if key != "finalizers"}
    return namespace | {"spec": spec}


def _owners_in(manifest: Manifest) -> Sequence[Mapping[str, Any]]:
    return metadata(manifest).get("ownerReferences") or ()


async def _slowly(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, with turns for others in between: an object may have thousands of owners."""
    for count, item in enumerate(items, start=1):
        if count % _TURN == 0:
            await asyncio.sleep(0)
        yield item


class Collector:
    """The garbage collector of a store: a listener that enqueues, and a loop that reconciles."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._store = objects.store
        self._queue: WorkQueue[Key] = WorkQueue(time.monotonic)
        self._emptying: dict[str, Key] = {}
        objects.store.listen(self._enqueue)

    def _add(self, stored: Stored | Change) -> None:
        self._queue.add((stored.resource, stored.namespace, stored.name))

    def _enqueue(self, changes: list[Change]) -> None:
        """Enqueues what a change may have made collectable. Most changes are skipped without decoding them."""
        for change in changes:
            body = change.body
            if change.type == "DELETED":
                uid = str(change.object["metadata"]["uid"])
                for key in self._store.dependent_keys(uid):
                    self._queue.add(key)
                for waiting in (change.namespace, change.resource):
                    if waiting in self._emptying:
                        self._queue.add(self._emptying[waiting])
            elif change.adopted or is_going(body):
                self._add(change)
            # An owner that waits for its dependents waits no more for one that is gone, or has another owner.
            for key in self._store.going_keys(list(change.left)) if change.left else ():
                self._queue.add(key)

    async def run(self) -> None:
        """Runs until cancelled."""
        for stored in self._store.unfinished():
            self._add(stored)
        while True:
            key = await self._queue.take()
            try:
                await self._reconcile(key)
            except (NotFound, Conflict):
                self._queue.add(key)  # the object has changed since it was read
            except ApiError as error:
                # The disk may be full for a while.
                log.warning("%s could not be collected yet: %s", "/".join(filter(None, key)), error.message)
                self._queue.add(key, _RETRY)
            except Exception:
                log.exception("%s could not be collected", "/".join(filter(None, key)))
            finally:
                self._queue.done(key)

    async def _reconcile(self, key: Key) -> None:
        stored = self._store.get(*key)
        served = self._objects.stored_as(key[0])
        if stored is None or served is None:
            return
        manifest = stored.manifest()
        if is_deleting(manifest) and stored.resource == _NAMESPACES:
            await self._delete_contents(stored, stored.name, self._store.inside(stored.name), without_spec_finalizers)
        elif is_deleting(manifest) and stored.resource == _CRDS:
            names = manifest["spec"]
            held = f"{names['group']}/{names['names']['plural']}"
            await self._delete_contents(
                stored, held, list(self._store.select(held)), partial(without_finalizer, finalizer=CRD_FINALIZER)
            )
        owners = {}
        async for reference in _slowly(_owners_in(manifest)):
            owners[str(reference["uid"])] = self._owner(reference, stored)
        dependents = self._store.dependents(stored.uid) if owners or is_deleting(manifest) else []
        ancestors = await self._ancestors(manifest) if _waits_for_dependents(manifest) else frozenset()
        read = [dependent.manifest() async for dependent in _slowly(dependents)]
        decision = plan_collection(manifest, owners, read, ancestors)
        await self._apply(stored, dependents, decision)

    def _owner(self, reference: Mapping[str, Any], child: Stored) -> Manifest | None:
        """The existing owner of a reference. It must be cluster-scoped or in the child's namespace. A cluster-scoped
        child cannot have a namespaced owner: such a reference is ignored, as in Kubernetes."""
        owner = self._store.find(str(reference["uid"]))
        # A damaged owner is not gone: its children may be all that is left of it.
        if owner is None and self._store.is_damaged(str(reference["uid"])):
            return _IGNORED_OWNER
        if not child.namespace and (owner.namespace if owner else self._is_namespaced(reference)):
            return _IGNORED_OWNER
        return owner.manifest() if owner is not None and owner.namespace in ("", child.namespace) else None

    def _is_namespaced(self, reference: Mapping[str, Any]) -> bool:
        group, _, version = str(reference.get("apiVersion")).rpartition("/")
        served = self._objects.registry.find_kind(group, version, str(reference.get("kind")))
        return served is not None and served.resource.namespaced

    async def _ancestors(self, manifest: Manifest) -> frozenset[str]:
        """The UIDs of its owners, of their owners, and so on; with its own UID if they form a cycle."""
        found: set[str] = set()
        level = [manifest]
        while level:
            uids = {str(ref["uid"]) for one in level for ref in _owners_in(one)} - found
            found |= uids
            owners = [self._store.find(uid) async for uid in _slowly(uids)]
            level = [owner.manifest() for owner in owners if owner is not None]
        return frozenset(found)

    async def _apply(self, stored: Stored, dependents: list[Stored], decision: Decision) -> None:
        match decision:
            case Remove(propagation):
                await self._delete(stored, propagation)
            case DropOwners(uids):
                await self._release(stored, partial(without_owners, uids=uids))
            case Orphan():
                for dependent in dependents:
                    await self._release(dependent, partial(without_owners, uids=frozenset({stored.uid})))
                await self._release(stored, partial(without_finalizer, finalizer=ORPHAN))
            case AwaitDependents(blocked=True):
                for dependent in dependents:
                    if not is_going(dependent.body):
                        self._add(dependent)
            case AwaitDependents():
                await self._release(stored, partial(without_finalizer, finalizer=FOREGROUND))

    async def _delete_contents(
        self, holder: Stored, held: str, contents: list[Stored], release: Callable[[Manifest], Manifest]
    ) -> None:
        """Deletes the contents of a namespace or CRD; if there are none left, removes the holder's finalizer."""
        if not contents:
            self._emptying.pop(held, None)
            await self._release(holder, release)
            return
        self._emptying[held] = (holder.resource, holder.namespace, holder.name)
        for stored in contents:
            if not is_going(stored.body):
                await self._delete(stored, "Background")

    async def _delete(self, stored: Stored, propagation: Propagation) -> None:
        served = self._objects.stored_as(stored.resource)
        if served is None:
            return
        try:
            await self._objects.delete(
                served, namespace=stored.namespace, name=stored.name,
                delete=DeleteOptions(uid=stored.uid, propagation=propagation),
            )  # fmt: skip
        except (NotFound, Conflict):
            return  # deleted already, or another object has the name now

    async def _release(self, stored: Stored, change: Callable[[Manifest], Manifest]) -> None:
        served = self._objects.stored_as(stored.resource)
        if served is not None:
            await self._objects.release(served, stored, change)
