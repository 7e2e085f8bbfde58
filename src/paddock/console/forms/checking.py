"""A text -> what is wrong with it, and the one word that mends it where that is known. Pure."""

from __future__ import annotations

import re

from paddock.kube.validation.field_errors import Code
from paddock.manifests.bounds import Bounds
from paddock.submission.reading import Reading, read_text
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

MOST_CHARACTERS = 128 * 1024
"""Of a text: as much as one argument of a Linux program may have; a longer manifest goes by `paddock submit`."""
BOUNDS = Bounds(documents=50, values=8_000, levels=100)
"""Of a text: a job of eight roles with a hundred variables each has 4,000 values."""
MOST_PROBLEMS = 50
"""That are shown."""


DEFAULT_NAMESPACE = "default"
"""Of a document that names none."""


def check_text(text: str) -> Reading:
    """Every problem, in the order of the lines. Never raises. Takes about a second of a text at its bounds
    (`tests/preflight/test_hostile_texts.py`)."""
    if len(text) > MOST_CHARACTERS:
        said = phrase(
            "the text has {size} KiB, and the console reads {most} KiB at most: `paddock submit FILE` takes more",
            size=len(text) >> 10, most=MOST_CHARACTERS >> 10,
        )  # fmt: skip
        return Reading("", problems=(told("", said, line=1, column=1),))
    return read_text(text, DEFAULT_NAMESPACE, BOUNDS)


def find_mended(text: str, problem: Problem) -> str | None:
    """The text with the suggested word in the place of the wrong one; None where no word is known that mends it."""
    new = str(problem.suggestion)
    is_place = problem.code is Code.UNKNOWN_FIELD and "." in new  # where the field belongs, not how it is spelt
    if not new or is_place or not re.fullmatch(r"[\w./:-]+", new) or not problem.line or not problem.column:
        return None
    lines = text.splitlines(keepends=True)
    if problem.line > len(lines):
        return None
    line, begin = lines[problem.line - 1], problem.column - 1
    found = re.match(r"""(["']?)([\w./-]+)\1""", line[begin:])
    if found is None or found[2] not in problem.found:
        return None
    lines[problem.line - 1] = f"{line[:begin]}{found[1]}{new}{found[1]}{line[begin + found.end() :]}"
    return "".join(lines)


def mend(text: str, place: str) -> str:
    """`place`: `LINE:COLUMN` of a problem, as a *Fix* button sends it. The text as it is if there is none any more."""
    for problem in check_text(text).problems:
        if f"{problem.line}:{problem.column}" == place:
            return find_mended(text, problem) or text
    return text
