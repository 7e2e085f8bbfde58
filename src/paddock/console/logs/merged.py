"""The lines of several ranks as one log, in the order of their times; any of its lines is found without the others.

A run of lines of one rank that share a mark is a stretch; stretches are put in order, and a line's number in the merged
log is the sum of those before. What was put in order stays so while the logs grow, but for lines that come late.
Lines that no mark covers come last: those of the last half second, and those of a log of which nobody noted the times.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate

from paddock.console.backend import Logs
from paddock.console.logs.lanes import Lane
from paddock.console.logs.times import Timeline, read_timeline
from paddock.history.log_index import Line
from paddock.history.log_shelf import OpenLog
from paddock.kube.times import Moment

MOST = 100
"""Ranks in one merged log."""
_NOTE = "merged"

Stretch = tuple[Moment, int, int, int]
"""The time, the place of the rank's lane, its first line, and how many."""


@dataclass(slots=True)
class Order:
    """The stretches of some logs, as far as they are marked. Pure, and not for two threads at once."""

    stretches: list[Stretch] = field(default_factory=list)
    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    """The merged number of each stretch's first line, and the count of all."""
    _taken: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By lane: marks and lines."""

    @property
    def count(self) -> int:
        return self.starts[-1]

    def update(self, timelines: Sequence[Timeline]) -> None:
        fresh = sorted(stretch for lane, each in enumerate(timelines) for stretch in self._take(lane, each))
        if not fresh:
            return
        keep = bisect_right(self.stretches, fresh[0])
        fresh = sorted([*self.stretches[keep:], *fresh]) if keep < len(self.stretches) else fresh
        del self.stretches[keep:]
        del self.starts[keep + 1 :]
        for stretch in fresh:
            self.stretches.append(stretch)
            self.starts.append(self.starts[-1] + stretch[3])

    def _take(self, lane: int, timeline: Timeline) -> Iterator[Stretch]:
        marks, lines = self._taken.get(lane, (0, 0))
        for place in range(marks, len(timeline.lines)):
            if timeline.lines[place] > lines:
                yield timeline.times[place], lane, lines, timeline.lines[place] - lines
                lines = timeline.lines[place]
        self._taken[lane] = (len(timeline.lines), lines)

    def place(self, lane: int, line: int, timeline: Timeline) -> int | None:
        """The merged number of a lane's line; None of one that has no time yet. `timeline`: the lane's."""
        if line >= self.covered(lane):
            return None
        mark = bisect_right(timeline.lines, line)
        first = timeline.lines[mark - 1] if mark else 0
        found = bisect_left(self.stretches, (timeline.times[mark], lane, first, 0))
        return self.starts[found] + line - first

    def covered(self, lane: int) -> int:
        """Lines of a lane that have a time."""
        return self._taken.get(lane, (0, 0))[1]


def find_lines(starts: Sequence[int], stretches: Sequence[Stretch], begin: int, count: int) -> Iterator[Stretch]:
    """The parts of stretches that hold `count` merged lines from number `begin` on. Pure."""
    for place in range(max(0, bisect_right(starts, begin) - 1), len(stretches)):
        start, stretch = starts[place], stretches[place]
        if start >= begin + count:
            return
        time, lane, first, size = stretch
        skipped = max(0, begin - start)
        yield time, lane, first + skipped, min(size, begin + count - start) - skipped


@dataclass(frozen=True, slots=True)
class MergedPart:
    """Some lines of all logs together, in the order of their times."""

    lines: Sequence[tuple[Lane, Line, Moment | None]] = ()
    """Each with its lane and its time; None where that is not known."""
    begin: int = 0
    """The merged number of the first of them."""
    count: int = 0
    """Of all lines."""
    unknown: Sequence[str] = ()
    """Ranks none of whose lines have a time."""


def read_merged(logs: Logs, lanes: Sequence[Lane], begin: int, count: int) -> MergedPart:
    """`count` lines of these lanes, `MOST` at most; a negative `begin` counts from the end. In a thread."""
    with ExitStack() as held:
        opened = _open(held, logs, lanes)
        return _read(opened, begin, [(begin, count)]) if opened else MergedPart()


def read_merged_some(logs: Logs, lanes: Sequence[Lane], numbers: Sequence[int]) -> MergedPart:
    """The lines with these merged numbers, which need not follow each other; otherwise as `read_merged`."""
    with ExitStack() as held:
        opened = _open(held, logs, lanes)
        return _read(opened, 0, [(max(0, number), 1) for number in numbers]) if opened else MergedPart()


def place_lines(logs: Logs, lanes: Sequence[Lane], wanted: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """`wanted`: numbers of lines, by rank -> their merged numbers; of ranks that cannot be read any more nothing. In a
    thread."""
    with ExitStack() as held:
        opened = _open(held, logs, lanes)
        if not opened:
            return {}
        lock, order = _find_order(opened)
        with lock:
            timelines = [read_timeline(log) for _, log in opened]
            order.update(timelines)
            starts = _find_rest_starts(_list_rest(order, opened), order.count)
            found: dict[str, list[int]] = {}
            for lane, (each, _) in enumerate(opened):
                behind = starts.get(lane, 0) - order.covered(lane)
                places = ((line, order.place(lane, line, timelines[lane])) for line in wanted.get(each.rank, ()))
                found[each.rank] = [behind + line if place is None else place for line, place in places]
            return found


def order_hits(placed: Mapping[str, Sequence[int]], most: int) -> tuple[list[int], bool]:
    """Hits of all ranks in their order, and whether there are more. `placed`: the merged numbers by rank, each in its
    order, of more than `most` hits one more. Behind the last hit of a rank that has more, hits of others are not the
    next ones. Pure."""
    cut = min((numbers[most] for numbers in placed.values() if len(numbers) > most), default=None)
    found = (number for numbers in placed.values() for number in numbers if cut is None or number < cut)
    return sorted(found), cut is not None


def _open(held: ExitStack, logs: Logs, lanes: Sequence[Lane]) -> list[tuple[Lane, OpenLog]]:
    opened: list[tuple[Lane, OpenLog]] = []
    for lane in lanes[:MOST]:
        try:
            if lane.log is not None:
                opened.append((lane, held.enter_context(logs.open(lane.log))))
        except OSError:  # removed meanwhile
            continue
    return opened


def _read(opened: Sequence[tuple[Lane, OpenLog]], begin: int, spans: Sequence[tuple[int, int]]) -> MergedPart:
    """`spans`: (merged number, count) each. The first one may be counted from the end."""
    lock, order = _find_order(opened)
    with lock:
        order.update([read_timeline(log) for _, log in opened])
        rest = _list_rest(order, opened)
        total = order.count + sum(stretch[3] for stretch in rest)
        start = max(0, begin if begin >= 0 else total + begin)
        found = [
            stretch
            for first, count in spans
            for stretch in (
                *find_lines(order.starts, order.stretches, max(first, start), count),
                *_find_in_rest(rest, order.count, max(first, start), count),
            )
        ]
        covered = [order.covered(place) for place in range(len(opened))]
    lines: list[tuple[Lane, Line, Moment | None]] = []
    for time, place, first, size in found:
        lane, log = opened[place]
        lines += [(lane, line, time if first < covered[place] else None) for line in log.read(first, size)]
    unknown = [lane.rank for place, (lane, log) in enumerate(opened) if log.count and not covered[place]]
    return MergedPart(lines, start, total, unknown)


def _find_order(opened: Sequence[tuple[Lane, OpenLog]]) -> tuple[threading.Lock, Order]:
    """Kept beside the first log: of the lanes that were merged last."""
    ids = tuple(lane.log.id for lane, _ in opened if lane.log)
    notes = [log.notes for _, log in opened]
    kept = notes[0].get(_NOTE)
    # A log that was cut has lost its notes: its lines are put in order anew, and so are the others'.
    if isinstance(kept, _Kept) and kept.ids == ids and all(note.get(_NOTE) is kept for note in notes):
        return kept.lock, kept.order
    fresh = _Kept(ids)
    for note in notes:
        note[_NOTE] = fresh
    return fresh.lock, fresh.order


@dataclass(slots=True)
class _Kept:
    ids: tuple[str, ...]
    order: Order = field(default_factory=Order)
    lock: threading.Lock = field(default_factory=threading.Lock)


def _list_rest(order: Order, opened: Sequence[tuple[Lane, OpenLog]]) -> list[Stretch]:
    """The lines that no mark covers, by when their logs were written last."""
    return sorted(
        (lane.log.modified if lane.log else 0.0, place, order.covered(place), log.count - order.covered(place))
        for place, (lane, log) in enumerate(opened)
        if log.count > order.covered(place)
    )


def _find_rest_starts(rest: Sequence[Stretch], before: int) -> dict[int, int]:
    """By lane: the merged number of the first of its lines that no mark covers."""
    starts = accumulate((stretch[3] for stretch in rest), initial=before)
    return {stretch[1]: start for stretch, start in zip(rest, starts, strict=False)}


def _find_in_rest(rest: Sequence[Stretch], before: int, begin: int, count: int) -> Iterator[Stretch]:
    starts = list(accumulate((stretch[3] for stretch in rest), initial=before))
    if count > 0 and begin + count > before and begin < starts[-1]:
        yield from find_lines(starts, rest, max(begin, before), begin + count - max(begin, before))
