"""PaddleJob of kubeflow.org/v1: the roles Master (parameter servers) and Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.jobs.apis.kubeflow import KubeflowJob
from paddock.jobs.apis.kubeflow_replicas import ReplicaType
from paddock.jobs.apis.kubeflow_schema import build_elastic_policy
from paddock.jobs.launch import Launch
from paddock.jobs.model import Role
from paddock.kube.meta import Manifest
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.manifests.fields import Fields


def _own_fields() -> Manifest:
    return {"elasticPolicy": build_elastic_policy()}


def _read_launch(spec: Fields, roles: tuple[Role, ...]) -> Launch:
    """`elasticPolicy` of this kind concerns the whole gang: `apis.elastic` reads it."""
    return Launch()


KUBEFLOW_PADDLE = KubeflowJob(
    kind="PaddleJob",
    replica_specs="paddleReplicaSpecs",
    replica_types=(
        ReplicaType("Master", "master", is_master=True, trains=False, least=0),  # parameter servers
        ReplicaType("Worker", "worker", least=0),
    ),
    framework="paddle",
    needs=phrase("a mapping with Worker, and Master where there are parameter servers,"),
    own_fields=_own_fields,
    read_launch=_read_launch,
)
