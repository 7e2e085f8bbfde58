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

from paddock.client.requests import read_head, read_object
from paddock.kube.api import Event
from paddock.kube.errors import (
    ApiError,
    Expired,
    Forbidden,
    InternalError,
    NotFound,
    Timeout,
    Unauthorized,
    read_status,
)
from paddock.kube.meta import Key, Resource

LONGEST_DELAY = 5.0
"""Seconds between two watches, at most."""

_HOPELESS = (Forbidden, Unauthorized, NotFound)
_LIST_AGAIN = (Expired, NotFound, Timeout)


class Line(NamedTuple):
    """One change as the stream has it: the object is JSON still."""

    type: str
    object: bytes


class _Change(msgspec.Struct):
    type: str
    object: msgspec.Raw


_CHANGES = msgspec.json.Decoder(_Change)


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
        body = bytes(change.object)
        self.version = read_head(body).resource_version or self.version
        return None if change.type == "BOOKMARK" else Line(change.type, body)


class _Known(NamedTuple):
    uid: str
    version: str


class Ledger:
    """What one follower has been told is there: of each object no more than its identity and version, as on a fleet
    everything else would be most of the memory. A list is taken page by page, for the same reason.

    So of an object that a new list finds gone, DELETED carries the identity alone: kind, key and UID.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._known: dict[Key, _Known] = {}
        self._listed: set[Key] = set()

    def change(self, line: Line) -> Event | None:
        """The event to tell. Nothing for what is known already: watch and list may overlap."""
        head = read_head(line.object)
        key = Key(head.namespace, head.name)
        before = self._known.get(key)
        if line.type == "DELETED":
            self._known.pop(key, None)
            return self._event("DELETED", line.object) if before else None
        if before and before.uid == head.uid and before.version == head.resource_version:
            return None
        self._known[key] = _Known(head.uid, head.resource_version)
        return self._event("MODIFIED" if before and before.uid == head.uid else "ADDED", line.object)

    def begin_list(self) -> None:
        """A list begins, or begins anew."""
        self._listed.clear()

    def take_page(self, objects: Iterable[bytes]) -> Iterator[Event]:
        """The events for this part of the list: what is new, or changed since it was told."""
        for body in objects:
            head = read_head(body)
            key = Key(head.namespace, head.name)
            self._listed.add(key)
            known = self._known.get(key)
            if known is not None and known.uid != head.uid:
                yield self._gone(key, known)
                known = None
            if known is None or known.version != head.resource_version:
                self._known[key] = _Known(head.uid, head.resource_version)
                yield self._event("MODIFIED" if known else "ADDED", body)

    def end_list(self) -> Iterator[Event]:
        """The events for what was told and is not in the list."""
        for key in self._known.keys() - self._listed:
            yield self._gone(key, self._known.pop(key))
        self._listed.clear()

    def _event(self, kind: Any, body: bytes) -> Event:
        return Event(kind, read_object(self._resource, body))

    def _gone(self, key: Key, known: _Known) -> Event:
        identity = {"namespace": key.namespace, "name": key.name, "uid": known.uid}
        kind = {"apiVersion": self._resource.api_version, "kind": self._resource.kind}
        return Event("DELETED", {**kind, "metadata": identity})


def plan_start(error: ApiError | None, version: str, *, proven: bool) -> str | None:
    """The version to watch from after a watch, or the list before it, ended with `error`, or without one, and stood at
    `version`. Empty: list again, as the version is too old, or the kind has gone. None: nobody here can mend it, which
    counts until a watch has been `proven` to work; afterwards a right may be missing for a moment."""
    if not proven and isinstance(error, _HOPELESS):
        return None
    return "" if isinstance(error, _LIST_AGAIN) else version


def count_failures(before: int, seconds: float, *, moved: bool) -> int:
    """How many watches in a row were worth nothing, with this one that ended after `seconds`. One that `moved` on, or
    that lasted longer than any wait between two, begins the row anew. What a server sends is no sign of health by
    itself: an ERROR event is a line as well."""
    return 1 if moved or seconds > LONGEST_DELAY else before + 1


def plan_delay(failures: int) -> float:
    """Seconds to wait after so many failures in a row: 0.1, 0.2, 0.4 … `LONGEST_DELAY`."""
    return float(min(LONGEST_DELAY, 0.1 * 2 ** min(failures - 1, 10))) if failures else 0.0
