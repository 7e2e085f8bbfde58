"""Sentences that fit into a table: whole clauses of a cause's sentence, the substance first. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.cause_args import Args, items_of, say_problem
from paddock.jobs.sentences.explain import explain
from paddock.jobs.sentences.waiting_phrases import SHORTAGE
from paddock.words.phrases import Phrase, phrase, render
from paddock.words.shortage import Shortage, explain_shortage

MOST_COLUMNS = 100
"""Columns of a cause in a table of unknown width."""

# A colon is no end: what follows it is the substance.
_CLAUSE_ENDS = re.compile(r"(?=; |, | \()|(?=[；，（])")
# Behind an exception's name it is its message, which says little without the name.
# Behind `free:` it is a number of what is said before.
_INTRODUCTION_ENDS = re.compile(r"(?<=: )(?<!Error: )(?<!Exception: )(?<!free: )|(?<=：)(?<!空闲：)")
_FEWEST_COLUMNS = 20
_SUBSTANCE = 60
"""Columns that a cut keeps of the clause behind a colon, as its object mostly is at its end."""


def explain_briefly(cause: CauseRecord, language: str = "en", most: int | None = MOST_COLUMNS) -> str:
    """The sentence for a table, with one problem of an invalid job. `most`: its columns; the whole clauses that fit are
    kept. None: nothing is cut."""
    invalid = cause.reason == "InvalidJob"
    sentence = render(_name_first_problem(cause.args), language) if invalid else explain(cause, language)
    if most is None:
        return sentence
    if isinstance(shortage := cause.args.get(SHORTAGE), Shortage) and _columns(sentence) > most:
        sentence = render(explain_shortage(shortage), language)  # that it waits is said beside it
    # A scheduler introduces its reason two or three times: the gang, the number of nodes, then what they lack.
    return shorten(drop_introductions(sentence, most) if cause.is_about_room else sentence, most)


def explain_start(cause: CauseRecord, language: str = "en", most: int | None = MOST_COLUMNS) -> str:
    """Why an attempt was started, of one that began: the seconds that it had to wait are over."""
    args = {name: value for name, value in cause.args.items() if name != "delay"}
    return explain_briefly(replace(cause, args=args), language, most)


def _name_first_problem(args: Args) -> Phrase | str:
    """The first problem of an invalid manifest, for a table that says Invalid beside it."""
    problems = items_of(args, "problems") or ("?",)
    if len(problems) == 1:
        return say_problem(problems[0])
    return phrase("{problem} (and {count} more)", problem=say_problem(problems[0]), count=len(problems) - 1)


def drop_introductions(sentence: str, most: int = MOST_COLUMNS) -> str:
    """`waiting for room: … 1 Insufficient cpu`: the first clause and the last, if the whole is too long."""
    first, *others = _INTRODUCTION_ENDS.split(sentence)
    if _columns(sentence) <= most or len(others) < 2:
        return sentence
    shorter = [f"{first}… {''.join(others[left:])}" for left in range(1, len(others))]
    return next((each for each in shorter if _columns(each) <= most), shorter[-1])


def shorten(sentence: str, most: int = MOST_COLUMNS) -> str:
    """The sentence cut at the end of a clause, or of a word if the clause is very short; … marks the cut. A clause
    behind a colon that were cut at a word keeps at least 60 columns: introductions before it give way to it."""
    cut, is_told = _cut(sentence, most)
    first, *others = _INTRODUCTION_ENDS.split(sentence)
    for left in () if is_told or not others else range(1, 2 * len(others)):
        begun = first if left < len(others) else ""
        shorter, is_told = _cut(f"{begun}… {''.join(others[left % len(others) :])}", most)
        if is_told:
            return shorter
    return cut


def _cut(sentence: str, most: int) -> tuple[str, bool]:
    """Also whether its last clause is whole, or has 60 columns behind a colon."""
    if _columns(sentence) <= most:
        return sentence, True
    begun = [match.end() for match in _INTRODUCTION_ENDS.finditer(sentence) if _columns(sentence[: match.end()]) < most]
    last = begun[-1] if begun else 0
    ends = [match.start() for match in _CLAUSE_ENDS.finditer(sentence, last)]
    fitting = [end for end in ends if _FEWEST_COLUMNS <= _columns(sentence[:end]) < most]
    end = fitting[-1] if fitting else _end_of_word(sentence, most - 1)
    return f"{sentence[:end].rstrip()}…", bool(fitting) or _columns(sentence[last:end]) >= _SUBSTANCE


def _end_of_word(sentence: str, most: int) -> int:
    end = next(number for number in range(len(sentence), 0, -1) if _columns(sentence[:number]) <= most)
    space = sentence.rfind(" ", _FEWEST_COLUMNS, end + 1)
    return space if space > 0 else end


def _columns(text: str) -> int:
    """The width on a terminal: Chinese characters take two columns."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
