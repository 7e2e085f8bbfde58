"""How answers look: objects, lists and watch events as JSON, as a Table for kubectl, or as metadata alone. Pure.

A watch event is encoded once for each format and shared by all watchers of that format (`Change.lines`); a reader must
not encode for each watcher: that is what a hundred watchers would be slow by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from paddock.apiserver.pages import Page, bodies, build_list
from paddock.apiserver.records import Stored, in_version
from paddock.apiserver.requests import Format
from paddock.apiserver.served import ServedResource
from paddock.apiserver.tables import build_partial, build_table
from paddock.apiserver.watches import Seen
from paddock.kube.errors import ApiError, build_status
from paddock.kube.meta import Manifest, version_of

_decode = msgspec.json.Decoder(Manifest).decode
_encode = msgspec.json.encode


def render_object(served: ServedResource, body: bytes, wanted: Format, now: float) -> bytes:
    """A stored object in the shape that was asked for. A Status stays what it is."""
    if wanted.shape not in ("Table", "PartialObjectMetadata"):
        return body
    manifest = _decode(body)
    if manifest.get("kind") == "Status":
        return body
    return _encode(_shape(served, manifest, wanted, now))


def _shape(served: ServedResource, manifest: Manifest, wanted: Format, now: float) -> Manifest:
    if wanted.shape == "Table":
        return _table(served, [manifest], version_of(manifest), wanted, now)
    return build_partial(manifest) | {"apiVersion": f"meta.k8s.io/{wanted.version}"}


def _table(served: ServedResource, objects: Sequence[Manifest], revision: str, wanted: Format, now: float) -> Manifest:
    table = build_table(served, objects, revision, now, include=wanted.include)
    return table | {"apiVersion": f"meta.k8s.io/{wanted.version}"}


def render_page(served: ServedResource, page: Page, wanted: Format, now: float) -> bytes:
    """A list in the shape that was asked for; plain JSON is the stored bodies, joined."""
    if wanted.shape not in ("Table", "PartialObjectMetadata"):
        return build_list(served, page)
    objects = [_decode(body) for body in bodies(page.items, served.resource.api_version)]
    revision = str(page.revision)
    if wanted.shape == "Table":
        shaped = _table(served, objects, revision, wanted, now)
    else:
        partial = [build_partial(obj) | {"apiVersion": f"meta.k8s.io/{wanted.version}"} for obj in objects]
        shaped = {
            "kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{wanted.version}",
            "metadata": {"resourceVersion": revision}, "items": partial,
        }  # fmt: skip
    if page.token:
        shaped["metadata"]["continue"] = page.token
        if page.remaining is not None:
            shaped["metadata"]["remainingItemCount"] = page.remaining
    return _encode(shaped)


def render_line(type: str, body: bytes) -> bytes:
    return b"".join((b'{"type":"', type.encode(), b'","object":', body, b"}\n"))


def render_added(served: ServedResource, stored: Stored, wanted: Format, now: float) -> bytes:
    """What was there when a watch began."""
    body = in_version(stored.body, stored.version, served.resource.api_version)
    return render_line("ADDED", render_object(served, body, wanted, now))


def render_seen(served: ServedResource, seen: Seen, wanted: Format, now: float) -> bytes:
    """The line of one change, the same bytes for everybody who watches in this format."""
    change, version = seen.change, served.resource.api_version
    key = (seen.type, version, wanted)
    line = change.lines.get(key)
    if line is None:
        left = seen.type == "DELETED" and change.type != "DELETED"
        body = in_version(change.deselected if left else change.body, change.version, version)
        line = change.lines[key] = render_line(seen.type, render_object(served, body, wanted, now))
    return line


def render_bookmark(
    served: ServedResource, revision: int, wanted: Format, *, initial_events_end: bool = False
) -> bytes:
    """Tells a watcher how far it has come, also when nothing that it watches has changed."""
    meta: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if initial_events_end:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: dict[str, Any] = {
        "kind": served.resource.kind,
        "apiVersion": served.resource.api_version,
        "metadata": meta,
    }
    if wanted.shape == "Table":
        obj = {
            "kind": "Table", "apiVersion": f"meta.k8s.io/{wanted.version}", "metadata": meta,
            "columnDefinitions": None, "rows": [],
        }  # fmt: skip
    elif wanted.shape == "PartialObjectMetadata":
        obj |= {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{wanted.version}"}
    return render_line("BOOKMARK", _encode(obj))


def render_error(error: ApiError) -> bytes:
    """The last line of a watch that cannot go on."""
    return render_line("ERROR", _encode(build_status(error)))
