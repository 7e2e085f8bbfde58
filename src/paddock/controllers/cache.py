"""A cache of one resource with indexes, for controllers that read often and should send few requests.

It is a reflector like `Informer`, but keeps objects as JSON and decodes them at each read: a tenth of the memory, and
no work for Python's garbage collector. A reader owns what it gets and may change it. The cache may be behind the API
server: confirm an absence by a live GET.

`assume` and `assume_deleting` put an own write into the cache before the watch delivers it. An assumption ends with the
next event of the object, or after `assumption_seconds`, as the watch may miss an object that lived very shortly.

Any client may write objects. An object on which `trim` or an index fails is left out and logged; all others are kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from paddock.controllers.reflector import Reflector
from paddock.kube.api import Api, Event
from paddock.kube.meta import Key, Manifest, Resource, is_deleting, key_of, uid_of, version_of

Index = Callable[[Manifest], Iterable[str]]
"""The values under which an object is indexed: its owner's UID, its namespace, its port."""

_DELETED_REMEMBERED = 10_000

_read = msgspec.json.Decoder(Manifest).decode


class _Assumption(NamedTuple):
    timer: asyncio.TimerHandle
    before: Manifest | None


class Cache(Reflector):
    """`on_change` gets every added, changed or deleted object, in its current or last state, also before `synced`.

    `trim` drops fields before an object is kept (managedFields, data); it may change its argument.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str = "",
        labels: str = "",
        on_change: Callable[[Manifest], None] = lambda _: None,
        *,
        indexes: Mapping[str, Index] | None = None,
        trim: Callable[[Manifest], Manifest] = lambda manifest: manifest,
        assumption_seconds: float = 30.0,
    ) -> None:
        super().__init__(api, resource, self._store, namespace, labels=labels)
        self._on_change = on_change
        self._trim = trim
        self._assumption_seconds = assumption_seconds
        self._objects: dict[Key, bytes] = {}
        self._indexes = dict(indexes or {})
        self._keys_by_value: dict[str, dict[str, set[Key]]] = {name: {} for name in self._indexes}
        self._assumed: dict[Key, _Assumption] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()

    def get(self, key: Key) -> Manifest | None:
        found = self._objects.get(key)
        return None if found is None else _read(found)

    def keys(self) -> list[Key]:
        return list(self._objects)

    def find(self, index: str, value: str) -> list[Manifest]:
        """The objects with this value in `index`, sorted by key."""
        return [_read(self._objects[key]) for key in sorted(self._keys_by_value[index].get(value, ()))]

    def values(self, index: str) -> Iterator[str]:
        """All values in `index`."""
        return iter(self._keys_by_value[index])

    def __len__(self) -> int:
        return len(self._objects)

    def assume(self, manifest: Manifest) -> None:
        """Take in the answer of an own create, until the next event of the object."""
        key = key_of(manifest)
        known = self.get(key)
        if uid_of(manifest) in self._deleted or (known is not None and uid_of(known) == uid_of(manifest)):
            return
        self._set_assumption(key, known)
        self._put(key, self._trim(dict(manifest)))

    def assume_deleting(self, key: Key, uid: str, time: str) -> None:
        """Mark an object whose own delete was accepted at `time`, until the next event of the object."""
        known = self.get(key)
        if known is None or uid_of(known) != uid or is_deleting(known):
            return
        self._set_assumption(key, known)
        self._put(key, {**known, "metadata": {**known["metadata"], "deletionTimestamp": time}})

    def _set_assumption(self, key: Key, before: Manifest | None) -> None:
        self._end_assumption(key)
        handle = asyncio.get_running_loop().call_later(self._assumption_seconds, self._expire_assumption, key)
        self._assumed[key] = _Assumption(handle, before)

    def _end_assumption(self, key: Key) -> None:
        if assumption := self._assumed.pop(key, None):
            assumption.timer.cancel()

    def _expire_assumption(self, key: Key) -> None:
        """No event has confirmed the assumption: restore the state before, and call `on_change`."""
        assumption, assumed = self._assumed.pop(key), _read(self._objects[key])
        if assumption.before is None:
            self._drop(key)
        else:
            self._put(key, assumption.before)
        self._on_change(assumed)

    def _store(self, event: Event) -> None:
        """If `trim` or an index fails, the object is in no index and not in the cache."""
        key = key_of(event.object)
        self._end_assumption(key)
        before = self.get(key)
        self._drop(key)
        if event.type == "DELETED":
            self._remember_deleted(uid_of(event.object))
            self._on_change(_last_known_state(before, event.object))
            return
        now = self._trim(event.object)
        moved = before is not None and any(set(index(before)) != set(index(now)) for index in self._indexes.values())
        self._put(key, now)
        if before is not None and moved:
            self._on_change(before)  # its former owner is affected too
        self._on_change(now)

    def _put(self, key: Key, manifest: Manifest) -> None:
        self._drop(key)
        values = {name: tuple(index(manifest)) for name, index in self._indexes.items()}
        self._objects[key] = msgspec.json.encode(manifest)
        for name, found in values.items():
            for value in found:
                self._keys_by_value[name].setdefault(value, set()).add(key)

    def _drop(self, key: Key) -> None:
        if (found := self._objects.pop(key, None)) is None:
            return
        manifest = _read(found)
        for name, index in self._indexes.items():
            for value in index(manifest):
                keys = self._keys_by_value[name][value]
                keys.discard(key)
                if not keys:
                    del self._keys_by_value[name][value]

    def _remember_deleted(self, uid: str) -> None:
        """The answer of a create may come after the DELETED event: `assume` must not add the object again."""
        self._deleted[uid] = None
        if len(self._deleted) > _DELETED_REMEMBERED:
            self._deleted.popitem(last=False)


def _last_known_state(before: Manifest | None, gone: Manifest) -> Manifest:
    """The cached state of a deleted object, with the version of the event: after a new list, the DELETED event has only
    the identity of the object, and readers need its owner."""
    if before is None or uid_of(before) != uid_of(gone):
        return gone
    return {**before, "metadata": {**before["metadata"], "resourceVersion": version_of(gone)}}
