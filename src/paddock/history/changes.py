"""What differs between the manifests of two runs, in few words. Pure.

    lr 0.1 → 0.2                    an argument, by the option that it belongs to
    env LR: 0.1 → 0.2               a variable, by its name
    spec.worker.replicas: 2 → 4     any other field

`history.comparison` says which those are; roles that changed alike are told once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.history.arguments import SET
from paddock.history.comparison import COMMAND, Difference, compare

_VARIABLE = "env "
_LONGEST_VALUE = 40
_CONTEXT = 10
"""Characters that are shown before the first that differs, in long values."""
SHOWN = 3
"""Changes that a line has."""


def find_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A text for each difference, arguments first, in the order of the newer manifest; what went comes last."""
    if before == now:
        return []
    compared = compare([now, before])
    arguments = [text for each in compared.arguments if each.differs for text in _tell_argument(each)]
    return [*arguments, *(f"{each.path}: {_say(*_turn(each))}" for each in compared.fields if each.differs)]


def shorten(changes: Sequence[str], most: int = SHOWN) -> str:
    """The first ones in one line: `a: 1 → 2; b: + 3; …`."""
    shown = "; ".join(changes[:most])
    return f"{shown}; …" if len(changes) > most else shown


def _turn(row: Difference) -> tuple[str | None, str | None]:
    """(before, now)."""
    now, before = row.values
    return before, now


def _tell_argument(row: Difference) -> Iterator[str]:
    before, now = _turn(row)
    name = row.path.rpartition(": ")[2]
    if name.startswith(_VARIABLE):
        yield f"{row.path}: {_say(before, now)}"
    elif name == COMMAND and before is not None and now is not None:
        yield from (f"{row.path}: {change}" for change in _compare_words(before.split(), now.split()))
    elif before is None or now is None:
        sign, value = ("−", before) if now is None else ("+", now)
        yield f"{sign} {row.path}" if value == SET else f"{sign} {row.path} {_show(value or '')}"
    else:
        yield f"{row.path} {_say(before, now)}"


def _compare_words(before: list[str], now: list[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if tag != "equal":
            yield _say(" ".join(before[start:end]) or None, " ".join(now[begin:stop]) or None)


def _say(before: str | None, now: str | None) -> str:
    if before is None:
        return f"+ {_show(now or '')}"
    if now is None:
        return f"− {_show(before)}"
    old, new = _on_one_line(before), _on_one_line(now)
    start = 0
    if max(len(old), len(new)) > _LONGEST_VALUE:
        # A long script that differs in its last word must not show its first one.
        start = max(0, _same(old, new) - _CONTEXT)
    return f"{_cut(old, start)} → {_cut(new, start)}"


def _same(old: str, new: str) -> int:
    """The length of what both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _show(value: str) -> str:
    return _cut(_on_one_line(value))


def _on_one_line(text: str) -> str:
    return " ".join(text.split()) or '""'


def _cut(line: str, start: int = 0) -> str:
    rest = f"…{line[start:]}" if start else line
    return rest if len(rest) <= _LONGEST_VALUE else rest[: _LONGEST_VALUE - 1] + "…"
