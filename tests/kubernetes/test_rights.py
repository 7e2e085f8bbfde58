"""The operator asks for what its table of rights allows and for nothing else, and with exactly the rights that
`deploy/v1/operator.yaml` gives it does all of its work. tests/operator/test_rights.py says so without a server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.cluster_reports import ClusterReports, build_line_reader
from paddock.app.kinds import build_pod_group_crd
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.deployment import ACCOUNT, NAMESPACE, Installation, build_log_rights, build_operator
from paddock.install.rights import LEASE, allows, build_rights
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import Settings
from paddock.kube.access_reviews import ACCESS_REVIEWS
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError, NotFound
from paddock.kube.meta import (
    CRDS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    SECRETS,
    VOLCANO_POD_GROUPS,
    name_of,
)
from paddock.operator.election import Election
from paddock.operator.readings import Readings
from support.deployed import DEPLOY, Kubectl, arguments_of, operator, write_kubeconfig
from support.fake_kubelet import walking
from support.lives import EXPIRED, FAILED_ONCE, SUSPENDED, Clock, Scene, live
from support.operator_seam import JOBS, build_job, have_pods, running, set_phase
from support.rights import Asked, Recorder
from support.waiting import until
from support.worlds import ControlPlane, World, create_namespace, open_control_plane, remove_namespace

pytestmark = pytest.mark.slow

RIGHTS = build_rights((PADDLEPADDLE.resource,))
KINDS = {PADDLEPADDLE.resource: PADDLEPADDLE}
IN_A_GANG = Settings(pod_groups=VOLCANO_POD_GROUPS)

UNUSED = {
    ("services", "get"): "when a create finds a Service of that name which the cache does not show",
    ("configmaps", "get"): "when a create finds a ConfigMap of that name which the cache does not show",
    ("events", "get"): "when an operator that was started anew says what its predecessor said",
    ("events", "patch"): "when something is said again",
    ("podgroups", "get"): "when a create finds a PodGroup of that name which the cache does not show",
    ("paddlejobs/finalizers", "update"): "never asked for; the API server looks for it when an owner blocks deletion",
}
"""Rights that the lives below do not need, and who does."""

EVERYWHERE = Installation(namespace="paddle-everywhere", watched=())
"""A second installation on the control plane: its jobs are in namespaces that do not exist yet."""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with what `deploy/v1` installs, as strict about owner references as some clusters are."""
    flag = "kube-apiserver:--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    with open_control_plane(tmp_path_factory.mktemp("strict-control-plane"), "--flag", flag) as plane:
        asyncio.run(_install(plane))
        yield plane


async def _install(plane: ControlPlane) -> None:
    kubectl = Kubectl(plane)
    kubectl("create", "-f", "deploy/v1/crd.yaml", "-f", "deploy/v1/operator.yaml")
    for manifest in build_operator(EVERYWHERE):
        kubectl("create", "-f", "-", stdin=json.dumps(manifest))
    async with Client(read_config(str(plane.kubeconfig))) as administrator:
        await install_volcano(administrator)
    for namespace in (NAMESPACE, EVERYWHERE.namespace):
        await until(lambda namespace=namespace: _may_own(kubectl, namespace))


@asynccontextmanager
async def stage(api: Api, count: int) -> AsyncIterator[list[Scene]]:
    """Scenes of one clock, each with a namespace of its own: a fake kubelet walks all pods of one."""
    namespaces = [await create_namespace(api) for _ in range(count)]
    clock = Clock()
    try:
        yield [Scene(api, namespace, "demo", clock) for namespace in namespaces]
    finally:
        for namespace in namespaces:
            await remove_namespace(api, namespace)


async def live_all(scenes: list[Scene]) -> None:
    """Restart, suspension, TTL; a gang that is resized; a lost node."""
    first, *rest = scenes
    lives = zip((FAILED_ONCE, SUSPENDED, _EXPIRED), rest[1:], strict=True)
    ends = await asyncio.gather(*(live(life, scene) for life, scene in lives), live_in_a_gang(rest[0]))
    assert [each.phase for each in ends[:-1]] == ["Completed", "Completed", ""]
    await live_on_a_lost_node(first)


async def _is_deleted(scene: Scene) -> None:
    """The job itself; what it owned is collected, which a cluster begins half a minute after it learns of a kind."""

    async def deleted() -> bool:
        return scene.name not in map(name_of, (await scene.api.list(JOBS, scene.namespace)).items)

    await until(deleted)


_EXPIRED = replace(EXPIRED, user=_is_deleted, spec={"runPolicy": {"ttlSecondsAfterFinished": 1}})


async def live_in_a_gang(scene: Scene) -> None:
    """Its PodGroup is created, resized with the job, and deleted. The job has paddle-operator's finalizer."""
    job = build_job(ps=1, worker=1, namespace=scene.namespace)
    job["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org"]
    await scene.api.create(JOBS, job)
    await until(lambda: have_pods(scene.api, 2, namespace=scene.namespace))
    await scene.patch({"spec": {"worker": {"replicas": 2}}})
    await until(lambda: have_pods(scene.api, 3, namespace=scene.namespace))
    try:
        await _train_to_the_end(scene)
    except (ApiError, TimeoutError) as error:
        error.add_note(await _tell(scene))
        raise


async def _train_to_the_end(scene: Scene) -> None:
    assert (await scene.api.get(VOLCANO_POD_GROUPS, scene.namespace, "demo"))["spec"]["minMember"] == 3
    await until(lambda: _has_trained(scene))
    await until(scene.pods_are_gone)
    await until(lambda: _has_no_group(scene))
    assert "finalizers" not in (await scene.api.get(JOBS, scene.namespace, "demo"))["metadata"]


async def _has_trained(scene: Scene) -> bool:
    """Pods are looked for again and again, as one may be gone, and the gang with it. Every 20 s a cluster's own
    collector of pods deletes those that it saw going while no node had them, by name alone: so also the pod of a
    resized gang that has the name by now. The audit log of Kubernetes 1.20 has such requests, without a UID."""
    for name, pod in (await have_pods(scene.api, 3, namespace=scene.namespace)).items():
        if pod["status"].get("phase") == "Pending":
            with suppress(NotFound):
                phase = "Succeeded" if "worker" in name else "Running"
                await set_phase(scene.api, name, phase, namespace=scene.namespace)
    return bool((await scene.status()).get("phase") == "Completed")


async def _tell(scene: Scene) -> str:
    events = await scene.api.list(EVENTS, scene.namespace)
    pods = await scene.api.list(PODS, scene.namespace)
    said = [(each.get("reason"), each.get("message")) for each in events.items]
    left = [(name_of(pod), pod["metadata"].get("labels")) for pod in pods.items]
    return f"status: {await scene.status()}\nevents: {said}\npods: {left}"


async def _has_no_group(scene: Scene) -> bool:
    return not (await scene.api.list(VOLCANO_POD_GROUPS, scene.namespace)).items


async def live_on_a_lost_node(scene: Scene) -> None:
    """A deleted pod whose kubelet is silent: it is deleted by force after a while, and recreated."""
    async with walking(scene.api, scene.namespace, lambda *_: None, 2):
        await scene.api.create(JOBS, build_job(ps=1, worker=1, namespace=scene.namespace))
        await scene.phase("Running")
    await scene.api.delete(PODS, scene.namespace, "demo-worker-0", grace=1)
    await until(lambda: _is_attempted_anew(scene))
    scene.clock.offset += 600
    await scene.patch({"metadata": {"annotations": {"time": "went by"}}})
    await until(lambda: have_pods(scene.api, 2, namespace=scene.namespace))


async def _is_attempted_anew(scene: Scene) -> bool:
    return bool((await scene.status()).get("attempt") == 1)


async def install_volcano(api: Api) -> None:
    try:
        await api.create(CRDS, build_pod_group_crd(VOLCANO_POD_GROUPS))
    except AlreadyExists:
        return


@asynccontextmanager
async def operating(recorder: Recorder, scenes: list[Scene], namespace: str) -> AsyncIterator[None]:
    """An operator that was elected in `namespace` and works in the scenes'."""
    election = Election(recorder, namespace, "test")
    task = asyncio.create_task(election.run())
    try:
        async with running(
            recorder,
            IN_A_GANG,
            Readings(scenes[0].clock),
            kinds=KINDS,
            leadership=election,
            namespaces=[scene.namespace for scene in scenes],
        ):
            yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await election.release()


@pytest.mark.slow
async def test_every_request_is_in_the_table_and_every_right_is_used(world: World) -> None:
    await install_volcano(world.api)
    recorder = Recorder(world.api)
    async with stage(world.api, 5) as scenes, operating(recorder, scenes, world.namespace):
        await live_all(scenes)
    outside = [str(each) for each in recorder.asked if not allows(RIGHTS, *each[:4])]
    assert outside == [], "the operator asks for what deploy/ does not allow; add it to jobs.rights"
    used = {(each.plural, each.verb) for each in recorder.asked}
    unused = {(right.plural, verb) for right in RIGHTS for verb in right.verbs} - used
    assert unused - UNUSED.keys() == set(), "a right that nobody needs: take it out of jobs.rights, or say who does"


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (Asked("create", PODS), True),
        (Asked("update", PODS, name="demo-worker-0"), False),
        (Asked("create", PODS, "exec", "demo-worker-0"), False),
        (Asked("update", LEASES, name=LEASE), True),
        (Asked("update", LEASES, name="another"), False),
        (Asked("patch", JOBS, "status", "demo"), True),
        (Asked("update", JOBS, name="demo"), False),
        (Asked("list", NODES), False),
        (Asked("get", SECRETS, name="password"), False),
    ],
    ids=str,
)
def test_the_table_is_read_as_rbac_reads_it(asked: Asked, allowed: bool) -> None:
    assert allows(RIGHTS, *asked[:4]) is allowed


@pytest.mark.kubernetes
@pytest.mark.timeout(600)
async def test_the_account_for_all_namespaces_is_enough_for_a_jobs_whole_life(
    strict: ControlPlane, tmp_path: Path
) -> None:
    """`deploy/v1/operator-all-namespaces.yaml`, in a namespace of its own."""
    config = write_kubeconfig(strict, tmp_path / "kubeconfig", EVERYWHERE.namespace)
    async with (
        Client(read_config(str(strict.kubeconfig))) as administrator,
        Client(read_config(str(config))) as account,
    ):
        recorder = Recorder(account)
        async with stage(administrator, 5) as scenes, operating(recorder, scenes, EVERYWHERE.namespace):
            await live_all(scenes)
    assert recorder.refused == set()
    assert recorder.asked


@pytest.mark.kubernetes
@pytest.mark.timeout(600)
async def test_the_right_to_logs_is_asked_for_and_a_log_that_no_kubelet_gives_ends_no_job(
    strict: ControlPlane, tmp_path: Path
) -> None:
    """Its account as it is installed, then with the optional ClusterRole. Pods are on a node that is not there, so the
    API server answers with an error for each log: what is not known is said, and nothing is ended for it."""
    config = write_kubeconfig(strict, tmp_path / "kubeconfig", EVERYWHERE.namespace)
    async with (
        Client(read_config(str(strict.kubeconfig))) as administrator,
        Client(read_config(str(config))) as account,
        stage(administrator, 1) as (scene,),
    ):
        job = build_job(ps=0, worker=2, namespace=scene.namespace)
        job["metadata"]["annotations"] = {SILENT_ANNOTATION: "60s=Fail"}
        recorder = Recorder(account)
        # Minutes are seconds here: of what is waited for, not of what is measured.
        reports = ClusterReports(
            recorder, build_line_reader(account), EVERYWHERE.namespace, clock=lambda: 30 * time.monotonic()
        )
        looking = asyncio.create_task(reports.run())
        try:
            async with (
                walking(administrator, scene.namespace, lambda *_: None, 2),
                running(recorder, Settings(), Readings(programs=reports), kinds=KINDS, namespaces=[scene.namespace]),
            ):
                await administrator.create(JOBS, job)
                await scene.phase("Running")
                await until(lambda: _is_told(scene, "may not read logs in namespace"))
                for manifest in build_log_rights(EVERYWHERE):
                    Kubectl(strict)("create", "-f", "-", stdin=json.dumps(manifest))
                await until(lambda: _is_told(scene, "cannot be read, so nobody knows whether it prints"))
                status = await scene.status()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
    assert (status["phase"], status["restarts"]) == ("Running", 0)
    assert recorder.refused == set()
    assert {str(each) for each in recorder.asked if each.resource == ACCESS_REVIEWS} == {
        "create selfsubjectaccessreviews"
    }


async def _is_told(scene: Scene, words: str) -> bool:
    """Each look of the test is one of the operator, too: else it looks when more can be known, in real seconds."""
    await scene.patch({"metadata": {"annotations": {"looked": str(time.monotonic())}}})
    events = (await scene.api.list(EVENTS, scene.namespace)).items
    return any(each["reason"] == "SilenceUnseen" and words in each["message"] for each in events)


@pytest.mark.kubernetes
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_shipped_process_needs_no_more(strict: ControlPlane, tmp_path: Path) -> None:
    """The program, its arguments and its account as `deploy/v1/operator.yaml` has them; real time, so a restart waits
    its ten seconds. A second one stands by, and acts when the first has ended."""
    arguments = arguments_of((DEPLOY / "v1" / "operator.yaml").read_text())
    config = write_kubeconfig(strict, tmp_path / "kubeconfig")
    async with Client(read_config(str(strict.kubeconfig))) as administrator:
        with operator(config, arguments) as first, operator(config, arguments) as second:
            for name, life in (("failed", FAILED_ONCE), ("suspended", SUSPENDED)):
                end = await live(life, Scene(administrator, NAMESPACE, name))
                assert end.phase == "Completed"
            holder = await _holder(administrator)
            leader, other = (first, second) if f"leading as {holder}" in first.log.read_text() else (second, first)
            assert leader.end() == 0
            await live(_EXPIRED, Scene(administrator, NAMESPACE, "expired"))
            assert await _holder(administrator) not in ("", holder)
            assert other.end() == 0
    entries = [*first.entries(), *second.entries()]
    assert [each["msg"] for each in entries if each["level"] == "error" or "forbidden" in each["msg"].lower()] == []


async def _holder(administrator: Api) -> str:
    return str((await administrator.get(LEASES, NAMESPACE, LEASE))["spec"].get("holderIdentity") or "")


async def _may_own(kubectl: Kubectl, namespace: str) -> bool:
    """Whether the account's objects may be owned by jobs by now: the server's check of owner references looks for new
    kinds every 30 seconds, and refuses until then."""
    owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": "any", "uid": "any", "blockOwnerDeletion": True}
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [owner]}}
    account = f"system:serviceaccount:{namespace}:{ACCOUNT}"
    words = ("create", "--dry-run=server", "-n", namespace, "--as", account, "-f", "-")
    return (await asyncio.to_thread(kubectl.run, *words, stdin=json.dumps(owned))).returncode == 0
