"""The only place that decides: what is recorded of a job and done about it now, as one value.

    decide   policies are asked in order (`_LADDER`); the first verdict is recorded, alone, and acted on next pass
    record   counts, phase, cause of an unfinished job; a finished one's stay as they were
    act      fates of pods (one table), then what the gang still needs

Rules a reader must not break (docs/architecture.md): a change of what `Status.decisive` covers comes without actions,
so that a crash between the two loses nothing and repeats nothing. Every delete carries the UID it was decided on. No
clock in the status but transition times, so that a pass which finds what the last one found writes nothing. Whatever
time alone will change is `requeue_after`.

The caller (`paddock.operator`) reads the world, doubts absences, records, then acts. Manifests are built in
`jobs.pods`, reasons are in `jobs.causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs import causes, pods
from paddock.jobs.conditions import build_counts, build_phase, build_refs
from paddock.jobs.explain import explain
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import (
    Action,
    CauseRecord,
    Child,
    Create,
    EventNote,
    Job,
    Observed,
    Phase,
    Plan,
    Pod,
    Rank,
    Settings,
    Status,
)
from paddock.jobs.policies import addresses, children, deadline, gang, lost, ports, restart, success, suspend, ttl, wake
from paddock.jobs.policies.cleanup import read_situation
from paddock.jobs.policies.fates import FATES, Age, Fate, Situation, State, plan_fate
from paddock.jobs.policies.root_cause import read_deaths
from paddock.jobs.policies.verdict import Verdict
from paddock.jobs.waiting import plan_waiting_cause
from paddock.kube.meta import CONFIG_MAPS, name_of
from paddock.kube.times import Moment

RETRY_SECONDS = 30.0
"""When to look again where no watch tells: a foreign object in the way, a port that nobody has given back."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass knows. `gang`: pods of the recorded attempt; `older`: of earlier ones; `missing`: ranks without a
    pod; `whole`: every rank has had its pod in this attempt, so that a missing one was deleted; `overdue`: what to do
    about pods that should have been gone."""

    job: Job
    status: Status
    observed: Observed
    now: Moment
    settings: Settings
    gang: tuple[Pod, ...]
    older: tuple[Pod, ...]
    missing: tuple[Rank, ...]
    whole: bool
    overdue: lost.Overdue


def plan(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings | None = None) -> Plan:
    """The whole decision of one pass. Pure: the same arguments give the same plan. `status` is what was recorded,
    `observed` what is there of the job alone; a missing pod has been doubted by the caller."""
    this = _read_pass(job, status, observed, now, settings or Settings())
    if job.deleting:
        return _plan_deletion(this)
    if status.phase.terminal:
        return _with_force(this, _plan_finished(this))
    verdict = next((found for policy in _LADDER if (found := policy(this)) is not None), None)
    if verdict is not None:
        return _plan_record(this, verdict)
    if status.phase is Phase.SUSPENDED:
        return _with_force(this, _plan_suspended(this))
    return _with_force(this, _plan_gang(this))


def _read_pass(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings) -> _Pass:
    missing = gang.missing_ranks(job, status, observed)
    return _Pass(
        job=job,
        status=status,
        observed=observed,
        now=now,
        settings=settings,
        gang=observed.of_attempt(status.attempt),
        older=tuple(pod for pod in observed.pods if pod.attempt < status.attempt),
        missing=missing,
        whole=not missing or gang.was_whole(job, status, observed),
        overdue=lost.plan_overdue(job, observed, now),
    )


# Decide.


def _judge_deaths(this: _Pass) -> Verdict | None:
    early = success.early_servers(this.job, this.gang)
    gone = this.missing if this.whole else ()
    return restart.plan_restart(this.job, this.status, read_deaths(this.gang, early, gone, whole=this.whole))


def _vouched(this: _Pass) -> tuple[Pod, ...]:
    """Pods whose success is the program's word: one that we end for a suspension may exit 0 on SIGTERM, and be anywhere
    in its work."""
    if this.status.phase is not Phase.SUSPENDED:
        return this.gang
    return tuple(pod for pod in this.gang if not pod.deleting)


_LADDER: tuple[Callable[[_Pass], Verdict | None], ...] = (
    # A lost record comes first: all else compares pods with the recorded attempt.
    lambda this: gang.plan_adoption(this.status, this.observed),
    # Done is done, also when it is suspended or late by the time that it is seen.
    lambda this: success.plan_success(this.job, _vouched(this), this.missing if this.whole else ()),
    lambda this: suspend.plan_suspension(this.job, this.status),
    # A suspended job's pods end because we end them: nothing below may judge them.
    lambda this: None if this.status.phase is Phase.SUSPENDED else _judge_active(this),
)


def _judge_active(this: _Pass) -> Verdict | None:
    """An edit comes before deaths: ranks that it added have no pods, and ranks that it took away may die."""
    return (
        gang.plan_resize(this.job, this.status, this.observed)
        or _judge_deaths(this)
        or deadline.plan_deadline(this.job, this.status, this.now)
        or ports.plan_one_port(this.status, this.gang)
        or addresses.plan_addresses(this.job, this.status, this.observed)
    )


# Record.


def _plan_record(this: _Pass, verdict: Verdict) -> Plan:
    """The verdict, alone. Events belong to it: a record that fails drops them with the pass."""
    status = this.status
    cause = verdict.cause.record(this.now, status.cause)
    recorded = replace(
        _mark(this, status),
        phase=verdict.phase,
        cause=cause,
        attempt=status.attempt if verdict.attempt is None else verdict.attempt,
        restarts=status.restarts + int(verdict.at_fault),
        **_gang_counted(this, () if verdict.attempt is not None else this.gang),
    )
    if verdict.phase.terminal:
        recorded = replace(recorded, finished=_whole_seconds(this.now))
    if verdict.phase is Phase.SUSPENDED:
        recorded = replace(recorded, started=None)
    return Plan(recorded, events=(_note(verdict.phase, cause),), requeue_after=0.0)


def _gang_counted(this: _Pass, gang: Sequence[Pod]) -> dict[str, Any]:
    return {"roles": build_counts(this.job, gang), "refs": build_refs(this.job, gang)}


def _mark(this: _Pass, status: Status) -> Status:
    """What every record says: which edit of the job it is about, and since when the whole gang has run."""
    status = replace(status, mode=this.job.mode, observed_generation=this.job.generation)
    running = not this.missing and build_phase(status.phase, this.gang, whole=True) is Phase.RUNNING
    if status.started is None and running:
        status = replace(status, started=_whole_seconds(_started(this)))
    return status


def _started(this: _Pass) -> Moment:
    """Now; or, where ranks have ended before anybody saw them all run, when the last of them began."""
    begun = [pod.started for pod in this.gang if pod.started is not None]
    late = any(pod.ended for pod in this.gang) and len(begun) == len(this.gang)
    return min(max(begun), this.now) if late else this.now


_EVENTS: dict[str, tuple[str, str]] = {
    "Resumed": ("Resumed", "Normal"),
    "Resized": ("Resized", "Normal"),
    "PodsAdopted": ("Adopted", "Normal"),
    Phase.PENDING: ("Created", "Normal"),
    Phase.RESTARTING: ("Restarting", "Warning"),
    Phase.SUSPENDED: ("Suspended", "Normal"),
    Phase.COMPLETED: ("Completed", "Normal"),
    Phase.FAILED: ("Failed", "Warning"),
}
"""Reason and type by cause, else by phase: of transitions only."""


def _note(phase: Phase, cause: CauseRecord) -> EventNote:
    reason, type_ = _EVENTS.get(cause.reason, _EVENTS[phase])
    return EventNote(reason, explain(cause), type_)


def _whole_seconds(now: Moment) -> Moment:
    """As the API writes times, so that what is read back is what was recorded."""
    return float(int(now))


# Act.


def _plan_deletion(this: _Pass) -> Plan:
    """Children go by their owner references. A finished job stays finished: its record is final."""
    if this.status.phase.terminal or this.status.phase is Phase.TERMINATING:
        return Plan(this.status)
    cause = causes.Deleting().record(this.now)
    return Plan(replace(this.status, phase=Phase.TERMINATING, cause=cause))


def _plan_finished(this: _Pass) -> Plan:
    """Clean-up, then nothing but the job's own end. The status stays as it was at the end, but that an edit has been
    seen is told, as `kubectl wait` doubts the conditions of a status that is about an earlier generation."""
    job, status = this.job, this.status
    if status.observed_generation:
        status = replace(status, observed_generation=job.generation)
    if job.policies.ttl is not None and status.finished is None:
        status = replace(status, finished=_whole_seconds(this.now))  # finished under an operator that left it out
    left = ttl.ttl_left(job, status, this.now)
    if left is not None and left <= 0:
        return Plan(status, (ttl.plan_expiry(job),))
    clean = read_situation(job, status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
    actions = (*_pod_deletes(this), *children.plan_removal(job, this.observed, services=clean))
    return Plan(status, actions, requeue_after=left)


def _with_force(this: _Pass, planned: Plan) -> Plan:
    """And what nobody else will end. Looked at again when the next pod should be gone."""
    over = this.overdue
    return replace(
        planned,
        actions=(*planned.actions, *over.actions),
        events=(*planned.events, *over.events),
        requeue_after=_earliest(planned.requeue_after, over.left),
    )


def _earliest(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)


def _plan_suspended(this: _Pass) -> Plan:
    status = replace(
        this.status,
        mode=this.job.mode,
        observed_generation=this.job.generation,
        **_gang_counted(this, this.gang),
        cause=causes.Suspended().record(this.now, this.status.cause),
    )
    return Plan(status, (*_pod_deletes(this), *children.plan_removal(this.job, this.observed, services=True)))


def _plan_gang(this: _Pass) -> Plan:
    """An unfinished job with nothing to decide: tell how it stands, and make what it still needs."""
    wait = restart.delay_left(this.status, this.now) if this.missing else 0.0
    clearing = bool(this.missing) and (bool(this.older) or wait > 0)
    needs = _Needs() if clearing else _read_needs(this)
    phase = Phase.RESTARTING if clearing else build_phase(this.status.phase, this.gang, whole=this.whole)
    overdue = this.overdue.cause
    cause = _clearing_cause(this, wait) if clearing else needs.obstacle or overdue or _waiting_cause(this, needs)
    status = replace(
        _mark(this, this.status),
        phase=phase,
        **_gang_counted(this, this.gang),
        cause=None if cause is None else _recorded(this, cause),
    )
    leftovers = children.plan_leftovers(this.job, this.status, this.observed)
    wakes = wake.plan_wakes(this.job, this.status, this.observed, this.settings)
    left = deadline.deadline_left(this.job, status, this.now)
    return Plan(
        status,
        (*_pod_deletes(this), *leftovers, *needs.actions, *wakes),
        (
            *((_note(Phase.PENDING, status.cause),) if this.status.phase is Phase.NONE and status.cause else ()),
            *_address_notes(this, needs.actions),
        ),
        _earliest(wait or None, left, needs.retry),
    )


@dataclass(frozen=True, slots=True)
class _Needs:
    """What an unfinished gang lacks: what to do, or what is in the way and when to look again."""

    actions: tuple[Action, ...] = ()
    obstacle: causes.Cause | None = None
    retry: float | None = None


def _address_notes(this: _Pass, actions: Sequence[Action]) -> tuple[EventNote, ...]:
    """Said once, with the ConfigMap that tells ranks of addresses that their framework cannot use."""
    if not any(isinstance(action, Create) and action.resource == CONFIG_MAPS for action in actions):
        return ()
    doubt = FRAMEWORKS[this.job.framework].doubt_addresses(this.job, {pod.rank: pod.address for pod in this.gang})
    return (EventNote("AddressesUnread", doubt, "Warning"),) if doubt else ()


def _read_needs(this: _Pass) -> _Needs:
    """All or nothing: with one name taken by somebody else, or no port, no rank is made. What a former job of the name
    has left is deleted: a cluster's garbage collector comes late, up to a minute where the kind is new to it."""
    job, observed = this.job, this.observed
    if not job.size:
        return _Needs(obstacle=causes.NoReplicas())
    port = ports.kept_port(this.gang)
    no_port = False
    if port is None and this.missing and not this.gang and ports.shares_network(job, this.settings):
        port = ports.choose_port(job.uid, this.status.attempt, observed.taken_ports)
        no_port = port is None
    actions = tuple(_missing_objects(this, port))
    if observed.foreign and any(isinstance(action, Create) for action in actions):
        remains = children.plan_deletes(job, (child for child in observed.foreign if child.former))
        return _Needs(remains, _name_what_is_in_the_way(observed.foreign), RETRY_SECONDS)
    if no_port:
        return _Needs(obstacle=causes.NoFreePort(ports.FIRST_PORT, ports.LAST_PORT), retry=RETRY_SECONDS)
    return _Needs(actions)


def _name_what_is_in_the_way(foreign: Sequence[Child]) -> causes.Cause:
    """What is left of a former job goes without a user, so others' objects, which one must remove, are named first."""
    others = [child for child in foreign if not child.former]
    names = tuple(f"{child.resource.kind} {child.name}" for child in others or foreign)
    return causes.ObjectInTheWay(names, former=not others)


def _missing_objects(this: _Pass, port: int | None) -> Iterator[Action]:
    job, status, observed = this.job, this.status, this.observed
    group = children.plan_pod_group(job, observed, this.settings)
    yield from group
    if any(isinstance(action, Create) for action in group) or (observed.pod_group and observed.pod_group.deleting):
        return
    creates = FATES[read_situation(job, status), Age.CURRENT, State.ABSENT] is Fate.CREATE
    yield from children.plan_services(job, observed)
    yield from children.plan_pods(job, status, this.missing if creates else (), port, this.settings)
    yield from children.plan_config_map(job, status, observed)


def _pod_deletes(this: _Pass) -> Iterator[Action]:
    situation = read_situation(this.job, this.status)
    for pod in this.observed.pods:
        if plan_fate(situation, this.status.attempt, pod) is Fate.DELETE:
            yield children.plan_pod_delete(this.job, pod)


def _clearing_cause(this: _Pass, wait: float) -> causes.Cause | CauseRecord:
    """Why there is a new attempt, as it was recorded, until its pods are made: its delay counts from that record. Once
    that is over, what keeps an old pod from going."""
    recorded = this.status.cause
    if not wait and this.overdue.cause is not None:
        return this.overdue.cause
    if recorded is not None and recorded.reason in causes.NEW_ATTEMPT_REASONS:
        return recorded
    return causes.WaitingForOldPods(len(this.older))


def _waiting_cause(this: _Pass, needs: _Needs) -> causes.Cause | None:
    if refused := _refused(this, needs.actions):
        return refused
    name = pods.config_map_name(this.job, this.status.attempt)
    exists = any(child.name == name for child in this.observed.config_maps)
    needed = name if pods.needs_config_map(this.job) else ""
    return plan_waiting_cause(this.gang, this.job.size, needed, has_config_map=exists)


def _refused(this: _Pass, actions: Sequence[Action]) -> causes.Cause | None:
    """What was asked for in vain and is still needed: with it, why other pods wait need not be told."""
    if this.observed.refused is None:
        return None
    creates = [action for action in actions if isinstance(action, Create)]
    needed = {f"{create.resource.kind} {name_of(create.manifest)}" for create in creates}
    objects = tuple(each for each in this.observed.refused.objects if each in needed)
    return causes.ObjectsRefused(objects, this.observed.refused.message) if objects else None


def _recorded(this: _Pass, cause: causes.Cause | CauseRecord) -> CauseRecord:
    return cause if isinstance(cause, CauseRecord) else cause.record(this.now, this.status.cause)
