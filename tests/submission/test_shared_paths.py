"""Which volumes ranks cannot each have at one path of a machine without a sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.gangs import build_torch_job
from paddock.jobs.model import Job
from paddock.submission.shared_paths import explain_difference, find_paths

MAP = {"configMap": {"name": "scripts"}}
NAME = {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}
NAMESPACE = {"items": [{"path": "in", "fieldRef": {"fieldPath": "metadata.namespace"}}]}
TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}


def build(*volumes: dict[str, Any], workers: int = 1, at: str = "/scripts", **mount: Any) -> Job:
    """A Master and workers; with two volumes the workers have the second."""
    job = build_torch_job(workers=workers)
    chosen = (volumes[0], volumes[-1])
    templates = [
        {"spec": {
            "volumes": [{"name": "v", **volume}],
            "containers": [{"name": "pytorch", "volumeMounts": [{"name": "v", "mountPath": at, **mount}]}],
        }}
        for volume in chosen
    ]  # fmt: skip
    roles = (replace(role, template=template) for role, template in zip(job.roles, templates, strict=False))
    return replace(job, roles=tuple(roles))


@pytest.mark.parametrize(
    ("job", "differs"),
    [
        (build(MAP), False),
        (build({"secret": {"secretName": "key"}}, workers=7), False),
        (build({"hostPath": {"path": "/srv"}}), False),
        (build({"persistentVolumeClaim": {"claimName": "data"}}), False),
        (build({"downwardAPI": NAMESPACE}), False),
        (build({"projected": {"sources": [MAP, {"downwardAPI": NAMESPACE}]}}), False),
        (build({"emptyDir": {}}, workers=0), False),  # one rank
        (build({"emptyDir": {}}), True),
        (build({}), True),
        (build(TOKEN), True),
        (build({"downwardAPI": NAME}), True),
        (build({"projected": {"sources": [MAP, {"downwardAPI": NAME}]}}), True),
        (build(MAP, {"configMap": {"name": "others"}}), True),
    ],
)  # fmt: skip
def test_what_differs_by_rank_cannot_be_at_one_path(job: Job, differs: bool) -> None:
    (found,) = find_paths(job)
    assert (found.path, found.differs) == ("/scripts", differs)
    assert "at /scripts (volume v)" in str(explain_difference(found))


def test_the_memory_that_a_machine_shares_is_no_such_path() -> None:
    assert find_paths(build({"emptyDir": {"medium": "Memory"}}, at="/dev/shm")) == []
