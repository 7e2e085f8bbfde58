"""The text of a shell script as a tree: tree-sitter's grammar of bash. Pure.

A text is read within a budget, which bounds its bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.launches.budget import Budget, Spent

if TYPE_CHECKING:
    from tree_sitter import Node


_ENDS = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac"}
"""What opens a statement -> what closes it."""
_QUOTES = re.compile(r"""\\.|(?<![^\s;&|(])\#[^\n]*|['"]""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """A statement that is not closed."""

    line: int
    word: str
    """Its first one: `if`."""
    end: str
    """What is missing: `fi`."""


class Quotes:
    """Which quote is open behind the pieces of a text that were read so far."""

    def __init__(self) -> None:
        self._open = ""

    @property
    def is_single(self) -> bool:
        return self._open == "'"

    def read(self, text: str) -> None:
        place = 0
        while True:
            if self._open == "'":
                end = text.find("'", place)
                if end < 0:
                    return
                self._open, place = "", end + 1
            found = _QUOTES.search(text, place)
            if found is None:
                return
            place, mark = found.end(), found[0]
            if mark[0] == "#" and self._open:
                place = found.start() + 1  # a letter
            elif mark in ("'", '"') and not (mark == "'" and self._open):
                self._open = "" if self._open else mark


class Source:
    """A text that is parsed. `line`: of a text in a word, whose own lines say nothing; 0 for a text by itself. What is
    read of it is charged to `budget`. `shown`: names that were put into the text -> what was typed there. Raises
    `Spent`, also where the grammar needs too long."""

    def __init__(self, text: str, line: int, budget: Budget, shown: Mapping[str, str] | None = None) -> None:
        budget.parse(text)
        self._data = text.encode("utf-8", "replace")
        self._budget = budget
        self._line = line
        self._shown = shown or {}
        self._ends = [place for place, letter in enumerate(self._data) if letter == 10]
        # late, as most commands of Paddock read no text of a shell
        from paddock.launches.parser import parse

        root = parse(self._data)
        if root is None:
            raise Spent
        self.root = root

    def text(self, start: int, end: int) -> str:
        self._budget.copy(end - start)
        return self._data[start:end].decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        return self.text(node.start_byte, node.end_byte)

    def show(self, node: Node) -> str:
        """As it was typed, for people."""
        text = self.of(node)
        for name, typed in self._shown.items() if "${__" in text else ():
            self._budget.copy(len(text))
            text = text.replace(name, typed)
        return text

    def line(self, node: Node) -> int:
        return self._line or node.start_point.row + 1

    def line_at(self, place: int) -> int:
        return self._line or bisect_left(self._ends, place) + 1

    def find_open_statement(self) -> OpenStatement | None:
        """An `if`, a loop or a `case` that is open to the end of the text; None where there is none."""
        for node in self.root.children:
            if node.is_error and (opened := self._find_opened(node)) is not None:
                return OpenStatement(self.line(opened), opened.type, _ENDS[opened.type])
        left = [self.root]
        while left:
            node = left.pop()
            self._budget.spend(1)
            if node.is_missing and node.type in _ENDS.values() and node.parent is not None:
                around = node.parent.parent if node.parent.type == "do_group" else node.parent
                if around is not None and around.children[0].type in _ENDS:
                    return OpenStatement(self.line(around), around.children[0].type, node.type)
            left += [child for child in node.children if child.has_error or child.is_missing]
        return None

    def _find_opened(self, error: Node) -> Node | None:
        """The last word in an error that reaches to the end of the text which opens a statement that nothing closes."""
        opened: list[Node] = []
        for each in error.children if error.end_byte >= len(self._data.rstrip()) else ():
            self._budget.spend(1)
            if each.type in _ENDS:
                opened.append(each)
            elif opened and each.type == _ENDS[opened[-1].type]:
                opened.pop()
        return opened[-1] if opened else None

    def find_open_quote(self) -> int:
        """The line of a quote that is open to the end of the text; 0 where there is none. Then a shell, too, reads on
        to the end. Other errors may be the grammar's."""
        left, end = [self.root], len(self._data.rstrip())
        while left:
            node = left.pop()
            self._budget.spend(1)
            if node.is_missing and node.type == '"' and node.parent is not None:
                return self.line(node.parent)
            text = self.of(node) if node.is_error and node.end_byte >= end else ""
            quote = text.strip()[:1]
            if quote in ("'", '"') and text.count(quote) == 1:
                return self.line_at(node.start_byte + len(text) - len(text.lstrip()) + 1)
            left += [child for child in node.children if child.has_error or child.is_error or child.is_missing]
        return 0
