"""How far a training is, in percent, and how long it still takes: `Status.progress`, from successive readings. Pure.

A wrong number is worse than none, so a percentage is told only where it is known what it is of:

- `epoch 2/10` with `step 30/100`: most programs count the steps of each epoch anew, some count those of the whole
  training. Both fit for the first part of an epoch; until one of them does not, nothing is told (`_Steps`).
- A line that sums an epoch up, after lines with its steps: that epoch is done (`logs.epochs`).
- `epoch 2/10` alone: two epochs are done if it is printed once for each epoch, one is if more lines follow with it.
- `step 30/100` alone: the part that is done, until the steps begin anew. Then it was not the whole. With the number of
  an epoch, and without how many there are, it is that of the epoch.

The pace is that of this attempt, from its first reading on: the time that a program takes to start, and what an earlier
attempt had done, are not in it. `logs.progress` reads the lines; what Kubeflow's clients post is `posted_progress`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from paddock.jobs.model import JobProgress, Phase, Status
from paddock.kube.times import Moment
from paddock.logs.epochs import Epochs, Position
from paddock.logs.progress import METRICS, Progress

MOST_METRICS = 16
"""Names in a status: it is written again and again."""
LONGEST_NAME = 63
"""Characters of the name of a metric."""
_MOST_SECONDS = 10 * 365 * 86_400
"""A longer time is that of a pace that is not known yet."""
_WHOLE_PERCENT = 0.01
_LEAST = 1e-6
"""More than the error of a division: 29 of 100 are 29 percent."""


_TOTALS = {
    "steps": ("step", "steps"),
    "total_steps": ("step", "steps"),
    "max_steps": ("step", "steps"),
    "epochs": ("epoch", "epochs"),
    "total_epochs": ("epoch", "epochs"),
}
"""The name of a total -> the field of what it is the total of, and its own."""


_FIRST_LOOKS = 10.0
"""Seconds, until something is known."""


class _Steps(Enum):
    """What `step 30/100` is a part of."""

    UNKNOWN = "not known yet"
    OF_EPOCH = "of an epoch"
    OF_ALL = "of the whole training"
    OF_SOMETHING = "of a part whose number is not known"


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of the training of one attempt after some readings. A new attempt begins with a new one."""

    steps: _Steps = _Steps.UNKNOWN
    epochs: Epochs = field(default_factory=Epochs)
    of: int | None = None
    """Epochs of the training, as a line has said it."""
    within: bool = False
    """Lines come within an epoch, not at its end alone."""
    last: Progress | None = None
    first: tuple[Moment, float] | None = None
    """The first reading with a known part: when, and which part was done, 0 to 1."""
    now: tuple[Moment, float] | None = None
    """The last one."""
    metrics: Mapping[str, float] = field(default_factory=dict)

    def read(self, found: Progress, at: Moment) -> Track:
        """After the next reading. `at`: when the line was read; one that is the same as the last changes nothing."""
        if found == self.last:
            return self
        epochs, stand = self.epochs.read(found)
        within = self.within or _is_within(self.last, found)
        track = replace(self, epochs=epochs, of=found.epochs or self.of, within=within)
        placed = _place(track, found, stand)
        track = replace(track, steps=_judge_steps(track, placed), last=found, metrics=find_metrics(found))
        part = _find_part(track, placed, is_done=stand.ends and stand.step is not None)
        if part is None:
            return replace(track, first=None, now=None)
        # What was believed of the earlier readings is not so any more, or the training has gone back.
        begins = track.first is None or track.steps is not self.steps or part < track.first[1]
        # Of lines that were found together nobody knows when each was printed: the last of them is as old as it looks.
        begins = begins or (track.first is not None and at <= track.first[0])
        return replace(track, first=(at, part) if begins else track.first, now=(at, part))

    @property
    def progress(self) -> JobProgress | None:
        """None before a number was read."""
        if self.now is None:
            return JobProgress(metrics=self.metrics) if self.metrics else None
        part = self.now[1]
        return JobProgress(math.floor(part * 100 + _LEAST), _find_remaining(self.first, self.now), self.metrics)


def _find_remaining(first: tuple[Moment, float] | None, now: tuple[Moment, float]) -> int | None:
    """Seconds; None where less than a whole percent was done since the first reading, as the pace is not known then."""
    if first is None or now[1] - first[1] < _WHOLE_PERCENT or now[0] <= first[0]:
        return None
    seconds = (1 - now[1]) * (now[0] - first[0]) / (now[1] - first[1])
    return math.ceil(seconds - _LEAST) if seconds <= _MOST_SECONDS else None


def _place(track: Track, found: Progress, stand: Position) -> Progress:
    """With the epoch that is counted, and with the step of the line before, where the line says none."""
    base = track.epochs.base
    is_known = bool(track.of) and base is not None and stand.epoch is not None
    if found.step is None or (is_known and found.step != stand.step):
        found = replace(found, step=stand.step, steps=track.epochs.steps or None)
    return replace(found, epoch=int(stand.epoch or 0) + (base or 0), epochs=track.of) if is_known else found


def _is_within(last: Progress | None, found: Progress) -> bool:
    """Whether this line is not the only one of its epoch; an evaluation's leaves the loss as it was. A step without an
    end is counted within one."""
    again = (
        last is not None and last.epoch == found.epoch and (last.loss, last.accuracy) != (found.loss, found.accuracy)
    )
    return found.epoch is not None and (again or found.step is not None)


def _judge_steps(track: Track, found: Progress) -> _Steps:
    """What the steps are a part of, after `found`; `track.last` is the reading before."""
    known, last = track.steps, track.last
    if found.step is None or not found.steps or found.step > found.steps:
        return known
    if found.epochs and track.epochs.begins_anew:
        return _Steps.OF_EPOCH
    if known is _Steps.OF_SOMETHING:
        return known
    if found.epoch is None:
        begun_anew = last is not None and last.steps == found.steps and found.step < (last.step or 0)
        return _Steps.OF_SOMETHING if begun_anew or track.epochs.begins_anew else _Steps.OF_ALL
    if not found.epochs:
        return known if known is _Steps.OF_ALL and not track.epochs.begins_anew else _Steps.UNKNOWN
    if found.epochs == 1:
        return _Steps.OF_ALL
    if not _may_be_of_all(_count_done(track, found), found.step, found.steps, found.epochs):
        return _Steps.OF_EPOCH
    if last is not None and _goes_on(last, found):
        return _Steps.OF_ALL
    return known


def _may_be_of_all(done: int, step: int, steps: int, epochs: int) -> bool:
    """Whether step `step` of the whole training can be in the epoch after `done` ones. Programs count a step before or
    after it, and the last epoch may be a shorter one."""
    slack = max(2 * epochs / steps, 0.02)
    return done - slack <= step / steps * epochs <= done + 1 + slack


def _goes_on(last: Progress, found: Progress) -> bool:
    """Whether the steps went on into a later epoch, where they would have begun anew."""
    if last.epoch is None or found.epoch is None or last.step is None or found.step is None:
        return False
    # By one epoch: of a sample of the lines, the next one may stand further in a much later epoch.
    return found.steps == last.steps and found.epoch == last.epoch + 1 and found.step > last.step


def _count_done(track: Track, found: Progress) -> int:
    """Epochs before that of the line."""
    return max(0, (found.epoch or 0) - (0 if track.epochs.from_zero else 1))


def _find_part(track: Track, found: Progress, *, is_done: bool) -> float | None:
    """The part of the training that is done, 0 to 1; None where that is not known. `is_done`: the epoch is."""
    part = None
    if found.step is not None and found.steps and found.step <= found.steps:
        part = found.step / found.steps
        if track.steps is _Steps.OF_ALL:
            return part
        if track.steps is not _Steps.OF_EPOCH and not is_done:
            return None
    if found.epoch is None or not found.epochs:
        return None
    within = part if part is not None else 0.0 if track.within else 1.0
    done = _count_done(track, found) + (1.0 if is_done else within)
    return done / found.epochs if done <= found.epochs else None


# Metrics


def with_totals(found: Progress) -> Progress:
    """A line of PADDOCK_METRICS, in which the length of the training is a metric as all that is not known by name."""
    others, totals = dict(found.others), dict[str, int]()
    for name, (counted, total) in _TOTALS.items():
        number, done = others.get(name), getattr(found, counted)
        if number is not None and done is not None and number.is_integer() and 0 < number < 2**63:
            totals.setdefault(total, int(number))
            del others[name]
    return replace(found, others=others, **totals) if totals else found  # type: ignore[arg-type]


def find_metrics(found: Progress) -> dict[str, float]:
    """The numbers of a reading by their names: those that every training has come first."""
    own = {name: value for name in METRICS if (value := getattr(found, name)) is not None}
    return bound_metrics({**own, **found.others})


def bound_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """At most `MOST_METRICS`, of names that can be shown; a number that is not finite cannot be stored."""
    kept = {name: value for name, value in metrics.items() if _is_name(name) and math.isfinite(value)}
    return dict(list(kept.items())[:MOST_METRICS])


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


# What becomes of it


def join_progress(read: JobProgress | None, posted: JobProgress | None) -> JobProgress | None:
    """One of two: what the program has posted wins over what was read of its lines, number by number. The time that is
    left belongs to the percentage."""
    if read is None or posted is None:
        return posted or read
    of = posted if posted.percent is not None else read
    remaining = of.remaining if posted.remaining is None else posted.remaining
    return JobProgress(of.percent, remaining, bound_metrics({**posted.metrics, **_others(read, posted)}))


def _others(read: JobProgress, posted: JobProgress) -> dict[str, float]:
    return {name: value for name, value in read.metrics.items() if name not in posted.metrics}


def look_left(status: Status, wait: float) -> float | None:
    """Seconds until the operator looks again how far a job is: no object of the API tells of it. None where it does
    not. `wait`: `Settings.progress_wait`."""
    if not wait or status.phase is not Phase.RUNNING:
        return None
    return wait if status.progress is not None else min(wait, _FIRST_LOOKS)


def end_progress(progress: JobProgress | None, phase: Phase) -> JobProgress | None:
    """Of a job that has ended: how far it came, without a time that is left. One that is completed is so as a whole,
    whatever its last line says."""
    if progress is None:
        return None
    is_whole = phase is Phase.COMPLETED and progress.percent is not None
    return replace(progress, percent=100 if is_whole else progress.percent, remaining=None)
