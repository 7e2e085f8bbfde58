"""JAXJob of kubeflow.org/v1: workers alone, the first of which is the coordinator.

Its restartPolicy is Never by default, unlike the other kinds' (training-operator v1.9.4,
pkg/apis/kubeflow.org/v1/jax_defaults.go).
"""

from __future__ import annotations

from paddock.jobs.apis.kubeflow import KubeflowJob
from paddock.jobs.apis.kubeflow_replicas import ReplicaType
from paddock.jobs.launch import NO_LAUNCH
from paddock.jobs.model import RestartPolicy
from paddock.words.phrases import phrase

KUBEFLOW_JAX = KubeflowJob(
    kind="JAXJob",
    replica_specs="jaxReplicaSpecs",
    replica_types=(ReplicaType("Worker", "worker", restart=RestartPolicy.NEVER, least=0),),
    framework="jax",
    needs=phrase("a mapping with Worker"),
    own_fields=dict,
    read_launch=lambda spec, roles: NO_LAUNCH,
    first_worker_leads=True,
)
