"""A log without a metric -> the line of it that was nearest to being read, and what stood in the way. Pure.

The reader of metrics (`progress`) passes over what it cannot read without a word. Who looks for a curve in vain is told
here which line it could have been, so that one print is changed and not the whole program.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.logs.chinese import NAMES
from paddock.logs.line_numbers import scan_line
from paddock.logs.line_tokens import without_colours
from paddock.logs.printed_lines import LONGEST_LINE, may_have_progress, read_progress
from paddock.words.phrases import Foreign, Phrase, phrase

SHOWN = 160
"""Characters of the line that are shown."""
MOST_LINES = 200
"""With the word of a metric that are looked at, the last of those that are given."""
_NAME = re.compile(
    r"(?<![A-Za-z])(?:(?:best|[A-Za-z]{1,12}_) ?)?(?:loss|accuracy|acc|cost|auc|rmse|ppl)\b"
    rf"|(?:最[\u4e00-\u9fff])?(?:{'|'.join(NAMES)})",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[\s:=\"'\[(：＝为是]{0,4}[-+]?\d")


@dataclass(frozen=True, slots=True)
class Nearest:
    """A line that is not read."""

    line: str
    """Its first `SHOWN` characters, without colours."""
    why: Phrase


def find_nearest(lines: Iterable[str]) -> Nearest | None:
    """The nearest line, of several alike the last; None where none has a word of a metric in it. `lines`: of a log in
    which no metric was read, in their order."""
    best: tuple[int, str, Phrase] | None = None
    for line in deque(filter(may_have_progress, lines), maxlen=MOST_LINES):
        if read_progress(line) is None:
            found = _judge(line)
            if found is not None and (best is None or found[0] >= best[0]):
                best = found
    return Nearest(_shorten(best[1]), best[2]) if best else None


def _judge(line: str) -> tuple[int, str, Phrase] | None:
    """How near the line is, more is nearer, and what stands in the way."""
    text = without_colours(line[: 2 * LONGEST_LINE]).strip()
    named = _NAME.search(text)
    if named is None:
        return None
    if len(line) > LONGEST_LINE:
        return 1, text, phrase("it has more than {count} characters", count=LONGEST_LINE)
    if "://" in text:
        return 1, text, phrase("an address (`://`) stands in it")
    has_number = any(_NUMBER.match(text, each.end()) for each in _NAME.finditer(text))
    scan = scan_line(text)
    has_place = bool(scan.counts.keys() & {"epoch", "step"})
    if not has_number:
        return 2 + has_place, text, phrase("no number stands after `{name}`", name=named[0])
    if text.startswith("{") and not text.endswith("}"):
        return 3, text, phrase("it begins with a brace and ends without one")
    if scan.is_a_sentence:
        return 3 + has_place, text, phrase("it reads as a sentence")
    if not has_place:
        return 5, text, phrase("it says neither epoch nor step")
    return 4, text, phrase("`{name}` is no name of a metric that is known", name=named[0])


def _shorten(text: str) -> str:
    text = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * SHOWN]).split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def explain_nearest(nearest: Nearest | None) -> Phrase:
    """Why a run that has printed has no metrics, and what to print."""
    if nearest is None:
        return phrase("no metric was read: no line has a loss or an accuracy; print for example `{example}`",
                      example=EXAMPLE)  # fmt: skip
    return phrase(
        "no metric was read; the nearest line: `{line}`; {why}; print for example `{example}`",
        line=Foreign(nearest.line), why=nearest.why, example=EXAMPLE,
    )  # fmt: skip


EXAMPLE = "epoch 3, loss 0.25"
