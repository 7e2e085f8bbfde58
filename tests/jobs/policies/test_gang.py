from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import (
    NOW,
    TEMPLATE,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    created,
    deleted,
    failed,
    gone,
    observe,
    reason,
    succeeded,
    with_pod,
)
from paddock.jobs import causes
from paddock.jobs.actions import Create, Plan
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.conditions import build_refs
from paddock.jobs.labels import SIZE_ANNOTATION, SPARE_LABEL
from paddock.jobs.launch import Elastic, Launch
from paddock.jobs.model import (
    CleanPods,
    Counts,
    Elasticity,
    Job,
    Observed,
    Phase,
    Pod,
    Rank,
    RestartScope,
    Settings,
    Status,
)
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.objects.pods import build_pod, find_size
from paddock.jobs.plan import plan
from paddock.jobs.policies.gang import find_first_changed, missing_ranks, plan_adoption, plan_resize, was_whole
from paddock.kube.meta import labels_of

JOB = build_job()


def test_a_pod_of_another_attempt_does_not_fill_a_rank() -> None:
    assert missing_ranks(JOB, observe(JOB).gang(build_status(JOB, attempt=1))) == (Rank("worker", 0), Rank("worker", 1))


@pytest.mark.parametrize("phase", [phase for phase in Phase if not phase.terminal])
def test_starting_and_running_prove_that_the_gang_was_whole(phase: Phase) -> None:
    proven = phase in (Phase.STARTING, Phase.RUNNING)
    assert was_whole(JOB, build_status(JOB, phase), Observed()) == proven


def test_so_does_the_attempts_config_map_and_no_other() -> None:
    status = build_status(JOB, Phase.PENDING)
    assert was_whole(JOB, status, observe(JOB, ()))
    assert not was_whole(JOB, replace(status, attempt=1), observe(JOB, ()))


def test_a_gang_that_is_being_created_is_not_resized() -> None:
    one = observe(JOB, with_pod(build_pods(JOB), "worker-1", gone))
    assert plan_resize(JOB, Status(), one) is None
    assert plan_resize(JOB, build_status(JOB, Phase.PENDING), one) is None


SIZED = build_pods(JOB, size="worker=2")


@pytest.mark.parametrize(("generation", "anew"), [(1, False), (2, True)])
def test_pods_that_tell_no_size_before_the_first_record_are_those_of_the_first_manifest(
    generation: int, anew: bool
) -> None:
    """Who made them crashed before it could record their number."""
    job = replace(JOB, generation=generation)
    assert (plan_resize(job, Status(), observe(JOB)) is not None) == anew
    assert plan_resize(job, Status(), Observed()) is None


@pytest.mark.parametrize(("workers", "anew"), [(2, False), (3, True), (1, True)])
def test_pods_that_tell_their_size_are_compared_with_it_before_the_first_record(workers: int, anew: bool) -> None:
    """Kueue edits each job before it begins: its generation says nothing of its size. Also where half of them exist."""
    job = build_job(workers=workers, generation=2)
    for pods in (SIZED, SIZED[:1]):
        assert (plan_resize(job, Status(), observe(JOB, pods)) is not None) == anew


def test_ranks_that_moved_from_one_role_to_another_are_another_size() -> None:
    pods = build_pods(build_job(ps=1, workers=2), size="ps=1,worker=2")
    job = build_job(ps=2, workers=1, generation=2)
    assert plan_resize(job, Status(), observe(job, pods)) is not None


@pytest.mark.parametrize("phase", [Phase.NONE, Phase.PENDING, Phase.RUNNING])
@pytest.mark.parametrize(
    ("told", "anew"),
    [
        (("worker=2", "worker=2"), False),
        (("worker=2", "ps=0,worker=2"), False),
        (("worker=3", "worker=3"), True),
        (("worker=2", "worker=3"), True),
        (("worker=3", "worker=2"), True),
        (("worker=3", "worker=4"), True),
        (("worker=2", ""), False),
        (("", "worker=3"), True),
    ],
)
def test_pods_that_were_started_with_another_size_are_recreated_whatever_is_recorded(
    told: tuple[str, ...], anew: bool, phase: Phase
) -> None:
    """Who made them crashed before it could record their number; since then the job has the recorded one again."""
    status = Status() if phase is Phase.NONE else build_status(JOB, phase)
    pods = tell(build_pods(JOB), *told)
    verdict = plan_resize(JOB, status, observe(JOB, pods))
    assert (verdict is not None) == anew
    if verdict is not None:
        assert (verdict.attempt, verdict.at_fault, verdict.cause) == (1, False, causes.Resized(2))


def tell(pods: tuple[Pod, ...], *told: str) -> tuple[Pod, ...]:
    return tuple(replace(pod, size=size) for pod, size in zip(pods, told, strict=True))


@pytest.mark.parametrize("scope", [None, RestartScope.POD, RestartScope.GANG])
def test_launchers_that_agree_on_their_number_are_told_different_ones(scope: RestartScope | None) -> None:
    """The group was resized in its attempt. An annotation that is edited later recreates no group."""
    job = replace(BY_TORCHRUN, scope=scope)
    pods = tell(build_pods(job), "worker=2", "worker=2", "worker=4", "worker=4")
    assert plan_resize(job, build_status(job), observe(job, pods)) is None


def test_pods_of_ranks_that_start_again_alone_are_told_the_size_of_their_gang() -> None:
    job = build_torch_job(masters=0, workers=2, scope=RestartScope.POD)
    status = build_status(job, renewals={"worker-1": 1})
    old, replaced = build_pods(job, size="worker=2")
    new = replace(replaced, name="demo-worker-1-again", uid="again", renewal=1)
    assert plan_resize(job, status, observe(job, (old, replaced, new))) is None
    assert plan_resize(job, status, observe(job, (old, replace(new, size="worker=3")))) is not None


@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.FAILED])
def test_a_finished_job_keeps_its_pods_whatever_they_were_told(phase: Phase) -> None:
    job = build_job(clean_pods=CleanPods.NEVER)
    end = failed() if phase is Phase.FAILED else succeeded()
    pods = tell(tuple(map(end, build_pods(job))), "worker=2", "worker=3")
    found = plan(job, build_status(job, phase, finished=NOW - 100), observe(job, pods), NOW)
    assert (found.status.phase, found.status.attempt, deleted(found)) == (phase, 0, [])


def test_spare_pods_tell_nothing_of_the_gang() -> None:
    spare = replace(build_pods(JOB)[1], name="demo-worker-9", rank=Rank("worker", 1), size="worker=3", spare=True)
    assert plan_resize(JOB, build_status(JOB), observe(JOB, (*SIZED, spare))) is None


def test_nothing_is_resized_before_there_are_pods() -> None:
    assert plan_resize(build_job(workers=9), build_status(JOB), Observed()) is None


def test_an_attempt_never_goes_back() -> None:
    assert plan_adoption(JOB, build_status(JOB, attempt=3), observe(JOB, attempt=2)) is None
    verdict = plan_adoption(JOB, build_status(JOB), observe(JOB, attempt=2))
    assert verdict is not None
    assert verdict.attempt == 2


# A record that somebody cut: jobs at attempt 3, of which an operator drops `attempt` and `gangSize`.

TORCH = build_torch_job(masters=0, workers=4)
ELASTIC = build_torch_job(masters=0, workers=4, elasticity=Elasticity("worker", 1, 4))
BY_TORCHRUN = replace(TORCH, launch=Launch(elastic=Elastic(1, 9)), scope=None)


def cut(job: Job, pods: tuple[Pod, ...]) -> tuple[Plan, Plan]:
    """What is planned when only the pods are left, and what follows."""
    seen = Observed(pods=pods, services=build_services(job))
    first = plan(job, Status(), seen, NOW)
    assert first.actions == ()
    return first, plan(job, first.status, seen, NOW)


def pods_of(job: Job, size: str, workers: int, attempt: int = 3) -> tuple[Pod, ...]:
    return build_pods(replace(job, roles=(replace(job.roles[0], replicas=workers),)), attempt, size=size)


@pytest.mark.parametrize(
    ("job", "size", "workers", "gang"),
    [
        pytest.param(TORCH, "worker=4", 4, 0, id="whole"),
        pytest.param(TORCH, "", 4, 0, id="whole, of an operator before sizes"),
        pytest.param(ELASTIC, "worker=2", 2, 2, id="a smaller gang"),
        pytest.param(ELASTIC, "worker=4", 4, 0, id="an elastic gang that is whole"),
        pytest.param(BY_TORCHRUN, "worker=4", 4, 0, id="torchrun's"),
    ],
)
def test_a_gang_whose_record_was_cut_trains_on(job: Job, size: str, workers: int, gang: int) -> None:
    first, then = cut(job, pods_of(job, size, workers))
    assert (reason(first), first.status.attempt, first.status.gang_size) == ("PodsAdopted", 3, gang)
    assert (then.status.phase, then.status.attempt) == (Phase.RUNNING, 3)
    assert {pod.uid for pod in pods_of(job, size, workers)}.isdisjoint(deleted(then))
    labels = [labels_of(action.manifest) for action in then.actions if isinstance(action, Create)]
    assert all(SPARE_LABEL in each for each in labels), "what it asks for is room for more"


@pytest.mark.parametrize(
    ("job", "size", "workers", "why"),
    [
        pytest.param(TORCH, "worker=4", 3, "PodsDeleted", id="a rank was deleted meanwhile"),
        pytest.param(TORCH, "", 3, "PodsDeleted", id="the same, of an operator before sizes"),
        pytest.param(ELASTIC, "worker=2", 1, "PodsDeleted", id="of a smaller gang"),
        pytest.param(ELASTIC, "", 2, "PodsDeleted", id="a smaller gang, of an operator before sizes"),
    ],
)
def test_a_gang_that_is_not_whole_when_its_record_was_cut_begins_anew(
    job: Job, size: str, workers: int, why: str
) -> None:
    """Ranks that are made beside those that run would have another WORLD_SIZE, or a dead rendezvous: all would hang."""
    first, then = cut(job, pods_of(job, size, workers))
    assert (reason(first), first.status.attempt) == ("PodsAdopted", 3)
    assert (reason(then), then.status.attempt, then.actions) == (why, 4, ())


@pytest.mark.parametrize(
    ("job", "size", "workers"),
    [
        pytest.param(TORCH, "worker=3", 3, id="edited meanwhile"),
        pytest.param(ELASTIC, "worker=5", 5, id="more than an elastic job may have"),
        pytest.param(
            replace(ELASTIC, elasticity=Elasticity("worker", 3, 4)), "worker=2", 2, id="fewer than it may have"
        ),
    ],
)
def test_a_gang_of_another_size_than_the_job_may_have_begins_anew(job: Job, size: str, workers: int) -> None:
    first, then = cut(job, pods_of(job, size, workers))
    assert (reason(first), first.status.attempt, first.status.phase) == ("Resized", 4, Phase.RESTARTING)
    assert len(deleted(then)) == workers


def test_ranks_that_rejoin_are_made_again_beside_the_others() -> None:
    first, then = cut(BY_TORCHRUN, pods_of(BY_TORCHRUN, "worker=3", 3))
    assert (reason(first), first.status.attempt) == ("PodsAdopted", 3)
    assert (then.status.attempt, created(then)) == (3, ["Pod demo-worker-3"])


def test_a_size_that_was_not_cut_stays_where_pods_tell_none() -> None:
    job = replace(ELASTIC, scope=RestartScope.POD)
    pods = with_pod(pods_of(job, "", 2), "worker-0", lambda pod: replace(pod, renewal=1))
    found = plan(job, build_status(job, attempt=3, gang_size=2), Observed(pods=pods), NOW)
    assert (reason(found), found.status.gang_size) == ("PodsAdopted", 2)


def test_a_rank_that_is_deleted_before_the_next_record_ends_the_adopted_attempt() -> None:
    first, _ = cut(TORCH, pods_of(TORCH, "worker=4", 4))
    left = Observed(pods=pods_of(TORCH, "worker=4", 4)[1:], services=build_services(TORCH))
    found = plan(TORCH, first.status, left, NOW)
    assert (reason(found), found.status.attempt, created(found)) == ("PodsDeleted", 4, [])


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
@pytest.mark.parametrize(
    ("clean", "phase"),
    [
        (CleanPods.NEVER, Phase.COMPLETED),
        (CleanPods.RUNNING, Phase.COMPLETED),
        (CleanPods.NEVER, Phase.FAILED),
        (CleanPods.RUNNING, Phase.FAILED),
    ],
)
def test_ended_pods_of_a_finished_job_stay_whose_attempt_was_cut(api: JobApi, clean: CleanPods, phase: Phase) -> None:
    """training-operator drops what its types lack; back at Paddock, all logs of the job were deleted."""
    job = replace(build_torch_job(masters=0, clean_pods=clean), resource=api.resource)
    end = failed() if phase is Phase.FAILED else succeeded()
    pods = tuple(map(end, build_pods(job, attempt=2)))
    counts = {"worker": Counts(2, succeeded=2) if phase is Phase.COMPLETED else Counts(2, failed=2)}
    whole = build_status(job, phase, attempt=2, finished=NOW - 100, roles=counts, refs=build_refs(job, pods))
    raw = api.write_status({}, whole, NOW, {"metadata": {"name": "demo", "namespace": "team"}})
    raw.pop("attempt")
    status = api.read_status({"status": raw, "spec": {}})
    assert (status.phase, status.attempt) == (phase, 0)
    found = plan(job, status, observe(job, pods), NOW)
    assert deleted(found) == []
    assert (found.status.roles, found.status.refs) == (counts, build_refs(job, pods))


# On pods.


def test_a_pod_tells_the_size_of_its_gang_whatever_its_template_says() -> None:
    template = {**TEMPLATE, "metadata": {"annotations": {SIZE_ANNOTATION: "worker=99"}}}
    job = build_job(ps=1, workers=2)
    job = replace(job, roles=tuple(replace(role, template=template) for role in job.roles))
    made = build_pod(job, Rank("worker", 1), 0, None, Settings())
    assert made["metadata"]["annotations"][SIZE_ANNOTATION] == "ps=1,worker=2"
    read = read_pod(made)
    assert read is not None
    assert find_size([read]) == {"ps": 1, "worker": 2}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (("worker=2", "worker=2", ""), {"worker": 2}),
        (("ps=0,worker=2",), {"worker": 2}),
        (("worker=2", "worker=3"), {}),
        (("worker=2", "ps=0,worker=2"), {"worker": 2}),
        (("",), {}),
        ((), {}),
        (("worker",), {}),
        (("worker=-1",), {}),
        (("worker=2,",), {}),
        (("worker=123456",), {}),
        (("worker=٣",), {}),
    ],
)
def test_what_is_no_size_or_several_is_none(said: tuple[str, ...], found: dict[str, int]) -> None:
    pods = [replace(build_pods(JOB)[0], size=size) for size in said]
    assert find_size(pods) == found
    assert find_size([*pods, replace(build_pods(JOB)[0], size="worker=7", spare=True)]) == found, "not of spare pods"


def test_of_a_size_that_a_pod_says_one_rank_of_each_role_is_looked_at() -> None:
    """Whoever may write a pod may write any size at it, and each pod another one."""
    workers = next(role.replicas for role in BY_TORCHRUN.roles if role.name == "worker")
    assert list(find_first_changed(BY_TORCHRUN, {"worker": 99_999})) == [Rank("worker", workers)]
    assert list(find_first_changed(BY_TORCHRUN, {"worker": workers - 1})) == [Rank("worker", workers - 1)]
    assert list(find_first_changed(BY_TORCHRUN, {"worker": workers, "ps": 2})) == [Rank("ps", 0)]
