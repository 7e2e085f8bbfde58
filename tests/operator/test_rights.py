"""An operator lives with exactly the rights that `paddock manifests operator` gives it: none is lacking, each is used.

The API is the embedded one; `support.rights.Guard` refuses what the Roles do not give. The RBAC of a real server is in
tests/kubernetes/test_rights.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.cluster_reports import Asked as AskedLines
from paddock.app.cluster_reports import ClusterReports
from paddock.app.kinds import build_pod_group_crd
from paddock.install.deployment import Installation, Scope, build_log_rights, build_operator
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.labels import JOB_LABEL, SILENT_ANNOTATION
from paddock.jobs.model import Settings
from paddock.jobs.objects.pod_groups import read_members
from paddock.jobs.objects.schedulers import GANG_SCHEDULERS
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import Forbidden, NotFound, Unauthorized
from paddock.kube.meta import (
    AUTOSCALERS,
    CONFIG_MAPS,
    CRDS,
    EVENTS,
    NAMESPACES,
    PODS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Resource,
    name_of,
)
from paddock.operator.election import Election
from paddock.operator.operator import Operator
from paddock.operator.readings import Readings
from support.fake_kubelet import walking
from support.lives import EXPIRED, FAILED_ONCE, SUSPENDED, Clock, Scene, live
from support.operator_seam import JOBS, Seam, build_job, have_pods, open_cluster, running
from support.rights import Asked, Guard, Wrapper
from support.waiting import until

KINDS = {PADDLEPADDLE.resource: PADDLEPADDLE}
HIDDEN = (SERVICES, CONFIG_MAPS, *GANG_SCHEDULERS)
NEVER_ASKED = {("update", "paddlejobs/finalizers")}
"""The API server looks for this right where an owner reference blocks the owner's deletion."""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        for resource in GANG_SCHEDULERS:
            await api.create(CRDS, build_pod_group_crd(resource))
        for name in ("ops", "team-a"):
            await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield api


@dataclass(slots=True)
class Tenancy:
    """An installation and its namespace team-a, with one job at a time. `api` is an administrator's."""

    api: LocalApi
    installation: Installation
    guard: Guard
    clock: Clock = field(default_factory=Clock)
    serial: count[int] = field(default_factory=count)

    def scene(self) -> Scene:
        return Scene(self.api, "team-a", f"job-{next(self.serial)}", self.clock)

    @asynccontextmanager
    async def operating(self, groups: Resource, api: Api | None = None) -> AsyncIterator[Operator]:
        """An operator as the Deployment runs it, elected in its own namespace."""
        election = Election(self.guard, self.installation.namespace, "test")
        electing = asyncio.create_task(election.run())
        settings = Settings(pod_groups=groups, gang_scheduler=GANG_SCHEDULERS[groups], status_wait=0.1)
        namespaces = self.installation.watched or ("",)
        options: dict[str, Any] = {"kinds": KINDS, "readings": Readings(self.clock), "leadership": election}
        try:
            async with running(api or self.guard, settings, namespaces=namespaces, **options) as operator:
                yield operator
        finally:
            electing.cancel()
            await asyncio.gather(electing, return_exceptions=True)
            await election.release()


async def live_all(tenancy: Tenancy) -> None:
    """Every way of a job: restart, suspension, TTL, a lost node, a gang, and a job that another operator has begun."""
    async with tenancy.operating(VOLCANO_POD_GROUPS):
        for life in (FAILED_ONCE, SUSPENDED, SHORT_LIVED):
            await live(life, tenancy.scene())
        await live_on_a_lost_node(tenancy)
    for groups in GANG_SCHEDULERS:
        async with tenancy.operating(groups):
            await live_in_a_gang(tenancy.scene(), groups)
        await live_under_two(tenancy, groups)


async def _is_deleted(scene: Scene) -> None:
    async def deleted() -> bool:
        return scene.name not in map(name_of, (await scene.api.list(JOBS, scene.namespace)).items)

    await until(deleted)


SHORT_LIVED = replace(EXPIRED, user=_is_deleted, spec={"runPolicy": {"ttlSecondsAfterFinished": 1}})


async def live_on_a_lost_node(tenancy: Tenancy) -> None:
    """A deleted pod whose kubelet is silent: it is deleted by force after a while, if nodes may be read."""
    scene = tenancy.scene()
    async with walking(scene.api, scene.namespace, lambda *_: None, 2):
        await scene.api.create(JOBS, build_job(scene.name, ps=1, worker=1, namespace=scene.namespace))
        await scene.phase("Running")
    await scene.api.delete(PODS, scene.namespace, f"{scene.name}-worker-0", grace=1)
    await until(lambda: _is_attempted_anew(scene))
    scene.clock.offset += 600
    await scene.patch({"metadata": {"annotations": {"time": "went by"}}})
    if tenancy.installation.scope is Scope.CLUSTER:
        await until(lambda: have_pods(scene.api, 2, scene.name, scene.namespace))
    else:
        await until(lambda: _is_told(scene, "NodeUnknown"))
    await end(scene)


async def _is_attempted_anew(scene: Scene) -> bool:
    return bool((await scene.status()).get("attempt") == 1)


async def _is_told(scene: Scene, reason: str) -> bool:
    return ((await scene.status()).get("cause") or {}).get("reason") == reason


async def live_in_a_gang(scene: Scene, groups: Resource) -> None:
    """Its PodGroup is created, resized with the job, and deleted. The job has paddle-operator's finalizer."""
    job = build_job(scene.name, ps=1, worker=1, namespace=scene.namespace)
    job["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org"]
    await scene.api.create(JOBS, job)
    await until(lambda: have_pods(scene.api, 2, scene.name, scene.namespace))
    await scene.patch({"spec": {"worker": {"replicas": 2}}})
    await until(lambda: _has_members(scene, groups, 3))
    await scene.patch({"spec": {"runPolicy": {"suspend": True}}})
    await until(lambda: _has_no_group(scene, groups))
    await end(scene)


async def _has_members(scene: Scene, groups: Resource, members: int) -> bool:
    return [read_members(each["spec"]) for each in (await scene.api.list(groups, scene.namespace)).items] == [members]


async def _has_no_group(scene: Scene, groups: Resource) -> bool:
    return not (await scene.api.list(groups, scene.namespace)).items


async def live_under_two(tenancy: Tenancy, groups: Resource) -> None:
    """Its second operator says what the first one said, and makes what is there, as its caches are behind."""
    scene = tenancy.scene()
    behind = Seam(tenancy.guard)
    behind.told = lambda resource, event: resource not in HIDDEN
    wanted = {("get", each.group, each.plural) for each in (SERVICES, CONFIG_MAPS, groups, EVENTS)}
    wanted.add(("patch", "", "events"))
    async with walking(scene.api, scene.namespace, lambda *_: None, 2):
        async with tenancy.operating(groups):
            warned = build_job(scene.name, ps=1, worker=1, namespace=scene.namespace, elastic=1)
            await scene.api.create(JOBS, warned)
            await scene.phase("Running")
        async with tenancy.operating(groups, behind):

            async def asked() -> bool:
                return wanted <= {(each.verb, each.group, each.plural) for each in tenancy.guard.used}

            await until(asked)
            await end(scene)


async def end(scene: Scene) -> None:
    """The job is deleted with all that it has, without a kubelet."""
    await scene.api.delete(JOBS, scene.namespace, scene.name)

    async def is_gone() -> bool:
        for pod in (await scene.api.list(PODS, scene.namespace, labels=f"{JOB_LABEL}={scene.name}")).items:
            with suppress(NotFound):
                await scene.api.delete(PODS, scene.namespace, name_of(pod), grace=0)
        return await scene.is_gone()

    await until(is_gone)


TEAM = ("team-a",)


@pytest.mark.parametrize(
    ("watched", "scope", "refused"),
    [
        (TEAM, Scope.CLUSTER, set()),
        pytest.param(TEAM, Scope.NAMESPACE, {"get nodes fake-node"}, marks=pytest.mark.slow),
        pytest.param((), Scope.CLUSTER, set(), marks=pytest.mark.slow),
    ],
    ids=["one namespace", "nothing of the cluster", "all namespaces"],
)
async def test_no_right_is_lacking_and_each_is_used(
    cluster: LocalApi, watched: tuple[str, ...], scope: Scope, refused: set[str]
) -> None:
    installation = Installation(namespace="ops", watched=watched, scope=scope)
    tenancy = Tenancy(cluster, installation, Guard(cluster, build_operator(installation)))
    await live_all(tenancy)
    assert tenancy.guard.refused == refused
    unused = {(each.verb, each.plural) for each in tenancy.guard.granted - tenancy.guard.used}
    assert unused == NEVER_ASKED


@pytest.mark.parametrize(
    ("namespace", "said"),
    [
        ("", "cannot watch pods in all namespaces, trying again: pods is forbidden"),
        (
            "",
            "deploy/v1/operator-all-namespaces.yaml has the rights that it needs (`paddock manifests operator "
            "--image IMAGE -A`)",
        ),
        ("team-b", "`paddock manifests operator --image IMAGE --jobs-in team-b` prints the rights that it needs there"),
    ],
)
async def test_rights_in_one_namespace_are_none_elsewhere_and_the_log_names_the_cure(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture, namespace: str, said: str
) -> None:
    guard = Guard(cluster, build_operator(Installation(namespace="ops", watched=TEAM)))
    operator = Operator(guard, Settings(), kinds=KINDS, namespaces=(namespace,))
    task = asyncio.create_task(operator.run())

    async def is_said() -> bool:
        return any(said in line and "watch pods" in line for line in caplog.messages)

    await until(is_said)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not operator.ready.is_set()
    assert "pods" in operator.unsynced()


class WithAutoscalers(Wrapper):
    """Serves autoscaling/v2 by a definition of another group: those of Kubernetes' own groups are refused."""

    served = replace(AUTOSCALERS, group="autoscaling.example.dev")

    async def send(self, call: Call[T]) -> T:
        if call.resource != AUTOSCALERS:
            return await super().send(call)
        changes: dict[str, Any] = {"resource": self.served}
        if isinstance(call, Create):
            changes["manifest"] = {**call.manifest, "apiVersion": self.served.api_version}
        return await super().send(msgspec.structs.replace(call, **changes))

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        async for event in super().follow(self.served if resource == AUTOSCALERS else resource, namespace, **selectors):
            yield event


@pytest.mark.parametrize("watched", [TEAM, ()], ids=["one namespace", "all namespaces"])
@pytest.mark.parametrize("is_installed", [False, True], ids=["without the Role for logs", "with it"])
async def test_logs_are_asked_for_where_the_optional_role_is_and_nowhere_else(
    cluster: LocalApi, watched: tuple[str, ...], is_installed: bool
) -> None:
    """The Role gives this one right, which the operator uses; without it nothing is asked for that is refused."""
    installation = Installation(namespace="ops", watched=watched)
    optional = build_log_rights(installation) if is_installed else ()
    guard = Guard(cluster, (*build_operator(installation), *optional))

    async def read(asked: AskedLines, _most: int) -> bytes:
        async with guard.asking(Asked("get", PODS, "log", asked.pod.name, asked.pod.namespace)):
            return b"2026-11-28T20:00:00Z step 1\n"

    reports = ClusterReports(guard, read, "ops", clock=lambda: 4 * time.monotonic())
    looking = asyncio.create_task(reports.run())
    job = build_job("silent", ps=0, worker=2, namespace="team-a")
    job["metadata"]["annotations"] = {SILENT_ANNOTATION: "20s=Tell"}
    scene = Scene(cluster, "team-a", "silent", Clock())
    log = {each for each in guard.granted if each.plural == "pods/log"}
    try:
        async with (
            running(guard, Settings(), Readings(programs=reports), kinds=KINDS, namespaces=watched or ("",)),
            walking(cluster, "team-a", lambda *_: None, 2),
        ):
            await cluster.create(JOBS, job)
            if is_installed:
                await until(lambda: _is_told(scene, "JobSilent"))
                assert log and log <= guard.used
                assert not await _find_events(cluster, "SilenceUnseen")
            else:
                (said,) = await until(lambda: _find_events(cluster, "SilenceUnseen"))
                assert "`paddock manifests logs -n ops --jobs-in team-a` prints a Role" in said
                assert not log and not await _is_told(scene, "JobSilent")
            await end(scene)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert not guard.refused


async def _find_events(api: Api, reason: str) -> list[str]:
    return [each["message"] for each in (await api.list(EVENTS, "team-a")).items if each["reason"] == reason]


async def test_the_autoscaler_of_an_elastic_job_is_made_changed_and_deleted_with_the_rights_of_its_kind(
    cluster: LocalApi,
) -> None:
    await cluster.create(CRDS, build_pod_group_crd(WithAutoscalers.served))
    torch = KUBEFLOW_PYTORCH.resource
    installation = Installation(namespace="ops", watched=TEAM, kinds=(torch,))
    guard = Guard(WithAutoscalers(cluster), build_operator(installation))
    kinds: dict[str, Any] = {"kinds": {torch: KUBEFLOW_PYTORCH}}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
    job = build_elastic_job("elastic", [metric])

    async def found() -> list[dict[str, Any]]:
        return [each["spec"] for each in (await cluster.list(WithAutoscalers.served, "team-a")).items]

    async def has(most: int | None) -> bool:
        return [each["maxReplicas"] for each in await found()] == ([] if most is None else [most])

    async with running(guard, Settings(autoscalers=AUTOSCALERS), namespaces=TEAM, **kinds):
        await cluster.create(torch, job)
        await until(lambda: has(3))
        await cluster.patch(torch, "team-a", "elastic", {"spec": {"elasticPolicy": {"maxReplicas": 5}}})
        await until(lambda: has(5))
        await cluster.patch(torch, "team-a", "elastic", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: has(None))
    asked = {each.verb for each in guard.used if each.plural == "horizontalpodautoscalers"}
    assert asked == {"list", "watch", "create", "patch", "delete"}
    assert not [each for each in guard.refused if "horizontalpodautoscalers" in each]


class WithoutAToken(WithAutoscalers):
    """Does not take the operator's token at its first look at autoscalers."""

    looks = 0

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        if resource == AUTOSCALERS:
            self.looks += 1
            if self.looks == 1:
                raise Unauthorized("Unauthorized")
        async for event in super().follow(resource, namespace, **selectors):
            yield event


async def test_a_token_that_is_not_taken_once_does_not_end_the_watch_of_autoscalers(cluster: LocalApi) -> None:
    await cluster.create(CRDS, build_pod_group_crd(WithAutoscalers.served))
    torch, metric = KUBEFLOW_PYTORCH.resource, {"type": "Resource", "resource": {"name": "cpu"}}

    async def is_made() -> bool:
        return bool((await cluster.list(WithAutoscalers.served, "team-a")).items)

    served = Settings(autoscalers=AUTOSCALERS)
    async with running(WithoutAToken(cluster), served, kinds={torch: KUBEFLOW_PYTORCH}):
        await cluster.create(torch, build_elastic_job("elastic", [metric]))
        await until(is_made)


class RefusedIn(WithAutoscalers):
    """Gives no right to watch autoscalers in one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        super().__init__(api)
        self._refused = namespace

    @asynccontextmanager
    async def asking(self, asked: Asked) -> AsyncIterator[None]:
        if (asked.resource, asked.namespace) == (self.served, self._refused):
            raise Forbidden("horizontalpodautoscalers is forbidden")
        yield


async def test_autoscalers_that_are_refused_in_one_namespace_are_made_in_the_others_and_its_jobs_say_why(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.create(CRDS, build_pod_group_crd(WithAutoscalers.served))
    torch, metric = KUBEFLOW_PYTORCH.resource, {"type": "Resource", "resource": {"name": "cpu"}}
    spaces: dict[str, Any] = {"namespaces": ("ops", "team-a"), "kinds": {torch: KUBEFLOW_PYTORCH}}

    async def told() -> list[str]:
        return [each["message"] for each in (await cluster.list(EVENTS, "ops")).items if _says_none(each)]

    async def made() -> list[str]:
        return [each["metadata"]["namespace"] for each in (await cluster.list(WithAutoscalers.served, "")).items]

    async with running(RefusedIn(cluster, "ops"), Settings(autoscalers=AUTOSCALERS), **spaces):
        for namespace in ("ops", "team-a"):
            await cluster.create(torch, build_elastic_job("elastic", [metric], namespace))
        await until(made)
        assert "horizontalpodautoscalers is forbidden" in (await until(told))[0]
        await until(lambda: have_pods(cluster, 2, "elastic", "ops"))
    assert await made() == ["team-a"]
    assert not [each for each in (await cluster.list(EVENTS, "team-a")).items if _says_none(each)]
    assert [line for line in caplog.messages if "cannot be watched in namespace ops" in line]


def _says_none(event: Mapping[str, Any]) -> bool:
    return bool(event["reason"] == "NoAutoscaler")


async def test_a_cluster_without_autoscalers_runs_elastic_jobs_all_the_same(
    cluster: LocalApi, caplog: pytest.LogCaptureFixture
) -> None:
    torch = KUBEFLOW_PYTORCH.resource
    async with running(cluster, Settings(autoscalers=AUTOSCALERS), kinds={torch: KUBEFLOW_PYTORCH}):
        await cluster.create(torch, build_elastic_job("elastic", []))
        await until(lambda: have_pods(cluster, 2, "elastic", "team-a"))
    assert any("so no autoscaler is made for elasticPolicy.metrics" in line for line in caplog.messages)


def build_elastic_job(name: str, metrics: list[dict[str, Any]], namespace: str = "team-a") -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "pytorch", "image": "torch:2", "command": ["python", "train.py"]}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runPolicy": {},
            "elasticPolicy": {"minReplicas": 1, "maxReplicas": 3, "metrics": metrics},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": pod}},
        },
    }
