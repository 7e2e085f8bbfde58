"""Programs of the users of kubeflow-training, the SDK of training-operator v1: the part with which each begins.

A program is a process of its own: the SDK reads its configuration when it is imported, and the name of its package
`kubernetes` is that of a folder of tests. What it puts into `found` is its last line, as JSON.
"""

from __future__ import annotations

IMAGE = "python:3.11"
"""On a local cluster it stands for the programs of the machine."""

_BEGIN = f"""
import json, os, time
from kubernetes import client, config
from kubeflow.training import TrainingClient, models

config.load_kube_config()
objects = client.CustomObjectsApi()
namespace = os.environ.get("SDK_NAMESPACE", "default")
# Where a folder of a ServiceAccount is, as in a pod, the client takes that unless a file is named.
training = TrainingClient(config_file=config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION, namespace=namespace)
found = {{}}


def template(script, container="pytorch"):
    made = client.V1Container(name=container, image="{IMAGE}", command=["sh", "-c", script])
    return client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[made]))


def replica(number, script, container="pytorch", restart=None):
    return models.KubeflowOrgV1ReplicaSpec(
        replicas=number, restart_policy=restart, template=template(script, container)
    )


def pytorch(name, replicas, policy=None):
    return models.KubeflowOrgV1PyTorchJob(
        api_version="kubeflow.org/v1",
        kind="PyTorchJob",
        metadata=client.V1ObjectMeta(name=name),
        spec=models.KubeflowOrgV1PyTorchJobSpec(
            run_policy=policy or models.KubeflowOrgV1RunPolicy(), pytorch_replica_specs=replicas
        ),
    )


def wait(name, *conditions, kind="PyTorchJob"):
    return training.wait_for_job_conditions(
        name, expected_conditions=set(conditions or ["Succeeded"]), job_kind=kind, wait_timeout=90, polling_interval=0.2
    )


def conditions(name, kind="PyTorchJob"):
    return [[each.type, each.status] for each in training.get_job_conditions(name, job_kind=kind) or []]
"""


def build_program(body: str) -> str:
    """`body` has `training`, the TrainingClient; `objects`, the client of any object; and the functions above."""
    return f"{_BEGIN}\n{body}\nprint(json.dumps(found))\n"
