"""What the ranks wrote down of their training (`--record` of examples/elastic), and what must hold of it.

The record has what every attempt trained on. A step that no checkpoint has is trained again by the next attempt, so of
each attempt those steps count that lie before the beginning of the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

_NAME = re.compile(r"attempt-(\d+)-rank-(\d+)\.txt")
_LOSS = re.compile(r"sample (\d+), ranks (\d+), loss: (\d+\.\d+)$")
_BEGUN = re.compile(r"(\d+) ranks go on at sample (\d+), loss (nan|\d+\.\d+)$")


@dataclass(frozen=True, slots=True)
class Step:
    """What one rank did of a step: its place in the order, how many ranks there were, and which places it took."""

    attempt: int
    rank: int
    position: int
    world: int
    places: tuple[int, ...]


def read_steps(directory: Path) -> list[Step]:
    """By attempt and position. A line that a kill has torn has no end, and is left out."""
    steps: list[Step] = []
    for path in directory.glob("attempt-*-rank-*.txt"):
        found = _NAME.fullmatch(path.name)
        assert found, path
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                position, world, *places = map(int, line.split())
                steps.append(Step(int(found[1]), int(found[2]), position, world, tuple(places)))
    return sorted(steps, key=lambda step: (step.attempt, step.position, step.rank))


def list_consumed(steps: Iterable[Step], end: int) -> list[int]:
    """The places that the checkpointed states have been trained on, sorted. `end`: the position of the last one."""
    by_attempt: dict[int, list[Step]] = {}
    for step in steps:
        by_attempt.setdefault(step.attempt, []).append(step)
    begun = {attempt: min(step.position for step in found) for attempt, found in by_attempt.items()}
    consumed: list[int] = []
    for attempt, found in sorted(by_attempt.items()):
        until = min([begun[later] for later in begun if later > attempt], default=end)
        consumed += [place for step in found if step.position < until for place in step.places]
    return sorted(consumed)


def assert_each_once(consumed: list[int], end: int) -> None:
    twice = sorted(place for place, times in Counter(consumed).items() if times > 1)
    missing = sorted(set(range(end)) - set(consumed))
    assert not twice, f"{len(twice)} samples were trained on twice, from {twice[:5]}"
    assert not missing, f"{len(missing)} samples were left out, from {missing[:5]}"
    assert len(consumed) == end


def read_losses(lines: Iterable[str]) -> list[tuple[int, float]]:
    """(samples, loss) of each checkpoint, in the order in which they were printed."""
    return [(int(found[1]), float(found[3])) for line in lines if (found := _LOSS.search(line))]


def read_beginnings(lines: Iterable[str]) -> list[tuple[int, int, float]]:
    """(ranks, samples, loss) of each attempt that began to train."""
    return [(int(found[1]), int(found[2]), float(found[3])) for line in lines if (found := _BEGUN.search(line))]


def assert_it_goes_on(lines: list[str]) -> None:
    """Each attempt begins with the loss of the checkpoint that it begins from, and no earlier than the last one that
    was printed before; what is trained again after a restart has the loss that it had."""
    at: dict[int, float] = {}
    last = 0
    for line in lines:
        if begun := next(iter(read_beginnings([line])), None):
            _, samples, loss = begun
            assert samples >= last, f"an attempt began at sample {samples}, after a checkpoint at {last}"
            assert samples == 0 or samples not in at or loss == at[samples], (samples, loss, at[samples])
        for samples, loss in read_losses([line]):
            before = at.setdefault(samples, loss)
            assert abs(before - loss) <= 0.01 * before, f"sample {samples} had the loss {before}, and {loss} again"
            last = max(last, samples)


def assert_it_falls(losses: list[tuple[int, float]]) -> None:
    """By the medians of the run's quarters: none is above the one before by more than the noise of the data, and the
    last is below the first one, and below half of the first loss. Undisturbed, the loss is level from 5,000 samples to
    20,000, where a slow machine's run may end: a quarter rises there by 0.004 at most."""
    values = [loss for _, loss in sorted(dict(losses).items())]
    quarter = len(values) // 4
    assert quarter >= 3, f"{len(values)} checkpoints are too few to see a trend"
    medians = [median(values[begin : begin + quarter]) for begin in range(0, 4 * quarter, quarter)]
    noise = 0.01
    falls = all(later < earlier + noise for earlier, later in pairwise(medians))
    low = medians[-1] < min(medians[0], values[0] / 2)
    assert falls and low, f"the loss does not fall from {values[0]}: {medians}"
