"""A time, and what is done after it, as annotations have both: `30m=Restart`, `90s`. Pure.

`apis.silent` and `apis.idle` read theirs by it. A time alone stands for the first word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.kube.nearness import nearest

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_WORDS = {
    unit: short
    for short, units in {
        "": ("",),
        "s": ("s", "sec", "secs", "second", "seconds"),
        "m": ("m", "min", "mins", "minute", "minutes"),
        "h": ("h", "hr", "hrs", "hour", "hours"),
        "d": ("d", "day", "days"),
    }.items()
    for unit in units
}
"""What people write -> the unit that is read; days are told in hours."""
_FORM = re.compile(r"(?P<number>[1-9]\d{0,6})(?P<unit>[smh]?)(?:=(?P<word>\w+))?")


def read_after(found: object, words: Sequence[str]) -> tuple[int, str] | None:
    """Seconds, and one of `words`; None for a value of another form."""
    match = _FORM.fullmatch(found) if isinstance(found, str) else None
    word = (match["word"] or words[0]) if match else ""
    if match is None or word not in words:
        return None
    return int(match["number"]) * _UNITS[match["unit"]], word


def find_nearest(found: str, words: Sequence[str]) -> str:
    """The value that was meant; empty where nobody knows."""
    time, _, word = (part.strip() for part in found.partition("="))
    typed = re.fullmatch(r"([1-9]\d{0,6})\s*([a-z]*)", time.lower())
    unit = _WORDS.get(typed[2]) if typed else None
    near = nearest(word, tuple(words)) if word else words[0]
    if typed is None or unit is None or not near:
        return ""
    return f"{int(typed[1]) * 24}h={near}" if unit == "d" else f"{typed[1]}{unit}={near}"
