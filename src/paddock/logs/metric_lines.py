"""The file that PADDOCK_METRICS names -> the numbers that a program wrote on purpose. Pure.

    {"step": 3, "loss": 0.1, "val_loss": 0.2, "tokens": 4096}

Each line is a JSON object of names and finite numbers; `true` and `false` are none. Names that are known
(`number_names`) are those of `Progress`, all others are kept as they are written: unlike in printed lines, nothing is
passed over for its name. A line that cannot be read takes nothing away from the others, and the first of them is told.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from paddock.logs.number_names import COUNTS, normalize, read_name
from paddock.logs.progress import LONGEST_NAME, Progress
from paddock.words.phrases import Foreign, Phrase, phrase

LONGEST = 4 * 2**10
"""Bytes of a line."""
MOST_NAMES = 64
"""Of a line."""
A_LOOK = 64 * 2**10
"""Bytes that are read at once, the last ones of what was added."""
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Wrong:
    """A line that is not read, and why."""

    why: Phrase


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where a file was read."""

    offset: int = 0
    """Bytes."""
    inode: int = 0
    """Which file it was: a program may put another in its place. 0 before the first look."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a look at a file has read."""

    data: bytes
    place: Place
    """Where the next look begins."""
    anew: bool = False
    """The file is another than before, or shorter: what was read before is in it no longer."""


def begin_look(last: Place, inode: int, size: int) -> tuple[int, bool]:
    """From which byte on to read a file of `size` bytes, and whether that is anew."""
    anew = last.offset > 0 and (inode != last.inode or size < last.offset)
    return (0 if anew else last.offset), anew


class MetricLines:
    """The lines of one file as it grows. Feed what was added, in order. Memory stays bounded: a line that has not ended
    is held up to `LONGEST` bytes."""

    def __init__(self) -> None:
        self.problem: Phrase | None = None
        """Why a line was not read, the first such; None while all were."""
        self._held = b""
        self._is_lost = False
        """The line that goes on is too long, or its beginning was not read."""

    def feed(self, data: bytes) -> list[Progress]:
        """The lines that have ended."""
        *ended, self._held = (self._held + data).split(b"\n")
        found = [self._take(line) for line in ended]
        if len(self._held) > LONGEST:
            self._held, self._is_lost = b"", True
            self._tell(_too_long())
        return [each for each in found if each is not None]

    def skip(self) -> None:
        """What comes next does not begin where the last ended."""
        self._held, self._is_lost = b"", True

    def end(self) -> list[Progress]:
        """The last line, which need not end in a file that nobody writes any more."""
        found = self._take(self._held) if self._held else None
        self._held = b""
        return [found] if found is not None else []

    def _take(self, line: bytes) -> Progress | None:
        if self._is_lost:
            self._is_lost = False
            return None
        if not line.strip():
            return None
        found = read_metric_line(line)
        if isinstance(found, Wrong):
            self._tell(found.why)
            return None
        return found

    def _tell(self, why: Phrase) -> None:
        self.problem = self.problem or why


def read_metric_line(line: bytes) -> Progress | Wrong:
    if len(line) > LONGEST:
        return Wrong(_too_long())
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Wrong(phrase("`{line}` is no JSON object", line=Foreign(_shorten(line.decode("utf-8", "replace")))))
    if len(found) > MOST_NAMES:
        return Wrong(phrase("a line has {count} names, at most {most} are read", count=len(found), most=MOST_NAMES))
    numbers = {name: number for name, value in found.items() if (number := _read_number(value)) is not None}
    wrong = next((name for name in found if name not in numbers or not _is_name(name)), None)
    if wrong is not None:
        return Wrong(_explain(wrong, found[wrong]))
    return _build(numbers)


def _is_name(name: str) -> bool:
    """Half of a character, or a control code, can be shown and stored nowhere."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _explain(name: str, value: object) -> Phrase:
    if len(name) > LONGEST_NAME:
        return phrase(
            "the name `{name}` has more than {most} characters", name=Foreign(_shorten(name)), most=LONGEST_NAME
        )
    if not _is_name(name):
        return phrase("the name {name} cannot be printed", name=ascii(name))
    written = json.dumps(value, ensure_ascii=False, default=str)
    return phrase(
        "the value of `{name}` is no finite number: {value}",
        name=Foreign(_shorten(name)),
        value=Foreign(_shorten(written)),
    )


def _read_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _build(numbers: dict[str, float]) -> Progress:
    known: dict[str, float] = {}
    others: dict[str, float] = {}
    # Who writes the name itself means it: `step` before what stands for it, such as `it`.
    for name, number in sorted(numbers.items(), key=lambda each: _find_field(*each) != each[0]):
        field = _find_field(name, number)
        if field and field not in known:
            known[field] = int(number) if field in ("epoch", "step") else number
        else:
            others[name] = number
    return Progress(**known, others=others)  # type: ignore[arg-type]


def _find_field(name: str, number: float) -> str:
    """The field of `Progress` that the name stands for; empty for none."""
    count = COUNTS.get(normalize(name), "")
    if count:
        return count if count != "rank" and number.is_integer() and 0 <= number < 1e12 else ""
    meaning = read_name(name)
    if meaning.kind in ("loss", "accuracy"):
        return f"val_{meaning.kind}" if meaning.evaluates else meaning.kind
    return meaning.kind if meaning.kind in ("lr", "grad_norm") and not meaning.evaluates else ""


def _too_long() -> Phrase:
    return phrase("a line has more than {count} bytes", count=LONGEST)


def _shorten(text: str) -> str:
    text = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * _SHOWN]).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def explain_metric_file(rank: str, why: Phrase) -> Phrase:
    """What was not read, and what is."""
    return phrase(
        "not all of what {rank} wrote to PADDOCK_METRICS was read: {why}; each line is to be a JSON object of names "
        "and finite numbers, for example `{example}`",
        rank=rank, why=why, example='{"step": 3, "loss": 0.1}',
    )  # fmt: skip
