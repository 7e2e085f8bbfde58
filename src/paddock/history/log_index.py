"""Where the lines of a growing log are: any of a million lines is read without those before it.

An index holds the place of each `STEP`-th line, 8 bytes for each, and grows with the file: what was looked at once is
not read again. A line ends with a newline; what follows the last one is a line too, which may still grow. Numbers of
lines begin at 0.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

STEP = 256
LONGEST = 16 * 2**10
"""Bytes of a line that are shown, its first, or its last where it is drawn anew (`_add`); the rest is left out, and
said."""
_LEAST, _CHUNK = 2**15, 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    number: int
    data: bytes
    """At most `LONGEST` bytes of it."""
    size: int
    """Its bytes in the file."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Every line that matches has one of these texts in it, where `folds` in small or in capital letters (of ASCII; the
    hints are small then). One that begins with a newline stands at the beginning of its line."""

    texts: tuple[bytes, ...]
    folds: bool = False


class LineIndex:
    """Of the file behind a descriptor, which only grows. One that has become shorter is read anew."""

    def __init__(self) -> None:
        self._places = array("q", [0])
        self._read = 0
        self._ended = 0
        """Lines that have their newline."""
        self._open = False

    @property
    def count(self) -> int:
        return self._ended + self._open

    @property
    def is_open(self) -> bool:
        """Whether the last line has no newline yet."""
        return self._open

    def lines_of(self, size: int) -> int:
        """About how many lines have so many bytes together: at least `STEP`."""
        return max(STEP, size * self.count // max(1, self._read))

    def update(self, file: int) -> int:
        """Reads what was added; the number of lines then. Raises OSError."""
        size = os.fstat(file).st_size
        if size < self._read:
            self.__init__()  # type: ignore[misc]
        while self._read < size and (chunk := os.pread(file, min(_CHUNK, size - self._read), self._read)):
            self._feed(chunk)
        return self.count

    def _feed(self, chunk: bytes) -> None:
        # By split and sum, as a loop over the newlines takes ten times as long.
        parts = chunk.split(b"\n")
        done, place = 0, self._read
        for upto in range(STEP - self._ended % STEP, len(parts), STEP):
            place += sum(map(len, parts[done:upto])) + upto - done
            self._places.append(place)
            done = upto
        self._ended += len(parts) - 1
        self._open = bool(parts[-1])
        self._read += len(chunk)

    def read(self, file: int, begin: int, count: int) -> list[Line]:
        """Reads at most `count` lines from number `begin` on. Raises OSError."""
        lines: list[Line] = []
        for line in self.walk(file, begin):
            if len(lines) == count:
                break
            lines.append(line)
        return lines

    def walk(self, file: int, begin: int = 0) -> Iterator[Line]:
        """The lines from number `begin` on, as far as the file was looked at."""
        begin = max(0, begin)
        if begin >= self.count:
            return
        number = begin // STEP * STEP
        for data, size in _split(file, self._places[begin // STEP], self._read):
            if number >= begin:
                yield Line(number, data, size)
            number += 1

    def find(
        self,
        file: int,
        pattern: re.Pattern[bytes],
        begin: int = 0,
        end: int | None = None,
        hints: Hints | None = None,
    ) -> Iterator[int]:
        """The numbers of the lines from `begin` to before `end` in whose first `LONGEST` bytes the pattern is found.
        The text is searched a MiB at a time, and only where it may match line by line. `hints` say where: a pattern of
        several words takes ten seconds for a million lines without them, and half a second with them."""
        end = self.count if end is None else min(end, self.count)
        begin = max(0, begin)
        if begin >= end:
            return
        roughly = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
        number = begin // STEP * STEP
        for block in _read_blocks(file, self._places[begin // STEP], self._read):
            if hints is not None:
                found = _find_by_hints(block, hints, pattern, number, begin)
            else:
                found = _find_in_block(block, roughly, pattern, number, begin)
            yield from (each for each in found if each < end)
            number += block.count(b"\n")
            if number >= end:
                return


def _find_by_hints(block: bytes, hints: Hints, pattern: re.Pattern[bytes], number: int, begin: int) -> Iterator[int]:
    """`number`: of the block's first line."""
    text = block.lower() if hints.folds else block
    starts = {0}  # it has no newline before it, which a hint may want
    for hint in hints.texts:
        place = text.find(hint)
        while place >= 0:
            starts.add(block.rfind(b"\n", 0, place + 1) + 1)
            stop = block.find(b"\n", place + 1)
            place = text.find(hint, stop) if stop >= 0 else -1
    counted = 0
    for start in sorted(starts):
        number += block.count(b"\n", counted, start)
        counted, stop = start, block.find(b"\n", start)
        line = block[start : min(len(block) if stop < 0 else stop, start + LONGEST)]
        if number >= begin and start < len(block) and pattern.search(line):
            yield number


def _find_in_block(
    block: bytes, roughly: re.Pattern[bytes], pattern: re.Pattern[bytes], number: int, begin: int
) -> Iterator[int]:
    """`number`: of the block's first line. `roughly` may match across lines, so each line it touches is asked again."""
    place = counted = 0
    while place < len(block) and (found := roughly.search(block, place)):
        start = block.rfind(b"\n", place, found.start()) + 1 or place
        while start < min(len(block), max(found.end(), found.start() + 1)):
            stop = block.find(b"\n", start)
            stop = len(block) if stop < 0 else stop
            number += block.count(b"\n", counted, start)
            counted = start
            if number >= begin and pattern.search(block[start : min(stop, start + LONGEST)]):
                yield number
            start = stop + 1
        place = start


def _read_blocks(file: int, place: int, end: int) -> Iterator[bytes]:
    """Whole lines, about a MiB of them at a time; of a line that is longer than a block, what is behind its first
    `LONGEST` bytes is left out."""
    kept = b""
    while place < end and (chunk := os.pread(file, min(_CHUNK, end - place), place)):
        place += len(chunk)
        last = chunk.rfind(b"\n") + 1
        if not last:
            kept += chunk[: max(0, LONGEST - len(kept))]
            continue
        yield kept + chunk[:last]
        kept = chunk[last:]
    if kept:
        yield kept


def _split(file: int, place: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Each line with its size; a long one is never whole in memory. Who reads one line reads little."""
    kept, size, most = b"", 0, _LEAST
    while place < end and (chunk := os.pread(file, min(most, end - place), place)):
        place += len(chunk)
        most = min(2 * most, _CHUNK)
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield _add(kept, part), size + len(part)
            kept, size = b"", 0
        kept, size = _add(kept, rest), size + len(rest)
    if size:
        yield kept, size


def _add(kept: bytes, part: bytes) -> bytes:
    """What is kept of a line: its beginning; of a progress bar, which begins anew at each carriage return, its end."""
    if not kept:
        part = part.lstrip(b"\0")  # the zeros of what the node has left out of a log that was too large
    if len(kept) + len(part) > LONGEST and b"\r" in part[:-1]:
        return (kept + part)[-LONGEST:].partition(b"\r")[2]
    return kept + part[: LONGEST - len(kept)]
