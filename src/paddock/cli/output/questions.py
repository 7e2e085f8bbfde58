"""A question on the terminal, before something is removed for good."""

from __future__ import annotations

import sys

from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.words.phrases import Phrase


def ask(question: Phrase) -> bool:
    stderr().print(f"{localized(question)} [y/N]", end=" ")
    return is_yes(sys.stdin.readline())


def is_yes(answer: str) -> bool:
    """An empty answer, and the end of the input, are none. Pure."""
    return answer.strip().lower() in ("y", "yes")
