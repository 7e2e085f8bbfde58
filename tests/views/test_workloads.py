"""What a reader is told of jobs in Kueue's queues, from Workloads that have any shape. Their messages are Kueue's own
(0.20, 2026-08)."""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.jobs.model import CauseRecord
from paddock.jobs.names import queue_group_name
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest
from paddock.node.scheduler.queue import Queue
from paddock.views.queue_rows import add_room, explain_kueues_order, read_queue_rows
from paddock.views.rooms import NO_ROOMS, Rooms
from paddock.views.stored import read_stored
from paddock.views.workloads import Admissions, list_queues, read_admissions, read_positions

QUOTA = (
    "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor small, 3 more needed, "
    "insufficient unused quota for cpu in flavor default, 2 more needed"
)
BY = (
    "Preempted to accommodate a workload (UID: u-big, JobUID: j-big) due to {due}; preemptor path: /; preemptee path: /"
)
URGENT = ("True", "Preempted", BY.format(due="prioritization in the ClusterQueue"))
CAUSE = CauseRecord("WaitingForQueue", {"queue": "team-a"})


def build_workload(
    name: str = "job-demo", uid: str = "0123456789", queue: str = "team-a", **conditions: tuple[str, str, str]
) -> Manifest:
    listed = [
        {"type": type_, "status": status, "reason": reason, "message": message}
        for type_, (status, reason, message) in conditions.items()
    ]
    template = {"spec": {"containers": [{"name": "x", "resources": {"requests": {"cpu": "1"}}}]}}
    owner = {"uid": uid, "kind": "PyTorchJob", "name": name.removeprefix("job-")}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}", "ownerReferences": [owner]},
        "spec": {"queueName": queue, "podSets": [{"name": "worker", "count": 3, "template": template}]},
        "status": {"conditions": listed},
    }


def waiting(reason: str, message: str) -> dict[str, tuple[str, str, str]]:
    return {"QuotaReserved": ("False", reason, message)}


HELD = ("True", "QuotaReserved", "Quota reserved in ClusterQueue all")
BIG = build_workload("job-big", "j-big", QuotaReserved=HELD)
BIG["metadata"]["uid"] = "u-big"
ENDED = build_workload("job-old", "j-old", QuotaReserved=HELD, Finished=("True", "Succeeded", ""))
ELSEWHERE = build_workload("job-else", "j-else", "team-b", QuotaReserved=HELD)

SAID: list[tuple[list[Manifest], dict[Any, int], str]] = [
    ([], {}, "waits for Kueue's queue team-a to admit it, and holds no devices"),
    ([build_workload()], {}, "waits for Kueue's queue team-a to admit it, and holds no devices"),
    (
        [build_workload(**waiting("Misconfigured", "LocalQueue team-a doesn't exist"))], {},
        "Kueue cannot admit it to queue team-a: LocalQueue team-a doesn't exist",
    ),
    (
        [build_workload(**waiting("Inadmissible", "LocalQueue team-a doesn't exist"))], {},
        "Kueue cannot admit it to queue team-a: LocalQueue team-a doesn't exist",
    ),
    (
        [build_workload(**waiting("Suspended", "ClusterQueue all is inactive"))], {},
        "waits for Kueue's queue team-a: ClusterQueue all is inactive",
    ),
    (
        [build_workload(**waiting("WaitingForQuota", QUOTA)), BIG, ENDED, ELSEWHERE], {},
        "waits for Kueue's queue team-a: it asks for 3 CPUs, and the quota lacks 2 CPUs in flavor default; big holds "
        "quota",
    ),
    (
        [build_workload(**waiting("Pending", QUOTA))], {("default", "job-demo"): 3},
        "number 3 in Kueue's queue team-a: it asks for 3 CPUs, and the quota lacks 2 CPUs in flavor default",
    ),
    ([build_workload()], {("default", "job-demo"): 1}, "number 1 in Kueue's queue team-a, and holds no devices"),
    (
        [build_workload(Evicted=URGENT, **waiting("WaitingForQuota", QUOTA)), BIG], {},
        "Kueue gave its room to big, which is more urgent; waits for Kueue's queue team-a: it asks for 3 CPUs, and the "
        "quota lacks 2 CPUs in flavor default; big holds quota",
    ),
    (
        [build_workload(Evicted=URGENT, **waiting("Pending", "The workload has been evicted"))], {},
        "Kueue gave its room to a more urgent job; waits for Kueue's queue team-a: The workload has been evicted",
    ),
    (
        [build_workload(Evicted=("True", "Preempted", BY.format(due="reclamation within the cohort"))), BIG], {},
        "Kueue gave its room to big (reclamation within the cohort); waits for Kueue's queue team-a: " + BY.format(
            due="reclamation within the cohort"),
    ),
    (
        [build_workload(Evicted=("True", "Deactivated", "The workload is deactivated"), **waiting("Pending", "x"))], {},
        "Kueue stopped it (Deactivated); Kueue cannot admit it to queue team-a: The workload is deactivated",
    ),
]  # fmt: skip


def tell(admissions: Admissions, cause: CauseRecord = CAUSE) -> str:
    told = Rooms(admissions=admissions).add(cause, RESOURCE, build_manifest())
    assert told is not None
    return explain(told, "en")


@pytest.mark.parametrize(("workloads", "positions", "said"), SAID)
def test_the_first_sentence_is_what_kueue_says(workloads: list[Manifest], positions: Any, said: str) -> None:
    assert tell(read_admissions(workloads, positions)) == said


def test_what_the_operator_knows_of_an_eviction_stays_where_no_workload_may_be_read() -> None:
    cause = CauseRecord("WaitingForQueue", {"queue": "team-a", "evicted": "Preempted", "by": ["u-big", "j-big"]})
    assert tell(NO_ROOMS.admissions, cause) == (
        "Kueue gave its room to a more urgent job; "
        "waits for Kueue's queue team-a to admit it again, and holds no devices"
    )
    named = tell(read_admissions([BIG, build_workload(**waiting("WaitingForQuota", QUOTA))]), cause)
    assert named.startswith("Kueue gave its room to big, which is more urgent; waits for")


def test_the_workload_of_a_group_of_pods_is_that_of_the_attempt() -> None:
    manifest = build_manifest()
    stored = read_stored(RESOURCE, manifest)
    assert stored.job is not None
    group = queue_group_name(stored.job, 0)
    own = build_workload(group, "a pod", **waiting("Misconfigured", "no"))
    own["metadata"]["ownerReferences"][0]["kind"] = "Pod"
    older = build_workload(queue_group_name(stored.job, 7), "a pod", **waiting("Misconfigured", "old"))
    assert tell(read_admissions([older, own])) == "Kueue cannot admit it to queue team-a: no"


def test_it_is_said_that_places_in_a_queue_are_not_known_where_kueue_says_why_a_job_waits_and_not_where() -> None:
    job = {**build_manifest(), "status": {"phase": "Pending", "cause": {"reason": CAUSE.reason, "args": CAUSE.args}}}
    rows = read_queue_rows([(RESOURCE, job)], (), Queue())
    own = build_workload(**waiting("WaitingForQuota", QUOTA))
    for positions, is_told in (({}, True), ({("default", "job-demo"): 1}, False)):
        told = [add_room(row, Rooms(admissions=read_admissions([own], positions))) for row in rows]
        assert (explain_kueues_order(told) is not None) is is_told
    assert explain_kueues_order(rows) is None
    never = read_admissions([build_workload(**waiting("Misconfigured", "no"))])
    assert explain_kueues_order([add_room(row, Rooms(admissions=never)) for row in rows]) is None


SHAPES: list[Any] = [
    {}, {"metadata": 3}, {"metadata": {"ownerReferences": "x"}, "status": {"conditions": [1, {"type": []}]}},
    {"metadata": {"name": "job-demo", "namespace": "default", "ownerReferences": [{"uid": "0123456789"}, 3]},
     "spec": {"podSets": [{"template": 3}]}, "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
     "message": "insufficient unused quota for cpu in flavor x, many more needed"}]}},
    {"metadata": {"ownerReferences": [{"uid": "0123456789"}]}, "spec": 3, "status": {"conditions": {}}},
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_workload_of_any_shape_is_read(shape: Any) -> None:
    assert "Kueue's queue team-a" in tell(read_admissions([shape, build_workload()]))


def test_positions_begin_at_one_and_an_answer_of_any_shape_is_read() -> None:
    pending = [
        {"metadata": {"name": "a"}, "positionInLocalQueue": 0},
        {"metadata": {"name": "b"}, "positionInLocalQueue": True},
        {"metadata": {"name": "c"}},
        {"metadata": 3, "positionInLocalQueue": "x"},
        7,
    ]
    assert read_positions("team", pending) == {("team", "a"): 1}


def test_each_queue_is_asked_for_once() -> None:
    jobs = [build_manifest() for _ in range(3)]
    jobs[2]["metadata"]["namespace"] = "other"
    causes = [CAUSE, CAUSE, CAUSE]
    assert list_queues(zip(causes, jobs, strict=True)) == [("default", "team-a"), ("other", "team-a")]
    assert list_queues([(CauseRecord("Suspended"), jobs[0]), (None, jobs[1])]) == []
