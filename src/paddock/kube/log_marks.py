"""When the lines of a log were printed: marks beside the log, as most programs write no times. Pure.

    <directory>/NAMESPACE_POD_UID/CONTAINER/N.log       what was printed
    <directory>/NAMESPACE_POD_UID/CONTAINER/N.times     its marks, 16 bytes each

A mark is a size and a time: what stands before this byte had been printed by then. The node writes them while a program
prints, and who copies the log of a Kubernetes writes them from the times of its lines. Neither knows the history, which
reads them; what they share is here.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct

from paddock.kube.times import Moment

SUFFIX = ".times"
_MARK = Struct("<qd")
MARK_BYTES = _MARK.size
MOST_BYTES = 64 * 2**20
"""That are read of a file of marks: four million."""
_FEW_BYTES = 2**16
"""The marks of half an hour in which a program prints all the time."""


@dataclass(frozen=True, slots=True)
class Marks:
    """When the parts of a log were printed."""

    offsets: Sequence[int] = field(default_factory=lambda: array("q"))  # in bytes; they grow
    times: Sequence[Moment] = field(default_factory=lambda: array("d"))  # they never go back

    def __len__(self) -> int:
        return len(self.offsets)

    def time_of(self, offset: int) -> Moment | None:
        """When the byte at `offset` had been printed; None where that is not known."""
        place = bisect_right(self.offsets, offset)
        return self.times[place] if place < len(self.times) else None

    def offset_since(self, moment: Moment) -> int:
        """Where the part begins that may have been printed at `moment` or later, in bytes: what stands before it had
        been printed earlier. 0 without marks."""
        place = bisect_left(self.times, moment)
        return self.offsets[place - 1] if place else 0


def find_offset(read: Callable[[int, int], bytes], end: int, size: int, moment: Moment) -> int | None:
    """`Marks.offset_since` of a log of `size` bytes; None where no marks are, or those of another log. `read`: so many
    bytes of the file of marks from a place on; `end`: its size.

    The marks are read from their end, as a log of weeks has millions, and somebody asks for its last minutes."""
    end, most = end // MARK_BYTES * MARK_BYTES, _FEW_BYTES
    while True:
        begin = max(0, end - most)
        marks = read_marks(read(end - begin, begin))
        if not begin or most >= MOST_BYTES or (len(marks) and marks.times[0] < moment):
            break
        most *= 8
    # A program may have cut its log, and marks that were torn by a full disk may say anything.
    return marks.offset_since(moment) if len(marks) and marks.offsets[-1] <= size else None


class MarkReader:
    """The marks of a log of `size` bytes in its order, from `offset` on, one block of them in memory. `read` and `end`:
    as of `find_offset`; `read` may find more at each call, as a program goes on."""

    def __init__(self, read: Callable[[int, int], bytes], end: int, size: int, offset: int) -> None:
        self._read = read
        self._marks = Marks()
        count = end // MARK_BYTES
        # Marks beyond the end are of a log that its program has cut since: nothing is known of this one.
        self._known = not count or self._offset_at(count - 1) <= size
        self._place = self._find(count, offset) * MARK_BYTES

    def time_of(self, offset: int) -> Moment | None:
        """`Marks.time_of`, of offsets that grow from call to call."""
        while (found := self._marks.time_of(offset)) is None and self._known:
            data = self._read(_FEW_BYTES, self._place)
            whole = len(data) // MARK_BYTES * MARK_BYTES
            if not whole:
                return None
            self._place += whole
            self._marks = read_marks(data[:whole])
        return found

    def _offset_at(self, number: int) -> int:
        return int(_MARK.unpack(self._read(MARK_BYTES, number * MARK_BYTES))[0])

    def _find(self, count: int, offset: int) -> int:
        """The number of the first mark behind `offset`."""
        low, high = 0, count if self._known else 0
        while low < high:
            middle = (low + high) // 2
            if self._offset_at(middle) > offset:
                high = middle
            else:
                low = middle + 1
        return low


def write_mark(offset: int, time: Moment) -> bytes:
    return _MARK.pack(offset, time)


def read_marks(data: bytes) -> Marks:
    """The marks in a file that may have been cut anywhere: what is no mark, or is out of order, is left out."""
    offsets, times = array("q"), array("d")
    for offset, time in _MARK.iter_unpack(data[: len(data) // MARK_BYTES * MARK_BYTES]):
        if offset > (offsets[-1] if offsets else 0) and math.isfinite(time):
            offsets.append(offset)
            times.append(max(time, times[-1]) if times else time)
    return Marks(offsets, times)
