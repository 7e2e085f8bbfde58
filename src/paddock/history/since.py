"""What has changed since a run of this name, from this directory, last completed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paddock.history.changes import shorten
from paddock.history.records import RunRecord
from paddock.history.settings import find_run_changes
from paddock.history.surroundings import ReadPackages, has_unknown_packages, read_nothing
from paddock.words.phrases import Foreign, Phrase, phrase

_MOST = 6
"""Changes that the sentence has."""
_COMPLETED = "Completed"


def find_earlier(
    runs: Iterable[RunRecord], counts: Callable[[RunRecord], bool] = lambda _: True
) -> dict[str, RunRecord]:
    """For each run, by its UID, the last one before it that `counts`: of the same name, and of the same directory as
    far as it is known. One pass, as a name may have ten thousand runs."""
    found, latest, of_directory = dict[str, RunRecord](), dict[object, RunRecord](), dict[object, RunRecord]()
    for run in sorted(runs, key=lambda run: (run.identity, run.run)):
        same = (of_directory.get((run.identity, each)) for each in (run.directory, ""))
        known = [each for each in (same if run.directory else (latest.get(run.identity),)) if each is not None]
        if known:
            found[run.uid] = max(known, key=lambda each: each.run)
        if counts(run):
            latest[run.identity] = of_directory[run.identity, run.directory] = run
    return found


def find_completed(runs: Iterable[RunRecord]) -> dict[str, RunRecord]:
    """For each run the last one before it that completed."""
    return find_earlier(runs, lambda run: run.phase == _COMPLETED)


def explain_since(before: RunRecord, run: RunRecord, read: ReadPackages = read_nothing) -> Phrase:
    """`since run 4, which completed: args: --epochs 3 → 12; code: train.py`. `read`: as in `find_run_changes`."""
    changes = find_run_changes(before, run, read)
    if changes:
        return phrase(
            "since run {run}, which completed: {changes}", run=before.run, changes=Foreign(shorten(changes, _MOST))
        )
    if has_unknown_packages(before.surroundings, run.surroundings):
        return phrase(
            "nothing that Paddock records has changed since run {run}, which completed; whether the packages have is "
            "not known",
            run=before.run,
        )
    return phrase("nothing that Paddock records has changed since run {run}, which completed", run=before.run)
