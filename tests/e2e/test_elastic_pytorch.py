"""A PyTorchJob with an elasticPolicy, by real torchruns: ranks are lost and added, and go, while the others train."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, Running, until
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX, pytest.mark.paddle, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).parent / "programs" / "torchrun_group.py"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
HELD = "while [ -e $PADDOCK_OUTPUT_DIR/held ]; do sleep 0.1; done"
"""Before torchrun: a rank that starts again waits while the test looks at the group without it."""
ROUND = PROGRAM.with_name("torchrun_round.py")
LINE = re.compile(r"(\d+) samples, group of (\d), loss ([\d.]+)")


def build_job(workers: int) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "pytorch/pytorch:2.13.0-cuda12.6-cudnn9-runtime",
        "command": ["sh", "-c", f"{HELD}; exec torchrun --nproc-per-node 1 {PROGRAM.name}"],
    }
    worker = {"replicas": workers, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    # The timings of the rendezvous, which are 5 s, three times, and 30 s by themselves.
    timings = [{"key": "keep_alive_interval", "value": "1"}, {"key": "last_call_timeout", "value": "3"}]
    policy = {"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d", "rdzvConf": timings}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "group"},
        "spec": {
            "runPolicy": {"backoffLimit": 1},
            "elasticPolicy": policy,
            "pytorchReplicaSpecs": {"Worker": worker},
        },
    }


def status_of(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.read(f"{JOBS}/group")["status"]
    return found


def trains_with(running: Running, size: int) -> int:
    """The samples that were seen when a group of this size has begun, later than all others."""

    def look() -> bool:
        told = LINE.findall(running.out)
        return bool(told) and int(told[-1][1]) == size

    until(f"a group of {size}", look, 120, tell=lambda: running.out[-2000:])
    return int(LINE.findall(running.out)[-1][0])


@pytest.mark.sample  # elastic: a lost rank, and both ways of scaling
def test_ranks_come_and_go_within_one_attempt(cluster: Cluster, tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path)
    running = cluster.start("run", cluster.write(build_job(3)), "--workdir", str(tmp_path))
    trains_with(running, 3)
    pods = cluster.pods("group")

    # The processes of a pod are killed: its rank starts again alone, and counts.
    held = cluster.output("group") / "held"
    held.touch()
    cluster.kill_program(pods["worker-2"], "bin/torchrun")
    until("a restart", lambda: status_of(cluster).get("restarts") == 1)
    assert status_of(cluster)["cause"]["args"]["alone"] == ["worker-2"]
    told = cluster.paddock("explain", "group").out
    assert "worker-2 was killed by signal 9" in told and "form their group without it" in told
    trains_with(running, 2)
    held.unlink()
    trains_with(running, 3)
    again = cluster.pods("group")
    assert {rank: pod["metadata"]["uid"] for rank, pod in again.items() if rank != "worker-2"} == {
        rank: pod["metadata"]["uid"] for rank, pod in pods.items() if rank != "worker-2"
    }, "the pods of the others are the same"

    # kubectl scale: down, and up again.
    assert cluster.kubectl("scale", "pytorchjob/group", "--replicas=1").code == 0
    alone = trains_with(running, 1)
    assert set(cluster.pods("group")) == {"worker-0"}
    assert cluster.kubectl("scale", "pytorchjob/group", "--replicas=3").code == 0
    assert trains_with(running, 3) > alone
    until("conditions", lambda: status_of(cluster)["replicaStatuses"]["Worker"]["active"] == 3)
    found = status_of(cluster)
    assert (found.get("attempt", 0), found["restarts"]) == (0, 1), "one attempt, one failure"
    events = cluster.kubectl("get", "events", "-o", "jsonpath={.items[*].message}").out
    assert "the job was resized from 3 to 1 pod" in events and "from 1 to 3 pods" in events

    (cluster.output("group") / "enough").touch()
    ended = running.end(120)
    assert ended.code == 0, str(ended)
    told = [(int(samples), float(loss)) for samples, _, loss in LINE.findall(ended.out)]
    assert told[-1][1] < told[0][1] / 2, "the loss goes on falling"
    began = [int(sample) for sample in re.findall(r"begins at sample (\d+)", ended.out)]
    assert began == sorted(began) and len(began) >= 4, "each group goes on where the one before was"


def test_torchrun_starts_failed_processes_again_in_place_without_an_elastic_policy(
    cluster: Cluster, tmp_path: Path
) -> None:
    """With the static rendezvous, which Kubeflow's variables choose, both end after the timeout of gloo."""
    shutil.copy(ROUND, tmp_path)
    typed = ("--workers", "2", "--workdir", str(tmp_path), "--", "torchrun", "--max-restarts=1", ROUND.name)
    ended = cluster.start("run", *typed).end(150)
    assert ended.code == 0, str(ended)
    assert sorted(re.findall(r"round (\d) rank (\d) of 2 done 2.0", ended.out)) == [("1", "0"), ("1", "1")], str(ended)
