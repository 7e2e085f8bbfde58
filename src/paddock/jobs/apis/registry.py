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

_SPOKEN = {"ptj": KUBEFLOW_PYTORCH.resource}
"""As people write kinds, beside the short names that the API serves."""


def _find_words(resource: Resource) -> tuple[str, ...]:
    spoken = (word for word, kind in _SPOKEN.items() if kind.kind == resource.kind)
    return (*KINDS[resource].short_names, *spoken, resource.kind.lower(), resource.plural)


KINDS_BY_WORD: Mapping[str, tuple[Resource, ...]] = {
    **{word: tuple(each for each in KINDS if each.kind == kind.kind) for kind in KINDS for word in _find_words(kind)},
    **{f"{word}.{kind.group}": (kind,) for kind in KINDS for word in (kind.kind.lower(), kind.plural)},
}
"""What people call a kind, in small letters: in all API groups, or with the group in that one. Short names of one group
are valid for the others."""
