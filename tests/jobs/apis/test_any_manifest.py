"""Whatever is written into a manifest of any kind, it is a job whose objects can be built, or an invalid one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.anything import FULL, JSON, build_everything, places
from jobs.samples import JOBS, find_kind, read_manifest
from paddock.kube.meta import Manifest
from paddock.words.problems import InvalidJob

RUN = {"backoffLimit": 1, "schedulingPolicy": {"minResources": {"cpu": 1}}}
ELASTIC = {"minReplicas": 1, "maxReplicas": 3, "rdzvConf": [{"key": "a", "value": "b"}], "metrics": [{}]}


def _paddle() -> Manifest:
    manifest = read_manifest("kubeflow_distributed")
    specs = manifest["spec"]["paddleReplicaSpecs"]
    specs["Worker"]["template"] = copy.deepcopy(FULL)
    specs["Master"] = copy.deepcopy(specs["Worker"])
    manifest["spec"] |= {"runPolicy": RUN, "elasticPolicy": {"minReplicas": 1}}
    return manifest


def _pytorch() -> Manifest:
    manifest = read_manifest("pytorch_mnist")
    manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = FULL
    manifest["spec"] |= {"nprocPerNode": "2", "runPolicy": RUN, "elasticPolicy": ELASTIC}
    return manifest


def _jax() -> Manifest:
    manifest = read_manifest("jax_spmd")
    manifest["spec"]["jaxReplicaSpecs"]["Worker"]["template"] = FULL
    return manifest


def _paddlepaddle(name: str) -> Manifest:
    manifest = read_manifest(name)
    manifest["spec"]["worker"]["template"] = FULL
    manifest["spec"] |= {"runPolicy": {"backoffLimit": 1}, "schedulingPolicy": {"minResources": {"cpu": 1}}}
    return manifest


BASES: dict[str, Callable[[], list[Manifest]]] = {
    "PaddleJob of kubeflow.org": lambda: [_paddle()],
    "PyTorchJob": lambda: [_pytorch()],
    "JAXJob": lambda: [_jax()],
    "PaddleJob": lambda: [_paddlepaddle(name) for name in JOBS],
}
# Python converts no text of more than 4300 digits to a number.
VALUES = JSON | st.sampled_from(["9" * 5000, "\u0663", 2**63, [["a"]], ["a"], [None]])


@st.composite
def damaged(draw: st.DrawFn, bases: list[Manifest]) -> Manifest:
    manifest = copy.deepcopy(draw(st.sampled_from(bases)))
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(places(manifest)))
        # A copy: the next place may be inside of this value, which would change it for all examples after this one.
        holder[key] = copy.deepcopy(draw(VALUES))
    return manifest


@pytest.mark.parametrize("kind", BASES)
@given(data=st.data())
def test_any_manifest_becomes_a_job_whose_objects_can_be_built_or_is_invalid(kind: str, data: st.DataObject) -> None:
    bases = BASES[kind]()
    api = find_kind(bases[0])
    anything: st.SearchStrategy[Any] = JSON.map(lambda value: value if isinstance(value, dict) else {"spec": value})
    manifest = data.draw(damaged(bases) | anything)
    try:
        job = api.read_job(manifest)
    except InvalidJob as invalid:
        assert all(problem.message for problem in invalid.problems)
        assert any(problem.severity == "error" for problem in invalid.problems)
    else:
        build_everything(job)
    api.read_status(manifest)
