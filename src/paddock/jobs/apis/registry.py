"""All kinds of job. A new kind is a module of this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.apis import JobApi
from paddock.jobs.apis.kubeflow_jax import KUBEFLOW_JAX
from paddock.jobs.apis.kubeflow_paddle import KUBEFLOW_PADDLE
from paddock.jobs.apis.kubeflow_pytorch import KUBEFLOW_PYTORCH
from paddock.jobs.apis.paddlepaddle import PaddlePaddleJob
from paddock.kube.meta import Resource

PADDLEPADDLE = PaddlePaddleJob()

SCALED = (KUBEFLOW_PYTORCH.resource,)
"""Kinds whose jobs may have a HorizontalPodAutoscaler (`policies.autoscaler`)."""

KINDS: Mapping[Resource, JobApi] = {
    api.resource: api for api in (PADDLEPADDLE, KUBEFLOW_PADDLE, KUBEFLOW_PYTORCH, KUBEFLOW_JAX)
}
