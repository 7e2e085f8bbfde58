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
    """The requirements files that an Environment is from."""

    files: tuple[str, ...]  # absolute paths
    digest: str = ""
    read: str = ""  # when, RFC 3339
    paddle: bool = False  # PaddlePaddle is added where they name none
    servers: bool = False  # with parameter servers
    added: tuple[str, ...] = ()  # packages beside the files
    own_index: bool = False  # the index is an option's
    torch: bool = False  # PyTorch is added where they name none


def read_source(environment: Mapping[str, Any]) -> Source | None:
    """The source of an Environment; None for one that was made of no file, and for an annotation that is not of this
    version."""
    try:
        return msgspec.json.decode(annotations_of(environment).get(SOURCE, ""), type=Source)
    except msgspec.DecodeError:  # or one of its fields is of another type
        return None


def write_source(source: Source) -> str:
    return msgspec.json.encode(source).decode()
