"""Properties of every plan, for any status and any observed objects."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.gangs import NOW, PADDLE_JOBS, build_config_maps, build_job, build_services, build_torch_job
from paddock.jobs.actions import Create, Delete, Plan
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.cancelling import is_cancelled
from paddock.jobs.labels import ATTEMPT_LABEL, CANCEL_ANNOTATION
from paddock.jobs.model import (
    Child,
    CleanPods,
    Counts,
    Exit,
    Job,
    Observed,
    Phase,
    Pod,
    PodPhase,
    RestartPolicy,
    RestartScope,
    Settings,
    Status,
    Success,
)
from paddock.jobs.plan import plan
from paddock.kube.meta import POD_GROUPS, PODS, SERVICES, Key, labels_of, name_of

moments = st.floats(NOW - 1000, NOW).map(float)
jobs = st.builds(
    build_job,
    ps=st.integers(0, 2),
    workers=st.integers(0, 3),
    restart=st.sampled_from(RestartPolicy),
    backoff_limit=st.sampled_from([None, 0, 2]),
    active_deadline=st.sampled_from([None, 100.0]),
    ttl=st.sampled_from([None, 0.0, 60.0]),
    suspend=st.booleans(),
    annotations=st.sampled_from([{}, {}, {CANCEL_ANNOTATION: "ada"}]),
    clean_pods=st.sampled_from(CleanPods),
    deleting=st.booleans(),
    generation=st.integers(1, 2),
)
torch_jobs = st.builds(
    build_torch_job,
    masters=st.integers(0, 1),
    workers=st.integers(1, 2),
    restart=st.sampled_from(RestartPolicy),
    scope=st.sampled_from(RestartScope),
    one_decides=st.booleans(),
    success=st.sampled_from([Success(), Success(True), Success(True, 600)]),
    backoff_limit=st.sampled_from([None, 0, 2]),
    suspend=st.booleans(),
    clean_pods=st.sampled_from(CleanPods),
)
exits = st.builds(
    Exit,
    code=st.sampled_from([-1, 0, 1, 15, 137, 143, 247, 250]),
    reason=st.sampled_from(["", "Error", "OOMKilled", "Evicted"]),
    finished=st.one_of(st.none(), moments),
)
situations = st.fixed_dictionaries({
    "settings": st.builds(Settings, pod_groups=st.sampled_from([None, POD_GROUPS]), shared_network=st.booleans()),
    "foreign": st.booleans(),
    "group": st.booleans(),
    "services": st.booleans(),
    "config_map": st.sampled_from([None, 0, 1, 2]),
})  # fmt: skip


@st.composite
def pods(draw: st.DrawFn, job: Job) -> tuple[Pod, ...]:
    found = []
    for rank in (*job.ranks(), *build_job(workers=4).ranks()[3:]):
        if draw(st.integers(0, 3)):
            phase = draw(st.sampled_from(PodPhase))
            attempt = draw(st.sampled_from([1, 1, 1, 0, 2]))
            found.append(
                Pod(
                    name=f"demo-{rank}",
                    uid=f"{rank}#{attempt}",
                    rank=rank,
                    attempt=attempt,
                    phase=phase,
                    address=draw(st.sampled_from(["", "127.0.0.2"])),
                    exit=draw(exits) if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED) else None,
                    deleting=draw(st.integers(0, 5)) == 0,
                    port=draw(st.sampled_from([None, 20_020])),
                    renewal=draw(st.sampled_from([0, 1])) if job.resource != PADDLE_JOBS else 0,
                )
            )
    return tuple(found)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Job, Status, Observed, Settings]:
    job = draw(st.one_of(jobs, torch_jobs))
    phase = draw(st.sampled_from(Phase))
    status = Status(
        phase=phase,
        attempt=draw(st.sampled_from([1, 1, 1, 0, 2])),
        restarts=draw(st.integers(0, 2)),
        roles={role.name: Counts(wanted=role.replicas) for role in job.roles},
        started=draw(st.one_of(st.none(), st.just(NOW - 90))),
        finished=NOW - 30 if phase.terminal else None,
        observed_generation=1,
        renewals={"worker-0": 1} if job.scope is RestartScope.POD and draw(st.booleans()) else {},
    )
    chosen = draw(situations)
    attempt = chosen["config_map"]
    observed = Observed(
        pods=draw(pods(job)),
        services=build_services(job) if chosen["services"] else (),
        config_maps=() if attempt is None else build_config_maps(job, attempt),
        pod_group=Child(POD_GROUPS, "demo", "group") if chosen["group"] else None,
        foreign=(Child(SERVICES, "demo-worker-0", "somebody's"),) if chosen["foreign"] else (),
    )
    return job, status, observed, chosen["settings"]


World = tuple[Job, Status, Observed, Settings]
every = settings(database=None)


def planned(world: World, now: float = NOW) -> Plan:
    job, status, observed, chosen = world
    return plan(job, status, observed, now, chosen)


@every
@given(worlds())
def test_a_decisive_change_is_recorded_alone(world: World) -> None:
    found = planned(world)
    if found.status.decisive() != world[1].decisive():
        assert found.actions == ()


@every
@given(worlds())
def test_the_numbers_only_grow_and_restarts_by_one_within_the_limit(world: World) -> None:
    (job, before, _, _), after = world, planned(world).status
    assert after.attempt >= before.attempt
    assert after.restarts - before.restarts in (0, 1)
    if after.restarts > before.restarts and job.policies.backoff_limit is not None:
        assert after.restarts <= job.policies.backoff_limit
        assert after.attempt == before.attempt + 1 or after.renewals != before.renewals


@every
@given(worlds())
def test_a_rank_starts_again_alone_only_on_request_and_its_number_only_grows(world: World) -> None:
    (job, before, _, _), after = world, planned(world).status
    if after.attempt == before.attempt:
        assert all(after.renewal(rank) >= before.renewal(rank) for rank in job.ranks())
    if reason_of(after) in ("RankRestarted", "PodsLost", "PodsDeleted") and reason_of(before) != reason_of(after):
        assert (after.attempt == before.attempt) == (job.scope is RestartScope.POD)


def reason_of(status: Status) -> str:
    return status.cause.reason if status.cause else ""


@every
@given(worlds())
def test_an_end_is_final(world: World) -> None:
    _, before, _, _ = world
    found = planned(world)
    if before.phase.terminal:
        counts = {name: found.status.roles[name].wanted for name in found.status.roles}
        assert counts == {name: before.roles[name].wanted for name in before.roles}
        assert found.status == replace(
            before,
            observed_generation=found.status.observed_generation,
            roles=found.status.roles,
            refs=found.status.refs,
        )
        assert planned((world[0], found.status, *world[2:])).status == found.status, "nothing new writes nothing"
        assert not any(isinstance(action, Create) for action in found.actions)


@every
@given(worlds())
def test_a_cancelled_job_gets_no_pods_and_has_ended_but_for_the_wait_of_one_that_has_succeeded(world: World) -> None:
    job, _, observed, chosen = world
    if not is_cancelled(job) or job.deleting:
        return
    found = planned(world)
    assert not any(isinstance(action, Create) for action in found.actions)
    again = plan(job, found.status, observed, NOW, chosen)  # pods of a lost status are taken over first
    assert again.status.phase.terminal or reason_of(again.status) == "WaitingForWorkers"


@every
@given(worlds())
def test_no_pod_is_created_under_an_account_of_paddock(world: World) -> None:
    job, status, observed, chosen = world
    template = {"spec": {**job.roles[0].template["spec"], "serviceAccount": "ours"}} if job.roles else {}
    job = replace(job, roles=tuple(replace(role, template=template) for role in job.roles))
    chosen = replace(chosen, own_accounts=frozenset({Key(job.key.namespace, "ours")}))
    found = plan(job, status, observed, NOW, chosen)
    assert not [action for action in found.actions if isinstance(action, Create) and action.resource == PODS]


@every
@given(worlds())
def test_every_delete_names_the_uid_of_something_of_ours_that_is_there(world: World) -> None:
    job, _, observed, _ = world
    group = () if observed.pod_group is None else (observed.pod_group,)
    ours = {child.uid for child in (*observed.services, *observed.config_maps, *group)}
    ours |= {pod.uid for pod in observed.pods} | {job.uid}
    deletes = [action.uid for action in planned(world).actions if isinstance(action, Delete)]
    assert set(deletes) <= ours
    assert len(deletes) == len(set(deletes))


@every
@given(worlds())
def test_an_active_jobs_own_pods_are_never_deleted(world: World) -> None:
    _, status, observed, _ = world
    if not status.phase.terminal and status.phase is not Phase.SUSPENDED:
        own = {pod.uid for pod in observed.gang(status)}
        assert own.isdisjoint(action.uid for action in planned(world).actions if isinstance(action, Delete))


@every
@given(worlds())
def test_pods_are_made_once_for_each_rank_and_only_when_all_others_are_gone(world: World) -> None:
    job, status, observed, _ = world
    made = [
        action.manifest for action in planned(world).actions if isinstance(action, Create) and action.resource == PODS
    ]
    names = [name_of(manifest) for manifest in made]
    assert len(names) == len(set(names))
    assert set(names) <= {f"demo-{rank}" for rank in job.ranks()}
    assert set(names).isdisjoint(pod.name for pod in observed.pods)
    assert all(labels_of(manifest)[ATTEMPT_LABEL] == str(status.attempt) for manifest in made)
    if made:
        assert {pod.attempt for pod in observed.pods} <= {status.attempt}
        assert not observed.foreign


@every
@given(worlds(), st.floats(0, 0.9))
def test_planned_again_with_what_was_recorded_the_status_is_the_same(world: World, later: float) -> None:
    """Idempotence: the next reconcile plans the same status, unless it decides."""
    job, status, observed, chosen = world
    for _ in range(6):
        found = plan(job, status, observed, NOW, chosen)
        if found.status == status:
            break
        status = found.status
    assert plan(job, status, observed, NOW, chosen).status == status
    assert plan(job, status, observed, NOW + later, chosen).status.cause == status.cause


@every
@given(worlds())
def test_what_is_recorded_is_what_is_read_back(world: World) -> None:
    job, status, _, _ = world
    found = planned(world).status
    if found == status or job.resource != PADDLE_JOBS:  # the statuses of other kinds name no pods
        return
    roles = {role.name: found.roles[role.name] for role in job.roles if role.name in found.roles}
    written = PADDLEPADDLE.write_status({}, replace(found, roles=roles), NOW)
    assert PADDLEPADDLE.read_status({"status": written, "spec": {}}) == replace(found, roles=roles)


@every
@given(worlds())
def test_requeue_times_are_not_in_the_past(world: World) -> None:
    after = planned(world).requeue_after
    assert after is None or after >= 0


@every
@given(worlds())
def test_events_report_transitions_only(world: World) -> None:
    found = planned(world)
    if found.events:
        before = world[1]
        again = found.status.attempt != before.attempt or found.status.renewals != before.renewals
        assert found.status.phase is not before.phase or again
