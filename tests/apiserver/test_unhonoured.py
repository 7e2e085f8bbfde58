"""Warnings: one for each field or kind without effect, none for the others."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from apiserver.embedded import Http, pod, widget, widget_crd
from paddock.apiserver.kinds.built_ins import DEPLOYMENTS
from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.meta import CONFIG_MAPS, CRDS, PODS, Resource
from paddock.kube.rbac import ROLES
from paddock.kube.unhonoured import Unhonoured, Why, explain_idle, find_in_templates, find_unhonoured
from paddock.words.unhonoured import explain_unhonoured

C = "spec.containers[0]"
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    # fields of the spec, fields of the container, what is not honoured
    "nothing": ({}, {"ports": [{"containerPort": 1}], "workingDir": "/x"}, []),
    "probes and hooks": ({}, {"readinessProbe": {"exec": {}}, "lifecycle": {"preStop": {}}}, []),
    "a probe by gRPC": ({}, {"livenessProbe": {"grpc": {"port": 1}}}, [f"{C}.livenessProbe.grpc"]),
    "processes of the machine": ({"hostPID": True, "dnsConfig": {"nameservers": ["1.1.1.1"]}}, {},
                                 ["spec.hostPID", "spec.dnsConfig"]),
    "a limit of disk": ({}, {"resources": {"limits": {"ephemeral-storage": "1Gi", "cpu": "1"}}},
                        [f"{C}.resources.limits.ephemeral-storage"]),
    "a user": ({}, {"securityContext": {"runAsUser": 0}}, [f"{C}.securityContext.runAsUser"]),
    "a root that is read only": ({}, {"securityContext": {"readOnlyRootFilesystem": True}},
                                 [f"{C}.securityContext.readOnlyRootFilesystem"]),
    "what is off": ({"securityContext": {}}, {"securityContext": {"privileged": False}, "lifecycle": {}}, []),
    "a group of the pod": ({"securityContext": {"fsGroup": 7}}, {}, ["spec.securityContext.fsGroup"]),
    "away from other pods": ({"affinity": {"podAntiAffinity": {"x": 1}, "nodeAffinity": {"x": 1}}}, {},
                             ["spec.affinity.podAntiAffinity"]),
    "a terminal": ({}, {"stdin": True, "stdinOnce": True, "tty": True}, [f"{C}.tty"]),
    "a side-car": ({"initContainers": [{"name": "s", "restartPolicy": "Always"}]}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_fields_of_a_pod_without_effect(case: str) -> None:
    spec, container, paths = CASES[case]
    manifest = {"spec": {**spec, "containers": [{"name": "m", **container}]}}
    assert [found.path for found in find_unhonoured(PODS, manifest, 1000)] == paths


def test_a_queue_of_kueue_admits_nobody_here() -> None:
    label = "kueue.x-k8s.io/queue-name"
    job = {"metadata": {"labels": {label: "team"}}, "spec": {}}
    (found,) = find_unhonoured(PADDLEPADDLE.resource, job, 1000)
    assert found == Unhonoured(f"metadata.labels[{label}]", label, Why.QUEUE)
    said = explain_unhonoured(found, 1000)
    assert str(said).endswith("is not honoured on this machine: it has no Kueue, so the job waits for no queue")
    for shape in ({}, {"metadata": 3}, {"metadata": {"labels": []}}, {"metadata": {"labels": {label: ""}}}):
        assert find_unhonoured(PADDLEPADDLE.resource, shape, 1000) == ()


@pytest.mark.parametrize(
    ("resource", "sentence"),
    [
        (DEPLOYMENTS, "Deployments are stored and nothing acts on them in this cluster"),
        (ROLES, ""),
        (CONFIG_MAPS, ""),
    ],
)
def test_kinds_without_effect(resource: Resource, sentence: str) -> None:
    assert explain_idle(resource) == sentence


SECURED = {
    "securityContext": {"runAsUser": 1000, "fsGroup": 2000},
    "containers": [
        {"name": "a", "securityContext": {"runAsUser": 7, "capabilities": {"drop": ["ALL"]}}},
        {"name": "b", "securityContext": {"capabilities": {"drop": ["ALL"]}}},
    ],
    "volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
}
RANKS = "spec.pytorchReplicaSpecs.{}.template.spec"


def test_a_job_is_told_each_kind_of_field_once_with_its_first_place() -> None:
    specs = {name: {"replicas": 4, "template": {"spec": SECURED}} for name in ("Master", "Worker")}
    found = find_in_templates({"spec": {"pytorchReplicaSpecs": specs}}, 1000)
    first = RANKS.format("Master")
    assert found == (
        Unhonoured(f"{first}.securityContext.fsGroup", "securityContext.fsGroup", Why.USER),
        Unhonoured(f"{first}.volumes[0].emptyDir.sizeLimit", "emptyDir.sizeLimit", Why.AMOUNT),
        Unhonoured(f"{first}.containers[0].securityContext.runAsUser", "securityContext.runAsUser", Why.USER),
        Unhonoured(f"{first}.containers[0].securityContext.capabilities", "securityContext.capabilities", Why.RIGHTS),
    )
    assert [str(explain_unhonoured(each, 1000)) for each in found[:2]] == [
        f"{first}.securityContext.fsGroup is not honoured on this machine: programs run as you (uid 1000)",
        f"{first}.volumes[0].emptyDir.sizeLimit is not honoured on this machine: nothing limits what a program writes "
        "but the disk or the memory",
    ]


@pytest.mark.parametrize(
    ("value", "uid", "count"),
    [
        ({"runAsUser": 1000}, 1000, 0),
        ({"runAsUser": 1000}, 1001, 1),
        ({"runAsUser": 0}, 0, 0),
        ({"runAsNonRoot": True}, 1000, 0),
        ({"runAsNonRoot": True}, 0, 1),
        ({"allowPrivilegeEscalation": False, "privileged": False}, 1000, 0),
    ],
)
def test_what_is_so_in_any_case_is_honoured(value: dict[str, Any], uid: int, count: int) -> None:
    assert len(find_unhonoured(PODS, {"spec": {"securityContext": value, "containers": []}}, uid)) == count


@pytest.mark.parametrize(
    "spec", [None, [], "x", {"template": None}, {"template": {"spec": {"containers": [None, "x", {"resources": 1}]}}},
             {"a": {"template": {"spec": {"containers": [{"securityContext": []}], "volumes": "x"}}}}]
)  # fmt: skip
def test_an_object_of_any_form_is_read(spec: Any) -> None:
    assert find_in_templates({"spec": spec}, 1000) == ()


def test_a_pod_of_a_controller_repeats_nothing() -> None:
    owners = [{"controller": True, "uid": "1", "kind": "PyTorchJob", "name": "a", "apiVersion": "kubeflow.org/v1"}]
    assert find_unhonoured(PODS, {"metadata": {"ownerReferences": owners}, "spec": SECURED}, 1000) == ()
    assert find_unhonoured(PODS, {"spec": SECURED}, 1000)


@pytest.mark.parametrize(
    ("method", "scale"), [("PATCH", {"spec": {"replicas": 2}}), ("PUT", {"spec": {"replicas": 3}})]
)
async def test_who_scales_a_deployment_is_told_that_nothing_acts_on_it(
    http: Http, api: LocalApi, method: str, scale: Any
) -> None:
    labels, path = {"app": "web"}, "/apis/apps/v1/namespaces/default/deployments/web/scale"
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    await api.create(DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    sent = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
    status, answer, headers = await http.ask(method, path, data=msgspec.json.encode(scale), headers=sent)
    assert (status, answer["kind"], answer["spec"]) == (200, "Scale", scale["spec"])
    assert headers.getall("Warning") == [f'299 - "{explain_idle(DEPLOYMENTS)}"']


async def test_a_client_that_makes_a_job_is_warned_once(http: Http, api: LocalApi) -> None:
    open_schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    crd = widget_crd(schema=open_schema)
    crd["metadata"]["name"], crd["spec"]["group"] = "widgets.example.com", "example.com"
    await api.create(CRDS, crd)
    path = "/apis/example.com/v1/namespaces/default/widgets"
    parts = {name: {"template": {"spec": SECURED | {"volumes": []}}} for name in ("a", "b")}
    body = widget("job", **parts) | {"apiVersion": "example.com/v1"}
    _, _, headers = await http.ask("POST", path, body)
    assert headers.getall("Warning")[0].startswith('299 - "spec.a.template.spec.securityContext.')
    count = len(headers.getall("Warning"))
    assert count == len(find_in_templates(body, os.getuid())) > 2
    _, _, headers = await http.ask("POST", path, widget("other") | {"apiVersion": "example.com/v1"})
    assert "Warning" not in headers


async def test_a_client_is_warned_when_it_writes_and_not_when_it_reads(http: Http) -> None:
    path = "/api/v1/namespaces/default/pods"
    sent = pod()
    sent["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    why = "programs have your rights, in the sandbox of this cluster"
    warning = f'299 - "{C}.securityContext.privileged is not honoured on this machine: {why}"'
    patch = {"Content-Type": "application/merge-patch+json"}
    _, _, headers = await http.ask("POST", path, sent)
    assert headers["Warning"] == warning
    _, _, headers = await http.ask("PATCH", f"{path}/p", {"metadata": {"labels": {"a": "b"}}}, headers=patch)
    assert headers["Warning"] == warning
    _, _, headers = await http.ask("PATCH", f"{path}/p/status", {"status": {"phase": "Running"}}, headers=patch)
    assert "Warning" not in headers
    _, _, headers = await http.ask("GET", f"{path}/p")
    assert "Warning" not in headers
