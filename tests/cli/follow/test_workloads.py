"""What `paddock explain` says of Kueue: with the reader's rights, in the version that the cluster has."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.samples import read_manifest
from paddock.cli.follow.workloads import fetch_said
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.kube.errors import ApiError, Forbidden, InternalError, NotFound
from paddock.kube.kueue import WORKLOADS
from paddock.kube.meta import Manifest, Resource
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import render

NEWER, OLDER = WORKLOADS
UNSERVED = NotFound("the server could not find the requested resource")


class Cluster:
    """Answers a list of each version with a list or an error."""

    def __init__(self, answers: Mapping[Resource, list[Manifest] | ApiError]) -> None:
        self._answers = answers
        self.asked: list[tuple[Resource, str]] = []

    async def list(self, resource: Resource, namespace: str) -> Any:
        self.asked.append((resource, namespace))
        answer = self._answers[resource]
        if isinstance(answer, ApiError):
            raise answer
        return SimpleNamespace(items=answer)


def stored(reason: str = "WaitingForQueue") -> StoredJob:
    manifest = read_manifest("pytorch_mnist")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    manifest["status"] = {"conditions": [], "cause": {"reason": reason, "args": {"queue": "team"}}}
    return read_stored(KUBEFLOW_PYTORCH.resource, manifest)


WAITS = {"type": "QuotaReserved", "status": "False", "reason": "Misconfigured", "message": "no"}
OWN: Manifest = {
    "metadata": {"name": "w", "ownerReferences": [{"uid": "0123456789-uid"}]},
    "status": {"conditions": [WAITS]},
}

SAID: list[tuple[dict[Resource, Any], str, int]] = [
    ({NEWER: [OWN]}, "Kueue says in its Workload w: Misconfigured: no", 1),
    ({NEWER: UNSERVED, OLDER: [OWN]}, "Kueue says in its Workload w: Misconfigured: no", 2),
    ({NEWER: []}, "Kueue has made no Workload for it yet", 1),
    ({NEWER: UNSERVED, OLDER: UNSERVED}, "this cluster has no Kueue that could admit it", 2),
    ({NEWER: Forbidden("workloads is forbidden")}, "you may not read its Workloads", 1),
    ({NEWER: InternalError("etcd is away")}, "what Kueue says of it is not known: etcd is away", 1),
]


@pytest.mark.parametrize(("answers", "said", "asked"), SAID)
async def test_a_job_that_waits_for_its_queue_is_explained(answers: dict[Resource, Any], said: str, asked: int) -> None:
    cluster = Cluster(answers)
    (sentence,) = await fetch_said(cluster, stored())  # type: ignore[arg-type]
    assert said in render(sentence, "en")
    assert len(cluster.asked) == asked


async def test_nothing_is_asked_for_a_job_that_waits_for_something_else() -> None:
    cluster = Cluster({})
    assert await fetch_said(cluster, stored("Suspended")) == []  # type: ignore[arg-type]
    assert not cluster.asked
