"""A line of a training program's log -> its progress, in the forms of PaddlePaddle's and PyTorch's examples.

    Worker 0: Epoch 1, Batch 100, Loss 0.5
    Epoch [10/100], Loss: 1.1248
    Epoch 3, Loss: 0.1234
    Epoch 3 loss 0.1234                         <- print("Epoch", epoch, "loss", loss)
    step12 cost=0.693100
    epoch 1  step 100/400  loss 0.5213          <- what Paddock's own programs print

A line that only resembles these forms is ignored: a wrong number on the screen is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The numbers of one line. `epoch` and `step` as printed, counted from 0 or 1 as the program does."""

    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    rank: int | None = None


_LOSS = r"(?P<loss>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|NaN|-?inf)"
_EPOCH = r"(?P<epoch>\d{1,9})"
_STEP = r"(?P<step>\d{1,12})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?:Worker (?P<rank>\d{{1,6}}): )?Epoch {_EPOCH}, Batch {_STEP}, Loss:? {_LOSS}",
        rf"Epoch \[{_EPOCH}/(?P<epochs>\d{{1,9}})\], (?:Step \[{_STEP}/(?P<steps>\d{{1,12}})\], )?Loss: {_LOSS}",
        rf"(?:Worker (?P<rank>\d{{1,6}}): )?Epoch {_EPOCH}, Loss:? {_LOSS}",
        rf"[Ee]poch:? {_EPOCH}(?:/(?P<epochs>\d{{1,9}}))?[,:]? +[Ll]oss ?[:=]? ?{_LOSS}",
        rf"step ?{_STEP} cost ?= ?{_LOSS}",
        rf"epoch {_EPOCH}(?:/(?P<epochs>\d{{1,9}}))? +step {_STEP}/(?P<steps>\d{{1,12}}) +loss {_LOSS}",
    )
)
_LONGEST_LINE = 400


def read_progress(line: str) -> Progress | None:
    """The progress in `line`, or None."""
    if "oss" not in line and "cost" not in line:  # of each form; a script may print a gigabyte
        return None
    text = line.strip()
    if len(text) > _LONGEST_LINE:
        return None
    for form in _FORMS:
        if match := form.fullmatch(text):
            groups = match.groupdict()
            counts = {
                name: int(groups[name]) for name in ("epoch", "epochs", "step", "steps", "rank") if groups.get(name)
            }
            return Progress(loss=float(groups["loss"]), **counts)
    return None
