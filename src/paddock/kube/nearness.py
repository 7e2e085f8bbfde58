"""The name that is probably meant ("did you mean"), in bounded time whatever the names are.

Users choose both sides: a Dataset's name and the names beside it, a mount and the volumes. difflib takes up to 28 ms
for one pair of 200 characters, and there are thousands of pairs. So each side is cut, at most so many names are
compared, and a comparison takes as many steps as a name has characters: one question costs 5 ms at most. Who asks for
each wrong name of a manifest asks through one `Suggestions`. No other module compares names (`tests/test_house.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TypeAlias

LONGEST = 64
"""Characters of a name that are compared. Kubernetes' labels have 63."""
LEAST = 0.6
"""The similarity from which a name is suggested."""
MOST_ASKED = 40
"""Different questions of one manifest."""
Nearest: TypeAlias = Callable[[str, Iterable[str]], str]
"""`nearest`, or that of `Suggestions`."""
_MOST_SEEN = 5_000
_MOST_COMPARED = 60


def nearest(name: str, names: Iterable[str], least: float = LEAST) -> str:
    """The most similar of `names`, the first one of equals; empty if none is similar."""
    return next(iter(rank(name, names, least)), "")


class Suggestions:
    """What is meant by the wrong names of one manifest: who wrote it chose how many there are, and how many names are
    beside them. The first 40 different questions are answered, also when they are asked again; the others are not."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, ...], str] = {}

    def nearest(self, name: str, names: Iterable[str]) -> str:
        """The most similar of `names`; empty if none is similar, or too much was asked."""
        question = (name, *names)
        if question not in self._answers:
            if len(self._answers) >= MOST_ASKED:
                return ""
            self._answers[question] = nearest(name, question[1:])
        return self._answers[question]


def rank(name: str, names: Iterable[str], least: float = LEAST) -> list[str]:
    """The similar ones of `names`, from `least` (of 1), the most similar first. Of the first 5,000 names at most 60 are
    compared: those that share most of `name`, then others."""
    wanted = _fold(name)
    positions = _find_positions(wanted)
    compared = {
        each: _measure(positions, len(wanted), _fold(each)) for each in _choose(name, len(wanted), names, least)
    }
    return sorted((each for each, found in compared.items() if found >= least), key=lambda each: -compared[each])


def likeness(name: str, other: str) -> float:
    """The similarity of two names, from 0 to 1, ignoring case: twice the length of the longest common subsequence,
    divided by both lengths."""
    wanted = _fold(name)
    return _measure(_find_positions(wanted), len(wanted), _fold(other))


def _choose(name: str, length: int, names: Iterable[str], least: float) -> list[str]:
    """At most `_MOST_COMPARED`. One mistake leaves the first three quarters of a name as they are, the last three, or
    the first and the last one: some names that share these come first."""
    # Others cannot reach `least`, whatever they consist of.
    fitting = [each for each in islice(names, _MOST_SEEN) if _reach(length, min(len(each), LONGEST)) >= least]
    if len(fitting) <= _MOST_COMPARED:
        return fitting
    quarter = length // 4
    begin, first, last, end = name[:quarter], name[: length - quarter], name[quarter:], name[length - quarter :]
    alike = (
        (each for each in fitting if each.startswith(first)),
        (each for each in fitting if each.endswith(last)),
        (each for each in fitting if each.startswith(begin) and each.endswith(end)),
    )
    some = (each for kind in alike for each in islice(kind, _MOST_COMPARED // len(alike)))
    return list(islice(dict.fromkeys([*some, *fitting[:_MOST_COMPARED]]), _MOST_COMPARED))


def _reach(length: int, other: int) -> float:
    """The similarity of two names of these lengths, one of which is in the other."""
    return 2 * min(length, other) / (length + other) if length else 0.0


def _fold(name: str) -> str:
    return name[:LONGEST].casefold()[:LONGEST]


def _find_positions(name: str) -> Mapping[str, int]:
    """The places of each character, as bits."""
    positions: dict[str, int] = {}
    for place, character in enumerate(name):
        positions[character] = positions.get(character, 0) | 1 << place
    return positions


def _measure(positions: Mapping[str, int], length: int, other: str) -> float:
    # Hyyrö's bit-parallel longest common subsequence: one number is one row of the usual table, in which a bit that has
    # become 0 is a character of the subsequence.
    row = whole = (1 << length) - 1
    for character in other:
        matching = row & positions.get(character, 0)
        row = (row + matching) | (row - matching)
    common = length - (row & whole).bit_count()
    return 2 * common / (length + len(other)) if length else 0.0
