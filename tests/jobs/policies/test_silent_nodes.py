"""Pods that do not start because of their node: which nodes are read, when, and what is said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, cause, deleting, observe, succeeded, with_pod
from paddock.jobs.actions import Plan
from paddock.jobs.model import CauseRecord, NodeCondition, NodeState, Phase, Pod, PodPhase
from paddock.jobs.plan import plan
from paddock.jobs.policies.lost import LOOK_AFTER, MOST_NODES, doubtful_nodes, look_left
from paddock.jobs.sentences.explain import explain

JOB = build_job()
STARTING = cause("PodsStarting", starting=1, wanted=2, since=NOW - LOOK_AFTER)
ADDRESSES = cause("WaitingForAddresses", missing=1, wanted=2, since=NOW - LOOK_AFTER)
SILENT = cause("NodeSilent", ranks=["worker-1"], nodes=["n1"], state="silent", since=NOW - 1)
LOST = NodeCondition(NodeState.SILENT, NOW - 300)
TIME = "2023-11-14T22:08:20Z"


def pods(phase: PodPhase = PodPhase.PENDING, **changes: Any) -> tuple[Pod, ...]:
    """A running gang whose worker-1 is in this phase, on node n1."""
    return with_pod(build_pods(JOB), "worker-1", lambda pod: replace(pod, phase=phase, node="n1", **changes))


@pytest.mark.parametrize(
    ("found", "recorded", "nodes", "left"),
    [
        (pods(), STARTING, ("n1",), LOOK_AFTER),
        (pods(PodPhase.STARTING), STARTING, ("n1",), LOOK_AFTER),
        (pods(), ADDRESSES, ("n1",), LOOK_AFTER),
        (pods(), replace(STARTING, since=NOW - 20), (), LOOK_AFTER - 20),  # most pods start in a minute
        (pods(), SILENT, ("n1",), LOOK_AFTER),
        (build_pods(JOB, phase=PodPhase.PENDING), SILENT, (), LOOK_AFTER),  # of a silent job its own nodes alone
        (pods(PodPhase.RUNNING), STARTING, (), None),
        (pods(deleting=True), STARTING, (), None),  # `policies.lost` looks after these
        (with_pod(pods(), "worker-1", lambda pod: replace(pod, node="")), STARTING, (), None),  # the scheduler's
        (pods(), cause("ImageUnavailable", rank="worker-1", since=NOW - 999), (), None),  # the kubelet speaks
        (pods(), cause("Suspended", since=NOW - 999), (), None),
        (pods(), None, (), None),
    ],
)
def test_nodes_of_pods_that_have_not_started_for_a_minute_are_read(
    found: Iterable[Pod], recorded: CauseRecord | None, nodes: tuple[str, ...], left: float | None
) -> None:
    assert doubtful_nodes(found, recorded, NOW) == nodes
    assert look_left(tuple(found), recorded, NOW) == left


@pytest.mark.parametrize("nodes", [5, "n1", None, {}, [["n1"]]])
def test_names_that_are_no_list_of_nodes_are_none(nodes: Any) -> None:
    assert doubtful_nodes(pods(), cause("NodeSilent", nodes=nodes), NOW) == ()


def test_not_a_whole_fleet_is_read() -> None:
    job = build_job(workers=200)
    everywhere = [replace(pod, node=f"n{number}") for number, pod in enumerate(build_pods(job, phase=PodPhase.PENDING))]
    assert len(doubtful_nodes(everywhere, STARTING, NOW)) == MOST_NODES


def judge(found: tuple[Pod, ...], phase: Phase = Phase.STARTING, **nodes: NodeCondition) -> Plan:
    return plan(JOB, build_status(JOB, phase, cause=STARTING), observe(JOB, found, nodes=nodes), NOW)


ENDS = "; if that lasts, Kubernetes deletes the pod, and all ranks start again"


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (LOST, f"waiting for worker-1: node n1 has not reported since {TIME}{ENDS}"),
        (
            replace(LOST, state=NodeState.NOT_READY),
            f"waiting for worker-1: node n1 has not been ready since {TIME}{ENDS}",
        ),
        (NodeCondition(NodeState.SILENT), f"waiting for worker-1: node n1 has not reported{ENDS}"),
        (NodeCondition(NodeState.GONE), f"waiting for worker-1: node n1 is gone{ENDS}"),
        (NodeCondition(NodeState.READY), "1 of 2 pods is starting"),
        (NodeCondition(NodeState.UNKNOWN), "1 of 2 pods is starting"),  # this operator may not read nodes
    ],
)
def test_a_pod_on_a_node_that_is_not_ready_is_not_said_to_be_starting(node: NodeCondition, said: str) -> None:
    for phase in (PodPhase.PENDING, PodPhase.STARTING):
        planned = judge(pods(phase), n1=node)
        assert planned.status.cause is not None
        assert explain(planned.status.cause) == said
        assert planned.requeue_after == LOOK_AFTER
        again = plan(JOB, planned.status, observe(JOB, pods(phase), nodes={"n1": node}), NOW + 30)
        assert again.status == planned.status, "nothing new writes nothing"


def test_a_running_pod_tells_itself_that_its_node_is_lost() -> None:
    found = pods(PodPhase.RUNNING, unheard=NOW - 300)
    planned = judge(found, Phase.RUNNING)
    assert planned.status.phase is Phase.RUNNING
    assert planned.status.cause is not None
    assert explain(planned.status.cause) == f"waiting for worker-1: node n1 has not been ready since {TIME}{ENDS}"
    assert planned.actions == ()
    assert judge(pods(PodPhase.RUNNING), Phase.RUNNING).status.cause is None, "it is back"


def test_ended_and_deleted_pods_wait_for_no_node() -> None:
    for change in (succeeded(), deleting):
        found = with_pod(pods(PodPhase.RUNNING, unheard=NOW - 300), "worker-1", change)
        planned = judge(found, Phase.RUNNING)
        assert planned.status.cause is None or planned.status.cause.reason != "NodeSilent"


def test_ranks_of_one_state_are_told_together() -> None:
    both = build_pods(JOB, phase=PodPhase.PENDING)
    found = tuple(replace(pod, node=f"n{pod.rank.index}") for pod in both)
    planned = judge(found, n0=replace(LOST, since=NOW - 10), n1=LOST)
    assert planned.status.cause is not None
    assert explain(planned.status.cause).startswith(
        f"waiting for worker-0 and worker-1: nodes n0 and n1 have not reported since {TIME}"
    )
