"""What was not printed of a job's logs, in sentences: how many lines, and which ranks printed the same error. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddock.logs.folding import BAR, SAME_ERROR
from paddock.logs.torchrun import CHILD_FAILED
from paddock.words.formats import format_of
from paddock.words.phrases import Phrase, counted, phrase

_MOST_RANKS = 8


def explain_folded(folded: Mapping[str, int], command: str) -> Phrase | None:
    """None if nothing is missed: earlier states of a progress bar are no lines to a person, and what ranks have in
    common is told by `explain_again`. `command` prints all."""
    count = sum(number for source, number in folded.items() if source not in (BAR, SAME_ERROR))
    if not count:
        return None
    return counted(
        "({count} line of launchers and libraries is folded: `{command}` shows it)",
        "({count} lines of launchers and libraries are folded: `{command}` shows them)",
        count=count, command=command,
    )  # fmt: skip


def explain_again(again: Mapping[str, Sequence[str]], language: str = "en") -> list[Phrase]:
    """A line for each error whose traceback was printed for its first rank alone, but torchrun's own, which says only
    that a process has failed: what each rank's process printed is on the screen."""
    return [
        phrase("the same error in {ranks}: {error}", ranks=_names(ranks, language), error=error)
        for error, ranks in again.items()
        if not error.rstrip().endswith(CHILD_FAILED)
    ]


def _names(ranks: Sequence[str], language: str) -> str:
    more = len(ranks) - _MOST_RANKS
    return format_of(language).comma.join((*ranks[:_MOST_RANKS], *([f"+{more}"] if more > 0 else [])))
