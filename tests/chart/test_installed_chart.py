"""The chart on a real API server: helm installs, upgrades and removes it, and looks for others' operators before.

The control plane has no node. Where jobs are to run, the operator runs here, with the rights and the arguments of the
Deployment that Helm made (`support.deployed`).
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chart.chart import CHART, ROOT, helm, render
from chart.others import OTHERS, build_definition, build_deployment
from paddock.cli.main import cli
from paddock.cli.verbs.manifests import build_manifests
from paddock.install.deployment import DEPLOYMENT, EXAMPLE_IMAGE, Installation
from paddock.install.foreign import is_ours
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, name_of, namespace_of
from support.deployed import Kubectl, operator, until_served, write_kubeconfig
from support.kubeflow_jobs import FIELDS
from support.kubeflow_jobs import build_job as build_kubeflow_job
from support.operator_seam import build_job
from support.waiting import until
from support.worlds import ControlPlane, World, open_control_plane

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]

ALL = ("--set", "kinds={batch.paddlepaddle.org,kubeflow.org}")
_SERIAL = count()


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Their own: a release and somebody else's operator are the whole cluster's."""
    with open_control_plane(tmp_path_factory.mktemp("chart-control-plane")) as plane:
        yield plane


class Cluster:
    """Helm and kubectl as the administrator, and a namespace of the test's own."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.kubectl = plane, Kubectl(plane)
        self.namespace = f"chart-{next(_SERIAL)}"
        self.kubectl("create", "namespace", self.namespace)

    def try_command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Helm with these words, in the root of the repository."""
        return helm(*words, "--kubeconfig", str(self.plane.kubeconfig), seconds=180)

    def command(self, *words: str) -> str:
        done = self.try_command(*words)
        assert done.returncode == 0, f"helm {' '.join(words)}: {done.stderr}"
        return done.stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.try_command(*words, "-n", self.namespace)

    def helm(self, *words: str) -> str:
        return self.command(*words, "-n", self.namespace)

    def install(self, *words: str) -> str:
        return self.helm("install", "paddock", str(CHART), *words)

    def would_install(self, *words: str) -> None:
        """Fails the test if Helm would refuse. Some of these Deployments have the chart's name: it may take them."""
        self.install("--dry-run=server", "--take-ownership", *words)

    def refusal(self, *words: str) -> str:
        """What Helm says when it installs nothing; only asked, not done."""
        done = self.run("install", "paddock", str(CHART), "--dry-run=server", *words)
        assert done.returncode == 1, "it would be installed"
        return done.stderr

    def read(self, *words: str) -> Any:
        return json.loads(self.kubectl("-n", self.namespace, "get", *words, "-o", "json"))

    def create(self, manifest: Manifest) -> None:
        self.kubectl("create", "-f", "-", stdin=json.dumps(manifest))

    def clean(self) -> None:
        self.run("uninstall", "paddock")
        self.kubectl("delete", "deployments", "--all", "-n", self.namespace)
        self.kubectl("delete", "crd", "--all")
        self.kubectl("delete", "namespace", self.namespace, "--wait=false")


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[Cluster]:
    cluster = Cluster(plane)
    yield cluster
    cluster.clean()


def build_jobs(world: World) -> list[Manifest]:
    """One of each kind, with the kind's name as its own."""
    of_kubeflow = (build_kubeflow_job(kind, world, kind.lower(), Worker=1) for kind in FIELDS)
    return [build_job("first", ps=1, worker=1, namespace=world.namespace), *of_kubeflow]


async def test_what_is_installed_runs_a_job_of_each_kind(cluster: Cluster, tmp_path: Path) -> None:
    """With the rights and the arguments that Helm gave it."""
    said = cluster.install(*ALL)
    assert "`helm uninstall` leaves them, with all jobs" in said
    for each in render(cluster.namespace, ALL[1]):
        where = ("-n", namespace_of(each)) if namespace_of(each) else ()
        cluster.kubectl("get", each["kind"], name_of(each), *where)
    await until_served(cluster.kubectl)
    deployment = cluster.read("deployment", DEPLOYMENT)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    config = write_kubeconfig(cluster.plane, tmp_path / "kubeconfig", cluster.namespace)
    jobs = build_jobs(World(None, cluster.namespace, cluster.plane))
    assert len(jobs) == len(KINDS)
    with operator(config, container["args"]) as running:
        for job in jobs:
            cluster.create(job)

        async def have_pods() -> bool:
            pods = await asyncio.to_thread(cluster.kubectl.names, "-n", cluster.namespace, "pods")
            wanted = ("first-ps-0", "first-worker-0", *(f"{kind.lower()}-worker-0" for kind in FIELDS))
            return {f"pod/{name}" for name in wanted} <= set(pods)

        await until(have_pods)
        assert not [entry for entry in running.entries() if "forbidden" in entry["msg"].lower()]


def test_an_upgrade_changes_what_was_asked_for_and_nothing_else(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", other := f"{cluster.namespace}-other")
    cluster.install("--set", f"webhook.enabled=true,namespaces={{{cluster.namespace},{other}}}")
    roles = cluster.kubectl.names("-n", other, "roles")
    assert roles == [f"role.rbac.authorization.k8s.io/paddle-manager-role-{cluster.namespace}"]
    configuration = f"paddle-webhook-{cluster.namespace}"
    certificate = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "eA=="}]
    path = ("validatingwebhookconfiguration", configuration)
    cluster.kubectl("patch", *path, "--type=json", "-p", json.dumps(certificate))
    before = cluster.read("deployment", DEPLOYMENT)

    values = f"operator.replicas=2,gangScheduler.podGroups=volcano,namespaces={{{cluster.namespace}}}"
    cluster.helm("upgrade", "paddock", str(CHART), "--reuse-values", "--set", values)

    after = cluster.read("deployment", DEPLOYMENT)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["replicas"] == 2
    (container,) = after["spec"]["template"]["spec"]["containers"]
    assert {f"--namespace={cluster.namespace}", "--scheduling=volcano"} <= set(container["args"])
    assert cluster.kubectl.names("-n", other, "roles") == [], "a right that is not needed any more is taken away"
    (webhook,) = cluster.read(*path)["webhooks"]
    assert webhook["clientConfig"]["caBundle"] == "eA==", "its certificate is the webhook's own matter"
    assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == [cluster.namespace]
    # This server has no policy/v1, by which two operators have a budget.
    assert "policy/v1\n" not in cluster.kubectl("api-versions")


async def test_jobs_and_definitions_outlive_the_release_and_are_found_by_the_next(cluster: Cluster) -> None:
    cluster.install()
    await until_served(cluster.kubectl)
    cluster.create(build_job(namespace=cluster.namespace))
    said = cluster.helm("uninstall", "paddock")
    assert "[CustomResourceDefinition] paddlejobs.batch.paddlepaddle.org" in said
    assert cluster.kubectl.names("-n", cluster.namespace, "deployments,serviceaccounts") == ["serviceaccount/default"]
    job = cluster.read("pdj", "demo")
    cluster.install()
    assert cluster.read("pdj", "demo")["metadata"]["uid"] == job["metadata"]["uid"]


def test_what_kubectl_installed_becomes_the_release(cluster: Cluster) -> None:
    """`paddock manifests | kubectl apply`, and then Helm: the same names and the same selector."""
    printed = build_manifests("all", Installation(namespace=cluster.namespace, watched=(cluster.namespace,)))
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": printed}))
    before = cluster.read("deployment", DEPLOYMENT)
    assert "invalid ownership metadata" in cluster.refusal(), "Helm takes nothing without being told"
    cluster.install("--take-ownership", "--set", "operator.replicas=2")
    after = cluster.read("deployment", DEPLOYMENT)
    assert (after["metadata"]["uid"], after["spec"]["replicas"]) == (before["metadata"]["uid"], 2)
    assert after["metadata"]["annotations"]["meta.helm.sh/release-name"] == "paddock"


@pytest.fixture(scope="module")
def looked(plane: ControlPlane) -> Cluster:
    return Cluster(plane)


@pytest.mark.parametrize("other", OTHERS)
def test_somebody_elses_operator_is_named(looked: Cluster, other: str) -> None:
    words, labels, said = OTHERS[other]
    deployment = build_deployment(looked.namespace, *words, **labels)
    looked.create(deployment)
    try:
        if not said:
            looked.would_install(*ALL)
            return
        refusal = looked.refusal(*ALL)
        name = name_of(deployment)
        assert f"Deployment {name} in namespace {looked.namespace} (image {words[1]}) seems to be" in refusal
        assert said in refusal
        assert f"kubectl -n {looked.namespace} scale deployment {name} --replicas=0" in refusal
        looked.would_install(*ALL, "--set", "foreignOperator=ignore")
        looked.kubectl("-n", looked.namespace, "scale", "deployment", name, "--replicas=0")
        looked.would_install(*ALL)
    finally:
        looked.kubectl("-n", looked.namespace, "delete", "deployment", name_of(deployment))


def test_an_operator_of_other_kinds_is_let_be(looked: Cluster) -> None:
    looked.create(build_deployment(looked.namespace, "training-operator", "kubeflow/training-operator:v1"))
    try:
        looked.would_install()
    finally:
        looked.kubectl("-n", looked.namespace, "delete", "deployment", "training-operator")


def test_who_may_look_into_one_namespace_looks_there_alone(cluster: Cluster) -> None:
    """A tenant's account: Helm needs Secrets, and the chart no more than what it makes and Deployments."""
    tenant = write_tenant(cluster)
    words = ("--kubeconfig", str(tenant), "--set", "scope=namespace,crds=false")
    done = helm("install", "paddock", str(CHART), "-n", cluster.namespace, *words)
    assert done.returncode == 0, done.stderr
    assert cluster.read("deployment", DEPLOYMENT)["spec"]["replicas"] == 1


def write_tenant(cluster: Cluster) -> Path:
    """A kubeconfig with the rights of Kubernetes' `admin` in the namespace, and those on jobs: nobody gives a right
    that he has not himself."""
    cluster.kubectl("apply", "-f", "deploy/v1/crd.yaml")
    where = ("-n", cluster.namespace)
    account = f"{cluster.namespace}:tenant"
    cluster.kubectl(*where, "create", "serviceaccount", "tenant")
    cluster.kubectl(*where, "create", "rolebinding", "tenant", "--clusterrole=admin", f"--serviceaccount={account}")
    given = next(each for each in render(cluster.namespace) if name_of(each) == "paddle-manager-role")
    lease = next(each for each in render(cluster.namespace) if name_of(each) == "paddle-leader-election-role")
    for name, role in (("jobs", given), ("lease", lease)):
        cluster.create(role | {"metadata": {"name": f"tenant-{name}", "namespace": cluster.namespace}})
        words = (f"tenant-{name}", f"--role=tenant-{name}", f"--serviceaccount={account}")
        cluster.kubectl(*where, "create", "rolebinding", *words)
    return write_kubeconfig(cluster.plane, cluster.plane.home / "tenant", cluster.namespace, "tenant")


def test_a_definition_that_is_not_paddocks_is_named_with_whose_it_seems(cluster: Cluster) -> None:
    release = {"meta.helm.sh/release-name": "cce-ai", "meta.helm.sh/release-namespace": "kube-system"}
    cluster.create(build_definition(annotations=release, labels={"app.kubernetes.io/managed-by": "Helm"}))
    refusal = cluster.refusal()
    assert (
        "CustomResourceDefinition paddlejobs.batch.paddlepaddle.org is not Paddock's (Helm release cce-ai in" in refusal
    )
    assert "nothing was installed" in refusal
    assert "Never uninstall that release" in refusal
    assert "kubectl -n kube-system delete secret -l owner=helm,name=cce-ai" in refusal


async def test_a_release_that_was_taken_over_is_forgotten_and_nothing_is_deleted(cluster: Cluster) -> None:
    """What the chart and the page advise. `helm uninstall` of the other release would delete the definition."""
    cluster.install()
    await until_served(cluster.kubectl)
    cluster.create(build_job(namespace=cluster.namespace))
    cluster.helm("install", "another", str(CHART), "--take-ownership")
    cluster.kubectl("-n", cluster.namespace, "delete", "secret", "-l", "owner=helm,name=paddock")
    assert [each["name"] for each in json.loads(cluster.helm("list", "-o", "json"))] == ["another"]
    assert cluster.read("pdj", "demo")["spec"]
    cluster.helm("uninstall", "another")


def test_paddock_status_says_the_same_without_helm(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who installs by `paddock manifests | kubectl apply` asks by it."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.plane.kubeconfig))
    (context,) = cluster.kubectl("config", "get-contexts", "-o", "name").split()

    def ask(*words: str) -> str:
        return CliRunner().invoke(cli, ["status", "--context", context, *words], prog_name="paddock").output

    assert "others:" not in ask()
    cluster.create(build_definition())
    cluster.create(build_deployment(cluster.namespace, "training-operator", "kubeflow/training-operator:v1"))
    first, second = ask().splitlines()[-2:]
    assert first.startswith(f"others:     Deployment training-operator in namespace {cluster.namespace} (image")
    assert second.startswith("            CustomResourceDefinition paddlejobs.batch.paddlepaddle.org is not Paddock's")
    facts = json.loads(ask("-o", "json"))
    assert facts["others"][0] | {"why": ""} == {
        "namespace": cluster.namespace,
        "deployment": "training-operator",
        "images": ["kubeflow/training-operator:v1"],
        "kinds": [kind.qualified for kind in KINDS if kind.group == "kubeflow.org"],
        "why": "",
    }
    assert [each["name"] for each in facts["foreignDefinitions"]] == ["paddlejobs.batch.paddlepaddle.org"]


@pytest.mark.parametrize("replicas", [0, 1])
async def test_paddle_operator_is_taken_over_with_its_jobs(cluster: Cluster, replicas: int) -> None:
    """Its Deployment has this chart's name, so Helm changes it where it is, stopped or not."""
    image = "registry.baidubce.com/paddle-operator/controller:v0.3.5"
    cluster.create(build_definition())
    cluster.create(build_deployment(cluster.namespace, DEPLOYMENT, image, replicas=replicas))
    await until_served(cluster.kubectl)
    cluster.create(build_job(namespace=cluster.namespace))
    job = cluster.read("pdj", "demo")
    refusal = cluster.refusal("--take-ownership")
    assert ("seems to be paddle-operator" in refusal) is bool(replicas)
    assert "CustomResourceDefinition paddlejobs.batch.paddlepaddle.org is not Paddock's" in refusal
    before = cluster.read("deployment", DEPLOYMENT)

    cluster.install("--take-ownership", "--set", "foreignOperator=takeOver")

    after = cluster.read("deployment", DEPLOYMENT)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["replicas"] == 1
    (container,) = after["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == (EXAMPLE_IMAGE, ["paddock", "operator"])
    assert cluster.read("pdj", "demo")["metadata"]["uid"] == job["metadata"]["uid"]
    cluster.helm("upgrade", "paddock", str(CHART), "--set", "foreignOperator=refuse")


def read_commands(page: str, heading: str) -> list[list[str]]:
    """The commands of Helm below a heading of a page."""
    text = (ROOT / "docs" / page).read_text().split(f"{heading}\n", 1)[1].split("\n## ", 1)[0].replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if re.match(r" +helm ", line)]


def test_the_page_installs_upgrades_and_removes(cluster: Cluster) -> None:
    """Its commands as they are typed, in their order; the fourth is the one that takes over."""
    install, upgrade, uninstall, take_over = read_commands("kubernetes.md", "## By Helm")
    for command in (install, upgrade, uninstall, take_over, uninstall):
        cluster.command(*command)


async def test_the_page_of_kubeflow_takes_its_jobs_over(cluster: Cluster) -> None:
    """Its step 1 is done: the operator is stopped. The definitions are Kubeflow's, and a job is stored."""
    pytorch = next(kind for kind in KINDS if kind.kind == "PyTorchJob")
    cluster.create(build_definition(pytorch))
    cluster.create(build_deployment(cluster.namespace, "training-operator", "kubeflow/training-operator:v1"))
    job = build_kubeflow_job("PyTorchJob", World(None, cluster.namespace), Worker=1)

    async def stored() -> bool:
        done = await asyncio.to_thread(cluster.kubectl.run, "create", "-f", "-", stdin=json.dumps(job))
        return done.returncode == 0

    await until(stored)
    before = cluster.read("pytorchjob", "demo")["metadata"]["uid"]
    (command,) = read_commands("kubeflow.md", "## From training-operator, and back")
    assert "training-operator in namespace" in cluster.try_command(*command).stderr
    cluster.kubectl("-n", cluster.namespace, "scale", "deployment", "training-operator", "--replicas=0")
    cluster.command(*command)
    assert is_ours(cluster.read("crd", pytorch.qualified))
    assert cluster.read("pytorchjob", "demo")["metadata"]["uid"] == before
    cluster.command("uninstall", "paddock", "-n", "paddle-system")


def test_who_takes_over_is_still_told_of_one_that_runs_elsewhere(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", other := f"{cluster.namespace}-other")
    cluster.create(build_deployment(other, "paddle-controller-manager", "paddle-operator:v0.3.5"))
    try:
        refusal = cluster.refusal("--take-ownership", "--set", "foreignOperator=takeOver")
        assert f"Deployment paddle-controller-manager in namespace {other}" in refusal
    finally:
        cluster.kubectl("delete", "namespace", other, "--wait=false")
        cluster.kubectl("-n", other, "delete", "deployments", "--all", "--ignore-not-found")
