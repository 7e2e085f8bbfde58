"""The bytes of a log, in pieces as they are read -> the launchers in it. Pure."""

from __future__ import annotations

from paddock.doctor.launch_block import LaunchLog, LogReader

_LONGEST = 1 << 20


class LogBytes:
    """`size`: bytes so far. More may be fed after `build`, as a log grows; a line that has no end yet is not read."""

    def __init__(self) -> None:
        self.reader = LogReader()
        self.size = 0
        self._open = b""
        self._cut = False

    def leave_out(self, size: int) -> None:
        """The next `size` bytes are not read, at least one line. Where that is not known, 0. The rest of a line on
        either side of them is left out as well."""
        lines = self.reader.count()
        mean = self.size / lines if lines else 100.0
        self._open, self._cut = b"", True
        self.reader.leave_out(max(1, round(size / mean)))

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self._cut:
            _, end, chunk = chunk.partition(b"\n")
            self._cut = not end
        *whole, self._open = (self._open + chunk).split(b"\n")
        self._open = self._open[-_LONGEST:]  # no line, but a bar that is drawn over for hours
        self.reader.feed(line.decode("utf-8", "replace") for line in whole)

    def build(self) -> LaunchLog:
        """The last launcher: a container that was started again has several."""
        found = self.reader.build()
        return found[-1] if found else LaunchLog()

    def end(self) -> LaunchLog:
        """The log, with a last line that has no end."""
        if self._open:
            self.reader.feed([self._open.decode("utf-8", "replace")])
            self._open = b""
        return self.build()
