"""The numbers of a training, as they stand in one line or last in a log: the values alone. Pure.

`printed_lines` reads them from what programs print, `metric_lines` from what they write to PADDOCK_METRICS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Progress:
    """The numbers of one line, or the last ones of a log."""

    epoch: int | None = None
    """As printed, counted from 0 or 1 as the program does."""
    epochs: int | None = None
    step: int | None = None
    """As printed, like `epoch`."""
    steps: int | None = None
    loss: float | None = None
    rank: int | None = None
    accuracy: float | None = None
    """Or the area under a curve (AUC); a percentage is divided by 100."""
    speed: float | None = None
    """Of `unit` a second."""
    unit: str = ""
    """`it/s`, `samples/s`, …; one that the program does not say is empty."""
    val_loss: float | None = None
    """Of an evaluation."""
    val_accuracy: float | None = None
    """Of an evaluation, like `accuracy`."""
    lr: float | None = None
    """The learning rate."""
    grad_norm: float | None = None
    """The norm of all gradients."""
    others: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Further numbers by their names as printed, at most `MOST_OTHERS`, all of them finite."""
    asides: Mapping[str, float] = field(default_factory=dict, hash=False, compare=False)
    """Times and memory of the line, like `others`, with the unit that was printed: `max mem`, `memory (GiB)`. Of one
    line alone: they are no metrics of a run, and nothing but the charts shows them."""
    epochs_done: float | None = field(default=None, repr=False)
    """In place of `epoch`, of a program that counts parts of epochs: 0.25."""

    @property
    def trains(self) -> bool:
        """Whether a number is the training's own; else an evaluation found them all."""
        return any(number is not None for number in (self.loss, self.accuracy, self.speed, self.step))


METRICS = ("loss", "val_loss", "accuracy", "val_accuracy", "lr", "grad_norm")
"""The fields of `Progress` that are numbers of the training itself."""
PLACES = ("epoch", "epochs_done", "epochs", "step", "steps")
MOST_OTHERS = 64
LONGEST_NAME = 64


def merge(before: Progress, found: Progress) -> Progress:
    """The last number of each name. A line of an evaluation alone leaves the training where it stood."""
    place = found if found.trains or before.epoch is None or before.loss is None else before
    kept = {name: getattr(found, name) for name in METRICS if getattr(found, name) is not None}
    others = {**before.others, **found.others}
    return replace(
        before,
        **{name: getattr(place, name) for name in PLACES},
        **kept,
        rank=before.rank if found.rank is None else found.rank,
        speed=before.speed if found.speed is None else found.speed,
        unit=before.unit if found.speed is None else found.unit,
        others=dict(list(others.items())[-MOST_OTHERS:]),
    )
