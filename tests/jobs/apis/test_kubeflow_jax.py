"""JAXJob: a kind that is one value, one module of a framework and one golden, and has what the other kinds have."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import read_manifest, with_value
from paddock.jobs.apis.registry import KUBEFLOW_JAX
from paddock.jobs.model import RestartPolicy
from paddock.kube.meta import Manifest
from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.words.problems import InvalidJob

WORKER = ("spec", "jaxReplicaSpecs", "Worker")
AT = "spec.jaxReplicaSpecs"
LABELS = "training.kubeflow.org"


def base() -> Manifest:
    return read_manifest("jax_spmd")


def test_its_workers_are_read_and_all_decide() -> None:
    job = KUBEFLOW_JAX.read_job(base())
    (role,) = job.roles
    assert (role.name, role.replicas, role.restart, role.decides) == ("worker", 2, RestartPolicy.ON_FAILURE, True)
    assert (job.framework, job.mode, job.warnings) == ("jax", "Distributed", ())


def test_a_failed_rank_fails_the_job_by_default() -> None:
    """Unlike the other kinds of the group."""
    job = KUBEFLOW_JAX.read_job(with_value(base(), (*WORKER, "restartPolicy"), ...))
    assert job.roles[0].restart is RestartPolicy.NEVER


def test_the_first_worker_is_labelled_as_master() -> None:
    job = KUBEFLOW_JAX.read_job(base())
    labels = [KUBEFLOW_JAX.build_pod_labels(job, rank).labels for rank in job.ranks()]
    assert [each.get(f"{LABELS}/job-role") for each in labels] == ["master", None]
    assert {each[f"{LABELS}/operator-name"] for each in labels} == {"jaxjob-controller"}


REFUSED: list[tuple[tuple[str, ...], Any, str, str]] = [
    (("spec", "jaxReplicaSpecs"), {}, AT, "found an empty mapping, a mapping with Worker is allowed"),
    (("spec", "jaxReplicaSpecs", "Master"), {}, f"{AT}.Master", 'found "Master", Worker is allowed'),
    ((*WORKER, "replicas"), -1, f"{AT}.Worker.replicas", "found -1, a whole number from 0 to 10000 is allowed"),
]


@pytest.mark.parametrize(("path", "value", "at", "message"), REFUSED)
def test_what_is_wrong_is_refused_by_its_own_names(path: tuple[str, ...], value: Any, at: str, message: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        KUBEFLOW_JAX.read_job(with_value(base(), path, value))
    assert {problem.path: problem.message for problem in caught.value.problems} == {at: message}


def test_it_is_checked_before_it_is_sent_as_every_kind() -> None:
    manifest = {key: value for key, value in base().items() if key != "metadata"} | {"metadata": {"name": "demo"}}
    assert list(check(Document(manifest))) == []
    wrong = check(Document(with_value(manifest, ("spec", "elasticPolicy"), {})))
    assert [problem.path for problem in wrong] == ["spec.elasticPolicy"]
