"""Jobs in a queue of Kueue: the marks of their pods, why they wait, and what their Workload says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, observe, reason
from jobs.samples import read_any, read_manifest, read_sample
from paddock.jobs import causes
from paddock.jobs.labels import KUEUE_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import Elasticity, Job, Phase, PodPhase, Rank, RestartScope, Settings, Status
from paddock.jobs.names import LONGEST_LABEL, queue_group_name
from paddock.jobs.objects import pods
from paddock.jobs.plan import plan
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.spares import build_spare
from paddock.jobs.queued import COUNT_ANNOTATION, GROUP_LABEL, RETRIABLE_ANNOTATION
from paddock.kube.meta import Key, Manifest
from paddock.views.steps import build_steps
from paddock.views.workloads import explain_workload, find_workload
from paddock.words.phrases import render

QUEUED = {"labels": {QUEUE_LABEL: "team"}, "annotations": {KUEUE_ANNOTATION: "Pods"}}


def marks_of(pod: Manifest) -> dict[str, str]:
    metadata = pod["metadata"]
    found = {**metadata["labels"], **metadata["annotations"]}
    return {
        name: found[name]
        for name in (QUEUE_LABEL, GROUP_LABEL, COUNT_ANNOTATION, RETRIABLE_ANNOTATION)
        if name in found
    }


def build(job: Job, attempt: int = 0, index: int = 0) -> Manifest:
    return pods.build_pod(job, Rank("worker", index), attempt, None, Settings())


def test_pods_of_one_attempt_are_a_group_of_its_size_that_takes_no_replacements() -> None:
    job = build_torch_job(workers=2, **QUEUED)
    first, second = marks_of(build(job)), marks_of(build(job, index=1))
    assert first == second
    assert (first[QUEUE_LABEL], first[COUNT_ANNOTATION], first[RETRIABLE_ANNOTATION]) == ("team", "3", "false")
    assert marks_of(build(job, attempt=1))[GROUP_LABEL] != first[GROUP_LABEL]
    assert marks_of(build(replace(job, uid="later")))[GROUP_LABEL] != first[GROUP_LABEL]


def test_the_name_of_a_group_is_a_label_however_long_the_jobs_is() -> None:
    job = replace(build_job(), key=Key("team", "n" * 200))
    assert len(queue_group_name(job, 12345)) <= LONGEST_LABEL


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {QUEUE_LABEL: "team"}},
        {"annotations": {KUEUE_ANNOTATION: "Pods"}},
        {**QUEUED, "annotations": {KUEUE_ANNOTATION: "pods"}},
        {**QUEUED, "scope": RestartScope.POD},
    ],
    ids=["without the annotation", "without a queue", "another word", "pods that start again alone"],
)
def test_other_jobs_pods_have_no_mark_of_a_group(changes: dict[str, Any]) -> None:
    assert not marks_of(build(build_torch_job(**changes)))


def test_of_an_elastic_job_the_ranks_of_the_attempt_are_counted_and_spare_pods_ask_alone() -> None:
    """Kueue deletes pods beyond the count of their group."""
    job = fit(build_job(workers=3, elasticity=Elasticity("worker", 1, 3), **QUEUED), 2)
    assert marks_of(build(job))[COUNT_ANNOTATION] == "2"
    assert marks_of(build_spare(job, Rank("worker", 2), 0, Settings(), {})) == {QUEUE_LABEL: "team"}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"annotations": {KUEUE_ANNOTATION: "Pods"}}, "has no effect without the label kueue.x-k8s.io/queue-name"),
        ({**QUEUED, "annotations": {KUEUE_ANNOTATION: "job"}}, "the one value that Paddock knows is Pods"),
        (
            {**QUEUED, "annotations": {KUEUE_ANNOTATION: "Pods", "paddock.dev/restart-scope": "Pod"}},
            "has no effect where a rank may start again alone",
        ),
        (QUEUED, ""),
        ({}, ""),
    ],
)
def test_an_annotation_that_does_nothing_is_warned_of(metadata: dict[str, Any], said: str) -> None:
    manifest = read_manifest("pytorch_mnist")
    manifest["metadata"] |= metadata
    told = [str(each.message) for each in read_any(manifest).warnings if each.path.endswith(f"{KUEUE_ANNOTATION}]")
            or KUEUE_ANNOTATION in each.path]  # fmt: skip
    assert [said in each for each in told] == [True] * bool(said)


def test_a_suspended_job_with_a_queue_waits_for_it_and_one_without_is_suspended() -> None:
    queued, plain = build_job(suspend=True, labels={QUEUE_LABEL: "team"}), build_job(suspend=True)
    for job, cause in ((queued, "WaitingForQueue"), (plain, "Suspended")):
        first = plan(job, Status(), observe(job, ()), NOW)
        assert (first.status.phase, reason(first)) == (Phase.SUSPENDED, cause)
        assert reason(plan(job, first.status, observe(job, ()), NOW)) == cause


def test_pods_that_are_gated_wait_for_the_queue_and_others_for_what_they_say() -> None:
    job = build_torch_job(masters=0, workers=2, **QUEUED)
    gated = build_pods(job, phase=PodPhase.PENDING, waiting=("SchedulingGated", "gated"))
    waiting = tuple(replace(pod, node="", address="") for pod in gated)
    status = build_status(job, Phase.PENDING)
    assert reason(plan(job, status, observe(job, waiting), NOW)) == "WaitingForQueue"
    other = (waiting[0], replace(waiting[1], waiting=("Unschedulable", "no room")))
    assert reason(plan(job, status, observe(job, other), NOW)) == "WaitingForScheduler"


def test_the_next_step_is_not_to_resume_what_kueue_would_suspend_again() -> None:
    cause = causes.WaitingForQueue("team").record(NOW)
    assert "get workloads" in build_steps(cause, "demo", "default", local=False)[0].text
    assert "paddock resume" in build_steps(cause, "demo", "default", local=True)[0].text


def workload(name: str = "job-demo", uid: str = "job-uid", **conditions: tuple[str, str, str]) -> Manifest:
    listed = [
        {"type": type_, "status": status, "reason": why, "message": said}
        for type_, (status, why, said) in conditions.items()
    ]
    return {"metadata": {"name": name, "ownerReferences": [{"uid": uid}]}, "status": {"conditions": listed}}


SAID: list[tuple[Manifest | None, str]] = [
    (None, "Kueue has made no Workload for it yet: is its integration for this kind of job on?"),
    (workload(), "Kueue says nothing yet in its Workload job-demo"),
    (
        workload(QuotaReserved=("False", "Misconfigured", "LocalQueue team doesn't exist")),
        "Kueue says in its Workload job-demo: Misconfigured: LocalQueue team doesn't exist",
    ),
    (
        workload(Evicted=("True", "Preempted", "by b"), QuotaReserved=("False", "WaitingForQuota", "no  quota")),
        "Kueue says in its Workload job-demo: WaitingForQuota: no quota",
    ),
    (
        workload(QuotaReserved=("True", "QuotaReserved", ""), Admitted=("False", "UnsatisfiedAdmissionChecks", "x")),
        "Kueue says in its Workload job-demo: UnsatisfiedAdmissionChecks: x",
    ),
    ({"metadata": {"name": "w"}, "status": "x"}, "Kueue says nothing yet in its Workload w"),
    ({"metadata": {"name": "w"}, "status": {"conditions": [3]}}, "Kueue says nothing yet in its Workload w"),
]


@pytest.mark.parametrize(("found", "said"), SAID)
def test_a_workload_tells_why_it_waits(found: Manifest | None, said: str) -> None:
    assert render(explain_workload(found), "en") == said


def test_the_workload_of_a_job_is_found_by_its_owner_or_by_the_group_of_its_attempt() -> None:
    job = build_job(**QUEUED)
    own, other = workload("a"), workload("b", uid="another")
    assert find_workload(job, Status(), [other, own]) is own
    of_pods = workload(queue_group_name(job, 2), uid="a pod")
    assert find_workload(job, Status(attempt=2), [other, of_pods]) is of_pods
    assert find_workload(job, Status(attempt=1), [other, of_pods, {"metadata": {"ownerReferences": 3}}]) is None


def test_a_queue_does_not_change_the_pods_of_a_job_that_kueue_resumes() -> None:
    assert not marks_of(build(replace(read_sample("pytorch_workers"), labels={QUEUE_LABEL: "team"})))
