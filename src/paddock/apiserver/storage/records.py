"""The values of the store: a stored object, and one change of an object. Pure.

Both hold JSON bytes. A change is decoded at most once for all watchers. A consumer that keeps an object gets a decoded
copy of its own, so that no two consumers share one.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import NamedTuple

import msgspec

from paddock.apiserver.storage.event_forms import NEW_EVENTS, convert, is_event
from paddock.kube.meta import EVENTS, Manifest, Resource

_decode = msgspec.json.Decoder(Manifest).decode


class _Metadata(msgspec.Struct):
    deletionTimestamp: str = ""  # noqa: N815 - the field's own name


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_read_metadata = msgspec.json.Decoder(_Object).decode


def is_going(body: bytes) -> bool:
    """Whether the object is being deleted. A cheap search of the bytes first: a schema or data may match it too."""
    return b'"deletionTimestamp"' in body and bool(_read_metadata(body).metadata.deletionTimestamp)


def storage_key(resource: Resource) -> str:
    """The key that all versions of a resource are stored under: `batch.paddlepaddle.org/paddlejobs`. Events of both
    their groups have one."""
    if resource.group == NEW_EVENTS.group and resource.plural == NEW_EVENTS.plural:
        resource = EVENTS
    return f"{resource.group}/{resource.plural}"


class Stored(NamedTuple):
    """A row of the store; `version` is the apiVersion of the body."""

    resource: str
    namespace: str
    name: str
    uid: str
    rv: int
    version: str
    body: bytes

    def manifest(self) -> Manifest:
        """A new decoded copy, owned by the caller."""
        return _decode(self.body)


class Change:
    """One committed write. `previous` is the body before it, of a deletion too; None with `replaced` means: lost to
    compaction."""

    def __init__(
        self, type: str, resource: str, namespace: str, name: str, rv: int, version: str, body: bytes,
        previous: bytes | None, replaced: bool, adopted: bool = False, left: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.type = type
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.rv = rv
        self.version = version
        self.body = body
        self.previous = previous
        self.replaced = bool(replaced)
        self.adopted = adopted
        """Whether the object has gained an owner reference."""
        self.left = left
        """The UIDs of the owners that it has no more; all that it had, of one that is gone."""
        self.lines: dict[Hashable, bytes] = {}
        """The encoded watch lines, one per format in use."""

    @property
    def size(self) -> int:
        """Bytes in memory while a watcher has not read the change."""
        return len(self.body) + len(self.previous or b"")

    @cached_property
    def object(self) -> Manifest:
        """Shared by all readers: do not modify."""
        return _decode(self.body)

    @cached_property
    def previous_object(self) -> Manifest | None:
        """Shared by all readers: do not modify."""
        return _decode(self.previous) if self.previous is not None else None

    def forget(self) -> None:
        """Drops the decoded objects, which take ten times the memory: a watcher may leave many changes unread."""
        self.__dict__.pop("object", None)
        self.__dict__.pop("previous_object", None)

    @cached_property
    def deselected(self) -> bytes:
        """The body for a watcher whose selector no longer matches: the previous state with this resourceVersion."""
        if self.previous is None:
            return self.body
        manifest = _decode(self.previous)
        manifest["metadata"]["resourceVersion"] = str(self.rv)
        return msgspec.json.encode(manifest)


def in_version(body: bytes, stored: str, wanted: str) -> bytes:
    """The body with the apiVersion `wanted`."""
    return body if stored == wanted else msgspec.json.encode(with_version(_decode(body), wanted))


def with_version(manifest: Manifest, wanted: str) -> Manifest:
    """The object with this apiVersion. Versions of one kind differ in nothing else here, but those of Events do."""
    if is_event(wanted, manifest.get("kind")):
        return convert(manifest, wanted)
    return manifest | {"apiVersion": wanted}
