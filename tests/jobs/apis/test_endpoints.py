"""Endpoints that Linux would refuse are refused before the first pod, with the number of ranks that fit."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.frameworks import paddle
from paddock.jobs.model import Job, Rank
from paddock.words.problems import InvalidJob

MOST = 128 * 1024


def build(workers: int, intranet: str = "PodIP", name: str = "demo") -> dict[str, Any]:
    container = {"name": "paddle", "image": "x", "command": ["python", "a.py"]}
    roles = {role: {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
             for role, replicas in (("ps", 1), ("worker", workers))}  # fmt: skip
    metadata = {"name": name, "namespace": "team", "uid": "u", "generation": 1}
    return {
        "apiVersion": PADDLEPADDLE.resource.api_version,
        "kind": "PaddleJob",
        "metadata": metadata,
        "spec": {"intranet": intranet, **roles},
    }


def longest(job: Job) -> int:
    """Bytes of the longest variable, with its name, `=` and the zero at its end, at the longest addresses."""
    addresses = dict.fromkeys(job.ranks(), "255.255.255.255")
    return max(len(f"{key}={value}\0") for key, value in paddle.build_endpoints(job, addresses, 65535).items())


@pytest.mark.parametrize(
    ("intranet", "name", "most"), [("PodIP", "demo", 5956), ("Service", "demo", 5745), ("Service", "a" * 200, 1872)]
)
def test_the_number_that_fits_is_told_and_does_fit(intranet: str, name: str, most: int) -> None:
    with pytest.raises(InvalidJob) as refused:
        PADDLEPADDLE.read_job(build(most + 1, intranet, name))
    (problem,) = refused.value.errors
    assert problem.path == "spec.worker.replicas"
    said = f"found {most + 1}, at most {most} fit: each rank is told the addresses of all in "
    assert problem.message.startswith(said)
    fits = PADDLEPADDLE.read_job(build(most, intranet, name))
    assert MOST - 100 < longest(fits) <= MOST


def test_ranks_that_meet_at_a_rendezvous_have_no_such_bound() -> None:
    container = {"name": "pytorch", "image": "x", "command": ["python", "a.py"]}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 10_000, "template": {"spec": {"containers": [container]}}}}}
    metadata = {"name": "demo", "namespace": "team", "uid": "u", "generation": 1}
    job = KUBEFLOW_PYTORCH.read_job(
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}
    )
    assert job.ranks()[-1] == Rank("worker", 9_999)


def test_a_job_that_has_begun_is_told_and_supervised_on() -> None:
    """Its addresses may be shorter than the longest: an operator that came later must not leave a job that trains."""
    begun = build(6000) | {"status": {"phase": "Running"}}
    job = PADDLEPADDLE.read_job(begun)
    assert [warning.path for warning in job.warnings if "each rank is told" in warning.message] == [
        "spec.worker.replicas"
    ]
    with pytest.raises(InvalidJob):
        PADDLEPADDLE.read_job(build(6000) | {"status": {"phase": "Invalid"}})
