"""Somebody else's operators, by the table of `install.foreign`.

test_installed_chart.py asks Helm the same of a real cluster.
"""

from __future__ import annotations

from typing import Any

import pytest

from chart.others import OTHERS, build_definition, build_deployment
from paddock.install.crd import build_crd
from paddock.install.deployment import Installation, build_operator
from paddock.install.foreign import KNOWN, explain_deployment, is_ours, match_deployments
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest


def explain(*deployments: Manifest) -> list[str]:
    return [str(explain_deployment(found, "kubectl --context prod")) for found in match_deployments(deployments)]


@pytest.mark.parametrize("other", OTHERS)
def test_an_operator_is_known_by_its_name_or_its_image(other: str) -> None:
    words, labels, said = OTHERS[other]
    (name, image, *_) = words
    sentences = explain(build_deployment("ai", *words, **labels))
    assert len(sentences) == bool(said)
    for sentence in sentences:
        assert sentence.startswith(f"Deployment {name} in namespace ai (image {image}) seems to be")
        assert said in sentence
        assert sentence.endswith(f"kubectl --context prod -n ai scale deployment {name} --replicas=0")


def test_one_that_is_scaled_to_nothing_runs_no_job() -> None:
    stopped = build_deployment("kubeflow", "training-operator", "kubeflow/training-operator:v1", replicas=0)
    assert explain(stopped) == []
    del stopped["spec"]["replicas"]
    assert len(explain(stopped)) == 1, "one replica is the default"


def test_what_paddock_installs_is_nobody_elses() -> None:
    printed = build_operator(Installation(image="harbor.example/infra/operator:1"))
    assert explain(*(each for each in printed if each["kind"] == "Deployment")) == []


@pytest.mark.parametrize("damaged", [{}, {"spec": None}, {"spec": {"template": {"spec": {"containers": None}}}}])
def test_a_deployment_without_containers_is_judged_by_its_name(damaged: dict[str, Any]) -> None:
    deployment = build_deployment("kubeflow", "training-operator", "x") | {"spec": None} | damaged
    (sentence,) = explain(deployment)
    assert "seems to be Kubeflow's training-operator" in sentence


def test_the_kinds_that_somebody_else_may_run_are_ours() -> None:
    assert {kind for known in KNOWN for kind in known.kinds} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.qualified)
def test_paddocks_definitions_are_its_own(kind: Any) -> None:
    assert is_ours(build_crd(KINDS[kind]))


@pytest.mark.parametrize("definition", [build_definition(), {}, {"spec": {"versions": [{"name": "v1"}]}}])
def test_another_definition_is_not(definition: Manifest) -> None:
    assert not is_ours(definition)
