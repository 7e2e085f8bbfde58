"""The words for states, of jobs and of what they are made of, as people read them. Pure.

The API has the phases of its kind, in which a cancelled job has failed (docs/decisions/0027), and programs decide by
these. People who cancelled a job read `Cancelled`, and not among what went wrong. Every list, page and sentence that
shows a phase takes its word from here; `history.records.RunRecord.outcome` says the same of a run that is kept.

In another language a state has a word of it. Commands, filters and `-o json` have the API's.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.words.phrases import Phrase, phrase, render

SINGLE = "Single"
"""The mode of a job of one rank (`jobs.frameworks`), which is shown where jobs of other modes stand beside it."""
CANCELLED = "Cancelled"
"""The word, and the reason of the cause (`jobs.causes.Cancelled`)."""


def is_cancelled(phase: str, cause: CauseRecord | None) -> bool:
    """Whether somebody has ended the job: it has failed, and that is its cause."""
    return phase == Phase.FAILED and cause is not None and cause.reason == CANCELLED


def name_phase(phase: Phase, cause: CauseRecord | None) -> str:
    """`Cancelled` of a cancelled job, else the phase; empty before the first status."""
    return CANCELLED if is_cancelled(phase, cause) else str(phase)


def show_phase(status: Status) -> str:
    return name_phase(status.phase, status.cause)


WORDS: Mapping[str, Phrase] = {
    "Pending": phrase("Pending"),
    "Starting": phrase("Starting"),
    "Running": phrase("Running"),
    "Restarting": phrase("Restarting"),
    "Suspended": phrase("Suspended"),
    "Completed": phrase("Completed"),
    "Failed": phrase("Failed"),
    "Cancelled": phrase("Cancelled"),
    "Invalid": phrase("Invalid"),
    "Terminating": phrase("Terminating"),
    "Succeeded": phrase("Succeeded"),
    "Unknown": phrase("Unknown"),
    "Error": phrase("Error"),
    "Evicted": phrase("Evicted"),
    "Ready": phrase("Ready"),
    "NotReady": phrase("NotReady"),
    "Cordoned": phrase("Cordoned"),
    "Building": phrase("Building"),
    "Fetching": phrase("Fetching"),
    "Installing": phrase("Installing"),
    "Ended": phrase("Ended"),
    "Stopped": phrase("Stopped"),
    "TimedOut": phrase("TimedOut"),
    "NotStarted": phrase("NotStarted"),
    "Normal": phrase("Normal"),
    "Warning": phrase("Warning"),
    "Single": phrase("Single"),
    "Distributed": phrase("Distributed"),
    "Collective": phrase("Collective"),
    "PS": phrase("PS"),
}
"""By the API's word: of jobs, pods, nodes, environments, datasets, boards, runs and events, and the modes of jobs."""


def name_state(word: str) -> Phrase:
    """The word for a state; that of another program which is not known here as it is (`CrashLoopBackOff`)."""
    return WORDS[word] if word in WORDS else phrase("{said}", said=word)


def say_state(word: str, language: str) -> str:
    return render(name_state(word), language)
