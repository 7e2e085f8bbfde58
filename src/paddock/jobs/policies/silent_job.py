"""The annotation `paddock.dev/silent`: what becomes of a job that runs, and whose ranks all print nothing for too long.

A collective whose peer is stuck waits for ever, and no exit code tells it. The node says how long nobody has printed
(`model.Report`); a line that only says that its process waits is not heard. The stacks of all ranks are asked for first
and stand in their logs before anything is ended. `Tell` records a cause, which goes when a line comes. A restart counts
as one of a program that failed: `runPolicy.backoffLimit` is asked, the role's restartPolicy is not, as no rank ended.
Where nobody reports (a cluster whose operator has no right to logs), nothing is decided. An operator that has it may
take no stacks: the cause says so, and names who can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.jobs import causes
from paddock.jobs.actions import EventNote
from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import Job, Observed, OnSilence, Phase, Report, SilenceLimit, Stacks, Status
from paddock.jobs.policies.backoff import restart_delay
from paddock.jobs.policies.verdict import Verdict, plan_failure, plan_new_gang
from paddock.jobs.sentences.explain import explain

LOOK_SECONDS = 2.0
"""Until the next look while stacks are taken."""
HEARD_SECONDS = 10.0
"""Until the next look at a job of which it is told that it is silent."""


@dataclass(frozen=True, slots=True)
class Silent:
    """What a silence asks for beside a verdict."""

    cause: causes.JobSilent | None = None
    wants_stacks: bool = False
    left: float | None = None
    """Seconds until the next look."""


def plan_silent(job: Job, status: Status, observed: Observed) -> Verdict | None:
    """The end of a gang that was silent for too long, once its stacks are written."""
    limit, stacks = job.silence, _read_due(job, status, observed)
    if limit is None or stacks is None or not stacks.written or limit.does is OnSilence.TELL:
        return None
    restarts = job.policies.backoff_limit
    without = _name_stackless(job, stacks)
    failed = causes.SilentFailed(limit.seconds, who=stacks.who, places=stacks.places, stackless=without)
    if limit.does is OnSilence.FAIL:
        return plan_failure(failed)
    if restarts is not None and status.restarts >= restarts:
        return plan_failure(replace(failed, limit=restarts))
    number = status.restarts + 1
    again = causes.SilentRestarted(
        limit.seconds,
        who=stacks.who,
        places=stacks.places,
        stackless=without,
        restart=number,
        limit=restarts,
        delay=restart_delay(number),
    )
    return plan_new_gang(again, status.attempt, at_fault=True)


def look_silent(job: Job, status: Status, observed: Observed) -> Silent:
    """Of a job without a verdict."""
    limit, report = job.silence, observed.report
    if limit is None or report is None or status.phase is not Phase.RUNNING:
        return Silent()
    stacks = _read_due(job, status, observed)
    if stacks is None:
        return Silent(left=_look_left(limit, report))
    if not stacks.written:
        return Silent(wants_stacks=report.stacks is None, left=LOOK_SECONDS)
    cause = causes.JobSilent(
        limit.seconds, who=stacks.who, places=stacks.places, stackless=_name_stackless(job, stacks)
    )
    return Silent(cause, left=HEARD_SECONDS)


def begin_left(job: Job, before: Status, after: Status, observed: Observed) -> float | None:
    """Seconds until the first look at a gang that begins to run: its record wakes nobody."""
    begins = before.phase is not Phase.RUNNING and after.phase is Phase.RUNNING
    if not begins or job.silence is None or observed.report is None:
        return None
    return _look_left(job.silence, observed.report)


def _look_left(limit: SilenceLimit, report: Report) -> float:
    return max(limit.seconds - report.quiet, 0.0) if report.next_look is None else report.next_look


def build_notes(before: Status, after: Status) -> tuple[EventNote, ...]:
    """The event of a silence that is told, once."""
    cause = after.cause
    if cause is None or cause.reason != causes.JobSilent.__name__ or cause == before.cause:
        return ()
    return (EventNote("Silent", explain(cause), "Warning"),)


def explain_unseen(job: Job, status: Status, observed: Observed) -> EventNote | None:
    """The event of a job that runs, and asks for what nobody sees."""
    if (
        job.silence is None
        or status.phase is not Phase.RUNNING
        or observed.report is None
        or not observed.report.unseen
    ):
        return None
    said = f"the annotation {SILENT_ANNOTATION} has no effect: {observed.report.unseen}"
    return EventNote("SilenceUnseen", said, "Warning")


def _name_stackless(job: Job, stacks: Stacks) -> str | None:
    return f"{job.key.name} -n {job.key.namespace}" if stacks.forbidden else None


def _read_due(job: Job, status: Status, observed: Observed) -> Stacks | None:
    """The stacks of a silence that is too long; None for any other."""
    report = observed.report
    if job.silence is None or report is None or status.phase is not Phase.RUNNING:
        return None
    return (report.stacks or Stacks()) if report.quiet >= job.silence.seconds else None
