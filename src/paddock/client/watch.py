"""The logic of following a resource by list and watch: a cursor over the stream, a ledger of delivered objects, and the
progress from one watch to the next. PURE.

A watch is a stream of lines `{"type": …, "object": …}` that may break anywhere. `Cursor` parses the bytes and holds the
version to resume from. `Ledger` knows which objects a follower has got, so after a new list it yields the changes
since. `Progress` decides what follows the end of a watch: another watch, a list, or an error.
`client.client.Client.follow` connects, waits and lists.

Sources: kubernetes.io "Efficient detection of changes"; an ERROR event of code 410 means: list again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from paddock.client.requests import Buffer, read_identity, read_object
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
from paddock.kube.times import exponential_backoff

LONGEST_DELAY = 5.0
"""Seconds between two watches, at most."""

_PERMANENT = (Forbidden, Unauthorized, NotFound)
_RELIST = (Expired, NotFound, Timeout)


class Line(NamedTuple):
    """One change in the stream; the object is JSON."""

    type: str
    object: bytes


class _Change(msgspec.Struct):
    type: str
    object: msgspec.Raw


_CHANGES = msgspec.json.Decoder(_Change)


class Cursor:
    """The position of a watch. `version`: the resourceVersion to resume from."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yields the lines that `chunk` completes; keeps an incomplete line for the next chunk.

        Lazy, so `version` is never ahead of the yielded lines. Raises the error of an ERROR event: `Expired` if the
        version is too old to resume from.
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
        self.version = read_identity(body).resource_version or self.version
        return None if change.type == "BOOKMARK" else Line(change.type, body)


class _Known(NamedTuple):
    uid: str
    version: str


class Ledger:
    """The objects that one follower has got: only their identity and version, as on a fleet the rest would be most of
    the memory. For the same reason a list is taken page by page.

    The DELETED event of an object that is missing in a new list therefore has only kind, key and UID.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._known: dict[Key, _Known] = {}
        self._listed: set[Key] = set()

    def change(self, line: Line) -> Event | None:
        """The event of this line; None if the follower has it already, as watch and list may overlap."""
        identity = read_identity(line.object)
        key = Key(identity.namespace, identity.name)
        before = self._known.get(key)
        if line.type == "DELETED":
            self._known.pop(key, None)
            return self._event("DELETED", line.object) if before else None
        if before and before.uid == identity.uid and before.version == identity.resource_version:
            return None
        self._known[key] = _Known(identity.uid, identity.resource_version)
        return self._event("MODIFIED" if before and before.uid == identity.uid else "ADDED", line.object)

    def begin_list(self) -> None:
        """A list starts, or starts again."""
        self._listed.clear()

    def take_page(self, objects: Iterable[Buffer]) -> Iterator[Event]:
        """The events of this page: objects that are new or have changed."""
        for body in objects:
            identity = read_identity(body)
            key = Key(identity.namespace, identity.name)
            self._listed.add(key)
            known = self._known.get(key)
            if known is not None and known.uid != identity.uid:  # recreated under its name
                yield self._gone(key, known)
                known = None
            if known is None or known.version != identity.resource_version:
                self._known[key] = _Known(identity.uid, identity.resource_version)
                yield self._event("MODIFIED" if known else "ADDED", body)

    def end_list(self) -> Iterator[Event]:
        """The events of objects that are missing in the list."""
        for key in self._known.keys() - self._listed:
            yield self._gone(key, self._known.pop(key))
        self._listed.clear()

    def _event(self, kind: Any, body: Buffer) -> Event:
        return Event(kind, read_object(self._resource, body))

    def _gone(self, key: Key, known: _Known) -> Event:
        identity = {"namespace": key.namespace, "name": key.name, "uid": known.uid}
        kind = {"apiVersion": self._resource.api_version, "kind": self._resource.kind}
        return Event("DELETED", {**kind, "metadata": identity})


class Progress:
    """Decides how a follower continues after a watch. Times are seconds of one monotonic clock. `relist`: a watch that
    ends longer than this after the last list is followed by a list. `endures`: see `plan_start`.

    A round is a watch, with a list before it if `cursor` has no version: `begin`, `end_list`, `feed`, `end`.
    """

    def __init__(self, relist: float, *, endures: bool = True) -> None:
        self.cursor = Cursor("")
        self.synced = False  # a list has ended once
        self._relist, self._endures = relist, endures
        self._listed = 0.0
        self._begun, self._first_version = 0.0, ""
        self._proven = False  # a watch has worked once
        self._failures = 0

    def begin(self, now: float) -> None:
        self._begun, self._first_version = now, self.cursor.version

    def end_list(self, version: str, now: float) -> None:
        """The list has ended, with this resourceVersion; the watch starts from it now."""
        self.synced, self.cursor, self._listed = True, Cursor(version), now
        self.begin(now)

    def feed(self, chunk: bytes) -> Iterator[Line]:
        self._proven = True
        return self.cursor.feed(chunk)

    def end(self, error: ApiError | None, now: float) -> float:
        """Seconds to wait before the next round. Raises an error that a retry cannot fix."""
        self._proven = self._proven or error is None
        start = plan_start(error, self.cursor.version, proven=self._proven, endures=self._endures)
        if error is not None and start is None:
            raise error
        progressed = self.cursor.version != self._first_version
        self._failures = count_failures(self._failures, now - self._begun, progressed=progressed)
        # A new cursor: an incomplete line is void after the end.
        self.cursor = Cursor("" if now - self._listed > self._relist else start or "")
        return plan_delay(self._failures)


def plan_start(error: ApiError | None, version: str, *, proven: bool, endures: bool = True) -> str | None:
    """The version to resume from after a watch, or the list before it, ended at `version`, with `error` or without.
    Empty: list again, as the version is too old or the kind is not served. None: a retry cannot fix the error.
    `proven`: a watch has worked before. `endures`: False for who shows what is followed to a reader, who may not see it
    any more once the right is taken away."""
    if not endures and isinstance(error, Forbidden):
        return None
    # After that a missing right may be temporary: followers of a running process must survive it.
    if not proven and isinstance(error, _PERMANENT):
        return None
    return "" if isinstance(error, _RELIST) else version


def count_failures(before: int, seconds: float, *, progressed: bool) -> int:
    """How many watches in a row have failed, with this one, which ended after `seconds`. A watch that `progressed` to a
    newer version, or lasted longer than the longest delay, starts the count again."""
    # Received bytes alone do not count as progress: an ERROR event is a line too.
    return 1 if progressed or seconds > LONGEST_DELAY else before + 1


def plan_delay(failures: int) -> float:
    """Seconds to wait after this many failures in a row: 0.1, 0.2, 0.4 … `LONGEST_DELAY`."""
    return exponential_backoff(failures, 0.1, LONGEST_DELAY)
