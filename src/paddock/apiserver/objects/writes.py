"""Writes: create, replace, patch, apply, scale, bind and delete, for HTTP and in-process clients alike.

Each write reads the stored object, lets `strategy`, `builtin_strategies`, `validation` and `kube.patches` decide, and
stores the result, all in one transaction, so nothing changes between decision and write. Errors are `ApiError`s.
Rule: this module decides nothing; those pure modules do.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from paddock.apiserver.admission import validation
from paddock.apiserver.kinds.custom import remember_checked
from paddock.apiserver.objects import builtin_strategies, strategy
from paddock.apiserver.objects.cel_runner import CelRunner
from paddock.apiserver.objects.field_owners import (
    Applied,
    Manager,
    Owners,
    Shape,
    apply,
    track_update,
    with_owners,
)
from paddock.apiserver.objects.immutable_fields import check_update
from paddock.apiserver.objects.policies import Policies
from paddock.apiserver.objects.quotas import Quotas
from paddock.apiserver.objects.reads import Catalog
from paddock.apiserver.objects.strategy import DeleteOptions, build_success
from paddock.apiserver.objects.worker import SMALL_BYTES, SMALL_STEPS
from paddock.apiserver.schema.field_errors import build_invalid
from paddock.apiserver.schema.resource import ServedResource
from paddock.apiserver.storage.hub import Selection
from paddock.apiserver.storage.records import Stored, in_version, is_going, storage_key, with_version
from paddock.apiserver.storage.store import Store
from paddock.apiserver.storage.transaction import Transaction
from paddock.kube.budget import Budget, Exhausted
from paddock.kube.calls import PatchKind
from paddock.kube.errors import (
    NAMESPACE_TERMINATING,
    AlreadyExists,
    BadRequest,
    FieldCause,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from paddock.kube.meta import CONFIG_MAPS, CRDS, NAMESPACES, SERVICE_ACCOUNTS, Manifest, Resource, name_of, namespace_of
from paddock.kube.patches import apply_patch
from paddock.kube.service_accounts import EVERYBODYS
from paddock.kube.times import format_time

DEFAULT_NAMESPACES = ("default", "kube-system", "kubeflow", "paddle-system")
ROOT_CERTIFICATE = "kube-root-ca.crt"
"""The ConfigMap by which programs check the API's certificate (Kubernetes' root CA publisher)."""
_CRDS, _NAMESPACES = storage_key(CRDS), storage_key(NAMESPACES)
_ACCOUNTS, _CONFIG_MAPS = storage_key(SERVICE_ACCOUNTS), storage_key(CONFIG_MAPS)
# Kubernetes' alphabet for names: without vowels and 0, 1, 3, so that no bad words are formed.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_NAME_ATTEMPTS = 8  # for generateName, as in kube-apiserver
_PREFIX_LIMIT = 63 - _SUFFIX_LENGTH
_UPDATE_ATTEMPTS = 5
_MOST_TOLD_BYTES = 8 * 1024 * 1024

Check = Callable[[Manifest, Manifest | None], None]
"""Is given the object and what it was before; raises `Forbidden`."""
_ChangeObject = Callable[[Manifest, Budget], Manifest]


@dataclass(frozen=True, slots=True)
class WriteOptions:
    validation: Literal["Strict", "Warn", "Ignore"] = "Ignore"
    dry_run: bool = False
    manager: str = "paddock"
    """Who writes, for the ownership of fields: the field manager."""
    force: bool = False
    """Of an apply: takes fields that others own."""
    check: Check | None = None
    """Whether its writer may write this object, of a kind that grants rights (`access.Access.check_grant`)."""
    check_creation: Callable[[], None] | None = None
    """Of an apply: raises `Forbidden` where its writer may not create what is not there when it is written."""


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
        self.rules = CelRunner()
        self.policies = Policies(store)
        self.quotas = Quotas(store)
        self.root_certificate = ""
        self.own_definitions: frozenset[str] = frozenset()
        """The CRDs that this cluster brings itself. Who creates one as it is served gets it, where another is told that
        it exists: the order of a tutorial (first the definitions, then a job) holds on a laptop too."""

    async def create(
        self, served: ServedResource, manifest: Any, *, namespace: str = "", options: WriteOptions = _DEFAULT_OPTIONS,
        size: int = 0, owners: Owners | None = None,
    ) -> Answer:  # fmt: skip
        """`size`, here and below: bytes of JSON of what was sent, as far as they are known. `owners`: of its fields."""
        incoming = strategy.check_identity(served, manifest, namespace)
        meta = incoming["metadata"]
        if meta.get("resourceVersion"):
            raise BadRequest("resourceVersion should not be set on objects to be created")
        prefix = "" if meta.get("name") else str(meta.get("generateName") or "")[:_PREFIX_LIMIT]
        for attempt in range(_NAME_ATTEMPTS if prefix else 1):
            if prefix:
                incoming = {**incoming, "metadata": meta | {"name": prefix + _random_suffix()}}
            admission = self.policies.find_admission(served.resource, namespace_of(incoming))
            work = partial(self._validate, served, incoming, options, "", admission=admission)
            read, warnings = await self.worker.compute(work, size)
            warnings += self.policies.warn(served.resource, read)
            warnings += await self._ask_rules(served, strategy.without_status(served, read), None)
            try:
                stored = await self.store.write(lambda tx, read=read: self._create(tx, served, read, options, owners))  # type: ignore[misc]
            except AlreadyExists:
                if (own := self._find_own_definition(served, read)) is not None:
                    return Answer(own.body, (*warnings, _explain_own(own.name)), created=True)
                if attempt == _NAME_ATTEMPTS - 1 or not prefix:
                    raise
                continue
            return Answer(in_version(stored.body, stored.version, served.resource.api_version), warnings, created=True)
        raise AssertionError("unreachable")

    async def _ask_rules(self, served: ServedResource, new: Manifest, old: Manifest | None) -> tuple[str, ...]:
        """The warnings of the CEL rules of this object, or of those that a definition has. Raises `Invalid`."""
        if storage_key(served.resource) == _CRDS:
            judgement = await self.rules.check_definition(new)
        else:
            judgement = await self.rules.check(served, new, old)
        if judgement.causes:
            raise build_invalid(served, name_of(new), judgement.causes)
        return judgement.warnings

    def _find_own_definition(self, served: ServedResource, read: Manifest) -> Stored | None:
        """The stored CRD, where it is the cluster's own and as it would be created now."""
        name = name_of(read)
        if storage_key(served.resource) != _CRDS or name not in self.own_definitions:
            return None
        stored = self.store.get(_CRDS, "", name)
        if stored is None or is_going(stored.body):
            return None
        return stored if builtin_strategies.establish(read, self.clock())["spec"] == stored.manifest()["spec"] else None

    def _validate(
        self, served: ServedResource, incoming: Manifest, options: WriteOptions, subresource: str, budget: Budget,
        *, admission: validation.Admission | None = None,
    ) -> tuple[Manifest, tuple[str, ...]]:  # fmt: skip
        read, warnings = validation.read_object(
            served, incoming, strict=options.validation == "Strict", subresource=subresource, budget=budget,
            admission=admission,
        )  # fmt: skip
        if storage_key(served.resource) == _CRDS and subresource != "status":
            remember_checked(read)
        return read, warnings if options.validation == "Warn" else ()

    def _create(
        self,
        tx: Transaction,
        served: ServedResource,
        read: Manifest,
        options: WriteOptions,
        owners: Owners | None = None,
    ) -> Stored:
        name, now = name_of(read), self.clock()
        if owners is not None and options.check_creation is not None:
            options.check_creation()
        self._check_creatable(tx, served, namespace_of(read), name)
        key = storage_key(served.resource)
        if tx.get(key, namespace_of(read), name) is not None:
            raise AlreadyExists(
                f'{served.resource.qualified} "{name}" already exists',
                kind=served.resource.plural,
                name=name,
                group=served.resource.group,
            )
        created = strategy.build_new(served, read, uid=str(uuid.uuid4()), name=name, now=now)
        if owners is not None:
            created = with_owners(created, owners)
        stored = self._put(tx, served, builtin_strategies.prepare_for_create(served, created, now), None, options)
        if key == _NAMESPACES and not options.dry_run:
            # With the namespace, where Kubernetes' controllers make them a moment later: clients wait for them.
            self._furnish(tx, name)
        return stored

    def _furnish(self, tx: Transaction, namespace: str) -> None:
        """Makes what each namespace has, where it is missing or was changed: the account of all pods that name none,
        and the certificate of the API."""
        account: Manifest = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": EVERYBODYS}}
        if tx.get(_ACCOUNTS, namespace, EVERYBODYS) is None:
            self._make(tx, SERVICE_ACCOUNTS, namespace, account)
        found = tx.get(_CONFIG_MAPS, namespace, ROOT_CERTIFICATE)
        data = {"ca.crt": self.root_certificate}
        if found is None and self.root_certificate:
            meta = {"name": ROOT_CERTIFICATE}
            self._make(
                tx, CONFIG_MAPS, namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
            )
        elif found is not None and self.root_certificate and found.manifest().get("data") != data:
            tx.put(_CONFIG_MAPS, found.manifest() | {"data": data}, found)

    def _make(self, tx: Transaction, resource: Resource, namespace: str, manifest: Manifest) -> None:
        manifest = manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}
        name, uid = name_of(manifest), str(uuid.uuid4())
        made = strategy.build_new(self.served(resource), manifest, uid=uid, name=name, now=self.clock())
        tx.put(storage_key(resource), made, None)

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
                    group=resource.group,
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
        strategy.check_replacement(served, manifest, name)
        return await self._update(served, namespace, name, lambda _, __: incoming, subresource, options, size)

    async def patch(
        self, served: ServedResource, patch: Any, kind: PatchKind, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        # Kubernetes answers so too: a custom kind has no merge keys for a strategic patch.
        if kind == "strategic" and served.custom:
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types include:"
                " application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            )

        def change(current: Manifest, budget: Budget) -> Manifest:
            return strategy.check_identity(served, apply_patch(current, patch, kind, budget), namespace, name)

        return await self._update(served, namespace, name, change, subresource, options, size)

    async def apply(
        self, served: ServedResource, manifest: Any, *, namespace: str, name: str, subresource: str = "",
        options: WriteOptions = _DEFAULT_OPTIONS, size: int = 0,
    ) -> Answer:  # fmt: skip
        """Server-side apply: creates the object, or merges what is wanted into it (`field_owners.apply`). Raises
        `Conflict` for fields of others, unless `options.force`."""
        strategy.check_apply(served, manifest)
        incoming = strategy.check_identity(served, manifest, namespace, name)
        manager, shape = Manager(options.manager, "Apply", subresource), _shape_of(served)

        def change(current: Manifest, budget: Budget) -> Manifest:
            now = format_time(self.clock())
            applied = apply(current, incoming, manager, shape, force=options.force, now=now, budget=budget)
            return with_owners(applied.manifest, applied.owners)

        key = storage_key(served.resource)
        if not subresource and self.store.get(key, incoming["metadata"].get("namespace", ""), name) is None:
            if uid := incoming["metadata"].get("uid"):
                raise strategy.uid_mismatch(served.resource, name, uid)
            now = format_time(self.clock())
            make = partial(_apply_new, incoming, manager, shape, now)
            made = await self.worker.compute(make, size)
            with suppress(AlreadyExists):  # created by somebody else meanwhile: an update then
                return await self.create(
                    served, made.manifest, namespace=namespace, options=options, size=size, owners=made.owners
                )
        return await self._update(served, namespace, name, change, subresource, options, size, applies=True)

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
        options: WriteOptions, size: int, *, applies: bool = False,
    ) -> Answer:  # fmt: skip
        decide = partial(self._decide, served, change, subresource, options, applies)

        def at_once(tx: Transaction) -> tuple[Stored, tuple[str, ...]]:
            stored = self._need(served, namespace, name)
            if size + len(stored.body) > SMALL_BYTES:
                raise Exhausted
            updated = decide(stored, Budget(SMALL_STEPS))
            return self._settle(tx, served, stored, updated, options), updated.warnings

        try:
            # Rules are asked in another process, and no transaction waits for it.
            if served.rules or (storage_key(served.resource) == _CRDS and not subresource):
                raise Exhausted
            stored, warnings = await self.store.write(at_once)
        except Exhausted:
            stored, warnings = await self._update_beside(served, namespace, name, decide, options)
        return Answer(in_version(stored.body, stored.version, served.resource.api_version), warnings)

    async def _update_beside(
        self, served: ServedResource, namespace: str, name: str, decide: Callable[[Stored, Budget], _Updated],
        options: WriteOptions,
    ) -> tuple[Stored, tuple[str, ...]]:  # fmt: skip
        """An update that takes long, or has rules: decided beside the loop, again if it changed meanwhile."""

        def settle(tx: Transaction, before: Stored, updated: _Updated) -> Stored | None:
            live = self._need(served, namespace, name)
            if (live.uid, live.rv) != (before.uid, before.rv):
                return None
            return self._settle(tx, served, live, updated, options)

        for _ in range(_UPDATE_ATTEMPTS):
            before = self._need(served, namespace, name)
            updated = await self.worker.compute_beside(partial(decide, before))
            told: tuple[str, ...] = ()
            if updated.manifest is not None:
                current = before.manifest() | {"apiVersion": served.resource.api_version}
                told = await self._ask_rules(served, updated.manifest, current)
            stored = await self.store.write(partial(settle, before=before, updated=updated))
            if stored is not None:
                return stored, (*updated.warnings, *told)
        raise strategy.version_conflict(served.resource, name)

    def _decide(
        self, served: ServedResource, change: _ChangeObject, subresource: str, options: WriteOptions, applies: bool,
        stored: Stored, budget: Budget,
    ) -> _Updated:  # fmt: skip
        """What becomes of a stored object. Reads nothing but its arguments, as it may run beside the loop."""
        current = with_version(stored.manifest(), served.resource.api_version)
        incoming = change(current, budget)
        # Of an apply alone: what other clients say of it was taken out.
        entries = incoming["metadata"].get("managedFields") if applies else None
        strategy.check_preconditions(served.resource, current, incoming)
        read, warnings = self._validate(served, incoming, options, subresource, budget)
        builtin_strategies.keep_admitted(served, current, read)
        updated = strategy.build_updated(served, current, read, subresource)
        if entries is not None:
            updated = updated | {"metadata": updated["metadata"] | {"managedFields": entries}}
        elif "managedFields" in current["metadata"]:
            writer = Manager(options.manager, "Update", subresource)
            shape, now = _shape_of(served), format_time(self.clock())
            updated = track_update(current, updated, writer, shape, now=now, budget=budget)
        if not subresource:
            check_update(served, current, updated)
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
            return self._remove(tx, stored, options, updated.manifest)
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
        return Answer(build_success(code=201), created=True)

    async def delete(
        self, served: ServedResource, *, namespace: str, name: str, delete: DeleteOptions = _DEFAULT_DELETE,
        options: WriteOptions = _DEFAULT_OPTIONS,
    ) -> Answer:  # fmt: skip
        """Returns a success Status, or the object while its deletion waits (for a pod's grace period or finalizers)."""
        builtin_strategies.check_deletable(served, name)

        def action(tx: Transaction) -> tuple[Stored, bool]:
            return self._delete(tx, served, self._need(served, namespace, name), delete, options)

        stored, gone = await self.store.write(action, frees=True)
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
            gone = await self.store.write(partial(action, found=found), frees=True)
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

        await self.store.write(action, frees=True)

    def _put(
        self, tx: Transaction, served: ServedResource, manifest: Manifest, previous: Stored | None,
        options: WriteOptions,
    ) -> Stored:  # fmt: skip
        key = storage_key(served.resource)
        if options.check is not None:
            options.check(manifest, previous.manifest() if previous is not None else None)
        self.policies.check(served.resource, manifest, previous)
        self.quotas.check(tx, served.resource, manifest, previous)
        home = self._storage.get(key, served)
        manifest = with_version(manifest, home.resource.api_version)
        if options.dry_run:
            body = msgspec.json.encode(manifest)
            return Stored(key, namespace_of(manifest), name_of(manifest), "", 0, manifest["apiVersion"], body)
        return tx.put(key, manifest, previous)

    def _remove(self, tx: Transaction, stored: Stored, options: WriteOptions, last: Manifest | None = None) -> Stored:
        """`last`: as of `Transaction.delete`."""
        if last is not None:
            last = with_version(last, stored.version)
        if options.dry_run:
            return stored if last is None else stored._replace(body=msgspec.json.encode(last))
        deleted = tx.delete(stored, last)
        if (stored.resource, stored.name) in ((_ACCOUNTS, EVERYBODYS), (_CONFIG_MAPS, ROOT_CERTIFICATE)):
            home = tx.get(_NAMESPACES, "", stored.namespace)
            if home is not None and not is_going(home.body):
                self._furnish(tx, stored.namespace)
        return deleted

    def make_missing(self, wanted: Sequence[tuple[str, Manifest]]) -> None:
        """Creates those of these objects, by storage key, that are not there, before requests are served."""

        def action(tx: Transaction) -> None:
            for key, manifest in missing:
                self._create(tx, self._storage[key], manifest, WriteOptions())

        missing = [
            (key, manifest)
            for key, manifest in wanted
            if self.store.get(key, namespace_of(manifest), name_of(manifest)) is None
        ]
        if missing:
            self.store.write_now(action)

    def furnish_namespaces(self, root_certificate: str = "") -> None:
        """Before requests are served. A store may be from before they had all of it. `root_certificate`: of the
        authority of the API's certificate, in PEM."""
        self.root_certificate = root_certificate or self.root_certificate
        names = [stored.name for stored in self.store.select(_NAMESPACES) if not is_going(stored.body)]

        def action(tx: Transaction) -> None:
            for name in names:
                self._furnish(tx, name)

        self.store.write_now(action)

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


def _apply_new(wanted: Manifest, manager: Manager, shape: Shape, now: str, budget: Budget) -> Applied:
    return apply({}, wanted, manager, shape, force=False, now=now, budget=budget)


def _shape_of(served: ServedResource) -> Shape:
    return Shape(
        served.custom, (served.schema or {}) if served.custom else {}, has_status="status" in served.subresources
    )


def _explain_own(name: str) -> str:
    return f"{name} is there already, as this cluster brings it itself: nothing was changed"


def _is_protected(served: ServedResource, name: str) -> bool:
    return served.qualified_kind == "Namespace" and name in builtin_strategies.PROTECTED_NAMESPACES


def _random_suffix() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
