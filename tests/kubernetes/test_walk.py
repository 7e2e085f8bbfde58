"""The documents' walk, command by command, by the real kubectl on a real control plane: install, submit, look, remove.

What a kubelet would do is done here by patching the statuses of pods; the operator is the real process, with the rights
and the arguments that `deploy/v1/operator.yaml` gives it.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.app.kinds import build_pod_group_crd
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.deployment import DEPLOYMENT, EXAMPLE_IMAGE, NAMESPACE
from paddock.kube.meta import VOLCANO_POD_GROUPS
from support.deployed import DEPLOY, Kubectl, Process, arguments_of, operator, until_served, write_kubeconfig
from support.operator_seam import JOBS, have_pods, set_phase
from support.waiting import until
from support.worlds import ControlPlane

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = sorted((DEPLOY / "examples").glob("*.yaml"))
_DELETE_SECONDS = 180
"""Seconds that kubectl waits for what it deletes, on a busy machine; by itself it takes ten."""
REMOVE = ("delete", "-f", "deploy/v1/crd.yaml", "-f", "deploy/v1/operator.yaml")


@pytest.fixture
async def kubectl(control_plane: ControlPlane) -> AsyncIterator[Kubectl]:
    """kubectl of a control plane without CRDs: objects of other tests are removed before, its own afterwards."""
    kubectl = Kubectl(control_plane)
    await asyncio.to_thread(kubectl, "delete", "crd", "--all")
    yield kubectl
    await asyncio.to_thread(kubectl, *REMOVE, "--ignore-not-found")
    await asyncio.to_thread(kubectl, "delete", "crd", "--all")


@pytest.fixture
async def administrator(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(read_config(str(control_plane.kubeconfig))) as client:
        yield client


async def install(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "deploy/v1/crd.yaml")
    kubectl("create", "-f", "deploy/v1/operator.yaml")
    await until_served(kubectl)


@contextmanager
def operator_of(kubectl: Kubectl, file: Path, folder: Path) -> Iterator[Process]:
    """The process that the Deployment of this file would run."""
    with operator(write_kubeconfig(kubectl.control_plane, folder / "kubeconfig"), arguments_of(file.read_text())) as it:
        yield it


async def train(administrator: Client, name: str, namespace: str = NAMESPACE) -> None:
    """Writes the pod statuses of a job that trains and ends, as kubelets would."""
    pods = await until(lambda: have_pods(administrator, 4, name, namespace))
    for number, pod in enumerate(sorted(pods)):
        await set_phase(administrator, pod, "Running", address=f"10.98.0.{number + 2}", namespace=namespace)
    for worker in (f"{name}-worker-0", f"{name}-worker-1"):
        await set_phase(administrator, worker, "Succeeded", address="10.98.0.9", namespace=namespace)


async def until_completed(kubectl: Kubectl, namespace: str = NAMESPACE) -> list[str]:
    """The lines of `kubectl get pdj`, once there is one that is Completed."""

    async def completed() -> list[str]:
        lines = (await asyncio.to_thread(kubectl, "-n", namespace, "get", "pdj")).splitlines()
        return lines if "Completed" in "".join(lines) else []

    found: list[str] = await until(completed)
    return found


async def test_the_documents_walk(kubectl: Kubectl, administrator: Client, tmp_path: Path) -> None:
    assert "created" in kubectl("create", "-f", "deploy/v1/crd.yaml")
    listed = kubectl("get", "crd").splitlines()
    assert listed[0].split() == ["NAME", "CREATED", "AT"]
    assert [line.split()[0] for line in listed[1:]] == ["paddlejobs.batch.paddlepaddle.org"]
    kubectl("create", "-f", "deploy/v1/operator.yaml")
    await until(lambda: _has_pods_of_its_own(kubectl))
    await until_served(kubectl)
    with operator_of(kubectl, DEPLOY / "v1/operator.yaml", tmp_path) as process:
        kubectl("-n", "paddle-system", "create", "-f", "deploy/examples/wide_and_deep.yaml")
        await train(administrator, "wide-ande-deep")
        header, row = await until_completed(kubectl)
        assert header.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
        assert row.split()[:5] == ["wide-ande-deep", "Completed", "PS", "2/2", "0/2"]
        await until(lambda: _explains(kubectl, "pdj.spec.worker.replicas", "How many pods the role has."))
        kubectl(*REMOVE, f"--timeout={_DELETE_SECONDS}s")
        await nothing_is_left(kubectl)
        assert process.end() == 0


async def _explains(kubectl: Kubectl, field: str, sentence: str) -> bool:
    """A server puts a kind into its OpenAPI document some seconds after it serves it."""
    return sentence in (await asyncio.to_thread(kubectl.run, "explain", field)).stdout


async def _has_pods_of_its_own(kubectl: Kubectl) -> bool:
    """`kubectl -n paddle-system get pods` shows the operator's, which no node takes here."""
    lines = (await asyncio.to_thread(kubectl, "-n", NAMESPACE, "get", "pods")).splitlines()
    return any(re.match(rf"{DEPLOYMENT}-\S+\s+0/1\s+Pending", line) for line in lines)


async def nothing_is_left(kubectl: Kubectl) -> None:
    """No definition, so no job either; no namespace; no right; no priority."""
    assert kubectl.names("crd") == []
    assert f"namespace/{NAMESPACE}" not in kubectl.names("namespace")
    others = kubectl.names("clusterrole,clusterrolebinding,priorityclass")
    assert [name for name in others if "paddle" in name] == []


@pytest.mark.parametrize("order", [("crd", "operator"), ("operator", "crd")], ids=" ".join)
@pytest.mark.parametrize("dead", [False, True], ids=["operator alive", "operator dead"])
async def test_it_is_removed_with_jobs_that_train(
    order: tuple[str, str], dead: bool, kubectl: Kubectl, administrator: Client, tmp_path: Path
) -> None:
    await install(kubectl)
    with operator_of(kubectl, DEPLOY / "v1/operator.yaml", tmp_path) as process:
        kubectl("-n", NAMESPACE, "create", "-f", "deploy/examples/wide_and_deep_podip.yaml")
        await until(lambda: have_pods(administrator, 4, "wide-ande-deep-podip", NAMESPACE))
        if dead:
            process.end(signal.SIGKILL)
        files = [word for name in order for word in ("-f", f"deploy/v1/{name}.yaml")]
        kubectl("delete", "--ignore-not-found", *files, f"--timeout={_DELETE_SECONDS}s")
        await nothing_is_left(kubectl)


async def test_the_documents_edit_of_the_namespace(kubectl: Kubectl, administrator: Client, tmp_path: Path) -> None:
    """The argument is edited, and where the Role and its binding are; then jobs are submitted there."""
    edited = tmp_path / "operator.yaml"
    text = (DEPLOY / "v1/operator.yaml").read_text().replace("--namespace=paddle-system", "--namespace=team-a")
    for name in ("paddle-manager-role", "paddle-manager-rolebinding"):
        there = f"  name: {name}\n  namespace: paddle-system\n"
        text = text.replace(there, there.replace("paddle-system", "team-a"))
    edited.write_text(text)
    kubectl("create", "namespace", "team-a")
    kubectl("create", "-f", "deploy/v1/crd.yaml")
    kubectl("create", "-f", str(edited))
    await until_served(kubectl)
    try:
        with operator_of(kubectl, edited, tmp_path):
            kubectl("-n", NAMESPACE, "create", "-f", "deploy/examples/wide_and_deep_podip.yaml")
            kubectl("-n", "team-a", "create", "-f", "deploy/examples/wide_and_deep_service.yaml")
            await train(administrator, "wide-ande-deep-service", "team-a")
            row = (await until_completed(kubectl, "team-a"))[1]
            assert row.split()[:3] == ["wide-ande-deep-service", "Completed", "PS"]  # its servers are being deleted
            assert await have_pods(administrator, 0, "wide-ande-deep-podip", NAMESPACE) == {}
    finally:
        kubectl("delete", "namespace", "team-a")


async def test_kubectl_accepts_every_file_of_deploy_and_examples(kubectl: Kubectl, administrator: Client) -> None:
    """`apply` as well as `create`, the definition in the shape of old clusters, and every example."""
    kubectl("create", "-f", "deploy/v1beta1/crd.yaml")
    await until_served(kubectl)
    kubectl("create", "-f", "deploy/v1beta1/operator.yaml")
    kubectl("-n", NAMESPACE, "create", "-f", "deploy/examples/wide_and_deep.yaml")
    status = {"status": {"phase": "Running", "mode": "PS", "ps": {"ready": "1/2"}, "attempt": 3}}
    await administrator.patch(JOBS, NAMESPACE, "wide-ande-deep", status, subresource="status")
    row = kubectl("-n", NAMESPACE, "get", "pdj").splitlines()[1]
    assert row.split()[:4] == ["wide-ande-deep", "Running", "PS", "1/2"]
    for file in ("crd", "crd", "kubeflow", "operator", "operator-all-namespaces"):
        kubectl("apply", "-f", f"deploy/v1/{file}.yaml")
    kubectl("create", "-f", "-", stdin=json.dumps(build_pod_group_crd(VOLCANO_POD_GROUPS)))
    await until(lambda: _takes(kubectl, DEPLOY / "examples/wide_and_deep_volcano.yaml"))
    for file in EXAMPLES:
        assert "(server dry run)" in kubectl("-n", "default", "create", "--dry-run=server", "-f", str(file))


async def _takes(kubectl: Kubectl, file: Path) -> bool:
    words = ("-n", "default", "create", "--dry-run=server", "-f", str(file))
    return (await asyncio.to_thread(kubectl.run, *words)).returncode == 0


async def test_users_rights_come_with_kubernetes_own_roles(kubectl: Kubectl) -> None:
    """Who may edit a namespace may submit jobs there, and who may view it may look at them."""
    await install(kubectl)
    for who, role in (("alice", "edit"), ("bob", "view")):
        kubectl("-n", NAMESPACE, "create", "rolebinding", who, f"--clusterrole={role}", f"--user={who}")

    async def may(who: str, verb: str) -> bool:
        answer = await asyncio.to_thread(kubectl.run, "-n", NAMESPACE, "auth", "can-i", verb, "pdj", "--as", who)
        return answer.stdout.strip() == "yes"

    await until(lambda: may("alice", "create"))
    await until(lambda: may("bob", "get"))
    assert not await may("bob", "create")
    assert not await may("carol", "get")


async def test_rights_in_one_namespace_are_enough_there(
    kubectl: Kubectl, administrator: Client, tmp_path: Path
) -> None:
    """`paddock manifests operator --scope namespace`: no ClusterRole, and the job trains all the same."""
    from click.testing import CliRunner

    from paddock.cli.main import cli

    words = ["operator", "--image", EXAMPLE_IMAGE, "-n", "team-b", "--scope", "namespace"]
    text = CliRunner().invoke(cli, ["manifests", *words]).output
    kubectl("create", "-f", "deploy/v1/crd.yaml")
    kubectl("create", "namespace", "team-b")
    kubectl("create", "-f", "-", stdin=text)
    await until_served(kubectl)
    try:
        config = write_kubeconfig(kubectl.control_plane, tmp_path / "kubeconfig", "team-b")
        with operator(config, arguments_of(text)) as process:
            kubectl("-n", "team-b", "create", "-f", "deploy/examples/wide_and_deep.yaml")
            await train(administrator, "wide-ande-deep", "team-b")
            await until_completed(kubectl, "team-b")
            assert process.end() == 0
            assert "forbidden" not in process.log.read_text().lower()
    finally:
        kubectl("delete", "namespace", "team-b")
