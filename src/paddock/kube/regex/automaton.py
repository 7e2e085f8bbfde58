"""Searches a text for a pattern in one walk over its characters: an automaton, made while it is used.

The pattern's tree becomes a nondeterministic automaton (Thompson). The walk holds all states that it can be in, as one
state of a deterministic automaton, and remembers for each of them where a character led. Each step is counted: a walk
that must find its way anew at each character takes as many steps as there are states.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from paddock.kube.budget import Budget
from paddock.kube.regex.syntax import Boundary, Chars, Choice, Node, PatternError, Repeat, Sequence, parse

MOST_STATES = 5_000
"""Of one pattern: repetitions in repetitions, as `((a{100}){100}){100}`, would need millions."""
_MOST_REMEMBERED = 20_000
"""States in all steps that a pattern remembers; then it begins anew."""

_EDGE, _NEWLINE, _WORD, _OTHER = range(4)
"""The kinds of a character's neighbour; `_EDGE`: there is none."""

_Position = tuple[frozenset[int], int]
"""The states of a walk, and the kind of the last character."""
_MATCH: _Position = (frozenset((0,)), _EDGE)


@lru_cache(maxsize=128)
def read_pattern(pattern: str) -> Pattern:
    """Raises `PatternError`."""
    return Pattern(pattern)


class Pattern:
    def __init__(self, pattern: str) -> None:
        # Each state is a character's test with the state behind it, a boundary with one, or other states at once.
        self._chars: dict[int, tuple[Chars, int]] = {}
        self._bounds: dict[int, tuple[Boundary, int]] = {}
        self._ways: dict[int, tuple[int, ...]] = {}
        self._count = 1
        self._first = self._add(parse(pattern), 0)
        ends = (Boundary.TEXT_BEGIN, Boundary.TEXT_END)
        self._needs_kinds = any(bound not in ends for bound, _ in self._bounds.values())
        self._known: dict[tuple[_Position, str], _Position] = {}
        self._remembered = 0
        self._anchored = not any(
            self._close((self._first,), before, after, Budget())
            for before in (_NEWLINE, _WORD, _OTHER)
            for after in (_EDGE, _NEWLINE, _WORD, _OTHER)
        )

    def _new(self) -> int:
        if self._count > MOST_STATES:
            raise PatternError(f"expression too large: it needs more than {MOST_STATES} states")
        self._count += 1
        return self._count

    def _add(self, node: Node, then: int) -> int:
        """The first state of a part of the pattern, behind which comes the state `then`; 0 is the end: a match."""
        match node:
            case Chars():
                self._chars[state := self._new()] = (node, then)
                return state
            case Boundary():
                self._bounds[state := self._new()] = (node, then)
                return state
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._add(part, then)
                return then
            case Choice(parts):
                self._ways[state := self._new()] = tuple(self._add(part, then) for part in parts)
                return state
            case Repeat(part, least, most):
                return self._add_repeat(part, least, most, then)

    def _add_repeat(self, part: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = self._new()
            self._ways[loop] = ()
            self._ways[loop] = (self._add(part, loop), then)
            then = loop
        else:
            end = then
            for _ in range(most - least):
                self._ways[state := self._new()] = (self._add(part, then), end)
                then = state
        for _ in range(least):
            # A part that has no characters needs a state as well, or empty repetitions would cost nothing.
            self._ways[state := self._new()] = (self._add(part, then),)
            then = state
        return then

    def search(self, text: str, budget: Budget) -> bool:
        """Whether the pattern matches anywhere in the text. Raises `Exhausted`."""
        position: _Position = (frozenset((self._first,)), _EDGE)
        for char in text:
            budget.left -= 1
            position = self._known.get((position, char)) or self._step(position, char, budget)
            if position is _MATCH:
                return True
            if self._anchored and not position[0]:
                return False
        return 0 in self._close(*position, _EDGE, budget)

    def _step(self, position: _Position, char: str, budget: Budget) -> _Position:
        kind = self._kind(char)
        closed = self._close(*position, kind, budget)
        found = _MATCH
        if 0 not in closed:
            behind = {self._chars[state][1] for state in closed if self._chars[state][0].has(char)}
            if not self._anchored:
                behind.add(self._first)
            found = (frozenset(behind), kind)
        self._remembered += 1 + len(found[0])
        if self._remembered > _MOST_REMEMBERED:
            self._known, self._remembered = {}, 0
        self._known[position, char] = found
        return found

    def _kind(self, char: str) -> int:
        # Without such boundaries all characters are alike, and positions are fewer.
        if not self._needs_kinds:
            return _OTHER
        if char == "\n":
            return _NEWLINE
        return _WORD if char == "_" or (char.isascii() and char.isalnum()) else _OTHER

    def _close(self, states: Iterable[int], before: int, after: int, budget: Budget) -> frozenset[int]:
        """The states that wait for a character, and 0 for a match, between neighbours of these kinds."""
        seen: set[int] = set()
        pending = list(states)
        while pending:
            state = pending.pop()
            if state in seen:
                continue
            seen.add(state)
            pending += self._ways.get(state, ())
            bound = self._bounds.get(state)
            if bound is not None and _holds(bound[0], before, after):
                pending.append(bound[1])
        budget.spend(2 + 2 * len(seen))
        return frozenset(state for state in seen if state in self._chars or state == 0)


def _holds(bound: Boundary, before: int, after: int) -> bool:
    match bound:
        case Boundary.TEXT_BEGIN:
            return before == _EDGE
        case Boundary.TEXT_END:
            return after == _EDGE
        case Boundary.LINE_BEGIN:
            return before in (_EDGE, _NEWLINE)
        case Boundary.LINE_END:
            return after in (_EDGE, _NEWLINE)
        case Boundary.WORD:
            return (before == _WORD) is not (after == _WORD)
        case Boundary.NO_WORD:
            return (before == _WORD) is (after == _WORD)
