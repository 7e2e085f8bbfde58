"""What a status write records of the course of a job, as values that the metrics count. PURE.

A transition is read from the status before the write and the status that it records, so each is counted at the one
write that records it (`operator.tally`), by whichever operator wrote it: no process has to remember a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.causes import CAUSES, NEW_ATTEMPT_REASONS
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest, metadata
from paddock.kube.times import Moment, read_time

OTHER = "Other"
"""Stands for a reason that is not in `jobs.causes`: labels of metrics have a bounded number of values."""


@dataclass(frozen=True, slots=True)
class Ran:
    """All ranks ran for the first time, this many seconds after the job was created or resumed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Restarted:
    """A new attempt begins, or a rank alone again."""

    cause: str
    """The reason."""
    counted: bool
    """It counts towards `backoffLimit`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The job has ended."""

    outcome: Phase
    """Its phase."""
    reason: str
    seconds: float | None
    """Since all ranks first ran; None if they never did."""


Transition = Ran | Restarted | Finished


def read_transitions(before: Status, after: Status, begun: Moment | None) -> tuple[Transition, ...]:
    """The transitions from `before` to `after`. `begun`: as `read_begun`."""
    # The end is final: what is recorded after it is no step of the job.
    if before.phase.terminal:
        return ()
    return (*_read_start(before, after, begun), *_read_restart(before, after), *_read_end(after))


def read_begun(manifest: Mapping[str, Any]) -> Moment | None:
    """Since when the job is to run: its last resumption, or else its creation."""
    # Both kinds of job keep the time of a resumption in this condition, so no process has to remember it.
    resumed = [each for each in _conditions(manifest) if each.get("type") == "Suspended" and each["status"] == "False"]
    times = [str(each.get("lastTransitionTime") or "") for each in resumed]
    return read_time(next(iter(times), "") or str(metadata(manifest).get("creationTimestamp") or ""))


def _read_start(before: Status, after: Status, begun: Moment | None) -> tuple[Ran, ...]:
    # A job of another operator may have run for days before its start is recorded.
    if before.started is not None or after.started is None or begun is None or before.phase is Phase.RUNNING:
        return ()
    # `begun` is of the API server's clock, which may be ahead of this one.
    return (Ran(max(0.0, after.started - begun)),)


def _read_restart(before: Status, after: Status) -> tuple[Restarted, ...]:
    # An adopted attempt (`PodsAdopted`) is no new one: only its record was lost.
    reason = _reason(after.cause)
    again = after.attempt > before.attempt or after.renewals != before.renewals
    if not again or reason not in NEW_ATTEMPT_REASONS:
        return ()
    return (Restarted(reason, after.restarts > before.restarts),)


def _read_end(after: Status) -> tuple[Finished, ...]:
    if not after.phase.terminal:
        return ()
    known = after.started is not None and after.finished is not None
    seconds = max(0.0, (after.finished or 0.0) - (after.started or 0.0)) if known else None
    return (Finished(after.phase, _reason(after.cause), seconds),)


def _reason(cause: CauseRecord | None) -> str:
    return cause.reason if cause is not None and cause.reason in CAUSES else OTHER


def _conditions(manifest: Mapping[str, Any]) -> list[Manifest]:
    """The conditions that have a status; any client may have written the list."""
    status = manifest.get("status")
    items = status.get("conditions") if isinstance(status, Mapping) else None
    return [each for each in (items if isinstance(items, list) else ()) if isinstance(each, dict) and "status" in each]
