"""PriorityClasses: a pod's priority is written when it is created."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.embedded import pod
from paddock.apiserver.admission.priorities import set_priority
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import Forbidden, Invalid
from paddock.kube.meta import PODS, PRIORITY_CLASSES, Manifest
from paddock.kube.priority_classes import SYSTEM_CLASSES, PriorityClass

HIGH = PriorityClass("high", 1000)
PATIENT = PriorityClass("patient", 5, "Never", is_default=True)
LOWER = PriorityClass("lower", 1, is_default=True)
PREEMPTS = "PreemptLowerPriority"

ADMITTED: list[tuple[Manifest, list[PriorityClass], Manifest | str]] = [
    ({}, [HIGH], {"priority": 0, "preemptionPolicy": PREEMPTS}),
    ({"priorityClassName": "high"}, [HIGH],
     {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": PREEMPTS}),
    ({}, [HIGH, PATIENT], {"priorityClassName": "patient", "priority": 5, "preemptionPolicy": "Never"}),
    ({}, [PATIENT, LOWER], {"priorityClassName": "lower", "priority": 1, "preemptionPolicy": PREEMPTS}),
    ({"priority": 0}, [], {"priority": 0, "preemptionPolicy": PREEMPTS}),
    ({"priorityClassName": "hihg"}, [HIGH], {"priorityClassName": "hihg", "priority": 0, "preemptionPolicy": PREEMPTS}),
    ({"priorityClassName": "hihg"}, [PATIENT],
     {"priorityClassName": "hihg", "priority": 5, "preemptionPolicy": "Never"}),
    ({"priority": 9}, [],
     "the integer value of priority (9) must not be provided in pod spec; priority admission controller computed 0 from"
     " the given PriorityClass name"),
    ({"preemptionPolicy": "Never"}, [],
     "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller"
     " computed PreemptLowerPriority from the given PriorityClass name"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "classes", "wanted"), ADMITTED)
def test_a_pod_has_the_priority_of_its_class(
    spec: Manifest, classes: list[PriorityClass], wanted: Manifest | str
) -> None:
    manifest = {"metadata": {"name": "p"}, "spec": dict(spec)}
    by_name = {each.name: each for each in classes}
    if isinstance(wanted, str):
        with pytest.raises(Forbidden) as refused:
            set_priority(manifest, by_name)
        assert refused.value.message == f'pods "p" is forbidden: {wanted}'
    else:
        set_priority(manifest, by_name)
        assert manifest["spec"] == wanted


def priority_class(name: str, value: int, **more: Any) -> Manifest:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            **more}  # fmt: skip


async def test_every_cluster_has_the_two_of_the_system_and_they_stay(api: LocalApi) -> None:
    found = {each["metadata"]["name"]: each["value"] for each in (await api.list(PRIORITY_CLASSES)).items}
    assert found == {each.name: each.value for each in SYSTEM_CLASSES}
    for name in found:
        with pytest.raises(Forbidden, match="this is a system priority class and cannot be deleted"):
            await api.delete(PRIORITY_CLASSES, "", name)


async def test_a_pod_keeps_its_priority_whatever_becomes_of_its_class(api: LocalApi) -> None:
    await api.create(PRIORITY_CLASSES, priority_class("high", 7, preemptionPolicy="Never"))
    sent = pod(namespace="default")
    sent["spec"]["priorityClassName"] = "high"
    made = await api.create(PODS, sent)
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (7, "Never")
    await api.delete(PRIORITY_CLASSES, "", "high")
    await api.create(PRIORITY_CLASSES, priority_class("high", 8))
    for field in ("priority", "preemptionPolicy"):
        del made["spec"][field]
    made["metadata"]["labels"] = {"a": "b"}
    kept = await api.replace(PODS, made)  # as an editor that has never heard of the fields
    assert (kept["spec"]["priority"], kept["metadata"]["labels"]) == (7, {"a": "b"})


INVALID: list[tuple[Manifest, str]] = [
    (priority_class("h", 1_000_000_001), "value: Forbidden: maximum allowed value of a user defined priority is"),
    (priority_class("system-mine", 1), "error: system-mine is not a known system priority class"),
    (priority_class("h", 1, preemptionPolicy="Now"), 'preemptionPolicy: Unsupported value: "Now"'),
]


@pytest.mark.parametrize(("manifest", "said"), INVALID)
async def test_a_wrong_class_is_refused(api: LocalApi, manifest: Manifest, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        await api.create(PRIORITY_CLASSES, manifest)
    assert said in refused.value.message


async def test_value_and_policy_of_a_class_stay_and_one_alone_is_the_default(api: LocalApi) -> None:
    await api.create(PRIORITY_CLASSES, priority_class("high", 7, globalDefault=True))
    with pytest.raises(Invalid, match="value: Forbidden: may not be changed in an update"):
        await api.patch(PRIORITY_CLASSES, "", "high", {"value": 8})
    with pytest.raises(Invalid, match=r"preemptionPolicy: Invalid value: .*: field is immutable"):
        await api.patch(PRIORITY_CLASSES, "", "high", {"preemptionPolicy": "Never"})
    await api.patch(PRIORITY_CLASSES, "", "high", {"description": "for the demo"})
    with pytest.raises(Forbidden, match="PriorityClass high is already marked as default"):
        await api.create(PRIORITY_CLASSES, priority_class("low", 1, globalDefault=True))
