"""The API under the everyday commands of the real kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.embedded import WIDGETS, pod, widget, widget_crd
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CONFIG_MAPS, EVENTS, NODES, PODS
from support.programs import need


def find_kubectls() -> list[str]:
    """The one in PATH, those of other versions beside it, and the one that came with Kubernetes 1.20."""
    found = shutil.which("kubectl")
    beside = sorted(map(str, Path(found).resolve().parent.glob("kubectl.1.*"))) if found else []
    built = sorted((Path.home() / ".cache/paddock/kubernetes").glob("*/bin/kubectl"))
    return ["kubectl", *beside, *map(str, built)]


class Kubectl:
    def __init__(self, server: Server, home: Path, program: str = "kubectl") -> None:
        self._program = need(program)
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(server.kubeconfig)}

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            self._program, *args, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment
        )

    async def __call__(self, *args: str, stdin: Any = None, fails: bool = False) -> str:
        """The output of the command; standard error if it is expected to fail."""
        process = await self.start(*args)
        sent = json.dumps(stdin).encode() if stdin is not None else b""
        out, err = await asyncio.wait_for(process.communicate(sent), 60)
        assert (process.returncode != 0) is fails, err.decode()
        return (err if fails else out).decode()


@pytest.fixture
async def kubectl(server: Server, tmp_path: Path) -> AsyncIterator[Kubectl]:
    home = tmp_path / "home"
    home.mkdir()
    yield Kubectl(server, home)


@pytest.fixture(
    params=[each if each == "kubectl" else pytest.param(each, marks=pytest.mark.slow) for each in find_kubectls()]
)
async def any_kubectl(server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Kubectl]:
    home = tmp_path / "home"
    home.mkdir()
    yield Kubectl(server, home, request.param)


@pytest.mark.slow
async def test_every_version_makes_what_sentences_advise(any_kubectl: Kubectl, widgets: LocalApi) -> None:
    """1.33 and later send Protobuf here."""
    await any_kubectl("create", "namespace", "team")
    await any_kubectl("create", "configmap", "c", "--from-literal=a=b", "--from-literal=c=")
    await any_kubectl("create", "secret", "generic", "s", "--from-literal=a=b")
    await any_kubectl("create", "clusterrole", "r", "--verb=get,list", "--resource=pods")
    assert (await any_kubectl("auth", "can-i", "create", "pods")).strip() == "yes"
    assert (await widgets.get(CONFIG_MAPS, "default", "c"))["data"] == {"a": "b", "c": ""}
    secret = json.loads(await any_kubectl("get", "secret", "s", "-o", "json"))
    assert (secret["data"], secret["type"]) == ({"a": "Yg=="}, "Opaque")
    role = json.loads(await any_kubectl("get", "clusterrole", "r", "-o", "json"))
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


RICH_POD: dict[str, Any] = {
    "restartPolicy": "Never",
    "terminationGracePeriodSeconds": 0,
    "activeDeadlineSeconds": 3600,
    "automountServiceAccountToken": False,
    "nodeSelector": {"a/b": "c", "d": ""},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a", "b"]}],
    "securityContext": {"runAsUser": 0, "supplementalGroups": [0, 5], "fsGroup": 7},
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 3,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {
                            "matchLabels": {"a": "b"},
                            "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}],
                        },
                    },
                }
            ]
        }
    },
    "volumes": [
        {"name": "empty", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "host", "hostPath": {"path": "/tmp", "type": ""}},
        {"name": "map", "configMap": {"name": "c", "items": [{"key": "k", "path": "p", "mode": 0}], "optional": False}},
        {
            "name": "all",
            "projected": {
                "sources": [
                    {"secret": {"name": "s", "optional": True}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "l", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}]
                        }
                    },
                ]
            },
        },
    ],
    "initContainers": [
        {"name": "side", "image": "busybox", "command": ["sleep", "9"]},
    ],
    "containers": [
        {
            "name": "main",
            "image": "busybox",
            "command": ["sh", "-c", ""],
            "args": ["", "\u00e9"],
            "env": [
                {"name": "A", "value": "b"},
                {"name": "EMPTY"},
                {"name": "IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            ],
            "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c", "optional": True}}],
            "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "volumeMounts": [{"name": "empty", "mountPath": "/e", "readOnly": True, "subPath": "x"}],
            "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
            "securityContext": {"privileged": False, "capabilities": {"add": ["NET_ADMIN"]}},
            "stdin": True,
        },
        {"name": "other", "image": "busybox"},
    ],
}


@pytest.mark.slow
async def test_every_version_copies_a_pod_to_debug_it(any_kubectl: Kubectl, widgets: LocalApi) -> None:
    """The copy is sent in Protobuf by some, and each field of it must mean what it meant in JSON."""
    meta = {"name": "rich", "annotations": {"n": "o"}}
    rich = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": RICH_POD}
    await any_kubectl("create", "-f", "-", stdin=rich)
    await any_kubectl(
        "debug", "rich", "--copy-to=copy", "--share-processes", "--set-image=other=alpine", "--attach=false"
    )
    before, after = [await widgets.get(PODS, "default", name) for name in ("rich", "copy")]
    assert after["spec"].pop("shareProcessNamespace") is True
    before["spec"]["containers"][1]["image"] = "alpine"
    assert after["spec"] == before["spec"]
    assert after["metadata"]["annotations"] == {"n": "o"}
    added = ("--copy-to=second", "--image=alpine", "-c", "added", "--attach=false", "--", "sleep", "1")
    await any_kubectl("debug", "rich", *added)
    second = await widgets.get(PODS, "default", "second")
    assert [each["name"] for each in second["spec"]["containers"]] == ["main", "other", "added"]
    assert second["spec"]["containers"][2]["command"] == ["sleep", "1"]
    said = await any_kubectl("debug", "rich", "--image=alpine", "-c", "beside", "--attach=false", fails=True)
    assert "`paddock shell -n default rich`" in said
    assert "panic" not in said


NOT_SERVED = [
    ("batch/v1", "Job", "Job is not served here: `paddock run -- COMMAND` runs a program to its end"),
    ("kubeflow.org/v1", "TFJob", "TFJob trains with a framework that does not run here; what runs is"),
    ("apps/v1", "StatefulSet", "StatefulSet runs programs that never end, and is not served here"),
]


@pytest.mark.slow
async def test_every_version_says_of_a_kind_what_to_do_instead(any_kubectl: Kubectl) -> None:
    for version, kind, sentence in NOT_SERVED:
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
        for verb in ("create", "apply"):
            assert sentence in await any_kubectl(verb, "-f", "-", stdin=manifest, fails=True)
        assert sentence in await any_kubectl("get", kind.lower(), "a", fails=True)
    said = await any_kubectl("create", "job", "x", "--image=busybox", "--", "true", fails=True)
    assert NOT_SERVED[0][2] in said
    manifest = {"apiVersion": "nobody.org/v1", "kind": "Thing", "metadata": {"name": "a"}}
    assert 'no matches for kind "Thing"' in await any_kubectl("apply", "-f", "-", stdin=manifest, fails=True)


@pytest.mark.slow
async def test_every_version_lists_none_of_the_kinds_that_each_cluster_has(any_kubectl: Kubectl) -> None:
    await any_kubectl("create", "deployment", "d", "--image=busybox")
    assert await any_kubectl("get", "all,job,ingress,storageclass", "-o", "name") == "deployment.apps/d\n"
    assert "DaemonSetList" in await any_kubectl("cluster-info", "dump")
    assert "the server could not find" in await any_kubectl("get", "tfjobs", fails=True)


@pytest.mark.slow
async def test_every_version_makes_services_and_deployments(any_kubectl: Kubectl) -> None:
    """1.33 and later send Protobuf here too."""
    await any_kubectl("create", "service", "clusterip", "s", "--tcp=80:8080")
    ports = json.loads(await any_kubectl("get", "service", "s", "-o", "json"))["spec"]["ports"]
    assert [(each["port"], each["targetPort"], each["protocol"]) for each in ports] == [(80, 8080, "TCP")]
    await any_kubectl("create", "deployment", "d", "--image=busybox", "--replicas=2")
    spec = json.loads(await any_kubectl("get", "deployment", "d", "-o", "json"))["spec"]
    assert (spec["replicas"], spec["selector"]) == (2, {"matchLabels": {"app": "d"}})
    assert spec["template"]["spec"]["containers"][0]["image"] == "busybox"


@pytest.mark.slow
async def test_every_version_reads_events_of_both_groups(any_kubectl: Kubectl, widgets: LocalApi) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}, "note": "it is ready",
        "eventTime": "2026-11-29T08:00:00.000000Z", "reportingController": "example.org/operator", "type": "Normal",
        "reportingInstance": "operator-0", "action": "Looking", "reason": "Ready",
    }  # fmt: skip
    await any_kubectl("create", "-f", "-", stdin=event)
    assert "pod/p" in await any_kubectl("get", "events")
    assert "it is ready" in await any_kubectl("get", "events.events.k8s.io")
    by = ("--field-selector", "regarding.name=p", "-o", "name")
    assert await any_kubectl("get", "events.events.k8s.io", *by) == "event.events.k8s.io/e\n"
    assert (await widgets.get(EVENTS, "default", "e"))["message"] == "it is ready"
    await any_kubectl("delete", "events.events.k8s.io", "e")
    assert not (await widgets.list(EVENTS)).items


@pytest.mark.slow
async def test_it_prints_events(kubectl: Kubectl) -> None:
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "message": "it started",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"},
        "type": "Normal", "reason": "Started",
    }  # fmt: skip
    await kubectl("create", "-f", "-", stdin=event)
    assert "it started" in await kubectl("events")
    assert "it started" in await kubectl("events", "--for", "pod/p")


async def test_what_is_not_served_is_in_no_list(kubectl: Kubectl) -> None:
    assert "jobs" not in {line.split()[0] for line in (await kubectl("api-resources", "--no-headers")).splitlines()}
    await kubectl("create", "-f", "-", stdin=pod())
    assert (await kubectl("get", "all", "-o", "name")).split() == ["pod/p"]
    await kubectl("delete", "all", "--all", "--wait=false")


async def test_every_version_creates_applies_and_hears_of_unknown_fields(any_kubectl: Kubectl) -> None:
    assert "created" in await any_kubectl("create", "-f", "-", stdin=widget(size=1))
    assert "created" in await any_kubectl("apply", "-f", "-", stdin=pod())
    process = await any_kubectl.start("create", "-f", "-")
    _, said = await process.communicate(json.dumps(widget("misspelt", sise=1)).encode())
    assert 'unknown field "spec.sise"' in said.decode()


async def test_it_discovers_what_is_served(kubectl: Kubectl) -> None:
    assert "Server Version" in await kubectl("version")
    found = await kubectl("api-resources", "--no-headers")
    assert {"pods", "widgets", "customresourcedefinitions"} <= {line.split()[0] for line in found.splitlines()}


async def test_it_creates_gets_and_deletes(kubectl: Kubectl) -> None:
    assert "pod/p created" in await kubectl("create", "-f", "-", stdin=pod())
    columns = (await kubectl("get", "pods")).splitlines()
    assert columns[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert columns[1].split()[:4] == ["p", "0/1", "Pending", "0"]
    assert "Containers:" in await kubectl("describe", "pod", "p")
    assert "pod/p condition met" in await kubectl(
        "wait", "--for=jsonpath={.status.phase}=Pending", "pod/p", "--timeout=90s"
    )
    assert 'pod "p" deleted' in await kubectl("delete", "pod", "p", "--wait", "--timeout=90s")
    assert 'pods "p" not found' in await kubectl("get", "pod", "p", fails=True)


@pytest.mark.slow
async def test_it_defines_a_kind_and_waits_for_it(kubectl: Kubectl) -> None:
    crd = widget_crd()
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"] |= {"group": "example.com", "names": {"kind": "Gadget", "plural": "gadgets", "shortNames": ["gd"]}}
    await kubectl("create", "-f", "-", stdin=crd)
    await kubectl("wait", "--for=condition=Established", "crd/gadgets.example.com", "--timeout=90s")
    gadget = widget("g") | {"apiVersion": "example.com/v1", "kind": "Gadget"}
    await kubectl("create", "-f", "-", stdin=gadget)
    assert "g" in await kubectl("get", "gd", "-o", "name")
    await kubectl("delete", "crd", "gadgets.example.com", "--timeout=90s")


async def test_it_refuses_an_unknown_field_and_names_it(kubectl: Kubectl) -> None:
    assert 'unknown field "spec.sise"' in await kubectl("create", "-f", "-", stdin=widget(sise=1), fails=True)


@pytest.mark.parametrize(
    "manifest", [pytest.param(pod(), marks=pytest.mark.slow), widget(size=1)], ids=["built-in", "custom"]
)
async def test_it_applies_changes_and_reports_unchanged_objects(kubectl: Kubectl, manifest: dict[str, Any]) -> None:
    assert "created" in await kubectl("apply", "-f", "-", stdin=manifest)
    assert "unchanged" in await kubectl("apply", "-f", "-", stdin=manifest)
    changed = json.loads(json.dumps(manifest))
    changed["metadata"]["labels"] = {"x": "y"}
    assert "configured" in await kubectl("apply", "-f", "-", stdin=changed)
    assert "configured" in await kubectl("apply", "-f", "-", stdin=manifest)
    kind = manifest["kind"].lower()
    labels = await kubectl("get", kind, manifest["metadata"]["name"], "-o", "jsonpath={.metadata.labels}")
    assert labels == ""


async def test_it_labels_scales_and_patches(widgets: LocalApi, kubectl: Kubectl) -> None:
    await widgets.create(WIDGETS, widget(), namespace="default")
    await kubectl("label", "widget", "w", "a=b")
    await kubectl("scale", "widget/w", "--replicas=4")
    await kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec":{"size":7}}')
    found = await widgets.get(WIDGETS, "default", "w")
    assert (found["metadata"]["labels"], found["spec"]) == ({"a": "b"}, {"size": 7, "replicas": 4})


@pytest.mark.parametrize(
    "cascade",
    ["background", pytest.param("foreground", marks=pytest.mark.slow), pytest.param("orphan", marks=pytest.mark.slow)],
)
async def test_it_deletes_in_every_cascade(widgets: LocalApi, kubectl: Kubectl, cascade: str) -> None:
    await widgets.create(WIDGETS, widget(), namespace="default")
    await kubectl("delete", "widget", "w", f"--cascade={cascade}", "--timeout=90s")


@pytest.mark.slow
async def test_it_deletes_a_namespace_and_waits(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    await kubectl("-n", "team", "create", "-f", "-", stdin=pod())
    await kubectl("delete", "namespace", "team", "--timeout=90s")


async def test_it_watches(widgets: LocalApi, kubectl: Kubectl) -> None:
    await widgets.create(PODS, pod("first"), namespace="default")
    watch = await kubectl.start("get", "pods", "-w", "--no-headers")
    assert watch.stdout is not None
    line = await asyncio.wait_for(watch.stdout.readline(), 60)
    assert line.split()[0] == b"first"
    await widgets.create(PODS, pod("second"), namespace="default")
    line = await asyncio.wait_for(watch.stdout.readline(), 60)
    assert line.split()[:3] == [b"second", b"0/1", b"Pending"]
    watch.terminate()
    await watch.communicate()


@pytest.mark.slow
async def test_it_explains_a_custom_kind(kubectl: Kubectl) -> None:
    assert "size" in await kubectl("explain", "widget.spec")


@pytest.mark.slow
async def test_it_knows_who_it_is_and_what_it_may(kubectl: Kubectl) -> None:
    assert "system:masters" in await kubectl("auth", "whoami")
    token = (await kubectl("create", "token", "default", "--duration", "20m")).strip()
    assert token.count(".") == 2
    who = await kubectl("auth", "whoami", "--as", "ann", "--as-group", "dev")
    assert "ann" in who and "dev" in who
    await kubectl("auth", "can-i", "list", "pods", "--as", "ann", fails=True)
    await kubectl("create", "rolebinding", "dev", "--clusterrole", "view", "--group", "dev")
    as_ann = ("--as", "ann", "--as-group", "dev")
    assert (await kubectl("auth", "can-i", "list", "pods", *as_ann)).strip() == "yes"
    assert "pods/log" in await kubectl("auth", "can-i", "--list", *as_ann)
    assert "cannot delete resource" in await kubectl("delete", "pod", "p", *as_ann, fails=True)


@pytest.mark.slow
async def test_every_version_drains_a_node(any_kubectl: Kubectl, widgets: LocalApi) -> None:
    await widgets.create(NODES, {"metadata": {"name": "here"}})
    made = pod(namespace="default")
    await widgets.create(PODS, made | {"spec": made["spec"] | {"nodeName": "here", "terminationGracePeriodSeconds": 0}})
    await any_kubectl("drain", "here", "--force")
    assert (await widgets.list(PODS)).items == []
    assert (await widgets.get(NODES, "", "here"))["spec"]["unschedulable"] is True
    await any_kubectl("uncordon", "here")
    assert not (await widgets.get(NODES, "", "here"))["spec"].get("unschedulable")


@pytest.mark.slow
async def test_every_version_goes_on_by_server_side_apply_with_what_it_applied(any_kubectl: Kubectl) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "1", "l": "1"}}
    await any_kubectl("apply", "-f", "-", stdin=manifest)
    await any_kubectl("apply", "--server-side", "-f", "-", stdin=manifest | {"data": {"k": "2"}})
    assert json.loads(await any_kubectl("get", "configmap", "c", "-o", "json"))["data"] == {"k": "2"}
    other = ("apply", "--server-side", "--field-manager", "gitops", "-f", "-")
    said = await any_kubectl(*other, stdin=manifest | {"data": {"k": "3"}}, fails=True)
    assert 'conflict with "kubectl' in said and ".data.k" in said
    await any_kubectl(*other, "--force-conflicts", stdin=manifest | {"data": {"k": "3"}})
