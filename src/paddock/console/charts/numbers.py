"""The numbers in the log of one rank in one attempt, read as it grows: only what was added is read. Pure.

Memory stays bounded: a series that has become long is thinned, its extremes are kept (`charts.thin`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from paddock.console.charts.thin import thin
from paddock.history.log_index import Line
from paddock.logs.epochs import Epochs, Position
from paddock.logs.line_tokens import without_colours
from paddock.logs.metric_lines import MetricLines, Piece, Place
from paddock.logs.nearest_line import Nearest, find_nearest
from paddock.logs.printed_lines import LONGEST_LINE, LineReader, may_have_progress
from paddock.logs.progress import METRICS as TRAINED
from paddock.logs.progress import Progress
from paddock.words.phrases import Phrase

METRICS = (*TRAINED, "speed")
OWN = "own:"
"""Before the names of all other series, as a program calls them."""
MOST_OWN = 40
"""Of one log; the first that it has."""
MEASURED = "measured"
"""The series of steps a second for a program that prints steps and no speed."""
_SHORTEST_LOOK = 10.0
"""Seconds: a launcher passes on the lines of its ranks by the second, so a shorter time tells of that alone."""
_LONGEST_SERIES = 20_000
_LONGEST_OWN = 4_000
"""There may be `MOST_OWN` of them for each log: together no more than 7 MB."""
_LONGEST_TEXT = 200
_COLUMNS = ("lines", "places", "epochs", "steps", "ends", "values")
_BATCH = 1_000
_MOST_UNREAD = 100


class Origin(NamedTuple):
    """A line that a number was read from."""

    number: int
    """In the log, from 0; -1 of one that was written to PADDOCK_METRICS."""
    place: int
    text: str
    unit: str


@dataclass(slots=True)
class Series:
    """The readings of one number."""

    lines: array[int] = field(default_factory=lambda: array("q"))
    """The number of each line in the log, from 0."""
    places: array[int] = field(default_factory=lambda: array("q"))
    """Where each line begins in the file, in bytes."""
    epochs: array[float] = field(default_factory=lambda: array("d"))
    """Of its `Position`, as the next two; NaN where none is known."""
    steps: array[float] = field(default_factory=lambda: array("d"))
    ends: array[int] = field(default_factory=lambda: array("b"))
    values: array[float] = field(default_factory=lambda: array("d"))
    text: str = ""
    """The line that the last one was read from."""
    unit: str = ""

    def add(self, origin: Origin, at: Position, value: float, most: int = _LONGEST_SERIES) -> None:
        """`most`: as many readings are kept at most."""
        self.lines.append(origin.number)
        self.places.append(origin.place)
        self.epochs.append(math.nan if at.epoch is None else at.epoch)
        self.steps.append(math.nan if at.step is None else at.step)
        self.ends.append(at.ends)
        self.values.append(value)
        self.text, self.unit = origin.text[:_LONGEST_TEXT], origin.unit
        if len(self.values) >= most:
            self._thin(most // 2)

    def copy(self) -> Series:
        return replace(self, **{name: getattr(self, name)[:] for name in _COLUMNS})

    def _thin(self, most: int) -> None:
        kept = thin(self.values, most)
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, [column[place] for place in kept]))


@dataclass(slots=True)
class LogNumbers:
    """The numbers of one log."""

    series: dict[str, Series] = field(default_factory=dict)
    printed: Epochs = field(default_factory=Epochs)
    noted: Epochs = field(default_factory=Epochs)  # of what was written to PADDOCK_METRICS
    read: int = 0  # lines that were read
    offset: int = 0  # the bytes of the lines that were read
    written: Place = field(default_factory=Place)  # up to where PADDOCK_METRICS was read
    _reader: LineReader = field(default_factory=LineReader)
    _lines: MetricLines = field(default_factory=MetricLines)
    _on_purpose: set[str] = field(default_factory=set)  # of series that were written to PADDOCK_METRICS
    _unread: list[str] = field(default_factory=list)  # the first lines with a word of a metric
    _mark: tuple[float, Position] | None = None

    def add(self, number: int, data: bytes, size: int | None = None) -> None:
        """A line that has ended, of `size` bytes if `data` is not all of it. The states of a bar that draws itself anew
        (carriage returns) are readings, too."""
        self.read, place = number + 1, self.offset
        self.offset += (len(data) if size is None else size) + 1
        line = data.decode("utf-8", "replace")
        if not self._reader.may_read(line):
            return
        for text in line.split("\r"):
            if (found := self._reader.read(text)) is not None:
                origin = Origin(number, place, without_colours(text).strip(), found.unit)
                self.printed, at = self.printed.read(found)
                self._take(origin, at, found, self._names_printed)
                for name, value in (*found.others.items(), *found.asides.items()):
                    if OWN + name not in self._on_purpose:
                        self._add_own(OWN + name, origin, at, value)
        if not self.series and len(self._unread) < _MOST_UNREAD and may_have_progress(line):
            self._unread.append(line[: 2 * LONGEST_LINE])

    def copy(self) -> LogNumbers:
        """What was read until now, for who draws it."""
        series = {name: each.copy() for name, each in self.series.items()}
        return replace(self, series=series, _on_purpose=set(self._on_purpose))

    def add_written(self, piece: Piece) -> None:
        """What was added to PADDOCK_METRICS. A name that is written there is not read from printed lines any more. Of a
        file that was cut, or replaced, what it says now is drawn, as for who looks for the first time."""
        if piece.anew:
            self._forget_written()
        self.written = piece.place
        for found in self._lines.feed(piece.data):
            names = {name for name in METRICS if getattr(found, name) is not None} - self._on_purpose
            self._on_purpose |= names
            for name in names:
                self.series.pop(name, None)
            origin = Origin(-1, self.offset - 1, "", found.unit)
            self.noted, at = self.noted.read(found)
            self._take(origin, at, found, self._on_purpose)
            for name, value in found.others.items():
                if OWN + name not in self._on_purpose:
                    self.series.pop(OWN + name, None)
                if self._add_own(OWN + name, origin, at, value):
                    self._on_purpose.add(OWN + name)

    def _forget_written(self) -> None:
        self._lines, self.noted = MetricLines(), Epochs()
        for name in self._on_purpose & self.series.keys():
            del self.series[name]
        self._on_purpose = {name for name in self._on_purpose if not name.startswith(OWN)}

    def _add_own(self, name: str, origin: Origin, at: Position, value: float) -> bool:
        """Whether there was room for it."""
        if name not in self.series and sum(each.startswith(OWN) for each in self.series) >= MOST_OWN:
            return False
        self.series.setdefault(name, Series()).add(origin, at, value, _LONGEST_OWN)
        return True

    def is_on_purpose(self, name: str) -> bool:
        """Whether the series was written to PADDOCK_METRICS."""
        return name in self._on_purpose

    @property
    def problem(self) -> Phrase | None:
        """Why a line of PADDOCK_METRICS was not read."""
        return self._lines.problem

    def _take(self, origin: Origin, at: Position, found: Progress, names: Collection[str]) -> None:
        for name in names:
            if (value := getattr(found, name)) is not None:
                self.series.setdefault(name, Series()).add(origin, at, value)

    def epochs_of(self, name: str) -> Epochs:
        """What tells where the readings of a series stand."""
        return self.noted if name in self._on_purpose else self.printed

    @property
    def _names_printed(self) -> Collection[str]:
        """Names that are read from printed lines."""
        return [name for name in METRICS if name not in self._on_purpose] if self._on_purpose else METRICS

    def find_nearest(self) -> Nearest | None:
        """The line that was nearest to a metric, of a log that has none."""
        return None if self.series else find_nearest(self._unread)

    def measure(self, now: float) -> None:
        """The steps a second since this was last asked, of a log that was read to its end; `now` in seconds. Nothing at
        the first time, nothing while no line comes, and nothing where steps went back."""
        before, last = self._mark, self._stand
        if last.step is None or (before and (before[1] is last or now - before[0] < _SHORTEST_LOOK)):
            return
        self._mark = (now, last)
        steps = _count_steps(before[1], last, self.printed.steps or self.noted.steps) if before else 0
        if before and steps > 0:
            series = self.series.setdefault(MEASURED, Series())
            series.add(Origin(self.read - 1, self.offset - 1, "", "it/s"), last, steps / (now - before[0]))

    @property
    def _stand(self) -> Position:
        """Where the training stands."""
        return self.printed.at if self.printed.at.step is not None else self.noted.at


def _count_steps(before: Position, after: Position, steps: int) -> int:
    """Between two lines; 0 where it is not known."""
    if before.step is None or after.step is None:
        return 0
    epochs = int(after.epoch or 0) - int(before.epoch or 0)
    if epochs and after.step <= before.step:
        return epochs * steps + after.step - before.step if steps else 0
    return after.step - before.step


def read_numbers(
    numbers: LogNumbers, walk: Callable[[int], Iterable[Line]], count: int, is_over: Callable[[], bool]
) -> None:
    """Reads on in a log with `count` lines that have ended, or until the time `is_over`."""
    for line in walk(numbers.read):
        if line.number >= count or (line.number % _BATCH == 0 and is_over()):
            return
        numbers.add(line.number, line.data, line.size)
