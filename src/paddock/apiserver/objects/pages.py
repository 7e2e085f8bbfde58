"""Pages of a list and their pieces, and continue tokens. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from paddock.apiserver.storage.records import Stored, in_version
from paddock.kube.errors import BadRequest
from paddock.kube.meta import Manifest


@dataclass(frozen=True, slots=True)
class Ending:
    """What a list says of itself once its last object is known."""

    revision: int = 0
    token: str = ""  # where the next page begins, if there is one
    remaining: int | None = None  # None if only reading further objects would tell

    def metadata(self) -> Manifest:
        meta: Manifest = {"resourceVersion": str(self.revision)}
        if self.token:
            meta["continue"] = self.token
            if self.remaining is not None:
                meta["remainingItemCount"] = self.remaining
        return meta


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: list[Stored] = field(default_factory=list)
    ending: Ending = field(default_factory=Ending)


class Piece(NamedTuple):
    """A part of a page that is read in one go."""

    items: list[Stored]
    ending: Ending | None = None  # of the page; the last piece has it
    last: tuple[str, str] | None = None  # the last key that was looked at


def bodies(items: Iterable[Stored], version: str) -> list[bytes]:
    return [in_version(stored.body, stored.version, version) for stored in items]


def build_token(revision: int, last: tuple[str, str]) -> str:
    """`last`: namespace and name of the page's last object."""
    return base64.urlsafe_b64encode(msgspec.json.encode((revision, *last))).decode().rstrip("=")


def read_token(token: str) -> tuple[int, tuple[str, str]]:
    """The revision of the first page, and the key of the last object of the previous page."""
    try:
        revision, namespace, name = msgspec.json.decode(
            base64.urlsafe_b64decode(token.encode() + b"=="), type=tuple[int, str, str]
        )
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequest("continue key is not valid: it must be the one that the list before answered") from None
    return revision, (namespace, name)
