"""The objects of one resource, as parsed by a reader, kept up to date by events. PURE."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from paddock.kube.api import Event
from paddock.kube.meta import Key, Manifest, key_of, uid_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object before and after an event; None if it is not in the mirror. `problem`: why it could not be read."""

    key: Key
    before: T | None
    now: T | None
    problem: Exception | None = None

    @property
    def matters(self) -> bool:
        """Whether the parsed value differs. Fields that `read` ignores, or that are not compared, do not count."""
        return self.before != self.now


class Mirror(Generic[T]):
    """`read` parses a manifest. An object on which it raises is left out; all others are kept."""

    def __init__(self, read: Callable[[Manifest], T]) -> None:
        self._read = read
        self._objects: dict[Key, T] = {}
        self._uids: dict[Key, str] = {}
        self._namespaces: dict[str, dict[str, T]] = defaultdict(dict)

    @property
    def objects(self) -> Mapping[Key, T]:
        return self._objects

    def inside(self, namespace: str) -> Mapping[str, T]:
        """The objects of one namespace by name."""
        return self._namespaces.get(namespace, {})

    def take(self, event: Event) -> Change[T]:
        """Take in ADDED, MODIFIED or DELETED."""
        key, uid = key_of(event.object), uid_of(event.object)
        before = self._objects.get(key)
        if event.type == "DELETED":
            # By UID: another object may have this name by now; it stays.
            if self._uids.get(key) == uid:
                self._drop(key)
            return Change(key, before, self._objects.get(key))
        try:
            now = self._read(event.object)
        except Exception as error:  # any client may write objects: an unreadable one must not stop the others
            self._drop(key)
            return Change(key, before, None, error)
        self._uids[key] = uid
        self.assume(key, now)
        return Change(key, before, now)

    def assume(self, key: Key, value: T) -> None:
        """Keep an own write until the next event of the object, which must be in the mirror."""
        self._objects[key] = self._namespaces[key.namespace][key.name] = value

    def clear(self) -> list[Change[T]]:
        """Remove all objects: their kind is not served any more."""
        changes = [Change(key, before, None) for key, before in self._objects.items()]
        for change in changes:
            self._drop(change.key)
        return changes

    def _drop(self, key: Key) -> None:
        if self._uids.pop(key, None) is not None:
            del self._objects[key]
            inside = self._namespaces[key.namespace]
            del inside[key.name]
            if not inside:
                del self._namespaces[key.namespace]
