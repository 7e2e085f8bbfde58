"""The name that is meant is found, in a time that no name and no number of names changes."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.nearness import LEAST, LONGEST, likeness, nearest, rank

MEANT: list[tuple[str, Sequence[str], str]] = [
    ("wroker", ("ps", "worker", "heter"), "worker"),
    ("WORKER", ("ps", "worker"), "worker"),
    ("imagnet", ("words", "imagenet"), "imagenet"),
    ("replica", ("replicas", "template"), "replicas"),
    ("zzz", ("ps", "worker"), ""),
    ("", ("ps", "worker"), ""),
    ("", ("",), ""),
    ("worker", (), ""),
    ("data", ("data-b", "data-a"), "data-b"),
    ("训练数据", ("训练数据集", "words"), "训练数据集"),
    ("a" * 200, ("a" * 150, "b" * 200), "a" * 150),
    ("x" * 64 + "y", ("x" * 64 + "z" * 300,), "x" * 64 + "z" * 300),
]


@pytest.mark.parametrize(("name", "names", "meant"), MEANT)
def test_the_most_similar_name_is_meant(name: str, names: Sequence[str], meant: str) -> None:
    assert nearest(name, names) == meant


def test_all_similar_names_stand_in_the_order_of_their_likeness() -> None:
    assert rank("worker", ["master", "worker2", "Worker", "works"]) == ["Worker", "worker2", "works"]


@pytest.mark.parametrize("wrong", ["run-4217x", "rn-4217", "run-4271", "Xun-4217", "run-9217", "rum-4217"])
def test_the_name_that_is_meant_is_found_among_thousands_that_resemble_it(wrong: str) -> None:
    """Few are compared: those that share most of it."""
    names = [f"run-{number}" for number in range(3000, 5000)]
    assert likeness(wrong, nearest(wrong, names)) == max(likeness(wrong, each) for each in names)


def _common(a: str, b: str) -> int:
    """The longest common subsequence, by the usual table."""
    row = [0] * (len(b) + 1)
    for x in a:
        before, row = row, [0]
        for place, y in enumerate(b):
            row.append(before[place] + 1 if x == y else max(before[place + 1], row[-1]))
    return row[-1]


@given(st.text("abAß", max_size=80), st.text("abBß", max_size=80))
def test_the_measure_is_that_of_the_longest_common_subsequence(a: str, b: str) -> None:
    first, second = (each[:LONGEST].casefold()[:LONGEST] for each in (a, b))
    wanted = 2 * _common(first, second) / (len(first) + len(second)) if first else 0
    assert likeness(a, b) == pytest.approx(wanted)


@given(st.text("abc-", max_size=90), st.lists(st.text("abc-", max_size=90), max_size=20))
def test_no_name_that_fits_is_passed_over_where_all_are_compared(name: str, names: list[str]) -> None:
    likest = max((likeness(name, each) for each in names), default=0)
    found = nearest(name, names)
    assert (likeness(name, found) == likest) if likest >= LEAST else found == ""


HOSTILE: dict[str, tuple[str, list[str]]] = {
    "one letter": ("a" * 97 + "bcd", [f"{'a' * 95}{number:05d}" for number in range(10_000)]),
    "two letters in turn": ("ab" * 50, [f"{'ba' * 60}{number:05d}" for number in range(10_000)]),
    "the pair that cost 28 ms": ("a" * 100, [f"{'ab' * 97}{number:05d}" for number in range(10_000)]),
    "halves": ("ab" * 50, [f"{'a' * 50}{'b' * 50}{number:05d}" for number in range(10_000)]),
    "short": ("ab" * 10, [f"{'ab' * 8}{number:04d}" for number in range(10_000)]),
    "characters that grow": ("ß" * 64, [f"{'ß' * 64}{number}" for number in range(10_000)]),
    "nothing in common but lengths": ("x" * 40, [f"{'a' * 20}{number:05d}" for number in range(10_000)]),
    "a million characters": ("a" * 10**6, [f"{'a' * 10**6}{number}" for number in range(20)] * 500),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_ten_thousand_hostile_names_cost_milliseconds(kind: str) -> None:
    """5 ms on a machine that is not busy; difflib took minutes. The least of some tries, as others use the machine."""
    name, names = HOSTILE[kind]
    spent = []
    for _ in range(5):
        begun = time.thread_time()
        nearest(name, names)
        spent.append(time.thread_time() - begun)
    assert min(spent) < 0.010
