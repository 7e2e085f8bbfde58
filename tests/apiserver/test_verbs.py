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
from paddock.kube.errors import ApiError, BadRequest, Conflict, Invalid

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
    sent = widget(size=1)
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 9,
                         "resourceVersion": "5", "deletionTimestamp": "1999-01-01T00:00:00Z", "labels": {}}  # fmt: skip
    created = strategy.build_new(WIDGET, sent, uid="u", name="w", now=NOW)
    assert created["metadata"] == {"name": "w", "uid": "u", "creationTimestamp": NOW_TEXT, "generation": 1}


UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    # metadata and top-level changes, the generation after
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


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("text", "not a Widget"),
        (widget() | {"kind": "Gadget"}, "cannot be handled as a Widget"),
        (widget() | {"metadata": []}, "metadata of the Widget is not an object"),
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
    "a bound pod without one has 30 s": ({"nodeName": "n"}, {}, None, 30),
    "a negative grace is one second": (BOUND, {}, -1, 1),
    "a grace of 64 bits is one of 68 years": (BOUND, {}, 2**63 - 1, 2**31 - 1),
    "a grace of the pod is no longer": ({**BOUND, "terminationGracePeriodSeconds": 2**62}, {}, None, 2**31 - 1),
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


def test_a_second_delete_can_only_shorten_the_grace_period() -> None:
    pod = _pod(nodeName="n")
    marked = _plan("Pod", pod, DeleteOptions(), grace=30)
    assert marked["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:30Z"
    assert _plan("Pod", marked, DeleteOptions(), grace=60) == marked
    assert _plan("Pod", marked, DeleteOptions(), grace=0) is None


def test_a_pod_with_a_finalizer_outlives_its_grace_period() -> None:
    pod = _pod(nodeName="n")
    pod["metadata"]["finalizers"] = ["a/b"]
    marked = _plan("Pod", pod, DeleteOptions(), grace=0)
    assert not strategy.is_removable(marked)
    assert strategy.is_removable(marked | {"metadata": marked["metadata"] | {"finalizers": []}})


def test_the_plural_of_a_definition_is_immutable() -> None:
    old = widget_crd()
    new = old | {"spec": old["spec"] | {"names": {"kind": "Widget", "plural": "gadgets"}}}
    with pytest.raises(Invalid, match=r"spec.names.plural: Invalid value: .*: field is immutable"):
        check_update(BY_KIND["CustomResourceDefinition"], old, new)


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
        (_pod(), {"target": {"name": "n2"}, "metadata": {"uid": "u2"}}, Conflict, "UID in precondition: u2"),
        (_pod(), {"target": {"kind": "Pod", "name": "n2"}}, BadRequest, "wants"),
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


@pytest.mark.parametrize("replicas", [-1, "two"])
def test_a_scale_is_a_number_from_0(replicas: Any) -> None:
    with pytest.raises(BadRequest, match=r"spec\.replicas"):
        builtin_strategies.apply_scale(WIDGET, _stored(), {"spec": {"replicas": replicas}})


def test_what_is_established_stays_as_it_is() -> None:
    crd = builtin_strategies.establish(widget_crd(), NOW)
    assert builtin_strategies.establish(crd, NOW + 100) == crd
