"""Operators of somebody else, as they are found on clusters, and what is said of each."""

from __future__ import annotations

from typing import Any

from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.kube.meta import Manifest, Resource

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def build_deployment(namespace: str, name: str, image: str, *args: str, replicas: int = 1, **labels: str) -> Manifest:
    """Somebody else's; its selector is paddle-operator's."""
    selected = {"control-plane": "controller-manager"}
    container = {"name": "manager", "image": image, "args": list(args)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {**selected, **labels}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": {"containers": [container]}},
        },
    }


def build_definition(kind: Resource = PADDLEPADDLE.resource, **metadata: Any) -> Manifest:
    """Somebody else's, cut short: its status has none of Paddock's fields."""
    status = {"type": "object", "properties": {"conditions": {"type": "array", "items": FREE}}}
    schema = {"type": "object", "properties": {"spec": FREE, "status": status}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.qualified, **metadata},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": list(KINDS[kind].short_names),
            },
            "scope": "Namespaced",
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }


OTHERS: dict[str, tuple[tuple[Any, ...], dict[str, str], str]] = {
    "paddle-operator by its image": (
        ("some-name", "registry.baidubce.com/paddle-operator/controller:v0.3.5"),
        {},
        "seems to be paddle-operator; it may run paddlejobs.batch.paddlepaddle.org.",
    ),
    "paddle-operator by the image of v0.3.5's files": (
        ("some-name", "registry.baidubce.com/paddlecloud/controller:v0.3.5"),
        {},
        "seems to be paddle-operator;",
    ),
    "paddle-operator by its name": (
        ("paddle-controller-manager", "harbor.example/infra/operator:2"),
        {},
        "seems to be paddle-operator;",
    ),
    "training-operator": (
        ("training-operator", "kubeflow/training-operator:v1-855e096"),
        {},
        "seems to be Kubeflow's training-operator; it may run paddlejobs.kubeflow.org, pytorchjobs.kubeflow.org",
    ),
    "training-operator that was given one of these kinds": (
        ("training-operator", "x", "--enable-scheme=tfjob", "--enable-scheme=PyTorchJob"),
        {},
        "it may run pytorchjobs.kubeflow.org. To stop it",
    ),
    "training-operator that was given none of these kinds": (
        ("training-operator", "x", "--enable-scheme=tfjob", "--enable-scheme=mpijob"),
        {},
        "",
    ),
    "pytorch-operator": (("pytorch-operator", "x"), {}, "it may run pytorchjobs.kubeflow.org. To stop it"),
    "one of a cloud, by its name": (
        ("cce-deep-learning-frameworks-operator", "registry.example/plugins/cce:1.6.33"),
        {},
        "(Baidu CCE installs one); it may run paddlejobs.batch.paddlepaddle.org, paddlejobs.kubeflow.org",
    ),
    "one of a cloud, by its image": (("x", "registry.example/cce/paddle-job-operator:1"), {}, "Baidu CCE installs one"),
    "Paddock by its label": (
        ("paddle-controller-manager", "harbor.example/infra/operator:2"),
        {"app.kubernetes.io/name": "paddock"},
        "",
    ),
    "Paddock by its image": (("paddle-controller-manager", "registry.example/paddock:0.1.0"), {}, ""),
    "Kubeflow's trainer, which runs TrainJobs": (
        ("kubeflow-trainer-controller-manager", "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2"),
        {},
        "",
    ),
    "somebody's own program": (("training", "registry.example/training:1"), {}, ""),
}
"""The Deployment (name, image, arguments), its labels, and what is said of it; empty for nothing."""
