"""Patterns of a CRD's schema, matched in time that grows with the value alone.

Kubernetes matches them with Go's RE2, which never goes back in a value; Python's `re` does, and `^(a+)+$` over thirty
letters would stop the whole cluster. So `re` only parses: the pattern becomes the states it can be in, and a value is
read once, letter by letter, through sets of them (Thompson's construction, with the steps kept as they are found).
As in RE2 there are no references back and no looking around, `$` is the very end, and \\d, \\s and \\w are ASCII. Left
out, and refused with a sentence: word boundaries and multi-line mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Test = Callable[[str], bool]
States = frozenset[int]

STATES_LIMIT = 5_000
"""How large a pattern may grow when its counted repeats are written out."""
WORK_LIMIT = 1_000_000
"""Steps for one value, about half a second at the worst."""
_KEPT_STEPS = 10_000
_ASCII_SPACE = frozenset(" \t\n\r\f")
_CATEGORIES: dict[Any, Test] = {
    op.CATEGORY_DIGIT: lambda char: "0" <= char <= "9",
    op.CATEGORY_NOT_DIGIT: lambda char: not "0" <= char <= "9",
    op.CATEGORY_SPACE: lambda char: char in _ASCII_SPACE,
    op.CATEGORY_NOT_SPACE: lambda char: char not in _ASCII_SPACE,
    op.CATEGORY_WORD: lambda char: char == "_" or (char.isascii() and char.isalnum()),
    op.CATEGORY_NOT_WORD: lambda char: char != "_" and not (char.isascii() and char.isalnum()),
}
_BEGIN, _END, _MATCH, _SPLIT = "begin", "end", "match", "split"
_PLACES = {
    op.AT_BEGINNING: _BEGIN, op.AT_BEGINNING_STRING: _BEGIN, op.AT_END: _END, op.AT_END_STRING: _END,
}  # fmt: skip


@lru_cache(maxsize=512)
def read_pattern(text: str) -> Pattern:
    """`ValueError` with a sentence for what is no pattern, or none that RE2 would take."""
    try:
        parsed = _parser.parse(text)
        return Pattern(parsed, parsed.state.flags)
    except re.error as error:
        raise ValueError(str(error)) from None
    except (RecursionError, OverflowError):
        raise ValueError("it is too large") from None


class Pattern:
    """`search` says whether a value holds the pattern anywhere, as `pattern` in a schema means it."""

    def __init__(self, parsed: Any, flags: int) -> None:
        self._tests: list[Test | str] = []
        self._next: list[tuple[int, ...]] = []
        self._steps: dict[tuple[States, str], States] = {}
        self._match = self._add(_MATCH)
        begin = self._build(parsed, self._match, flags)
        self._first = self._close([begin], at=_BEGIN)
        self._again = self._close([begin])

    def search(self, value: str) -> bool | None:
        """None when it gave up: the value is too long for a pattern of this size."""
        states, work = self._first, 0
        for char in value:
            if self._match in states:
                return True
            if not states:
                return False
            step = self._steps.get((states, char))
            work += 1 if step is not None else len(states)
            if work > WORK_LIMIT:
                return None
            states = self._step(states, char) if step is None else step
        at_end = self._close(states, at=_END) if value else self._close(self._first, at=_END, also=_BEGIN)
        return self._match in at_end

    def _step(self, states: States, char: str) -> States:
        tests = self._tests
        taken = [n for s in states if not isinstance(test := tests[s], str) and test(char) for n in self._next[s]]
        found = self._close(taken) | self._again
        if len(self._steps) >= _KEPT_STEPS:
            self._steps.clear()
        self._steps[states, char] = found
        return found

    def _close(self, states: Iterable[int], *, at: str = "", also: str = "") -> States:
        """All states that are reached from these without a letter; the places `at` and `also` are where we are."""
        found, rest = set(states), list(states)
        while rest:
            state = rest.pop()
            test = self._tests[state]
            if test == _SPLIT or (test in (at, also) and isinstance(test, str)):
                new = [following for following in self._next[state] if following not in found]
                found.update(new)
                rest += new
        return frozenset(found)

    # From the pattern to its states, from its end to its beginning

    def _add(self, test: Test | str, *following: int) -> int:
        if len(self._tests) >= STATES_LIMIT:
            raise ValueError("it is too large: write smaller numbers into its repeats")
        self._tests.append(test)
        self._next.append(following)
        return len(self._tests) - 1

    def _build(self, parsed: Any, after: int, flags: int) -> int:
        for kind, value in reversed(list(parsed)):
            after = self._build_one(kind, value, after, flags)
        return after

    def _build_one(self, kind: Any, value: Any, after: int, flags: int) -> int:
        if kind in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            return self._add(_read_test(kind, value, flags), after)
        if kind is op.BRANCH:
            return self._add(_SPLIT, *(self._build(one, after, flags) for one in value[1]))
        if kind is op.SUBPATTERN:
            _, added, removed, inner = value
            return self._build(inner, after, (flags | added) & ~removed)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = value
            return self._build_repeat(least, most, inner, after, flags)
        if kind is op.AT and value in _PLACES and not flags & re.MULTILINE:
            return self._add(_PLACES[value], after)
        raise ValueError(f"{str(value if kind is op.AT else kind).lower()} is not supported in patterns")

    def _build_repeat(self, least: int, most: Any, inner: Any, after: int, flags: int) -> int:
        entry = after
        if most is op.MAXREPEAT:
            entry = self._add(_SPLIT)
            self._next[entry] = (self._build(inner, entry, flags), after)
        else:
            for _ in range(most - least):
                entry = self._add(_SPLIT, self._build(inner, entry, flags), after)
        for _ in range(least):
            entry = self._build(inner, entry, flags)
        return entry


def _read_test(kind: Any, value: Any, flags: int) -> Test:
    """Whether one letter fits one place of the pattern."""
    if kind is op.ANY:
        return (lambda char: True) if flags & re.DOTALL else (lambda char: char != "\n")
    items = value if kind is op.IN else [(kind, value)]
    negated = items[0][0] in (op.NEGATE, op.NOT_LITERAL)
    tests = [_read_item(*item) for item in items if item[0] is not op.NEGATE]

    def fits(char: str) -> bool:
        cases = {char, char.lower(), char.upper()} if flags & re.IGNORECASE else (char,)
        return any(test(case) for test in tests for case in cases) != negated

    return fits


def _read_item(kind: Any, value: Any) -> Test:
    if kind is op.CATEGORY:
        return _CATEGORIES[value]
    low, high = value if kind is op.RANGE else (value, value)
    return lambda char: len(char) == 1 and low <= ord(char) <= high
