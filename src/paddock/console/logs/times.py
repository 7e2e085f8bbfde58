"""How many lines of a log had begun by each of its marks; what was counted once is not read again."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from paddock.history.log_shelf import OpenLog
from paddock.kube.times import Moment

_NOTE = "times"
_CHUNK = 2**20


@dataclass(slots=True)
class Timeline:
    """`lines[i]` lines of the log had begun by `times[i]`."""

    lines: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    _marks: int = 0
    _upto: int = 0
    _newlines: int = 0
    _inside: bool = False
    """The byte before `_upto` is in a line."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def update(self, log: OpenLog) -> None:
        """Raises OSError."""
        with self._lock:
            marks = log.read_marks(self._marks)
            for offset, time in zip(marks.offsets, marks.times, strict=True):
                # The log may have grown since it was opened: its readers know nothing of these lines yet.
                if not self._count(log, offset) or self._newlines + self._inside > log.count:
                    return
                self._marks += 1
                self.lines.append(self._newlines + self._inside)
                self.times.append(max(time, self.times[-1]) if self.times else time)

    def find(self, line: int) -> Moment | None:
        """When the line with this number, from 0, was printed; None for one that no mark covers."""
        place = bisect_right(self.lines, line)
        return self.times[place] if place < len(self.lines) else None

    def _count(self, log: OpenLog, offset: int) -> bool:
        """Whether the log has so many bytes."""
        while self._upto < offset:
            data = log.read_bytes(self._upto, min(_CHUNK, offset - self._upto))
            if not data:
                return False
            self._upto += len(data)
            self._newlines += data.count(b"\n")
            self._inside = not data.endswith(b"\n")
        return True


def read_timeline(log: OpenLog) -> Timeline:
    """The times of a log, as far as it is marked. Raises OSError."""
    found = log.notes.setdefault(_NOTE, Timeline())
    assert isinstance(found, Timeline)
    found.update(log)
    return found


def read_times(log: OpenLog, lines: Iterable[int]) -> list[Moment | None]:
    """When these lines of a log were printed; None where nobody noted it. Raises OSError."""
    timeline = read_timeline(log)
    return [timeline.find(line) for line in lines]
