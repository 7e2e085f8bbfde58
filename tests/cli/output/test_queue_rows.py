"""The queue of jobs as lines of a table and as JSON, and what the nodes have in one line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.output.queue_rows import build_document, build_table
from paddock.cli.verbs.queue import explain_empty, explain_order
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord, Phase, Status
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import format_time
from paddock.node.scheduler.queue import Capacity, Queue, Standing
from paddock.views.queue_rows import explain_capacity, read_queue_rows, settle

NOW = 1_700_000_000.0
GIB = Fraction(2**30)


def job(
    name: str, phase: Phase = Phase.PENDING, *, at: float = NOW - 60, cause: CauseRecord | None = None
) -> tuple[Resource, Manifest]:
    """A job of two workers that ask for one CPU each. Its conditions are of the time of its cause."""
    made = build_manifest()
    made["metadata"] |= {"name": name, "uid": f"uid-{name}", "creationTimestamp": format_time(at)}
    container = made["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    made["spec"]["runPolicy"] = {"suspend": phase is Phase.SUSPENDED}
    wrote = (cause.since if cause else None) or NOW
    return RESOURCE, {**made, "status": KINDS[RESOURCE].write_status({}, Status(phase=phase, cause=cause), wrote)}


def pod(name: str, cpu: str, attempt: str = "0") -> Manifest:
    container = {"name": "paddle", "resources": {"requests": {"cpu": cpu, "memory": "2Gi"}}}
    owner = {"apiVersion": RESOURCE.api_version, "kind": RESOURCE.kind, "uid": f"uid-{name}", "controller": True}
    labels = {"paddock.dev/attempt": attempt}
    return {
        "metadata": {"name": name, "ownerReferences": [owner], "labels": labels},
        "spec": {"containers": [container]},
    }


WAITS = Queue(
    {"uid-first": Standing(1, 0, NOW - 50), "uid-second": Standing(2, 0, NOW - 55)}, frozenset({"uid-on", "uid-half"})
)
CAUSE = CauseRecord("Suspended", since=NOW - 7)


def test_a_job_with_pods_on_nodes_and_pods_that_wait_has_a_position() -> None:
    queue = Queue({"uid-half": Standing(1, 0, None)}, frozenset({"uid-half"}))
    _, cells = build_table(read_queue_rows([job("half")], [], queue), NOW)
    assert cells[0][0] == "1"


def test_what_cannot_start_here_has_no_position_and_who_is_behind_it_moves_up() -> None:
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4, 0 of 0 free)."
    never = CauseRecord("WaitingForScheduler", {"pods": 1, "wanted": 1, "message": message}, NOW)
    jobs = [job("first", cause=never), job("second"), job("held", Phase.SUSPENDED), job("on", Phase.RUNNING)]
    _, cells = build_table(rows := read_queue_rows(jobs, [], WAITS), NOW)
    assert [line[:2] for line in cells] == [["-", "on"], ["1", "second"], ["-", "first"], ["-", "held"]]
    assert [row.never for row in rows] == [False, False, True, False]
    assert settle(rows, WAITS) == rows, "once more, as on a cluster where nodes and pods tell it later"


def test_a_job_that_runs_and_has_a_pod_that_waits_waits_since_the_pod_was_made() -> None:
    queue = Queue({"uid-on": Standing(1, 0, NOW - 5)}, frozenset({"uid-on"}))
    assert build_table(read_queue_rows([job("on", Phase.RUNNING)], [], queue), NOW)[1][0][5] == "5s"


def test_a_priority_has_a_column_where_there_is_one() -> None:
    queue = Queue({"uid-first": Standing(1, 100, NOW)})
    header, cells = build_table(read_queue_rows([job("first"), job("held", Phase.SUSPENDED)], [], queue), NOW)
    assert header[:3] == ["POSITION", "PRIORITY", "NAME"]
    assert [line[:3] for line in cells] == [["1", "100", "first"], ["-", "-", "held"]]


@pytest.mark.parametrize(
    ("pods", "needs"),
    [
        ([], "2 CPUs"),
        ([pod("first", "3"), pod("first", "500m")], "3.5 CPUs, 4.0 GiB"),
        ([pod("first", "3")], "2 CPUs"),
        ([pod("first", "3"), pod("other", "3")], "2 CPUs"),
        ([pod("first", "3", "1"), pod("first", "3", "1")], "2 CPUs"),
    ],
    ids=["no pods yet", "all pods", "a pod is missing", "a pod of another job", "pods of another attempt"],
)
def test_needs_are_those_of_the_pods_once_all_are_there(pods: list[Manifest], needs: str) -> None:
    _, cells = build_table(read_queue_rows([job("first")], pods, WAITS), NOW)
    assert cells[0][4] == needs


def capacity(nodes: int = 1, away: int = 0, **amounts: tuple[Any, Any]) -> Capacity:
    read = {name.replace("__", "/").replace("_", "."): amount for name, amount in amounts.items()}
    return Capacity(nodes, away, {name: (Fraction(free), Fraction(has)) for name, (free, has) in read.items()})


LAPTOP = {"cpu": (1, 2), "memory": (20 * GIB, 24 * GIB), "pods": (1, 110), "ephemeral-storage": (9, 9)}


@pytest.mark.parametrize(
    ("has", "all_pods", "said"),
    [
        (capacity(**LAPTOP), True, "2 CPUs: 1 free; 24 GiB: 20 GiB free; no GPU"),
        (capacity(cpu=("0.5", 1)), True, "1 CPU: 0.5 free; no GPU"),
        (capacity(cpu=(1, 2), nvidia_com__gpu=(0, 8)), True, "2 CPUs: 1 free; 8 GPUs: 0 free"),
        (capacity(nvidia_com__gpu=(1, 1), example_com__npu=(2, 4)), True, "4 example.com/npu: 2 free; 1 GPU: 1 free"),
        (capacity(nvidia_com__gpu=(0, 0)), True, "no GPU"),
        (capacity(3, 1, cpu=(1, 2)), True,
         "3 nodes: 2 CPUs: 1 free; no GPU (and 1 node that is not ready or cordoned)"),
        (replace(capacity(2, cpu=(1, 2)), tainted=1), True,
         "2 nodes: 2 CPUs: 1 free; no GPU (1 node takes only pods that tolerate its taints)"),
        (capacity(0, 2), True, "0 nodes: no GPU (and 2 nodes that are not ready or cordoned)"),
        (capacity(2, cpu=(2, 2)), False, "2 nodes: 2 CPUs; no GPU; what is free of it is not known: you lack the "
         "right `list pods` in all namespaces, which an administrator of the cluster grants"),
        (None, True, "what the nodes have is not known: you lack the right `list nodes`, which an administrator of "
         "the cluster grants"),
    ],
)  # fmt: skip
def test_what_the_nodes_have_and_what_is_free(has: Capacity | None, all_pods: bool, said: str) -> None:
    assert str(explain_capacity(has, all_pods=all_pods)) == said


def test_json_has_numbers_in_kubernetes_words() -> None:
    rows = read_queue_rows([job("on", Phase.RUNNING), job("first", cause=CAUSE)], [], WAITS)
    document = build_document(rows, capacity(cpu=("0.5", 2)), NOW)
    assert (document["nodes"], document["resources"]) == (1, {"cpu": {"has": "2", "free": "500m"}})
    runs, waits = document["jobs"]
    assert (runs["position"], runs["priority"], runs["waits"], runs["cause"]) == (None, None, None, None)
    assert (waits["position"], waits["priority"], waits["waits"], waits["needs"]) == (1, 0, 60, {"cpu": "2"})
    assert waits["cause"]["reason"] == "Suspended" and waits["cause"]["sentence"].startswith("suspended")
    unread = build_document([], None, NOW)
    assert unread == {"nodes": None, "resources": None, "jobs": []}
    assert build_document([], capacity(cpu=(1, 2)), NOW, all_pods=False)["resources"]["cpu"]["free"] is None


def test_every_kind_of_job_has_a_row() -> None:
    for kind in KINDS:
        made = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "x", "uid": "uid-x"},
            "spec": {},
        }
        assert [row.job.name for row in read_queue_rows([(kind, made)], [], WAITS)] == ["x"]


def test_an_empty_queue_says_where() -> None:
    assert str(explain_empty("default")) == "nothing waits or runs in namespace default"
    assert str(explain_empty("")) == "nothing waits or runs in any namespace"


def test_positions_are_qualified_where_they_are_no_more_than_a_guess() -> None:
    assert explain_order(is_local=True, all_pods=True, namespace="team") == []
    partial, guessed = map(str, explain_order(is_local=False, all_pods=False, namespace="team"))
    assert partial == "positions count namespace team alone: you may not list the pods of all namespaces"
    assert guessed == "positions are by priority, then by age: the cluster's own scheduler decides"
