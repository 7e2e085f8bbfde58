"""How each language joins names to a list, cut or not, and clauses to a sentence.

A language has an entry here and a catalogue (`words.catalogues`). Numbers, units, names, field paths and commands
are the same in every language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Joint = Literal["and", "or"]

_SHOWN = 3
"""The number of names in a list that is cut."""


@dataclass(frozen=True, slots=True)
class Format:
    """The formats of one language. `cut` has the placeholders {names}, {joint}, {rest} (names left out) and {count}
    (all names)."""

    comma: str
    joints: Mapping[Joint, str]
    cut: str
    clause: str
    """The separator of two clauses."""

    def join(self, names: Sequence[str], joint: Joint, most: int = 0) -> str:
        """`a`, `a and b`, `a, b and c`; with more than `most` names (0: no limit) `a, b, c and 6 more`."""
        if most and len(names) > most:
            shown = self.comma.join(names[:_SHOWN])
            rest = len(names) - _SHOWN
            return self.cut.format(names=shown, joint=self.joints[joint], rest=rest, count=len(names))
        *first, last = names
        return f"{self.comma.join(first)}{self.joints[joint]}{last}" if first else last


ENGLISH = Format(", ", {"and": " and ", "or": " or "}, "{names}{joint}{rest} more", ", ")

FORMATS: Mapping[str, Format] = {
    "en": ENGLISH,
    "zh": Format("、", {"and": " 和 ", "or": " 或 "}, "{names} 等 {count} 个", "，"),
}


def format_of(language: str) -> Format:
    """The format of `language`; English for an unknown one."""
    return FORMATS.get(language, ENGLISH)
