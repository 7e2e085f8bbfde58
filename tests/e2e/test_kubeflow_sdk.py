"""kubeflow-training, the SDK of training-operator v1, as its users have it, against the local cluster.

The cases are those of the SDK's own end-to-end tests (sdk/python/test/e2e of kubeflow/trainer, branch release-1.9) and
what facts its models depend on. No rank needs PyTorch: an image stands for an environment that has Python alone. Each
program is one process, as the SDK reads the configuration when it is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from e2e.commands import Cluster
from support.kubeflow_sdk import build_program


def ask(cluster: Cluster, program: str) -> Mapping[str, Any]:
    """What the program has put into `found`."""
    ended = cluster.python(build_program(program))
    assert ended.code == 0, str(ended)
    answer: Mapping[str, Any] = json.loads(ended.lines[-1])
    return answer


@pytest.mark.slow
def test_a_function_is_trained_and_its_logs_are_read(shared: Cluster) -> None:
    found = ask(
        shared,
        """
environment = {
    "apiVersion": "paddock.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "kubeflow-sdk"},
    "spec": {"images": ["example.com/kubeflow-sdk:*"], "python": ">=3.11,<3.15"},
}
objects.create_cluster_custom_object("paddock.dev", "v1alpha1", "environments", environment)

def train(parameters):
    import os
    text = '''quotes " and $HOME stay'''
    print("trained with", parameters["lr"], "of", os.environ["WORLD_SIZE"], text)

training.create_job(
    name="sdk-function", train_func=train, parameters={"lr": 0.5}, base_image="example.com/kubeflow-sdk:1",
    env_vars={"HOME": "here"},
)
job = wait("sdk-function")
found["conditions"] = conditions("sdk-function")
found["replicas"] = {name: spec.replicas for name, spec in job.spec.pytorch_replica_specs.items()}
found["logs"] = training.get_job_logs("sdk-function")[0]
found["verbose"] = training.get_job_logs("sdk-function", verbose=True)[1]
names = ("created", "running", "restarting", "succeeded", "failed")
found["is"] = [name for name in names if getattr(training, f"is_job_{name}")("sdk-function")]
training.delete_job("sdk-function")
try:
    training.get_job("sdk-function")
except RuntimeError as error:
    found["deleted"] = str(error)
""",
    )
    # The SDK's here-document expands variables, in Paddock as everywhere.
    assert found["logs"] == {"sdk-function-master-0": 'trained with 0.5 of 1 quotes " and here stay\n'}
    # A job that ends at once may never have been seen to run.
    assert [each for each in found["conditions"] if each != ["Running", "False"]] == [
        ["Created", "True"],
        ["Succeeded", "True"],
    ]
    assert (found["replicas"], found["is"]) == ({"Master": 1}, ["created", "succeeded"])
    assert found["verbose"], "the events of the job"
    assert "sdk-function" in found["deleted"]


def test_a_job_of_a_master_and_workers_is_followed_edited_and_stopped(shared: Cluster) -> None:
    found = ask(
        shared,
        """
script = "for i in 1 2 3; do echo $RANK of $WORLD_SIZE: $i; sleep 2; done"
last = f"{script}; sleep 1"  # a worker that ends after the Master keeps its pod, and its log
training.create_job(pytorch("sdk-gang", {"Master": replica(1, script), "Worker": replica(2, last)}))
wait("sdk-gang", "Running")
found["running"] = training.is_job_running("sdk-gang")
found["pods"] = sorted(training.get_job_pod_names("sdk-gang"))
found["master"] = training.get_job_pod_names("sdk-gang", is_master=True)
found["workers"] = sorted(training.get_job_pod_names("sdk-gang", replica_type="worker"))
found["one"] = training.get_job_pod_names("sdk-gang", replica_type="worker", replica_index=1)
found["followed"] = training.get_job_logs("sdk-gang", is_master=False, follow=True)[0]
wait("sdk-gang")
found["logs"] = training.get_job_logs("sdk-gang", is_master=False)[0]
job = training.get_job("sdk-gang")
job.metadata.labels = {"team": "a"}
training.update_job(job, "sdk-gang")
found["labels"] = training.get_job("sdk-gang").metadata.labels
training.delete_job("sdk-gang")
""",
    )
    pods = ["sdk-gang-master-0", "sdk-gang-worker-0", "sdk-gang-worker-1"]
    assert found["running"] and found["pods"] == pods
    assert (found["master"], found["workers"], found["one"]) == (pods[:1], pods[1:], pods[2:])
    lines = {pod: [f"{rank} of 3: {number}" for number in (1, 2, 3)] for rank, pod in enumerate(pods)}
    assert {pod: log.splitlines() for pod, log in found["logs"].items()} == lines
    assert found["followed"] == {pod: "".join(each) for pod, each in lines.items()}, "the SDK joins lines"
    assert found["labels"] == {"team": "a"}


@pytest.mark.slow
def test_jobs_without_a_run_policy_are_listed_and_a_paddle_job_of_workers_is_read(shared: Cluster) -> None:
    """The users' own manifests have none; with training-operator one of them makes list_jobs fail (D27)."""
    found = ask(
        shared,
        """
def name(kind):
    return f"sdk-plain-{kind.lower()}"

def plain(kind, field, container):
    spec = client.ApiClient().sanitize_for_serialization(replica(2, "echo $HOSTNAME done", container))
    return {
        "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name(kind)},
        "spec": {field: {"Worker": {**spec, "restartPolicy": "OnFailure"}}},
    }

kinds = {"PyTorchJob": ("pytorchReplicaSpecs", "pytorch"), "PaddleJob": ("paddleReplicaSpecs", "paddle")}
for kind, words in kinds.items():
    objects.create_namespaced_custom_object("kubeflow.org", "v1", "default", f"{kind.lower()}s", plain(kind, *words))
for kind in kinds:
    job = wait(name(kind), kind=kind)
    found[kind] = {
        "suspend": job.spec.run_policy.suspend,
        "listed": [each.metadata.name for each in training.list_jobs(job_kind=kind)],
        "logs": sorted(training.get_job_logs(name(kind), job_kind=kind, is_master=False)[0]),
        "succeeded": training.is_job_succeeded(name(kind), job_kind=kind),
    }
    training.delete_job(name(kind), job_kind=kind)
""",
    )
    for kind in ("PyTorchJob", "PaddleJob"):
        assert (found[kind]["suspend"], found[kind]["succeeded"]) == (False, True)
        name = f"sdk-plain-{kind.lower()}"
        assert name in found[kind]["listed"]
        assert found[kind]["logs"] == [f"{name}-worker-0", f"{name}-worker-1"]


@pytest.mark.slow
def test_failures_restarts_and_suspension_are_told_by_the_conditions(shared: Cluster) -> None:
    found = ask(
        shared,
        """
training.create_job(pytorch("sdk-never", {"Master": replica(1, "exit 3", restart="Never")}))
try:
    wait("sdk-never")
except RuntimeError as error:
    found["failed"] = str(error)
found["message"] = training.get_job_conditions("sdk-never")[-1].message
found["is_failed"] = training.is_job_failed("sdk-never")
found["conditions"] = conditions("sdk-never")

training.create_job(pytorch("sdk-again", {"Master": replica(1, "exit 3", restart="OnFailure")}))
wait("sdk-again", "Restarting")
found["restarting"] = [training.is_job_restarting("sdk-again"), training.is_job_running("sdk-again")]

policy = models.KubeflowOrgV1RunPolicy(suspend=True)
training.create_job(pytorch("sdk-suspended", {"Master": replica(1, "sleep 2")}, policy))
wait("sdk-suspended", "Created")
found["suspended"] = conditions("sdk-suspended")
job = training.get_job("sdk-suspended")
job.spec.run_policy.suspend = False
for _ in range(20):
    try:
        training.update_job(job, "sdk-suspended")
        break
    except RuntimeError:
        job = training.get_job("sdk-suspended")
        job.spec.run_policy.suspend = False
wait("sdk-suspended")
found["resumed"] = conditions("sdk-suspended")
for name in ("sdk-never", "sdk-again", "sdk-suspended"):
    training.delete_job(name)
""",
    )
    assert "sdk-never is Failed" in found["failed"] and found["is_failed"]
    assert found["message"] == "PyTorchJob sdk-never is failed because 1 Master replica(s) failed."
    assert found["conditions"][-1] == ["Failed", "True"] and ["Running", "True"] not in found["conditions"]
    assert found["restarting"] == [True, False]
    assert found["suspended"] in ([["Created", "True"], ["Suspended", "True"]], [["Created", "True"]])
    # One that ends at once may never have been seen to run.
    assert {"Running": "False", **dict(found["resumed"])} == {
        "Created": "True",
        "Suspended": "False",
        "Running": "False",
        "Succeeded": "True",
    }


@pytest.mark.slow
def test_a_job_of_another_manager_is_left_alone_and_one_of_nobody_is_refused(shared: Cluster) -> None:
    found = ask(
        shared,
        """
def managed(name, manager):
    policy = models.KubeflowOrgV1RunPolicy(managed_by=manager)
    return pytorch(name, {"Master": replica(1, "true")}, policy)

try:
    training.create_job(managed("sdk-nobody", "other-job-controller"))
except RuntimeError as error:
    found["refused"] = str(error)
training.create_job(managed("sdk-elsewhere", "kueue.x-k8s.io/multikueue"))
training.create_job(managed("sdk-here", "kubeflow.org/training-operator"))
wait("sdk-here")
found["elsewhere"] = conditions("sdk-elsewhere")
for name in ("sdk-elsewhere", "sdk-here"):
    training.delete_job(name)
""",
    )
    assert "Failed to create PyTorchJob: default/sdk-nobody" in found["refused"]
    assert found["elsewhere"] == []


@pytest.mark.slow
def test_a_job_without_room_is_created_and_never_runs(shared: Cluster) -> None:
    found = ask(
        shared,
        """
big = replica(1, "true")
big.template.spec.containers[0].resources = client.V1ResourceRequirements(requests={"cpu": "10000"})
training.create_job(pytorch("sdk-large", {"Master": replica(1, "true"), "Worker": big}))
wait("sdk-large", "Created")
time.sleep(1)
found["conditions"] = conditions("sdk-large")
training.delete_job("sdk-large")
""",
    )
    assert found["conditions"] == [["Created", "True"]]
