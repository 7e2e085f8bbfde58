"""Helm on a laptop: a chart of a user's own, with a job in it, and Paddock's chart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.chart import find_helm, render
from clients.fetched import find
from clients.kubectl import Kubectl
from e2e.commands import Cluster, Ended, call

pytestmark = pytest.mark.slow

TEMPLATES: dict[str, str] = {
    "settings.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings"}
data: {epochs: "{{ .Values.epochs }}"}
""",
    "secret.yaml": """
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-secret"}
stringData: {token: "{{ .Values.token }}"}
""",
    "job.yaml": """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: "{{ .Release.Name }}-{{ .Release.Revision }}"}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: python
            command: [sh, -c, "echo epochs $EPOCHS token $TOKEN"]
            env:
            - {name: EPOCHS, valueFrom: {configMapKeyRef: {name: "{{ .Release.Name }}-settings", key: epochs}}}
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: "{{ .Release.Name }}-secret", key: token}}}
""",
    "NOTES.txt": "epochs: {{ .Values.epochs }}; the server is {{ .Capabilities.KubeVersion.Version }}\n",
}


@pytest.fixture
def kubectl(laptop: Cluster, namespace: str) -> Kubectl:
    return Kubectl(str(find("kubectl")), laptop, namespace)


class Helm:
    """Helm in the namespace of a test."""

    def __init__(self, laptop: Cluster, namespace: str) -> None:
        self._laptop, self._namespace = laptop, namespace

    def __call__(self, *words: str, code: int = 0) -> Ended:
        place = str(self._laptop.directory / "helm")
        own = {"HELM_CACHE_HOME": place, "HELM_CONFIG_HOME": place, "HELM_DATA_HOME": place}
        done = call(
            find_helm(), *words, "-n", self._namespace,
            environment={**self._laptop.environment, **own}, directory=self._laptop.directory,
        )  # fmt: skip
        assert done.code == code, f"helm {' '.join(words)}: {done}"
        return done

    def read(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json").out)


@pytest.fixture
def helm(laptop: Cluster, namespace: str) -> Helm:
    return Helm(laptop, namespace)


@pytest.fixture
def chart(tmp_path: Path) -> str:
    place = tmp_path / "train"
    (place / "templates").mkdir(parents=True)
    (place / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "train", "version": "1.0.0"}))
    (place / "values.yaml").write_text(yaml.safe_dump({"epochs": 1, "token": "t"}))
    for name, text in TEMPLATES.items():
        (place / "templates" / name).write_text(text)
    return str(place)


def test_a_chart_with_a_job_is_installed_upgraded_and_rolled_back(helm: Helm, kubectl: Kubectl, chart: str) -> None:
    installed = helm("install", "mnist", chart)
    assert "STATUS: deployed" in installed.out and "epochs: 1; the server is v1." in installed.out
    kubectl("wait", "pytorchjob/mnist-1", "--for=condition=Succeeded", "--timeout=90s")
    assert kubectl("logs", "mnist-1-worker-0") == "epochs 1 token t\n"
    (listed,) = helm.read("list")
    assert (listed["name"], listed["revision"], listed["status"], listed["chart"]) == (
        "mnist",
        "1",
        "deployed",
        "train-1.0.0",
    )

    helm("upgrade", "mnist", chart, "--set", "epochs=5", "--reuse-values")
    kubectl("wait", "pytorchjob/mnist-2", "--for=condition=Succeeded", "--timeout=90s")
    assert kubectl("logs", "mnist-2-worker-0") == "epochs 5 token t\n"
    assert "NotFound" in kubectl.refusal("get", "pytorchjob", "mnist-1"), "the chart no longer has it"
    assert helm.read("get", "values", "mnist")["epochs"] == 5

    helm("rollback", "mnist", "1")
    assert kubectl("get", "configmap", "mnist-settings", "-o", "jsonpath={.data.epochs}") == "1"
    assert [each["status"] for each in helm.read("history", "mnist")] == ["superseded", "superseded", "deployed"]
    assert "kind: PyTorchJob" in helm("get", "manifest", "mnist").out


def test_a_release_is_removed_with_all_that_it_has_made(helm: Helm, kubectl: Kubectl, chart: str) -> None:
    helm("install", "mnist", chart)
    kubectl("wait", "pytorchjob/mnist-1", "--for=condition=Succeeded", "--timeout=90s")
    assert 'release "mnist" uninstalled' in helm("uninstall", "mnist", "--wait", "--timeout", "60s").out
    assert kubectl("get", "configmaps,secrets,pytorchjobs", "-o", "name").split() == ["configmap/kube-root-ca.crt"]
    assert helm.read("list") == []


def test_a_dry_run_on_the_server_stores_nothing_and_a_wrong_field_is_named(
    helm: Helm, kubectl: Kubectl, chart: str
) -> None:
    assert "kind: PyTorchJob" in helm("install", "mnist", chart, "--dry-run=server").out
    assert kubectl("get", "configmaps", "-o", "name").split() == ["configmap/kube-root-ca.crt"]
    job = Path(chart, "templates", "job.yaml")
    job.write_text(job.read_text().replace("replicas: 1", "replicas: many"))
    refused = helm("install", "mnist", chart, code=1)
    assert "spec.pytorchReplicaSpecs.Worker.replicas" in refused.err, str(refused)


def test_a_failed_upgrade_is_rolled_back(helm: Helm, kubectl: Kubectl, chart: str) -> None:
    job = Path(chart, "templates", "job.yaml")
    job.write_text(job.read_text().replace("{{ .Release.Revision }}", "job"))
    helm("install", "mnist", chart)
    Path(chart, "templates", "wrong.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n")
    failed = helm("upgrade", "mnist", chart, "--set", "epochs=9", "--atomic", code=1)
    assert "been rolled back due to atomic being set" in failed.err and "metadata.name" in failed.err, str(failed)
    assert kubectl("get", "configmap", "mnist-settings", "-o", "jsonpath={.data.epochs}") == "1"
    assert [each["status"] for each in helm.read("history", "mnist")] == ["superseded", "failed", "deployed"]


@pytest.mark.parametrize("only", ["crds", "rights"])
def test_what_paddocks_own_chart_has_for_a_laptop_is_taken_by_its_api(
    only: str, kubectl: Kubectl, namespace: str
) -> None:
    """A laptop has an operator of its own and no Deployments, so the chart itself is not for it; its definitions and
    rights are read by the same API rules."""
    rendered = render(namespace, "kinds={batch.paddlepaddle.org,kubeflow.org}")
    kinds = {"crds": ["CustomResourceDefinition"], "rights": ["ClusterRole", "Role", "RoleBinding", "ServiceAccount"]}
    chosen = [each for each in rendered if each["kind"] in kinds[only]]
    assert {each["kind"] for each in chosen} == set(kinds[only])
    listed = {"apiVersion": "v1", "kind": "List", "items": chosen}
    printed = kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", stdin=listed)
    assert len(printed.splitlines()) == len(chosen)
