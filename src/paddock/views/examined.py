"""What is said of a job beside the findings: why it is as it is, and where to look if nothing was found. Pure.

Doctor knows what launchers and frameworks say; what a program says of itself stands in the job's cause. So the answer
about a job that has failed begins with its cause, and is never that nothing was found. The command line and the console
say the same.
"""

from __future__ import annotations

from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.views.phases import is_cancelled
from paddock.words.phrases import Phrase, phrase

_WAITING = (Phase.PENDING, Phase.NONE, Phase.SUSPENDED)


def tell_cause(status: Status) -> Phrase | None:
    """Why the job failed, restarts or waits; None where it does not, or nothing says why."""
    if status.phase not in (Phase.FAILED, Phase.RESTARTING, *_WAITING) or is_cancelled(status.phase, status.cause):
        return None
    return None if status.cause is None else _explain(status.cause)


def _explain(cause: CauseRecord) -> Phrase | None:
    row = CAUSE_ROWS.get(cause.reason)
    return row.sentence(cause.args) if row is not None else None


def advise_beyond(status: Status, command: str) -> Phrase | None:
    """Where to look if nothing was found. `command`: explains the job. None for a job with which nothing is wrong."""
    if is_cancelled(status.phase, status.cause):
        return None
    if status.phase is Phase.FAILED:
        return phrase("the job failed for a reason that no check knows: `{command}`", command=command)
    if status.phase in _WAITING:
        return phrase("the job does not run: `{command}` says why", command=command)
    return None
