"""What ResourceQuota, LimitRange and PriorityClass refuse and write, in both worlds by the same words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from paddock.kube.errors import ApiError
from paddock.kube.meta import LIMIT_RANGES, PODS, PRIORITY_CLASSES, RESOURCE_QUOTAS, Manifest, Resource
from support.waiting import until
from support.worlds import World

CLASS = "policies-high"


def build(world: World, name: str, **fields: Any) -> Manifest:
    return {"metadata": {"name": name, "namespace": world.namespace}, **fields}


def trainer(world: World, requests: Manifest | None = None, limits: Manifest | None = None, **spec: Any) -> Manifest:
    resources = {name: each for name, each in (("requests", requests), ("limits", limits)) if each}
    container = {"name": "main", "image": "busybox", "resources": resources}
    return build(world, "p", spec={"containers": [container], **spec})


async def refusal(world: World, resource: Resource, manifest: Manifest) -> str:
    """What the server says of an object that is not to be stored; empty if it takes it."""
    try:
        await world.api.create(resource, manifest, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


def limit(**fields: Any) -> Manifest:
    return {"limits": [{"type": "Container", **fields}]}


WRONG: list[tuple[Resource, Manifest, str]] = [
    (RESOURCE_QUOTAS, {"hard": {"foo": "1"}},
     '[spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified, spec.hard[foo]:'
     ' Invalid value: "foo": must be a standard resource for quota]'),
    (RESOURCE_QUOTAS, {"hard": {"pods": "-1"}},
     'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'),
    (RESOURCE_QUOTAS, {"hard": {"pods": "500m"}}, 'spec.hard[pods]: Invalid value: "500m": must be an integer'),
    (RESOURCE_QUOTAS, {"hard": {"pods": "1"}, "scopes": ["Late"]},
     'spec.scopes: Invalid value: ["Late"]: unsupported scope'),
    (RESOURCE_QUOTAS, {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]},
     'spec.scopes: Invalid value: ["BestEffort", "NotBestEffort"]: conflicting scopes'),
    (RESOURCE_QUOTAS, {"hard": {"services": "1"}, "scopes": ["Terminating"]},
     'spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource'),
    (RESOURCE_QUOTAS, {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [
        {"scopeName": "PriorityClass", "operator": "In"}]}},
     "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or"
     " 'NotIn' for scope selector"),
    (LIMIT_RANGES, {"limits": [{"type": "Box"}]},
     'spec.limits[0].type: Invalid value: "Box": must be a standard limit type or fully qualified'),
    (LIMIT_RANGES, {"limits": [{"type": "Pod"}, {"type": "Pod"}]}, 'spec.limits[1].type: Duplicate value: "Pod"'),
    (LIMIT_RANGES, {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]},
     "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"),
    (LIMIT_RANGES, {"limits": [{"type": "PersistentVolumeClaim"}]},
     "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was"
     " provided"),
    (LIMIT_RANGES, limit(min={"pods": "1"}, defaultRequest={"pods": "1"}),
     '[spec.limits[0].min[pods]: Invalid value: "pods": must be a standard resource for containers,'
     ' spec.limits[0].defaultRequest[pods]: Invalid value: "pods": must be a standard resource for containers]'),
    (LIMIT_RANGES, limit(min={"cpu": "2"}, max={"cpu": "3"}, maxLimitRequestRatio={"cpu": "2"}),
     'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": ratio 2 is greater than max/min = 1.500000'),
    (LIMIT_RANGES, limit(defaultRequest={"cpu": "2"}, default={"cpu": "1"}),
     'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit'
     " value 1"),
    (LIMIT_RANGES, limit(maxLimitRequestRatio={"cpu": "500m"}),
     'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'),
]  # fmt: skip
_GOS_QUANTITY = re.compile(r'resource\.Quantity\{.*?s:("[^"]*"), Format:"[^"]*"\}')
_GOS_LIST = re.compile(r"\[\]core\.ResourceQuotaScope\{([^}]*)\}")


async def test_wrong_policies_are_refused_by_the_same_words(world: World) -> None:
    """But for values, which older servers show as Go does."""
    found = [await refusal(world, each, build(world, "x", spec=spec)) for each, spec, _ in WRONG]
    shown = [_GOS_LIST.sub(r"[\1]", _GOS_QUANTITY.sub(r"\1", each)) for each in found]
    assert shown == [f'{resource.kind} "x" is invalid: {said}' for resource, _, said in WRONG]


async def test_a_limit_range_fills_and_bounds_containers_alike(world: World) -> None:
    given = limit(max={"cpu": "2000m"}, min={"memory": "1024Mi"}, default={"cpu": "1"})
    stored = await world.api.create(LIMIT_RANGES, build(world, "sizes", spec=given))
    assert stored["spec"]["limits"] == [{
        "type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Gi"}, "default": {"cpu": "1"},
        "defaultRequest": {"cpu": "1", "memory": "1Gi"},
    }]  # fmt: skip

    async def filled() -> Manifest | None:
        made = await world.api.create(PODS, trainer(world), dry_run=True)
        return made if made["spec"]["containers"][0]["resources"] else None

    made = await until(filled)
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"},
    }  # fmt: skip
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container main; cpu limit for"
        " container main"
    }
    assert await refusal(world, PODS, trainer(world, limits={"cpu": "3"})) == (
        'pods "p" is forbidden: maximum cpu usage per Container is 2, but limit is 3'
    )
    assert await refusal(world, PODS, trainer(world, {"memory": "512Mi"})) == (
        'pods "p" is forbidden: minimum memory usage per Container is 1Gi, but request is 512Mi'
    )
    assert "must be less than or equal to cpu limit" in await refusal(world, PODS, trainer(world, {"cpu": "2"}))


async def test_a_class_gives_its_number_and_one_that_is_not_there_is_refused(world: World) -> None:
    high = {"metadata": {"name": CLASS}, "value": 1000, "preemptionPolicy": "Never"}
    await world.api.create(PRIORITY_CLASSES, high)
    try:
        named = trainer(world, priorityClassName=CLASS)
        await until(lambda: _is_taken(world, named))
        spec = (await world.api.create(PODS, named, dry_run=True))["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
        plain = (await world.api.create(PODS, trainer(world), dry_run=True))["spec"]
        assert (plain["priority"], plain["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        # A laptop runs the manifests of clusters whose classes it has not.
        assert await refusal(world, PODS, trainer(world, priorityClassName="none")) == (
            'pods "p" is forbidden: no PriorityClass with name none was found' if world.real else ""
        )
        assert await refusal(world, PODS, trainer(world, priority=9)) == (
            'pods "p" is forbidden: the integer value of priority (9) must not be provided in pod spec; priority'
            " admission controller computed 0 from the given PriorityClass name"
        )
        greatest = {"metadata": {"name": "greatest"}, "value": 1_000_000_001}
        assert await refusal(world, PRIORITY_CLASSES, greatest) == (
            'PriorityClass.scheduling.k8s.io "greatest" is invalid: value: Forbidden: maximum allowed value of a user'
            " defined priority is 1000000000"
        )
    finally:
        await world.api.delete(PRIORITY_CLASSES, "", CLASS)


async def _is_taken(world: World, manifest: Manifest) -> bool:
    return not await refusal(world, PODS, manifest)


async def _is_refused(world: World, manifest: Manifest, said: str) -> bool:
    return (await refusal(world, PODS, manifest)).startswith(said)


async def test_a_quota_refuses_by_the_same_words(world: World) -> None:
    hard = {"pods": "2", "requests.memory": "2048Mi"}
    await world.api.create(RESOURCE_QUOTAS, build(world, "team", spec={"hard": hard}))
    if world.real:  # the control plane of these tests counts nothing
        status = {"hard": {"pods": "2", "requests.memory": "2Gi"}, "used": {"pods": "0", "requests.memory": "0"}}
        await world.api.patch(RESOURCE_QUOTAS, world.namespace, "team", {"status": status}, subresource="status")
    much = trainer(world, {"memory": "3Gi"})
    # What an API server has not seen yet of a quota refuses nothing, and what is made then is not counted.
    said = 'pods "p" is forbidden: exceeded quota: team, requested: requests.memory=3Gi'
    await until(lambda: _is_refused(world, much, said))
    made = await world.api.create(PODS, trainer(world, {"memory": "1Gi"}))
    other = trainer(world, {"memory": "1025Mi"})
    other["metadata"]["name"] = "other"
    assert await refusal(world, PODS, other) == (
        'pods "other" is forbidden: exceeded quota: team, requested: requests.memory=1025Mi, used: requests.memory=1Gi,'
        " limited: requests.memory=2Gi"
    )
    said = await refusal(world, PODS, trainer(world) | {"metadata": {"name": "other", "namespace": world.namespace}})
    assert said.startswith('pods "other" is forbidden: failed quota: team: must specify requests.memory')
    used = (await world.api.get(RESOURCE_QUOTAS, world.namespace, "team"))["status"]["used"]
    assert used == {"pods": "1", "requests.memory": "1Gi"}
    assert made["spec"]["priority"] == 0


async def test_the_scopes_of_a_quota_stay(world: World) -> None:
    await world.api.create(RESOURCE_QUOTAS, build(world, "q", spec={"hard": {"pods": "1"}, "scopes": ["Terminating"]}))
    with pytest.raises(ApiError, match=r"spec.scopes: Invalid value.*field is immutable"):
        await world.api.patch(RESOURCE_QUOTAS, world.namespace, "q", {"spec": {"scopes": ["NotTerminating"]}})
