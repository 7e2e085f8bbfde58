"""How a person is told of the GPUs of a pod, in every table that has them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from node.cluster_objects import node, pod
from paddock.cli.output.rows import build_pod_table
from paddock.kube.gpu_shares import GPU, GPUS_ANNOTATION, SHARE_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.node.scheduler.queue import read_queue
from paddock.views.gpus import tell_gpus, weigh_pod
from paddock.views.pods import read_pod_row
from paddock.views.queue_rows import explain_capacity, read_needs
from paddock.words.amounts import say_amount
from paddock.words.room import explain_room


def on(indices: str, shares: str = "", count: str = "1", *, place: str = "laptop", name: str = "x") -> Manifest:
    made = pod(name, limits={GPU: count}, node=place, phase="Running")
    made["metadata"]["annotations"] = {GPUS_ANNOTATION: indices} | ({SHARE_ANNOTATION: shares} if shares else {})
    return made


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (on("0", "4"), "1/4 of GPU 0"),
        (on("3"), "GPU 3"),
        (on("0,2", count="2"), "GPUs 0 and 2"),
        (on("0,2", "4", count="2"), "GPUs 0 and 2"),
        (on("0", "x"), "GPU 0"),
        (on("0", "4", place=""), "None"),
        (on("zero", "4"), "None"),
        (pod("x", node="laptop"), "None"),
    ],
)
def test_a_pod_is_told_its_gpus(manifest: Manifest, said: str) -> None:
    assert str(tell_gpus(manifest)) == said


def test_the_table_of_pods_has_a_column_where_one_has_a_gpu() -> None:
    rows = [read_pod_row(on("0", "4")), read_pod_row(pod("y"))]
    header, cells = build_pod_table(rows, 0.0)
    assert header[-2:] == ["GPU", "WHY"] and [line[-2] for line in cells] == ["1/4 of GPU 0", "-"]
    assert "GPU" not in build_pod_table(rows[1:], 0.0)[0]
    assert "GPU" in build_pod_table(rows[1:], 0.0, gpus=True)[0]


def test_what_a_job_needs_is_counted_in_shares_where_gpus_are_shared() -> None:
    pods = [on("0", "4"), on("0", "4"), on("1")]
    assert read_needs(pods, shared=True)[GPU] == Fraction(3, 2)
    assert read_needs(pods)[GPU] == 3


def test_the_annotation_of_a_template_counts_before_that_of_its_job() -> None:
    template: dict[str, Any] = {"spec": pod("x", limits={GPU: "1"})["spec"]}
    assert weigh_pod(template, {SHARE_ANNOTATION: "4"})[GPU] == Fraction(1, 4)
    own = {**template, "metadata": {"annotations": {SHARE_ANNOTATION: "2"}}}
    assert weigh_pod(own, {SHARE_ANNOTATION: "4"})[GPU] == Fraction(1, 2)
    assert weigh_pod(template)[GPU] == 1


def test_the_queue_says_what_is_free_of_a_shared_gpu() -> None:
    machine = node(gpus=2)
    machine["metadata"]["annotations"] = {GPUS_ANNOTATION: "0,1"}
    pods = [on("1", "4", name="a"), on("1", "4", name="b")]
    capacity = read_queue(pods, [machine], kinds=()).capacity
    assert str(explain_capacity(capacity)).endswith("; 2 GPUs: 1 free; GPU 1: 2 of 4 shares free")


@pytest.mark.parametrize(
    ("amount", "said"),
    [(Fraction(1, 4), "1/4 GPU"), (Fraction(1), "1 GPU"), (Fraction(3, 2), "1.5 GPUs"), (Fraction(0), "0 GPUs")],
)
def test_an_amount_of_gpus(amount: Fraction, said: str) -> None:
    assert str(say_amount(GPU, amount)) == said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1/4, 0 of 1 free). Held by a.",
         "needs 1/4 GPU; none is free; a holds room"),
        ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 3/2, 1/4 of 1 free).",
         "asks for 1.5 GPUs; this cluster has 1, so it cannot start here"),
    ],
)  # fmt: skip
def test_a_pod_that_waits_for_a_share_is_told_so(message: str, said: str) -> None:
    found = explain_room(message)
    assert found is not None and str(found) == said
