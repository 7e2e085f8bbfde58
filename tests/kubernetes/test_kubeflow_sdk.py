"""kubeflow-training, the SDK of training-operator v1, unmodified, against a real API server.

The server has no node, so the statuses of pods are written by `support.fake_kubelet`; logs are read in
tests/e2e/test_kubeflow_sdk.py, where programs run.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from paddock.jobs.model import Settings
from support.fake_kubelet import walking
from support.kubeflow_sdk import build_program
from support.operator_seam import running
from support.worlds import ControlPlane, World, open_real

pytestmark = pytest.mark.kubernetes


@pytest.fixture
async def served(control_plane: ControlPlane) -> AsyncIterator[World]:
    """A namespace in which gangs of two ranks run and end well."""
    async with (
        open_real(control_plane) as world,
        running(world.api, Settings()),
        walking(world.api, world.namespace, lambda attempt, role, index: 0, 2),
    ):
        yield world


async def ask(world: World, directory: Path, program: str) -> Mapping[str, Any]:
    """What the program has put into `found`."""
    assert world.control_plane is not None
    path = directory / "program.py"
    path.write_text(build_program(program))
    environment = os.environ | {"KUBECONFIG": str(world.control_plane.kubeconfig), "SDK_NAMESPACE": world.namespace}
    ended = await asyncio.to_thread(
        subprocess.run, [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=180
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    answer: Mapping[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


async def test_a_function_is_trained_by_two_ranks_edited_and_deleted(served: World, tmp_path: Path) -> None:
    found = await ask(
        served,
        tmp_path,
        """
def train():
    print("trained")

training.create_job(name="sdk-function", train_func=train, base_image="python:3.11", num_workers=2)
job = wait("sdk-function")
found["conditions"] = conditions("sdk-function")
found["messages"] = [each.message for each in job.status.conditions]
found["pods"] = sorted(training.get_job_pod_names("sdk-function"))
found["master"] = training.get_job_pod_names("sdk-function", is_master=True)
names = ("created", "running", "restarting", "succeeded", "failed")
found["is"] = [name for name in names if getattr(training, f"is_job_{name}")("sdk-function")]
job = training.get_job("sdk-function")
job.metadata.labels = {"team": "a"}
training.update_job(job, "sdk-function")
found["labels"] = training.get_job("sdk-function").metadata.labels
training.delete_job("sdk-function")
found["left"] = len(training.list_jobs())
""",
    )
    # An operator that is held up may never see them run.
    assert [each for each in found["conditions"] if each != ["Running", "False"]] == [
        ["Created", "True"],
        ["Succeeded", "True"],
    ]
    assert [each for each in found["messages"] if not each.endswith("is running.")] == [
        "PyTorchJob sdk-function is created.",
        "PyTorchJob sdk-function is successfully completed.",
    ]
    assert found["pods"] == ["sdk-function-master-0", "sdk-function-worker-0"]
    assert (found["master"], found["is"]) == (["sdk-function-master-0"], ["created", "succeeded"])
    assert (found["labels"], found["left"]) == ({"team": "a"}, 0)


async def test_jobs_without_a_run_policy_are_listed(served: World, tmp_path: Path) -> None:
    """With training-operator's definition one of them makes list_jobs fail for its namespace (D27)."""
    found = await ask(
        served,
        tmp_path,
        """
for container, kind in {"pytorch": "PyTorchJob", "paddle": "PaddleJob"}.items():
    spec = client.ApiClient().sanitize_for_serialization(replica(2, "true", container))
    job = {
        "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": f"plain-{kind.lower()}"},
        "spec": {f"{container}ReplicaSpecs": {"Worker": {**spec, "restartPolicy": "OnFailure"}}},
    }
    objects.create_namespaced_custom_object("kubeflow.org", "v1", namespace, f"{kind.lower()}s", job)
    done = wait(f"plain-{kind.lower()}", kind=kind)
    found[kind] = [done.spec.run_policy.suspend, [each.metadata.name for each in training.list_jobs(job_kind=kind)]]
""",
    )
    assert found == {"PyTorchJob": [False, ["plain-pytorchjob"]], "PaddleJob": [False, ["plain-paddlejob"]]}


async def test_a_manager_that_nobody_knows_is_refused_and_another_ones_job_is_left_alone(
    served: World, tmp_path: Path
) -> None:
    found = await ask(
        served,
        tmp_path,
        """
def managed(name, manager):
    policy = models.KubeflowOrgV1RunPolicy(managed_by=manager)
    return pytorch(name, {"Master": replica(1, "true"), "Worker": replica(1, "true")}, policy)

try:
    training.create_job(managed("nobody", "other-job-controller"))
except RuntimeError as error:
    found["refused"] = str(error)
training.create_job(managed("elsewhere", "kueue.x-k8s.io/multikueue"))
training.create_job(managed("here", "kubeflow.org/training-operator"))
wait("here")
found["elsewhere"] = conditions("elsewhere")
""",
    )
    assert "Failed to create PyTorchJob" in found["refused"] and "managedBy" in found["refused"]
    assert found["elsewhere"] == []
