"""The word for a job's state, as people read it. Pure.

The API has the phases of its kind, in which a cancelled job has failed (docs/decisions/0027), and programs decide by
these. People who cancelled a job read `Cancelled`, and not among what went wrong. Every list, page and sentence that
shows a phase takes its word from here; `history.records.RunRecord.outcome` says the same of a run that is kept.
"""

from __future__ import annotations

from paddock.jobs.model import CauseRecord, Phase, Status

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
