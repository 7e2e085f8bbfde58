"""The semantics of create, update and delete: the pure functions, case by case."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from apiserver.embedded import widget, widget_crd
from paddock.apiserver.kinds.registry import BUILT_INS, read_crd
from paddock.apiserver.objects import builtin_strategies, strategy
from paddock.apiserver.objects.immutable_fields import check_update
from paddock.apiserver.objects.strategy import DeleteOptions
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.errors import ApiError, BadRequest, Conflict, Forbidden, Invalid

NOW = 1_800_000_000.0
NOW_TEXT = "2027-01-15T08:00:00Z"
WIDGET = read_crd(widget_crd())[0]
BY_KIND = {served.resource.kind: served for served in BUILT_INS} | {"Widget": WIDGET}


def _stored(**changes: Any) -> dict[str, Any]:
    meta = {"name": "w", "namespace": "default", "uid": "u1", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": NOW_TEXT, "labels": {"a": "b"}}  # fmt: skip
    return widget() | {"metadata": meta, "spec": {"size": 1}, "status": {"phase": "Ready"}} | changes


def _incoming(current: dict[str, Any], metadata: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    incoming = deepcopy(current) | changes
    incoming["metadata"] |= metadata or {}
    return incoming


@pytest.mark.parametrize(("version", "held"), [("v1", True), ("example.org/v1", False)])
def test_a_custom_kind_may_be_called_namespace(version: str, held: bool) -> None:
    meta = {"name": "n", "deletionTimestamp": NOW_TEXT}
    spaces = {"apiVersion": version, "kind": "Namespace", "metadata": meta, "spec": {"finalizers": ["kubernetes"]}}
    served = BY_KIND["Namespace"] if held else WIDGET
    assert strategy.is_removable(spaces) is not held
    marked = strategy.plan_deletion(served, spaces, DeleteOptions(), grace=0, now=NOW)
    assert (marked is None) is not held


def test_only_the_server_sets_the_identity_of_a_new_object() -> None:
    sent = widget(size=1) | {"status": {"phase": "Mine"}}
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 9,
                         "resourceVersion": "5", "deletionTimestamp": "1999-01-01T00:00:00Z", "labels": {}}  # fmt: skip
    created = strategy.build_new(WIDGET, sent, uid="u", name="w", now=NOW)
    assert created["metadata"] == {"name": "w", "uid": "u", "creationTimestamp": NOW_TEXT, "generation": 1}
    assert "status" not in created


UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    # metadata and top-level changes, the generation after
    "a changed spec": ({}, {"spec": {"size": 2}}, 3),
    "the same spec": ({}, {}, 2),
    "a changed label": ({"labels": {"a": "c"}}, {}, 2),
    "a status by the main door": ({}, {"status": {"phase": "Forged"}}, 2),
    "a forged generation": ({"generation": 40}, {}, 2),
    "a forged uid would conflict, a missing one is kept": ({"uid": ""}, {}, 2),
    "no deletion by update": ({"deletionTimestamp": NOW_TEXT}, {}, 2),
}


@pytest.mark.parametrize("case", UPDATES)
def test_only_a_change_of_the_spec_increments_the_generation(case: str) -> None:
    metadata, changes, generation = UPDATES[case]
    current = _stored()
    updated = strategy.build_updated(WIDGET, current, _incoming(current, metadata, **changes))
    assert updated["metadata"]["generation"] == generation
    assert updated["metadata"]["uid"] == "u1"
    assert updated["status"] == {"phase": "Ready"}
    assert "deletionTimestamp" not in updated["metadata"]


def test_the_status_subresource_changes_only_the_status() -> None:
    current = _stored()
    incoming = _incoming(current, {"labels": {"x": "y"}}, spec={"size": 9}, status={"phase": "Done"})
    assert strategy.build_updated(WIDGET, current, incoming, "status") == current | {"status": {"phase": "Done"}}


@pytest.mark.parametrize("metadata", [{"resourceVersion": "6"}, {"uid": "u2"}])
def test_an_update_of_an_outdated_version_conflicts(metadata: dict[str, Any]) -> None:
    current = _stored()
    with pytest.raises(Conflict, match=r'Operation cannot be fulfilled on widgets\.example\.org "w"'):
        strategy.build_updated(WIDGET, current, _incoming(current, metadata))


def test_no_finalizer_is_added_to_an_object_being_deleted() -> None:
    current = _stored()
    current["metadata"] |= {"deletionTimestamp": NOW_TEXT, "finalizers": ["a/b"]}
    with pytest.raises(Invalid, match="no new finalizers"):
        strategy.build_updated(WIDGET, current, _incoming(current, {"finalizers": ["a/b", "c/d"]}))
    assert strategy.is_removable(strategy.build_updated(WIDGET, current, _incoming(current, {"finalizers": []})))


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("text", "not a Widget"),
        ({"apiVersion": "example.org/v1", "metadata": {"name": "w"}}, "Object 'Kind' is missing"),
        (widget() | {"kind": "Gadget"}, "cannot be handled as a Widget"),
        (widget() | {"apiVersion": "example.org/v2"}, "cannot be handled as a Widget"),
        (widget() | {"metadata": []}, "metadata of the Widget is not an object"),
        (widget() | {"metadata": {"name": "w", "namespace": "other"}}, "does not match the namespace"),
        (widget("x"), "does not match the name on the URL"),
    ],
)
def test_a_manifest_that_contradicts_its_path_is_refused(manifest: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        strategy.check_identity(WIDGET, manifest, "default", "w")


def _pod(**spec: Any) -> dict[str, Any]:
    return _stored() | {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [], **spec}, "status": {}}


BOUND = {"nodeName": "n", "terminationGracePeriodSeconds": 20}
GRACES: dict[str, tuple[dict[str, Any], dict[str, Any], int | None, int]] = {
    # spec, status, grace asked for, grace allowed
    "a bound pod has its own grace": (BOUND, {}, None, 20),
    "a bound pod without one has 30 s": ({"nodeName": "n"}, {}, None, 30),
    "the client may shorten it": (BOUND, {}, 5, 5),
    "the client may end it": (BOUND, {}, 0, 0),
    "a negative grace is one second": (BOUND, {}, -1, 1),
    "a grace of 64 bits is one of 68 years": (BOUND, {}, 2**63 - 1, 2**31 - 1),
    "a grace of the pod is no longer": ({**BOUND, "terminationGracePeriodSeconds": 2**62}, {}, None, 2**31 - 1),
    "a pod without a node goes at once": ({}, {}, None, 0),
    "a pod that has ended goes at once": (BOUND, {"phase": "Succeeded"}, None, 0),
    "a pod that has failed goes at once": (BOUND, {"phase": "Failed"}, None, 0),
}


@pytest.mark.parametrize("case", GRACES)
def test_the_grace_period_of_a_pod(case: str) -> None:
    spec, status, asked, allowed = GRACES[case]
    pod = _pod(**spec) | {"status": status}
    assert builtin_strategies.grace_period(BY_KIND["Pod"], pod, DeleteOptions(grace=asked)) == allowed


def _plan(kind: str, current: dict[str, Any], options: DeleteOptions, grace: int = 0) -> Any:
    return strategy.plan_deletion(BY_KIND[kind], current, options, grace=grace, now=NOW)


def test_an_object_without_finalizers_is_removed_at_once() -> None:
    assert _plan("Widget", _stored(), DeleteOptions(propagation="Background")) is None


@pytest.mark.parametrize(("propagation", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_adds_a_finalizer(propagation: Any, finalizer: str) -> None:
    marked = _plan("Widget", _stored(), DeleteOptions(propagation=propagation))
    assert marked["metadata"]["finalizers"] == [finalizer]
    assert marked["metadata"]["deletionTimestamp"] == NOW_TEXT
    assert marked["metadata"]["generation"] == 3


def test_a_second_delete_can_only_shorten_the_grace_period() -> None:
    pod = _pod(nodeName="n")
    marked = _plan("Pod", pod, DeleteOptions(), grace=30)
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert marked["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:30Z"
    assert _plan("Pod", marked, DeleteOptions(), grace=30) == marked
    assert _plan("Pod", marked, DeleteOptions(), grace=60) == marked
    assert _plan("Pod", marked, DeleteOptions(), grace=5)["metadata"]["deletionGracePeriodSeconds"] == 5
    assert _plan("Pod", marked, DeleteOptions(), grace=0) is None


def test_a_pod_with_a_finalizer_outlives_its_grace_period() -> None:
    pod = _pod(nodeName="n")
    pod["metadata"]["finalizers"] = ["a/b"]
    marked = _plan("Pod", pod, DeleteOptions(), grace=0)
    assert not strategy.is_removable(marked)
    assert strategy.is_removable(marked | {"metadata": marked["metadata"] | {"finalizers": []}})


@pytest.mark.parametrize("options", [DeleteOptions(uid="other"), DeleteOptions(resource_version="6")])
def test_a_delete_with_an_outdated_precondition_conflicts(options: DeleteOptions) -> None:
    with pytest.raises(Conflict, match="Precondition failed"):
        _plan("Widget", _stored(), options)


def test_default_and_kube_system_cannot_be_deleted() -> None:
    with pytest.raises(Forbidden, match="may not be deleted"):
        builtin_strategies.check_deletable(BY_KIND["Namespace"], "default")


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ({"image": "a"}, {"image": "b"}, True),
        ({"image": "a"}, {"image": "a", "command": ["x"]}, False),
    ],
)
def test_only_the_image_of_a_pods_containers_can_change(before: Any, after: Any, allowed: bool) -> None:
    old, new = _pod(containers=[{"name": "m"} | before]), _pod(containers=[{"name": "m"} | after])
    if allowed:
        check_update(BY_KIND["Pod"], old, new)
    else:
        with pytest.raises(Invalid, match=r'Pod "w" is invalid: spec: Forbidden'):
            check_update(BY_KIND["Pod"], old, new)


def test_an_immutable_config_map_keeps_its_data() -> None:
    old = _stored() | {"kind": "ConfigMap", "data": {"a": "1"}, "immutable": True}
    check_update(BY_KIND["ConfigMap"], old, old | {"metadata": {"name": "w", "labels": {"x": "y"}}})
    for change in ({"data": {"a": "2"}}, {"immutable": False}):
        with pytest.raises(Invalid, match="immutable"):
            check_update(BY_KIND["ConfigMap"], old, old | change)


IMMUTABLE: dict[str, tuple[dict[str, Any], str]] = {
    # changes of spec, the field that is named
    "the scope": ({"scope": "Cluster"}, "spec.scope"),
    "the group": ({"group": "other.org"}, "spec.group"),
    "the plural": ({"names": {"kind": "Widget", "plural": "gadgets"}}, "spec.names.plural"),
    "the kind": ({"names": {"kind": "Gadget", "plural": "widgets"}}, "spec.names.kind"),
}


@pytest.mark.parametrize("case", IMMUTABLE)
def test_the_storage_names_of_a_crd_are_immutable(case: str) -> None:
    changes, field = IMMUTABLE[case]
    old = widget_crd()
    new = old | {"spec": old["spec"] | changes}
    with pytest.raises(Invalid, match=rf"{field}: Invalid value: .*: field is immutable"):
        check_update(BY_KIND["CustomResourceDefinition"], old, new)
    names = old["spec"]["names"] | {"shortNames": ["wg"]}
    check_update(BY_KIND["CustomResourceDefinition"], old, old | {"spec": old["spec"] | {"names": names}})


def test_a_binding_sets_the_node_and_the_condition() -> None:
    bound = builtin_strategies.bind_pod(
        _pod(),
        {"target": {"kind": "Node", "name": "n1"}, "metadata": {"annotations": {"a": "1"}, "uid": "u1"}},
        NOW,
    )
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"a": "1"}
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


@pytest.mark.parametrize(
    ("pod", "binding", "error", "message"),
    [
        (_pod(nodeName="n1"), {"target": {"name": "n2"}}, Conflict, 'already assigned to node "n1"'),
        (_pod(), {"target": {"name": "n2"}, "metadata": {"uid": "u2"}}, Conflict, "UID in precondition: u2"),
        (_pod(), {"target": {"kind": "Pod", "name": "n2"}}, BadRequest, "wants"),
        (_pod(), {}, BadRequest, "wants"),
        (_pod(), "n1", BadRequest, "wants"),
    ],
)
def test_invalid_bindings_are_refused(pod: Any, binding: Any, error: type[ApiError], message: str) -> None:
    with pytest.raises(error, match=message):
        builtin_strategies.bind_pod(pod, binding, NOW)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"nvidia.com/gpu": 1}}], "BestEffort"),
    ],
)
def test_the_qos_class_of_a_pod(resources: list[Any], expected: str) -> None:
    assert (
        builtin_strategies.qos_class({"containers": [{"name": "m", "resources": one} for one in resources]}) == expected
    )


def test_a_scale_is_read_and_written_by_the_paths_of_its_kind() -> None:
    current = _stored(spec={"replicas": 2}, status={"replicas": 1})
    scale = builtin_strategies.read_scale(WIDGET, current)
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1})
    patched = builtin_strategies.patch_scale(scale, {"spec": {"replicas": 5}}, "strategic")
    assert builtin_strategies.apply_scale(WIDGET, current, patched)["spec"] == {"replicas": 5}
    with pytest.raises(BadRequest, match=r"spec\.replicas"):
        builtin_strategies.apply_scale(WIDGET, current, {"spec": {"replicas": -1}})


def _served(kind: str) -> ServedResource:
    return BY_KIND[kind]


def test_the_server_sets_fields_of_new_objects() -> None:
    assert builtin_strategies.prepare_for_create(_served("Pod"), _pod(), NOW)["status"]["phase"] == "Pending"
    namespace = builtin_strategies.prepare_for_create(
        _served("Namespace"), {"kind": "Namespace", "metadata": {"name": "n"}}, NOW
    )
    assert namespace["status"] == {"phase": "Active"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    crd = builtin_strategies.establish(widget_crd(), NOW)
    assert {c["type"]: c["status"] for c in crd["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert crd["status"]["storedVersions"] == ["v1"]
    assert builtin_strategies.establish(crd, NOW + 100) == crd
