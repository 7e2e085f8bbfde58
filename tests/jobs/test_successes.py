"""A rank that has succeeded stays succeeded when its pod is cleared away: what is recorded, and what follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.gangs import (
    NOW,
    build_job,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    created,
    deleted,
    deleting,
    failed,
    gone,
    judge,
    observe,
    reason,
    succeeded,
    with_pod,
    workers_succeeded,
)
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.indexes import read_indexes, write_indexes
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.model import (
    CleanPods,
    Job,
    Observed,
    Phase,
    Pod,
    RestartPolicy,
    RestartScope,
    Settings,
    Status,
    Successes,
)
from paddock.jobs.objects.observation import missing_pods
from paddock.jobs.plan import plan
from paddock.jobs.policies.failed_ranks import first_success
from paddock.jobs.policies.success import last_success
from paddock.jobs.successes import complete_gang, read_successes

PS = build_job(ps=1, workers=3)
TORCH = build_torch_job(workers=2)
ALONE = build_torch_job(masters=0, workers=3, scope=RestartScope.POD)


def recorded(job: Job, pods: tuple[Pod, ...], **changes: Any) -> Status:
    """The status that a reconcile records of these pods."""
    return plan(job, build_status(job, **changes), observe(job, pods, changes.get("attempt", 0)), NOW).status


def cleared(job: Job, *ranks: str) -> tuple[Status, tuple[Pod, ...]]:
    """A running gang of which these ranks have succeeded, as recorded, and the pods that are left of it."""
    pods = build_pods(job)
    for rank in ranks:
        pods = with_pod(pods, rank, succeeded(600))
    status = recorded(job, pods)
    for rank in ranks:
        pods = with_pod(pods, rank, gone)
    return status, pods


@pytest.mark.parametrize(
    ("job", "rank"),
    [(PS, "worker-0"), (TORCH, "worker-1"), (ALONE, "worker-1"), (build_job(workers=3), "worker-2")],
    ids=["with servers", "beside a Master", "restart per pod", "collective"],
)
def test_a_rank_whose_ended_pod_is_cleared_away_does_not_train_again(job: Job, rank: str) -> None:
    """PodGC, a cron job, and an autoscaler that removes the node: nobody did anything wrong."""
    status, left = cleared(job, rank)
    found = judge(job, status, observe(job, left))
    assert (found.status.attempt, found.status.phase, created(found), deleted(found)) == (0, Phase.RUNNING, [], [])
    assert found.status == replace(status, refs=found.status.refs), "nothing but the refs of the pod"
    assert missing_pods(job, status, observe(job, left)) == (), "no live GET confirms its absence"


def test_a_job_completes_though_no_pod_of_its_workers_is_left() -> None:
    status, left = cleared(PS, "worker-0", "worker-1")
    last = with_pod(left, "worker-2", succeeded())
    found = plan(PS, status, observe(PS, last), NOW)
    assert (found.status.phase, reason(found), found.status.roles["worker"].succeeded) == (
        Phase.COMPLETED, "Completed", 3,
    )  # fmt: skip
    status = recorded(PS, with_pod(build_pods(PS), "worker-2", succeeded()))
    everything = replace(status, succeeded={"worker": Successes(frozenset(range(3)), NOW - 5)})
    found = plan(PS, everything, observe(PS, build_pods(PS)[:1]), NOW)
    assert (found.status.phase, found.status.roles["worker"].succeeded) == (Phase.COMPLETED, 3)
    after = plan(PS, found.status, observe(PS, build_pods(PS)[:1]), NOW)
    assert after.status.roles["worker"].succeeded == 3


def test_a_server_that_ended_before_the_recorded_success_was_needed() -> None:
    """The last finish time of a role is enough to tell the order."""
    for ago, phase in ((616, Phase.FAILED), (604, Phase.COMPLETED)):
        status, left = cleared(PS, "worker-0", "worker-1", "worker-2")
        status = replace(status, phase=Phase.RUNNING, cause=None, finished=None)
        found = judge(PS, status, observe(PS, with_pod(left, "ps-0", failed(1, ago=ago))))
        assert found.status.phase is phase, ago


def test_workers_that_have_succeeded_end_the_wait_for_their_master() -> None:
    status, left = cleared(TORCH, "worker-0", "worker-1")
    waited = plan(TORCH, status, observe(TORCH, left), NOW)
    assert reason(waited) == "WaitingForMaster"
    found = plan(TORCH, waited.status, observe(TORCH, left), NOW + Settings().master_wait + 1)
    assert (found.status.phase, reason(found)) == (Phase.COMPLETED, "CompletedWithoutMaster")


def test_a_failure_of_another_rank_restarts_the_gang_and_all_train_again() -> None:
    job = build_job(ps=1, workers=3, restart=RestartPolicy.ON_FAILURE)
    status, left = cleared(job, "worker-0")
    found = judge(job, status, observe(job, with_pod(left, "worker-1", failed())))
    assert (found.status.attempt, reason(found), dict(found.status.succeeded)) == (1, "RankRestarted", {})
    after = plan(job, found.status, Observed(services=build_services(job)), NOW + 600)
    assert len([name for name in created(after) if name.startswith("Pod ")]) == 4


@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_that_was_suspended_begins_anew(suspend: bool) -> None:
    job = build_job(workers=3, suspend=suspend)
    status, left = cleared(build_job(workers=3), "worker-0")
    if suspend:
        found = plan(job, status, observe(job, left), NOW)
        assert found.status.phase is Phase.SUSPENDED
        after = plan(job, found.status, observe(job, left), NOW)
        assert deleted(after)[:2] == ["worker-1-of-0", "worker-2-of-0"]
        assert after.status.roles["worker"].succeeded == 0, "counts of a suspended job are of pods that are there"
    else:
        found = plan(job, replace(status, phase=Phase.SUSPENDED), observe(job, ()), NOW)
        assert (found.status.attempt, dict(found.status.succeeded)) == (1, {})


def test_a_rank_that_starts_again_alone_has_not_succeeded() -> None:
    """A pod that runs though its rank had succeeded: an operator before the record has made it."""
    job = replace(ALONE, roles=tuple(replace(role, restart=RestartPolicy.ON_FAILURE) for role in ALONE.roles))
    status, left = cleared(job, "worker-0", "worker-2")
    again = with_pod(build_pods(job), "worker-0", failed())
    found = judge(job, status, observe(job, (*left, again[0])))
    assert (found.status.attempt, dict(found.status.renewals)) == (0, {"worker-0": 1})
    assert found.status.succeeded["worker"].indexes == {2}


def test_without_the_record_the_pods_alone_tell() -> None:
    status, left = cleared(PS, "worker-0")
    found = judge(PS, replace(status, succeeded={}), observe(PS, left))
    assert (found.status.attempt, reason(found)) == (1, "PodsDeleted")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda pod: deleting(succeeded()(pod)), id="deleted while it ran"),
        pytest.param(lambda pod: replace(succeeded()(pod), disrupted="EvictionByEvictionAPI"), id="drained"),
        pytest.param(failed(), id="failed"),
        pytest.param(lambda pod: pod, id="runs"),
    ],
)
def test_only_a_program_that_ended_well_by_itself_is_recorded(change: Callable[[Pod], Pod]) -> None:
    """On SIGTERM a program may save and end with 0, long before its work is done."""
    assert dict(recorded(TORCH, with_pod(build_pods(TORCH), "worker-0", change)).succeeded) == {}


def test_servers_have_no_success_of_their_own() -> None:
    pods = with_pod(workers_succeeded(build_pods(PS)), "ps-0", succeeded(1))
    assert set(recorded(PS, pods).succeeded) == {"worker"}
    told = replace(build_status(PS), succeeded={"ps": Successes(frozenset({0}))})
    assert reason(judge(PS, told, observe(PS, build_pods(PS)[1:]))) == "PodsDeleted"


def test_a_rank_that_the_job_no_longer_has_is_forgotten() -> None:
    status, left = cleared(build_job(workers=3), "worker-2")
    found = plan(build_job(workers=2, generation=2), status, observe(build_job(workers=2), left), NOW)
    assert (found.status.attempt, reason(found), dict(found.status.succeeded)) == (1, "Resized", {})


def test_no_reference_names_a_pod_that_is_gone() -> None:
    """The status of a finished job names the pods that are kept, by their UIDs."""
    job = build_job(workers=3, clean_pods=CleanPods.NEVER)
    status, left = cleared(job, "worker-0")
    found = plan(job, status, observe(job, left), NOW)
    assert [ref.name for ref in found.status.refs["worker"]] == ["demo-worker-1", "demo-worker-2"]
    found = plan(job, status, observe(job, map(succeeded(), left)), NOW)
    assert found.status.phase is Phase.COMPLETED
    assert [ref.name for ref in found.status.refs["worker"]] == ["demo-worker-1", "demo-worker-2"]


def test_a_rank_alone_with_the_cleared_ones_gets_a_port_of_its_own() -> None:
    """On a laptop no pod carries the port of the job any more."""
    job = replace(ALONE, roles=(replace(ALONE.roles[0], replicas=2),))
    status, _ = cleared(job, "worker-0")
    alone = replace(status, phase=Phase.RESTARTING, renewals={"worker-1": 1})
    found = plan(job, alone, observe(job, ()), NOW, Settings(shared_network=True))
    annotations = [action.manifest["metadata"]["annotations"] for action in found.actions]  # type: ignore[union-attr]
    assert "paddock.dev/port" in annotations[0]


def widely(job: Job) -> st.SearchStrategy[tuple[Pod, ...]]:
    """The ends of a gang, each rank on a node of its own."""
    ends = st.sampled_from(
        [lambda pod: pod, *map(succeeded, (1, 8, 30, 600)), failed(1, 3), failed(1, 40), failed(143, 9), gone]
    )
    return st.tuples(*(ends for _ in job.ranks())).map(
        lambda chosen: tuple(
            replace(found, node=pod.name)
            for pod, end in zip(build_pods(job), chosen, strict=True)
            if (found := end(pod)) is not None
        )
    )


gangs = st.sampled_from([
    PS, TORCH, ALONE, build_job(workers=3), build_torch_job(masters=0, workers=3, one_decides=True),
    build_job(ps=1, workers=2, restart=RestartPolicy.ON_FAILURE), build_job(workers=2, suspend=True),
])  # fmt: skip


@settings(database=None)
@given(st.data())
def test_what_is_decided_is_the_same_with_and_without_the_pods_of_recorded_successes(data: st.DataObject) -> None:
    job = data.draw(gangs)
    pods = data.draw(widely(job))
    status = recorded(job, pods)
    done = [pod for pod in pods if status.has_succeeded(pod.rank)]
    kept = [pod for pod in done if data.draw(st.booleans())]
    left = tuple(pod for pod in pods if pod not in done or pod in kept)
    for later in (0, 5, 11, 400):
        whole = plan(job, status, observe(job, pods), NOW + later)
        less = plan(job, status, observe(job, left), NOW + later)
        uids = {pod.uid for pod in pods} - {pod.uid for pod in left}
        counted = {"roles": whole.status.roles} if whole.status.phase is Phase.SUSPENDED else {}
        assert replace(less.status, refs=whole.status.refs, **counted) == whole.status
        assert created(less) == created(whole)
        assert deleted(less) == [uid for uid in deleted(whole) if uid not in uids]
        status = whole.status


# What is written.


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        ((), ""),
        ((0,), "0"),
        ((2, 0, 1), "0-2"),
        ((0, 1, 5, 7, 8), "0-1,5,7-8"),
        (range(10_000), "0-9999"),
    ],
)
def test_indexes_are_written_as_those_of_kubernetes_jobs(indexes: tuple[int, ...], text: str) -> None:
    assert write_indexes(indexes) == text
    assert read_indexes(text) == frozenset(indexes)


@given(st.frozensets(st.integers(0, 9_999)))
def test_any_indexes_read_back(indexes: frozenset[int]) -> None:
    assert read_indexes(write_indexes(indexes)) == indexes


@pytest.mark.parametrize("text", ["x", "1,", "-1", "3-1", "0-999999999", "0-10000", "1 ", "٣", "1-2-3", "0," * 10**6])
def test_indexes_that_cannot_be_true_are_none(text: str) -> None:
    """Whoever may write a status must not fill our memory, nor make half of what was recorded of it."""
    assert read_indexes(text) == frozenset()


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_the_record_reads_back_in_every_kind_and_is_replaced(api: JobApi) -> None:
    both = {"worker": Successes(frozenset({0, 2}), NOW), "master": Successes(frozenset({0}))}
    first = Status(Phase.RUNNING, attempt=3, succeeded=both)
    raw = api.write_status({}, first, NOW)
    assert raw["succeeded"] == {
        "worker": {"attempt": 3, "indexes": "0,2", "lastFinishTime": "2023-11-14T22:13:20Z"},
        "master": {"attempt": 3, "indexes": "0"},
    }
    assert api.read_status({"status": raw, "spec": {}}).succeeded == first.succeeded
    patch = api.write_status(raw, replace(first, succeeded={"worker": Successes(frozenset({0}), NOW)}), NOW)
    assert patch["succeeded"] == {
        "worker": {"attempt": 3, "indexes": "0", "lastFinishTime": "2023-11-14T22:13:20Z"},
        "master": None,
    }
    assert api.write_status(raw, replace(first, succeeded={}), NOW)["succeeded"] is None
    cut = {name: value for name, value in raw.items() if name != "attempt"}
    assert api.read_status({"status": cut, "spec": {}}).succeeded == {}, "of which attempt, nobody knows"
    later = {**raw, "attempt": 4}
    assert api.read_status({"status": later, "spec": {}}).succeeded == {}, "left by an operator without the field"


def test_ten_thousand_ranks_take_few_bytes() -> None:
    def measure(indexes: range) -> int:
        status = Status(Phase.RUNNING, succeeded={"worker": Successes(frozenset(indexes), NOW)})
        return len(json.dumps(PADDLEPADDLE.write_status({}, status, NOW)["succeeded"]))

    assert measure(range(10_000)) < 100
    assert measure(range(0, 10_000, 2)) < 30_000, "every other one"


def test_a_recorded_time_has_whole_seconds() -> None:
    pods = with_pod(build_pods(TORCH), "worker-0", succeeded(4.75))
    assert recorded(TORCH, pods).succeeded["worker"].last == NOW - 5
    assert (
        recorded(TORCH, with_pod(pods, "worker-0", lambda pod: replace(pod, exit=None))).succeeded["worker"].last
        is None
    )


def test_the_first_end_is_remembered_as_well_as_the_last() -> None:
    """Who began after the first success of an elastic group has no group, whether or not the pods are there."""
    job = build_job(ps=0, workers=3)
    pods = build_pods(job)
    ended = with_pod(with_pod(pods, "worker-0", succeeded(100)), "worker-1", succeeded(10))
    recorded = replace(build_status(job), succeeded=read_successes(job, build_status(job), ended))
    assert recorded.succeeded["worker"] == Successes(frozenset({0, 1}), NOW - 10, NOW - 100)
    for cleared in (["worker-0"], ["worker-1"], ["worker-0", "worker-1"]):
        left = ended
        for rank in cleared:
            left = with_pod(left, rank, gone)
        gang = complete_gang(job, recorded, left)
        assert (first_success(job, gang), last_success(job, gang)) == (NOW - 100, NOW - 10), cleared


def test_a_record_without_the_first_end_gives_the_last_one() -> None:
    job = build_job(ps=0, workers=2)
    status = replace(build_status(job), succeeded={"worker": Successes(frozenset({0}), NOW - 10)})
    (cleared,) = (pod for pod in complete_gang(job, status, build_pods(job)[1:]) if pod.cleared)
    assert cleared.exit is not None
    assert cleared.exit.finished == NOW - 10
