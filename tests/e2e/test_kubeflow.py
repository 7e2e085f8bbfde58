"""The documents' kubeflow.org jobs with a real PaddlePaddle: the check of an installation, and all-reduce training."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.commands import Cluster
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX, pytest.mark.paddle]

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN_CHECK = EXAMPLES / "documents" / "kubeflow_run_check.yaml"
DISTRIBUTED = EXAMPLES / "documents" / "kubeflow_distributed.yaml"


def build_distributed(name: str, directory: Path) -> dict[str, Any]:
    """The documents' job, short, where `train.py` of the examples is in its working directory."""
    directory.mkdir()
    shutil.copy(EXAMPLES / "all_reduce" / "train.py", directory)
    manifest: dict[str, Any] = yaml.safe_load(DISTRIBUTED.read_text(encoding="utf-8"))
    annotations = {"paddock.dev/working-directory": str(directory)}
    manifest["metadata"] |= {"name": name, "annotations": annotations}
    worker = manifest["spec"]["paddleReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["containers"][0]["args"] = ["--epochs=3"]
    return manifest


@pytest.mark.usefixtures("kubectl")
def test_the_check_with_one_replica_ends_with_the_line_that_the_documents_wait_for(cluster: Cluster) -> None:
    ended = cluster.paddock("run", str(RUN_CHECK), seconds=200)
    assert ended.code == 0, str(ended)
    assert "PaddlePaddle is installed successfully!" in ended.out
    assert "waits for a second node for ever" in ended.err
    described = cluster.kubectl("describe", "paddlejobs.kubeflow.org", "-n", "kubeflow", "paddle-simple-cpu").out
    assert re.search("Message: +PaddleJob kubeflow/paddle-simple-cpu successfully completed.", described)
    assert re.search("Why: +completed: 1 rank succeeded", described)
    listed = cluster.kubectl("get", "paddlejobs.kubeflow.org", "-n", "kubeflow", "--no-headers").out
    assert re.match(r"paddle-simple-cpu +Succeeded ", listed)


@pytest.mark.sample  # Collective: the other group too, and two rendezvous; a few seconds of training
def test_two_distributed_jobs_train_side_by_side_each_at_its_own_rendezvous(cluster: Cluster, tmp_path: Path) -> None:
    names = ("left", "right")
    jobs = {name: build_distributed(name, tmp_path / name) for name in names}
    runs = [cluster.start("run", cluster.write(job)) for job in jobs.values()]
    for name, run in zip(names, runs, strict=True):
        ended = run.end(200)
        assert ended.code == 0, str(ended)
        for rank in 0, 1:
            assert re.search(rf"^worker-{rank} │ Worker {rank}: Epoch 3, Batch 100, Loss 0\.0\d+$", ended.out, re.M)
            learned = re.search(rf"^worker-{rank} │ Training completed. Learned y = (.+) x \+ (.+)$", ended.out, re.M)
            assert learned and abs(float(learned[1]) - 3) < 0.2 and abs(float(learned[2]) - 2) < 0.2
        assert [path.name for path in (tmp_path / name).iterdir()] == ["train.py"], "its logs are elsewhere"
