"""A tenant's day on a real API server, typed: from a user without any right to jobs that run, with what a platform team
sets: rights of one namespace, quotas, LimitRanges, a queue. What is printed on the way is typed as it stands."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.install.deployment import DEPLOYMENT
from paddock.jobs.labels import KUEUE_ANNOTATION, PRIORITY_LABEL, QUEUE_LABEL
from paddock.jobs.model import Settings
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import (
    CONFIG_MAPS,
    CRDS,
    PODS,
    RESOURCE_QUOTAS,
    SECRETS,
    VOLCANO_POD_GROUPS,
    Manifest,
    Resource,
    annotations_of,
    labels_of,
    name_of,
)
from support.kueue import build_definition
from support.operator_seam import JOBS, build_job, running
from support.pod_groups import install, remove
from support.printed import take_printed
from support.tenants import Shell
from support.waiting import until
from support.worlds import ControlPlane, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(900)]
RUN = "paddock --context alice run --image example.org/train:1 --workdir . --detach"
PROGRAM = "-- python train.py"


@pytest.fixture
async def shell(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Shell]:
    async with open_real(control_plane) as world:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "train.py").write_text("print(1)\n")
        shell = Shell(world, tmp_path)
        yield shell
        for pod in (await world.api.list(PODS, world.namespace)).items:  # no kubelet says that they have ended
            await world.api.delete(PODS, world.namespace, name_of(pod), grace=0)


async def run(shell: Shell, options: str = "", *, before: str = "") -> Any:
    return await shell.type(f"cd code; {before}{RUN} {options} {PROGRAM}")


async def grant(shell: Shell, said: str) -> None:
    """What an administrator types who was sent the command."""
    command = said[said.index("kubectl apply -f - <<'END'\n") :]
    given = await shell.type(command)
    assert given.code == 0, f"{command}: {given}"


async def find(shell: Shell, resource: Resource, name: str) -> Manifest | None:
    try:
        return await shell.world.api.get(resource, shell.world.namespace, name)
    except NotFound:
        return None


async def until_pods(shell: Shell, job: str, count: int) -> list[Manifest]:
    async def look() -> list[Manifest]:
        found = (await shell.world.api.list(PODS, shell.world.namespace)).items
        mine = [each for each in found if name_of(each).startswith(f"{job}-worker-")]
        return mine if len(mine) == count else []

    return await until(look)


async def until_jobs_are_counted(shell: Shell) -> None:
    """The controller of quotas looks for new kinds each half minute; a quota that it has counted before it knows all of
    its kinds stays without them for five minutes more. So quotas of jobs alone are made until one is counted."""
    api, namespace = shell.world.api, shell.world.namespace
    jobs = {"hard": {f"count/{JOBS.qualified}": "1"}}
    for number in range(120):
        metadata = {"name": f"probe-{number}", "namespace": namespace}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": jobs}
        await api.create(RESOURCE_QUOTAS, quota)
        await asyncio.sleep(1)
        probes = (await api.list(RESOURCE_QUOTAS, namespace)).items
        if any((each.get("status") or {}).get("used") for each in probes):
            for each in probes:
                await api.delete(RESOURCE_QUOTAS, namespace, name_of(each))
            return
    raise AssertionError("the controller of quotas never counted jobs")


async def test_a_user_without_rights_trains_with_one_grant_in_the_quota_of_the_documents(shell: Shell) -> None:
    namespace = shell.world.namespace
    quota = (Path(__file__).parents[2] / "docs" / "operations" / "tenants.md").read_text()
    hard = next(each for each in re.findall(r"```yaml\n(.*?)```", quota, re.DOTALL) if "kind: ResourceQuota" in each)
    (shell.directory / "quota.yaml").write_text(hard.replace("team-a", namespace))
    await until_jobs_are_counted(shell)
    assert (await shell.type("kubectl apply -f quota.yaml")).code == 0
    async with running(shell.world.api, Settings()):
        refused = await run(shell)
        assert refused.code == 1 and "may not" in refused.err
        assert "sending" not in refused.err, "nothing is announced before it is allowed"
        await grant(shell, refused.err)

        async def counted() -> bool:
            quota = await find(shell, RESOURCE_QUOTAS, "training") or {}
            return len((quota.get("status") or {}).get("used") or {}) == len(quota["spec"]["hard"])

        await until(counted)  # until its controller has counted, the API server refuses all that it counts
        lacks = await run(shell)
        assert lacks.code == 2 and not await find(shell, JOBS, "train"), str(lacks)
        advised = re.search(r"--cpus \S+ --memory \S+(?= fits)", lacks.err)
        assert advised, lacks.err
        ended = await run(shell, advised[0])
        assert ended.code == 0 and "sending 1 file" in ended.err, str(ended)
        (pod,) = await until_pods(shell, "train", 1)
        (container,) = pod["spec"]["containers"]
        assert container["resources"] == {
            "requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "2Gi"},
        }  # fmt: skip

        many = await run(shell, "--name many --workers 2 --cpus 40 --memory 1Gi --framework none")
        assert many.code == 2, str(many)
        assert "it can never start: it asks for 80 CPUs, 40 each, with 63 of 64 left; --cpus 31 fits" in many.err, (
            many.err
        )
        waits = await run(shell, "--name waits --cpus 64 --memory 1Gi")
        assert waits.code == 0 and "it waits until others have ended" in waits.err, str(waits)
        assert "64 CPUs, with 63 of 64 left; --cpus 63 fits" in waits.err, waits.err

        async def told() -> bool:
            said = (await shell.type("paddock --context alice get")).out
            return "the quota training has no room for Pod waits-worker-0: 64 CPUs, with 63 of 64 left" in said

        await until(told)

        secret = await run(shell, "--name kept --cpus 1 --memory 1Gi --secret API_KEY", before="export API_KEY=abc; ")
        assert secret.code == 1 and "may not get secrets" in secret.err, str(secret)
        await grant(shell, secret.err)
        secret = await run(shell, "--name kept --cpus 1 --memory 1Gi --secret API_KEY", before="export API_KEY=abc; ")
        assert secret.code == 0 and "delete it yourself" not in secret.err, str(secret)
        await until_pods(shell, "kept", 1)
        for typed in ("suspend waits --now", "cancel kept --now", "delete kept --now"):
            done = await shell.type(f"paddock --context alice {typed}")
            assert done.code == 0 or "not gone" in done.err, f"{typed}: {done}"  # no kubelet ends a pod
        for each in (await shell.world.api.list(PODS, namespace)).items:
            await shell.world.api.delete(PODS, namespace, name_of(each), grace=0)

        async def gone() -> bool:
            maps = (await shell.world.api.list(CONFIG_MAPS, namespace)).items
            left = [each for each in maps if name_of(each).startswith("kept-workdir")]
            return not left and await find(shell, SECRETS, "kept-env") is None

        await until(gone)


async def test_a_limit_range_is_told_before_anything_is_sent(shell: Shell) -> None:
    bounds = [{
        "type": "Container", "min": {"cpu": "250m"}, "max": {"memory": "4Gi"},
        "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m", "memory": "1Gi"},
    }]  # fmt: skip
    metadata = {"name": "bounds", "namespace": shell.world.namespace}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": bounds}}
    (shell.directory / "bounds.yaml").write_text(yaml.safe_dump(limits))
    assert (await shell.type("kubectl apply -f bounds.yaml")).code == 0
    await grant(shell, (await run(shell)).err)
    async with running(shell.world.api, Settings()):
        small = await run(shell, "--cpus 100m --memory 5Gi")
        assert small.code == 2 and not await find(shell, JOBS, "train"), str(small)
        assert "--cpus is 0.1 CPUs: the LimitRange bounds of" in small.err and "wants 0.25 CPUs at least" in small.err
        assert "--memory is 5.0 GiB: the LimitRange bounds of" in small.err and "allows 4.0 GiB at most" in small.err
        given = await run(shell, "--name given")
        assert given.code == 0 and "each rank asks for 0.5 CPUs and 1.0 GiB" in given.err, str(given)
        more = await run(shell, "--name more --cpus 2")
        assert more.code == 0 and "wants a limit of CPUs" in more.err, str(more)
        (pod,) = await until_pods(shell, "more", 1)
        assert pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "2", "the API server would refuse less"
        await until_pods(shell, "given", 1)


async def test_a_file_is_looked_at_without_any_right_and_the_namespace_can_be_named(shell: Shell) -> None:
    good = build_job("good", ps=0, worker=1)
    del good["metadata"]["namespace"]
    (shell.directory / "good.yaml").write_text(yaml.safe_dump(good))
    (shell.directory / "bad.yaml").write_text(yaml.safe_dump(good).replace("replicas: 1", "replicas: one"))
    bad = await shell.type("PADDOCK_CONTEXT=bob paddock validate bad.yaml good.yaml")
    assert bad.code == 1 and "bad.yaml:" in bad.out and "replicas" in bad.out, str(bad)
    assert "the cluster that PADDOCK_CONTEXT names was not asked: bob may not create" in bad.err
    assert (await shell.type("PADDOCK_CONTEXT=bob paddock validate good.yaml")).code == 0
    asked = await shell.type("paddock --context bob validate bad.yaml good.yaml")
    assert asked.code == 1 and "bad.yaml:" in asked.out and "bob may not create" in asked.err, str(asked)
    status = await shell.type("paddock --context bob status -n team-b")
    assert "namespace:  team-b" in status.out, str(status)


async def test_an_operator_whose_pod_does_not_start_is_not_advised_again(shell: Shell) -> None:
    labels = {"app": "operator"}
    container = {"name": "manager", "image": "registry.example/paddock:1"}
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": DEPLOYMENT},
        "spec": {"selector": {"matchLabels": labels}, "replicas": 1,
                 "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
    }  # fmt: skip
    (shell.directory / "operator.yaml").write_text(json.dumps(deployment))
    assert (await shell.type("kubectl apply -f operator.yaml")).code == 0
    status = await shell.type("paddock --context prod status")
    assert status.code == 1 and "is there, its pods ready: 0 of 1" in status.out, str(status)
    assert "starts one" not in status.out
    assert (await shell.type(take_printed(status.out, "kubectl * get pods"))).code == 0
    assert (await shell.type(f"kubectl scale deployment {DEPLOYMENT} --replicas=0")).code == 0
    status = await shell.type("paddock --context prod status")
    started = await shell.type(take_printed(status.out, "kubectl * scale deployment * --replicas=1"))
    assert started.code == 0 and "scaled" in started.out, str(started)


async def define(shell: Shell, kind: str, plural: str, *, namespaced: bool) -> None:
    """A kind of Kueue, as far as discovery and lists show it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    group, scope = "kueue.x-k8s.io", "Namespaced" if namespaced else "Cluster"
    spec = {"group": group, "scope": scope, "names": names, "versions": [version]}
    api = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    await shell.world.api.create(CRDS, {**api, "metadata": {"name": f"{plural}.{group}"}, "spec": spec})


async def test_a_queue_that_is_not_there_is_told_and_one_that_is_has_the_job(shell: Shell) -> None:
    queues = Resource("kueue.x-k8s.io", "v1beta1", "LocalQueue", "localqueues")
    classes = Resource(
        "kueue.x-k8s.io", "v1beta1", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
    )
    kinds = {each.plural: each for each in (queues, classes)}
    await grant(shell, (await run(shell)).err)
    await install(shell.world.api, VOLCANO_POD_GROUPS)  # the groups of both, without their queues
    with suppress(AlreadyExists):
        await shell.world.api.create(CRDS, build_definition())
    nothing = await run(shell, "--queue gold")
    await remove(shell.world.api, VOLCANO_POD_GROUPS)
    assert nothing.code == 2 and "this cluster has neither Kueue nor Volcano" in nothing.err, str(nothing)
    for each in kinds.values():
        await define(shell, each.kind, each.plural, namespaced=each.namespaced)
    try:
        for resource, name in ((queues, "golden"), (classes, "high")):
            metadata = {"name": name, **({"namespace": shell.world.namespace} if resource.namespaced else {})}
            made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}

            async def create(resource: Resource = resource, made: Manifest = made) -> bool:
                try:
                    await shell.world.api.create(resource, made)
                except NotFound:
                    return False  # it is not served yet
                return True

            await until(create)

        async def discovered() -> bool:
            return "localqueues" in (await shell.type("kubectl get --raw /apis/kueue.x-k8s.io/v1beta1")).out

        await until(discovered)
        unknown = await run(shell, "--queue gold")
        assert unknown.code == 0, "alice may not list queues, so it is not known"
        (shell.directory / "queue.yaml").write_text(yaml.safe_dump({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "alice-queues"},
            "rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": list(kinds), "verbs": ["get", "list"]}],
        }))  # fmt: skip
        for typed in (
            "apply -f queue.yaml",
            "create clusterrolebinding alice-queues --clusterrole=alice-queues --user=alice",
        ):
            assert (await shell.type(f"kubectl {typed}")).code == 0
        wrong = await run(shell, "--name other --queue gold")
        assert wrong.code == 2 and 'it has golden; did you mean "golden"?' in wrong.err, str(wrong)
        right = await run(shell, "--name other --queue golden --priority high")
        assert right.code == 0, str(right)
        job = await find(shell, JOBS, "other")
        assert job is not None
        assert (labels_of(job)[QUEUE_LABEL], labels_of(job)[PRIORITY_LABEL]) == ("golden", "high")
        assert annotations_of(job)[KUEUE_ANNOTATION] == "Pods"
    finally:
        for plural in kinds:
            await shell.world.api.delete(CRDS, "", f"{plural}.kueue.x-k8s.io")
        for kind in ("clusterrolebinding", "clusterrole"):
            await shell.type(f"kubectl delete {kind} alice-queues --ignore-not-found")
