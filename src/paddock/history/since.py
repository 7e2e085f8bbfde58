"""What has changed since a run of this name, from this directory, last completed. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from paddock.history.changes import shorten
from paddock.history.records import RunRecord
from paddock.history.settings import find_run_changes
from paddock.words.phrases import Foreign, Phrase, phrase

_MOST = 6
"""Changes that the sentence has."""
_COMPLETED = "Completed"


def is_comparable(before: RunRecord, run: RunRecord) -> bool:
    """Whether both are runs of one name, from one directory as far as it is known."""
    unknown = not (before.directory and run.directory)
    return before.identity == run.identity and (unknown or before.directory == run.directory)


def find_completed(runs: Iterable[RunRecord], run: RunRecord) -> RunRecord | None:
    """The last run before this one that completed; None where none is kept."""
    found = [each for each in runs if each.run < run.run and each.phase == _COMPLETED and is_comparable(each, run)]
    return max(found, key=lambda each: each.run, default=None)


def explain_since(before: RunRecord, run: RunRecord) -> Phrase:
    """`since run 4, which completed: args: --epochs 3 → 12; code: train.py`."""
    changes = find_run_changes(before, run)
    if not changes:
        return phrase("nothing that Paddock records has changed since run {run}, which completed", run=before.run)
    return phrase(
        "since run {run}, which completed: {changes}", run=before.run, changes=Foreign(shorten(changes, _MOST))
    )


def explain_since_completed(runs: Iterable[RunRecord], run: RunRecord) -> Phrase | None:
    """The sentence about a run that failed; None for any other, and where no run before it completed."""
    if run.phase != "Failed":
        return None
    before = find_completed(runs, run)
    return explain_since(before, run) if before is not None else None
