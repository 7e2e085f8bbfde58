"""In which epoch, and at which of its steps, the numbers of a log stand. Pure.

Programs count the steps of each epoch anew or those of the whole training; a bar tells no epoch, the line that sums an
epoch up tells no step. One rule places all of them:

- A step stands in the epoch that its line says. Where none says it, epochs are counted: a count of steps that falls
  back is a new epoch. Which number the first one has is known once a line says it.
- A line with an epoch and no step tells of the whole epoch: it stands at its end.
- A line with neither stands where the training does.

What several processes print into one log, and bars of other lengths, are no new epochs. `console.charts.curves` draws
by it, `jobs.progress` reckons the part that is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.logs.progress import Progress

_ENOUGH = 3
"""Steps of an epoch that were told before its first one again is a new epoch, where no line says how many there are:
two processes may tell the first ones in turn."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a number stands."""

    epoch: float | None = None
    """From `Epochs.base` on; a part of an epoch where a program counts so."""
    step: int | None = None
    """As printed, or that of the line before."""
    ends: bool = False
    """The line tells of the whole epoch."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """What one log has told of its epochs so far."""

    at: Position = Position()
    """Where the training stands."""
    base: int | None = None
    """The number of epoch 0 of the positions, None where no line has said one."""
    from_zero: bool = False
    """An epoch 0 was printed."""
    begins_anew: bool = False
    """Steps are counted anew in each epoch."""
    within: bool = False
    """Lines without a step come within an epoch as well, not at its end alone."""
    steps: int = 0
    """Of an epoch, as far as the program says it."""
    highest: int = 0
    _rank: int | None = None
    _told: int = 0
    """Steps of this epoch, since its `_begin`."""
    _begin: int = 0
    _shift: int | None = None
    """What is added to the epochs of lines without a step: some programs count these from 1 and others from 0."""

    def read(self, found: Progress) -> tuple[Epochs, Position]:
        """After the next line, and where that stands."""
        if found.step is None or self._is_aside(found):
            return self._sum_up(found)
        return self._go_on(found, found.step)

    def _is_aside(self, found: Progress) -> bool:
        """Whether the step is another count than that of the training: of an evaluation, of a bar of another length."""
        if found.step is None or self.at.step is None:
            return False
        if found.epoch is None and found.steps and found.steps < self.steps:
            return True
        own = any(each is not None for each in (found.loss, found.accuracy, found.speed))
        evaluates = not own and (found.val_loss is not None or found.val_accuracy is not None)
        return evaluates and found.step < self.at.step

    def _go_on(self, found: Progress, step: int) -> tuple[Epochs, Position]:
        counted = int(self.at.epoch or 0) + self._falls_back(found, step)
        base = self.base if found.epoch is None or self.base is not None else found.epoch - counted
        epoch = counted if found.epoch is None or base is None else found.epoch - base
        position = Position(epoch, step)
        if found.rank is not None and self._rank not in (None, found.rank):
            return self, position
        later = self.at.epoch is not None and epoch > self.at.epoch
        told = replace(
            self, at=position, base=base, steps=max(self.steps, found.steps or 0), highest=max(self.highest, step),
            begins_anew=self.begins_anew or (later and self.at.step is not None and step <= self.at.step),
            within=self.within or (self.at.ends and self.at.step is not None and epoch == self.at.epoch),
            _rank=found.rank, _told=1 if later else self._told + 1,
            _begin=step if later or not self._told else self._begin,
        )  # fmt: skip
        return told._note_zero(), position

    def _falls_back(self, found: Progress, step: int) -> bool:
        before = self.at.step
        if found.epoch is not None or before is None or step >= before:
            return False
        if self.at.ends:
            return True
        is_whole = bool(self.steps) and before + 1 >= self.steps and before - step > 1
        return is_whole or (step <= self._begin and self._told >= _ENOUGH)

    def _sum_up(self, found: Progress) -> tuple[Epochs, Position]:
        """Places a line without a step of its own."""
        if found.epochs_done is not None:
            return self, Position(found.epochs_done - (self.base or 0), self.at.step)
        if found.epoch is None or found.step is not None:
            return self, self.at
        steps_told, stood = self.at.step is not None, int(self.at.epoch or 0)
        base, shift = self.base, self._shift
        if base is None:
            base = found.epoch - stood if steps_told else 0
        if shift is None and steps_told:
            apart = stood + base - found.epoch
            shift = apart if abs(apart) == 1 else 0
        position = Position(found.epoch + (shift or 0) - base, self.at.step, ends=True)
        is_past = self.at.epoch is not None and (position.epoch or 0) < self.at.epoch
        told = replace(self, at=self.at if is_past else position, base=base, _shift=shift)
        return told._note_zero(), position

    def _note_zero(self) -> Epochs:
        is_zero = self.base is not None and self.at.epoch is not None and self.at.epoch + self.base == 0
        return replace(self, from_zero=True) if is_zero and not self.from_zero else self
