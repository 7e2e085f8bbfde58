"""Jobs in a queue of Kueue: the marks of their pods, why they wait, and what their Workload says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, build_torch_job, failed, gone, observe, reason
from jobs.samples import read_any, read_manifest, read_sample
from paddock.jobs import causes
from paddock.jobs.actions import Create, Plan
from paddock.jobs.labels import KUEUE_ANNOTATION, QUEUE_LABEL
from paddock.jobs.model import (
    Displaced,
    Elasticity,
    Job,
    Network,
    Phase,
    Pod,
    PodPhase,
    Rank,
    Refusal,
    RestartScope,
    Settings,
    Status,
)
from paddock.jobs.names import LONGEST_LABEL, queue_group_name
from paddock.jobs.objects import pods
from paddock.jobs.plan import plan
from paddock.jobs.policies.fitting import fit
from paddock.jobs.policies.spares import build_spare
from paddock.jobs.queued import (
    COUNT_ANNOTATION,
    GATE,
    GROUP_LABEL,
    MANAGED,
    NOT_HELD,
    POD_SET_LABEL,
    RETRIABLE_ANNOTATION,
    find_pod_queue,
    is_held,
    misses_queue,
    read_displaced,
)
from paddock.jobs.sentences.queue_phrases import explain_evicted, explain_queue
from paddock.jobs.waiting import read_recorded_refusal
from paddock.kube.meta import PODS, Key, Manifest
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
        ({**QUEUED, "annotations": {KUEUE_ANNOTATION: "job"}}, "the values that Paddock knows are Pods and Suspend"),
        (
            {**QUEUED, "annotations": {KUEUE_ANNOTATION: "Pods", "paddock.dev/restart-scope": "Pod"}},
            "has no effect where a rank may start again alone",
        ),
        ({**QUEUED, "annotations": {KUEUE_ANNOTATION: "Suspend", "paddock.dev/restart-scope": "Pod"}}, ""),
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


BATCH = build_job(workers=3, labels={QUEUE_LABEL: "team"})
SUSPENDING = replace(BATCH, annotations={KUEUE_ANNOTATION: "Suspend"})
ADMITTED = replace(BATCH, roles=tuple(
    replace(role, template={**role.template, "metadata": {"labels": {POD_SET_LABEL: "worker"}}}) for role in BATCH.roles
))  # fmt: skip


@pytest.mark.parametrize(
    ("job", "settings", "queue"),
    [
        (BATCH, Settings(), "team"),
        (replace(BATCH, labels={}), Settings(), ""),
        (SUSPENDING, Settings(), ""),
        (ADMITTED, Settings(), ""),
        (replace(ADMITTED, annotations={KUEUE_ANNOTATION: "Pods"}), Settings(), "team"),
        (replace(BATCH, scope=RestartScope.POD, network=Network(rendezvous=True)), Settings(), ""),
        (BATCH, Settings(output_root="/tmp"), ""),
        (build_torch_job(labels={QUEUE_LABEL: "team"}), Settings(), ""),
        (build_torch_job(**QUEUED), Settings(), "team"),
    ],
    ids=["a batch PaddleJob", "without the label", "by suspend", "that a controller has admitted", "by its own word",
         "whose pods start again alone", "on a laptop", "a kind that Kueue integrates", "the same by its own word"],
)  # fmt: skip
def test_the_label_alone_leads_a_batch_paddlejob_into_the_queue_by_its_pods(
    job: Job, settings: Settings, queue: str
) -> None:
    assert find_pod_queue(job, settings) == queue


def test_a_batch_paddlejob_that_no_way_leads_into_its_queue_is_warned_of() -> None:
    manifest = read_manifest("resnet")
    manifest["metadata"] |= {"labels": {QUEUE_LABEL: "team"}, "annotations": {"paddock.dev/restart-scope": "Pod"}}
    job = read_any(manifest)
    said = [str(each.message) for each in job.warnings if QUEUE_LABEL in each.path]
    assert not misses_queue(job) and not said, "its ranks are told each other's addresses: all start again together"
    container = manifest["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["args"] = ["-m", "paddle.distributed.launch", "--master", "etcd://etcd:2379", "train_fleet.py"]
    job = read_any(manifest)
    (said,) = [str(each.message) for each in job.warnings if QUEUE_LABEL in each.path]
    assert misses_queue(job) and "the job runs outside of the queue" in said


def test_the_rest_of_a_gang_that_was_begun_without_marks_gets_none() -> None:
    """An operator before them made half of it: a group of the other half would never be complete."""
    half = build_pods(BATCH, phase=PodPhase.PENDING)[:1]
    observed, status = observe(BATCH, half, config_maps=()), build_status(BATCH, Phase.PENDING)
    made = [each.manifest for each in plan(BATCH, status, observed, NOW).actions if isinstance(each, Create)]
    assert len(made) == 2 and not any(map(marks_of, made))
    marked = replace(observed, pods=tuple(replace(pod, queued=True) for pod in half))
    made = [each.manifest for each in plan(BATCH, status, marked, NOW).actions if isinstance(each, Create)]
    assert len(made) == 2 and all(GROUP_LABEL in marks_of(each) for each in made)


HELD: list[tuple[Manifest, bool]] = [
    ({"spec": {"schedulingGates": [{"name": GATE}]}}, True),
    ({"metadata": {"labels": {MANAGED: "true"}}}, True),  # admitted before anybody looked
    ({"metadata": {"finalizers": [MANAGED]}}, True),
    ({"spec": {"schedulingGates": [{"name": "team/other"}]}}, False),
    ({"metadata": {}, "spec": {}}, False),
    ({"spec": {"schedulingGates": "x"}}, False),
    ({"spec": 3}, False),
]


@pytest.mark.parametrize(("pod", "held"), HELD)
def test_kueue_holds_a_pod_by_its_gate_or_had_done_so(pod: Manifest, held: bool) -> None:
    assert is_held(pod) is held


def refuse(job: Job, status: Status, message: str = NOT_HELD) -> Plan:
    refused = Refusal(("Pod demo-worker-0",), message)
    return plan(job, status, observe(job, (), config_maps=(), refused=refused), NOW)


def test_a_job_whose_pods_kueue_would_not_hold_waits_until_it_does_or_the_label_is_off() -> None:
    found = refuse(BATCH, build_status(BATCH, Phase.PENDING))
    assert reason(found) == "QueueNotInForce" and found.status.cause is not None
    again = read_recorded_refusal(found.status.cause)
    assert again is not None and again.message == NOT_HELD, "an operator that has just started knows it too"
    assert [each for each in found.actions if isinstance(each, Create)], "it is tried again"
    assert reason(refuse(BATCH, build_status(BATCH, Phase.PENDING), "no")) == "ObjectsRefused"
    without = replace(BATCH, labels={})
    assert reason(refuse(without, found.status)) == "WaitingForPods"


BY = "Preempted to accommodate a workload (UID: w-1, JobUID: j-1) due to {due}; preemptor path: /a; preemptee path: /b"
URGENT, CLAIMED = BY.format(due="prioritization in the ClusterQueue"), BY.format(due="reclamation within the cohort")


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (URGENT, Displaced(("w-1", "j-1"))),
        (CLAIMED, Displaced(("w-1", "j-1"), "reclamation within the cohort")),
        (URGENT.replace("j-1", "UNKNOWN"), Displaced(("w-1",))),
        ("Preempted to accommodate a workload (UID: w-1, JobUID: j-1)", Displaced(("w-1", "j-1"))),
        ("The ClusterQueue is stopped", Displaced()),
        ("", Displaced()),
    ],
)
def test_whom_a_gang_was_stopped_for_is_read_of_kueues_message(message: str, found: Displaced) -> None:
    assert read_displaced(message) == found


def stopped(why: str = "WorkloadEvictedDueToPreempted", **changes: Any) -> Callable[[Pod], Pod]:
    told = {"disrupted": why, "displaced": read_displaced(URGENT), "deleting": True, "queued": True}
    return lambda pod: replace(pod, **(told | changes))


def ended_by_kueue(pod: Pod) -> Pod:
    return failed(143, reason="WorkloadEvictedDueToPreempted", message=URGENT)(stopped(deleting=False)(pod))


EVICTIONS: list[tuple[str, tuple[Callable[[Pod], Pod | None], ...], str]] = [
    ("all are stopped", (stopped(),) * 3, "Preempted"),
    ("some of them are gone already", (gone, gone, stopped()), "Preempted"),
    ("one alone was seen", (lambda pod: pod, stopped(), lambda pod: pod), "Preempted"),
    ("their programs have ended by SIGTERM", (ended_by_kueue,) * 3, "Preempted"),
    ("a peer has failed after them", (failed(1, ago=1), stopped(), stopped()), "Preempted"),
    ("a node was lost as well", (failed(-1, reason="NodeLost"), stopped(), stopped()), "Preempted"),
    ("pods that were not ready in time", (stopped("WorkloadEvictedDueToPodsReadyTimeout"),) * 3, "PodsReadyTimeout"),
    ("somebody has deleted the Workload", (stopped("WorkloadDeleted"),) * 3, "WorkloadDeleted"),
]


@pytest.mark.parametrize(("changes", "why"), [row[1:] for row in EVICTIONS], ids=[row[0] for row in EVICTIONS])
@pytest.mark.parametrize("losses", [0, 100])
def test_what_kueue_stops_is_nobodys_fault_and_counts_as_nothing(
    changes: tuple[Callable[[Pod], Pod | None], ...], why: str, losses: int
) -> None:
    changed = (change(pod) for change, pod in zip(changes, build_pods(BATCH, queued=True), strict=True))
    there = tuple(pod for pod in changed if pod is not None)
    found = plan(BATCH, build_status(BATCH, losses=losses), observe(BATCH, there), NOW)
    status, cause = found.status, found.status.cause
    assert (status.phase, status.attempt, status.restarts, status.losses) == (Phase.RESTARTING, 1, 0, losses)
    assert cause is not None and (cause.reason, cause.args["why"]) == ("EvictedByQueue", why)
    assert cause.args.get("delay") == (None if why == "Preempted" else 60), "its next group begins anew for Kueue"
    assert not found.actions


def test_the_reason_that_kueue_stopped_a_gang_for_stays_until_the_next_one_is_admitted() -> None:
    there = tuple(map(stopped(), build_pods(BATCH, queued=True)))
    status = plan(BATCH, build_status(BATCH), observe(BATCH, there), NOW).status
    told = ("Preempted", ["w-1", "j-1"])
    clearing = plan(BATCH, status, observe(BATCH, there, config_maps=()), NOW)
    assert reason(clearing) == "EvictedByQueue"
    made = plan(BATCH, clearing.status, observe(BATCH, (), 1, config_maps=()), NOW)
    assert len([each for each in made.actions if isinstance(each, Create) and each.resource == PODS]) == 3
    assert made.status.cause is not None and made.status.cause.reason == "WaitingForQueue"
    assert (made.status.cause.args["evicted"], made.status.cause.args["by"]) == told
    gated = tuple(
        replace(pod, node="", address="")
        for pod in build_pods(BATCH, 1, PodPhase.PENDING, waiting=("SchedulingGated", ""), queued=True)
    )
    waits = plan(BATCH, made.status, observe(BATCH, gated, 1, config_maps=()), NOW + 60).status.cause
    assert waits == made.status.cause, "and nothing is written meanwhile"
    assert render(explain_queue(waits.args), "en") == (
        "Kueue gave its room to a more urgent job; waits for Kueue's queue team to admit it again, and holds no devices"
    )
    runs = plan(BATCH, made.status, observe(BATCH, build_pods(BATCH, 1, queued=True), 1), NOW + 99)
    assert (runs.status.phase, runs.status.cause, runs.status.losses) == (Phase.RUNNING, None, 0)


def test_a_pod_tells_that_kueue_ends_it_and_for_whom() -> None:
    manifest = build(BATCH)
    target = {
        "type": "TerminationTarget",
        "status": "True",
        "reason": "WorkloadEvictedDueToPreempted",
        "message": CLAIMED,
    }
    other = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "x"}
    manifest["status"] = {"phase": "Failed", "conditions": [other, target]}
    pod = pods.read_pod(manifest)
    assert pod is not None and pod.queued and pod.exit is not None
    assert (pod.disrupted, pod.exit.reason) == ("WorkloadEvictedDueToPreempted",) * 2
    assert pod.displaced == Displaced(("w-1", "j-1"), "reclamation within the cohort")
    manifest["status"]["conditions"] = [other, {**target, "status": "False"}]
    assert (pod := pods.read_pod(manifest)) is not None and pod.disrupted == "PreemptionByScheduler"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"queue": "team", "why": "Preempted"}, "Kueue gave its room to a more urgent job: all ranks start again once"),
        ({"queue": "team", "why": "Preempted", "due": "reclamation within the cohort"},
         "Kueue gave its room to another job (reclamation within the cohort): all ranks"),
        ({"queue": "team", "why": "PodsReadyTimeout"}, "Kueue stopped it (PodsReadyTimeout): all ranks start again"),
    ],
)  # fmt: skip
def test_an_eviction_says_what_kueue_did(args: dict[str, Any], said: str) -> None:
    assert render(explain_evicted(args), "en").startswith(said)


def test_a_suspended_job_with_a_queue_waits_for_it_and_one_without_is_suspended() -> None:
    queued, plain = build_job(suspend=True, labels={QUEUE_LABEL: "team"}), build_job(suspend=True)
    for job, cause in ((queued, "WaitingForQueue"), (plain, "Suspended")):
        first = plan(job, Status(), observe(job, ()), NOW)
        assert (first.status.phase, reason(first)) == (Phase.SUSPENDED, cause)
        assert reason(plan(job, first.status, observe(job, ()), NOW)) == cause


def test_pods_that_are_gated_wait_for_the_queue_and_others_for_what_they_say() -> None:
    job = build_torch_job(masters=0, workers=2, **QUEUED)
    gated = build_pods(job, phase=PodPhase.PENDING, waiting=("SchedulingGated", "gated"), queued=True)
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
    metadata = {"name": name, "namespace": "team", "ownerReferences": [{"uid": uid}]}
    return {"metadata": metadata, "status": {"conditions": listed}}


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
