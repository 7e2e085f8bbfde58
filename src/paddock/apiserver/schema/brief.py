"""The beginning of a value as JSON, for messages and tables. Pure."""

from __future__ import annotations

import json
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
_spaced = json.JSONEncoder(ensure_ascii=False, default=str)


def brief_json(value: Any, most: int, *, spaces: bool = False) -> str:
    """At most `most` characters and an ellipsis. Only what is shown is encoded: a value may have megabytes, and be
    shown for each of its fields."""
    text = ""
    try:
        for part in (_spaced if spaces else _encoder).iterencode(_cut(value, most)):
            text += part
            if len(text) > most:
                break
    except (ValueError, RecursionError):
        text = str(type(value).__name__)
    return brief_text(text, most)


def brief_text(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _cut(value: Any, most: int) -> Any:
    # `iterencode` encodes each text in one piece.
    return value[: most + 1] if isinstance(value, str) else value
