"""ResourceQuotas: what counts towards them, what they refuse, and that `status.used` is exact."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.embedded import is_gone, pod
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import Forbidden, Invalid
from paddock.kube.meta import (
    CLAIMS,
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    SERVICES,
    Manifest,
    Resource,
)
from paddock.kube.quantities import Quantity
from paddock.kube.quotas import Quota, explain_refused, measure, move, read_quota
from support.waiting import until

JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
GPU = "nvidia.com/gpu"


def quota(name: str = "q", *, scopes: tuple[str, ...] = (), select: Manifest | None = None, **hard: str) -> Manifest:
    spec: Manifest = {"hard": {key.replace("__", "/").replace("_", "."): amount for key, amount in hard.items()}}
    if scopes:
        spec["scopes"] = list(scopes)
    if select:
        spec["scopeSelector"] = {"matchExpressions": [select]}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}


def trainer(name: str = "p", *, requests: Any = None, limits: Any = None, **spec: Any) -> Manifest:
    manifest = pod(name)
    resources = {"requests": requests or {}, "limits": limits or {}}
    manifest["spec"] = {"containers": [{"name": "main", "image": "x", "resources": resources}], **spec}
    return manifest


def measured(resource: Resource, manifest: Manifest) -> dict[str, str]:
    return {name: str(amount) for name, amount in measure(resource, manifest).items() if amount}


COUNTS: list[tuple[str, Resource, Manifest, dict[str, str]]] = [
    ("a pod without requests", PODS, trainer(), {"pods": "1", "count/pods": "1"}),
    (
        "what containers ask for, together", PODS,
        trainer(initContainers=[{"name": "i", "resources": {"requests": {"cpu": "3"}}}],
                requests={"cpu": "500m", "memory": "1Gi", GPU: "2"}, limits={"memory": "2Gi", GPU: "2"}),
        {"pods": "1", "count/pods": "1", "cpu": "3", "requests.cpu": "3", "memory": "1Gi", "requests.memory": "1Gi",
         f"requests.{GPU}": "2", "limits.memory": "2Gi"},
    ),
    ("a pod that has ended", PODS, {**trainer(requests={"cpu": "1"}), "status": {"phase": "Failed"}},
     {"count/pods": "1"}),
    ("any other kind", JOBS, {}, {"count/paddlejobs.batch.paddlepaddle.org": "1"}),
    ("a kind of the core group, by both its names", CONFIG_MAPS, {}, {"configmaps": "1", "count/configmaps": "1"}),
    ("ports that a node would open", SERVICES, {"spec": {"type": "NodePort", "ports": [{}, {}]}},
     {"services": "1", "count/services": "1", "services.nodeports": "2"}),
    (
        "storage, of a class too", CLAIMS,
        {"spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "5Gi"}}}},
        {"persistentvolumeclaims": "1", "count/persistentvolumeclaims": "1", "requests.storage": "5Gi",
         "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
         "gold.storageclass.storage.k8s.io/requests.storage": "5Gi"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("case", "resource", "manifest", "counts"), COUNTS, ids=[each[0] for each in COUNTS])
def test_an_object_counts(case: str, resource: Resource, manifest: Manifest, counts: dict[str, str]) -> None:
    assert measured(resource, manifest) == counts


REFUSED: list[tuple[str, Manifest, dict[str, str], Manifest, str | None]] = [
    ("room for one more", quota(pods="2"), {"pods": "1"}, trainer(), None),
    ("no room", quota(pods="2"), {"pods": "2"}, trainer(),
     "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"),
    ("what is exceeded alone is named", quota(pods="2", requests_cpu="1500m", requests_memory="2Gi"),
     {"pods": "1", "requests.cpu": "1", "requests.memory": "1536Mi"}, trainer(requests={"cpu": "1", "memory": "1Gi"}),
     "exceeded quota: q, requested: requests.cpu=1,requests.memory=1Gi,"
     " used: requests.cpu=1,requests.memory=1536Mi, limited: requests.cpu=1500m,requests.memory=2Gi"),
    ("devices", quota(**{f"requests.{GPU}".replace("/", "__").replace(".", "_"): "1"}), {},
     trainer(limits={GPU: "2"}, requests={GPU: "2"}),
     f"exceeded quota: q, requested: requests.{GPU}=2, used: requests.{GPU}=0, limited: requests.{GPU}=1"),
    ("a container that does not say", quota(cpu="4", limits_memory="1Gi"), {}, trainer(),
     "failed quota: q: must specify cpu for: main; limits.memory for: main"),
    ("a device need not be said", quota(**{f"requests.{GPU}".replace("/", "__").replace(".", "_"): "0"}), {},
     trainer(), None),
    ("another kind is limited", quota(configmaps="0", services="0"), {}, trainer(), None),
    ("pods of a priority alone", quota(pods="0", select={"scopeName": "PriorityClass", "operator": "In",
                                                         "values": ["high"]}), {}, trainer(), None),
    ("a pod of that priority", quota(pods="0", select={"scopeName": "PriorityClass", "operator": "In",
                                                       "values": ["high"]}), {}, trainer(priorityClassName="high"),
     "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"),
    ("pods that end by themselves", quota(pods="0", scopes=("Terminating",)), {}, trainer(), None),
    ("one that does", quota(pods="0", scopes=("Terminating",)), {}, trainer(activeDeadlineSeconds=9),
     "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"),
    ("pods that ask for something", quota(pods="0", scopes=("NotBestEffort",)), {},
     {**trainer(), "status": {"qosClass": "BestEffort"}}, None),
]  # fmt: skip


@pytest.mark.parametrize(("case", "manifest", "used", "new", "said"), REFUSED, ids=[each[0] for each in REFUSED])
def test_a_quota_refuses_a_pod_in_kubernetes_words(
    case: str, manifest: Manifest, used: dict[str, str], new: Manifest, said: str | None
) -> None:
    read = read_quota({**manifest, "status": {"used": used}})
    assert explain_refused(PODS, new, None, [read]) == said


def test_a_service_that_changes_its_type_may_be_too_much() -> None:
    before: Manifest = {"spec": {"type": "ClusterIP", "ports": [{}]}}
    after = {"spec": {"type": "NodePort", "ports": [{}]}}
    none = Quota("q", {"services.nodeports": Quantity.read("0"), "services": Quantity.read("1")},
                 {"services": Quantity.read("1")})  # fmt: skip
    said = explain_refused(SERVICES, after, before, [none])
    assert said and "requested: services.nodeports=1, used: services.nodeports=0" in said
    assert explain_refused(SERVICES, before, after, [none]) is None


AMOUNTS = st.dictionaries(st.sampled_from(["pods", "cpu"]), st.integers(0, 9).map(lambda n: Quantity.read(str(n))))


@given(st.lists(AMOUNTS, max_size=6))
def test_what_comes_and_goes_leaves_nothing(counted: list[dict[str, Quantity]]) -> None:
    used: dict[str, Quantity] = {}
    for each in counted:
        used = move(used, {}, each)
    for each in counted:
        used = move(used, each, {})
    assert not any(used.values())


async def used_of(api: LocalApi, name: str = "q", namespace: str = "default") -> dict[str, str]:
    found: dict[str, str] = (await api.get(RESOURCE_QUOTAS, namespace, name))["status"]["used"]
    return found


async def create(api: LocalApi, resource: Resource, manifest: Manifest) -> Manifest:
    return await api.create(resource, manifest | {"metadata": {"namespace": "default"} | manifest["metadata"]})


async def test_a_quota_counts_what_is_there_when_it_is_made_and_follows_it(api: LocalApi) -> None:
    await create(api, PODS, trainer("a", requests={"cpu": "1"}))
    await create(api, RESOURCE_QUOTAS, quota(pods="2", requests_cpu="1500m", count__pods="9", count__configmaps="9"))
    assert await used_of(api) == {"pods": "1", "requests.cpu": "1", "count/pods": "1", "count/configmaps": "0"}
    await create(api, PODS, trainer("b", requests={"cpu": "500m"}))
    assert (await used_of(api))["requests.cpu"] == "1500m"
    with pytest.raises(Forbidden) as refused:
        await create(api, PODS, trainer("c", requests={"cpu": "100m"}))
    assert refused.value.message == (
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=100m,'
        " used: pods=2,requests.cpu=1500m, limited: pods=2,requests.cpu=1500m"
    )
    await api.patch(PODS, "default", "a", {"status": {"phase": "Succeeded"}}, subresource="status")
    assert await used_of(api) == {"pods": "1", "requests.cpu": "500m", "count/pods": "2", "count/configmaps": "0"}
    await create(api, PODS, trainer("c", requests={"cpu": "100m"}))
    for name in "abc":
        await api.delete(PODS, "default", name, grace=0)
    assert await used_of(api) == {"pods": "0", "requests.cpu": "0", "count/pods": "0", "count/configmaps": "0"}


async def test_of_pods_that_come_in_one_turn_no_more_are_made_than_are_allowed(api: LocalApi) -> None:
    """They are written in one group, in which nothing is committed yet."""
    await create(api, RESOURCE_QUOTAS, quota(pods="3"))
    answers = await asyncio.gather(*(create(api, PODS, trainer(f"p{n}")) for n in range(8)), return_exceptions=True)
    assert sum(isinstance(each, Forbidden) for each in answers) == 5
    assert await used_of(api) == {"pods": "3"}


async def test_a_dry_run_is_refused_and_counts_nothing(api: LocalApi) -> None:
    await create(api, RESOURCE_QUOTAS, quota(pods="1"))
    await api.create(PODS, trainer() | {"metadata": {"name": "p", "namespace": "default"}}, dry_run=True)
    assert await used_of(api) == {"pods": "0"}
    await create(api, PODS, trainer("a"))
    with pytest.raises(Forbidden, match="exceeded quota"):
        await api.create(PODS, trainer() | {"metadata": {"name": "p", "namespace": "default"}}, dry_run=True)


async def test_a_write_that_is_rolled_back_counts_nothing(api: LocalApi) -> None:
    await create(api, RESOURCE_QUOTAS, quota(configmaps="9"))
    before = await used_of(api)

    def fail(tx: Any) -> None:
        stored = api.objects.store.get("/configmaps", "default", "kube-root-ca.crt")
        if stored is None:
            made = {"metadata": {"namespace": "default", "name": "x", "uid": "u"}, "apiVersion": "v1"}
            tx.put("/configmaps", made, None)
        else:
            tx.delete(stored)
        raise RuntimeError("afterwards")

    with pytest.raises(RuntimeError):
        await api.objects.store.write(fail)
    assert await used_of(api) == before


async def test_what_changes_with_its_end_counts_as_it_was_before(api: LocalApi) -> None:
    """An update may grow a claim and take its last finalizer away: what it grew by was never counted."""
    await create(api, RESOURCE_QUOTAS, quota(requests_storage="30Gi"))
    for name in "ab":
        size: Manifest = {"requests": {"storage": "10Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": size}
        await create(api, CLAIMS, {"metadata": {"name": name, "finalizers": ["a.example/b"]}, "spec": spec})
        await api.patch(CLAIMS, "default", name, {"status": {"phase": "Bound"}}, subresource="status")
    await api.delete(CLAIMS, "default", "b")
    assert await used_of(api) == {"requests.storage": "20Gi"}
    grown = {"metadata": {"finalizers": None}, "spec": {"resources": {"requests": {"storage": "20Gi"}}}}
    await api.patch(CLAIMS, "default", "b", grown)
    assert await used_of(api) == {"requests.storage": "10Gi"}


async def test_another_namespace_has_its_own_room(api: LocalApi) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    await create(api, RESOURCE_QUOTAS, quota(pods="0"))
    await api.create(PODS, trainer() | {"metadata": {"name": "p", "namespace": "team"}})
    with pytest.raises(Forbidden, match="exceeded quota"):
        await create(api, PODS, trainer())


async def test_an_edited_quota_counts_anew_and_a_smaller_one_ends_nothing(api: LocalApi) -> None:
    for name in ("a", "b"):
        await create(api, PODS, trainer(name, requests={"cpu": "1"}))
    await create(api, RESOURCE_QUOTAS, quota(pods="5"))
    edited = {"spec": {"hard": {"pods": "1", "cpu": "4"}}, "status": {"used": {"pods": "0"}}}
    await api.patch(RESOURCE_QUOTAS, "default", "q", edited)
    status = (await api.get(RESOURCE_QUOTAS, "default", "q"))["status"]
    assert status == {"hard": {"pods": "1", "cpu": "4"}, "used": {"pods": "2", "cpu": "2"}}
    # Whoever writes over what is used is put right in the same write.
    await api.patch(RESOURCE_QUOTAS, "default", "q", {"status": {"used": {"pods": "0"}}}, subresource="status")
    assert (await used_of(api))["pods"] == "2"


async def test_what_is_used_is_counted_anew_at_the_start(tmp_path: Path) -> None:
    first = await LocalApi.open(tmp_path / "cluster")
    await create(first, RESOURCE_QUOTAS, quota(pods="5"))
    await create(first, PODS, trainer())
    first.objects.store._companions.clear()  # as a version of Paddock that counts nothing would write
    await first.delete(PODS, "default", "p", grace=0)
    assert await used_of(first) == {"pods": "1"}
    await first.close()
    second = await LocalApi.open(tmp_path / "cluster")
    assert await used_of(second) == {"pods": "0"}
    await second.close()


async def test_a_namespace_with_a_quota_can_be_deleted(api: LocalApi) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    await api.create(RESOURCE_QUOTAS, quota(pods="1") | {"metadata": {"name": "q", "namespace": "team"}})
    await api.create(PODS, trainer() | {"metadata": {"name": "p", "namespace": "team"}})
    await api.delete(NAMESPACES, "", "team")
    await until(lambda: is_gone(api, NAMESPACES, "team"))


async def test_pods_of_a_priority_have_a_quota_of_their_own(api: LocalApi) -> None:
    await api.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 10, "globalDefault": True})
    await create(api, RESOURCE_QUOTAS, quota(
        pods="1", select={"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    ))  # fmt: skip
    await create(api, PODS, trainer("a"))  # of the class by default
    with pytest.raises(Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"):
        await create(api, PODS, trainer("b", priorityClassName="high"))


INVALID: list[tuple[Manifest, str]] = [
    (quota(foo="1"), 'spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified'),
    (quota(foo="1"), 'spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota'),
    (quota(pods="-1"), 'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'),
    (quota(pods="500m"), 'spec.hard[pods]: Invalid value: "500m": must be an integer'),
    (quota(pods="many"), 'spec.hard[pods]: Invalid value: "many": must be a quantity, such as 500m, 2 or 1Gi'),
    (quota(pods="1", scopes=("Late",)), 'spec.scopes: Invalid value: ["Late"]: unsupported scope'),
    (quota(pods="1", scopes=("BestEffort", "NotBestEffort")), "conflicting scopes"),
    (quota(services="1", scopes=("Terminating",)), "unsupported scope applied to resource"),
    (quota(pods="1", select={"scopeName": "PriorityClass", "operator": "In"}),
     "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or"
     " 'NotIn' for scope selector"),
    (quota(pods="1", select={"scopeName": "PriorityClass", "operator": "Is"}), "not a valid selector operator"),
    (quota(pods="1", select={"scopeName": "BestEffort", "operator": "In", "values": ["a"]}),
     "must be 'Exist' only operator"),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "said"), INVALID, ids=[each[1][-40:] for each in INVALID])
async def test_a_wrong_quota_is_refused(api: LocalApi, manifest: Manifest, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(api, RESOURCE_QUOTAS, manifest)
    assert said in refused.value.message


async def test_the_scopes_of_a_quota_stay(api: LocalApi) -> None:
    await create(api, RESOURCE_QUOTAS, quota(pods="1", scopes=("Terminating",)))
    with pytest.raises(Invalid, match=r"spec.scopes: Invalid value.*field is immutable"):
        await api.patch(RESOURCE_QUOTAS, "default", "q", {"spec": {"scopes": ["NotTerminating"]}})
