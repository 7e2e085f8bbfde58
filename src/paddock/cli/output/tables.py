"""A table on stdout: kubectl's layout, in the reader's language. `cli.output.terminal` has it for a terminal, with
colours and a width; in a pipe it is text alone, and rich is not imported: a tenth of the time of `paddock get`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import GAP, print_line
from paddock.kube.printable import show_line
from paddock.views.phases import say_state
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, phrase, render

Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The header, and the cells of each row."""
_HEADS: Mapping[str, Phrase] = {
    "NAMESPACE": phrase("NAMESPACE"),
    "NAME": phrase("NAME"),
    "STATUS": phrase("STATUS"),
    "PHASE": phrase("PHASE"),
    "MODE": phrase("MODE"),
    "PROGRESS": phrase("PROGRESS"),
    "AGE": phrase("AGE"),
    "WHY": phrase("WHY"),
    "READY": phrase("READY"),
    "RESTARTS": phrase("RESTARTS"),
    "NODE": phrase("NODE"),
    "WHAT": phrase("WHAT"),
    "SIZE": phrase("SIZE"),
    "IMAGES": phrase("IMAGES"),
    "ACCESS": phrase("ACCESS"),
    "USED": phrase("USED"),
    "JOBS": phrase("JOBS"),
    "SOURCE": phrase("SOURCE"),
    "POSITION": phrase("POSITION"),
    "PRIORITY": phrase("PRIORITY"),
    "RANKS": phrase("RANKS"),
    "NEEDS": phrase("NEEDS"),
    "WAITS": phrase("WAITS"),
    "RUN": phrase("RUN"),
    "STARTED": phrase("STARTED"),
    "TOOK": phrase("TOOK"),
    "ENDED": phrase("ENDED"),
    "METRICS": phrase("METRICS"),
    "DIRECTORY": phrase("DIRECTORY"),
    "CHANGED": phrase("CHANGED"),
    "ATTEMPT": phrase("ATTEMPT"),
    "BEGAN": phrase("BEGAN"),
    "JOB": phrase("JOB"),
    "MEMORY": phrase("MEMORY"),
    "FILE": phrase("FILE"),
    "KIND": phrase("KIND"),
    "PERSON": phrase("PERSON"),
    "GPU-HOURS": phrase("GPU-HOURS"),
    "CPU-HOURS": phrase("CPU-HOURS"),
    "POD-HOURS": phrase("POD-HOURS"),
}
_STATES = frozenset({"STATUS", "PHASE", "MODE", "ENDED"})
_DURATIONS = frozenset({"AGE", "WAITS", "TOOK"})
"""Heads of columns of such cells."""


def say_table(header: Sequence[str], rows: Iterable[Sequence[str]], language: str) -> list[list[str]]:
    """Header and rows in a language: heads, states and durations. In English they are as they are."""
    if language == "en":
        return [list(header), *map(list, rows)]
    heads, format_ = [name.strip() for name in header], format_of(language)
    said = [
        name.replace(head, render(_HEADS[head], language)) if head in _HEADS else name
        for name, head in zip(header, heads, strict=True)
    ]
    cells = [
        [
            say_state(cell, language) if head in _STATES
            else format_.say_duration(cell) if head in _DURATIONS
            else cell
            for head, cell in zip(heads, row, strict=True)
        ]
        for row in rows
    ]  # fmt: skip
    return [said, *cells]


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
