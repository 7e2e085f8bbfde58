"""What a watch says, and what there was before it: a cursor over the stream and a ledger of what was handed out. PURE.

A watch is a stream of lines `{"type": …, "object": …}` that may be cut anywhere. `Cursor` takes the bytes as they come
and remembers the version to go on from. `Ledger` remembers what a follower has been told, so that after a new list it
can be told what vanished and what changed meanwhile. Who connects, waits and lists again is `client.Client.follow`.

Sources: kubernetes.io "Efficient detection of changes"; an ERROR event of code 410 means: list again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from paddock.client.requests import read_object
from paddock.kube.api import Event
from paddock.kube.errors import InternalError, read_status
from paddock.kube.meta import Key, Resource


class Line(NamedTuple):
    """One change as the stream has it: the object is JSON still."""

    type: str
    object: bytes


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identity(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Change(msgspec.Struct):
    type: str
    object: msgspec.Raw


_CHANGES = msgspec.json.Decoder(_Change)
_IDENTITIES = msgspec.json.Decoder(_Identity)


class Cursor:
    """Where a watch stands. `version` is what to watch from next."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The whole lines that `chunk` completes; half a line waits for its other half.

        Lazily, so that `version` never runs ahead of what was handed out. Raises what an ERROR event stands for:
        `Expired` when the version is too old to go on from.
        """
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            if line.strip() and (change := self._read(line)):
                yield change

    def _read(self, line: bytes) -> Line | None:
        try:
            change = _CHANGES.decode(line)
        except msgspec.DecodeError as error:
            raise InternalError(f"the watch sent a line that is no event: {error}: {line[:80]!r}") from None
        if change.type == "ERROR":
            status = msgspec.json.decode(change.object, type=dict[str, Any])
            raise read_status(int(status.get("code") or 500), status)
        self.version = _IDENTITIES.decode(change.object).metadata.resource_version or self.version
        return None if change.type == "BOOKMARK" else Line(change.type, bytes(change.object))


class _Known(NamedTuple):
    uid: str
    version: str
    object: bytes


class Ledger:
    """What one follower has been told is there. Objects are kept as JSON: small, and nobody else's."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._known: dict[Key, _Known] = {}

    def change(self, line: Line) -> Event | None:
        """The event to tell. Nothing for what is known already: watch and list may overlap."""
        key, now = _identify(line.object)
        before = self._known.get(key)
        if line.type == "DELETED":
            self._known.pop(key, None)
            return self._event("DELETED", line.object) if before else None
        if before and before.uid == now.uid and before.version == now.version:
            return None
        self._known[key] = now
        return self._event("MODIFIED" if before and before.uid == now.uid else "ADDED", line.object)

    def replace(self, objects: Iterable[bytes]) -> Iterator[Event]:
        """The events that lead from what was told to this whole list."""
        listed = dict(map(_identify, objects))
        for key, before in list(self._known.items()):
            if key not in listed or listed[key].uid != before.uid:
                del self._known[key]
                yield self._event("DELETED", before.object)
        for key, now in listed.items():
            known = self._known.get(key)
            if known is None or known.version != now.version:
                self._known[key] = now
                yield self._event("MODIFIED" if known else "ADDED", now.object)

    def _event(self, kind: Any, body: bytes) -> Event:
        return Event(kind, read_object(self._resource, body))


def _identify(body: bytes) -> tuple[Key, _Known]:
    meta = _IDENTITIES.decode(body).metadata
    return Key(meta.namespace, meta.name), _Known(meta.uid, meta.resource_version, body)


def plan_delay(failures: int) -> float:
    """Seconds to wait after so many failures in a row: 0.1, 0.2, 0.4 … 5."""
    return float(min(5.0, 0.1 * 2 ** min(failures - 1, 10))) if failures else 0.0
