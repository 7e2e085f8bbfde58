"""A table on stdout: kubectl's layout, in the reader's language. `cli.output.terminal` has it for a terminal, with
colours and a width; in a pipe it is text alone, and rich is not imported: a tenth of the time of `paddock get`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import GAP, print_line
from paddock.cli.output.table_words import say_table
from paddock.kube.printable import show_line

Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The header, and the cells of each row."""


def print_fitted(build: Callable[[int | None], Table], *, cut: bool, red: Collection[int] = ()) -> None:
    """Prints the table of `build`, which gets the columns that its last column has, or None where it is not cut. `cut`
    and `red`: as in `terminal.print_table`. Raises OSError."""
    header, rows = build(None)
    if is_piped():
        for line in build_lines(header, rows, readers_language()):
            print_line(line)
        return
    from paddock.cli.output.terminal import find_room, print_table, stdout

    room = find_room(stdout(), header, rows) if cut else None
    if room is not None:
        header, rows = build(room)
    print_table(stdout(), header, rows, cut=cut, red=red)


def is_piped() -> bool:
    """Whether stdout is no terminal. Where a variable may say that it is to be taken for one, rich decides."""
    return not sys.stdout.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()


def build_lines(header: Sequence[str], rows: Sequence[Sequence[str]], language: str = "en") -> list[str]:
    """The lines of a table whose last column is not cut, without colours."""
    table = [[show_line(cell) for cell in row] for row in say_table(header, rows, language)]
    widths = measure(table)
    return [build_line(row, widths) for row in table]


def measure(table: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column; `table`: at least one row."""
    return [max(_columns(row[column]) for row in table) for column in range(len(table[0]))]


def build_line(row: Sequence[str], widths: Sequence[int]) -> str:
    """A row in columns of at least these widths: a longer cell moves what follows it."""
    return GAP.join(cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
