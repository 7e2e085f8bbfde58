"""What a live page is sent of its tables: rows that the browser has already are named and not written out. Pure.

Of a list of a hundred jobs one changes; written out, the other 99 are 8 KB, as gzip looks back no further than 32 KiB.
htmx morphs a row by its id, and leaves what is in it where the row has the attribute `LEFT`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

LEFT = "data-hx-morph-skip-children"
"""Of `morphSkipChildren` in frame.html."""
_ROW = re.compile(r'<tr id="([^"]*)"[^>]*>')
_END = "</tr>"
AGE = re.compile(r"(<time [^>]*data-since=[^>]*>)[^<]*")
"""It grows by itself, by a script."""

Rows = Mapping[str, bytes]
"""A digest of each row of a page, by its id."""


def read_rows(text: str) -> Rows:
    """Of a <main>. An id that stands there twice names no row."""
    found: dict[str, bytes] = {}
    twice = set()
    for name, _, row in _split(text):
        if name and name in found:
            twice.add(name)
        if name:
            found[name] = _digest(row)
    return {name: digest for name, digest in found.items() if name not in twice}


def leave_out(text: str, known: Rows) -> str:
    """The <main>, of whose rows those that are as the browser has them are empty."""
    if not known:
        return text
    return "".join(
        f"{opened[:-1]} {LEFT}>{_END}" if name and known.get(name) == _digest(row) else row
        for name, opened, row in _split(text)
    )


def _split(text: str) -> Iterator[tuple[str, str, str]]:
    """(id, first tag, whole row) for each row with an id, and ("", "", what stands between) for the rest, in order. A
    row in which there is a table is none."""
    at = 0
    for row in _ROW.finditer(text):
        end = text.find(_END, row.end()) + len(_END)
        if row.start() < at or end < row.end() or text.find("<tr", row.end(), end) >= 0:
            continue
        yield "", "", text[at : row.start()]
        yield row[1], row[0], text[row.start() : end]
        at = end
    yield "", "", text[at:]


def _digest(row: str) -> bytes:
    return hashlib.blake2b(AGE.sub(r"\1", row).encode(), digest_size=8).digest()
