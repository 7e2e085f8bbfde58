"""Several columns of values under their names, beside the titles of the rows. On a terminal on which they do not fit,
long cells are folded, and then columns go into a block of their own below. In a pipe each row is one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from paddock.cli.output.streams import GAP
from paddock.cli.output.tables import build_lines, measure
from paddock.cli.output.terminal import stdout, styled
from paddock.kube.printable import show_line
from paddock.views.numbers import BEST

_LEAST = 16
"""Columns of the terminal that a folded cell keeps; a title keeps as many."""
Rows = Sequence[Sequence[str]]


def print_side_by_side(console: Console, rows: Rows) -> None:
    """The first row has the names of the columns, the first cell of each other one its title."""
    table = [[show_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for line in build_lines(table[0], table[1:]):
            console.print(line, soft_wrap=True)
        return
    for number, block in enumerate(build_blocks(table, console.width)):
        if number:
            console.print()
        for text in block:
            console.print(text, soft_wrap=True)


def build_blocks(table: Rows, width: int) -> Iterator[list[Text]]:
    """The lines of each block."""
    title, *columns = measure(table)
    title = min(title, max(_LEAST, width // 3, width - sum(each + len(GAP) for each in columns)))
    first = 0
    while first < len(columns):
        widths = _choose_widths(columns[first:], width - title)
        places = range(first + 1, first + 1 + len(widths))
        yield [line for row in table
               for line in _fold([row[0], *(row[place] for place in places)], [title, *widths])]  # fmt: skip
        first += len(widths)


def _choose_widths(columns: Sequence[int], room: int) -> list[int]:
    """The columns that stand side by side in `room`, at least one: each as wide as it is or, where that is too wide,
    with its share of what others leave."""
    chosen = list[int]()
    for each in columns:
        needed = min(each, _LEAST)
        if chosen and sum(chosen) + needed + len(GAP) * (len(chosen) + 1) > room:
            break
        chosen.append(needed)
    left = room - sum(chosen) - len(GAP) * len(chosen)
    narrow_first = sorted(range(len(chosen)), key=lambda place: columns[place])
    for rest, place in zip(range(len(chosen), 0, -1), narrow_first, strict=True):
        more = min(columns[place] - chosen[place], max(0, left) // rest)
        chosen[place], left = chosen[place] + more, left - more
    return chosen


def _fold(cells: Sequence[str], widths: Sequence[int]) -> Iterator[Text]:
    parts = [_wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        line = [each[number].copy() if number < len(each) else styled("") for each in parts]
        for cell, width in zip(line, widths, strict=True):
            cell.truncate(width, pad=True)
        joined = styled(GAP).join(line)
        joined.rstrip()
        yield joined


def _wrap(cell: str, width: int) -> list[Text]:
    return list(styled(cell, "bold" if cell.endswith(BEST) else "").wrap(stdout(), width)) or [styled("")]
