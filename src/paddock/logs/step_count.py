"""How many steps a training has told since its first reading. Pure.

A reading is what a line says, printed (`printed_lines`) or written (`metric_lines`). Programs count steps of the whole
training or of each epoch, from any number; some tell epochs alone, some a loss and no place. So what is counted are
steps beyond the first reading: the difference of two numbers, one where the count begins anew or an epoch follows, and
without any number one for each line. Lines of an evaluation alone count nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.logs.progress import Progress


@dataclass(frozen=True, slots=True)
class StepCount:
    """What one rank has told in one attempt."""

    first: Progress | None = None
    last: Progress | None = None
    steps: int = 0
    """Beyond the first reading."""
    climbed: int = 0
    """The same, of numbers higher than all before in their epoch alone."""
    highest: int | None = None
    epochs: int = 0
    """Beyond the first reading."""
    lines: int = 0
    """Readings without the number of a step or an epoch, beyond the first reading."""

    def read(self, found: Progress) -> StepCount:
        """After the next reading."""
        if not found.trains and found.epoch is None:
            return self
        if self.first is None or self.last is None:
            return replace(self, first=found, last=found, highest=found.step)
        before, counted = self.last, replace(self, last=_join(self.last, found))
        if found.epoch is None and found.step is None:
            return replace(counted, lines=self.lines + 1)
        later = found.epoch is not None and before.epoch is not None and found.epoch > before.epoch
        steps = self.steps + _count(before.step, found.step, begins=later)
        return replace(counted, steps=steps, epochs=self.epochs + int(later))._climb(found.step, begins=later)

    def _climb(self, step: int | None, *, begins: bool) -> StepCount:
        if step is None:
            return self
        if begins or self.highest is None:
            return replace(self, highest=step, climbed=self.climbed + int(begins))
        return replace(self, highest=max(step, self.highest), climbed=self.climbed + max(0, step - self.highest))

    def note_change(self) -> StepCount:
        """After numbers that came without their place, and differ from those before."""
        if self.first is None:
            return replace(self, first=Progress(), last=Progress())
        return replace(self, lines=self.lines + 1)

    def count(self, processes: int = 1) -> int:
        """Steps beyond the first reading. `processes`: of a pod, each of which may print the same line. Of several, a
        number that falls may be another's and is no step."""
        steps = self.climbed if processes > 1 else self.steps
        return steps or self.lines // max(1, processes)

    def has_done(self, wanted: int, processes: int = 1) -> bool:
        """Whether so many steps were told beyond the first one; a whole epoch is enough."""
        return self.epochs > 0 or self.count(processes) >= wanted


def _count(before: int | None, now: int | None, *, begins: bool) -> int:
    """`begins`: an epoch has begun between the two."""
    if before is None or now is None:
        return int(begins)
    return now - before if now > before else int(begins or now < before)


def _join(before: Progress, found: Progress) -> Progress:
    """The last reading, with the place of an earlier line where it has none."""
    epoch = before.epoch if found.epoch is None else found.epoch
    step = before.step if found.step is None and found.epoch is None else found.step
    return replace(found, epoch=epoch, step=step)
