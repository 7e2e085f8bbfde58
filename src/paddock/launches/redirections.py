"""A command's words, and the redirections that stand among and behind them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paddock.launches.commands import Redirection
from paddock.launches.expansion import Expander
from paddock.launches.grammar import Source
from paddock.launches.state import State
from paddock.launches.words import Word, build_word

if TYPE_CHECKING:
    from tree_sitter import Node


class Redirected:
    """A command's words, and its redirections, as they are read."""

    def __init__(self, words: Expander, source: Source, state: State) -> None:
        self._words, self._source, self._state = words, source, state
        self.found: list[Redirection] = []
        self.stdin: Word | None = None
        self.behind: list[Node] = []

    def read_around(self, parts: Sequence[Node]) -> list[Word]:
        """The words of a command whose redirections stand among them."""
        words: list[Word] = []
        run: list[Node] = []
        start = parts[0].start_byte if parts else 0
        for part in parts:
            if not part.type.endswith("_redirect"):
                run.append(part)
                continue
            words += self._words.read_words(self._source, run, self._state, start, part.start_byte)
            words += self.read(part)
            run, start = [], part.end_byte
        end = max(start, run[-1].end_byte) if run else start
        return [*words, *self._words.read_words(self._source, run, self._state, start, end)]

    def read(self, node: Node) -> list[Word]:
        """One redirection. The grammar takes arguments behind it for a part of it: those are the answer."""
        inside = [each for each in node.children if each.is_named and each.type != "file_descriptor"]
        if node.type == "heredoc_redirect":
            return self._read_heredoc(inside)
        if not inside:
            return []
        start = inside[0].start_byte
        words = self._words.read_words(self._source, inside, self._state, start, inside[-1].end_byte)
        if node.type == "herestring_redirect":
            self.stdin = words[0] if words else None
        elif words:
            self.found.append(Redirection(self._source.text(node.start_byte, start).strip(), words[0]))
        return words[1:]

    def _read_heredoc(self, inside: Sequence[Node]) -> list[Word]:
        words: list[Word] = []
        mark = ""
        for each in inside:
            if each.type == "heredoc_start":
                mark = self._source.of(each)
            elif each.type == "heredoc_body":
                is_plain = not set("'\"\\").isdisjoint(mark)
                text = self._source.of(each)
                self.stdin = (
                    build_word(text, self._source.line(each))
                    if is_plain
                    else self._words.read_text(self._source, each, self._state)
                )
            elif each.type.endswith("_redirect"):
                words += self.read(each)
            elif each.type in ("pipeline", "list", "command", "redirected_statement", "subshell"):
                self.behind.append(each)
            elif each.type != "heredoc_end" and not each.is_error:
                words += self._words.read_words(self._source, [each], self._state, each.start_byte, each.end_byte)
        return words
