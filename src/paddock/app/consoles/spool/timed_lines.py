"""A log as the API streams it with `timestamps=true` -> what the program printed, and marks of when. Pure.

    2026-11-22T22:00:13.123456789Z step 1 loss 0.5

A stream that broke is asked for again from the second of the last line (`sinceTime` knows whole seconds), so it begins
with lines that are there already. Lines of one container keep their order, and several may have one time: those up to
the `repeats`-th of the last line's time are left out. A log that was rotated meanwhile has no such line any more; then
what is more than a second younger is new in any case.

Of a line that is longer than `LONGEST` the beginning is kept, and how much was left out of it.

The runtime writes a long line in parts of 16 KiB (CRI), and a kubelet of Kubernetes 1.20 begins each of them with its
time, in the middle of the line; those are taken off too.
"""

from __future__ import annotations

import re

from paddock.kube.times import Moment, read_time

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ")
_LONGEST_STAMP = 40
_SECOND = 10**9
PART = 16 * 2**10
LONGEST = 2**20
"""Bytes of a line. A page shows 16 KiB of one."""
MARK_SECONDS = 0.01
"""Lines that were printed closer together share a mark."""


class TimedLines:
    """`size`: bytes of the log that are there, all of them whole lines. `last`: the time of their last line in
    nanoseconds since the epoch, 0 where there is none; `repeats`: lines of this time that are there."""

    def __init__(self, size: int = 0, last: int = 0, repeats: int = 0) -> None:
        self.size, self.last, self.repeats = size, last, repeats
        self.whole = size
        """Bytes up to the end of the last whole line; `last` and `repeats` are of these."""
        self.gap: tuple[Moment, Moment] | None = None
        """The times between which lines were lost, as the stream does not begin with the last one that is there."""
        self._resumed = (last, repeats) if last else None
        self._held = b""
        self._inside = self._skips = self._over = False
        self._column = 0
        """Bytes of the line's part that were taken."""
        self._length = 0
        """Of the line, without the times in it."""
        self._time = last
        self._second: tuple[bytes, bytes, int] = (b"", b"", 0)
        self._marked = 0.0

    def feed(self, chunk: bytes) -> tuple[bytes, list[tuple[int, Moment]]]:
        """What is to be added to the log, and its marks."""
        *ended, rest = (self._held + chunk).split(b"\n")
        self._held = b""
        out: list[bytes] = []
        marks: list[tuple[int, Moment]] = []
        for line in ended:
            self._take(line, True, out, marks)
        if self._inside or len(rest) >= _LONGEST_STAMP:
            self._take(rest, False, out, marks)
        else:
            self._held = rest
        return b"".join(out), marks

    def end(self) -> tuple[bytes, list[tuple[int, Moment]]]:
        """What was held back of a last line without a newline."""
        out: list[bytes] = []
        marks: list[tuple[int, Moment]] = []
        if self._held:
            held, self._held, self._over = self._held, b"", True
            self._take(held, False, out, marks)
        return b"".join(out), marks

    def _take(self, part: bytes, ends: bool, out: list[bytes], marks: list[tuple[int, Moment]]) -> None:
        """A line, its beginning, or what follows in it."""
        if not self._inside:
            part, self._column = self._begin(part), 0
        self._inside = not ends
        if self._column + len(part) > PART:
            part = self._join(part, ends)
        else:
            self._column += len(part)
        if self._skips:
            return
        part = self._shorten(part, ends)
        if ends:
            part += b"\n"
        out.append(part)
        self.size += len(part)
        if ends:
            self.repeats = self.repeats + 1 if self._time == self.last else 1
            self.last, self.whole = self._time, self.size
        if self._time:
            self._mark(marks)

    def _shorten(self, part: bytes, ends: bool) -> bytes:
        before, self._length = self._length, self._length + len(part)
        kept = part[: max(0, LONGEST - before)]
        if ends:
            left, self._length = self._length - LONGEST, 0
            kept += b" ... [%d bytes of this line are not copied]" % left if left > 0 else b""
        return kept

    def _join(self, text: bytes, ends: bool) -> bytes:
        """A line of several parts, without the times between them."""
        kept = []
        while text:
            if self._column == PART:
                if len(text) < _LONGEST_STAMP and not (ends or self._over):
                    self._held = text
                    break
                if found := _STAMP.match(text):
                    text = text[found.end() :]
                self._column = 0
            room = PART - self._column
            kept.append(text[:room])
            self._column += len(kept[-1])
            text = text[room:]
        return b"".join(kept)

    def _begin(self, part: bytes) -> bytes:
        found = _STAMP.match(part)
        if found is None:  # an error of the kubelet: it has no time of its own
            self._skips = self._resumed is not None
            return part
        self._time = self._read(found)
        self._skips = self._resumed is not None and self._is_there(*self._resumed)
        return part[found.end() :]

    def _is_there(self, last: int, left: int) -> bool:
        """Whether this line was copied before the stream broke."""
        if left == 0 or self._time > last + _SECOND:
            if left:
                self.gap = (last / _SECOND, self._time / _SECOND)
            self._resumed = None
            return False
        if self._time == last:
            self._resumed = (last, left - 1)
        return True

    def _read(self, found: re.Match[bytes]) -> int:
        second, zone = found[1], found[3]
        if (second, zone) != self._second[:2]:
            moment = read_time((second + zone).decode()) or 0
            self._second = (second, zone, int(moment) * _SECOND)
        return self._second[2] + int((found[2] or b"0").ljust(9, b"0"))

    def _mark(self, marks: list[tuple[int, Moment]]) -> None:
        moment = self._time / _SECOND
        if marks and moment - self._marked < MARK_SECONDS:
            marks[-1] = (self.size, marks[-1][1])
            return
        marks.append((self.size, moment))
        self._marked = moment
