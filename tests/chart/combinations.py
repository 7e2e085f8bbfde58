"""The table of what is installed by the chart and by `paddock manifests`: values beside options."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from chart.chart import ROOT
from paddock.cli.verbs.manifests import build_manifests
from paddock.install.console import Keep, Oidc, build_console
from paddock.install.deployment import EXAMPLE_IMAGE, Installation, Scope
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.kube.meta import Manifest, Resource, name_of

KUBEFLOW = tuple(kind for kind in KINDS if kind.group == "kubeflow.org")
PYTORCH = next(kind for kind in KINDS if kind.kind == "PyTorchJob")
JAX = next(kind for kind in KINDS if kind.kind == "JAXJob")

Edit = Callable[[list[Manifest]], None]
"""What `paddock manifests` has no option for, written into what it prints."""


def edit_operator(**changes: Any) -> Edit:
    """`changes` of the Deployment's container; `args` are appended, `replicas` and `pod` are the Deployment's."""

    def edit(manifests: list[Manifest]) -> None:
        (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
        spec = deployment["spec"]["template"]["spec"]
        container = spec["containers"][0]
        for key, value in changes.items():
            if key == "replicas":
                deployment["spec"]["replicas"] = value
            elif key == "pod":
                spec.update(value)
            else:
                container[key] = [*container[key], *value] if key == "args" else value

    return edit


def edit_all(**changes: Any) -> Edit:
    def edit(manifests: list[Manifest]) -> None:
        for each in manifests:
            if each["kind"] == "Deployment":
                edit_operator(**changes)([each])

    return edit


def edit_account(annotations: dict[str, str]) -> Edit:
    def edit(manifests: list[Manifest]) -> None:
        (account,) = (each for each in manifests if each["kind"] == "ServiceAccount")
        account["metadata"]["annotations"] = annotations

    return edit


def add_files(*paths: str, labels: dict[str, str] | None = None) -> Edit:
    """Objects of `deploy/`, in the operator's namespace."""

    def edit(manifests: list[Manifest]) -> None:
        for path in paths:
            for each in yaml.safe_load_all((ROOT / "deploy" / path).read_text()):
                each["metadata"]["namespace"] = "paddle-system"
                if each["apiVersion"].startswith("monitoring"):
                    each["metadata"]["labels"] |= labels or {}
                manifests.append(each)

    return edit


def join(*edits: Edit) -> Edit:
    def edit(manifests: list[Manifest]) -> None:
        for each in edits:
            each(manifests)

    return edit


def installed(
    *parts: str,
    console: str = "paddle-console",
    exposed: Mapping[str, Any] | None = None,
    kinds: Sequence[Resource] = (PADDLEPADDLE.resource,),
    **options: Any,
) -> list[Manifest]:
    """What `paddock manifests` prints for these parts, without the operator's Namespace, which Helm makes itself."""
    installation = replace(Installation(**options), kinds=tuple(kinds))
    built = {
        "all": lambda: build_manifests("all", installation),
        "crd": lambda: build_manifests("crd", installation),
        "operator": lambda: build_manifests("operator", installation),
        "logs": lambda: build_manifests("logs", installation),
        "webhook": lambda: build_manifests("webhook", installation),
        "console": lambda: list(build_console(console, installation.image, **exposed or {})),
    }
    found = [manifest for part in parts or ("all",) for manifest in built[part]()]
    own = ("Namespace", installation.namespace)
    return json.loads(json.dumps([each for each in found if (each["kind"], name_of(each)) != own]))


SECRET = [{"name": "my-registry"}]
TOLERATION = {"key": "gpu", "operator": "Exists"}
DIGEST = "sha256:" + "0123456789abcdef" * 4

CASES: dict[str, tuple[str, str, Callable[[], list[Manifest]], Edit | None]] = {
    "no values": ("paddle-system", "", installed, None),
    "all namespaces, all kinds": (
        "paddle-system",
        "namespaces=all kinds={batch.paddlepaddle.org,kubeflow.org}",
        lambda: installed(watched=(), kinds=tuple(KINDS)),
        None,
    ),
    "another namespace": ("team-a", "", lambda: installed(namespace="team-a", watched=("team-a",)), None),
    "jobs in two namespaces": (
        "paddle-system",
        "namespaces={team-a,team-b}",
        lambda: installed(watched=("team-a", "team-b")),
        None,
    ),
    "jobs there and elsewhere, from another namespace": (
        "ops",
        "namespaces={ops,team-b}",
        lambda: installed(namespace="ops", watched=("ops", "team-b")),
        None,
    ),
    "what a tenant may install": (
        "team-a",
        "scope=namespace crds=false",
        lambda: installed("operator", namespace="team-a", watched=("team-a",), scope=Scope.NAMESPACE),
        None,
    ),
    "kinds of two groups in another order": (
        "paddle-system",
        "kinds={pytorchjobs.kubeflow.org,paddlejobs.batch.paddlepaddle.org,jaxjobs.kubeflow.org}",
        lambda: installed(kinds=(PYTORCH, PADDLEPADDLE.resource, JAX)),
        None,
    ),
    "a kind without an autoscaler": (
        "paddle-system",
        "kinds={jaxjobs.kubeflow.org} namespaces=all",
        lambda: installed(kinds=(JAX,), watched=()),
        None,
    ),
    "a kind and its group": (
        "paddle-system",
        "kinds={pytorchjobs.kubeflow.org,kubeflow.org}",
        lambda: installed(kinds=tuple(dict.fromkeys((PYTORCH, *KUBEFLOW)))),
        None,
    ),
    "webhook and console": (
        "paddle-system",
        "webhook.enabled=true console.enabled=true namespaces=all kinds={kubeflow.org}",
        lambda: installed("all", "webhook", "console", kinds=KUBEFLOW, watched=()),
        None,
    ),
    "the webhook of another namespace, with more replicas": (
        "ops",
        "webhook.enabled=true webhook.replicas=2 operator.enabled=false crds=false namespaces={a,b}",
        lambda: installed("webhook", namespace="ops", watched=("a", "b")),
        edit_operator(replicas=2),
    ),
    "the console alone, in the release's namespace": (
        "ops",
        "console.enabled=true console.namespace= operator.enabled=false crds=false image.tag=1.2",
        lambda: installed("console", console="ops", image="registry.example/paddock:1.2"),
        None,
    ),
    "a console behind a proxy, with a provider": (
        "ops",
        "console.enabled=true console.namespace= operator.enabled=false crds=false console.behindTls=true "
        "console.hosts={console.example.com,c.example.com} console.oidc.issuer=https://id.example.com/lab "
        "console.oidc.clientId=us console.oidc.clientSecret=console-client console.oidc.ca=lab-ca "
        "console.oidc.scopes={groups,offline_access}",
        lambda: installed(
            "console",
            console="ops",
            exposed={
                "hosts": ("console.example.com", "c.example.com"),
                "behind_tls": True,
                "oidc": Oidc(
                    "https://id.example.com/lab", "us", "console-client", ("groups", "offline_access"), "lab-ca"
                ),
            },
        ),
        None,
    ),
    "a console that keeps": (
        "paddle-system",
        "console.enabled=true console.keep.claim=kept operator.enabled=false crds=false",
        lambda: installed("console", exposed={"keep": Keep("kept")}),
        None,
    ),
    "a console that keeps for longer, in the release's namespace": (
        "ops",
        "console.enabled=true console.namespace= console.keep.claim=kept console.keep.logs=90d operator.enabled=false "
        "crds=false",
        lambda: installed("console", console="ops", exposed={"keep": Keep("kept", "90d")}),
        None,
    ),
    "a console with a public client": (
        "paddle-system",
        "console.enabled=true operator.enabled=false crds=false console.oidc.issuer=https://id "
        "console.oidc.clientId=us",
        lambda: installed("console", exposed={"oidc": Oidc("https://id", "us")}),
        None,
    ),
    "a mirror, secrets and a policy for every image": (
        "paddle-system",
        "registryMirror=m.daocloud.io imagePullSecrets[0].name=my-registry image.pullPolicy=Always "
        "webhook.enabled=true console.enabled=true",
        lambda: installed("all", "webhook", "console", image=f"m.daocloud.io/{EXAMPLE_IMAGE}"),
        edit_all(pod={"imagePullSecrets": SECRET}, imagePullPolicy="Always"),
    ),
    "a digest": (
        "paddle-system",
        f"image.repository=registry.example:5000/paddock image.digest={DIGEST} image.tag=v1",
        lambda: installed(image=f"registry.example:5000/paddock@{DIGEST}"),
        None,
    ),
    "a fleet that three operators share": (
        "paddle-system",
        "namespaces=all operator.shards=6",
        lambda: installed(watched=(), shards=6),
        None,
    ),
    "the operator's flags": (
        "paddle-system",
        "gangScheduler.podGroups=scheduler-plugins gangScheduler.name=gangs operator.substitute=true "
        "operator.masterWait=0 operator.endWait=1000000 operator.lossLimit=7 operator.elasticWait=300 "
        "operator.elasticSettle=0",
        installed,
        edit_operator(
            args=[
                "--scheduling=scheduler-plugins",
                "--gang-scheduler-name=gangs",
                "--substitute",
                "--master-wait=0",
                "--end-wait=1000000",
                "--loss-limit=7",
                "--elastic-wait=300",
                "--elastic-settle=0",
            ]
        ),
    ),
    "logs are read where jobs are": (
        "ops",
        "namespaces={ops,team-a} operator.readLogs=true",
        lambda: installed("all", "logs", namespace="ops", watched=("ops", "team-a")),
        None,
    ),
    "logs are read in all namespaces": (
        "ops",
        "namespaces=all operator.readLogs=true",
        lambda: installed("all", "logs", namespace="ops", watched=()),
        None,
    ),
    "notices by a Secret": (
        "paddle-system",
        "operator.notices=paddock-notices",
        lambda: installed(notices="paddock-notices"),
        None,
    ),
    "what GPUs do by a Prometheus": (
        "paddle-system",
        "operator.prometheus=http://prometheus.monitoring:9090",
        lambda: installed(prometheus="http://prometheus.monitoring:9090"),
        None,
    ),
    "datasets": (
        "ops",
        "datasets.enabled=true namespaces={team-a,team-b} registryMirror=m.daocloud.io",
        lambda: installed(
            namespace="ops", watched=("team-a", "team-b"), datasets=True, image=f"m.daocloud.io/{EXAMPLE_IMAGE}"
        ),
        None,
    ),
    "datasets of hubs, everywhere, with all kinds": (
        "paddle-system",
        "datasets.enabled=true datasets.image=mine:1 namespaces=all kinds={batch.paddlepaddle.org,kubeflow.org}",
        lambda: installed(watched=(), kinds=tuple(KINDS), datasets=True, datasets_image="mine:1"),
        None,
    ),
    "two operators with a budget, resources, a place and an account": (
        "paddle-system",
        "operator.replicas=2 operator.resources.limits.memory=1Gi operator.nodeSelector.pool=cpu "
        "operator.tolerations[0].key=gpu operator.tolerations[0].operator=Exists "
        r"serviceAccount.annotations.example\.com/role=arn",
        installed,
        join(
            edit_operator(
                replicas=2,
                resources={
                    "requests": {"cpu": "100m", "memory": "128Mi"},
                    "limits": {"cpu": "1", "memory": "1Gi"},
                },
                pod={"nodeSelector": {"pool": "cpu"}, "tolerations": [TOLERATION]},
            ),
            edit_account({"example.com/role": "arn"}),
            add_files("v1/disruption-budget.yaml"),
        ),
    ),
    "an affinity in place of ours": (
        "paddle-system",
        "operator.affinity.podAffinity.x=y",
        installed,
        edit_operator(pod={"affinity": {"podAffinity": {"x": "y"}}}),
    ),
    "monitoring": (
        "paddle-system",
        "monitoring.serviceMonitor=true monitoring.rules=true monitoring.labels.release=prometheus",
        installed,
        add_files("monitoring/service.yaml", "monitoring/prometheusrule.yaml", labels={"release": "prometheus"}),
    ),
}
"""The namespace, the values, what `paddock manifests` prints for them, and what that has no option for."""
