"""The reconcile decision: what to record of a job and what to do about it now, as one value. No other module decides.

    decide   policies are asked in order (`_LADDER`); the first verdict is recorded alone, the next reconcile acts
             on it. A verdict that must wait is recorded as the cause, and meanwhile nothing is done
    record   counts, phase and cause of an unfinished job; of a finished job the counts alone
    act      the fate of each pod (one table), then what the gang still needs

Invariants (docs/architecture.md): a plan that changes what `Status.decisive` covers has no actions, so a crash between
record and act loses nothing and repeats nothing. Every delete carries the UID that it was decided on. The status holds
no time but transition times, so a reconcile that finds nothing new writes nothing. What changes by time alone is
`requeue_after`.

The caller (`paddock.operator`) reads the objects, confirms absences by a live GET, records, then acts. Manifests are
built in `jobs.objects.pods`, reasons are in `jobs.causes`. What a reconcile decides on is read in `jobs.facts`; what a
verdict records is put together in `jobs.recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from paddock.jobs import causes
from paddock.jobs.actions import Action, Create, EventNote, Plan
from paddock.jobs.cancelling import plan_cancellation
from paddock.jobs.conditions import as_unbegun, follow_pods
from paddock.jobs.datasets import find_claims, plan_gate
from paddock.jobs.facts import Facts, read_facts
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.model import CauseRecord, Child, Job, Observed, Phase, Pod, Rank, Settings, Status
from paddock.jobs.objects import pods
from paddock.jobs.policies import (
    addresses,
    arrival,
    autoscaler,
    backoff,
    children,
    deadline,
    ending,
    gang,
    one_pod,
    ports,
    restart,
    silence,
    silent_nodes,
    success,
    suspend,
    ttl,
    wake,
)  # fmt: skip
from paddock.jobs.policies.cleanup import read_situation
from paddock.jobs.policies.fates import FATES, Age, Fate, Situation, State, plan_fate
from paddock.jobs.policies.root_cause import read_deaths
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed
from paddock.jobs.recording import (
    build_gang_counts,
    build_note,
    counted_pods,
    plan_record,
    read_phase,
    whole_seconds,
    with_observed,
)
from paddock.jobs.text.explain import explain
from paddock.jobs.waiting import plan_refused_cause, plan_waiting_cause
from paddock.kube.meta import CONFIG_MAPS, name_of
from paddock.kube.times import Moment

RETRY_SECONDS = 30.0
"""Until the next look at what no watch reports: a foreign object that has a name of ours, a port that is still held."""


def plan(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings | None = None) -> Plan:
    """The whole decision of one reconcile. Pure: the same arguments give the same plan. `status`: the recorded status.
    `observed`: the objects of this job; the caller has confirmed by a live GET that a missing pod does not exist."""
    facts = read_facts(job, as_unbegun(status), observed, now, settings or Settings())
    if job.deleting:
        return _plan_deletion(facts)
    # A finished job never trains again, whatever is edited or deleted: clean-up and time to live are left.
    if status.phase.terminal:
        return _with_force(facts, _plan_finished(facts))
    verdict = next((found for policy in _LADDER if (found := policy(facts)) is not None), None)
    if isinstance(verdict, Wait):
        return _with_force(facts, _plan_wait(facts, verdict))
    if verdict is not None:
        return plan_record(facts, verdict)
    if status.phase is Phase.SUSPENDED:
        return _with_force(facts, _plan_suspended(facts))
    return _with_force(facts, _plan_gang(facts))


# Decide.


def _judge_success(facts: Facts) -> Verdict | Wait | None:
    job, status, gone = facts.job, facts.status, facts.missing if facts.whole else ()
    found = success.plan_success(job, _vouched(facts), gone, arrival.first_noticed(status, facts.now))
    off = facts.observed.clock_off
    return ending.plan_ending(job, status, found, facts.gang, facts.now, facts.settings, off)


def _judge_deaths(facts: Facts) -> Verdict | Wait | None:
    job, status = facts.job, facts.status
    early = success.early_servers(job, facts.gang, arrival.first_noticed(status, facts.now))
    gone = facts.missing if facts.whole else ()
    deaths = read_deaths(job, facts.gang, early, gone, whole=facts.whole, seen=arrival.recall(status, facts.now))
    wait = arrival.plan_wait(job, status, facts.gang, deaths, facts.now, facts.settings)
    verdict = restart.plan_restart(job, status, deaths, facts.losses)
    return wait or one_pod.plan_alone(job, status, verdict, [death.rank for death in deaths])


def _vouched(facts: Facts) -> tuple[Pod, ...]:
    """Pods whose success counts."""
    if facts.status.phase is not Phase.SUSPENDED:
        return facts.gang
    # A pod that is ended for a suspension may exit with 0 on SIGTERM before its work is done.
    return tuple(pod for pod in facts.gang if not pod.deleting)


_LADDER: tuple[Callable[[Facts], Verdict | Wait | None], ...] = (
    # First, as all other policies compare pods with the recorded attempt.
    lambda facts: gang.plan_adoption(facts.status, facts.observed),
    # Before all other ends: a job whose deciding ranks have succeeded is complete, even if that is seen late.
    _judge_success,
    lambda facts: plan_cancellation(facts.job),
    lambda facts: suspend.plan_suspension(facts.job, facts.status),
    # The operator itself ends the pods of a suspended job, so their exits say nothing about the program.
    lambda facts: None if facts.status.phase is Phase.SUSPENDED else _judge_active(facts),
)


def _judge_active(facts: Facts) -> Verdict | Wait | None:
    return (
        # A resize comes before failed ranks: added ranks have no pods yet, and removed ranks may fail.
        gang.plan_resize(facts.job, facts.status, facts.observed)
        or _judge_deaths(facts)
        or deadline.plan_deadline(facts.job, facts.status, facts.now, facts.observed.clock_off)
        or ports.plan_one_port(facts.status, facts.gang)
        or addresses.plan_addresses(facts.job, facts.status, facts.observed, facts.losses)
        or success.plan_master(facts.job, facts.status, facts.gang, facts.now, facts.settings, facts.observed.clock_off)
    )


# Act.


def _plan_wait(facts: Facts, wait: Wait) -> Plan:
    """Records counts and the cause, which keeps its time while other ranks end. Nothing of this attempt is touched."""
    now = facts.now
    since = noticed(facts.status, type(wait.cause), now)
    cause = wait.cause.record(now)
    if since is not None:
        cause = replace(cause, since=since)
    status = replace(
        with_observed(facts, facts.status),
        phase=read_phase(facts),
        **build_gang_counts(facts, facts.gang),
        cause=cause,
    )
    left = deadline.deadline_left(facts.job, status, now)
    # A deadline that passes during the wait is judged after it: these ranks ended before.
    due = left if left is not None and 0 < left < wait.left else wait.left
    return Plan(status, tuple(_pod_deletes(facts)), requeue_after=due)


def _plan_deletion(facts: Facts) -> Plan:
    """The record alone; that of a finished job does not change."""
    # Kubernetes' garbage collector deletes the children by their owner references, so nothing is deleted here.
    if facts.status.phase.terminal or facts.status.phase is Phase.TERMINATING:
        return Plan(facts.status)
    cause = causes.Deleting().record(facts.now)
    return Plan(replace(facts.status, phase=Phase.TERMINATING, cause=cause))


def _plan_finished(facts: Facts) -> Plan:
    """Clean-up, then the time to live. Of the status, the counts and `observedGeneration` alone change."""
    job, status = facts.job, follow_pods(facts.job, facts.status, facts.gang)
    # `kubectl wait` ignores the conditions of a status whose generation is older than the object's.
    if status.observed_generation:
        status = replace(status, observed_generation=job.generation)
    if job.policies.ttl is not None and status.finished is None:
        # An older operator finished the job and did not record when.
        status = replace(status, finished=whole_seconds(facts.now))
    left = ttl.ttl_left(job, status, facts.now)
    if left is not None and left <= 0 and not facts.observed.clock_off:
        return Plan(status, (ttl.plan_expiry(job),))
    clean = read_situation(job, status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
    actions = (*_pod_deletes(facts), *_removal(facts, services=clean))
    if left is not None and left <= 0:
        doubt = causes.ClockUnsure(facts.observed.clock_off).record(facts.now)
        note = EventNote("ClockUnsure", explain(doubt), "Warning")
        return Plan(status, actions, (note,), LOOK_AGAIN)
    return Plan(status, actions, requeue_after=left)


def _with_force(facts: Facts, planned: Plan) -> Plan:
    """Adds the forced deletes of pods on lost nodes, and the time of the next one."""
    over = facts.overdue
    return replace(
        planned,
        actions=(*planned.actions, *over.actions),
        events=(*planned.events, *over.events),
        requeue_after=_earliest(planned.requeue_after, over.left),
    )


def _earliest(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)


def _plan_suspended(facts: Facts) -> Plan:
    status = replace(
        facts.status,
        mode=facts.job.mode,
        observed_generation=facts.job.generation,
        **build_gang_counts(facts, counted_pods(facts, facts.status)),
        cause=causes.Suspended().record(facts.now, facts.status.cause),
    )
    return Plan(status, (*_pod_deletes(facts), *_removal(facts, services=True)))


def _removal(facts: Facts, *, services: bool) -> tuple[Action, ...]:
    removal = children.plan_removal(facts.job, facts.observed, services=services)
    return (*removal, *autoscaler.plan_autoscaler_removal(facts.job, facts.observed))


def _plan_gang(facts: Facts) -> Plan:
    """An unfinished job without a verdict: records counts, phase and cause, and creates what the gang lacks."""
    wait = backoff.delay_left(facts.status, facts.now) if facts.missing else 0.0
    # Pods of a new attempt have the names of the old ones, so they are created once the old ones are gone.
    clearing = bool(facts.missing) and (bool(facts.older) or wait > 0 or not _free_ranks(facts))
    needs = _Needs() if clearing else _read_needs(facts)
    phase = Phase.RESTARTING if clearing else read_phase(facts)
    doubt = deadline.plan_doubt(facts.job, facts.status, facts.now, facts.observed.clock_off)
    overdue = facts.overdue.cause or doubt
    silent = silence.plan_silence(facts.gang, facts.job.size, facts.observed.pod_group, facts.now, facts.settings)
    cause = (
        _clearing_cause(facts, wait)
        if clearing
        else needs.obstacle or overdue or _waiting_cause(facts, needs, silent.cause)
    )
    status = replace(
        with_observed(facts, facts.status),
        phase=phase,
        **build_gang_counts(facts, facts.gang),
        cause=None if cause is None else _recorded(facts, cause),
    )
    leftovers = children.plan_leftovers(facts.job, facts.status, facts.observed)
    scaling = autoscaler.plan_autoscaler(facts.job, facts.observed, facts.settings)
    wakes = wake.plan_wakes(facts.job, facts.status, facts.observed, facts.settings)
    left = deadline.next_look(facts.job, status, facts.now, facts.observed.clock_off)
    return Plan(
        status,
        (*_pod_deletes(facts), *leftovers, *scaling, *needs.actions, *wakes),
        (
            *((build_note(Phase.PENDING, status.cause),) if facts.status.phase is Phase.NONE and status.cause else ()),
            *_address_notes(facts, needs.actions),
        ),
        _earliest(
            wait or None,
            left,
            needs.retry,
            silent.left,
            silent_nodes.look_left(facts.gang, status.cause, facts.now),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Needs:
    """What an unfinished gang lacks: the actions, or the obstacle and the seconds until the next look."""

    actions: tuple[Action, ...] = ()
    obstacle: causes.Cause | CauseRecord | None = None
    retry: float | None = None


def _address_notes(facts: Facts, actions: Sequence[Action]) -> tuple[EventNote, ...]:
    """Published once, together with the ConfigMap whose addresses the framework cannot use."""
    if not any(isinstance(action, Create) and action.resource == CONFIG_MAPS for action in actions):
        return ()
    doubt = FRAMEWORKS[facts.job.framework].check_addresses(facts.job, {pod.rank: pod.address for pod in facts.gang})
    return (EventNote("AddressesUnread", doubt, "Warning"),) if doubt else ()


def _read_needs(facts: Facts) -> _Needs:
    """All ranks or none: where another object has one of the names, a Dataset is not ready or no port is free, no rank
    is created. Objects of a former job of the same name are deleted here."""
    job, observed = facts.job, facts.observed
    if not job.size:
        return _Needs(obstacle=causes.NoReplicas())
    port = ports.kept_port(facts.gang)
    no_port = False
    # Half a gang of another operator carries no port: the missing ranks must use the default port as well.
    if port is None and facts.missing and not facts.gang and ports.shares_network(job, facts.settings):
        port = ports.choose_port(job.uid, facts.status.attempt, observed.taken_ports)
        no_port = port is None
    actions = tuple(_missing_objects(facts, port))
    if observed.foreign and any(isinstance(action, Create) for action in actions):
        # Kubernetes' garbage collector may take a minute to notice a new kind, so it is not waited for.
        remains = children.plan_deletes(job, (child for child in observed.foreign if child.former))
        return _Needs(remains, _describe_foreign(observed.foreign), RETRY_SECONDS)
    # Half a gang goes on: its other pods hold devices, and mount the same claims.
    gate = plan_gate(job, observed.datasets, facts.status.cause) if facts.missing and not facts.gang else None
    if gate is not None:
        return _Needs(obstacle=gate, retry=RETRY_SECONDS if observed.datasets.unserved is not None else None)
    if no_port:
        return _Needs(obstacle=causes.NoFreePort(ports.FIRST_PORT, ports.LAST_PORT), retry=RETRY_SECONDS)
    return _Needs(actions)


def _describe_foreign(foreign: Sequence[Child]) -> causes.Cause:
    """Objects that the user must remove are named first; those of a former job are deleted without the user."""
    others = [child for child in foreign if not child.former]
    names = tuple(f"{child.resource.kind} {child.name}" for child in others or foreign)
    return causes.ObjectInTheWay(names, former=not others)


def _missing_objects(facts: Facts, port: int | None) -> Iterator[Action]:
    job, status, observed = facts.job, facts.status, facts.observed
    group = children.plan_pod_group(job, observed, facts.settings)
    yield from group
    # The PodGroup is created alone: a scheduler may bind a pod whose group does not exist yet.
    if any(isinstance(action, Create) for action in group) or (observed.pod_group and observed.pod_group.deleting):
        return
    creates = FATES[read_situation(job, status), Age.CURRENT, State.ABSENT] is Fate.CREATE
    yield from children.plan_services(job, observed)
    ranks, claims = _free_ranks(facts) if creates else (), find_claims(observed.datasets)
    yield from children.plan_pods(job, status, ranks, port, facts.settings, claims)
    yield from children.plan_config_map(job, status, observed)


def _free_ranks(facts: Facts) -> tuple[Rank, ...]:
    """Ranks without a pod whose name no pod that they had before holds."""
    held = {pod.rank for pod in facts.replaced}
    return tuple(rank for rank in facts.missing if rank not in held)


def _pod_deletes(facts: Facts) -> Iterator[Action]:
    situation = read_situation(facts.job, facts.status)
    for pod in facts.observed.pods:
        if plan_fate(situation, facts.status, pod) is Fate.DELETE:
            yield children.plan_pod_delete(facts.job, pod)


def _clearing_cause(facts: Facts, wait: float) -> causes.Cause | CauseRecord:
    """The recorded cause of the new attempt until its pods are created. After the delay: why an old pod is still
    there."""
    recorded = facts.status.cause
    if not wait and facts.overdue.cause is not None:
        return facts.overdue.cause
    # The delay of a restart counts from the recorded cause, so another cause would end it.
    if recorded is not None and recorded.reason in causes.NEW_ATTEMPT_REASONS:
        return recorded
    return causes.WaitingForOldPods(len(facts.older) + len(facts.replaced))


def _waiting_cause(facts: Facts, needs: _Needs, silent: causes.Cause | None) -> causes.Cause | None:
    if known := _refused(facts, needs.actions) or silent:
        return known
    name = pods.config_map_name(facts.job, facts.status.attempt)
    exists = any(child.name == name for child in facts.observed.config_maps)
    needed = name if pods.needs_config_map(facts.job) else ""
    group, nodes = facts.observed.pod_group, facts.observed.nodes
    return plan_waiting_cause(facts.gang, facts.job.size, needed, has_config_map=exists, pod_group=group, nodes=nodes)


def _refused(facts: Facts, actions: Sequence[Action]) -> causes.Cause | None:
    """Objects that the API server refused and that are still needed. This cause comes before why other pods wait."""
    creates = [action for action in actions if isinstance(action, Create)]
    needed = {f"{create.resource.kind} {name_of(create.manifest)}" for create in creates}
    return plan_refused_cause(facts.observed.refused, needed)


def _recorded(facts: Facts, cause: causes.Cause | CauseRecord) -> CauseRecord:
    return cause if isinstance(cause, CauseRecord) else cause.record(facts.now, facts.status.cause)
