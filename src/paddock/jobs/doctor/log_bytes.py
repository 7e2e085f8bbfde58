"""The bytes of a log, in pieces as they are read -> the launchers in it. Pure."""

from __future__ import annotations

from paddock.jobs.doctor.launch_block import LaunchLog, LogReader

_LONGEST = 1 << 20


class LogBytes:
    """`size`: bytes so far. More may be fed after `build`, as a log grows; a line that has no end yet is not read."""

    def __init__(self) -> None:
        self.reader = LogReader()
        self.size = 0
        self._open = b""

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        *whole, self._open = (self._open + chunk).split(b"\n")
        self._open = self._open[-_LONGEST:]  # no line, but a bar that is drawn over for hours
        self.reader.feed(line.decode("utf-8", "replace") for line in whole)

    def build(self) -> LaunchLog:
        """The last launcher: a container that was started again has several."""
        found = self.reader.build()
        return found[-1] if found else LaunchLog()

    def end(self) -> LaunchLog:
        """With a last line that has no end."""
        if self._open:
            self.reader.feed([self._open.decode("utf-8", "replace")])
            self._open = b""
        return self.build()
