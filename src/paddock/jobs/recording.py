"""What a reconcile records of a job: a verdict, counts and phase, and the event of a transition. `jobs.plan` decides.

Invariant (docs/architecture.md): a verdict is recorded alone, without actions. The status holds no time but transition
times, in whole seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.jobs import rejoining
from paddock.jobs.actions import EventNote, Plan
from paddock.jobs.conditions import build_counts, build_phase, build_refs
from paddock.jobs.facts import Facts
from paddock.jobs.model import CauseRecord, JobProgress, Phase, Pod, Status, Successes
from paddock.jobs.policies import one_pod, suspects
from paddock.jobs.policies.elastic_size import remember_loss
from paddock.jobs.policies.fates import Fate, plan_fate, read_situation
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.verdict import Verdict
from paddock.jobs.progress import end_progress
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.jobs.sentences.explain import explain
from paddock.jobs.sentences.suspect_phrases import explain_suspect
from paddock.jobs.successes import forget, read_successes
from paddock.kube.times import Moment


def plan_record(facts: Facts, verdict: Verdict) -> Plan:
    """Records the verdict, without actions. Its events are published only if the record succeeds."""
    status = facts.status
    cause = verdict.cause.record(facts.now, status.cause)
    recorded = replace(
        with_observed(facts, status),
        phase=verdict.phase,
        cause=cause,
        attempt=status.attempt if verdict.attempt is None else verdict.attempt,
        restarts=status.restarts + int(verdict.at_fault),
        losses=_losses_after(facts, verdict),
        renewals=_renewals_after(facts, verdict),
        renewed=_renewed_after(facts, verdict),
        delays=_delays_after(facts, verdict),
        gang_size=status.gang_size if verdict.size is None else verdict.size,
        gang_loss=remember_loss(facts.job, status, verdict),
        suspects=status.suspects if verdict.suspects is None else verdict.suspects,
    )
    recorded = replace(
        recorded,
        succeeded=_succeeded_after(recorded, status, verdict),
        progress=_progress_after(recorded, verdict),
    )
    facts = replace(facts, job=fit(facts.job, recorded.gang_size))
    recorded = replace(recorded, **build_gang_counts(facts, counted_pods(facts, recorded)))
    if verdict.phase.terminal:
        refs = build_refs(facts.job, kept_pods(facts, recorded))
        recorded = replace(recorded, finished=whole_seconds(facts.now), refs=refs)
    # A suspension resets the time of the deadline, as in Kubernetes' Job.
    if verdict.phase is Phase.SUSPENDED:
        recorded = replace(recorded, started=None)
    notes = (build_note(verdict.phase, cause), *_build_suspect_notes(status, recorded))
    return Plan(recorded, events=notes, requeue_after=0.0)


def _build_suspect_notes(before: Status, recorded: Status) -> tuple[EventNote, ...]:
    """One for each node that is avoided from now on."""
    new = {name: each for name, each in recorded.suspects.items() if each.until and before.suspects.get(name) != each}
    return tuple(EventNote(suspects.EVENT, str(explain_suspect(name, each)), "Warning") for name, each in new.items())


def counted_pods(facts: Facts, recorded: Status) -> Sequence[Pod]:
    """The pods that stay once this is recorded: none of a gang that ends. Of a suspended job all, until they are gone:
    Kueue gives its quota away when none is active, and pods of an earlier attempt hold their GPUs too."""
    if recorded.phase is Phase.SUSPENDED:
        return facts.observed.pods
    return [pod for pod in facts.gang if recorded.holds(pod)]


def kept_pods(facts: Facts, finished: Status) -> Sequence[Pod]:
    """The pods of the gang that stay when clean-up is done. Named from the end on, they need no second record."""
    situation = read_situation(facts.job, finished)
    there = (pod for pod in facts.gang if not pod.deleting and not pod.cleared)
    return [pod for pod in there if plan_fate(situation, finished, pod, facts.now) is not Fate.DELETE]


def _losses_after(facts: Facts, verdict: Verdict) -> int:
    """Losses in a row to record. Any new gang keeps them, but for those that a long run of the gang before has
    reset."""
    if verdict.losses is not None:
        return verdict.losses
    return facts.status.losses if verdict.attempt is None else facts.losses.before


def _renewals_after(facts: Facts, verdict: Verdict) -> Mapping[str, int]:
    if verdict.renewals is not None:
        return verdict.renewals
    return facts.status.renewals if verdict.attempt is None else {}


def _succeeded_after(recorded: Status, before: Status, verdict: Verdict) -> Mapping[str, Successes]:
    """The successes of `recorded`: a new gang has none, nor has a rank that starts again alone."""
    if verdict.attempt is not None:
        return {}
    renewed = (rank for rank, number in recorded.renewals.items() if number != before.renewals.get(rank, 0))
    return forget(recorded.succeeded, renewed) if verdict.renewals is not None else recorded.succeeded


def _progress_after(recorded: Status, verdict: Verdict) -> JobProgress | None:
    """That of the last attempt stays when the job ends. A new gang has trained nothing yet."""
    if verdict.phase.terminal:
        return end_progress(recorded.progress, verdict.phase)
    return None if verdict.attempt is not None else recorded.progress


def _renewed_after(facts: Facts, verdict: Verdict) -> Moment | None:
    if verdict.renewals:
        return whole_seconds(facts.now)
    return facts.status.renewed if verdict.attempt is None else None


def _delays_after(facts: Facts, verdict: Verdict) -> Mapping[str, Moment]:
    """The delays that are not over stay; the ranks that this verdict starts again alone get its own."""
    if verdict.attempt is not None:
        return {}
    renewals, status = verdict.renewals or {}, facts.status
    renewed = [rank for rank, number in renewals.items() if number != status.renewals.get(rank, 0)]
    if not renewed:
        return status.delays
    seconds = verdict.cause.args().get("delay") or 0
    until = whole_seconds(facts.now) + (seconds if isinstance(seconds, int | float) else 0)
    left = {rank: moment for rank, moment in status.delays.items() if moment > facts.now}
    return {**left, **(dict.fromkeys(renewed, until) if until > facts.now else {})}


def read_phase(facts: Facts) -> Phase:
    """The phase of an unfinished gang, by its pods."""
    if rejoining.runs_on(facts.job, facts.status, facts.gang):
        return Phase.RUNNING
    renewing = one_pod.is_renewing(facts.status, facts.missing)
    return Phase.RESTARTING if renewing else build_phase(facts.status.phase, facts.gang, whole=facts.whole)


def build_gang_counts(facts: Facts, gang: Sequence[Pod]) -> dict[str, Any]:
    """The fields of a status that count these pods, for `replace`."""
    return {"roles": build_counts(facts.job, gang), "refs": build_refs(facts.job, gang)}


def with_observed(facts: Facts, status: Status) -> Status:
    """The status with what every record holds: the mode, the observed generation, who has succeeded, when the whole
    gang first ran, how far the training is."""
    succeeded = read_successes(facts.job, status, facts.gang)
    status = replace(
        status,
        mode=facts.job.mode,
        observed_generation=facts.job.generation,
        succeeded=succeeded,
        progress=facts.observed.progress or status.progress,
    )
    whole = not facts.missing and build_phase(status.phase, facts.gang, whole=True) is Phase.RUNNING
    if status.started is None and (whole or rejoining.runs_on(facts.job, status, facts.gang)):
        status = replace(status, started=whole_seconds(_started(facts)))
    return status


def _started(facts: Facts) -> Moment:
    """Now; or the start of the last rank."""
    # Ranks may have ended before a reconcile saw all of them run.
    begun = [pod.started for pod in facts.gang if pod.started is not None]
    late = any(pod.ended for pod in facts.gang) and len(begun) == len(facts.gang)
    return min(max(begun), facts.now) if late else facts.now


_EVENTS = {
    Phase.PENDING: ("Created", "Normal"),
    Phase.RESTARTING: ("Restarting", "Warning"),
    Phase.RUNNING: ("Restarting", "Warning"),  # of a rank alone
    Phase.SUSPENDED: ("Suspended", "Normal"),
    Phase.COMPLETED: ("Completed", "Normal"),
    Phase.FAILED: ("Failed", "Warning"),
}
"""Reason and type of the event of a cause without one of its own. Only transitions have events."""


def build_note(phase: Phase, cause: CauseRecord) -> EventNote:
    """The event of a transition to this phase, for this cause."""
    row = CAUSE_ROWS.get(cause.reason)
    reason, type_ = (row.event, "Normal") if row is not None and row.event else _EVENTS[phase]
    return EventNote(reason, explain(cause), type_)


def whole_seconds(now: Moment) -> Moment:
    """The API writes times in whole seconds: what is read back then equals what was recorded."""
    return float(int(now))
