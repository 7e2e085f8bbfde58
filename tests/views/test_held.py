"""Which ranks are told as held, and the command that leads into the first."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.paddlepaddle import PaddlePaddleJob
from paddock.jobs.model import Rank
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.times import format_time
from paddock.views.held import HeldRank, list_held, tell_held
from paddock.views.stored import read_stored

END = 1_700_000_000.0


def build_pod(index: int, attempt: int = 0, phase: str = "Failed", code: int = 3) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": code, "finishedAt": format_time(END + index)}}
    return {
        "metadata": {
            "name": f"demo-worker-{index}", "uid": str(index), "annotations": {HOLD_ANNOTATION: "60s"},
            "labels": {
                "paddock.dev/role": "worker", "paddock.dev/index": str(index), "paddock.dev/attempt": str(attempt),
            },
        },
        "spec": {"restartPolicy": "Never", "containers": [{"name": "paddle"}]},
        "status": {"phase": phase, "containerStatuses": [{"name": "paddle", "state": ended}]},
    }  # fmt: skip


def build_job(phase: str = "Failed", attempt: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "demo", "namespace": "default", "uid": "u"},
        "spec": {"worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "paddle", "image": "i"}]}}}},
        "status": {"phase": phase, "attempt": attempt},
    }


@pytest.mark.parametrize(
    ("job", "pods", "now", "ranks"),
    [
        (build_job(), [build_pod(1), build_pod(0)], END, [0, 1]),
        (build_job(), [build_pod(1), build_pod(0)], END + 60, [1]),
        (build_job(), [build_pod(0), build_pod(1, phase="Succeeded", code=0)], END, [0]),
        (build_job(attempt=1), [build_pod(0), build_pod(1, attempt=1)], END, [1]),
        (build_job("Completed"), [build_pod(0)], END, []),
        (build_job("Running"), [build_pod(0)], END, []),
    ],
)
def test_a_failed_job_holds_the_failed_ranks_of_its_attempt(
    job: dict[str, Any], pods: list[dict[str, Any]], now: float, ranks: list[int]
) -> None:
    found = list_held(read_stored(PaddlePaddleJob().resource, job), pods, now)
    assert found == [HeldRank(Rank("worker", each), END + each + 60, 3) for each in ranks]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "worker-0 is held until 14:03: `paddock shell demo -n x --rank worker-0`"),
        (2, "worker-0 and worker-1 are held until 14:03: `paddock shell demo -n x --rank worker-0`"),
        (9, "9 ranks are held until 14:03, worker-0 the first: `paddock shell demo -n x --rank worker-0`"),
    ],
)
def test_many_are_counted(count: int, said: str) -> None:
    held = [HeldRank(Rank("worker", each), END, 1) for each in range(count)]
    assert str(tell_held(held, "14:03", "demo", " -n x")) == said
    assert tell_held([], "14:03", "demo", "") is None
