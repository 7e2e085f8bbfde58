"""The text of a shell script as a tree: tree-sitter's grammar of bash. Pure.

The one module that knows the parser. It is loaded when the first text is read, as most commands of Paddock read none.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class Source:
    """A text that is parsed. `line`: of a text in a word, whose own lines say nothing; 0 for a text by itself."""

    def __init__(self, text: str, line: int = 0) -> None:
        self._data = text.encode("utf-8", "replace")
        self._line = line
        self._ends = [place for place, letter in enumerate(self._data) if letter == 10]
        self.root = _parser().parse(self._data).root_node

    def text(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        return self.text(node.start_byte, node.end_byte)

    def line(self, node: Node) -> int:
        return self._line or node.start_point.row + 1

    def line_at(self, place: int) -> int:
        return self._line or bisect_left(self._ends, place) + 1


@cache
def _parser() -> Parser:
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    return Parser(Language(language()))
