"""What is there now, in memory: a mirror of one resource, kept by `Api.follow`, with indexes.

For loops that read often and must not ask often. A rule for readers: the cache may be behind, so an absence is to be
doubted (a live GET tells).

Objects are kept as JSON and read when they are asked for: a fleet's are ten times smaller so, and the garbage collector
has nothing to walk through. What is handed out belongs to the reader.

What this process has just written is known before the watch tells it: `assume` and `assume_deleting` put it in at once.
An assumption gives way to the next event of that object, and ends by itself after `patience` seconds, as the watch may
never have seen an object that lived very shortly.

Anybody may write objects. One that `trim` or an index fails on is left out, with a line in the log, and all others are
mirrored.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from paddock.kube.api import Api, Event
from paddock.kube.meta import Key, Manifest, Resource, is_deleting, key_of, uid_of, version_of

Index = Callable[[Manifest], Iterable[str]]
"""The values under which an object is found: its owner's UID, its namespace, its port."""

_GONE_REMEMBERED = 10_000


_log = logging.getLogger(__name__)

_read = msgspec.json.Decoder(Manifest).decode


class _Assumption(NamedTuple):
    timer: asyncio.TimerHandle
    before: Manifest | None


class Cache:
    """`on_change` hears of every object that came, changed or went, as it is or last was, also before `synced`.

    `trim` makes what is kept smaller (drop managedFields, data); it gets an object of its own and may change it.
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
        patience: float = 30.0,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self._api = api
        self._namespace = namespace
        self._labels = labels
        self._on_change = on_change
        self._trim = trim
        self._patience = patience
        self._objects: dict[Key, bytes] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[str, set[Key]]] = {name: {} for name in self._indexes}
        self._assumed: dict[Key, _Assumption] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    async def run(self) -> None:
        """Follow until cancelled. Raises what `Api.follow` raises: a kind that is not served, or is forbidden."""
        async for event in self._api.follow(self.resource, self._namespace, labels=self._labels):
            if event.type == "SYNCED":
                self.synced.set()
            else:
                self._take_or_leave_out(event)

    def get(self, key: Key) -> Manifest | None:
        found = self._objects.get(key)
        return None if found is None else _read(found)

    def keys(self) -> list[Key]:
        return list(self._objects)

    def find(self, index: str, value: str) -> list[Manifest]:
        """The objects that `index` puts under `value`, in the order of their keys."""
        return [_read(self._objects[key]) for key in sorted(self._found[index].get(value, ()))]

    def values(self, index: str) -> Iterator[str]:
        """Each value under which `index` puts any object."""
        return iter(self._found[index])

    def __len__(self) -> int:
        return len(self._objects)

    def assume(self, manifest: Manifest) -> None:
        """What a create of ours was answered with: there, until the watch says better."""
        key = key_of(manifest)
        known = self.get(key)
        if uid_of(manifest) in self._gone or (known is not None and uid_of(known) == uid_of(manifest)):
            return
        self._expect(key, known)
        self._put(key, self._trim(dict(manifest)))

    def assume_deleting(self, key: Key, uid: str, time: str) -> None:
        """A delete of ours was accepted at `time`: on its way out, until the watch says better."""
        known = self.get(key)
        if known is None or uid_of(known) != uid or is_deleting(known):
            return
        self._expect(key, known)
        self._put(key, {**known, "metadata": {**known["metadata"], "deletionTimestamp": time}})

    def _expect(self, key: Key, before: Manifest | None) -> None:
        self._confirm(key)
        handle = asyncio.get_running_loop().call_later(self._patience, self._doubt, key)
        self._assumed[key] = _Assumption(handle, before)

    def _confirm(self, key: Key) -> None:
        if assumption := self._assumed.pop(key, None):
            assumption.timer.cancel()

    def _doubt(self, key: Key) -> None:
        """Nothing was heard of it: as it was before, and whoever acts on it looks again."""
        assumption, assumed = self._assumed.pop(key), _read(self._objects[key])
        if assumption.before is None:
            self._drop(key)
        else:
            self._put(key, assumption.before)
        self._on_change(assumed)

    def _take_or_leave_out(self, event: Event) -> None:
        try:
            self._take(event)
        except Exception:
            metadata = event.object.get("metadata") or {}
            name = f"{metadata.get('namespace')}/{metadata.get('name')}"
            _log.exception("%s %s: %s was not understood; this is a bug", self.resource.plural, name, event.type)

    def _take(self, event: Event) -> None:
        """Whatever fails here, an object is either as it is now and found by every index, or not there at all."""
        key = key_of(event.object)
        self._confirm(key)
        before = self.get(key)
        self._drop(key)
        if event.type == "DELETED":
            self._remember_gone(uid_of(event.object))
            self._on_change(_as_it_last_was(before, event.object))
            return
        now = self._trim(event.object)
        moved = before is not None and any(set(index(before)) != set(index(now)) for index in self._indexes.values())
        self._put(key, now)
        if before is not None and moved:
            self._on_change(before)  # whom it belonged to hears of it too
        self._on_change(now)

    def _put(self, key: Key, manifest: Manifest) -> None:
        self._drop(key)
        values = {name: tuple(index(manifest)) for name, index in self._indexes.items()}
        self._objects[key] = msgspec.json.encode(manifest)
        for name, found in values.items():
            for value in found:
                self._found[name].setdefault(value, set()).add(key)

    def _drop(self, key: Key) -> None:
        if (found := self._objects.pop(key, None)) is None:
            return
        manifest = _read(found)
        for name, index in self._indexes.items():
            for value in index(manifest):
                keys = self._found[name][value]
                keys.discard(key)
                if not keys:
                    del self._found[name][value]

    def _remember_gone(self, uid: str) -> None:
        """A create's answer may come after the watch saw the object go: it must not come back from the dead."""
        self._gone[uid] = None
        if len(self._gone) > _GONE_REMEMBERED:
            self._gone.popitem(last=False)


def _as_it_last_was(before: Manifest | None, gone: Manifest) -> Manifest:
    """What a new list found gone comes with its identity alone; whose it was is known here. Its version is not: that
    would be the last one before the end."""
    if before is None or uid_of(before) != uid_of(gone):
        return gone
    return {**before, "metadata": {**before["metadata"], "resourceVersion": version_of(gone)}}
