"""Pods, metrics.k8s.io and samples -> what each rank that runs uses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.kube.meta import Manifest
from paddock.kube.usage import Usage, build_pod_metrics
from paddock.node.usage.samples import Sample
from paddock.views.used import SHOWN, Order, RankUse, add_sample, read_running, sort_rows

PADDLE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
MIB = 2**20
UNLIMITED: dict[str, Any] = {}


def pod(index: int, *, phase: str = "Running", limits: dict[str, Any] | None = None, side: bool = False) -> Manifest:
    labels = {JOB_LABEL: "mnist", ROLE_LABEL: "worker", INDEX_LABEL: str(index), ATTEMPT_LABEL: "1"}
    owner = {"apiVersion": PADDLE.api_version, "kind": "PaddleJob", "name": "mnist", "uid": "j", "controller": True}
    containers: list[dict[str, Any]] = [{"name": "paddle", "resources": {"limits": limits or {}}}]
    name = f"mnist-worker-{index}"
    meta = {"namespace": "team", "name": name, "uid": f"uid-{index}", "labels": labels, "ownerReferences": [owner]}
    states = [{"name": "paddle", "ready": True, "state": {"running": {}}}] if phase == "Running" else []
    return {
        "metadata": meta,
        "spec": {"nodeName": "n", "containers": [*containers, *([{"name": "side"}] if side else [])]},
        "status": {"phase": phase, "containerStatuses": states},
    }


def measured(of: Manifest, cpu: float, memory: float, *, at: float = 1000.0) -> Manifest:
    return build_pod_metrics(of, {"paddle": Usage(at, 5.0, cpu, memory), "side": Usage(at, 5.0, 0.5, MIB)})


def test_each_rank_that_runs_has_a_row_with_what_all_its_containers_use() -> None:
    running = pod(0, limits={"cpu": "2", "memory": "64Mi", "nvidia.com/gpu": "2"})
    pods = [running, pod(1, phase="Pending"), pod(2, phase="Succeeded"), {"metadata": {"name": "of no job"}}]
    seen = [Sample(1.0, 0.1, 1.0, 97.0, 3.0)]
    (row,) = read_running(pods, [measured(each, 1.0, 32 * MIB) for each in pods[:3]], {"uid-0": seen})
    assert (row.namespace, row.job, str(row.rank), row.attempt, row.node) == ("team", "mnist", "worker-0", 1, "n")
    assert (row.cpu, row.memory, row.at) == (1.5, 33 * MIB, 1000.0)
    assert (row.cpu_limit, row.memory_limit, row.gpus) == (2.0, 64 * MIB, 2)
    assert (row.gpu, row.gpu_memory) == (97.0, 3.0)


@pytest.mark.parametrize(
    "metrics",
    [
        [],
        [{}],
        [{"metadata": {"name": "mnist-worker-0", "namespace": "other"}, "timestamp": "2026-11-20T09:00:00Z",
          "containers": [{"name": "paddle", "usage": {"cpu": "1", "memory": "1"}}]}],
        [{"metadata": {"name": "mnist-worker-0", "namespace": "team"}, "timestamp": "2026-11-20T09:00:00Z",
          "containers": [{"name": "paddle", "usage": {"cpu": "much", "memory": "1"}}]}],
        [{"metadata": {"name": "mnist-worker-0", "namespace": "team"}, "timestamp": "2026-11-20T09:00:00Z",
          "containers": 3}],
    ],
)  # fmt: skip
def test_what_is_not_measured_or_cannot_be_read_is_told_as_unknown(metrics: list[Manifest]) -> None:
    (row,) = read_running([pod(0)], metrics, {})
    assert row.at is None and math.isnan(row.cpu) and math.isnan(row.memory) and math.isnan(row.gpu)


@pytest.mark.parametrize(
    ("limits", "side"), [(UNLIMITED, False), ({"memory": "64Mi"}, True), ({"memory": "64 megabytes"}, False)]
)
def test_a_pod_is_limited_where_each_of_its_containers_is(limits: dict[str, Any], side: bool) -> None:
    (row,) = read_running([pod(0, limits=limits, side=side)], [], {})
    assert math.isnan(row.memory_limit)


def use(index: int, cpu: float, memory: float = 1.0) -> RankUse:
    (row,) = read_running([pod(index)], [measured(pod(index), cpu, memory)] if cpu == cpu else [], {})
    return row


@pytest.mark.parametrize(
    ("by", "order"),
    [("name", [2, 3, 10, 11]), ("cpu", [10, 3, 2, 11]), ("memory", [2, 3, 10, 11]), ("gpu", [2, 3, 10, 11])],
)  # fmt: skip
def test_rows_are_by_name_or_the_highest_first(by: Order, order: list[int]) -> None:
    rows = [use(10, 0.9, 1.0), use(11, math.nan), use(2, 0.1, 9.0), use(3, 0.5, 5.0)]
    assert [row.rank.index for row in sort_rows(rows, by)] == order


def test_what_was_seen_before_is_no_new_sample_and_the_oldest_are_dropped() -> None:
    row = use(0, 0.5)
    once = add_sample((), row)
    assert [(each.at, each.cpu) for each in once] == [(1000.0, 1.0)]
    assert add_sample(once, row) is once
    many = tuple(Sample(float(at), 0.0, 0.0) for at in range(SHOWN))
    assert len(add_sample(many, row)) == SHOWN and add_sample(many, row)[-1].at == 1000.0
    assert add_sample((), use(0, math.nan)) == ()
