"""What users of training-operator v1.9 have seen go wrong, as they saw it, and what a PyTorchJob does here instead."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from jobs.gangs import (
    NOW,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    created,
    deleted,
    failed,
    judge,
    reason,
    succeeded,
    with_pod,
)
from paddock.jobs.actions import Delete
from paddock.jobs.model import (
    CleanPods,
    Job,
    NodeCondition,
    NodeState,
    Observed,
    Phase,
    Pod,
    PodPhase,
    RestartPolicy,
    RestartScope,
    Role,
    Settings,
    Status,
)
from paddock.jobs.objects.pods import build_pod, read_pod
from paddock.jobs.plan import plan
from paddock.jobs.policies.root_cause import FREE

JOB = build_torch_job(clean_pods=CleanPods.RUNNING)
SCOPES = [RestartScope.GANG, RestartScope.POD]


def see(job: Job, pods: tuple[Pod, ...], **changes: Any) -> Observed:
    return replace(Observed(pods=pods, services=build_services(job)), **changes)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("policy", [RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS, RestartPolicy.EXIT_CODE])
@pytest.mark.parametrize("route", [failed(137), failed(-1, reason="Evicted"), failed(137, reason="OOMKilled")])
def test_an_exitcode_job_restarts_for_ever_though_backofflimit_is_1(
    scope: RestartScope, policy: RestartPolicy, route: Any
) -> None:
    """D2: here each restart that is the program's fault counts, by whatever route."""
    job = build_torch_job(scope=scope, restart=policy, backoff_limit=1)
    pods = with_pod(build_pods(job), "worker-0", route)
    once = judge(job, build_status(job), see(job, pods)).status
    assert (once.phase, once.restarts) == (Phase.RESTARTING, 1)
    again = tuple(replace(pod, attempt=once.attempt, renewal=once.renewal(pod.rank)) for pod in pods)
    found = judge(job, replace(once, phase=Phase.RUNNING, cause=None), see(job, again))
    assert (found.status.phase, reason(found), found.status.restarts) == (Phase.FAILED, "BackoffLimitExceeded", 1)


@pytest.mark.parametrize("why", sorted(FREE))
@pytest.mark.parametrize("scope", SCOPES)
def test_a_preempted_job_uses_up_its_backofflimit(why: str, scope: RestartScope) -> None:
    """D2, D26: what is free stands in one table."""
    job = build_torch_job(scope=scope, backoff_limit=0)
    pods = with_pod(build_pods(job), "worker-0", failed(-1, reason=why))
    found = judge(job, build_status(job), see(job, pods)).status
    assert (found.phase, found.restarts, found.losses) == (Phase.RESTARTING, 0, 1)


@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses"])
def test_a_flaky_sidecar_fails_the_job(kind: str) -> None:
    """D2: restarts of a side-car or of an init container are none of the program."""
    made = build_pod(JOB, JOB.ranks()[0], 0, None, Settings())
    program = {"name": "pytorch", "ready": True, "restartCount": 0, "state": {"running": {}}}
    restless = {"name": "istio-proxy", "ready": True, "restartCount": 99, "state": {"running": {}}}
    status = {"phase": "Running", "containerStatuses": [program]}
    status[kind] = [*status.get(kind, []), restless]
    pod = read_pod({**made, "status": status})
    assert pod is not None
    pods = with_pod(build_pods(JOB), "master-0", lambda before: replace(pod, uid=before.uid, started=before.started))
    assert judge(build_torch_job(backoff_limit=0), build_status(JOB), see(JOB, pods)).status.phase is Phase.RUNNING


@pytest.mark.parametrize("end", [Phase.COMPLETED, Phase.FAILED])
@pytest.mark.parametrize("policy", [CleanPods.RUNNING, CleanPods.NEVER])
def test_a_side_car_holds_the_gpus_of_a_finished_job(end: Phase, policy: CleanPods) -> None:
    """D4: a pod whose program has ended runs as long as its side-car does."""
    job = build_torch_job(clean_pods=policy)
    phase = PodPhase.SUCCEEDED if end is Phase.COMPLETED else PodPhase.FAILED
    there = build_pods(job, phase=phase)
    pods = (replace(there[0], lingering=("proxy",)), *there[1:])
    found = plan(job, build_status(job, end, finished=NOW), see(job, pods), NOW)
    kept = end is Phase.COMPLETED and policy is CleanPods.NEVER
    assert deleted(found) == ([] if kept else [pods[0].uid])


@pytest.mark.parametrize("code", [1, 2, 127, 128, 130, 138, 143])
def test_exit_codes_from_128_on_restart_and_others_fail(code: int) -> None:
    job = build_torch_job(restart=RestartPolicy.EXIT_CODE)
    found = judge(job, build_status(job), see(job, with_pod(build_pods(job), "worker-0", failed(code))))
    assert found.status.phase is (Phase.FAILED if code < 128 else Phase.RESTARTING)


def test_a_job_that_failed_by_its_exit_code_is_never_cleaned_up() -> None:
    """D5: it has a time of its end, so its time to live passes."""
    job = build_torch_job(restart=RestartPolicy.EXIT_CODE, ttl=60.0, clean_pods=CleanPods.RUNNING)
    pods = with_pod(build_pods(job), "worker-0", failed(1))
    status = judge(job, build_status(job), see(job, pods)).status
    assert (status.phase, status.finished) == (Phase.FAILED, NOW + 10)
    later = plan(job, status, see(job, pods), NOW + 30)
    assert later.requeue_after == 40.0
    assert plan(job, status, see(job, pods), NOW + 70).actions == (Delete(job.resource, job.key, job.uid),)


def test_a_deadline_never_fires_by_itself() -> None:
    """D1: a quiet job is looked at when its deadline is due."""
    job = build_torch_job(active_deadline=90.0)
    status = plan(job, build_status(job), see(job, build_pods(job)), NOW)
    assert (status.status.phase, status.requeue_after) == (Phase.RUNNING, 30.0)
    assert reason(plan(job, status.status, see(job, build_pods(job)), NOW + 30)) == "DeadlineExceeded"


def test_a_job_of_no_workers_makes_and_deletes_worker_0_endlessly() -> None:
    """D10."""
    none = build_torch_job(masters=0, workers=0)
    found = plan(none, Status(), Observed(), NOW)
    assert (reason(found), found.actions) == ("NoReplicas", ())
    alone = replace(
        JOB, roles=tuple(replace(role, replicas=0) if role.name == "worker" else role for role in JOB.roles)
    )
    made = plan(alone, Status(), Observed(), NOW)
    assert [name for name in created(made) if name.startswith("Pod")] == ["Pod demo-master-0"]


def test_scaled_down_ranks_come_back_while_a_higher_one_lingers() -> None:
    """D11: a job of one worker, of which worker-2 of the old size is left and worker-0 is missing."""
    smaller = build_torch_job(workers=1)
    before = build_torch_job(workers=3)
    status = build_status(before)
    found = plan(smaller, status, see(before, build_pods(before)), NOW)
    assert (reason(found), found.actions) == ("Resized", ())
    left = tuple(pod for pod in build_pods(before) if str(pod.rank) == "worker-2")
    waiting = plan(smaller, found.status, see(smaller, left), NOW)
    assert (deleted(waiting), created(waiting)) == (["worker-2-of-0"], [])
    assert waiting.status.roles["worker"].running == 0, "pods out of range are not counted"
    gone = plan(smaller, waiting.status, see(smaller, ()), NOW)
    assert [name for name in created(gone) if name.startswith("Pod")] == ["Pod demo-master-0", "Pod demo-worker-0"]


def test_the_same_facts_give_succeeded_or_failed_by_chance() -> None:
    """D12: whatever order pods and roles come in."""
    job = build_torch_job(restart=RestartPolicy.NEVER, clean_pods=CleanPods.RUNNING)
    pods = with_pod(build_pods(job), "master-0", succeeded())
    pods = with_pod(with_pod(pods, "worker-0", failed(1)), "worker-1", succeeded())
    ends = {
        judge(replace(job, roles=roles), build_status(job), see(job, order)).status.phase
        for order in permutations(pods)
        for roles in permutations(job.roles)
    }
    assert ends == {Phase.COMPLETED}


def test_peers_of_a_failed_rank_sit_in_timeouts() -> None:
    """D18: they are ended with it, and start again together."""
    pods = with_pod(build_pods(JOB), "worker-0", failed(137))
    status = judge(JOB, build_status(JOB), see(JOB, pods)).status
    assert deleted(plan(JOB, status, see(JOB, pods), NOW + 20)) == ["master-0-of-0", "worker-0-of-0", "worker-1-of-0"]


def test_a_users_own_service_with_the_labels_suppresses_the_headless_one() -> None:
    """D22: a job's Services are those that it owns, by their names; one with the labels alone is not among them."""
    found = plan(JOB, Status(), Observed(), NOW)
    assert [name for name in created(found) if name.startswith("Service")] == [
        "Service demo-master-0", "Service demo-worker-0", "Service demo-worker-1",
    ]  # fmt: skip


@pytest.mark.parametrize("scope", SCOPES)
def test_a_lost_node_says_restarting_and_nothing_restarts(scope: RestartScope) -> None:
    """D26: its pod is Running and being deleted for ever. It is deleted by force, and its name used again."""
    job = build_torch_job(scope=scope)
    pods = with_pod(build_pods(job), "worker-0", lambda pod: replace(pod, deleting=True, gone_by=NOW + 30))
    status = judge(job, build_status(job), see(job, pods)).status
    assert (status.phase, status.restarts) == (Phase.RESTARTING, 0)
    silent = {"laptop": NodeCondition(NodeState.SILENT, NOW)}
    found = plan(job, status, see(job, pods, nodes=silent), NOW + 61)
    forced = [action for action in found.actions if isinstance(action, Delete) and action.grace == 0]
    assert [action.uid for action in forced] == ["worker-0-of-0"]
    rest = with_pod(pods, "worker-0", lambda _: None) if scope is RestartScope.POD else ()
    assert "Pod demo-worker-0" in created(plan(job, found.status, see(job, rest), NOW + 90))


def test_a_suspension_toggled_fifty_times_ends_as_it_was_left() -> None:
    status, pods = build_status(JOB), build_pods(JOB)
    for number in range(50):
        job = replace(JOB, policies=replace(JOB.policies, suspend=number % 2 == 0))
        found = plan(job, status, see(job, pods), NOW + number / 50)
        assert not (found.actions and found.status.decisive() != status.decisive())
        status = found.status
    assert (status.phase, status.attempt, status.restarts, status.losses) == (Phase.RESTARTING, 25, 0, 0)
    assert len(deleted(plan(JOB, status, see(JOB, pods), NOW + 1))) == 3, "the pods of the first attempt go"
    assert len([name for name in created(plan(JOB, status, see(JOB, ()), NOW + 2)) if name.startswith("Pod")]) == 3


def test_an_edit_of_a_running_jobs_template_restarts_nothing() -> None:
    image = {"spec": {"containers": [{"name": "pytorch", "image": "torch:3", "command": ["python", "train.py"]}]}}
    roles = tuple(Role(role.name, role.replicas, image, role.restart, role.decides) for role in JOB.roles)
    found = plan(replace(JOB, roles=roles, generation=2), build_status(JOB), see(JOB, build_pods(JOB)), NOW)
    assert (found.status.phase, found.status.attempt, found.actions) == (Phase.RUNNING, 0, ())
