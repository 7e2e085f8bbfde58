"""What one reading may cost: bytes, steps and levels, in one object that all its parts charge. Pure.

A step is 5 to 10 µs: a node that is visited, a word that is produced, 64 letters that are copied. What two numbers of a
text multiply, its commands by its variables or its words by the words of a variable, is charged before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LARGEST = 2**16
"""Bytes of the texts that are read for one reading: 64 KiB are 2,000 lines. Of a megabyte, the parser alone takes 1.4 s
of a core."""
LARGEST_COMMAND = 2**14
"""Bytes of the text in a container's command, which a webhook reads."""
LARGEST_WATCHED = 2**13
"""Bytes of the text in a container's command that an operator reads while others wait."""
MOST_STEPS = 60_000
"""Of one reading. The nodes of a function count at each of its calls."""
MOST_STEPS_WATCHED = 5_000
"""Of a reading by an operator: some 50 ms, and enough for 200 lines."""
MOST_DEPTH = 100
"""Levels of statements, functions, texts in texts, and of what is expanded within each other. One is four calls of
Python at most, which ends a thread at a thousand."""
MOST_LETTERS = 8_000
"""Of the value of a variable, and of a word that is longer than what was typed."""
MOST_WORDS = 4_000
"""Of a command: a wrapper, and an option that nobody knows, look at all behind them."""
MOST_LAUNCHES = 500
"""Commands of one reading."""
_LETTERS, _PARTS = 64, 8
"""Letters, and references to them, that are copied in a step."""


class Spent(Exception):
    """The budget is used up."""


class Budget:
    """What is left to one reading."""

    def __init__(self, size: int = LARGEST, steps: int = MOST_STEPS) -> None:
        """`size`: bytes of the texts that are parsed."""
        self.whole = True
        """False where something was beyond the budget."""
        self._bytes, self._steps, self._depth = size, steps, 0

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """What is in it ends where the budget does."""
        try:
            yield
        except Spent:
            self.whole = False

    def spend(self, steps: int) -> None:
        """Raises `Spent`, as all below."""
        self._steps -= steps
        if self._steps < 0:
            raise Spent

    def copy(self, letters: int, parts: int = 0) -> None:
        """Letters that are copied, or references to as many parts."""
        self.spend(letters // _LETTERS + parts // _PARTS)

    def takes(self, text: str) -> bool:
        """Whether a text may be parsed. NULs take the grammar's scanner a time that grows with their square."""
        return len(text) <= self._bytes and "\0" not in text

    def parse(self, text: str) -> None:
        if not self.takes(text):
            raise Spent
        self._bytes -= len(text)
        self.spend(1)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level."""
        if self._depth >= MOST_DEPTH:
            raise Spent
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
