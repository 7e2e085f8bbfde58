"""The lines of `paddock get -w`: a table, then a row for each change, as kubectl prints them. Pure.

A row is printed again when something of it but its age has changed. Columns keep the widths that they had; a new
heading (the first PyTorchJob among PaddleJobs) begins a new table.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from paddock.cli.output.table_words import say_table
from paddock.cli.output.tables import build_line, measure
from paddock.kube.printable import show_line

AGE = "AGE"
STATE = "STATUS"


class AppendedRows:
    """Remembers what was printed of each object."""

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._header: tuple[str, ...] = ()
        self._widths: list[int] = []
        self._printed: dict[Hashable, tuple[str, ...]] = {}

    def begin(self, header: Sequence[str], rows: Mapping[Hashable, Sequence[str]]) -> list[str]:
        """The whole table; without rows nothing, as the header comes with the first one."""
        if not rows:
            return []
        table = self._say(header, *rows.values())
        self._header, self._widths = tuple(header), measure(table)
        self._printed |= {key: self._strip(row) for key, row in rows.items()}
        return [build_line(row, self._widths) for row in table]

    def add(self, key: Hashable, header: Sequence[str], row: Sequence[str]) -> list[str]:
        """The lines for a row that is there now: none where nothing but its age is new."""
        if tuple(header) != self._header:
            return self.begin(header, {key: row})
        if self._printed.get(key) == self._strip(row):
            return []
        self._printed[key] = self._strip(row)
        return [build_line(self._say(header, row)[1], self._widths)]

    def remove(self, key: Hashable, header: Sequence[str], row: Sequence[str], word: str) -> list[str]:
        """The lines for an object that was deleted: its last row with `word` for its state."""
        if key not in self._printed:
            return []
        ended = [word if name == STATE else cell for name, cell in zip(header, row, strict=True)]
        lines = self.add(key, header, ended)
        del self._printed[key]
        return lines

    def _say(self, header: Sequence[str], *rows: Sequence[str]) -> list[list[str]]:
        return [[show_line(cell) for cell in row] for row in say_table(header, rows, self._language)]

    def _strip(self, row: Sequence[str]) -> tuple[str, ...]:
        return tuple(cell for name, cell in zip(self._header, row, strict=True) if name != AGE)
