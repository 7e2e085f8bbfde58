"""Which kinds of job there are. Adding one is a module in this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.apis import JobApi, kubeflow, paddlepaddle
from paddock.kube.meta import Resource

KINDS: Mapping[Resource, JobApi] = {api.resource: api for api in (paddlepaddle, kubeflow)}
