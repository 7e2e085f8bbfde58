"""The rules of pods: one valid base and one change per row; and values of a wrong type, which the rules ignore."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.validation import pods
from paddock.kube.validation.field_errors import Code

POD: dict[str, Any] = {
    "restartPolicy": "Never",
    "volumes": [{"name": "data", "configMap": {"items": [{"key": "k", "path": "p"}]}}],
    "initContainers": [{"name": "init", "image": "a"}],
    "containers": [
        {
            "name": "paddle",
            "image": "a",
            "env": [{"name": "A", "value": "1"}],
            "ports": [{"containerPort": 1}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
        }
    ],
}
C = ("containers", 0)
ITEM = ("volumes", 0, "configMap", "items", 0)
ROWS: list[tuple[tuple[str | int, ...], Any, Code, tuple[str | int, ...]]] = [
    (("containers",), [], Code.REQUIRED, ("containers",)),
    ((*C, "name"), "Paddle", Code.INVALID_DNS_LABEL, (*C, "name")),
    ((*C, "name"), "init", Code.DUPLICATE, (*C, "name")),
    ((*C, "image"), "", Code.REQUIRED, (*C, "image")),
    ((*C, "imagePullPolicy"), "always", Code.NOT_SUPPORTED, (*C, "imagePullPolicy")),
    ((*C, "ports", 0, "containerPort"), 0, Code.OUT_OF_RANGE, (*C, "ports", 0, "containerPort")),
    ((*C, "ports", 0, "protocol"), "tcp", Code.NOT_SUPPORTED, (*C, "ports", 0, "protocol")),
    ((*C, "env", 0, "name"), "1A", Code.INVALID_ENV_NAME, (*C, "env", 0, "name")),
    ((*C, "env", 0, "valueFrom"), {"fieldRef": {}}, Code.VALUE_AND_SOURCE, (*C, "env", 0, "valueFrom")),
    ((*C, "env", 0), {"name": "A", "valueFrom": {}}, Code.NOT_ONE_SOURCE, (*C, "env", 0, "valueFrom")),
    ((*C, "volumeMounts", 0, "name"), "dat", Code.NOT_FOUND, (*C, "volumeMounts", 0, "name")),
    ((*C, "volumeMounts"), [POD["containers"][0]["volumeMounts"][0]] * 2, Code.NOT_UNIQUE,
     (*C, "volumeMounts", 1, "mountPath")),
    ((*C, "volumeMounts", 0, "subPath"), "a/../b", Code.INVALID_SUB_PATH, (*C, "volumeMounts", 0, "subPath")),
    ((*C, "resources", "limits", "cpu"), "half", Code.INVALID_QUANTITY, (*C, "resources", "limits", "cpu")),
    ((*C, "resources", "requests", "cpu"), "-1", Code.NEGATIVE, (*C, "resources", "requests", "cpu")),
    ((*C, "resources", "requests", "cpu"), "2", Code.ABOVE_LIMIT, (*C, "resources", "requests")),
    ((*C, "command"), ["a\0"], Code.NUL_CHARACTER, (*C, "command", 0)),
    (("restartPolicy",), "Sometimes", Code.NOT_SUPPORTED, ("restartPolicy",)),
    (("terminationGracePeriodSeconds",), -1, Code.NEGATIVE, ("terminationGracePeriodSeconds",)),
    (("activeDeadlineSeconds",), 0, Code.OUT_OF_RANGE, ("activeDeadlineSeconds",)),
    (("activeDeadlineSeconds",), 2**31, Code.OUT_OF_RANGE, ("activeDeadlineSeconds",)),
    ((*C, "terminationMessagePolicy"), "Logs", Code.NOT_SUPPORTED, (*C, "terminationMessagePolicy")),
    ((*C, "volumeMounts", 0, "subPathExpr"), "$(A)/../b", Code.INVALID_SUB_PATH,
     (*C, "volumeMounts", 0, "subPathExpr")),
    (("volumes", 0), {"name": "data", "hostPath": {"path": ""}}, Code.REQUIRED, ("volumes", 0, "hostPath", "path")),
    (("volumes", 0), {"name": "data", "hostPath": {"path": "/a/../b"}}, Code.LEAVES_VOLUME,
     ("volumes", 0, "hostPath", "path")),
    (("volumes", 0), {"name": "data", "hostPath": {"path": "/a", "type": "Dir"}}, Code.NOT_SUPPORTED,
     ("volumes", 0, "hostPath", "type")),
    (("nodeSelector",), {"a": "b c"}, Code.INVALID_LABEL_VALUE, ("nodeSelector",)),
    (("hostname",), "a.b", Code.INVALID_DNS_LABEL, ("hostname",)),
    (("volumes",), [{"name": "data"}] * 2, Code.DUPLICATE, ("volumes", 1, "name")),
    ((*ITEM, "key"), "", Code.REQUIRED, (*ITEM, "key")),
    ((*ITEM, "path"), "/a", Code.NOT_RELATIVE, (*ITEM, "path")),
    ((*ITEM, "path"), "a/..", Code.LEAVES_VOLUME, (*ITEM, "path")),
    ((*ITEM, "path"), "..a", Code.RESERVED_PREFIX, (*ITEM, "path")),
]  # fmt: skip


def test_a_valid_pod_has_no_errors() -> None:
    assert list(pods.check_pod_spec(POD, ())) == []


@pytest.mark.parametrize(("place", "value", "code", "path"), ROWS)
def test_each_mistake_has_one_error(place: tuple[Any, ...], value: Any, code: Code, path: object) -> None:
    pod = copy.deepcopy(POD)
    *around, last = place
    inner: Any = pod
    for step in around:
        inner = inner[step]
    inner[last] = value
    assert [(error.code, error.path) for error in pods.check_pod_spec(pod, ())] == [(code, path)]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)
ITEMS = st.dictionaries(st.sampled_from(["name", "value", "valueFrom", "mountPath", "subPath", "protocol"]), ANYTHING)


@given(ITEMS, st.lists(ITEMS | ANYTHING, max_size=3) | ANYTHING, ANYTHING)
def test_the_rules_of_parts_accept_any_value(item: dict[str, Any], mounts: Any, amounts: Any) -> None:
    resources = {"limits": amounts, "requests": {"cpu": amounts}}
    assert all(
        error.code in Code
        for error in (
            *pods.check_name(item, (), set()),
            *pods.check_variable(item, ()),
            *pods.check_choice(item, "protocol", pods.PROTOCOLS, ()),
            *pods.check_mounts({"volumeMounts": mounts}, (), ["data"]),
            *pods.check_amounts(resources, ()),
        )
    )
