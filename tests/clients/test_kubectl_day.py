"""kubectl of Debian and the newest one: the verbs of a day, on a cluster whose pods run."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from typing import Any

import pytest

from clients.kubectl import Kubectl
from clients.samples import job, pod
from e2e.commands import until

pytestmark = pytest.mark.slow


def settings(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


@pytest.mark.sample
def test_what_the_server_is_and_has(kubectl: Kubectl) -> None:
    assert re.search(r"Server Version: v1\.\d+\.\d+\+paddock", kubectl("version"))
    assert "is running at https://127.0.0.1:" in kubectl("cluster-info")
    listed = kubectl("api-resources", "-o", "wide")
    assert re.search(r"pytorchjobs +kubeflow.org/v1 +true +PyTorchJob +create,delete,", listed), listed
    assert "coordination.k8s.io/v1" in kubectl("api-versions").split()
    assert "pytorchReplicaSpecs" in kubectl("explain", "pytorchjob.spec")
    assert "containerPort\t<integer>" in kubectl("explain", "pod.spec.containers.ports", "--recursive")
    assert "name: paddock" in kubectl("config", "view", "--minify")


def test_an_object_is_made_changed_in_every_way_and_deleted(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=settings(a="1")) == "configmap/c created\n"
    assert "AlreadyExists" in kubectl.refusal("create", "-f", "-", stdin=settings(a="1"))
    assert kubectl("replace", "-f", "-", stdin=settings(a="2")) == "configmap/c replaced\n"
    kubectl("patch", "configmap", "c", "-p", '{"data": {"b": "1"}}')
    kubectl("patch", "configmap", "c", "--type=merge", "-p", '{"data": {"d": "1"}}')
    kubectl("patch", "configmap", "c", "--type=json", "-p", '[{"op": "remove", "path": "/data/d"}]')
    kubectl("label", "configmap", "c", "team=a", "other=b")
    kubectl("label", "configmap", "c", "other-")
    assert "--overwrite" in kubectl.refusal("label", "configmap", "c", "team=b")
    kubectl("annotate", "configmap", "c", "note=first")
    found = kubectl.read("configmap", "c")
    assert (found["data"], found["metadata"]["labels"]) == ({"a": "2", "b": "1"}, {"team": "a"})
    assert found["metadata"]["annotations"] == {"note": "first"}
    assert kubectl("get", "configmap", "-l", "team in (a, b),!other", "-o", "name") == "configmap/c\n"
    assert kubectl("get", "configmap", "--field-selector", "metadata.name=c", "--no-headers").startswith("c ")
    assert kubectl("get", "configmap", "c", "-o", "jsonpath={.data.a}") == "2"
    assert kubectl("get", "configmap", "c", "-o", "custom-columns=N:.metadata.name,A:.data.a").split() == [
        "N",
        "A",
        "c",
        "2",
    ]
    assert kubectl("get", "configmap", "c", "-o", "go-template={{.data.b}}") == "1"
    assert 'a: "2"' in kubectl("get", "configmap", "c", "-o", "yaml")
    assert 'configmap "c" deleted' in kubectl("delete", "configmap", "c")
    assert "NotFound" in kubectl.refusal("get", "configmap", "c")


def test_edit_saves_what_an_editor_wrote(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=job("edited", "true", runPolicy={"suspend": True}))
    editor = kubectl.laptop.directory / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/replicas: 1/replicas: 3/" "$1"\n')
    editor.chmod(0o755)
    done = kubectl.try_command("edit", "pytorchjob", "edited", variables={"KUBE_EDITOR": str(editor)})
    assert done.out == "pytorchjob.kubeflow.org/edited edited\n", str(done)
    assert kubectl.read("pytorchjob", "edited")["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3


def test_apply_and_diff_on_the_clients_side_and_on_the_servers(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=settings(a="1", b="1"))
    assert kubectl("apply", "-f", "-", stdin=settings(a="1", b="1")) == "configmap/c unchanged\n"
    differs = kubectl.try_command("diff", "-f", "-", stdin=settings(a="2"))
    assert differs.code == 1 and '-  b: "1"' in differs.out and '+  a: "2"' in differs.out, str(differs)
    assert kubectl("apply", "-f", "-", stdin=settings(a="2")) == "configmap/c configured\n"
    assert kubectl.read("configmap", "c")["data"] == {"a": "2"}
    assert kubectl.try_command("diff", "-f", "-", stdin=settings(a="2")).code == 0
    assert "last-applied" not in kubectl("apply", "view-last-applied", "configmap/c")

    other = {**settings(x="1"), "metadata": {"name": "s"}}
    assert kubectl("apply", "--server-side", "-f", "-", stdin=other) == "configmap/s serverside-applied\n"
    changed = {**other, "data": {"x": "2"}}
    conflict = kubectl.refusal("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed)
    assert 'conflict with "kubectl"' in conflict and ".data.x" in conflict
    kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=changed)
    assert kubectl.read("configmap", "s")["data"] == {"x": "2"}
    differs = kubectl.try_command("diff", "--server-side", "--field-manager=other", "-f", "-", stdin=other)
    assert differs.code == 1 and '-  x: "2"' in differs.out, str(differs)
    assert "configmap/s created (server dry run)" not in kubectl("get", "configmap", "-o", "name")
    kubectl("apply", "--dry-run=server", "-f", "-", stdin={**other, "metadata": {"name": "never"}})
    assert "never" not in kubectl("get", "configmap", "-o", "name")


def test_apply_prunes_what_a_folder_no_longer_has(kubectl: Kubectl) -> None:
    def labelled(name: str) -> dict[str, Any]:
        return {**settings(a="1"), "metadata": {"name": name, "labels": {"app": "x"}}}

    both = {"apiVersion": "v1", "kind": "List", "items": [labelled("kept"), labelled("dropped")]}
    kubectl("apply", "-f", "-", stdin=both)
    pruned = ("--prune", "-l", "app=x", "--prune-allowlist=core/v1/ConfigMap")
    assert "configmap/dropped pruned" in kubectl("apply", *pruned, "-f", "-", stdin=labelled("kept"))
    assert kubectl("get", "configmap", "-l", "app=x", "-o", "name") == "configmap/kept\n"


def test_apply_prunes_without_being_told_which_kinds(kubectl: Kubectl) -> None:
    """It lists a dozen kinds then, of which some are not served."""
    made = {**settings(a="1"), "metadata": {"name": "kept", "labels": {"app": "x"}}}
    kubectl("apply", "-f", "-", stdin={**made, "metadata": {"name": "dropped", "labels": {"app": "x"}}})
    assert "configmap/dropped pruned" in kubectl("apply", "--prune", "-l", "app=x", "-f", "-", stdin=made)
    assert kubectl("get", "configmap", "-l", "app=x", "-o", "name") == "configmap/kept\n"


def test_kinds_that_are_not_served_are_empty_where_many_are_asked_for(kubectl: Kubectl) -> None:
    dumped = kubectl("cluster-info", "dump")
    assert '"kind": "ReplicationControllerList"' in dumped and '"kind": "NodeList"' in dumped
    kubectl("create", "service", "clusterip", "s", "--tcp=80:80")
    kubectl("create", "deployment", "d", "--image=busybox")
    found = kubectl("get", "all,job,pvc,storageclass,networkpolicy", "-o", "name").split()
    assert found == ["service/s", "deployment.apps/d"]
    told = kubectl.try_command("get", "job")
    assert (told.code, "Warning: Job is not served here" in told.err, "No resources found" in told.err) == (
        0, True, True,
    )  # fmt: skip
    assert "no rollout history found" in kubectl.refusal("rollout", "undo", "deployment/d")


@pytest.mark.parametrize(("kind", "said"), [("job", "Job is not served here"), ("tfjob", "TFJob trains with a")])
def test_a_kind_that_is_not_served_is_explained_by_what_to_do_instead(kubectl: Kubectl, kind: str, said: str) -> None:
    assert said in kubectl("explain", kind)


def test_a_wrong_field_is_named(kubectl: Kubectl) -> None:
    wrong = job("wrong", "true")
    wrong["spec"]["runPolcy"] = {}
    assert 'unknown field "spec.runPolcy"' in kubectl.refusal("create", "-f", "-", stdin=wrong)
    assert 'unknown field "spec.containrs"' in kubectl.refusal("apply", "-f", "-", stdin=pod("p", "true", containrs=[]))
    assert "Invalid value" in kubectl.refusal("create", "-f", "-", stdin={**settings(), "metadata": {"name": "A_B"}})


def test_a_pod_is_run_watched_described_entered_and_deleted(kubectl: Kubectl) -> None:
    watch = kubectl.start("get", "pods", "-w")
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            number = taken.getsockname()[1]
        serve = f"exec python3 -m http.server -b 127.0.0.1 {number} >/dev/null 2>&1"
        script = f"for i in 1 2 3; do echo line $i; done; cd /tmp; {serve}"
        kubectl("create", "-f", "-", stdin=pod("p", script))
        kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
        kubectl("wait", "pod/p", "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
        until("its line on the watch", lambda: re.search(r"p +1/1 +Running", watch.out))
    finally:
        watch.stop()
    assert re.search(r"p +1/1 +Running +0 +\S+ +127\.\S+ ", kubectl("get", "pods", "-o", "wide"))
    until("its lines", lambda: "line 3" in kubectl("logs", "p"))
    assert kubectl("logs", "p", "--tail=1") == "line 3\n"
    assert kubectl("logs", "p", "--all-containers", "--prefix", "--tail=1") == "[pod/p/main] line 3\n"
    until("its events", lambda: "Started container main" in kubectl("describe", "pod", "p"))
    assert "Started container main" in kubectl("events", "--for", "pod/p")
    assert "Started" in kubectl("get", "events", "--field-selector", "involvedObject.name=p,reason=Started")
    until("its usage", lambda: re.search(r"p +\d+m +\d+Mi", kubectl.try_command("top", "pods").out))
    assert re.search(r"\d+m +\d+% +\d+Mi +\d+%", kubectl("top", "nodes"))
    assert kubectl("exec", "p", "--", "sh", "-c", "echo in $HOSTNAME") == "in p\n"
    assert kubectl("exec", "-i", "p", "--", "cat", stdin="typed") == "typed"
    assert "exit code 3" in kubectl.refusal("exec", "p", "--", "sh", "-c", "exit 3", code=3)
    source = kubectl.laptop.directory / "source"
    source.write_text("a file\n")
    kubectl("cp", str(source), "p:/tmp/copied")
    kubectl("cp", "p:/tmp/copied", "back")
    assert (kubectl.laptop.directory / "back").read_text() == "a file\n"
    forward = kubectl.start("port-forward", "p", f":{number}")
    try:
        port = until("the port", lambda: re.search(rf"127.0.0.1:(\d+) -> {number}", forward.out))[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/copied", timeout=60) as answer:
            assert answer.read() == b"a file\n"
    finally:
        forward.stop()
    assert "`kubectl exec" in kubectl.refusal("debug", "p", "--image=busybox")
    kubectl("delete", "pod", "p", "--grace-period=1")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_logs_are_followed_to_the_end_of_a_program(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=pod("p", "for i in 1 2 3; do echo $i; sleep 0.5; done"))
    kubectl("wait", "pod/p", "--for=jsonpath={.status.startTime}", "--timeout=60s")
    assert kubectl("logs", "-f", "p", "--pod-running-timeout=60s") == "1\n2\n3\n"
    kubectl("wait", "pod/p", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")


def test_a_job_is_created_scaled_suspended_waited_for_and_its_pods_go_with_it(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=job("j", "sleep 600"))
    kubectl("wait", "pytorchjob/j", "--for=condition=Running", "--timeout=60s")
    kubectl("scale", "pytorchjob/j", "--replicas=2")
    until("two workers", lambda: len(kubectl("get", "pods", "-o", "name").split()) == 2)
    kubectl("patch", "pytorchjob", "j", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": true}}}')
    kubectl("wait", "pytorchjob/j", "--for=condition=Suspended", "--timeout=60s")
    kubectl("wait", "pod", "--all", "--for=delete", "--timeout=60s")
    assert re.search(r"Suspend: +true", kubectl("describe", "pytorchjob", "j"))
    kubectl("patch", "pytorchjob", "j", "--type=merge", "-p", '{"spec": {"runPolicy": {"suspend": false}}}')
    until("its workers", lambda: len(kubectl("get", "pods", "-o", "name").split()) == 2)
    kubectl("delete", "pytorchjob", "j", "--cascade=foreground", "--timeout=60s")
    assert kubectl("get", "pods", "-o", "name") == ""


@pytest.mark.parametrize(("cascade", "left"), [("background", []), ("orphan", ["configmap/child"])])
def test_a_deletion_takes_or_leaves_what_an_object_owns(kubectl: Kubectl, cascade: str, left: list[str]) -> None:
    kubectl("create", "-f", "-", stdin={**settings(), "metadata": {"name": "owner"}})
    owner = kubectl.read("configmap", "owner")["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
    child = {"name": "child", "labels": {"child": "yes"}, "ownerReferences": [reference]}
    kubectl("create", "-f", "-", stdin={**settings(), "metadata": child})
    kubectl("delete", "configmap", "owner", f"--cascade={cascade}")
    until("its end", lambda: kubectl("get", "configmap", "-l", "child", "-o", "name").split() == left)
    assert "ownerReferences" not in kubectl("get", "configmap", "-l", "child", "-o", "yaml")


def test_who_may_what_is_asked_and_a_token_speaks_for_an_account(kubectl: Kubectl) -> None:
    assert re.search(r"Username +paddock", kubectl("auth", "whoami"))
    assert kubectl("auth", "can-i", "create", "pytorchjobs") == "yes\n"
    assert "[*]" in kubectl("auth", "can-i", "--list")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl("create", "rolebinding", "reads", "--role=reader", f"--serviceaccount={kubectl.namespace}:robot")
    robot = f"--as=system:serviceaccount:{kubectl.namespace}:robot"
    assert kubectl("auth", "can-i", "list", "configmaps", robot) == "yes\n"
    assert kubectl.try_command("auth", "can-i", "delete", "configmaps", robot).out == "no\n"
    token = kubectl("create", "token", "robot", "--duration=1h").strip()
    assert f"system:serviceaccount:{kubectl.namespace}:robot" in kubectl("auth", "whoami", f"--token={token}")


def test_what_commands_make(kubectl: Kubectl) -> None:
    """1.32 and later send these as Protobuf."""
    kubectl("create", "configmap", "made", "--from-literal=a=b")
    kubectl("create", "secret", "generic", "made", "--from-literal=a=b")
    kubectl("create", "clusterrole", f"{kubectl.namespace}-r", "--verb=get", "--resource=pods")
    kubectl("create", "priorityclass", f"{kubectl.namespace}-p", "--value=10")
    kubectl(
        "delete", "clusterrole,priorityclass", f"{kubectl.namespace}-r", f"{kubectl.namespace}-p", "--ignore-not-found"
    )
    assert kubectl("get", "configmap", "made", "-o", "jsonpath={.data}") == '{"a":"b"}'
    assert json.loads(kubectl("get", "secret", "made", "-o", "json"))["data"] == {"a": "Yg=="}


@pytest.mark.parametrize("words", [("job", "x", "--image=busybox"), ("ingress", "x", "--rule=a/b=c:80")])
def test_a_kind_that_is_not_served_is_refused_with_a_sentence(kubectl: Kubectl, words: tuple[str, ...]) -> None:
    assert "is not served here" in kubectl.refusal("create", *words)


def test_a_node_is_cordoned_drained_and_taken_back(kubectl: Kubectl) -> None:
    (node,) = kubectl("get", "nodes", "-o", "name").split()
    kubectl("create", "-f", "-", stdin=pod("p", "sleep 600"))
    kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
    try:
        kubectl("drain", node, "--force", "--ignore-daemonsets", "--pod-selector=!paddock.dev/job", "--timeout=60s")
        assert "SchedulingDisabled" in kubectl("get", "nodes")
        assert kubectl("get", "pods", "-o", "name") == ""
    finally:
        kubectl("uncordon", node)
    assert "SchedulingDisabled" not in kubectl("get", "nodes")
