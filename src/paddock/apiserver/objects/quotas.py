"""Keeps `status.used` of the ResourceQuotas, and refuses what would be more than is allowed.

Both happen in the transaction of the write: usage is exact, whatever else is written in the same turn, and a write
that is rolled back counts nothing. A write in a namespace without quotas costs one look into a set; one with them reads
its quotas and adds or subtracts what the object counts. All objects are counted when a quota is written by a client
and at the start, and never for a create. The rules are in `kube.quotas`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from paddock.apiserver.storage.records import Change, Stored, storage_key
from paddock.apiserver.storage.store import Store
from paddock.apiserver.storage.transaction import Transaction
from paddock.kube.errors import Forbidden
from paddock.kube.meta import CLAIMS, PODS, RESOURCE_QUOTAS, SERVICES, Manifest, Resource, name_of, namespace_of
from paddock.kube.quotas import Quota, Usage, build_status, explain_refused, move, read_quota

_QUOTAS = storage_key(RESOURCE_QUOTAS)
_MEASURED: Mapping[str, Resource] = {storage_key(each): each for each in (PODS, CLAIMS, SERVICES)}
"""Kinds of which an object counts more than one, or not always."""


class _Container(msgspec.Struct, omit_defaults=True):
    name: str = ""
    resources: msgspec.Raw = msgspec.Raw(b"{}")
    restartPolicy: str = ""  # noqa: N815 - the field's own name


class _Spec(msgspec.Struct, omit_defaults=True):
    containers: list[_Container] = []
    initContainers: list[_Container] = []  # noqa: N815
    overhead: msgspec.Raw | None = None
    affinity: msgspec.Raw | None = None
    activeDeadlineSeconds: int | None = None  # noqa: N815
    priorityClassName: str = ""  # noqa: N815


class _Status(msgspec.Struct, omit_defaults=True):
    phase: str = ""
    qosClass: str = ""  # noqa: N815


class _Pod(msgspec.Struct, omit_defaults=True):
    """What of a pod decides what it counts. Most pods of a namespace are alike in it, but for the names of their
    containers."""

    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_decode_pod = msgspec.json.Decoder(_Pod).decode


def _shape(body: bytes) -> bytes:
    """What of a stored pod decides what it counts, as JSON."""
    try:
        pod = _decode_pod(body)
    except msgspec.ValidationError:  # nulls where nothing is written, as older versions stored them
        return body
    for container in (*pod.spec.containers, *pod.spec.initContainers):
        container.name = ""
    # Of the phases the last two alone decide.
    pod.status.phase = pod.status.phase if pod.status.phase in ("Succeeded", "Failed") else ""
    return msgspec.json.encode(pod)


class Quotas:
    """Of one store, which is open."""

    def __init__(self, store: Store) -> None:
        self._homes = {stored.namespace for stored in store.select(_QUOTAS)}
        """The namespaces that may have quotas; one stays when its last quota is gone, which costs a look at nothing."""
        self._store = store
        store.accompany(self._follow)

    def check(self, tx: Transaction, resource: Resource, manifest: Manifest, previous: Stored | None) -> None:
        """Raises `Forbidden`, in Kubernetes' words, of an object that is more than the quotas allow."""
        namespace = namespace_of(manifest)
        if namespace not in self._homes or (previous is not None and resource not in (SERVICES, CLAIMS)):
            return
        quotas = [read_quota(stored.manifest()) for stored in tx.select(_QUOTAS, namespace)]
        before = previous.manifest() if previous is not None else None
        if why := explain_refused(resource, manifest, before, quotas):
            name = name_of(manifest)
            raise Forbidden(f'{resource.qualified} "{name}" is forbidden: {why}', kind=resource.plural, name=name)

    def recount(self) -> None:
        """Before requests are served: counts anew what a store has that was changed without this."""

        def action(tx: Transaction) -> None:
            for namespace in sorted(self._homes):
                for stored in list(tx.select(_QUOTAS, namespace)):
                    _settle(tx, stored, None)

        if self._homes:
            self._store.write_now(action)

    def _follow(self, tx: Transaction, changes: list[Change]) -> None:
        written = {(each.namespace, each.name) for each in changes if each.resource == _QUOTAS}
        self._homes |= {namespace for namespace, _ in written}
        by_namespace: dict[str, list[Change]] = {}
        for change in changes:
            if change.namespace in self._homes:
                by_namespace.setdefault(change.namespace, []).append(change)
        for namespace, here in by_namespace.items():
            counted = [change for change in here if _may_count(change)]
            for stored in list(tx.select(_QUOTAS, namespace)) if counted else ():
                _settle(tx, stored, None if (namespace, stored.name) in written else counted)


def _settle(tx: Transaction, stored: Stored, changes: list[Change] | None) -> None:
    """Writes the status of a quota after these changes; None: counted anew."""
    manifest = stored.manifest()
    quota = read_quota(manifest)
    used = _count(tx, stored.namespace, quota) if changes is None else _follow_changes(quota, changes)
    status = build_status(quota, used)
    if manifest.get("status") != status:
        tx.put(_QUOTAS, manifest | {"status": status}, stored)


def _follow_changes(quota: Quota, changes: list[Change]) -> Usage:
    used = quota.used
    for change in changes:
        resource = _resource_of(change.resource)
        if quota.tracks(resource):
            used = move(used, *(_measure(quota, resource, each) for each in _states(change)))
    return used


def _states(change: Change) -> tuple[Manifest | None, Manifest | None]:
    """The object before and after. What an update changes with its end was never counted."""
    return change.previous_object, (change.object if change.type != "DELETED" else None)


def _measure(quota: Quota, resource: Resource, manifest: Manifest | None) -> Usage:
    return quota.measure(resource, manifest) if manifest is not None else {}


def _may_count(change: Change) -> bool:
    """Whether it may change what is used: any object that comes or goes, and of those that stay a few."""
    if change.type != "MODIFIED" or change.resource == _QUOTAS:
        return True
    if change.resource != storage_key(PODS):
        return change.resource in _MEASURED
    return change.previous is None or _shape(change.body) != _shape(change.previous)


def _resource_of(key: str) -> Resource:
    group, _, plural = key.partition("/")
    return _MEASURED.get(key) or Resource(group, "", "", plural)


def _count(tx: Transaction, namespace: str, quota: Quota) -> Usage:
    """All that a namespace has of what the quota limits."""
    used: Usage = {}
    for key in _list_keys(quota):
        resource = _resource_of(key)
        if not quota.tracks(resource):
            continue
        if key not in _MEASURED:
            shapes = {b"{}": tx.count(key, namespace)}
        else:
            shorten = _shape if resource == PODS else bytes
            # 10,000 pods take 50 ms so, and 300 ms one by one (measured).
            shapes = Counter(shorten(stored.body) for stored in tx.select(key, namespace))
        for shape, count in shapes.items():
            one = quota.measure(resource, msgspec.json.decode(shape))
            used = move(used, {}, {name: amount * count for name, amount in one.items()})
    return used


def _list_keys(quota: Quota) -> Iterator[str]:
    """The kinds that a quota may count, as they are stored."""
    yield from _MEASURED
    split = (name.removeprefix("count/").partition(".") for name in quota.hard)
    keys = {f"{group}/{plural}" for plural, _, group in split}
    yield from keys - _MEASURED.keys()
