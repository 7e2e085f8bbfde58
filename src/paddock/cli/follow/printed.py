"""What has been printed of the logs of a followed job, and what was folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paddock.logs.folding import Folding, Unfolded
from paddock.logs.tracebacks import Tracebacks
from paddock.views.folded import explain_again, explain_folded
from paddock.words.phrases import Phrase

_JUST = 40
"""Lines that a reader still sees above the last one."""


class Printed:
    """`folds`: False prints every line. Ranks share what they have printed, so that one error is printed once."""

    def __init__(self, folds: bool) -> None:
        self._folds = folds
        self._tracebacks = Tracebacks()
        self._foldings: list[Folding] = []
        self._count = 0
        self._last: dict[str, int] = {}

    def open(self, rank: str) -> Folding:
        """The filter of one pod's log; a rank has one in each attempt."""
        folding = Folding(rank, self._tracebacks) if self._folds else Unfolded(rank)
        self._foldings.append(folding)
        return folding

    def note(self, rank: str, lines: int) -> None:
        """Notes that so many lines of the rank are printed now."""
        if lines:
            self._count += lines
            self._last[rank] = self._count

    def just_printed(self) -> frozenset[str]:
        """The ranks whose last lines are still to be seen."""
        return frozenset(rank for rank, at in self._last.items() if self._count - at < _JUST)

    def explain(self, command: str, language: str) -> Iterator[Phrase]:
        """The sentences about what was not printed. `command` prints all."""
        yield from explain_again(self._tracebacks.again, language)
        folded: Counter[str] = sum((each.folded for each in self._foldings), Counter())
        if said := explain_folded(folded, command):
            yield said
