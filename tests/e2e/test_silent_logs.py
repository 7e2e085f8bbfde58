"""`paddock.dev/silent` by an operator that runs as on a cluster: a process of its own that reads logs through the API.
The pods are real, and their node keeps no times of lines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job
from support.deployed import operator

pytestmark = [pytest.mark.slow]

PROGRAM = Path(__file__).parent / "programs" / "without_operator.py"
JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs"


@pytest.fixture
def served(sandbox: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, sandbox)
    words = [sys.executable, str(PROGRAM), "--sandbox", sandbox]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(words, env=cluster.environment, stdout=log, stderr=log) as process,
    ):
        try:
            until("that the cluster serves", lambda: (cluster.home / "cluster.json").exists())
            with operator(cluster.home / "api" / "kubeconfig", ["--namespace=default"]):
                yield cluster
        finally:
            cluster.close()
            process.terminate()


def build_job(name: str, script: str, silent: str) -> dict[str, Any]:
    job = build_light_job(name, script, workers=2)
    job["metadata"]["annotations"] = {"paddock.dev/silent": silent}
    return job


def test_real_pods_that_print_nothing_are_told_restarted_and_ended(served: Cluster) -> None:
    served.create(JOBS, build_job("alive", "while :; do echo step; sleep 1; done", "8s=Fail"))
    served.create(JOBS, build_job("silent", "echo begin; exec sleep 600", "8s=Tell"))
    until("that it is told", lambda: "no rank has printed for over 8s" in served.paddock("get").out)
    explained = served.paddock("explain", "silent").out
    assert "no stacks were taken" in explained and "`paddock stacks silent -n default`" in explained
    typed = served.paddock("stacks", "silent", "-n", "default")
    assert "worker-0" in typed.out + typed.err, str(typed)
    assert all(pod["status"]["phase"] == "Running" for pod in served.pods("silent").values()), "nothing was ended"
    change(served, "8s=Restart")
    until("the next attempt", lambda: served.job("silent")["status"].get("restarts") == 1)
    change(served, "8s=Fail")
    until("its end", lambda: served.phase("silent") == "Failed")
    ended = served.paddock("wait", "silent")
    assert ended.code == 1 and "no rank has printed for over 8s" in ended.out + ended.err, str(ended)
    assert served.phase("alive") == "Running", "any rank that prints answers for all"
    assert served.job("alive")["status"]["restarts"] == 0
    served.paddock("delete", "alive", "silent")


def change(cluster: Cluster, value: str) -> None:
    cluster.patch(f"{JOBS}/silent", {"metadata": {"annotations": {"paddock.dev/silent": value}}})
