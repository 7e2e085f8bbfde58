"""Warnings: one for each field or kind without effect, none for the others."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.embedded import Http, pod
from paddock.apiserver.admission.unhonoured import explain_unhonoured
from paddock.apiserver.kinds.built_ins import DEPLOYMENTS, ROLES
from paddock.kube.meta import CONFIG_MAPS, PODS, Resource

C = "spec.containers[0]"
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    # fields of the spec, fields of the container, what is not honoured
    "nothing": ({}, {"ports": [{"containerPort": 1}], "workingDir": "/x"}, []),
    "probes": ({}, {"readinessProbe": {"exec": {}}, "livenessProbe": {"exec": {}}},
               [f"{C}.livenessProbe", f"{C}.readinessProbe"]),
    "a hook": ({}, {"lifecycle": {"preStop": {}}}, [f"{C}.lifecycle"]),
    "a user": ({}, {"securityContext": {"runAsUser": 0}}, [f"{C}.securityContext.runAsUser"]),
    "a root that is read only": ({}, {"securityContext": {"readOnlyRootFilesystem": True}},
                                 [f"{C}.securityContext.readOnlyRootFilesystem"]),
    "what is off": ({"securityContext": {}}, {"securityContext": {"privileged": False}, "lifecycle": {}}, []),
    "a group of the pod": ({"securityContext": {"fsGroup": 7}}, {}, ["spec.securityContext.fsGroup"]),
    "away from other pods": ({"affinity": {"podAntiAffinity": {"x": 1}, "nodeAffinity": {"x": 1}}}, {},
                             ["spec.affinity.podAntiAffinity"]),
    "a sidecar": ({"initContainers": [{"name": "s", "restartPolicy": "Always"}]}, {},
                  ["spec.initContainers[0].restartPolicy"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_fields_of_a_pod_without_effect(case: str) -> None:
    spec, container, paths = CASES[case]
    manifest = {"spec": {**spec, "containers": [{"name": "m", **container}]}}
    assert explain_unhonoured(PODS, manifest) == tuple(f"{path} is not honoured in this cluster" for path in paths)


@pytest.mark.parametrize(
    ("resource", "sentences"),
    [
        (DEPLOYMENTS, ("Deployments are stored and nothing acts on them in this cluster",)),
        (ROLES, ("Roles are stored and not enforced in this cluster",)),
        (CONFIG_MAPS, ()),
    ],
)
def test_kinds_without_effect(resource: Resource, sentences: tuple[str, ...]) -> None:
    assert explain_unhonoured(resource, {"spec": {}}) == sentences


async def test_a_client_is_warned_when_it_writes_and_not_when_it_reads(http: Http) -> None:
    path = "/api/v1/namespaces/default/pods"
    sent = pod()
    sent["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["true"]}}
    warning = f'299 - "{C}.readinessProbe is not honoured in this cluster"'
    patch = {"Content-Type": "application/merge-patch+json"}
    _, _, headers = await http.ask("POST", path, sent)
    assert headers["Warning"] == warning
    _, _, headers = await http.ask("PATCH", f"{path}/p", {"metadata": {"labels": {"a": "b"}}}, headers=patch)
    assert headers["Warning"] == warning
    _, _, headers = await http.ask("PATCH", f"{path}/p/status", {"status": {"phase": "Running"}}, headers=patch)
    assert "Warning" not in headers
    _, _, headers = await http.ask("GET", f"{path}/p")
    assert "Warning" not in headers
