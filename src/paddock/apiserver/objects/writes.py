"""Writes: create, replace, patch, apply, scale, bind and delete, for HTTP and in-process clients alike.

Each write reads the stored object, lets `strategy`, `builtin_strategies`, `validation` and `kube.patches` decide, and
stores the result, all in one transaction, so nothing changes between decision and write. Errors are `ApiError`s.
Rule: this module decides nothing; those pure modules do.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from paddock.apiserver.admission import validation
from paddock.apiserver.kinds.custom import remember_checked
from paddock.apiserver.objects import builtin_strategies, strategy
from paddock.apiserver.objects.reads import Catalog
from paddock.apiserver.objects.strategy import DeleteOptions, build_success
from paddock.apiserver.objects.worker import SMALL_BYTES, SMALL_STEPS
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Selection
from paddock.apiserver.storage.records import Stored, in_version, is_going, storage_key
from paddock.apiserver.storage.store import Store
from paddock.apiserver.storage.transaction import Transaction
from paddock.kube.budget import Budget, Exhausted
from paddock.kube.calls import PatchKind
from paddock.kube.errors import (
    NAMESPACE_TERMINATING,
    AlreadyExists,
    FieldCause,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from paddock.kube.meta import CRDS, NAMESPACES, Manifest, name_of, namespace_of
from paddock.kube.patches import apply_patch

DEFAULT_NAMESPACES = ("default", "kube-system", "kubeflow", "paddle-system")
_CRDS, _NAMESPACES = storage_key(CRDS), storage_key(NAMESPACES)
# Kubernetes' alphabet for names: without vowels and 0, 1, 3, so that no bad words are formed.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_NAME_ATTEMPTS = 8  # for generateName, as in kube-apiserver
_PREFIX_LIMIT = 63 - _SUFFIX_LENGTH
_UPDATE_ATTEMPTS = 5
_MOST_TOLD_BYTES = 8 * 1024 * 1024

_ChangeObject = Callable[[Manifest, Budget], Manifest]


@dataclass(frozen=True, slots=True)
class WriteOptions:
    validation: Literal["Strict", "Warn", "Ignore"] = "Ignore"
    dry_run: bool = False


_DEFAULT_OPTIONS = WriteOptions()
_DEFAULT_DELETE = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a write: the stored object or a Status, and warnings for the client."""

    body: bytes
    warnings: tuple[str, ...] = ()
    created: bool = False


@dataclass(frozen=True, slots=True)
class _Updated:
    """What an update makes of an object: another `manifest`, or None for no change."""

    manifest: Manifest | None
    removed: bool
    warnings: tuple[str, ...]


class Objects(Catalog):
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        super().__init__(store)
        self.clock = clock

    async def create(
        self, served: ServedResource, manifest: Any, *, namespace: str = "", options: WriteOptions = _DEFAULT_OPTIONS,
        size: int = 0,
    ) -> Answer:  # fmt: skip
        """`size`, here and below: bytes of JSON of what was sent, as far as they are known."""
        incoming = strategy.check_identity(served, manifest, namespace)
        meta = incoming["metadata"]
        prefix = "" if meta.get("name") else str(meta.get("generateName") or "")[:_PREFIX_LIMIT]
        for attempt in range(_NAME_ATTEMPTS if prefix else 1):
            if prefix:
                incoming = {**incoming, "metadata": meta | {"name": prefix + _random_suffix()}}
            work = partial(self._validate, served, incoming, options, "")
            read, warnings = await self.worker.compute(work, size)
            try:
                stored = await self.store.write(lambda tx, read=read: self._create(tx, served, read, options))  # type: ignore[misc]
            except AlreadyExists:
                if attempt == _NAME_ATTEMPTS - 1 or not prefix:
                    raise
                continue
            return Answer(in_version(stored.body, stored.version, served.resource.api_version), warnings, created=True)
        raise AssertionError("unreachable")

    def _validate(
        self, served: ServedResource, incoming: Manifest, options: WriteOptions, subresource: str, budget: Budget
    ) -> tuple[Manifest, tuple[str, ...]]:
        strict = options.validation == "Strict"
        read, warnings = validation.read_object(served, incoming, strict=strict, subresource=subresource, budget=budget)
        if storage_key(served.resource) == _CRDS and subresource != "status":
            remember_checked(read)
        return read, warnings if options.validation == "Warn" else ()

    def _create(self, tx: Transaction, served: ServedResource, read: Manifest, options: WriteOptions) -> Stored:
        name, now = name_of(read), self.clock()
        self._check_creatable(tx, served, namespace_of(read), name)
        key = storage_key(served.resource)
        if tx.get(key, namespace_of(read), name) is not None:
            raise AlreadyExists(
                f'{served.resource.qualified} "{name}" already exists',
                kind=served.resource.plural,
                name=name,
            )
        created = strategy.build_new(served, read, uid=str(uuid.uuid4()), name=name, now=now)
        return self._put(tx, served, builtin_strategies.prepare_for_create(served, created, now), None, options)

    def _check_creatable(self, tx: Transaction, served: ServedResource, namespace: str, name: str) -> None:
        """Raises if the namespace is missing or terminating, or the CRD of a custom kind is terminating."""
        resource = served.resource
        if resource.namespaced:
            home = tx.get(_NAMESPACES, "", namespace)
            if home is None:
                raise NotFound(f'namespaces "{namespace}" not found', kind="namespaces", name=namespace)
            if is_going(home.body):
                going = f"namespace {namespace} is being terminated"
                raise Forbidden(
                    f'{resource.qualified} "{name}" is forbidden: unable to create new content in namespace'
                    f" {namespace} because it is being terminated",
                    causes=[FieldCause("metadata.namespace", going, NAMESPACE_TERMINATING)],
                    kind=resource.plural,
                    name=name,
                )
        if served.custom:
            crd = tx.get(_CRDS, "", resource.qualified)
            if crd is not None and is_going(crd.body):
                raise MethodNotAllowed(f"create not allowed while custom resource definition {crd.name} is terminating")

    async def replace(
        self, served: ServedResource, manifest: Any, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        incoming = strategy.check_identity(served, manifest, namespace, name)
        return await self._update(served, namespace, name, lambda _, __: incoming, subresource, options, size)

    async def patch(
        self, served: ServedResource, patch: Any, kind: PatchKind, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        # Kubernetes answers so too: a custom kind has no merge keys for a strategic patch.
        if kind == "strategic" and served.custom:
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types include:"
                " application/json-patch+json, application/merge-patch+json"
            )

        def change(current: Manifest, budget: Budget) -> Manifest:
            return strategy.check_identity(served, apply_patch(current, patch, kind, budget), namespace, name)

        return await self._update(served, namespace, name, change, subresource, options, size)

    async def apply(
        self, served: ServedResource, manifest: Any, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        """Simplified server-side apply: create, or merge the manifest into the stored object. Field ownership is not
        tracked; a warning says so."""
        incoming = strategy.check_identity(served, manifest, namespace, name)
        warning = (
            "apply merged the manifest: fields that it no longer mentions stay, as ownership of fields is not tracked"
        )
        key = storage_key(served.resource)
        if not subresource and self.store.get(key, incoming["metadata"].get("namespace", ""), name) is None:
            return await self.create(served, incoming, namespace=namespace, options=options, size=size)
        kind: PatchKind = "merge" if served.custom else "strategic"
        answer = await self.patch(
            served, incoming, kind, namespace=namespace, name=name, subresource=subresource, options=options, size=size
        )
        return Answer(answer.body, (*answer.warnings, warning))

    async def scale(
        self, served: ServedResource, change: Callable[[Manifest], Any], *, namespace: str, name: str,
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        """Replaces the Scale by `change` of the current one."""

        def rescale(current: Manifest, _: Budget) -> Manifest:
            return builtin_strategies.apply_scale(
                served, current, change(builtin_strategies.read_scale(served, current))
            )

        answer = await self._update(served, namespace, name, rescale, "", options, size)
        scaled = builtin_strategies.read_scale(served, msgspec.json.decode(answer.body))
        return Answer(msgspec.json.encode(scaled), answer.warnings)

    async def _update(
        self, served: ServedResource, namespace: str, name: str, change: _ChangeObject, subresource: str,
        options: WriteOptions, size: int,
    ) -> Answer:  # fmt: skip
        decide = partial(self._decide, served, change, subresource, options)

        def at_once(tx: Transaction) -> tuple[Stored, tuple[str, ...]]:
            stored = self._need(served, namespace, name)
            if size + len(stored.body) > SMALL_BYTES:
                raise Exhausted
            updated = decide(stored, Budget(SMALL_STEPS))
            return self._settle(tx, served, stored, updated, options), updated.warnings

        try:
            stored, warnings = await self.store.write(at_once)
        except Exhausted:
            stored, warnings = await self._update_beside(served, namespace, name, decide, options)
        return Answer(in_version(stored.body, stored.version, served.resource.api_version), warnings)

    async def _update_beside(
        self, served: ServedResource, namespace: str, name: str, decide: Callable[[Stored, Budget], _Updated],
        options: WriteOptions,
    ) -> tuple[Stored, tuple[str, ...]]:  # fmt: skip
        """An update that takes long: decided beside the loop, and again if the object has changed meanwhile."""

        def settle(tx: Transaction, before: Stored, updated: _Updated) -> Stored | None:
            live = self._need(served, namespace, name)
            if (live.uid, live.rv) != (before.uid, before.rv):
                return None
            return self._settle(tx, served, live, updated, options)

        for _ in range(_UPDATE_ATTEMPTS):
            before = self._need(served, namespace, name)
            updated = await self.worker.compute_beside(partial(decide, before))
            stored = await self.store.write(partial(settle, before=before, updated=updated))
            if stored is not None:
                return stored, updated.warnings
        raise strategy.version_conflict(served.resource, name)

    def _decide(
        self, served: ServedResource, change: _ChangeObject, subresource: str, options: WriteOptions, stored: Stored,
        budget: Budget,
    ) -> _Updated:  # fmt: skip
        """What becomes of a stored object. Reads nothing but its arguments, as it may run beside the loop."""
        current = stored.manifest() | {"apiVersion": served.resource.api_version}
        incoming = change(current, budget)
        strategy.check_preconditions(served.resource, current, incoming)
        read, warnings = self._validate(served, incoming, options, subresource, budget)
        updated = strategy.build_updated(served, current, read, subresource)
        if not subresource:
            builtin_strategies.check_update(served, current, updated)
        if storage_key(served.resource) == _CRDS and not subresource:
            updated = builtin_strategies.establish(updated, self.clock())
        # A write that changes nothing keeps the resourceVersion and wakes no watcher, as in Kubernetes.
        if updated == current:
            return _Updated(None, False, warnings)
        return _Updated(updated, strategy.is_removable(updated), warnings)

    def _settle(
        self, tx: Transaction, served: ServedResource, stored: Stored, updated: _Updated, options: WriteOptions
    ) -> Stored:
        if updated.manifest is None:
            return stored
        # The update has removed the last finalizer of an object being deleted.
        if updated.removed:
            return self._remove(tx, stored._replace(body=msgspec.json.encode(updated.manifest)), options)
        return self._put(tx, served, updated.manifest, stored, options)

    async def bind(
        self, served: ServedResource, binding: Any, *, namespace: str, name: str, options: WriteOptions
    ) -> Answer:
        work = partial(self._validate, served, binding, options, "binding")
        read, _ = await self.worker.compute(work, 0)

        def action(tx: Transaction) -> Stored:
            stored = self._need(served, namespace, name)
            bound = builtin_strategies.bind_pod(stored.manifest(), read, self.clock())
            return self._put(tx, served, bound, stored, options)

        await self.store.write(action)
        return Answer(build_success(), created=True)

    async def delete(
        self, served: ServedResource, *, namespace: str, name: str, delete: DeleteOptions = _DEFAULT_DELETE,
        options: WriteOptions = _DEFAULT_OPTIONS,
    ) -> Answer:  # fmt: skip
        """Returns a success Status, or the object while its deletion waits (for a pod's grace period or finalizers)."""
        builtin_strategies.check_deletable(served, name)

        def action(tx: Transaction) -> tuple[Stored, bool]:
            return self._delete(tx, served, self._need(served, namespace, name), delete, options)

        stored, gone = await self.store.write(action)
        # As in Kubernetes, the answer to the deletion of a pod is the pod itself.
        if gone and served.qualified_kind != "Pod":
            return Answer(build_success(served.resource, stored.name, stored.uid))
        return Answer(in_version(stored.body, stored.version, served.resource.api_version))

    async def delete_collection(
        self, served: ServedResource, selection: Selection, *, delete: DeleteOptions = _DEFAULT_DELETE,
        options: WriteOptions = _DEFAULT_OPTIONS,
    ) -> list[Stored] | None:  # fmt: skip
        """Deletes all selected objects, some in each transaction, as Kubernetes does one by one. Protected namespaces
        are skipped. None if it was too much to be told."""

        def action(tx: Transaction, found: list[Stored]) -> list[Stored]:
            live = [tx.get(*stored[:3]) for stored in found]
            same = [now for now, before in zip(live, found, strict=True) if now is not None and now.uid == before.uid]
            return [self._delete(tx, served, stored, delete, options)[0] for stored in same]

        deleted: list[Stored] | None = []
        size = 0
        for piece in self.pieces(served, selection):
            found = [stored for stored in piece.items if not _is_protected(served, stored.name)]
            gone = await self.store.write(partial(action, found=found))
            size += sum(len(stored.body) for stored in gone)
            deleted = [*deleted, *gone] if deleted is not None and size <= _MOST_TOLD_BYTES else None
        return deleted

    def _delete(
        self, tx: Transaction, served: ServedResource, stored: Stored, delete: DeleteOptions, options: WriteOptions
    ) -> tuple[Stored, bool]:
        current = stored.manifest()
        grace = builtin_strategies.grace_period(served, current, delete)
        marked = strategy.plan_deletion(served, current, delete, grace=grace, now=self.clock())
        if marked is None:
            return self._remove(tx, stored, options), True
        if marked == current:
            return stored, False
        return self._put(tx, served, marked, stored, options), False

    async def release(self, served: ServedResource, stored: Stored, change: Callable[[Manifest], Manifest]) -> None:
        """For garbage collection: changes finalizers or owner references of the object with the UID of `stored`, and
        removes it if no finalizer is left."""

        def action(tx: Transaction) -> None:
            live = tx.get(stored.resource, stored.namespace, stored.name)
            # Another object may have taken the name since the collector decided.
            if live is None or live.uid != stored.uid:
                return
            current = live.manifest()
            changed = change(current)
            if strategy.is_removable(changed):
                tx.delete(live)
            elif changed != current:
                tx.put(live.resource, changed, live)

        await self.store.write(action)

    def _put(
        self, tx: Transaction, served: ServedResource, manifest: Manifest, previous: Stored | None,
        options: WriteOptions,
    ) -> Stored:  # fmt: skip
        key = storage_key(served.resource)
        home = self._storage.get(key, served)
        manifest = manifest | {"apiVersion": home.resource.api_version}
        if options.dry_run:
            body = msgspec.json.encode(manifest)
            return Stored(key, namespace_of(manifest), name_of(manifest), "", 0, manifest["apiVersion"], body)
        return tx.put(key, manifest, previous)

    def _remove(self, tx: Transaction, stored: Stored, options: WriteOptions) -> Stored:
        return stored if options.dry_run else tx.delete(stored)

    def make_default_namespaces(self) -> None:
        """Creates, once per store, the namespaces that clients, Kubeflow and paddle-operator's documents expect."""
        served = self.served(NAMESPACES)

        def action(tx: Transaction) -> None:
            for name in DEFAULT_NAMESPACES:
                manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                self._create(tx, served, manifest, WriteOptions())
            tx.set("cluster_uid", str(uuid.uuid4()))

        # The setting marks a store that has had them: a namespace that the user deleted does not come back.
        if self.store.setting("cluster_uid") is None:
            self.store.write_now(action)


def _is_protected(served: ServedResource, name: str) -> bool:
    return served.qualified_kind == "Namespace" and name in builtin_strategies.PROTECTED_NAMESPACES


def _random_suffix() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
