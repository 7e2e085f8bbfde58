"""All kinds of job. A new kind of kubeflow.org is a value here; a new group is a class in a module of this package, and
a value here."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.kubeflow import KubeflowJob, ReplicaType
from paddock.jobs.apis.paddlepaddle import PaddlePaddleJob
from paddock.jobs.text.phrases import phrase
from paddock.kube.meta import Resource

PADDLEPADDLE = PaddlePaddleJob()

KUBEFLOW_PADDLE = KubeflowJob(
    kind="PaddleJob",
    replica_specs="paddleReplicaSpecs",
    replica_types=(
        ReplicaType("Master", "master", is_master=True, trains=False),  # parameter servers
        ReplicaType("Worker", "worker"),
    ),
    framework="paddle",
    needs=phrase("a mapping with Worker, and Master where there are parameter servers,"),
)

KINDS: Mapping[Resource, JobApi] = {api.resource: api for api in (PADDLEPADDLE, KUBEFLOW_PADDLE)}
