"""Lists as they leave: pages of stored bodies, joined as they lie, and the tokens that continue them. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paddock.apiserver.records import Stored, in_version
from paddock.apiserver.served import ServedResource
from paddock.kube.errors import BadRequest


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list. `remaining` is None where nobody can tell without reading on."""

    items: list[Stored] = field(default_factory=list)
    revision: int = 0
    token: str = ""
    remaining: int | None = None


def build_list(served: ServedResource, page: Page) -> bytes:
    """The list as JSON: the bodies joined as they lie, nothing decoded."""
    meta: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.token:
        meta["continue"] = page.token
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
    resource = served.resource
    head = msgspec.json.encode({"kind": served.list_name, "apiVersion": resource.api_version, "metadata": meta})
    return b"".join((head[:-1], b',"items":[', b",".join(bodies(page.items, resource.api_version)), b"]}"))


def bodies(items: Iterable[Stored], version: str) -> list[bytes]:
    return [in_version(stored.body, stored.version, version) for stored in items]


def build_token(revision: int, last: Stored) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((revision, last.namespace, last.name))).decode().rstrip("=")


def read_token(token: str) -> tuple[int, tuple[str, str]]:
    """The revision of the first page and the key of the last object that was given."""
    try:
        revision, namespace, name = msgspec.json.decode(
            base64.urlsafe_b64decode(token.encode() + b"=="), type=tuple[int, str, str]
        )
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequest("continue key is not valid: it must be the one that the list before answered") from None
    return revision, (namespace, name)
