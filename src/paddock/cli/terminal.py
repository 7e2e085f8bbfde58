"""Where words go: data on stdout, talk on stderr; colours only where they are wanted, the same for a pod every time.

rich honours NO_COLOR, FORCE_COLOR, TERM=dumb, pipes and the width of the terminal.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_POD_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")
_STATUS_COLOURS = {
    "Completed": "green",
    "Succeeded": "green",
    "Ready": "green",
    "Running": "cyan",
    "Failed": "red",
    "Error": "red",
    "Restarting": "yellow",
    "Pending": "yellow",
    "Starting": "yellow",
    "Building": "yellow",
}


def stdout() -> Console:
    """Unlimited width in a pipe: what reads it is a program."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def pod_colour(pod: str) -> str:
    """By a hash of its name: the same in every run and on every screen."""
    return _POD_COLOURS[zlib.crc32(pod.encode()) % len(_POD_COLOURS)]


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool) -> None:
    """As kubectl: capitals, no borders, three spaces between. With `cut` the last column is cut to the terminal."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, show_edge=False, header_style="")
    for name in header:
        table.add_column(name, no_wrap=True, overflow="ellipsis" if name == header[-1] else "fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STATUS_COLOURS.get(cell, "")) for cell in row))
    if cut and console.is_terminal:
        console.print(table, soft_wrap=False)
        return
    for line in _plain(header, rows):
        console.print(line, soft_wrap=True)


def _plain(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
