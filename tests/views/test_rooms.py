"""When nodes and pods say more of a waiting job than its scheduler does, and what a reader without rights is told."""

from __future__ import annotations

from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from console.test_nodes import build_node, build_pod
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import PODS, Manifest
from paddock.node.scheduler.pod_request import read_request
from paddock.views.pods import read_pod_row
from paddock.views.rooms import Rooms, explain_own_words, read_rooms, read_waiting, speaks_of_room
from paddock.views.short_sentences import explain_briefly

KUBE = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found."
)
SAID = "needs 5 CPUs; 3 are free; big holds 5"
WAITS = build_pod("waits-0", "", "waits", "Pending", cpu="5")
WAITS["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": KUBE}]
NODES_SEEN = [build_node("one")]
PODS_SEEN = [WAITS, build_pod("big-0", "one", "big", cpu="5")]


def look(pods: list[Manifest] | None = PODS_SEEN, nodes: list[Manifest] | None = NODES_SEEN) -> Rooms:
    return read_rooms(nodes, None if pods is None else [read_waiting(PODS, pod) for pod in pods], ())


def build_job(**spec: Any) -> Manifest:
    job = build_manifest()
    job["metadata"] |= {"name": "waits", "uid": "waits"}
    job["spec"] |= spec
    return job


def waits(message: str, reason: str = "WaitingForScheduler") -> CauseRecord:
    return CauseRecord(reason, {"pods": 1, "wanted": 2, "name": "waits", "message": message})


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (waits(KUBE), True),
        (waits(""), True),
        (waits("", "WaitingForPodGroup"), True),
        (waits("minCount (3) cannot be satisfied: 0 scheduled, 2 remaining"), True),
        (waits("pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable"), True),
        (waits("resource gap: map[cpu:{{3000 -3} {<nil>} DecimalSI}]. no new claims to deallocate"), True),
        (waits("0/1 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}."), True),
        (waits("0/1 nodes are available: 1 Insufficient memory."), False),
        (waits("0/1 nodes are available: 1 node(s) had volume node affinity conflict."), False),
        (waits('persistentvolumeclaim "data" not found'), False),
        (waits("resource in cluster is overused", "WaitingForPodGroup"), False),
        (waits(KUBE, "Suspended"), False),
    ],
)  # fmt: skip
def test_numbers_are_added_where_the_scheduler_speaks_of_room(cause: CauseRecord, says: bool) -> None:
    found = look().add(cause, RESOURCE, build_job())
    assert found is not None and (SAID in explain(found)) is says
    assert (explain_own_words(found) is not None) is (says and bool(cause.args["message"]))


def test_a_message_that_cannot_tell_is_not_looked_into() -> None:
    assert not speaks_of_room(None) and not speaks_of_room(waits("something else"))
    assert speaks_of_room(waits(KUBE))


@pytest.mark.parametrize(
    ("nodes", "pods", "right"),
    [
        (None, PODS_SEEN, "`list nodes`"),
        (None, None, "`list nodes`"),
        (NODES_SEEN, None, "`list pods` in all namespaces"),
    ],
)
def test_who_lacks_a_right_is_told_which_and_reads_the_schedulers_words(
    nodes: list[Manifest] | None, pods: list[Manifest] | None, right: str
) -> None:
    rooms, cause = look(pods, nodes), waits(KUBE)
    assert rooms.add(cause, RESOURCE, build_job()) == cause
    assert str(rooms.unseen) == (
        f"what is free is not known: you lack the right {right}, which an administrator of the cluster grants"
    )


def test_without_the_pods_of_others_a_pod_that_no_node_can_hold_is_still_told() -> None:
    large = build_pod("waits-0", "", "waits", "Pending", cpu="9")
    found = read_rooms(NODES_SEEN, None, [read_request(large)]).add(waits(KUBE), RESOURCE, build_job())
    assert found is not None and "asks for 9 CPUs; this cluster has 8, so it cannot start" in explain(found)


@pytest.mark.parametrize(
    ("spec", "never"),
    [({}, True), ({"elastic": 1}, False), ({"schedulingPolicy": {"minAvailable": 1}}, False)],
)
def test_a_job_that_can_begin_smaller_is_never_told_that_it_cannot_start(spec: Manifest, never: bool) -> None:
    pods = [build_pod(f"waits-{index}", "", "waits", "Pending", cpu="5") for index in range(2)]
    found = look(pods).add(waits(KUBE), RESOURCE, build_job(**spec))
    assert found is not None and ("this cluster has 8, so it cannot start" in explain(found)) is never


def test_a_table_keeps_the_numbers_and_leaves_out_that_it_waits() -> None:
    found = look().add(waits(KUBE), RESOURCE, build_job())
    assert found is not None
    assert explain_briefly(found, most=60) == SAID
    assert explain_briefly(found, most=36) == "needs 5 CPUs; 3 are free…"


def test_a_pod_says_what_it_needs_in_place_of_the_schedulers_words() -> None:
    assert str(read_pod_row(WAITS, look()).said) == SAID
    assert str(read_pod_row(WAITS).said) == "no node has enough CPUs free"
    assert read_pod_row(PODS_SEEN[1], look()).said is None
    other = {**WAITS, "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "volume"}]}}
    row = read_pod_row(other, look())
    assert (row.message, row.said) == ("volume", None)
