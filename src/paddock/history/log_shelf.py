"""Logs that somebody looks at, with what was found in them before: no byte of one is read twice for its lines.

A shelf keeps the indexes of the logs that were opened last (a million lines: 31 KiB); the files are closed after each
look, as a keeper may prune them. Used from threads.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from paddock.history.log_index import Line, LineIndex
from paddock.kube.log_marks import Marks

MOST = 512


ReadMarks = Callable[[int], Marks]
"""The marks of a log from this number on."""


def no_marks(_begin: int) -> Marks:
    return Marks()


@dataclass(slots=True)
class _Book:
    index: LineIndex = field(default_factory=LineIndex)
    lock: threading.Lock = field(default_factory=threading.Lock)
    notes: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A log while somebody looks at it."""

    file: int
    """A descriptor."""
    index: LineIndex
    count: int
    """Of lines, when it was opened."""
    notes: dict[str, object]
    """What a reader has found in this log, which is kept beside its index."""
    marks: ReadMarks

    def read_marks(self, begin: int = 0) -> Marks:
        """When its lines were printed, as far as somebody noted it, from mark number `begin` on."""
        return self.marks(begin)

    def read(self, begin: int, count: int) -> list[Line]:
        return self.index.read(self.file, begin, max(0, min(count, self.count - begin)))

    def read_bytes(self, place: int, most: int) -> bytes:
        return os.pread(self.file, most, place)


class Shelf:
    """At most `most` indexes; that of the log which was looked at longest ago goes first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._books: OrderedDict[str, _Book] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def open(self, name: str, opener: Callable[[], int], read_marks: ReadMarks = no_marks) -> Iterator[OpenLog]:
        """`name`: no other log has it. `opener`: a descriptor, which is closed at the end. Raises OSError."""
        file = opener()
        try:
            book = self._find(name)
            with book.lock:
                before = book.index.count
                count = book.index.update(file)
                if count < before:
                    book.notes.clear()
            yield OpenLog(file, book.index, count, book.notes, read_marks)
        finally:
            os.close(file)

    def _find(self, name: str) -> _Book:
        with self._lock:
            book = self._books.setdefault(name, _Book())
            self._books.move_to_end(name)
            while len(self._books) > self._most:
                self._books.popitem(last=False)
            return book
