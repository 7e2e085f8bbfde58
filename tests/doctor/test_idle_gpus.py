"""GPUs that are held and do nothing: told where it is known, and only then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paddock.app.examined_jobs import _ask_rests, read_rests
from paddock.doctor.asked import Asked, RankSeen
from paddock.doctor.case import Case
from paddock.doctor.idle_gpus import LONG, check_idle_gpus, measure_rest
from paddock.doctor.job_case import count_held
from paddock.history.logs import LogFile, LogLocation
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.jobs.model import Phase, Status
from paddock.kube.gpu_shares import GPU, SHARE_ANNOTATION
from paddock.kube.meta import Key
from paddock.kube.times import format_time
from paddock.node.usage.records import UsageRecord, usage_file
from paddock.node.usage.samples import Sample

ASKED = Asked(job="demo", stacks="paddock stacks demo")
REST = RankSeen(running=True, gpus=4.0, idle=3000.0)


def look(*ranks: RankSeen) -> list[str]:
    found = check_idle_gpus(Case(ASKED, {}, {f"worker-{number}": each for number, each in enumerate(ranks)}))
    return [f"{each.check} {each.where}: {each.what}; {each.command}" for each in found]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ((REST,), "worker-0: 4 GPUs are held, and none has done anything for 50m; paddock stacks demo"),
        ((REST, RankSeen(running=True, gpus=4.0, idle=1200.0)),
         "worker-0, worker-1: 8 GPUs are held, and none has done anything for 20m; paddock stacks demo"),
        ((REST, RankSeen(running=True, cores=0.0)), "worker-0: 4 GPUs are held, and none has done anything for 50m; "
         "paddock stacks demo"),
        ((RankSeen(running=True, gpus=1.0, idle=3000.0),), "worker-0: 1 GPU is held, and has done nothing for 50m; "
         "paddock stacks demo"),
    ],
)  # fmt: skip
def test_gpus_that_nobody_uses_are_told(ranks: tuple[RankSeen, ...], said: str) -> None:
    assert look(*ranks) == [f"gpus-do-nothing {said}"]


@pytest.mark.parametrize(
    "ranks",
    [
        (),
        (RankSeen(running=True, cores=0.0),),  # an idle processor says nothing
        (REST, RankSeen(running=True, gpus=4.0, idle=10.0)),  # one works
        (REST, RankSeen(running=True, gpus=4.0)),  # of one it is not known
        (RankSeen(running=False, gpus=4.0, idle=3000.0),),
        (RankSeen(running=True, gpus=4.0, idle=899.0),),
    ],
)
def test_what_is_not_known_is_told_of_nobody(ranks: tuple[RankSeen, ...]) -> None:
    assert look(*ranks) == []


@pytest.mark.parametrize(
    ("percents", "rest"),
    [
        ([], None),
        ([(100, 0.0), (990, 0.0)], 900.0),
        ([(100, 50.0), (400, 0.5), (990, 0.0)], 600.0),
        ([(100, 0.0), (400, math.nan), (700, 0.0), (990, 0.0)], 300.0),
        ([(990, 50.0)], 0.0),
        ([(990, math.nan)], None),
        ([(50, 0.0)], None),
    ],
)
def test_the_rest_of_a_gpu_begins_behind_its_last_work(percents: list[tuple[float, float]], rest: float | None) -> None:
    assert measure_rest(percents, 1000.0) == rest


def test_the_record_beside_the_log_of_the_attempt_is_read(tmp_path: Path) -> None:
    logs = []
    for attempt in (0, 1):
        path = tmp_path / f"{attempt}.log"
        record = UsageRecord(usage_file(path))
        for at in range(0, 3000, 10):
            record.add(Sample(float(at), 1.0, 1.0, 90.0 if at < 1000 * (attempt + 1) else 0.0, 1.0))
        logs.append(LogFile(path, "demo-worker-0", LogLocation("worker", 0, attempt), 3000.0, 1))
    assert read_rests(logs, 1, 3000.0) == {"worker-0": 1000.0}
    assert read_rests(logs, 2, 3000.0) == {}


def test_a_share_of_a_gpu_is_held_as_that_part() -> None:
    spec = {"containers": [{"resources": {"limits": {GPU: "1"}}}]}
    assert count_held({"spec": spec}) == 1.0
    assert count_held({"metadata": {"annotations": {SHARE_ANNOTATION: "4"}}, "spec": spec}) == 0.25
    assert count_held({"spec": {"containers": [{"resources": {"limits": {GPU: "x"}}}]}}) == 0.0


# On a cluster.

UP = Status(phase=Phase.RUNNING)


def build_pod(index: int, started: float = 1000.0) -> dict[str, Any]:
    labels = {JOB_LABEL: "demo", ROLE_LABEL: "worker", INDEX_LABEL: str(index), ATTEMPT_LABEL: "0"}
    state = {"running": {"startedAt": format_time(started)}}
    return {
        "metadata": {"name": f"demo-worker-{index}", "namespace": "team", "uid": f"u-{index}", "labels": labels},
        "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
        "status": {"phase": "Running", "startTime": format_time(started),
                   "containerStatuses": [{"name": "main", "ready": True, "state": state}]},
    }  # fmt: skip


async def test_of_a_cluster_the_pods_that_ran_throughout_are_asked_about() -> None:
    asked: list[Mapping[str, Key]] = []

    async def ask(pods: Mapping[str, Key]) -> Mapping[str, float]:
        asked.append(pods)
        return {"u-0": 0.0, "u-1": 40.0}

    pods = [build_pod(0), build_pod(1), build_pod(2), build_pod(3, started=4500.0)]
    assert await _ask_rests(ask, pods, UP, 5000.0) == {"worker-0": LONG, "worker-1": 0.0}
    assert [sorted(each) for each in asked] == [["u-0", "u-1", "u-2"]]
    assert asked[0]["u-1"] == Key("team", "demo-worker-1")
    assert await _ask_rests(ask, [build_pod(3, started=4500.0)], UP, 5000.0) == {}
    assert len(asked) == 1
