"""What the ranks of a job printed in its attempts -> curves on one axis, with what was repeated after a restart. Pure.

The axis is the step of the whole training: where a program counts the steps of each epoch anew and says how many there
are, they are added up; where it does not say, the axis is the epoch (`place`; what a line tells of its place is read by
`logs.epochs`). Each attempt is a segment of its own, so a restart from a checkpoint draws no line back. What an attempt
printed beyond the point where the next one began was lost and done again: it is `repeated`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.console.charts.numbers import LogNumbers, Series
from paddock.console.charts.thin import MOST, average, thin
from paddock.kube.log_marks import Marks
from paddock.kube.times import Moment


@dataclass(frozen=True, slots=True)
class RankAttempt:
    """Whose log: `worker-1` in attempt 2."""

    rank: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a curve."""

    place: RankAttempt
    repeated: bool  # lost by a restart, and done again
    xs: Sequence[float]  # they grow
    ys: Sequence[float | None]  # None was printed as no number (`nan`)
    means: Sequence[float | None] | None = None  # of the readings that a point stands for; None where that is one each


@dataclass(frozen=True, slots=True)
class Summary:
    """One rank in one attempt, as a row of a table."""

    place: RankAttempt
    count: int
    lowest: float | None
    """None where no number was printed."""
    highest: float | None
    """None where no number was printed."""
    last: float
    """The last reading."""
    at: float
    wrong: int = 0
    """Readings that are no number."""
    line: int = -1
    """Of the log, from 0, where the last one was read; -1 of what was measured and not printed."""
    text: str = ""
    """That line."""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """The curves of one number."""

    metric: str  # loss, accuracy, speed, own:entropy, cpu, memory, gpu, gpu_memory
    axis: str  # step, epoch, reading, time (seconds since the start)
    segments: Sequence[Segment]
    summaries: Sequence[Summary]
    restarts: Mapping[int, float]  # where attempts after the first began


@dataclass(frozen=True, slots=True)
class Axis:
    """Where numbers stand in a chart of some logs."""

    kind: str  # step, epoch, reading
    first: int = 1  # the number of the first epoch: 1 where none has printed an epoch 0
    within: int = 0  # steps of an epoch
    adds_up: bool = False  # steps are counted anew in each epoch
    at_ends: bool = True  # a line without a step comes at the end of its epoch

    def place(self, epoch: float, step: float, ends: bool) -> float:
        """The one rule; NaN where the place is not known. `epoch`: as printed."""
        if ends and self.at_ends:
            step = self.within - (self.kind == "epoch")
        if self.kind == "epoch":
            return epoch + (step / self.within if self.within and step == step else 0.0)
        return step + ((epoch - self.first) * self.within if self.adds_up and epoch == epoch else 0.0)


def choose_axis(logs: Sequence[LogNumbers]) -> Axis:
    series = [each for log in logs for each in log.series.values()]
    told = [each for log in logs for each in (log.printed, log.noted)]
    steps, anew = max((each.steps for each in told), default=0), any(each.begins_anew for each in told)
    first = 0 if any(each.from_zero for each in told) else 1
    if not any(_has_numbers(each.steps) for each in series):
        return Axis("epoch" if any(_has_numbers(each.epochs) for each in series) else "reading", first)
    kind = "epoch" if anew and not steps else "step"
    within = steps or max(each.highest for each in told) + 1
    return Axis(kind, first, within, anew, anew and not any(each.within for each in told))


def place_on_axis(log: LogNumbers, name: str, axis: Axis) -> list[float]:
    """Where each reading of a series stands. One whose place is not known stands beside the one before."""
    series, base = log.series[name], log.epochs_of(name).base
    if axis.kind == "reading":
        return [float(place) for place in range(len(series.values))]
    begin = axis.first if base is None else base
    found: list[float] = []
    for epoch, step, ends in zip(series.epochs, series.steps, series.ends, strict=True):
        x = axis.place(epoch + begin, step, bool(ends))
        found.append(x if x == x else found[-1] if found else 0.0)
    return found


@dataclass(frozen=True, slots=True)
class Clock:
    """When lines were printed, by log. `start`: where the axis of time begins."""

    start: Moment
    marks: Mapping[RankAttempt, Marks]

    def place(self, place: RankAttempt, series: Series) -> list[float]:
        """Seconds since the start. A line that no mark tells of yet stands beside the one before."""
        marks = self.marks[place]
        found: list[float] = []
        for offset in series.places:
            time = marks.time_of(offset)
            found.append(found[-1] if time is None and found else (time or marks.times[-1]) - self.start)
        return found


def find_first_time(
    logs: Mapping[RankAttempt, LogNumbers], marks: Mapping[RankAttempt, Marks]
) -> dict[RankAttempt, Moment]:
    """When each log that has marks and numbers had its first number."""
    clock = Clock(0.0, marks)
    return {
        place: min(clock.place(place, series)[0] for series in log.series.values())
        for place, log in logs.items()
        if place in marks and log.series
    }


def build_chart(
    metric: str, logs: Mapping[RankAttempt, LogNumbers], most: int = MOST, clock: Clock | None = None
) -> Chart | None:
    """A chart of the logs that have this number, rank by rank as they come; None without any. With a `clock` by time,
    of the logs that it knows, else by step."""
    having = {place: log for place, log in logs.items() if metric in log.series and (not clock or place in clock.marks)}
    if not having:
        return None
    known = list(having.values())
    axis = choose_axis(known)
    xs = {
        place: clock.place(place, log.series[metric]) if clock else place_on_axis(log, metric, axis)
        for place, log in having.items()
    }
    if axis.kind == "reading" and not clock:
        xs = _put_behind(xs)
    segments = [
        segment
        for place, log in having.items()
        for segment in _cut(place, xs[place], log.series[metric].values, _find_next(place, xs), most)
    ]
    summaries = [_summarize(place, log.series[metric], xs[place]) for place, log in having.items()]
    attempts = sorted({place.attempt for place in having})
    restarts = {each: min(found[0] for place, found in xs.items() if place.attempt == each) for each in attempts[1:]}
    return Chart(metric, "time" if clock else axis.kind, segments, summaries, restarts)


def _put_behind(xs: Mapping[RankAttempt, Sequence[float]]) -> dict[RankAttempt, list[float]]:
    """Each attempt behind the one before: where lines say no place, what was done again is not known."""
    begins: dict[int, int] = {}
    behind = 0
    for attempt in sorted({place.attempt for place in xs}):
        begins[attempt] = behind
        behind += max(len(found) for place, found in xs.items() if place.attempt == attempt)
    return {place: [x + begins[place.attempt] for x in found] for place, found in xs.items()}


def _find_next(place: RankAttempt, xs: Mapping[RankAttempt, Sequence[float]]) -> float:
    """Where the first of the later attempts of this rank to go back began."""
    return min(
        (found[0] for other, found in xs.items() if other.rank == place.rank and other.attempt > place.attempt),
        default=math.inf,
    )


def _cut(place: RankAttempt, xs: Sequence[float], ys: Sequence[float], end: float, most: int) -> list[Segment]:
    """What counts, and what was lost: the second begins at the last point of the first, so no gap is seen. A program
    that goes back in one attempt would draw a line back: such points are left out of the curve."""
    forward = _list_forward(xs)
    kept = [place for place in forward if xs[place] < end]
    lost = [place for place in forward if xs[place] >= end]
    pieces = [(kept, False), ((kept[-1:] + lost) if lost else [], True)]
    return [_segment(place, repeated, xs, ys, places, most) for places, repeated in pieces if places]


def _list_forward(xs: Sequence[float]) -> list[int]:
    found: list[int] = []
    for place, x in enumerate(xs):
        if not found or x >= xs[found[-1]]:
            found.append(place)
    return found


def _segment(
    place: RankAttempt, repeated: bool, xs: Sequence[float], ys: Sequence[float], places: Sequence[int], most: int
) -> Segment:
    values = [ys[each] for each in places]
    kept = thin(values, most)
    shown = [places[each] for each in kept]
    means = [_known(each) for each in average(values, kept)] if len(kept) < len(values) else None
    return Segment(place, repeated, [xs[each] for each in shown], [_known(ys[each]) for each in shown], means)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _summarize(place: RankAttempt, series: Series, xs: Sequence[float]) -> Summary:
    numbers = [value for value in series.values if math.isfinite(value)]
    return Summary(
        place, len(series.values), min(numbers, default=None), max(numbers, default=None), series.values[-1], xs[-1],
        len(series.values) - len(numbers), series.lines[-1], series.text, series.unit,
    )  # fmt: skip


def _has_numbers(values: Sequence[float]) -> bool:
    return any(value == value for value in values)
