"""A line of a terminal program -> pieces of text with the names of their colours. Pure.

Colours become classes of the stylesheet, as no style may stand in a page; other control sequences are dropped. A
carriage return begins the line anew, as a progress bar means it: its last state is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_SEQUENCE = re.compile(
    r"\x1b\[(?P<codes>[\d;:]*)m"  # colours
    r"|\x1b\[[\d;:?<=>]*[ -/]*[@-~]"  # other control sequences
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line in one colour."""

    text: str
    colour: str = ""  # one of eight names, or empty
    bold: bool = False  # or bright


def read_pieces(line: str, colour: str = "", bold: bool = False) -> list[Piece]:
    """The pieces of one line, without its newline; none for an empty one."""
    return list(walk_pieces(line, colour, bold))


def walk_pieces(line: str, colour: str = "", bold: bool = False) -> Iterator[Piece]:
    """The same, one after the other, for who does not want all of a long line."""
    place = 0
    shown = line.rstrip("\r").rpartition("\r")[2]
    for found in _SEQUENCE.finditer(shown):
        if found.start() > place:
            yield Piece(shown[place : found.start()], colour, bold)
        place = found.end()
        if found["codes"] is not None:
            colour, bold = _apply(re.split("[;:]", found["codes"]), colour, bold)
    if place < len(shown):
        yield Piece(shown[place:], colour, bold)


def _apply(codes: Sequence[str], colour: str, bold: bool) -> tuple[str, bool]:
    """The colour after a sequence, by ECMA-48; of 256 and of 16 million colours none is shown."""
    numbers = iter([int(code) if code.isdecimal() and len(code) < 4 else 0 for code in codes])
    for number in numbers:
        if number == 0:
            colour, bold = "", False
        elif number in (1, 22):
            bold = number == 1
        elif 30 <= number <= 37:
            colour = _NAMES[number - 30]
        elif 90 <= number <= 97:
            colour, bold = _NAMES[number - 90], True
        elif number == 39:
            colour = ""
        elif number in (38, 48):
            kind = next(numbers, 0)
            for _ in range({5: 1, 2: 3}.get(kind, 0)):
                next(numbers, 0)
    return colour, bold
