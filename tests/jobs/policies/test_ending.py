"""Workers that still train when the Master, or one rank of an elastic job, has succeeded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import (
    NOW,
    build_pods,
    build_services,
    build_status,
    build_torch_job,
    deleted,
    failed,
    gone,
    reason,
    succeeded,
    with_pod,
)
from jobs.samples import read_manifest, with_value
from paddock.jobs.actions import Plan
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.model import CleanPods, Job, Observed, Phase, Pod, PodPhase, Policies, Status, Success
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain

JOB = build_torch_job(clean_pods=CleanPods.RUNNING)
ELASTIC = build_torch_job(masters=0, workers=3, one_decides=True, clean_pods=CleanPods.RUNNING)
DONE = with_pod(build_pods(JOB), "master-0", succeeded(0))


def look(status: Status, pods: tuple[Pod, ...], later: float = 0, job: Job = JOB, off: int = 0) -> Plan:
    return plan(job, status, Observed(pods=pods, services=build_services(job), clock_off=off), NOW + later)


WAITING = look(build_status(JOB), DONE).status


def test_they_have_thirty_seconds_and_the_cause_says_so() -> None:
    found = look(build_status(JOB), DONE)
    assert (found.status.phase, found.actions, found.requeue_after) == (Phase.RUNNING, (), 30.0)
    assert found.status.cause is not None
    assert explain(found.status.cause) == "the job has succeeded; worker-0 and worker-1 still run, and have 30 s to end"
    assert look(WAITING, DONE, 12).requeue_after == 18.0


def test_then_the_job_is_completed_and_the_clean_up_ends_them() -> None:
    found = look(WAITING, DONE, 30)
    assert (found.status.phase, reason(found), found.actions) == (Phase.COMPLETED, "CompletedWithoutWorkers", ())
    assert found.status.cause is not None
    assert explain(found.status.cause) == "completed; worker-0 and worker-1 still ran 30 s later, and were ended"
    assert deleted(look(found.status, DONE, 31)) == ["worker-0-of-0", "worker-1-of-0"]


@pytest.mark.parametrize("end", [succeeded(0), failed(1, 0), failed(-1, 0, "NodeLost"), gone])
def test_the_job_is_completed_as_soon_as_they_have_ended_however_they_end(end) -> None:
    pods = with_pod(with_pod(DONE, "worker-0", end), "worker-1", end)
    found = look(WAITING, pods, 3)
    assert (found.status.phase, reason(found), found.status.attempt) == (Phase.COMPLETED, "Completed", 0)


def test_the_cause_counts_the_ranks_that_succeeded_and_not_the_master_alone() -> None:
    pods = with_pod(with_pod(DONE, "worker-0", succeeded(0)), "worker-1", succeeded(0))
    found = look(WAITING, pods, 3).status
    assert found.cause is not None
    assert explain(found.cause) == "completed: 3 ranks succeeded"


def test_a_success_that_was_recorded_stays_when_the_masters_pod_goes() -> None:
    found = look(WAITING, with_pod(DONE, "master-0", gone), 3)
    assert (found.status.phase, reason(found), found.status.attempt) == (Phase.RUNNING, "WaitingForWorkers", 0)
    assert look(found.status, with_pod(DONE, "master-0", gone), 30).status.phase is Phase.COMPLETED


def test_a_clock_that_is_set_back_meanwhile_makes_no_loss_of_it() -> None:
    found = look(WAITING, with_pod(DONE, "master-0", gone), -3600)
    assert (reason(found), found.status.attempt, found.requeue_after) == ("WaitingForWorkers", 0, 30.0)


def test_a_suspension_and_a_deadline_in_these_seconds_come_too_late() -> None:
    for policies in (
        Policies(suspend=True, clean_pods=CleanPods.RUNNING),
        Policies(active_deadline=1.0, clean_pods=CleanPods.RUNNING),
    ):
        found = look(WAITING, DONE, 3, replace(JOB, policies=policies))
        assert (found.status.phase, reason(found)) == (Phase.RUNNING, "WaitingForWorkers")


def test_a_success_that_a_suspended_jobs_pods_tell_is_recorded_at_once() -> None:
    suspended = replace(JOB, policies=Policies(suspend=True, clean_pods=CleanPods.RUNNING))
    found = look(build_status(JOB, Phase.SUSPENDED), DONE, 3, suspended)
    assert found.status.phase is Phase.COMPLETED


@pytest.mark.parametrize("policy", [CleanPods.NEVER, CleanPods.ON_FAILURE])
def test_nothing_is_waited_for_where_nobody_ends_them(policy: CleanPods) -> None:
    job = build_torch_job(clean_pods=policy)
    assert look(build_status(job), DONE, job=job).status.phase is Phase.COMPLETED


def test_a_worker_that_never_started_is_not_waited_for() -> None:
    pods = with_pod(DONE, "worker-0", lambda pod: replace(pod, phase=PodPhase.PENDING))
    pods = with_pod(pods, "worker-1", succeeded(0))
    assert look(build_status(JOB, Phase.STARTING), pods).status.phase is Phase.COMPLETED


def test_they_are_not_ended_by_a_clock_that_has_jumped() -> None:
    found = look(WAITING, DONE, 7200, off=7200)
    assert (found.status.phase, found.requeue_after) == (Phase.RUNNING, 60.0)


def test_one_worker_of_an_elastic_job_is_enough_and_never_both_succeeded_and_failed() -> None:
    one = with_pod(build_pods(ELASTIC), "worker-2", succeeded(0))
    found = look(build_status(ELASTIC), one, job=ELASTIC)
    assert reason(found) == "WaitingForWorkers"
    for other in (succeeded(0), failed(1, 0)):
        both = with_pod(with_pod(one, "worker-0", other), "worker-1", failed(1, 0))
        assert look(build_status(ELASTIC), both, job=ELASTIC).status.phase is Phase.COMPLETED
        assert look(found.status, both, 3, ELASTIC).status.phase is Phase.COMPLETED


def test_a_failed_worker_of_an_elastic_job_restarts_all_while_none_has_succeeded() -> None:
    pods = with_pod(build_pods(ELASTIC), "worker-1", failed(1, 0))
    waiting = look(build_status(ELASTIC), pods, job=ELASTIC)
    assert reason(look(waiting.status, pods, 10, ELASTIC)) == "RankRestarted"


@pytest.mark.parametrize(("written", "said"), [("None", "None"), ("All", "All"), ("", "Running")])
def test_the_clean_up_policy_is_told_in_the_words_of_the_manifest(written: str, said: str) -> None:
    manifest = with_value(read_manifest("pytorch_mnist"), ("spec", "runPolicy"), {"cleanPodPolicy": written})
    assert KUBEFLOW_PYTORCH.read_job(manifest).policies.clean_up == said


def test_workers_that_are_kept_are_told_with_kubeflows_word() -> None:
    manifest = with_value(read_manifest("pytorch_mnist"), ("spec", "runPolicy"), {"cleanPodPolicy": "None"})
    job = KUBEFLOW_PYTORCH.read_job(manifest)
    found = look(build_status(job), with_pod(build_pods(job), "master-0", succeeded(0)), job=job).status
    assert found.phase is Phase.COMPLETED and found.cause is not None
    said = "completed: 1 rank succeeded; cleanPodPolicy None keeps worker-0 and worker-1, which still run; delete the "
    assert explain(found.cause) == said + "job to end them"


# Other containers of ranks that have ended.

COLLECTED = with_pod(
    build_pods(build_torch_job(workers=0), phase=PodPhase.SUCCEEDED),
    "master-0",
    lambda pod: replace(succeeded(0)(pod), lingering=("collector",)),
)
ALONE = build_torch_job(workers=0, clean_pods=CleanPods.RUNNING)
BESIDE = look(build_status(ALONE), COLLECTED, job=ALONE).status


def test_a_collector_has_thirty_seconds_after_the_program_and_the_cause_says_so() -> None:
    assert BESIDE.cause is not None
    assert (BESIDE.phase, BESIDE.cause.reason) == (Phase.RUNNING, "WaitingForContainers")
    assert explain(BESIDE.cause) == (
        "the job has succeeded; container collector of master-0 still runs, and is waited for, at most 30s"
    )
    assert look(BESIDE, COLLECTED, 12, ALONE).requeue_after == 18.0


def test_the_job_is_completed_as_soon_as_it_has_ended() -> None:
    found = look(BESIDE, with_pod(COLLECTED, "master-0", lambda pod: replace(pod, lingering=())), 3, ALONE)
    assert (found.status.phase, reason(found)) == (Phase.COMPLETED, "Completed")


def test_then_it_is_ended_by_the_clean_up_and_the_cause_says_that() -> None:
    found = look(BESIDE, COLLECTED, 30, ALONE)
    assert (found.status.phase, reason(found)) == (Phase.COMPLETED, "CompletedWithoutContainers")
    assert found.status.cause is not None
    assert explain(found.status.cause) == (
        "completed; container collector of master-0 still ran 30s later, and was ended"
    )
    assert deleted(look(found.status, COLLECTED, 31, ALONE)) == ["master-0-of-0"]


@pytest.mark.parametrize("policy", [CleanPods.NEVER, CleanPods.ON_FAILURE])
def test_no_container_is_waited_for_where_nobody_ends_it(policy: CleanPods) -> None:
    job = build_torch_job(workers=0, clean_pods=policy)
    found = look(build_status(job), COLLECTED, job=job)
    assert (found.status.phase, reason(found)) == (Phase.COMPLETED, "Completed")
    assert deleted(look(found.status, COLLECTED, 300, job)) == []


def test_a_job_names_a_time_of_its_own() -> None:
    job = replace(ALONE, success=Success(all_ranks=True, end_wait=300))
    found = look(build_status(job), COLLECTED, job=job)
    assert found.requeue_after == 300.0
    unbounded = replace(ALONE, success=Success(all_ranks=True))
    assert look(build_status(unbounded), COLLECTED, job=unbounded).requeue_after == 30.0, "a proxy never ends"


def test_the_time_counts_from_the_end_of_the_rank_and_not_of_the_job() -> None:
    everybody = replace(JOB, success=Success(all_ranks=True))
    pods = with_pod(build_pods(JOB), "worker-0", lambda pod: replace(succeeded(0)(pod), lingering=("proxy",)))
    pods = with_pod(with_pod(pods, "worker-1", succeeded(-20)), "master-0", succeeded(-20))
    found = look(build_status(JOB), pods, 20, everybody)
    assert (reason(found), found.requeue_after) == ("WaitingForContainers", 10.0)
    late = with_pod(pods, "master-0", succeeded(-40))
    assert reason(look(build_status(JOB), late, 40, everybody)) == "CompletedWithoutContainers"


def lingers(pod: Pod) -> Pod:
    return replace(pod, lingering=("collector",))


@pytest.mark.parametrize(
    ("ended", "collects", "later", "left"),
    [
        # when worker-0 ended after the success, whether its collector runs, the time of the look, what is left then
        (28, True, 28, 30),
        (28, True, 50, 8),
        (28, True, 58, None),
        (28, False, 28, 2),
        (28, False, 30, None),
        (2, True, 10, 22),
        (40, True, 45, None),  # in the time that another added
    ],
)
@pytest.mark.parametrize("job", [JOB, ELASTIC], ids=["a master", "elastic"])
def test_a_collector_has_its_time_while_others_still_train(
    job: Job, ended: int, collects: bool, later: int, left: float | None
) -> None:
    first = "master-0" if job is JOB else "worker-2"
    pods = with_pod(build_pods(job), first, succeeded(0))
    waiting = look(build_status(job), pods, job=job).status
    pods = with_pod(pods, "worker-0", succeeded(-ended))
    found = look(waiting, with_pod(pods, "worker-0", lingers) if collects else pods, later, job)
    assert reason(found) == ("CompletedWithoutWorkers" if left is None else "WaitingForWorkers")
    assert left is None or found.requeue_after == left
    assert found.status.cause is not None
    assert left is None or f"has {later + left} s to end" in explain(found.status.cause)


def test_the_end_of_that_time_is_told_as_it_was() -> None:
    pods = with_pod(with_pod(DONE, "worker-0", succeeded(-28)), "worker-0", lingers)
    found = look(WAITING, pods, 58)
    assert found.status.cause is not None
    assert explain(found.status.cause) == "completed; worker-1 still ran 58 s later, and was ended"


def test_the_time_does_not_begin_again_with_the_end_of_another_container() -> None:
    """Nor with another operator: what it counts from is in the status."""
    twice = with_pod(with_pod(DONE, "worker-0", succeeded(-10)), "worker-0", lingers)
    waiting = look(WAITING, twice, 12).status
    twice = with_pod(with_pod(twice, "worker-1", succeeded(-20)), "worker-1", lingers)
    found = look(waiting, twice, 21)
    assert (reason(found), found.requeue_after) == ("WaitingForContainers", 30.0)
    for later, left in ((30, 21.0), (50, 1.0)):
        assert look(found.status, twice, later).requeue_after == left
    alone = with_pod(twice, "worker-1", lambda pod: replace(pod, lingering=()))
    assert look(found.status, alone, 30).requeue_after == 11.0
    assert reason(look(found.status, twice, 51)) == "CompletedWithoutContainers"


@pytest.mark.parametrize("end", [gone, failed(-1, 0, "NodeLost")])
def test_a_success_with_a_collector_stays_when_its_pod_goes(end) -> None:
    found = look(BESIDE, with_pod(COLLECTED, "master-0", end), 3, ALONE)
    assert found.status.phase is Phase.COMPLETED


def test_many_ranks_are_counted_and_not_named() -> None:
    job = build_torch_job(masters=0, workers=9, clean_pods=CleanPods.RUNNING)
    pods = tuple(replace(succeeded(0)(pod), lingering=("proxy",)) for pod in build_pods(job))
    found = look(build_status(job), pods, job=job).status
    assert found.cause is not None
    assert "containers proxy of worker-0, worker-1, worker-2 and 6 other ranks still run" in explain(found.cause)


def test_a_suspension_comes_too_late_for_a_collector() -> None:
    suspended = replace(ALONE, policies=Policies(suspend=True, clean_pods=CleanPods.RUNNING))
    assert reason(look(BESIDE, COLLECTED, 3, suspended)) == "WaitingForContainers"


def test_a_collector_is_not_ended_by_a_clock_that_has_jumped() -> None:
    assert look(BESIDE, COLLECTED, 7200, ALONE, off=7200).requeue_after == 60.0
