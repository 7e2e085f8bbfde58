"""Overdue pods: which there are, which are deleted by force, and when to reconcile again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.gangs import NOW, build_job, build_pods, build_status, cause, observe, with_pod
from paddock.jobs.actions import Delete
from paddock.jobs.causes import NodeNotReady, NodeUnknown, WaitingForNode
from paddock.jobs.model import NodeCondition, NodeState, Phase, Pod, Status
from paddock.jobs.plan import plan
from paddock.jobs.policies.lost import FORCE_AFTER, READ_NODE_AGAIN, overdue, plan_overdue

JOB = build_job(workers=2)
READY, NOT_READY, SILENT, GONE, UNKNOWN = map(
    NodeCondition,
    (NodeState.READY, NodeState.NOT_READY, NodeState.SILENT, NodeState.GONE, NodeState.UNKNOWN),
)


def silent(seconds: float) -> NodeCondition:
    """A node that has not reported for so many seconds."""
    return replace(SILENT, since=NOW - seconds)


def late(seconds: float, attempt: int = 0, **changes: object) -> tuple[Pod, ...]:
    """The gang, with a worker-0 that is being deleted and so many seconds overdue."""

    def change(pod: Pod) -> Pod:
        return replace(pod, **{"deleting": True, "gone_by": NOW - seconds, "node": "n1", **changes})

    return with_pod(build_pods(JOB, attempt), "worker-0", change)


@pytest.mark.parametrize(
    ("pods", "asked"),
    [
        (build_pods(JOB), []),
        (late(0), ["worker-0"]),
        (late(-1), []),  # its grace is not over
        (late(99, node=""), []),  # never placed: the API server deletes such a pod by itself
        (late(99, forced=True), []),  # a finalizer holds it: force does not help
        (late(99, gone_by=None), []),
    ],
)
def test_only_pods_past_their_time_are_overdue(pods: tuple[Pod, ...], asked: list[str]) -> None:
    assert [str(pod.rank) for pod in overdue(pods, NOW)] == asked


@pytest.mark.parametrize(
    ("seconds", "state", "forced", "said", "left"),
    [
        (FORCE_AFTER, SILENT, True, WaitingForNode, None),
        (FORCE_AFTER, silent(FORCE_AFTER), True, WaitingForNode, None),
        (9 * FORCE_AFTER, silent(FORCE_AFTER - 1), False, WaitingForNode, 1.0),  # lost long after the pod's time
        (9 * FORCE_AFTER, silent(0), False, WaitingForNode, FORCE_AFTER),
        (FORCE_AFTER - 2, silent(9 * FORCE_AFTER), False, WaitingForNode, 2.0),
        (FORCE_AFTER, GONE, True, WaitingForNode, None),
        (9 * FORCE_AFTER, NOT_READY, False, NodeNotReady, READ_NODE_AGAIN),  # its kubelet lives
        (9 * FORCE_AFTER, replace(NOT_READY, since=0.0), False, NodeNotReady, READ_NODE_AGAIN),
        (FORCE_AFTER, READY, False, None, READ_NODE_AGAIN),
        (FORCE_AFTER, UNKNOWN, False, NodeUnknown, READ_NODE_AGAIN),
        (FORCE_AFTER - 1, SILENT, False, WaitingForNode, 1.0),
        (0, SILENT, False, WaitingForNode, FORCE_AFTER),
        (-5, None, False, None, 5.0),
    ],
)
def test_a_pod_is_deleted_by_force_only_from_a_lost_node_and_after_its_grace_period(
    seconds: float, state: NodeCondition | None, forced: bool, said: type | None, left: float | None
) -> None:
    found = plan_overdue(JOB, observe(JOB, late(seconds), nodes={"n1": state} if state else {}), NOW)
    assert [(action.key.name, action.uid, action.grace) for action in found.actions] == (
        [("demo-worker-0", "worker-0-of-0", 0)] if forced else []
    )
    assert [note.reason for note in found.events] == (["PodForced"] if forced else [])
    assert (type(found.cause) if found.cause else None, found.left) == (said, left)


def restarting() -> Status:
    return build_status(
        JOB, Phase.RESTARTING, attempt=1, cause=cause("PodsDeleted", since=NOW - 60, ranks=["worker-0"])
    )


def test_the_new_gang_waits_with_a_sentence_and_comes_once_the_pod_was_forced_away() -> None:
    alone = tuple(pod for pod in late(5) if str(pod.rank) == "worker-0")
    waiting = plan(JOB, restarting(), observe(JOB, alone, nodes={"n1": SILENT}), NOW)
    assert waiting.status.cause is not None
    assert waiting.status.cause.reason == "WaitingForNode"
    assert (waiting.actions[1:], waiting.requeue_after) == ((), FORCE_AFTER - 5)  # the ConfigMap of before goes at once
    later = NOW + FORCE_AFTER
    forced = plan(JOB, waiting.status, observe(JOB, alone, nodes={"n1": SILENT}), later)
    assert [action.grace for action in forced.actions if isinstance(action, Delete)][-1] == 0
    free = plan(JOB, forced.status, observe(JOB, ()), later + 1)
    assert len([action for action in free.actions if not isinstance(action, Delete)]) == 2, "two pods, at once"


def test_the_delay_of_a_restart_is_not_cut_short_by_a_lost_node() -> None:
    status = replace(restarting(), cause=cause("PodsLost", since=NOW - 2, ranks=["worker-0"], why="Evicted", delay=10))
    alone = tuple(pod for pod in late(5) if str(pod.rank) == "worker-0")
    planned = plan(JOB, status, observe(JOB, alone, nodes={"n1": SILENT}), NOW)
    assert planned.status.cause == status.cause


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.COMPLETED, Phase.FAILED])
def test_a_job_that_needs_no_pods_any_more_frees_their_names_too(phase: Phase) -> None:
    job = replace(JOB, policies=replace(JOB.policies, suspend=phase is Phase.SUSPENDED))
    status = build_status(job, phase, cause=cause("Suspended"))
    planned = plan(job, status, observe(job, late(FORCE_AFTER), nodes={"n1": GONE}), NOW)
    assert ("demo-worker-0", 0) in [(each.key.name, each.grace) for each in planned.actions if isinstance(each, Delete)]


def test_a_clock_that_jumped_forces_nothing() -> None:
    seen = observe(JOB, late(FORCE_AFTER), nodes={"n1": SILENT})
    assert len(plan_overdue(JOB, seen, NOW).actions) == 1
    doubted = plan_overdue(JOB, replace(seen, clock_off=7100), NOW)
    assert (doubted.actions, doubted.left) == ((), READ_NODE_AGAIN)
