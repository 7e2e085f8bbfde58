"""Garbage collection: what goes when its owner goes, and what empties a namespace or a definition that is deleted.

`plan_collection` decides for one object from its owners and dependents; it is pure. `Collector` keeps the keys that may
have to be looked at, and carries out what was decided. Source: Kubernetes' garbage collector controller and the
namespace lifecycle controller. The rule a reader must not break: ownership is by UID alone, never by name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from paddock.apiserver.kinds import CRD_FINALIZER
from paddock.apiserver.objects import Objects
from paddock.apiserver.records import Change, Stored, is_going, storage_key
from paddock.apiserver.verbs import FOREGROUND, ORPHAN, DeleteOptions, Propagation
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import CRDS, NAMESPACES, Manifest, is_deleting, metadata, uid_of

log = logging.getLogger(__name__)

_CRDS, _NAMESPACES = storage_key(CRDS), storage_key(NAMESPACES)
_RETRY = 2.0

_NOBODY: Manifest = {}
"""In the place of an owner that cannot be one: it counts as alive."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete the object, and its dependents as `propagation` says."""

    propagation: Propagation


@dataclass(frozen=True, slots=True)
class Disown:
    """Take these owners off it: they are gone or going, and it has others to live for."""

    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Orphan:
    """Take the object off its dependents, then let it go."""


@dataclass(frozen=True, slots=True)
class AwaitDependents:
    """In foreground deletion: let it go once no dependent blocks it; look after all of them until then."""

    blocked: bool


Decision = Keep | Remove | Disown | Orphan | AwaitDependents


def plan_collection(
    manifest: Mapping[str, Any],
    owners: Mapping[str, Mapping[str, Any] | None],
    dependents: Sequence[Mapping[str, Any]],
    ancestors: frozenset[str] = frozenset(),
) -> Decision:
    """What becomes of an object. `owners`: for each UID in its ownerReferences the live owner, or None where there is
    none; `dependents`: the live objects that name it as their owner; `ancestors`: the UIDs of its owners, of theirs,
    and so on."""
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
        return Disown(frozenset(gone | going))
    if going and dependents:
        return Remove("Foreground")
    return Remove("Background")


def _waits_for_dependents(owner: Mapping[str, Any]) -> bool:
    return is_deleting(owner) and FOREGROUND in (metadata(owner).get("finalizers") or ())


def _blocks(dependent: Mapping[str, Any], uid: Any, ancestors: frozenset[str]) -> bool:
    if uid_of(dependent) in ancestors and _waits_for_dependents(dependent):
        return False  # a circle: it waits for this very object
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


def without_contents(namespace: Manifest) -> Manifest:
    """The namespace once it is empty: nothing of the cluster's own holds it any more."""
    spec = {key: value for key, value in (namespace.get("spec") or {}).items() if key != "finalizers"}
    return namespace | {"spec": spec}


def _owners_in(manifest: Manifest) -> Sequence[Mapping[str, Any]]:
    return metadata(manifest).get("ownerReferences") or ()


class Collector:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._store = objects.store
        self._due: dict[Key, None] = {}
        self._wake = asyncio.Event()
        self._emptying: dict[str, Key] = {}
        objects.store.listen(self._notice)

    def _add(self, stored: Stored | Change) -> None:
        self._due[stored.resource, stored.namespace, stored.name] = None
        self._wake.set()

    def _notice(self, changes: list[Change]) -> None:
        """Keeps what a change may have made collectable. Most changes are passed over without being decoded."""
        for change in changes:
            body = change.body
            if change.type == "DELETED":
                uid = str(change.object["metadata"]["uid"])
                for dependent in self._store.dependents(uid):
                    self._add(dependent)
                for reference in metadata(change.object).get("ownerReferences") or ():
                    if (owner := self._store.find(str(reference.get("uid")))) and is_going(owner.body):
                        self._add(owner)
                for waiting in (change.namespace, change.resource):
                    if waiting in self._emptying:
                        self._due[self._emptying[waiting]] = None
                        self._wake.set()
            elif change.adopted or is_going(body):
                self._add(change)

    async def run(self) -> None:
        """Until cancelled. What failed is tried again a little later: the disk may be full for a while."""
        for stored in self._store.unfinished():
            self._add(stored)
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = self._due, {}
            for key in due:
                try:
                    await self._examine(key)
                except (NotFound, Conflict):
                    self._due[key] = None  # it moved on meanwhile: look again
                    self._wake.set()
                except ApiError as error:
                    log.warning("%s could not be collected yet: %s", "/".join(filter(None, key)), error.message)
                    asyncio.get_running_loop().call_later(_RETRY, self._retry, key)
                except Exception:
                    log.exception("%s could not be collected", "/".join(filter(None, key)))

    def _retry(self, key: Key) -> None:
        self._due[key] = None
        self._wake.set()

    async def _examine(self, key: Key) -> None:
        stored = self._store.get(*key)
        served = self._objects.stored_as(key[0])
        if stored is None or served is None:
            return
        manifest = stored.manifest()
        if is_deleting(manifest) and stored.resource == _NAMESPACES:
            await self._empty(stored, stored.name, self._store.inside(stored.name), without_contents)
        elif is_deleting(manifest) and stored.resource == _CRDS:
            names = manifest["spec"]
            held = f"{names['group']}/{names['names']['plural']}"
            await self._empty(
                stored, held, list(self._store.select(held)), partial(without_finalizer, finalizer=CRD_FINALIZER)
            )
        owners = {str(ref["uid"]): self._owner(ref, stored) for ref in _owners_in(manifest)}
        dependents = self._store.dependents(stored.uid)
        ancestors = self._ancestors(manifest) if _waits_for_dependents(manifest) else frozenset()
        decision = plan_collection(manifest, owners, [dependent.manifest() for dependent in dependents], ancestors)
        await self._apply(stored, dependents, decision)

    def _owner(self, reference: Mapping[str, Any], child: Stored) -> Manifest | None:
        """An owner counts in the child's namespace, or where it has none. A child without a namespace can have no
        owner in one: such a reference says nothing, and takes nothing down."""
        owner = self._store.find(str(reference["uid"]))
        if not child.namespace and (owner.namespace if owner else self._is_namespaced(reference)):
            return _NOBODY
        return owner.manifest() if owner is not None and owner.namespace in ("", child.namespace) else None

    def _is_namespaced(self, reference: Mapping[str, Any]) -> bool:
        group, _, version = str(reference.get("apiVersion")).rpartition("/")
        served = self._objects.registry.find_kind(group, version, str(reference.get("kind")))
        return served is not None and served.resource.namespaced

    def _ancestors(self, manifest: Manifest) -> frozenset[str]:
        """The UIDs of its owners, of theirs, and so on; its own among them where they form a circle."""
        found: set[str] = set()
        level = [manifest]
        while level:
            uids = {str(ref["uid"]) for one in level for ref in _owners_in(one)} - found
            found |= uids
            level = [owner.manifest() for uid in uids if (owner := self._store.find(uid)) is not None]
        return frozenset(found)

    async def _apply(self, stored: Stored, dependents: list[Stored], decision: Decision) -> None:
        match decision:
            case Remove(propagation):
                await self._delete(stored, propagation)
            case Disown(uids):
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

    async def _empty(
        self, holder: Stored, held: str, contents: list[Stored], release: Callable[[Manifest], Manifest]
    ) -> None:
        """Deletes what a namespace or definition holds; when nothing is left, lets the holder go."""
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
            return  # gone, or another one by now

    async def _release(self, stored: Stored, change: Callable[[Manifest], Manifest]) -> None:
        served = self._objects.stored_as(stored.resource)
        if served is not None:
            await self._objects.release(served, stored, change)
