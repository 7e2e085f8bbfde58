"""A long run of `judge` over all readers, measured, with inputs as long as a client may send them.

Each round has its own seed, and gives the same inputs again. An input that fails is made as short as it can be by
Hypothesis, and kept in a file of its own, which `replay` tries again.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.database import InMemoryExampleDatabase

from apiserver.fuzz.judging import judge
from apiserver.fuzz.targets import TARGETS

_EXAMPLES = 50
"""Of one round."""
_SIZES = (100, 4_000, 100_000, 3_000_000)
_PHASES = (Phase.generate, Phase.shrink)


class _Input:
    """Bytes that Hypothesis does not print: there may be millions."""

    def __init__(self, data: bytes) -> None:
        self.data = data


@dataclass(frozen=True, slots=True)
class Failed:
    target: str
    seed: int
    data: bytes
    why: str

    def keep(self, folder: Path) -> Path:
        """The file that it is kept in, from which `replay` reads it."""
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub("[^a-z]+", "-", self.target.lower())
        path = folder / f"{name}.{sha256(self.data).hexdigest()[:12]}"
        path.write_bytes(self.data)
        return path


def replay(path: Path) -> None:
    """Raises what the input of a file does."""
    name = path.name.partition(".")[0]
    target = next(each for each in TARGETS if re.sub("[^a-z]+", "-", each.lower()) == name)
    judge(TARGETS[target], path.read_bytes(), measured=True)


def try_round(name: str, number: int) -> tuple[int, Failed | None]:
    """The inputs of one target and one seed: how many there were, and the shortest that failed."""
    target = TARGETS[name]
    size = min(target.most, random.Random(number).choice(_SIZES))
    tried, failed = 0, None

    @seed(number)
    @settings(
        max_examples=_EXAMPLES, deadline=None, database=InMemoryExampleDatabase(), phases=_PHASES,
        suppress_health_check=list(HealthCheck), print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip
    @given(target.inputs(size).map(_Input))
    def try_one(given: _Input) -> None:
        nonlocal tried, failed
        tried += 1
        try:
            judge(target, given.data, measured=True)
        except Exception as error:
            failed = Failed(name, number, given.data, f"{type(error).__name__}: {error}")
            raise

    try:
        try_one()
    except Exception:
        return tried, failed
    return tried, None


def run(seconds: float, first: int, names: Iterable[str], folder: Path) -> list[Failed]:
    """The failures, one of each target at most: a target that has failed is not tried on."""
    begun, number, tried = time.monotonic(), first, 0
    left, found = list(names), list[Failed]()
    while left and time.monotonic() - begun < seconds:
        for name in list(left):
            count, failed = try_round(name, number)
            tried += count
            if failed is not None:
                left.remove(name)
                found.append(failed)
                kept = failed.keep(folder)
                print(f"{name}, seed {number}: {failed.why[:500]}\n    kept in {kept}", flush=True)
            if time.monotonic() - begun > seconds:
                break
        number += 1
    print(
        f"{tried} inputs, seeds {first} to {number - 1}, {time.monotonic() - begun:.0f} s: {len(found)} fail",
        flush=True,
    )
    return found
