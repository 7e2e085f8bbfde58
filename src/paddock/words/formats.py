"""How each language joins names to a list, cut or not, and clauses to a sentence, and how it says a duration.

A language has an entry here and a catalogue (`words.catalogues`). Numbers, units, names, field paths and commands
are the same in every language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Joint = Literal["and", "or"]

_SHOWN = 3
"""The number of names in a list that is cut."""
DURATIONS = frozenset({"age", "time"})
"""Placeholders of sentences that hold a duration, `12 s` or `2m30s` (`kube.times.format_duration`), or a time."""
_DURATION = re.compile(r"(?:\d+(?:\.\d+)? ?[ydhms])+")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([ydhms])")


@dataclass(frozen=True, slots=True)
class Format:
    """The formats of one language. `cut` has the placeholders {names}, {joint}, {rest} (names left out) and {count}
    (all names)."""

    comma: str
    joints: Mapping[Joint, str]
    cut: str
    clause: str
    """The separator of two clauses."""
    units: Mapping[str, str] = field(default_factory=dict)
    """The words for the units of a duration, `s` -> `秒`; empty: durations are said as they are written."""

    def join(self, names: Sequence[str], joint: Joint, most: int = 0) -> str:
        """`a`, `a and b`, `a, b and c`; with more than `most` names (0: no limit) `a, b, c and 6 more`."""
        if most and len(names) > most:
            shown = self.comma.join(names[:_SHOWN])
            rest = len(names) - _SHOWN
            return self.cut.format(names=shown, joint=self.joints[joint], rest=rest, count=len(names))
        *first, last = names
        return f"{self.comma.join(first)}{self.joints[joint]}{last}" if first else last

    def say_duration(self, text: str) -> str:
        """`2m30s` and `12 s` in a sentence: `2 分钟 30 秒`, `12 秒`; any other text as it is."""
        if not self.units or not _DURATION.fullmatch(text):
            return text
        return " ".join(f"{number} {self.units[unit]}" for number, unit in _AMOUNT.findall(text))


ENGLISH = Format(", ", {"and": " and ", "or": " or "}, "{names}{joint}{rest} more", ", ")

_CHINESE_UNITS = {"y": "年", "d": "天", "h": "小时", "m": "分钟", "s": "秒"}

FORMATS: Mapping[str, Format] = {
    "en": ENGLISH,
    "zh": Format("、", {"and": " 和 ", "or": " 或 "}, "{names} 等 {count} 个", "，", _CHINESE_UNITS),
}


def format_of(language: str) -> Format:
    """The format of `language`; English for an unknown one."""
    return FORMATS.get(language, ENGLISH)
