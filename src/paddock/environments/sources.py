"""The record of the requirements files that an Environment was made of: an annotation. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from paddock.kube.meta import annotations_of

SOURCE = "paddock.dev/requirements-source"
"""Annotation on an Environment: JSON with the fields of `Source`."""


@dataclass(frozen=True, slots=True)
class Source:
    """`files`: absolute paths; `read`: when, RFC 3339; `paddle` and `torch`: PaddlePaddle, or PyTorch, is added where
    they name none; `servers`: with parameter servers; `added`: packages beside the files; `own_index`: the index is an
    option's."""

    files: tuple[str, ...]
    digest: str = ""
    read: str = ""
    paddle: bool = False
    servers: bool = False
    added: tuple[str, ...] = ()
    own_index: bool = False
    torch: bool = False


def read_source(environment: Mapping[str, Any]) -> Source | None:
    """None for an Environment that was made of no file, and for an annotation that is not of this version."""
    try:
        return msgspec.json.decode(annotations_of(environment).get(SOURCE, ""), type=Source)
    except msgspec.DecodeError:  # or one of its fields is of another type
        return None


def write_source(source: Source) -> str:
    return msgspec.json.encode(source).decode()
