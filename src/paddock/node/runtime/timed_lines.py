"""Writes before each line of a log when it had been printed, as a kubelet does for `kubectl logs --timestamps`. Pure.

A program writes into its log itself, so nobody sees the moment of a line. Known is by when each part of the log had
been printed, twice a second (`kube.log_marks`). A line has the time of the first mark behind its beginning: it was
begun then or at most half a second before, and lines of one half second have one time. What was printed after the
last mark has the time at which the file was last written. Times never go back, so clients that ask again from the
last time miss nothing (stern).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from paddock.kube.times import Moment, format_micro_time


class TimedLines:
    """A log that is read piece by piece. `time_of`: the time of the byte at an offset, where it is known."""

    def __init__(self, time_of: Callable[[int], Moment | None]) -> None:
        self._time_of = time_of
        self._begins = True
        self._latest: Moment = -math.inf
        self._stamp = b""

    def stamp(self, piece: bytes, offset: int, written: Moment) -> bytes:
        """The next piece, whose first byte stands at `offset`, with times. `written`: when the file was last
        written."""
        return b"".join(self._stamp_parts(piece, offset, written))

    def _stamp_parts(self, piece: bytes, offset: int, written: Moment) -> Iterator[bytes]:
        begin = 0
        while begin < len(piece):
            if self._begins:
                known = self._time_of(offset + begin)
                yield self._format(written if known is None else known)
            end = piece.find(b"\n", begin) + 1
            self._begins = end > 0
            yield piece[begin : end or len(piece)]
            begin = end or len(piece)

    def _format(self, moment: Moment) -> bytes:
        if moment > self._latest:
            self._latest = moment
            # Nine digits, as a kubelet has them (RFC3339NanoFixed).
            self._stamp = f"{format_micro_time(moment).removesuffix('Z')}000Z ".encode()
        return self._stamp
