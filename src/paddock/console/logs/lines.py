"""Lines of a log as they are shown: pieces of text with their colours, a level, what was cut. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.console.logs.ansi import Piece, walk_pieces
from paddock.console.logs.levels import read_level
from paddock.history.log_index import LONGEST, Line

SHOWN = 2_000
"""Characters of a line in a list; all that is read of it stands in its detail."""
TOGETHER = 2**18
"""Characters of the lines of one answer: where each of 200 lines is long, each is cut shorter."""
_LEAST = 200


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a log as it is shown."""

    number: int  # from 1, as people count
    pieces: tuple[Piece, ...]
    level: str
    size: int  # bytes of a line that is longer than what is shown, else 0


def show_line(line: Line, most: int = SHOWN) -> ShownLine:
    data = _last_state(line.data)
    pieces, left = [], most
    for piece in walk_pieces(data.decode("utf-8", "replace")):
        if left <= 0:
            break
        pieces.append(Piece(piece.text[:left], piece.colour, piece.bold))
        left -= len(piece.text)
    is_cut = left < 0 or line.size > LONGEST
    return ShownLine(line.number + 1, tuple(pieces), read_level(data), line.size if is_cut else 0)


def show_lines(lines: Sequence[Line]) -> list[ShownLine]:
    """The lines of one answer, which together have about `TOGETHER` characters at most."""
    is_much = sum(min(len(line.data), SHOWN) for line in lines) > TOGETHER
    most = max(_LEAST, TOGETHER // len(lines)) if is_much else SHOWN
    return [show_line(line, min(most, SHOWN)) for line in lines]


def _last_state(data: bytes) -> bytes:
    """The last state of a progress bar; a line that only ends with a carriage return is whole."""
    return data.rstrip(b"\r").rpartition(b"\r")[2]


def write_lines(lines: Iterable[ShownLine]) -> list[list[Any]]:
    """The lines for the script: `[level, size, [text | [text, classes], …]]`, in the order of their numbers."""
    return [[line.level, line.size, [_write_piece(piece) for piece in line.pieces]] for line in lines]


def _write_piece(piece: Piece) -> str | list[str]:
    return [piece.text, name_classes(piece)] if piece.colour or piece.bold else piece.text


def name_classes(piece: Piece) -> str:
    """The classes of the stylesheet."""
    return " ".join(filter(None, (f"ansi-{piece.colour}" if piece.colour else "", "bold" if piece.bold else "")))
