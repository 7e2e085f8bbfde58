"""How a Chinese text is cut into what is searched for. Pure, and without Sphinx."""

from __future__ import annotations

import re

_PARTS = re.compile(r"[\u3400-\u9fff]+|[a-zA-Z0-9_]+")


def cut(text: str) -> list[str]:
    """Words of Latin letters, and pairs of Chinese characters; one character alone is a word."""
    words: list[str] = []
    for part in _PARTS.findall(text):
        pairs = part >= "\u3400" and len(part) > 1
        words += [part[at : at + 2] for at in range(len(part) - 1)] if pairs else [part]
    return words
