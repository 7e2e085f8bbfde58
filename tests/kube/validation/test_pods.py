"""The rules of pods: one valid base and one change per row; and values of a wrong type, which the rules ignore."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.validation import downward, pods
from paddock.kube.validation.field_errors import Code
from paddock.kube.validation.probes import check_cares

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
C, INIT = ("containers", 0), ("initContainers", 0)
EXEC = {"exec": {"command": ["true"]}}
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
    ((*C, "env", 0, "valueFrom"), {"fieldRef": {"fieldPath": "metadata.name"}}, Code.VALUE_AND_SOURCE,
     (*C, "env", 0, "valueFrom")),
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
    ((*ITEM, "mode"), 0o1000, Code.INVALID_MODE, (*ITEM, "mode")),
    (("volumes", 0, "configMap", "defaultMode"), -1, Code.INVALID_MODE, ("volumes", 0, "configMap", "defaultMode")),
    ((*INIT, "restartPolicy"), "OnFailure", Code.NOT_SUPPORTED, (*INIT, "restartPolicy")),
    ((*INIT, "livenessProbe"), EXEC, Code.NOT_OF_INIT, (*INIT, "livenessProbe")),
    ((*INIT, "lifecycle"), {"preStop": EXEC}, Code.NOT_OF_INIT, (*INIT, "lifecycle")),
    ((*C, "startupProbe"), {}, Code.NO_HANDLER, (*C, "startupProbe")),
    ((*C, "startupProbe"), {**EXEC, "tcpSocket": {"port": 1}}, Code.SECOND_HANDLER, (*C, "startupProbe", "tcpSocket")),
    ((*C, "readinessProbe"), {"exec": {"command": []}}, Code.REQUIRED, (*C, "readinessProbe", "exec", "command")),
    ((*C, "readinessProbe"), {"tcpSocket": {"port": 0}}, Code.OUT_OF_RANGE,
     (*C, "readinessProbe", "tcpSocket", "port")),
    ((*C, "readinessProbe"), {"tcpSocket": {"port": "00000199999"}}, Code.OUT_OF_RANGE,
     (*C, "readinessProbe", "tcpSocket", "port")),
    ((*C, "readinessProbe"), {"tcpSocket": {"port": "70000"}}, Code.OUT_OF_RANGE,
     (*C, "readinessProbe", "tcpSocket", "port")),
    ((*C, "readinessProbe"), {"httpGet": {"path": "/"}}, Code.REQUIRED, (*C, "readinessProbe", "httpGet", "port")),
    ((*C, "readinessProbe"), {"httpGet": {"port": 1, "scheme": "https"}}, Code.NOT_SUPPORTED,
     (*C, "readinessProbe", "httpGet", "scheme")),
    ((*C, "readinessProbe"), {**EXEC, "periodSeconds": -1}, Code.NEGATIVE, (*C, "readinessProbe", "periodSeconds")),
    ((*C, "readinessProbe"), {**EXEC, "terminationGracePeriodSeconds": 1}, Code.NOT_OF_READINESS,
     (*C, "readinessProbe", "terminationGracePeriodSeconds")),
    ((*C, "livenessProbe"), {**EXEC, "terminationGracePeriodSeconds": 0}, Code.NOT_POSITIVE,
     (*C, "livenessProbe", "terminationGracePeriodSeconds")),
    ((*C, "livenessProbe"), {**EXEC, "successThreshold": 2}, Code.NOT_ONE, (*C, "livenessProbe", "successThreshold")),
    ((*C, "lifecycle"), {"preStop": {}}, Code.NO_HANDLER, (*C, "lifecycle", "preStop")),
    ((*C, "lifecycle"), {"preStop": {"sleep": {"seconds": 31}}}, Code.SLEEP_TOO_LONG,
     (*C, "lifecycle", "preStop", "sleep")),
]  # fmt: skip


FIELD, RESOURCE = {"fieldPath": "metadata.name"}, {"containerName": "paddle", "resource": "limits.cpu"}
TOLD: list[tuple[dict[str, Any], list[tuple[Code, tuple[str, ...]]]]] = [
    ({"fieldRef": FIELD}, []),
    ({"fieldRef": {"fieldPath": "metadata.labels"}}, []),
    ({"fieldRef": {"fieldPath": "metadata.annotations['a.b/c']"}}, []),
    ({"fieldRef": {"fieldPath": "metadata.labels['a b']"}}, [(Code.INVALID_LABEL_KEY, ("fieldRef", "fieldPath"))]),
    ({"fieldRef": {"fieldPath": "status.podIP"}}, [(Code.NOT_SUPPORTED, ("fieldRef", "fieldPath"))]),
    ({"fieldRef": {"fieldPath": ""}}, [(Code.REQUIRED, ("fieldRef", "fieldPath"))]),
    ({"resourceFieldRef": RESOURCE}, []),
    ({"resourceFieldRef": RESOURCE | {"divisor": "0"}}, []),
    ({"resourceFieldRef": RESOURCE | {"divisor": "1m"}}, []),
    ({"resourceFieldRef": RESOURCE | {"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}}, []),
    ({"resourceFieldRef": RESOURCE | {"divisor": "1Mi"}}, [(Code.INVALID_DIVISOR, ("resourceFieldRef", "divisor"))]),
    ({"resourceFieldRef": RESOURCE | {"resource": "requests.memory", "divisor": "1m"}},
     [(Code.INVALID_DIVISOR, ("resourceFieldRef", "divisor"))]),
    ({"resourceFieldRef": RESOURCE | {"divisor": "much"}}, [(Code.INVALID_QUANTITY, ("resourceFieldRef", "divisor"))]),
    ({"resourceFieldRef": RESOURCE | {"resource": "limits.gpu"}},
     [(Code.NOT_SUPPORTED, ("resourceFieldRef", "resource"))]),
    ({"resourceFieldRef": {"resource": "limits.cpu"}}, [(Code.REQUIRED, ("resourceFieldRef", "containerName"))]),
    ({"fieldRef": FIELD, "resourceFieldRef": RESOURCE}, [(Code.FIELD_AND_RESOURCE, ())]),
    ({}, [(Code.REQUIRED, ())]),
]  # fmt: skip


@pytest.mark.parametrize(("item", "errors"), TOLD)
@pytest.mark.parametrize("projected", [False, True])
def test_what_a_file_is_told_of_the_pod(item: dict[str, Any], errors: list[Any], projected: bool) -> None:
    source = {"downwardAPI": {"items": [{"path": "p", **item}]}}
    volume = {"projected": {"sources": [source]}} if projected else source
    before = ("projected", "sources", 0, "downwardAPI") if projected else ("downwardAPI",)
    pod = copy.deepcopy(POD) | {"volumes": [{"name": "data", **volume}]}
    found = [(error.code, error.path) for error in pods.check_pod_spec(pod, ())]
    assert found == [(code, ("volumes", 0, *before, "items", 0, *path)) for code, path in errors]


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ({"fieldRef": {"fieldPath": "status.podIP"}}, []),
        ({"fieldRef": {"fieldPath": "metadata.labels['a']"}}, []),
        ({"fieldRef": {"fieldPath": "metadata.labels"}}, [(Code.NOT_SUPPORTED, ("fieldRef", "fieldPath"))]),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, []),
        ({"resourceFieldRef": {"resource": "cpu"}}, [(Code.NOT_SUPPORTED, ("resourceFieldRef", "resource"))]),
    ],
)
def test_what_a_variable_is_told_of_the_pod(source: dict[str, Any], errors: list[Any]) -> None:
    found = pods.check_variable({"name": "A", "valueFrom": source}, ())
    assert [(error.code, error.path) for error in found] == [(code, ("valueFrom", *path)) for code, path in errors]


def test_two_sources_of_a_volume_with_one_file_are_refused() -> None:
    items = {"items": [{"key": "k", "path": "same"}]}
    sources = [{"configMap": items}, {"secret": items}, {"serviceAccountToken": {"path": "other"}}]
    pod = copy.deepcopy(POD) | {"volumes": [{"name": "data", "projected": {"sources": sources}}]}
    found = [(error.code, error.path, error.value) for error in pods.check_pod_spec(pod, ())]
    assert found == [(Code.CONFLICTING_FILE, ("volumes", 0, "projected", "sources", 1), "same")]


def test_a_valid_pod_has_no_errors() -> None:
    assert list(pods.check_pod_spec(POD, ())) == []


def test_a_side_car_may_have_what_no_other_init_container_may() -> None:
    cared = {"restartPolicy": "Always", "startupProbe": EXEC, "lifecycle": {"postStart": {"sleep": {"seconds": 30}}}}
    pod = {**POD, "initContainers": [{"name": "init", "image": "a", **cared}]}
    assert list(pods.check_pod_spec(pod, ())) == []


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
CARES = st.dictionaries(
    st.sampled_from(["restartPolicy", "lifecycle", "livenessProbe", "readinessProbe"]),
    ANYTHING
    | st.dictionaries(st.sampled_from(["exec", "httpGet", "sleep", "preStop", "periodSeconds", "port"]), ANYTHING),
)
ITEMS = st.dictionaries(st.sampled_from(["name", "value", "valueFrom", "mountPath", "subPath", "protocol"]), ANYTHING)


@given(CARES, st.booleans(), ANYTHING)
def test_the_rules_of_probes_accept_any_value(container: dict[str, Any], init: bool, grace: Any) -> None:
    assert all(error.code in Code for error in check_cares(container, (), init=init, grace=grace))


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
            *downward.check_file_sources({"fieldRef": item, "resourceFieldRef": amounts}, ()),
            *downward.check_file_sources({"resourceFieldRef": {"divisor": amounts, "resource": "limits.cpu"}}, ()),
            *pods.check_amounts(resources, ()),
        )
    )
