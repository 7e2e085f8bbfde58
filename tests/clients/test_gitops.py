"""deploy/gitops: how Argo CD and Flux show jobs, by statuses that jobs really had, and what they find to differ.

Neither runs here: their programs do, in Lua and CEL, and kubectl, whose two ways to find a difference are theirs.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clients.fetched import PROGRAMS, find
from clients.kubectl import Kubectl
from clients.samples import job, paddle_job
from e2e.commands import Cluster, until
from support.documents import read_documents

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GITOPS = ROOT / "deploy" / "gitops"
KINDS = {"kubeflow.org": ("pytorchjobs", job), "batch.paddlepaddle.org": ("paddlejobs", paddle_job)}


Shown = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def shown(laptop: Cluster) -> Iterator[Shown]:
    """Of each group a job in each phase, and one that no operator has looked at."""
    kubectl = Kubectl(str(find("kubectl")), laptop, "shown")
    laptop.create("/api/v1/namespaces", {"metadata": {"name": "shown"}})
    scripts = {"Completed": "true", "Failed": "exit 3", "Running": "sleep 600", "Suspended": "true", "Invalid": "true"}
    for plural, build in KINDS.values():
        for phase, script in scripts.items():
            made = build(f"{plural}-{phase.lower()}", script, workers=0 if phase == "Invalid" else 1)
            made["spec"]["runPolicy"] = {"suspend": phase == "Suspended"}
            kubectl("create", "-f", "-", stdin=made)

    def read(group: str) -> dict[str, Any]:
        items = kubectl.read(f"{KINDS[group][0]}.{group}")["items"]
        return {each.get("status", {}).get("phase", ""): each for each in items}

    until(
        "each phase",
        lambda: all(read(group).keys() == scripts.keys() for group in KINDS),
        tell=lambda: kubectl("get", "pdj,pytorchjobs"),
    )
    yield {group: {**read(group), "new": {"metadata": {"name": "new", "generation": 1}}} for group in KINDS}
    laptop.delete("/api/v1/namespaces/shown")


def look(client: str, **sent: Any) -> Any:
    program = [str(find(client)), str(PROGRAMS / f"of_{client}.py")]
    done = subprocess.run(program, input=json.dumps(sent), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("group", "kind"), [("kubeflow.org", "PyTorchJob"), ("batch.paddlepaddle.org", "PaddleJob")])
def test_argo_cd_shows_each_phase(shown: Shown, group: str, kind: str) -> None:
    data = yaml.safe_load((GITOPS / "argocd" / "health.yaml").read_text())["data"]
    program = data[f"resource.customizations.health.{group}_{kind}"]
    health = dict(zip(shown[group], look("lupa", program=program, objects=list(shown[group].values())), strict=True))
    assert {phase: status for phase, (status, _) in health.items()} == {
        "Completed": "Healthy",
        "Failed": "Degraded",
        "Invalid": "Degraded",
        "Running": "Progressing",
        "Suspended": "Suspended",
        "new": "Progressing",
    }
    assert "worker-0 ended with exit code 3" in health["Failed"][1] and "replicas" in health["Invalid"][1], health
    assert all(message for _, message in health.values())


@pytest.mark.parametrize("group", KINDS)
def test_flux_waits_for_a_job_until_it_runs(shown: Shown, group: str) -> None:
    asked = yaml.safe_load((GITOPS / "flux" / "kustomization.yaml").read_text())["spec"]["healthCheckExprs"]
    own = next(each for each in asked if each["apiVersion"].startswith(f"{group}/"))
    objects = [each if "status" in each else {**each, "status": {}} for each in shown[group].values()]
    found = look("cel", expressions=[own["failed"], own["current"]], objects=objects)
    words = [("failed", "current", "in progress")[each] for each in found]
    assert dict(zip(shown[group], words, strict=True)) == {
        "Completed": "current",
        "Failed": "failed",
        "Invalid": "failed",
        "Running": "current",
        "Suspended": "current",
        "new": "in progress",
    }


def test_the_file_for_argo_cd_patches_its_settings(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "argocd-cm", "--from-literal=url=https://argocd.example")
    kubectl("patch", "configmap", "argocd-cm", "--patch-file", str(GITOPS / "argocd" / "health.yaml"))
    data = kubectl.read("configmap", "argocd-cm")["data"]
    assert data["url"] and len([key for key in data if key.startswith("resource.customizations.health.")]) == 5
    assert data["resource.customizations.health.kubeflow.org_JAXJob"].startswith("hs = {")


def list_examples() -> list[str]:
    found = [*(ROOT / "deploy" / "examples").glob("*.yaml"), *(ROOT / "examples").rglob("*.yaml")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


@pytest.mark.parametrize("path", list_examples())
def test_an_example_that_was_applied_does_not_differ(
    path: str, laptop: Cluster, namespace: str, tmp_path: Path
) -> None:
    """By the three-way difference of Argo CD and kubectl, and by a dry run on the server, as Flux makes it, and Argo CD
    where it is told to. The jobs are suspended, as these ask for GPUs and for hours."""
    kubectl = Kubectl(str(find("kubectl")), laptop, namespace)
    documents = [dict(each) for each in read_documents((ROOT / path).read_text()) if each]
    for each in documents:
        each["metadata"].pop("namespace", None)
        if each["kind"].endswith("Job"):
            each["spec"].setdefault("runPolicy", {})["suspend"] = True
    by_client, by_server = tmp_path / "client.yaml", tmp_path / "server.yaml"
    by_client.write_text(yaml.safe_dump_all(documents))
    for each in documents:
        each["metadata"]["name"] += "-ssa"
    by_server.write_text(yaml.safe_dump_all(documents))

    kubectl("apply", "-f", str(by_client))
    server_side = ("--server-side", "--field-manager=argocd-controller")
    kubectl("apply", *server_side, "-f", str(by_server))
    until("the operator's look", lambda: _are_suspended(kubectl, documents))
    again = kubectl("apply", "-f", str(by_client)).splitlines()
    assert all(line.endswith(" unchanged") for line in again), again
    for words in (("-f", str(by_client)), (*server_side, "-f", str(by_server))):
        differs = kubectl.try_command("diff", *words)
        assert differs.code == 0, str(differs)
    for each in documents:
        if re.match("PersistentVolume$", each["kind"]):
            kubectl(
                "delete", "persistentvolume", each["metadata"]["name"], each["metadata"]["name"].removesuffix("-ssa")
            )


def _are_suspended(kubectl: Kubectl, documents: list[dict[str, Any]]) -> bool:
    for each in documents:
        if each["kind"].endswith("Job"):
            name, plural = each["metadata"]["name"], f"{each['kind'].lower()}s"
            path = f"/apis/{each['apiVersion']}/namespaces/{kubectl.namespace}/{plural}/{name}"
            if kubectl.laptop.read(path).get("status", {}).get("phase") != "Suspended":
                return False
    return True
