"""The children of one job: owned by UID, foreign by name, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job, NodeCondition, NodeState, Observed
from paddock.jobs.names import config_map_name
from paddock.jobs.objects.observation import (
    find_children,
    missing_pods,
    owner_in,
    read_held_port,
    read_node,
    read_observed,
)
from paddock.kube.meta import CONFIG_MAPS, POD_GROUPS, PODS, SERVICES, Key, Manifest, Resource, key_of
from paddock.operator.informers import _choose_trim
from support.operator_seam import JOBS, build_job


class ListView:
    """A view of the objects in a list."""

    def __init__(self, *objects: tuple[Resource, Manifest]) -> None:
        self.objects = objects

    def get(self, resource: Resource, key: Key) -> Manifest | None:
        return next((found for kind, found in self.objects if (kind, key_of(found)) == (resource, key)), None)

    def children(self, resource: Resource, owner: Resource, key: Key) -> list[Manifest]:
        return find_children((found for kind, found in self.objects if kind == resource), owner, key)


UNSCHEDULABLE = {"type": "Unschedulable", "status": "True", "message": "2/2 tasks in gang\nunschedulable"}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, ("", "")),
        ({"phase": "Pending"}, ("Pending", "")),
        ({"phase": "Inqueue", "conditions": [UNSCHEDULABLE]}, ("Inqueue", "2/2 tasks in gang unschedulable")),
        ({"conditions": [{"type": "Scheduled", "status": "True", "message": "x"}]}, ("", "")),
        ({"conditions": [{**UNSCHEDULABLE, "status": "False"}]}, ("", "")),
        ({"phase": None, "conditions": "soon"}, ("", "")),
        ({"conditions": [None, 7, {"type": "Unschedulable", "status": "True"}]}, ("", "")),
        (None, ("", "")),
        ("soon", ("", "")),
    ],
)
def test_a_pod_group_tells_its_phase_and_why_it_is_not_schedulable(status: Any, said: tuple[str, str]) -> None:
    """Also from the cache, which keeps what is read alone."""
    group = {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup", **child("demo"), "status": status}
    for manifest in (group, _choose_trim(POD_GROUPS, [JOBS])(group)):
        found = observe((POD_GROUPS, manifest)).pod_group
        assert found is not None
        assert (found.phase, found.message) == said


def read_job(uid: str = "mine") -> Job:
    manifest = build_job()
    manifest["metadata"] |= {"uid": uid, "generation": 1}
    return KINDS[JOBS].read_job(manifest)


def child(name: str, owner: str = "mine", attempt: int = 0, **changes: Any) -> Manifest:
    reference = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": "demo", "uid": owner, "controller": True}
    *_, role, index = ("", "", *name.split("-"))
    labels = {"paddock.dev/role": role, "paddock.dev/index": index, "paddock.dev/attempt": str(attempt)}
    metadata = {"namespace": "default", "name": name, "uid": f"u-{name}", "labels": labels}
    return {"metadata": {**metadata, "ownerReferences": [reference] if owner else [], **changes}}


def observe(*objects: tuple[Resource, Manifest], attempt: int = 0) -> Observed:
    return read_observed(read_job(), attempt, ListView(*objects), pod_groups=POD_GROUPS)


@pytest.mark.parametrize(
    ("there", "ours", "foreign"),
    [
        ((PODS, child("demo-ps-0")), ["demo-ps-0"], []),
        ((PODS, child("demo-ps-0", owner="")), [], ["demo-ps-0"]),
        ((PODS, child("demo-ps-0", owner="the demo before")), [], ["demo-ps-0"]),
        ((PODS, child("demo-ps-7")), ["demo-ps-7"], []),  # of a rank that the job has no more
        ((PODS, child("demo-ps-7", owner="other")), [], []),  # nobody needs that name
        ((PODS, child("demo-ps-0", namespace="elsewhere", owner="other")), [], []),
        ((PODS, child("demo-ps-0", namespace="elsewhere")), [], []),  # no owner's reference reaches across namespaces
        ((SERVICES, child("demo-ps-0", namespace="elsewhere")), [], []),
        ((SERVICES, child("demo-ps-0", owner="")), [], ["demo-ps-0"]),
        ((CONFIG_MAPS, child("demo", owner="")), [], []),  # a user's own: no attempt needs the name of the job
        ((POD_GROUPS, child("demo", owner="")), [], []),  # a user's own is taken
    ],
)
def test_the_owner_reference_decides_whether_an_object_is_owned(
    there: tuple[Resource, Manifest], ours: list[str], foreign: list[str]
) -> None:
    observed = observe(there)
    assert [pod.name for pod in observed.pods] + [service.name for service in observed.services] == ours
    assert [found.name for found in observed.foreign] == foreign


@pytest.mark.parametrize(
    ("owner", "changes", "former"),
    [
        ("the demo before", {}, True),
        ("", {}, False),
        ("another", {"name": "other"}, False),
        ("another", {"kind": "TFJob"}, False),
        ("another", {"apiVersion": "kubeflow.org/v1"}, False),
        ("another", {"controller": False}, False),
    ],
)
def test_objects_of_a_former_job_of_the_name_are_marked(owner: str, changes: dict[str, Any], former: bool) -> None:
    pod = child("demo-ps-0", owner=owner)
    for reference in pod["metadata"]["ownerReferences"]:
        reference |= changes
    assert [found.former for found in observe((PODS, pod)).foreign] == [former]


def test_the_name_of_the_attempts_config_map_is_needed() -> None:
    name = config_map_name(read_job(), 1)
    observed = observe((CONFIG_MAPS, child(name, owner="")), attempt=1)
    assert [found.name for found in observed.foreign] == [name]


def test_objects_that_are_being_deleted_are_marked() -> None:
    observed = observe((PODS, child("demo-ps-0", deletionTimestamp="2026-01-01T00:00:00Z")))
    assert [pod.deleting for pod in observed.pods] == [True]


@pytest.mark.parametrize("owner", ["mine", ""])
def test_a_pod_group_of_the_jobs_name_is_used_whatever_its_owner(owner: str) -> None:
    group = {**child("demo", owner=owner), "spec": {"minMember": 3}}
    found = observe((POD_GROUPS, group)).pod_group
    assert found is not None
    assert (found.owned, found.members) == (bool(owner), 3)


def test_pods_of_another_attempt_are_not_counted() -> None:
    job = read_job()
    status = KINDS[JOBS].read_status({})
    observed = observe(*((PODS, child(f"demo-{rank}")) for rank in ("ps-0", "ps-1", "worker-0", "worker-1")))
    assert missing_pods(job, status, observed) == ()
    assert len(missing_pods(job, replace(status, attempt=1), observed)) == 4


@pytest.mark.parametrize(
    ("annotation", "phase", "port"),
    [("20000", "Running", 20000), ("20000", None, 20000), ("20000", "Failed", None), ("x", "Running", None),
     (None, "Running", None), ("²", "Running", None), ("٢٠٠٠٠", "Running", None), ("0", "Running", None),
     ("65535", "Running", 65535), ("65536", "Running", None), ("9" * 5000, "Running", None)],
)  # fmt: skip
def test_a_port_is_held_until_the_pod_has_ended(annotation: str | None, phase: str | None, port: int | None) -> None:
    pod = {"metadata": {"annotations": {"paddock.dev/port": annotation} if annotation else {}}}
    assert read_held_port({**pod, "status": {"phase": phase}} if phase else pod) == port


def test_a_child_is_traced_to_its_job_by_group_and_kind() -> None:
    kinds = {(JOBS.group, JOBS.kind): JOBS}
    assert owner_in(child("demo-ps-0"), kinds) == (JOBS, Key("default", "demo"))
    assert owner_in(child("demo-ps-0", owner=""), kinds) is None
    assert owner_in(child("demo-ps-0"), {("kubeflow.org", JOBS.kind): JOBS}) is None


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([{"type": "Ready", "status": "True"}], NodeState.READY),
        ([{"type": "Ready", "status": "False"}], NodeState.NOT_READY),
        ([{"type": "Ready", "status": "Unknown"}], NodeState.SILENT),
        ([{"type": "DiskPressure", "status": "True"}], NodeState.SILENT),
        ([], NodeState.SILENT),
    ],
)
def test_a_node_is_ready_if_its_kubelet_reports_so_and_silent_if_it_reports_nothing(
    conditions: list[Manifest], state: NodeState
) -> None:
    assert read_node({"status": {"conditions": conditions}}) == NodeCondition(state)


def test_the_time_since_when_a_node_is_silent_is_read() -> None:
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:01:00Z"}
    pressure = {"type": "DiskPressure", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:02:00Z"}
    assert read_node({"status": {"conditions": [pressure, ready]}}) == NodeCondition(NodeState.SILENT, 60.0)
    made = {"metadata": {"creationTimestamp": "1970-01-01T00:03:00Z"}}
    assert read_node({**made, "status": {"conditions": [ready]}}) == NodeCondition(NodeState.SILENT, 60.0)
    assert read_node({**made, "status": {"conditions": [pressure]}}) == NodeCondition(NodeState.SILENT, 180.0)


def test_the_time_and_the_force_of_a_deletion_are_read() -> None:
    marks = {"deletionTimestamp": "1970-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
    pod = observe((PODS, child("demo-ps-0", **marks))).pods[0]
    assert (pod.gone_by, pod.forced) == (60.0, False)
    assert observe((PODS, child("demo-ps-0", **{**marks, "deletionGracePeriodSeconds": 0}))).pods[0].forced
