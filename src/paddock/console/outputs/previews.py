"""What is shown of a file: by its content, and by its name where several things look alike. Pure.

Whatever a program wrote, the page has text of it, or a picture of a format that holds no script. HTML and SVG are text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from paddock.words.phrases import Phrase, phrase

TEXT_BYTES = 256 * 2**10
"""That are shown of the beginning of a text, and as many of its end."""
WHOLE_BYTES = 2**20
"""Of a JSON document or a table, which are read from their beginning on."""
PICTURE_BYTES = 32 * 2**20
"""Of the largest picture that is shown."""
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_000, 50, 300
MOST_CELLS = 10_000
"""Of a table: a wide one has fewer rows."""
_DEEPEST = 100
_MODELS = (
    ".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".pdparams", ".pdopt", ".pdmodel", ".pdiparams", ".pdstates",
    ".npz", ".npy", ".onnx", ".pkl", ".pickle", ".h5", ".hdf5", ".distcp", ".gguf",
)  # fmt: skip
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_OPEN, _CLOSE = frozenset("{["), frozenset("}]")
_TABLES = {".csv": ",", ".tsv": "\t"}


class Kind(StrEnum):
    """How a file is shown."""

    EMPTY = "empty"
    TEXT = "text"
    JSON = "json"
    TABLE = "table"
    PICTURE = "picture"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Preview:
    """What is shown of one file."""

    kind: Kind
    text: str = ""
    """The beginning; all of a JSON document, with its levels indented."""
    end: str = ""
    """The last part, where the middle is left out."""
    left_out: int = 0
    """Bytes between the two."""
    rows: Sequence[Sequence[str]] = ()
    """Of a table, the first of which has the names of its columns."""
    cut: bool = False
    """The table has more rows or columns than are shown."""
    note: Phrase | None = None
    """Why it is shown in this way, or not at all."""


def find_picture(start: bytes) -> str:
    """The media type of a picture, by the first bytes of a file; empty for anything else. Formats without scripts."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else ""


def build_preview(name: str, size: int, start: bytes, end: bytes) -> Preview:
    """`start`: the first `WHOLE_BYTES`, as far as there are so many; `end`: the last `TEXT_BYTES`."""
    lower = name.lower()
    if not size:
        return Preview(Kind.EMPTY)
    if find_picture(start):
        if size <= PICTURE_BYTES:
            return Preview(Kind.PICTURE)
        return Preview(Kind.BINARY, note=phrase("the picture is too large to be shown: download it"))
    if lower.endswith(_MODELS):
        return Preview(Kind.BINARY, note=phrase("parameters or a checkpoint: a program reads it, not people"))
    if b"\0" in start or b"\0" in end:
        return Preview(Kind.BINARY, note=phrase("no text: download it to open it in its own program"))
    if size <= WHOLE_BYTES and lower.endswith(".json") and (text := _indent(start)):
        return Preview(Kind.JSON, text)
    delimiter = next((sign for ending, sign in _TABLES.items() if lower.endswith(ending)), "")
    if delimiter and (table := _read_table(start, delimiter, whole=size <= len(start))):
        return table
    return _build_text(size, start, end)


def _build_text(size: int, start: bytes, end: bytes) -> Preview:
    if size <= min(len(start), 2 * TEXT_BYTES):
        return Preview(Kind.TEXT, _decode(start))
    first = start[:TEXT_BYTES]
    return Preview(Kind.TEXT, _decode(first), _decode(end), max(0, size - len(first) - len(end)))


def _decode(text: bytes) -> str:
    return text.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _indent(text: bytes) -> str:
    """JSON with its levels, numbers and escapes as they are written; empty for what is none, and for what would
    be too long with them. Word by word, as others wait while one call goes through a whole text."""
    whole = _decode(text)
    try:
        json.loads(whole, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return ""
    written, length = list[str](), 0
    for piece in _indent_words(found[0] for found in _WORD.finditer(whole)):
        length += len(piece)
        if length > 2 * WHOLE_BYTES:
            return ""
        written.append(piece)
    return "".join(written)


def _indent_words(words: Iterable[str]) -> Iterator[str]:
    level, before = 0, ""
    for word in words:
        if word in _CLOSE:
            level -= 1
        if (before in _OPEN) != (word in _CLOSE) or before == ",":
            yield "\n" + "  " * min(level, _DEEPEST) if before else ""
        yield ": " if word == ":" else word
        level += word in _OPEN
        before = word


def _read_table(start: bytes, delimiter: str, *, whole: bool) -> Preview | None:
    """None for what is no table: of one column, or with a field that never ends."""
    lines = _decode(start).splitlines()
    if not whole:
        del lines[-1:]  # a part of a line
    try:
        rows = list(csv.reader(lines[: MOST_ROWS + 2], delimiter=delimiter))
    except csv.Error:
        return None
    wide = max(map(len, rows), default=0)
    if wide < 2:
        return None
    most = min(MOST_ROWS, MOST_CELLS // min(wide, MOST_COLUMNS)) + 1  # with the names of the columns
    shown = [[_clip(cell) for cell in row[:MOST_COLUMNS]] for row in rows[:most]]
    return Preview(Kind.TABLE, rows=shown, cut=not whole or len(rows) > most or wide > MOST_COLUMNS)


def _clip(cell: str) -> str:
    return cell if len(cell) <= LONGEST_CELL else cell[: LONGEST_CELL - 1] + "…"
