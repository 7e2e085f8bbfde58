"""The objects of the cluster: create, replace, patch, delete. One way in for HTTP and for this process.

Reads what is stored (`catalog`), lets `verbs`, `kinds`, `validation` and `kube.patches` decide, writes the result, all
in one transaction of the store, so nothing changes between a decision and its write. Errors are `ApiError`s.
The rule a reader must not break: whatever is decided here is decided by one of those pure modules.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from paddock.apiserver import kinds, validation, verbs
from paddock.apiserver.catalog import Catalog
from paddock.apiserver.records import Stored, in_version, is_going, storage_key
from paddock.apiserver.served import ServedResource
from paddock.apiserver.store import Store, Transaction
from paddock.apiserver.verbs import DeleteOptions
from paddock.apiserver.watches import Selection
from paddock.kube.api import PatchKind
from paddock.kube.errors import (
    NAMESPACE_TERMINATING,
    AlreadyExists,
    FieldCause,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from paddock.kube.meta import CRDS, NAMESPACES, Manifest, Resource, name_of, namespace_of
from paddock.kube.patches import apply_patch

DEFAULT_NAMESPACES = ("default", "kube-system", "kubeflow", "paddle-system")
_CRDS, _NAMESPACES = storage_key(CRDS), storage_key(NAMESPACES)
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_ATTEMPTS = 8
_PREFIX_LIMIT = 63 - _SUFFIX


@dataclass(frozen=True, slots=True)
class WriteOptions:
    validation: Literal["Strict", "Warn", "Ignore"] = "Ignore"
    dry_run: bool = False


_PLAIN = WriteOptions()
_DELETE = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a write leaves: the object as stored, or a Status; and what to warn of."""

    body: bytes
    warnings: tuple[str, ...] = ()
    created: bool = False


class Objects(Catalog):
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        super().__init__(store)
        self.clock = clock

    async def create(
        self, served: ServedResource, manifest: Any, *, namespace: str = "", options: WriteOptions = _PLAIN
    ) -> Answer:
        incoming = verbs.check_identity(served, manifest, namespace)
        meta = incoming["metadata"]
        prefix = "" if meta.get("name") else str(meta.get("generateName") or "")[:_PREFIX_LIMIT]
        for attempt in range(_ATTEMPTS if prefix else 1):
            if prefix:
                incoming = {**incoming, "metadata": meta | {"name": prefix + _random_suffix()}}
            read, warnings = self._validate(served, incoming, options)
            try:
                stored = await self.store.write(lambda tx, read=read: self._create(tx, served, read, options))  # type: ignore[misc]
            except AlreadyExists:
                if attempt == _ATTEMPTS - 1 or not prefix:
                    raise
                continue
            return Answer(in_version(stored.body, stored.version, served.resource.api_version), warnings, created=True)
        raise AssertionError("unreachable")

    def _validate(
        self, served: ServedResource, incoming: Manifest, options: WriteOptions, subresource: str = ""
    ) -> tuple[Manifest, tuple[str, ...]]:
        strict = options.validation == "Strict"
        read, warnings = validation.read_object(served, incoming, strict=strict, subresource=subresource)
        return read, warnings if options.validation == "Warn" else ()

    def _create(self, tx: Transaction, served: ServedResource, read: Manifest, options: WriteOptions) -> Stored:
        name, now = name_of(read), self.clock()
        self._check_place(tx, served, namespace_of(read), name)
        key = storage_key(served.resource)
        if tx.get(key, namespace_of(read), name) is not None:
            raise AlreadyExists(
                f'{served.resource.qualified} "{name}" already exists',
                kind=served.resource.plural,
                name=name,
            )
        created = verbs.build_new(served, read, uid=str(uuid.uuid4()), name=name, now=now)
        return self._put(tx, served, kinds.complete_new(served, created, now), None, options)

    def _check_place(self, tx: Transaction, served: ServedResource, namespace: str, name: str) -> None:
        """The namespace is there and stays, and so does the definition of a custom kind."""
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
        options: WriteOptions = _PLAIN,
    ) -> Answer:  # fmt: skip
        incoming = verbs.check_identity(served, manifest, namespace, name)
        return await self._update(served, namespace, name, lambda _: incoming, subresource, options)

    async def patch(
        self, served: ServedResource, patch: Any, kind: PatchKind, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Answer:  # fmt: skip
        if kind == "strategic" and served.custom:
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types include:"
                " application/json-patch+json, application/merge-patch+json"
            )
        return await self._update(
            served, namespace, name,
            lambda current: verbs.check_identity(served, apply_patch(current, patch, kind), namespace, name),
            subresource, options,
        )  # fmt: skip

    async def apply(
        self, served: ServedResource, manifest: Any, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _PLAIN,
    ) -> Answer:  # fmt: skip
        """Server-side apply in its simple form: create, or merge what is written over what is there. Nobody's
        ownership of fields is tracked, and the answer warns of that."""
        incoming = verbs.check_identity(served, manifest, namespace, name)
        warning = (
            "apply merged the manifest: fields that it no longer mentions stay, as ownership of fields is not tracked"
        )
        key = storage_key(served.resource)
        if not subresource and self.store.get(key, incoming["metadata"].get("namespace", ""), name) is None:
            return await self.create(served, incoming, namespace=namespace, options=options)
        kind: PatchKind = "merge" if served.custom else "strategic"
        answer = await self.patch(
            served, incoming, kind, namespace=namespace, name=name, subresource=subresource, options=options
        )
        return Answer(answer.body, (*answer.warnings, warning))

    async def scale(
        self, served: ServedResource, change: Callable[[Manifest], Any], *, namespace: str, name: str,
        options: WriteOptions = _PLAIN,
    ) -> Answer:  # fmt: skip
        """Writes the Scale that `change` makes of the present one."""

        def rescale(current: Manifest) -> Manifest:
            return kinds.apply_scale(served, current, change(kinds.read_scale(served, current)))

        answer = await self._update(served, namespace, name, rescale, "", options)
        scaled = kinds.read_scale(served, msgspec.json.decode(answer.body))
        return Answer(msgspec.json.encode(scaled), answer.warnings)

    async def _update(
        self, served: ServedResource, namespace: str, name: str, change: Callable[[Manifest], Manifest],
        subresource: str, options: WriteOptions,
    ) -> Answer:  # fmt: skip
        version = served.resource.api_version

        def action(tx: Transaction) -> tuple[Stored, tuple[str, ...]]:
            stored = self._need(served, namespace, name)
            current = stored.manifest() | {"apiVersion": version}
            incoming = change(current)
            verbs.check_preconditions(served.resource, current, incoming)
            read, warnings = self._validate(served, incoming, options, subresource)
            updated = verbs.build_updated(served, current, read, subresource)
            if not subresource:
                kinds.check_update(served, current, updated)
            if storage_key(served.resource) == _CRDS and not subresource:
                updated = kinds.establish(updated, self.clock())
            if updated == current:
                return stored, warnings
            if verbs.is_finished(updated):
                return self._remove(tx, stored._replace(body=msgspec.json.encode(updated)), options), warnings
            return self._put(tx, served, updated, stored, options), warnings

        stored, warnings = await self.store.write(action)
        return Answer(in_version(stored.body, stored.version, version), warnings)

    async def bind(
        self, served: ServedResource, binding: Any, *, namespace: str, name: str, options: WriteOptions
    ) -> Answer:
        def action(tx: Transaction) -> Stored:
            stored = self._need(served, namespace, name)
            return self._put(tx, served, kinds.bind_pod(stored.manifest(), binding, self.clock()), stored, options)

        await self.store.write(action)
        return Answer(_success(), created=True)

    async def delete(
        self, served: ServedResource, *, namespace: str, name: str, delete: DeleteOptions = _DELETE,
        options: WriteOptions = _PLAIN,
    ) -> Answer:  # fmt: skip
        """The Status of success, or the object as it is while it goes (a pod that ends, finalizers that hold it)."""
        kinds.check_deletable(served, name)

        def action(tx: Transaction) -> tuple[Stored, bool]:
            return self._delete(tx, served, self._need(served, namespace, name), delete, options)

        stored, gone = await self.store.write(action)
        if gone and served.qualified_kind != "Pod":
            return Answer(_success(served.resource, stored))
        return Answer(in_version(stored.body, stored.version, served.resource.api_version))

    async def delete_collection(
        self, served: ServedResource, selection: Selection, *, delete: DeleteOptions = _DELETE,
        options: WriteOptions = _PLAIN,
    ) -> list[Stored]:  # fmt: skip
        """All that a selection holds, in one transaction. Protected namespaces are passed over."""

        def action(tx: Transaction) -> list[Stored]:
            found = self.page(served, selection).items
            deletable = [
                s for s in found if served.qualified_kind != "Namespace" or s.name not in kinds.PROTECTED_NAMESPACES
            ]
            return [self._delete(tx, served, stored, delete, options)[0] for stored in deletable]

        return await self.store.write(action)

    def _delete(
        self, tx: Transaction, served: ServedResource, stored: Stored, delete: DeleteOptions, options: WriteOptions
    ) -> tuple[Stored, bool]:
        current = stored.manifest()
        grace = kinds.allowed_grace(served, current, delete)
        marked = verbs.plan_deletion(served, current, delete, grace=grace, now=self.clock())
        if marked is None:
            return self._remove(tx, stored, options), True
        if marked == current:
            return stored, False
        return self._put(tx, served, marked, stored, options), False

    async def release(self, served: ServedResource, stored: Stored, change: Callable[[Manifest], Manifest]) -> None:
        """For the collector: changes finalizers or owners of the very object it decided on, if it is still as it was,
        and removes it if nothing holds it any more."""

        def action(tx: Transaction) -> None:
            live = tx.get(stored.resource, stored.namespace, stored.name)
            if live is None or live.uid != stored.uid:
                return
            current = live.manifest()
            changed = change(current)
            if verbs.is_finished(changed):
                tx.delete(live)
            elif changed != current:
                tx.put(live.resource, changed, live)

        await self.store.write(action)

    def _put(
        self,
        tx: Transaction,
        served: ServedResource,
        manifest: Manifest,
        previous: Stored | None,
        options: WriteOptions,
    ) -> Stored:
        key = storage_key(served.resource)
        home = self._storage.get(key, served)
        manifest = manifest | {"apiVersion": home.resource.api_version}
        if options.dry_run:
            return Stored(
                key,
                namespace_of(manifest),
                name_of(manifest),
                "",
                0,
                manifest["apiVersion"],
                msgspec.json.encode(manifest),
            )
        return tx.put(key, manifest, previous)

    def _remove(self, tx: Transaction, stored: Stored, options: WriteOptions) -> Stored:
        return stored if options.dry_run else tx.delete(stored)

    def make_default_namespaces(self) -> None:
        """Once, in a new store: those that clients, Kubeflow's tools and paddle-operator's documents expect."""
        served = self.served(NAMESPACES)

        def action(tx: Transaction) -> None:
            for name in DEFAULT_NAMESPACES:
                manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                self._create(tx, served, manifest, WriteOptions())
            tx.set("cluster_uid", str(uuid.uuid4()))

        if self.store.setting("cluster_uid") is None:
            self.store.write_now(action)


def _random_suffix() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX))


def _success(resource: Resource | None = None, stored: Stored | None = None) -> bytes:
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if resource is not None and stored is not None:
        status["details"] = {"name": stored.name, "group": resource.group, "kind": resource.plural, "uid": stored.uid}
    return msgspec.json.encode(status)
