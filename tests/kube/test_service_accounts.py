"""By which fields a pod would act as an account of Paddock, whatever stands in its spec."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from jobs.anything import JSON
from paddock.kube.meta import Key
from paddock.kube.service_accounts import Use, find_token_owner, find_use

HOME, ELSEWHERE = "paddle-system", "team-a"
OWN = frozenset({Key(HOME, "paddle-manager-sa"), Key(HOME, "paddle-webhook-sa"), Key(HOME, "default")})
TOKEN = "paddle-manager-sa-token-x7k2p"


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "i", **fields}]}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"serviceAccountName": "paddle-manager-sa"}, "serviceAccountName"),
        ({"serviceAccount": "paddle-webhook-sa"}, "serviceAccount"),
        ({"serviceAccountName": "", "serviceAccount": "paddle-manager-sa"}, "serviceAccount"),
        ({"serviceAccountName": "mine", "serviceAccount": "paddle-manager-sa"}, "serviceAccount"),
        ({"volumes": [{"name": "v", "secret": {"secretName": TOKEN}}]}, "volumes[0].secret.secretName"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": TOKEN}}]}}]},
            "volumes[0].projected.sources[0].secret.name",
        ),
        (
            {"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": TOKEN}}}]},
            "volumes[0].csi.nodePublishSecretRef.name",
        ),
        (
            container(env=[{"name": "T", "valueFrom": {"secretKeyRef": {"name": TOKEN, "key": "token"}}}]),
            "containers[0].env[0].valueFrom.secretKeyRef.name",
        ),
        (container(envFrom=[{"secretRef": {"name": TOKEN}}]), "containers[0].envFrom[0].secretRef.name"),
        (
            {"initContainers": container(envFrom=[{"secretRef": {"name": TOKEN}}])["containers"]},
            "initContainers[0].envFrom[0].secretRef.name",
        ),
    ],
)
def test_each_way_to_an_account_of_paddock_is_found_in_its_namespace_alone(spec: dict[str, Any], path: str) -> None:
    found = find_use(spec, HOME, OWN)
    assert found is not None
    assert found.path == path
    assert found.by_token is path.endswith(("secretName", ".name"))
    assert find_use(spec, ELSEWHERE, OWN) is None
    assert find_use(spec, HOME, ()) is None


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"serviceAccountName": ""},
        {"serviceAccountName": "default"},
        {"serviceAccountName": "paddle-manager"},
        {"serviceAccountName": "paddle-manager-sa-2"},
        {"serviceAccountName": ["paddle-manager-sa"], "serviceAccount": {"paddle-manager-sa": 1}},
        {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]},
        {"volumes": [{"name": "v", "secret": {"secretName": "paddle-manager-sa"}}]},
        {"volumes": [{"name": "v", "configMap": {"name": TOKEN}}]},
        {"imagePullSecrets": [{"name": TOKEN}]},
        container(env=[{"name": "T", "value": TOKEN}]),
    ],
)
def test_all_else_is_anybodys(spec: dict[str, Any]) -> None:
    assert find_use(spec, HOME, OWN) is None


def test_what_is_found_says_whose_token_a_secret_is_of() -> None:
    spec = {"volumes": [{"secret": {"secretName": TOKEN}}]}
    assert find_use(spec, HOME, OWN) == Use("volumes[0].secret.secretName", TOKEN, "paddle-manager-sa")
    assert find_token_owner("default-token-x7k2p", HOME, OWN) == ""


@given(JSON)
def test_no_spec_is_too_odd_to_be_looked_at(anything: Any) -> None:
    spec = {"serviceAccountName": anything, "volumes": anything, "secret": anything, "containers": [anything]}
    assert find_use(spec, HOME, OWN) is None
