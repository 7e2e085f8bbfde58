"""A cache of one resource with indexes, for controllers that read often and should send few requests.

It is a reflector like `Informer`, but keeps objects as JSON and decodes them at each read: a tenth of the memory, and
no work for Python's garbage collector. A reader owns what it gets and may change it. The cache may be behind the API
server: confirm an absence by a live GET.

`assume` and `assume_deleting` put an own write into the cache before the watch delivers it. An assumption ends with the
next event of the object that is not older, or after `assumption_seconds`, as the watch may miss an object that lived
very shortly. While the watch has told nothing as new as the own write, it is late: then the assumption stays for up to
`LATE_SECONDS`. The event of an own write is nothing new: it goes to `on_confirmed` alone.

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
from paddock.kube.meta import Key, Manifest, Resource, is_deleting, is_newer, key_of, uid_of, version_of

Index = Callable[[Manifest], Iterable[str]]
"""The values under which an object is indexed: its owner's UID, its namespace, its port."""

LATE_SECONDS = 120.0
"""Longer than a server under load was seen to be late. What the watch never tells, as it was gone before a new list, is
believed for so long at most."""

_DELETED_REMEMBERED = 10_000

decode_object = msgspec.json.Decoder(Manifest).decode


class _Assumption(NamedTuple):
    """An object as it was read or written by ourselves, until the watch tells."""

    timer: asyncio.TimerHandle
    since: float  # by the event loop's clock
    before: Manifest | None
    told: bool  # the watch delivers this very version


class _Entry(NamedTuple):
    """An object as JSON; `values`: by index, what it is found by."""

    body: bytes
    uid: str
    version: str
    values: dict[str, tuple[str, ...]]


class Cache(Reflector):
    """`on_change` gets every added, changed or deleted object, in its current or last state, also before `synced`;
    `on_confirmed` the own writes that the watch delivers as they were assumed.

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
        late_seconds: float = LATE_SECONDS,
        on_listed: Callable[[], None] = lambda: None,
        on_confirmed: Callable[[Manifest], None] = lambda _: None,
    ) -> None:
        super().__init__(api, resource, self._store, namespace, labels=labels, on_listed=on_listed)
        self._newest = ""
        self._on_change = on_change
        self._on_confirmed = on_confirmed
        self._trim = trim
        self._assumption_seconds, self._late_seconds = assumption_seconds, late_seconds
        self._objects: dict[Key, _Entry] = {}
        self._indexes = dict(indexes or {})
        self._keys_by_value: dict[str, dict[str, set[Key]]] = {name: {} for name in self._indexes}
        self._assumed: dict[Key, _Assumption] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()

    def get(self, key: Key) -> Manifest | None:
        found = self._objects.get(key)
        return None if found is None else decode_object(found.body)

    def version(self, key: Key) -> str:
        """Its resourceVersion; empty if there is none. Costs no decoding."""
        found = self._objects.get(key)
        return "" if found is None else found.version

    def keys(self) -> list[Key]:
        return list(self._objects)

    def find(self, index: str, value: str) -> list[Manifest]:
        """The objects with this value in `index`, sorted by key."""
        return [decode_object(body) for body in self.find_undecoded(index, value)]

    def find_undecoded(self, index: str, value: str) -> list[bytes]:
        """The same objects, as JSON."""
        return [self._objects[key].body for key in sorted(self._keys_by_value[index].get(value, ()))]

    def has(self, index: str, value: str) -> bool:
        """Whether an object has this value in `index`."""
        return value in self._keys_by_value[index]

    def values(self, index: str) -> Iterator[str]:
        """All values in `index`."""
        return iter(self._keys_by_value[index])

    def __len__(self) -> int:
        return len(self._objects)

    def assume(self, manifest: Manifest) -> bool:
        """Take in the answer of an own create, write or live read, until the next event of the object. What the watch
        has delivered meanwhile stays, unless this is known to be newer. Whether the cache has this state or a later
        one then; where versions are no numbers, nobody knows."""
        key, uid, version = key_of(manifest), uid_of(manifest), version_of(manifest)
        known = self._objects.get(key)
        same = known is not None and known.uid == uid
        if uid in self._deleted:
            return True
        if known is not None and same and not is_newer(version, known.version):
            return version == known.version or is_newer(known.version, version)
        # Of an object that changes, the state before is no better guess than the own write.
        self._set_assumption(key, None if known is None else decode_object(known.body), told=True)
        self._put(key, self._trim(dict(manifest)))
        return True

    def assume_deleting(self, key: Key, uid: str, time: str) -> None:
        """Mark an object whose own delete was accepted at `time`, until the next event of the object."""
        known = self.get(key)
        if known is None or uid_of(known) != uid or is_deleting(known):
            return
        self._set_assumption(key, known, told=False)
        self._put(key, {**known, "metadata": {**known["metadata"], "deletionTimestamp": time}})

    def clear(self) -> None:
        """Forget all objects: their kind is not served any more. A watch that ended with the kind may not have told
        that they are gone."""
        for key in self.keys():
            self._end_assumption(key)
            gone = decode_object(self._objects[key].body)
            self._drop(key)
            self._on_change(gone)

    def _set_assumption(self, key: Key, before: Manifest | None, *, told: bool) -> None:
        self._end_assumption(key)
        self._assumed[key] = _Assumption(self._expect(key), asyncio.get_running_loop().time(), before, told)

    def _expect(self, key: Key) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._assumption_seconds, self._expire_assumption, key)

    def _is_late(self, assumption: _Assumption, version: str) -> bool:
        """Whether the watch has not come to this version yet, and may still."""
        lasted = asyncio.get_running_loop().time() - assumption.since
        return assumption.told and is_newer(version, self._newest) and lasted < self._late_seconds

    def _end_assumption(self, key: Key) -> None:
        if assumption := self._assumed.pop(key, None):
            assumption.timer.cancel()

    def _expire_assumption(self, key: Key) -> None:
        """No event has confirmed the assumption: restore the state before, and call `on_change`. A newer state of the
        same object stays: the watch is late."""
        assumption, entry = self._assumed[key], self._objects[key]
        if self._is_late(assumption, entry.version):
            self._assumed[key] = assumption._replace(timer=self._expect(key))
            return
        del self._assumed[key]
        assumed = decode_object(entry.body)
        if assumption.before is None:
            self._drop(key)
        elif not assumption.told or uid_of(assumption.before) != uid_of(assumed):
            self._put(key, assumption.before)
        self._on_change(assumed)

    def _store(self, event: Event) -> None:
        """If `trim` or an index fails, the object is in no index and not in the cache."""
        key, version = key_of(event.object), version_of(event.object)
        known, assumption = self._objects.get(key), self._assumed.get(key)
        if not self._newest or is_newer(version, self._newest):
            self._newest = version
        if event.type == "DELETED":
            self._remember_deleted(uid_of(event.object))
            # An own create may have taken the name of an object whose end the watch tells only now.
            if known is None or assumption is None or known.uid == uid_of(event.object):
                self._end_assumption(key)
                self._drop(key)
            self._on_change(_last_known_state(known, event.object))
            return
        if known is not None and assumption is not None and assumption.told and known.uid == uid_of(event.object):
            if is_newer(known.version, version):
                return  # it is from before the own write
            if version and version == known.version:
                self._end_assumption(key)
                self._on_confirmed(event.object)
                return
        self._end_assumption(key)
        self._drop(key)
        now = self._trim(event.object)
        self._put(key, now)
        if known is not None and any(
            set(values) != set(self._objects[key].values[name]) for name, values in known.values.items()
        ):
            self._on_change(decode_object(known.body))  # its former owner is affected too
        self._on_change(now)

    def _put(self, key: Key, manifest: Manifest) -> None:
        self._drop(key)
        values = {name: tuple(index(manifest)) for name, index in self._indexes.items()}
        body = msgspec.json.encode(manifest)
        self._objects[key] = _Entry(body, uid_of(manifest), version_of(manifest), values)
        for name, found in values.items():
            for value in found:
                self._keys_by_value[name].setdefault(value, set()).add(key)

    def _drop(self, key: Key) -> None:
        if (entry := self._objects.pop(key, None)) is None:
            return
        for name, found in entry.values.items():
            for value in found:
                keys = self._keys_by_value[name][value]
                keys.discard(key)
                if not keys:
                    del self._keys_by_value[name][value]

    def _remember_deleted(self, uid: str) -> None:
        """The answer of a create may come after the DELETED event: `assume` must not add the object again."""
        self._deleted[uid] = None
        if len(self._deleted) > _DELETED_REMEMBERED:
            self._deleted.popitem(last=False)


def _last_known_state(known: _Entry | None, gone: Manifest) -> Manifest:
    """The cached state of a deleted object, with the version of the event: after a new list, the DELETED event has only
    the identity of the object, and readers need its owner."""
    if known is None or known.uid != uid_of(gone):
        return gone
    before = decode_object(known.body)
    return {**before, "metadata": {**before["metadata"], "resourceVersion": version_of(gone)}}
