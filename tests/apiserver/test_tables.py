"""`kubectl get`: the status of a pod in every state, ages, the columns of built-in and custom kinds, JSONPaths."""

import pytest

from paddock.apiserver.kinds.registry import BUILT_INS, Column, Registry, ServedResource
from paddock.apiserver.printing.tables import build_table
from paddock.apiserver.schema.json_path import find
from paddock.kube.meta import Resource
from paddock.kube.times import format_time

NOW = 1_800_000_000.0
REGISTRY = Registry()


def served(plural, group="", version="v1"):
    return REGISTRY.find(group, version, plural)


def row(kind, obj, now=NOW):
    """The row by column names."""
    table = build_table(kind, [obj], "7", now)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def container(state=None, ready=False, restarts=0, name="a", ended=None):
    status = {"name": name, "ready": ready, "restartCount": restarts, "state": state or {}}
    if ended is not None:
        status["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": format_time(NOW - ended)}}
    return status


def waiting(reason):
    return container({"waiting": {"reason": reason}})


def ended(code, reason="", **more):
    return container({"terminated": {"exitCode": code, "reason": reason, **more}})


RUNNING = container({"running": {}}, ready=True)


def pod(*statuses, phase="Running", init=(), reason="", conditions=(), deleting=False, gates=()):
    meta = {"name": "p", "creationTimestamp": format_time(NOW - 41)}
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    status = {"phase": phase, "containerStatuses": list(statuses), "initContainerStatuses": list(init)}
    status["conditions"] = [{"type": kind, "status": value} for kind, value in conditions]
    if reason:
        status["reason"] = reason
    spec = {"containers": [{}] * max(1, len(statuses)), "initContainers": [{}] * max(len(init), 1 if init else 0)}
    return {"metadata": meta, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("obj", "ready", "status"),
    [
        (pod(phase="Pending"), "0/1", "Pending"),
        (pod(waiting("ContainerCreating"), phase="Pending"), "0/1", "ContainerCreating"),
        (pod(waiting("CreateContainerConfigError"), phase="Pending"), "0/1", "CreateContainerConfigError"),
        (pod(waiting("ImagePullBackOff"), phase="Pending"), "0/1", "ImagePullBackOff"),
        (pod(RUNNING), "1/1", "Running"),
        (pod(RUNNING, waiting("CrashLoopBackOff")), "1/2", "CrashLoopBackOff"),
        (pod(ended(0, "Completed"), phase="Succeeded"), "0/1", "Completed"),
        (pod(ended(1, "Error"), phase="Failed"), "0/1", "Error"),
        (pod(ended(137, "OOMKilled"), phase="Failed"), "0/1", "OOMKilled"),
        (pod(ended(3), phase="Failed"), "0/1", "ExitCode:3"),
        (pod(ended(0, signal=9), phase="Failed"), "0/1", "Signal:9"),
        (pod(phase="Failed", reason="Evicted"), "0/1", "Evicted"),
        (pod(RUNNING, ended(0, "Completed"), conditions=[("Ready", "True")]), "1/2", "Running"),
        (pod(RUNNING, ended(0, "Completed")), "1/2", "NotReady"),
        (pod(RUNNING, deleting=True), "1/1", "Terminating"),
        (pod(RUNNING, deleting=True, reason="NodeLost"), "1/1", "Unknown"),
        (pod(ended(0, "Completed"), phase="Succeeded", deleting=True), "0/1", "Completed"),
        (pod(waiting("PodInitializing"), init=[container({"running": {}})], phase="Pending"), "0/1", "Init:0/1"),
        (pod(waiting("PodInitializing"), init=[ended(0), waiting("PodInitializing")], phase="Pending"),
         "0/1", "Init:1/2"),
        (pod(init=[ended(1, "Error")], phase="Pending"), "0/1", "Init:Error"),
        (pod(init=[ended(2)], phase="Pending"), "0/1", "Init:ExitCode:2"),
        (pod(init=[waiting("CrashLoopBackOff")], phase="Pending"), "0/1", "Init:CrashLoopBackOff"),
        (pod(waiting("PodInitializing"), init=[ended(0)], phase="Pending"), "0/1", "PodInitializing"),
    ],
)  # fmt: skip
def test_the_status_column_of_a_pod(obj, ready, status):
    found = row(served("pods"), obj)
    assert (found["Ready"], found["Status"], found["Age"]) == (ready, status, "41s")


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        ((), "0"),
        ((container(restarts=2), container(restarts=1)), "3"),
        ((container(restarts=2, ended=300),), "2 (5m ago)"),
    ],
)
def test_restarts_show_their_number_and_the_age_of_the_last(statuses, shown):
    assert row(served("pods"), pod(*statuses))["Restarts"] == shown


def test_a_table_carries_columns_cells_and_metadata():
    obj = pod(RUNNING)
    table = build_table(served("pods"), [obj], "42", NOW)
    assert (table["kind"], table["apiVersion"], table["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        {"resourceVersion": "42"},
    )
    shown = [column["name"].upper() for column in table["columnDefinitions"] if not column["priority"]]
    assert shown == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    wide = [column["name"].upper() for column in table["columnDefinitions"] if column["priority"]]
    assert wide == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert table["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


META = {"name": "x", "creationTimestamp": format_time(NOW - 200)}


@pytest.mark.parametrize(
    ("kind", "obj", "cells"),
    [
        (served("namespaces"), {"status": {"phase": "Active"}}, {"Status": "Active", "Age": "3m20s"}),
        (served("configmaps"), {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}}, {"Data": 2, "Age": "3m20s"}),
        (served("secrets"), {"type": "Opaque", "data": {"a": "Yg=="}}, {"Type": "Opaque", "Data": 1, "Age": "3m20s"}),
        (served("services"), {"spec": {"clusterIP": "None", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]}},
         {"Type": "ClusterIP", "Cluster-IP": "None", "External-IP": "<none>", "Port(s)": "80/TCP,53/UDP",
          "Age": "3m20s", "Selector": "<none>"}),
        (served("leases", "coordination.k8s.io"), {"spec": {"holderIdentity": "me"}}, {"Holder": "me", "Age": "3m20s"}),
        (served("customresourcedefinitions", "apiextensions.k8s.io"), {}, {"Created At": META["creationTimestamp"]}),
        (served("serviceaccounts"), {}, {"Secrets": 0, "Age": "3m20s"}),
        (served("deployments", "apps"), {"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}, {"Ready": "1/2"}),
        (served("persistentvolumes"), {"spec": {"capacity": {"storage": "1Gi"}}}, {"Capacity": "1Gi", "Status": None}),
    ],
)  # fmt: skip
def test_other_kinds_have_their_columns(kind, obj, cells):
    found = row(kind, {"metadata": META, **obj})
    assert found["Name"] == "x"
    assert {name: found[name] for name in cells} == cells


def test_a_node_shows_roles_version_and_whether_it_is_schedulable():
    labels = {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/worker": ""}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.32.0", "osImage": "Debian"},
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    }
    node = {"metadata": {**META, "labels": labels}, "spec": {"unschedulable": True}, "status": status}
    found = row(served("nodes"), node)
    assert found["Status"] == "Ready,SchedulingDisabled"
    assert (found["Roles"], found["Version"], found["Internal-IP"]) == ("control-plane,worker", "v1.32.0", "127.0.0.1")
    assert found["OS-Image"] == "Debian"


@pytest.mark.parametrize(
    ("ready", "word"), [("True", "Ready"), ("False", "NotReady"), ("Unknown", "NotReady"), (None, "Unknown")]
)
def test_the_status_column_of_a_node(ready, word):
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    assert row(served("nodes"), {"metadata": META, "status": {"conditions": conditions}})["Status"] == word


def test_an_event_shows_its_object_and_its_source():
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p"},
        "type": "Warning",
        "reason": "Failed",
        "message": "no\n",
        "lastTimestamp": format_time(NOW - 5),
        "count": 3,
    }
    found = row(served("events"), event)
    shown = [found[name] for name in ("Last Seen", "Type", "Reason", "Object", "Message", "Count")]
    assert shown == ["5s", "Warning", "Failed", "pod/p", "no", 3]


@pytest.mark.parametrize("kind", BUILT_INS, ids=lambda kind: kind.resource.plural)
def test_every_kind_can_be_printed_with_a_name_only(kind):
    table = build_table(kind, [{"metadata": {"name": "x"}}], "1", NOW)
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


WIDGETS = ServedResource(
    Resource("example.org", "v1", "Widget", "widgets"),
    "widget",
    custom=True,
    columns=(
        Column("Status", "string", ".status.phase"),
        Column("Ready", "integer", ".status.ready"),
        Column("Ratio", "number", ".status.ratio", priority=1),
        Column("On", "boolean", ".spec.on"),
        Column("Ended", "date", ".status.ended"),
        Column("Why", "string", '.status.conditions[?(@.type=="Ready")].reason'),
        Column("Names", "string", ".spec.names"),
    ),
)


def test_a_custom_kind_shows_what_its_paths_find():
    widget = {
        "metadata": META,
        "spec": {"on": True, "names": ["a", "b"]},
        "status": {
            "phase": "Completed",
            "ready": 2,
            "ratio": 0.5,
            "ended": format_time(NOW - 60),
            "conditions": [{"type": "Other", "reason": "No"}, {"type": "Ready", "reason": "Done"}],
        },
    }
    table = build_table(WIDGETS, [widget], "1", NOW)
    assert table["rows"][0]["cells"] == ["x", "Completed", 2, 0.5, True, "60s", "Done", '["a","b"]']
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 1, 0, 0, 0, 0]


def test_a_missing_value_or_a_value_of_another_type_is_an_empty_cell():
    table = build_table(WIDGETS, [{"metadata": META, "status": {"ready": "two"}, "spec": {"on": 1}}], "1", NOW)
    assert table["rows"][0]["cells"] == ["x", None, None, None, None, None, None, None]


OBJ = {"a": {"b": [{"type": "X", "n": 1}, {"type": "Y", "n": 2}], "x.y": 3}, "on": True}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b[0].type", ["X"]),
        (".a.b[-1].type", ["Y"]),
        (".a.b[7].type", []),
        (".a.b[-1:].type", ["Y"]),
        (".a.b[:1].type", ["X"]),
        (".a.b[5:].type", []),
        (".a[0:].type", []),
        (".a.b[*].n", [1, 2]),
        ('.a.b[?(@.type=="Y")].n', [2]),
        (".a.b[?(@.type=='X')].n", [1]),
        ('.a.b[?(@.type!="X")].n', [2]),
        (".a.b[?(@.n==2)].type", ["Y"]),
        (".a['x.y']", [3]),
        (r".a.x\.y", [3]),
        ("{.on}", [True]),
        ("$.on", [True]),
        ("on", [True]),
        (".on.deeper", []),
        (".a.b.c", []),
    ],
)
def test_a_path_finds(path, found):
    assert find(path, OBJ) == found


@pytest.mark.parametrize("path", [".a[", ".a..b", ".a[b]", ".a[?(@.x)]"])
def test_an_invalid_path_is_named(path):
    with pytest.raises(ValueError, match="is not a path such as"):
        find(path, OBJ)
