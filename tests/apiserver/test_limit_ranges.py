"""LimitRanges: defaults of containers, and bounds of containers, pods and claims."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.embedded import pod
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import Forbidden, Invalid, TooLarge
from paddock.kube.limit_ranges import (
    ANNOTATION,
    check_limits,
    count_steps,
    fill_limits,
    read_limit_range,
)
from paddock.kube.meta import CLAIMS, LIMIT_RANGES, PODS, Manifest


def limit_range(*limits: Manifest, name: str = "l") -> Manifest:
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name, "namespace": "default"},
            "spec": {"limits": list(limits)}}  # fmt: skip


def of_containers(**amounts: Any) -> Manifest:
    return {"type": "Container", **amounts}


def trainer(requests: Manifest | None = None, limits: Manifest | None = None, **spec: Any) -> Manifest:
    manifest = pod()
    manifest["metadata"]["namespace"] = "default"
    container: Manifest = {"name": "main", "image": "x"}
    if requests or limits:
        container["resources"] = {name: each for name, each in (("requests", requests), ("limits", limits)) if each}
    return {**manifest, "spec": {"containers": [container], **spec}}


def test_defaults_are_put_where_a_container_says_nothing() -> None:
    manifest = trainer({"cpu": "2"}, initContainers=[{"name": "fetch", "resources": {"limits": {"cpu": "1"}}}])
    given = of_containers(default={"cpu": "4", "memory": "1Gi"}, defaultRequest={"cpu": "1", "memory": "512Mi"})
    fill_limits(manifest, [read_limit_range(limit_range(given))])
    assert [each["resources"] for each in (*manifest["spec"]["containers"], *manifest["spec"]["initContainers"])] == [
        {"requests": {"cpu": "2", "memory": "512Mi"}, "limits": {"cpu": "4", "memory": "1Gi"}},
        {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    ]
    assert manifest["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: memory request for container main; cpu, memory limit for container main; cpu, memory"
        " request for init container fetch; memory limit for init container fetch"
    )


def test_a_container_that_says_all_is_left_as_it_is() -> None:
    manifest = trainer({"cpu": "1"}, {"cpu": "1"})
    fill_limits(manifest, [read_limit_range(limit_range(of_containers(default={"cpu": "4"})))])
    assert manifest == trainer({"cpu": "1"}, {"cpu": "1"})


BROKEN: list[tuple[Manifest, Manifest, str | None]] = [
    (of_containers(min={"cpu": "1"}), trainer({"cpu": "1"}), None),
    (of_containers(min={"cpu": "1"}), trainer(), "minimum cpu usage per Container is 1.  No request is specified"),
    (of_containers(min={"cpu": "1"}), trainer({"cpu": "500m"}),
     "minimum cpu usage per Container is 1, but request is 500m"),
    (of_containers(max={"memory": "1Gi"}), trainer(),
     "maximum memory usage per Container is 1Gi.  No limit is specified"),
    (of_containers(max={"memory": "1Gi"}), trainer(limits={"memory": "1025Mi"}),
     "maximum memory usage per Container is 1Gi, but limit is 1025Mi"),
    (of_containers(maxLimitRequestRatio={"cpu": "2"}), trainer({"cpu": "1"}, {"cpu": "2"}), None),
    (of_containers(maxLimitRequestRatio={"cpu": "2"}), trainer({"cpu": "1"}, {"cpu": "3"}),
     "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
    (of_containers(maxLimitRequestRatio={"cpu": "2"}), trainer({"cpu": "1"}),
     "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
    ({"type": "Pod", "max": {"cpu": "3"}},
     trainer({"cpu": "1"}, {"cpu": "1"}, initContainers=[{"resources": {"limits": {"cpu": "4"}}}]),
     "maximum cpu usage per Pod is 3, but limit is 4"),
    (of_containers(min={"cpu": "1"}, max={"cpu": "1"}), trainer(),
     "[minimum cpu usage per Container is 1.  No request is specified,"
     " maximum cpu usage per Container is 1.  No limit is specified]"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "manifest", "said"), BROKEN, ids=[str(each[2])[:60] for each in BROKEN])
def test_a_bound_is_said_in_kubernetes_words(limit: Manifest, manifest: Manifest, said: str | None) -> None:
    ranges = [read_limit_range(limit_range(limit))]
    if said is None:
        check_limits(PODS, manifest, ranges)
        return
    with pytest.raises(Forbidden) as refused:
        check_limits(PODS, manifest, ranges)
    assert refused.value.message == f'pods "p" is forbidden: {said}'


def test_a_claim_has_bounds_of_its_own() -> None:
    ranges = [read_limit_range(limit_range({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}))]
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    with pytest.raises(Forbidden, match="maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"):
        check_limits(CLAIMS, claim, ranges)


async def test_a_stored_range_has_its_defaults_and_a_new_pod_takes_them(api: LocalApi) -> None:
    given = of_containers(max={"cpu": "2000m"}, min={"memory": "1024Mi"}, default={"cpu": "1"})
    stored = await api.create(LIMIT_RANGES, limit_range(given))
    assert stored["spec"]["limits"] == [{
        "type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Gi"}, "default": {"cpu": "1"},
        "defaultRequest": {"cpu": "1", "memory": "1Gi"},
    }]  # fmt: skip
    made = await api.create(PODS, trainer())
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"},
    }  # fmt: skip
    assert made["status"]["qosClass"] == "Burstable"
    await api.delete(LIMIT_RANGES, "default", "l")
    other = trainer()
    other["metadata"]["name"] = "other"
    assert (await api.create(PODS, other))["spec"]["containers"][0]["resources"] == {}


async def test_a_default_that_does_not_fit_what_is_asked_for_is_refused(api: LocalApi) -> None:
    await api.create(LIMIT_RANGES, limit_range(of_containers(default={"cpu": "1"})))
    with pytest.raises(Invalid, match="must be less than or equal to cpu limit of 1"):
        await api.create(PODS, trainer({"cpu": "4"}))


INVALID: list[tuple[list[Manifest], str]] = [
    ([{"type": "Box"}], 'spec.limits[0].type: Invalid value: "Box": must be a standard limit type or fully qualified'),
    ([of_containers(), of_containers()], 'spec.limits[1].type: Duplicate value: "Container"'),
    ([of_containers(max={"pods": "1"})],
     'spec.limits[0].max[pods]: Invalid value: "pods": must be a standard resource for containers'),
    ([of_containers(min={"cpu": "2"}, max={"cpu": "1"})],
     'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'),
    ([of_containers(default={"cpu": "2"}, max={"cpu": "1"})],
     'spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1'),
    ([of_containers(defaultRequest={"cpu": "2"}, default={"cpu": "1"})],
     "default request value 2 is greater than default limit value 1"),
    ([of_containers(maxLimitRequestRatio={"cpu": "500m"})], "ratio 500m is less than 1"),
    ([{"type": "Pod", "default": {"cpu": "1"}}],
     "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"),
    ([{"type": "PersistentVolumeClaim"}], "either minimum or maximum storage value is required"),
    ([of_containers(max={"cpu": "much"})], "must be a quantity, such as 500m, 2 or 1Gi"),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "said"), INVALID, ids=[each[1][-40:] for each in INVALID])
async def test_a_wrong_range_is_refused(api: LocalApi, limits: list[Manifest], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        await api.create(LIMIT_RANGES, limit_range(*limits))
    assert said in refused.value.message


async def test_a_pod_of_many_containers_in_a_namespace_of_many_limits_holds_up_nobody(api: LocalApi) -> None:
    """In a namespace of 1,000 limits a pod of 1,000 containers would have a million amounts."""
    limits = {f"example.com/r{number}": "1" for number in range(1000)}
    await api.create(LIMIT_RANGES, limit_range(of_containers(max=limits)))
    manifest = trainer()
    manifest["spec"]["containers"] = [{"name": f"c{number}", "image": "x"} for number in range(1000)]
    with pytest.raises(TooLarge):
        await api.create(PODS, manifest)
    manifest["spec"]["containers"] = manifest["spec"]["containers"][:3]
    assert len((await api.create(PODS, manifest))["spec"]["containers"][0]["resources"]["limits"]) == 1000


def test_what_a_pod_costs_is_counted_before() -> None:
    ranges = [read_limit_range(limit_range(of_containers(max={"cpu": "1"}, min={"cpu": "1", "memory": "1"})))]
    assert count_steps(trainer()["spec"], ranges) < count_steps(trainer(initContainers=[{}])["spec"], ranges)
    assert count_steps(trainer()["spec"], []) == 0


async def test_a_claim_does_not_outgrow_its_bounds(api: LocalApi) -> None:
    bounds = {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}
    await api.create(LIMIT_RANGES, limit_range(bounds))
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(CLAIMS, {"metadata": {"name": "c", "namespace": "default"}, "spec": spec})
    with pytest.raises(Invalid, match="spec is immutable after creation"):
        await api.patch(CLAIMS, "default", "c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    await api.patch(CLAIMS, "default", "c", {"status": {"phase": "Bound"}}, subresource="status")

    async def grow(size: str) -> Manifest:
        return await api.patch(CLAIMS, "default", "c", {"spec": {"resources": {"requests": {"storage": size}}}})

    assert (await grow("2Gi"))["spec"]["resources"]["requests"] == {"storage": "2Gi"}
    with pytest.raises(Forbidden, match="maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Ti"):
        await grow("1Ti")
    with pytest.raises(Invalid, match="storage: Forbidden: field can not be less than"):
        await grow("1Gi")
    # Bounds that are narrower than what is there forbid nothing but other amounts.
    await api.patch(LIMIT_RANGES, "default", "l", {"spec": {"limits": [bounds | {"max": {"storage": "1Mi"}}]}})
    await api.patch(CLAIMS, "default", "c", {"metadata": {"labels": {"a": "b"}}})
    await api.delete(CLAIMS, "default", "c")


async def test_the_largest_and_the_least_amounts_are_no_fault_of_the_server(api: LocalApi) -> None:
    await api.create(LIMIT_RANGES, limit_range(of_containers(maxLimitRequestRatio={"cpu": "2"})))
    for limit, request in (("1e400", "1"), ("1", "1e-999"), ("1e900", "1e-900")):
        with pytest.raises(Forbidden, match="max limit to request ratio per Container is 2, but provided ratio is"):
            await api.create(PODS, trainer({"cpu": request}, {"cpu": limit}))
    wide = of_containers(maxLimitRequestRatio={"cpu": "1e900"}, max={"cpu": "1e800"}, min={"cpu": "1n"})
    with pytest.raises(Invalid, match="is greater than max/min"):
        await api.create(LIMIT_RANGES, limit_range(wide | {"min": {"cpu": "1e9"}}, name="wide"))
