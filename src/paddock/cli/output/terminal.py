"""Consoles and tables: data goes to stdout, notices to stderr; a pod always has the same colour.

rich honours NO_COLOR, FORCE_COLOR, TERM=dumb, pipes and the width of the terminal.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_POD_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")
_STATUS_COLOURS = {
    "Completed": "green",
    "Succeeded": "green",
    "Ready": "green",
    "Running": "cyan",
    "Failed": "red",
    "Error": "red",
    "Invalid": "red",
    "Restarting": "yellow",
    "Pending": "yellow",
    "Starting": "yellow",
    "Building": "yellow",
}
_GAP = "   "
_NARROW = 100
"""Columns below which a table shows a sentence under its row."""
_WRAPPING = Console(width=_NARROW)
_LEAST = 10
"""Characters that the last column keeps on the narrowest terminal."""


def stdout() -> Console:
    """Width is unlimited in a pipe, where a program reads it."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def pod_colour(pod: str) -> str:
    """By a hash of its name: the same in every run and on every screen."""
    return _POD_COLOURS[zlib.crc32(pod.encode()) % len(_POD_COLOURS)]


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool) -> None:
    """kubectl's layout: capitals, no borders, three spaces between. `cut`: the last column is cut to the terminal; on a
    narrow one WHY stands in lines of its own."""
    width = console.width if cut and console.is_terminal else None
    lines = build_stacked(header, rows, width) if width is not None and width < _NARROW else None
    for line in build_table(header, rows, width) if lines is None else lines:
        console.print(line, soft_wrap=True)


def build_stacked(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Text] | None:
    """A table whose last column, WHY, stands under each row, indented and wrapped; None if it fits beside it."""
    whole = build_table(header, rows)
    if header[-1] != "WHY" or max(map(_columns, whole)) <= width:
        return None
    head, *lines = build_table(header[:-1], [row[:-1] for row in rows])
    indent = "    "
    stacked = [head]
    for line, row in zip(lines, rows, strict=True):
        why = Text(row[-1]).wrap(_WRAPPING, max(_LEAST, width - len(indent))) if row[-1] else ()
        stacked += [line, *(Text(indent).append_text(part) for part in why)]
    return stacked


def _columns(line: Text) -> int:
    return cell_len(line.plain)


def build_table(header: Sequence[str], rows: Sequence[Sequence[str]], max_width: int | None = None) -> list[Text]:
    """The lines of a table. `max_width`: in characters; only the last column is shortened to it."""
    table = [list(header), *map(list, rows)]
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(header))]
    if max_width is not None:
        widths[-1] = min(widths[-1], max(_LEAST, max_width - sum(width + len(_GAP) for width in widths[:-1])))
    lines = []
    for row in table:
        cells = [Text(cell, style=_STATUS_COLOURS.get(cell, "")) for cell in row]
        for cell, width in zip(cells, widths, strict=True):
            cell.truncate(width, overflow="ellipsis", pad=True)
        line = Text(_GAP).join(cells)
        line.rstrip()
        lines.append(line)
    return lines
