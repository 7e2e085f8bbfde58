"""What the store keeps and tells: an object as it lies, and one change of it. Pure.

Both carry JSON bytes. Decoding is done at most once for each change, however many watchers look at it, and what a
consumer gets to keep is decoded anew, so that nobody shares an object with anybody.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import NamedTuple

import msgspec

from paddock.kube.meta import Manifest, Resource

_decode = msgspec.json.Decoder(Manifest).decode


class _Marked(msgspec.Struct):
    deletionTimestamp: str = ""  # noqa: N815 - the field's own name


class _Markable(msgspec.Struct):
    metadata: _Marked = msgspec.field(default_factory=_Marked)


_read_mark = msgspec.json.Decoder(_Markable).decode


def is_going(body: bytes) -> bool:
    """Whether the object is being deleted. The bytes are searched first; they may stand in a schema or in data too."""
    return b'"deletionTimestamp"' in body and bool(_read_mark(body).metadata.deletionTimestamp)


def storage_key(resource: Resource) -> str:
    """The name under which all versions of a resource are stored together: `batch.paddlepaddle.org/paddlejobs`."""
    return f"{resource.group}/{resource.plural}"


class Stored(NamedTuple):
    """A row of the store: `version` is the apiVersion that the body is written in."""

    resource: str
    namespace: str
    name: str
    uid: str
    rv: int
    version: str
    body: bytes

    def manifest(self) -> Manifest:
        """A fresh copy, the caller's own."""
        return _decode(self.body)


class Change:
    """One committed write. `previous` is the body before it; None with `replaced` means that it is known no more."""

    def __init__(
        self, type: str, resource: str, namespace: str, name: str, rv: int, version: str, body: bytes,
        previous: bytes | None, replaced: bool, adopted: bool = False,
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
        """Whether it names an owner that it did not name before."""
        self.lines: dict[Hashable, bytes] = {}
        """Encoded once for each format that somebody watches in."""

    @property
    def size(self) -> int:
        """Bytes that it holds while somebody has yet to read it."""
        return len(self.body) + len(self.previous or b"")

    @cached_property
    def object(self) -> Manifest:
        """Shared: only to look at."""
        return _decode(self.body)

    @cached_property
    def previous_object(self) -> Manifest | None:
        """Shared: only to look at."""
        return _decode(self.previous) if self.previous is not None else None

    @cached_property
    def deselected(self) -> bytes:
        """The body for a watcher whose selector the object has left: its last matching state, at this version."""
        if self.previous is None:
            return self.body
        manifest = _decode(self.previous)
        manifest["metadata"]["resourceVersion"] = str(self.rv)
        return msgspec.json.encode(manifest)


def in_version(body: bytes, stored: str, wanted: str) -> bytes:
    """The body with the apiVersion that was asked for. Versions of one kind differ in nothing else here."""
    if stored == wanted:
        return body
    manifest = _decode(body)
    manifest["apiVersion"] = wanted
    return msgspec.json.encode(manifest)
