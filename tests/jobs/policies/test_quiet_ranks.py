"""Since when no rank of a gang prints, by looks at one rank at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.policies.quiet_ranks import SAMPLE, Rank, Seen, choose_looks, measure_quiet, rest, take_look


def seen(heard: float, looked: float, *, first: float = 0.0) -> Seen:
    return Seen(b"line", first, heard, looked)


ROWS: list[tuple[str, list[Seen | None], float]] = [
    ("nobody", [], 0),
    ("one that was never looked at may have printed just now", [seen(10, 100), None], 0),
    ("from the last that was heard up to the oldest look", [seen(10, 100), seen(30, 90)], 60),
    ("one that has printed since answers for all", [seen(10, 100), seen(95, 100)], 5),
    ("heard after the oldest look of another: nothing is proven", [seen(10, 50), seen(95, 100)], 0),
    ("a program that has ended prints nothing more", [seen(10, 100), rest(40)], 60),
    ("nothing runs", [rest(40), rest(10)], 0),
]


@pytest.mark.parametrize(("what", "ranks", "quiet"), ROWS, ids=[row[0] for row in ROWS])
def test_a_silence_is_as_long_as_it_is_proven(what: str, ranks: list[Seen | None], quiet: float) -> None:
    assert measure_quiet(ranks) == quiet, what


@pytest.mark.parametrize(("fresh", "quiet"), [(89.0, 60), (90.0, 60), (90.5, 0)])
def test_what_was_silent_long_ago_proves_nothing_now(fresh: float, quiet: float) -> None:
    assert measure_quiet([seen(10, 100), seen(30, 90), rest(5)], fresh=fresh) == quiet


def rank(tried: float, heard: float | None = None, first: float = 0.0) -> Rank:
    return Rank(None if heard is None else seen(heard, tried, first=first), tried)


def gang(count: int, **changes: Rank) -> dict[str, Rank]:
    return {f"r{number}": rank(number / 1000, 0.0) for number in range(count)} | changes


def test_who_printed_last_is_asked_first_and_then_who_was_looked_at_longest_ago() -> None:
    ranks = {"a": rank(3, 1), "b": rank(1, 1), "c": rank(2, 1), "d": rank(4, 3.5), "e": rank(5, 2.5)}
    assert choose_looks(ranks, 10, 9) == ("d", "e", "b", "c", "a")
    assert choose_looks(ranks, 10, 2) == ("d", "e")


@pytest.mark.parametrize(
    ("what", "changes", "left"),
    [
        ("nobody is heard: all", {}, 500),
        ("one has printed: a sample", {"r7": rank(10, 11)}, SAMPLE - 1),
        ("a first look is no answer", {"r7": rank(10, 11, first=11)}, 499),
        ("an ended rank is none, and is not looked at", {"r7": Rank(rest(11))}, 499),
        ("new ones are looked at all the same", {"r7": rank(10, 11), **{f"n{n}": Rank() for n in range(40)}}, 40),
        ("what was tried and cannot be read waits for the next sweep", {"r7": Rank(None, 10)}, 499),
    ],
)
def test_a_rank_that_has_printed_answers_for_all(what: str, changes: dict[str, Rank], left: int) -> None:
    assert len(choose_looks(gang(500, **changes), 10, 999)) == left, what


@dataclass
class World:
    """Ranks that print, and a reader that looks at them as it is told to. Each look takes `takes` seconds, and what it
    finds is of any moment within."""

    prints: list[list[float]]
    takes: float
    at: float
    """Where within a look the log is read, 0 to 1."""
    now: float = 0.0
    ranks: dict[str, Rank] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranks = {str(number): Rank() for number in range(len(self.prints))}

    def look(self, name: str, *, fails: bool = False) -> None:
        began, read, self.now = self.now, self.now + self.at * self.takes, self.now + self.takes
        before, lines = self.ranks[name].seen, [each for each in self.prints[int(name)] if each <= read]
        self.ranks[name] = replace(self.ranks[name], tried=began)
        if not fails:
            line = str(lines[-1:]).encode()
            heard = before is not None and line != before.line
            self.ranks[name] = Rank(take_look(before, line, began, self.now, is_heard=heard), began)

    @property
    def quiet(self) -> float:
        return measure_quiet([each.seen for each in self.ranks.values()])

    @property
    def truly(self) -> float:
        """How long nobody had printed when the rank was looked at whose last look is oldest."""
        looked = min((each.seen.looked for each in self.ranks.values() if each.seen is not None), default=0.0)
        return looked - max((each for lines in self.prints for each in lines if each <= looked), default=0.0)


TIMES = st.lists(st.floats(0, 200), max_size=6)
STEPS = st.lists(st.tuples(st.integers(0, 9), st.floats(0, 9), st.booleans()), max_size=60)


@given(st.lists(TIMES, min_size=1, max_size=5), st.floats(0, 5), st.floats(0, 1), STEPS)
def test_no_order_of_looks_and_no_failure_makes_a_silence_longer_than_it_is(
    prints: list[list[float]], takes: float, at: float, steps: list[tuple[int, float, bool]]
) -> None:
    world = World([sorted(lines) for lines in prints], takes, at)
    for number, waits, fails in steps:
        world.look(str(number % len(prints)), fails=fails)
        world.now += waits
        assert world.quiet <= world.truly + 1e-9


@given(st.lists(TIMES, min_size=1, max_size=40), st.floats(0.01, 0.5), st.integers(1, 8), st.floats(20, 100))
def test_a_silence_is_proven_a_few_sweeps_after_it_is_long_enough(
    prints: list[list[float]], takes: float, most: int, limit: float
) -> None:
    """Whoever prints, and whenever: nobody does after 200 s. Then each sweep finds lines that were not seen yet, or
    looks at all; and what was found last is at the end as old as the limit."""
    world = World([sorted(lines) for lines in prints], takes, 0.5)
    interval, began = limit / 10, -math.inf
    sweep = interval + len(prints) * takes + 2
    while world.now < 200 + limit + (4 + len(prints) / (SAMPLE - 2)) * sweep:
        chosen = choose_looks(world.ranks, began, most)
        if not chosen and world.now >= began + interval:
            began = world.now
            chosen = choose_looks(world.ranks, began, most)
        for name in chosen:
            world.look(name)
        world.now += 0 if chosen else 1
    assert world.quiet >= limit


@given(st.integers(20, 3000), st.integers(1, 3))
def test_a_large_gang_that_prints_costs_a_sample_of_looks_in_each_sweep(size: int, talkers: int) -> None:
    prints: list[list[float]] = [[]] * size
    prints[size // 2 : size // 2 + talkers] = [[float(each) for each in range(2 * size)]] * talkers
    world, looks = World(prints, 0.01, 0.5), 0
    for name in choose_looks(world.ranks, 0, size):  # the first sweep looks at all
        world.look(name)
    for _ in range(5):
        world.now += 5
        began = world.now
        while chosen := choose_looks(world.ranks, began, 8):
            for name in chosen:
                world.look(name)
                looks += 1
    # One heard among those that are asked first ends a sweep; they are known after the second sweep at the latest.
    assert looks <= size + 5 * (SAMPLE + 8)


def test_times_of_nodes_are_not_read() -> None:
    """A line whose node is two hours ahead, or behind, is heard when it is new and never again."""
    first = take_look(None, b"2026-11-28T22:00:00Z step 1", 0, 1, is_heard=False)
    for line in (b"2026-11-28T22:00:00Z step 1", b"2026-11-28T18:00:00Z step 2"):
        again: Any = take_look(first, line, 50, 51, is_heard=line != first.line)
        assert measure_quiet([again]) == (49.0 if line == first.line else 0.0)
