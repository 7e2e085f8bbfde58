"""The last valid spec of a job, kept in its status: an edit that is not valid must not end the supervision of a job
that trains. A new operator, or one that was away during the edit, goes on by it.

`status.lastValidSpec` is the spec as JSON, compressed and in base64. It is for operators, and a status that held every
template a second time would be hard to read.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

_LONGEST = 3 * 1024 * 1024
"""Bytes of JSON: an object of Kubernetes has at most 1.5 MB. Whoever may write a status must not fill our memory."""


def encode_spec(spec: Mapping[str, Any]) -> str:
    """The same spec gives the same text, whatever the order of its keys."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def decode_spec(text: str) -> Mapping[str, Any] | None:
    """None for anything that is not an encoded spec. Never raises."""
    try:
        packed = base64.b64decode(text.encode(), validate=True)
        decompressor = zlib.decompressobj()
        unpacked = decompressor.decompress(packed, _LONGEST)
        found = json.loads(unpacked) if decompressor.eof else None
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None
