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
from dataclasses import replace

from paddock.jobs import causes, rejoining
from paddock.jobs.actions import Action, Create, EventNote, Plan
from paddock.jobs.cancelling import plan_cancellation
from paddock.jobs.conditions import as_unbegun, follow_pods
from paddock.jobs.datasets import find_claims
from paddock.jobs.facts import Facts, read_facts
from paddock.jobs.model import CauseRecord, Job, Observed, Phase, Pod, Settings, Status
from paddock.jobs.needs import Needs, build_address_notes, find_free_ranks, find_own_account, read_needs
from paddock.jobs.objects import pods
from paddock.jobs.policies import (
    addresses,
    autoscaler,
    backoff,
    children,
    deadline,
    elastic_size,
    ending,
    gang,
    hold,
    lacking,
    lost,
    one_pod,
    ports,
    restart,
    silence,
    silent_job,
    spares,
    success,
    suspects,
    suspend,
    ttl,
    wake,
)  # fmt: skip
from paddock.jobs.policies.fates import Fate, Situation, plan_fate, read_situation
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.root_cause import read_deaths
from paddock.jobs.policies.verdict import LOOK_AGAIN, Verdict, Wait, noticed
from paddock.jobs.progress import look_left
from paddock.jobs.recording import (
    build_gang_counts,
    build_note,
    counted_pods,
    kept_pods,
    plan_record,
    read_phase,
    whole_seconds,
    with_observed,
)
from paddock.jobs.sentences.explain import explain
from paddock.jobs.waiting import plan_refused_cause, plan_waiting_cause
from paddock.kube.times import Moment


def plan(job: Job, status: Status, observed: Observed, now: Moment, settings: Settings | None = None) -> Plan:
    """The whole decision of one reconcile. Pure: the same arguments give the same plan. `status`: the recorded status.
    `observed`: the objects of this job; the caller has confirmed by a live GET that a missing pod does not exist."""
    settings = settings or Settings()
    job = suspects.keep_away(fit(job, status.gang_size), suspects.list_avoided(job, status, now, settings))
    facts = read_facts(job, as_unbegun(status), observed, now, settings)
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
    if elastic_size.is_made_whole(facts.job, status):
        return Plan(replace(status, gang_size=0, gang_loss=""), requeue_after=0.0)
    return _with_force(facts, _plan_gang(facts))


# Decide.


def _judge_success(facts: Facts) -> Verdict | Wait | None:
    job, status = facts.job, facts.status
    found = success.plan_success(job, _vouched(facts), facts.gone, ending.first_noticed(status, facts.now))
    off = facts.observed.clock_off
    return ending.plan_ending(job, status, found, facts.gang, facts.now, facts.settings, off)


def _judge_deaths(facts: Facts) -> Verdict | Wait | None:
    job, status = facts.job, facts.status
    early = success.early_servers(job, facts.gang, ending.first_noticed(status, facts.now))
    deaths = read_deaths(job, facts.gang, early, facts.gone, whole=facts.whole, seen=ending.recall(status, facts.now))
    wait = ending.plan_wait(job, status, facts.gang, deaths, facts.now, facts.settings)
    verdict = restart.plan_restart(
        job, status, deaths, facts.losses, untrained=not facts.gone and not success.has_trained(job, facts.gang)
    )
    planned = wait or one_pod.plan_alone(job, status, verdict, [death.rank for death in deaths], facts.gang)
    if not isinstance(planned, Verdict) or planned.phase.terminal:
        return planned
    return replace(planned, suspects=suspects.note(job, status, deaths, facts.gang, facts.now, facts.settings))


def _vouched(facts: Facts) -> tuple[Pod, ...]:
    """Pods whose success counts."""
    if facts.status.phase is not Phase.SUSPENDED and not facts.job.one_decides:
        return facts.gang
    # A pod that is ended may exit with 0 on SIGTERM before its work is done; where one rank decides, nobody else tells.
    return tuple(pod for pod in facts.gang if not pod.deleting)


_LADDER: tuple[Callable[[Facts], Verdict | Wait | None], ...] = (
    # First, as all other policies compare pods with the recorded attempt.
    lambda facts: gang.plan_adoption(facts.job, facts.status, facts.observed),
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
        or silent_job.plan_silent(facts.job, facts.status, facts.observed)
        or _judge_avoidance(facts)
        # After the deadline: a job that is over its time takes no other size first.
        or _judge_size(facts)
        or ports.plan_one_port(facts.status, facts.gang)
        or addresses.plan_addresses(facts.job, facts.status, facts.observed, facts.losses)
        or success.plan_master(facts.job, facts.status, facts.gang, facts.now, facts.settings, facts.observed.clock_off)
        or ending.plan_last(facts.job, facts.status, facts.gang, facts.now, facts.observed.clock_off)
    )


def _judge_avoidance(facts: Facts) -> Verdict | None:
    found = suspects.plan_waiting(facts.job, facts.status, facts.gang, facts.now, facts.settings)
    if found.verdict is None:
        return None
    stuck = [pod.rank for pod in facts.gang if not pod.node]
    return one_pod.plan_alone(facts.job, facts.status, found.verdict, stuck, facts.gang)


def _judge_size(facts: Facts) -> Verdict | None:
    refused = facts.observed.refused
    return elastic_size.plan_size(facts.job, facts.status, facts.gang, facts.spares, facts.now, facts.settings, refused)


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
    # A deadline that passes during the wait is judged after it: these ranks ended before.
    return Plan(status, tuple(_pod_deletes(facts)), requeue_after=wait.left)


def _plan_deletion(facts: Facts) -> Plan:
    """The record alone; that of a finished job does not change."""
    # Kubernetes' garbage collector deletes the children by their owner references, so nothing is deleted here.
    status = facts.status
    if not status.phase.terminal and status.phase is not Phase.TERMINATING:
        status = replace(status, phase=Phase.TERMINATING, cause=causes.Deleting().record(facts.now))
    # Pods on a lost node would stay for ever, and with them a job that is deleted in the foreground.
    return _with_force(facts, Plan(status))


def _plan_finished(facts: Facts) -> Plan:
    """Clean-up, then the time to live. Of the status, the counts and `observedGeneration` alone change."""
    job, status = facts.job, follow_pods(facts.job, facts.status, facts.gang, kept_pods(facts, facts.status))
    # `kubectl wait` ignores the conditions of a status whose generation is older than the object's.
    if status.observed_generation:
        status = replace(status, observed_generation=job.generation)
    if ttl.needs_finish(job, status, facts.now, facts.observed.clock_off):
        status = replace(status, finished=whole_seconds(facts.now))
    held = hold.list_held(status, facts.gang, facts.now)
    left = ttl.ttl_left(job, status, facts.now)
    if left is not None and held:
        left = max(left, max(held) - facts.now)
    if left is not None and left <= 0 and not facts.observed.clock_off:
        return Plan(status, (ttl.plan_expiry(job),))
    clean = read_situation(job, status) in (Situation.COMPLETED_CLEAN, Situation.FAILED_CLEAN)
    actions = (*_pod_deletes(facts), *_removal(facts, services=clean))
    if left is not None and left <= 0:
        doubt = causes.ClockUnsure(facts.observed.clock_off).record(facts.now)
        note = EventNote("ClockUnsure", explain(doubt), "Warning")
        return Plan(status, actions, (note,), LOOK_AGAIN)
    return Plan(status, actions, requeue_after=_earliest(left, min(held, default=facts.now) - facts.now or None))


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
        cause=suspend.explain_suspension(facts.job, facts.status).record(facts.now, facts.status.cause),
    )
    return Plan(status, (*_pod_deletes(facts), *_removal(facts, services=True)))


def _removal(facts: Facts, *, services: bool) -> tuple[Action, ...]:
    removal = children.plan_removal(facts.job, facts.observed, services=services)
    return (*removal, *autoscaler.plan_autoscaler_removal(facts.job, facts.observed))


def _plan_gang(facts: Facts) -> Plan:
    """An unfinished job without a verdict: records counts, phase and cause, and creates what the gang lacks."""
    job, observed, now, settings = facts.job, facts.observed, facts.now, facts.settings
    wait = _read_delay(facts)
    clearing = _is_clearing(facts, wait)
    needs = Needs() if clearing else read_needs(facts)
    extra = _plan_spares(facts)
    silent = silence.plan_silence(facts.gang, job.size, observed.pod_group, now, settings)
    held = _clearing_cause(facts, wait) if clearing or wait > 0 else None
    quiet = silent_job.look_silent(job, facts.status, observed)
    cause = held or _gang_cause(facts, needs, silent.cause, extra.cause) or quiet.cause
    status = _record_gang(facts, cause, clearing=clearing)
    return Plan(
        status,
        (
            *_pod_deletes(facts),
            *children.plan_leftovers(job, facts.status, observed),
            *autoscaler.plan_autoscaler(job, observed, settings),
            *needs.actions,
            *wake.plan_wakes(job, facts.status, observed, settings),
            *extra.actions,
        ),
        _build_gang_notes(facts, status, needs),
        _earliest(
            wait or None,
            deadline.next_look(job, status, now, observed.clock_off),
            needs.retry,
            silent.left,
            elastic_size.smaller_left(job, facts.gang, now, settings, observed.refused),
            extra.left,
            lost.look_left(facts.gang, status.cause, now),
            quiet.left,
            silent_job.begin_left(job, facts.status, status, observed),
            look_left(status, settings.progress_wait),
            suspects.plan_waiting(job, facts.status, facts.gang, now, settings).left,
        ),
        wants_stacks=quiet.wants_stacks,
    )


def _read_delay(facts: Facts) -> float:
    """Seconds until the next missing pod may be created; 0 if one may, or none is missing."""
    missing = set(facts.missing)
    alone = [left for rank, left in facts.delayed.items() if rank in missing]
    return min(alone) if alone else backoff.delay_left(facts.status, facts.now) if facts.missing else 0.0


def _is_clearing(facts: Facts, wait: float) -> bool:
    """Whether missing pods wait for others to go, or for a back-off of the whole gang."""
    # Pods of a new attempt have the names of the old ones, so they are created once the old ones are gone.
    waiting = wait > 0 and not facts.delayed
    return bool(facts.missing) and (bool(facts.older) or waiting or not find_free_ranks(facts))


def _record_gang(facts: Facts, cause: causes.Cause | CauseRecord | None, *, clearing: bool) -> Status:
    smaller = rejoining.runs_on(facts.job, facts.status, facts.gang)
    # What trains without some of its ranks waits for nothing.
    if smaller and isinstance(cause, causes.WaitingForScheduler | causes.WaitingForPodGroup):
        cause = lacking.explain_smaller(facts.job, facts.status, facts.gang)
    return replace(
        with_observed(facts, facts.status),
        phase=Phase.RESTARTING if clearing and not smaller else read_phase(facts),
        gang_loss="" if rejoining.is_whole(facts.job, facts.gang) else facts.status.gang_loss,
        **build_gang_counts(facts, facts.gang),
        cause=cause.record(facts.now, facts.status.cause) if isinstance(cause, causes.Cause) else cause,
    )


def _build_gang_notes(facts: Facts, status: Status, needs: Needs) -> tuple[EventNote, ...]:
    new = facts.status.phase is Phase.NONE
    return (
        *((build_note(Phase.PENDING, status.cause),) if new and status.cause else ()),
        *lacking.build_notes(facts.job, facts.status, facts.gang),
        *(gang.explain_no_gang(facts.job, facts.settings) if new else ()),
        *silent_job.build_notes(facts.status, status),
        *build_address_notes(facts, needs.actions),
    )


def _plan_spares(facts: Facts) -> spares.Spares:
    if find_own_account(facts.job, facts.settings):
        return spares.Spares(spares.delete_spares(facts.job, facts.spares))
    return spares.plan_spares(
        facts.job,
        facts.status,
        facts.gang,
        facts.spares,
        facts.now,
        facts.settings,
        find_claims(facts.observed.datasets),
        facts.observed.asked,
    )


def _pod_deletes(facts: Facts) -> Iterator[Action]:
    situation = read_situation(facts.job, facts.status)
    if situation is not Situation.ACTIVE:
        yield from spares.delete_spares(facts.job, facts.spares)
    yield from (children.plan_pod_delete(facts.job, pod) for pod in facts.surplus if not pod.deleting)
    for pod in facts.observed.pods:
        if plan_fate(situation, facts.status, pod, facts.now) is Fate.DELETE:
            yield children.plan_pod_delete(facts.job, pod)


def _gang_cause(
    facts: Facts, needs: Needs, silent: causes.Cause | None, smaller: causes.Cause | None
) -> causes.Cause | CauseRecord | None:
    """Why a gang that has its pods, or may have them now, does not all run: the first that holds."""
    return (
        facts.overdue.cause
        or needs.obstacle
        or deadline.plan_doubt(facts.job, facts.status, facts.now, facts.observed.clock_off)
        or _waiting_cause(facts, needs, silent)
        or smaller
        or ending.explain_last(facts.job, facts.gang)
    )


def _clearing_cause(facts: Facts, wait: float) -> causes.Cause | CauseRecord:
    """The recorded cause of the new attempt until its pods are created. After the delay: why an old pod is still
    there."""
    recorded = facts.status.cause
    if not wait and facts.overdue.cause is not None:
        return facts.overdue.cause
    # The delay of a restart counts from the recorded cause, so another cause would end it.
    if recorded is not None and recorded.reason in causes.NEW_ATTEMPT_REASONS:
        return recorded
    old = (*facts.older, *facts.replaced)
    return name_old_pods(old) if old else causes.WaitingForPods(len(facts.missing), facts.job.size)


_MOST_OLD = 3
"""Pods of an earlier attempt that are named."""


def name_old_pods(old: Sequence[Pod]) -> causes.WaitingForOldPods:
    """`old`: at least one. A pod with a finalizer may stay for ever, so it is named before others."""
    held = sorted((pod for pod in old if pod.finalizers), key=lambda pod: pod.rank)
    named = held or sorted(old, key=lambda pod: pod.rank)
    return causes.WaitingForOldPods(
        len(old), tuple(pod.name for pod in named[:_MOST_OLD]), named[0].finalizers if held else ()
    )


def _waiting_cause(facts: Facts, needs: Needs, silent: causes.Cause | None) -> causes.Cause | None:
    if known := _refused(facts, needs.actions) or silent:
        return known
    name = pods.find_config_map(facts.job, facts.status.attempt, facts.observed.pods)
    exists = any(child.name == name for child in facts.observed.config_maps)
    needed = name if pods.needs_config_map(facts.job) else ""
    group, nodes = facts.observed.pod_group, facts.observed.nodes
    if facts.missing and group is not None and group.deleting:  # pods are created once it is gone (`jobs.needs`)
        return causes.WaitingForOldPods(0, finalizers=group.finalizers, group=group.name)
    cause = plan_waiting_cause(facts.gang, facts.job.size, needed, has_config_map=exists, pod_group=group, nodes=nodes)
    return suspend.explain_gates(facts.job, facts.gang, cause, facts.status.cause, facts.settings)


def _refused(facts: Facts, actions: Sequence[Action]) -> causes.Cause | None:
    """Objects that the API server refused and that are still needed. This cause comes before why other pods wait."""
    creates = [action for action in actions if isinstance(action, Create)]
    needed = {f"{create.resource.kind} {create.key.name}" for create in creates}
    return suspend.explain_ungated(facts.job, plan_refused_cause(facts.observed.refused, needed), facts.settings)
