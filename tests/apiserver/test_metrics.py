"""metrics.k8s.io: what is measured, as objects that are computed when they are asked for, and `kubectl top`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from apiserver.embedded import Http, pod, widget_crd
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CRDS, NODES, PODS, uid_of
from paddock.kube.usage import NODE_METRICS, POD_METRICS, Usage, read_usage
from support.programs import need

AT = 1_790_000_000.0


class Measured:
    """Two of three pods; `uids` by name."""

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}

    def read_node(self, name: str) -> Usage | None:
        return Usage(AT, 5.0, 1.5, 3 * 2**30) if name == "laptop" else None

    def read_pod(self, uid: str) -> Mapping[str, Usage]:
        if uid == self.uids.get("mnist-worker-0"):
            return {"paddle": Usage(AT, 5.0, 0.25, 64 * 2**20), "side": Usage(AT + 1, 5.0, 0.5, 2**20)}
        return {"main": Usage(AT, 5.0, 0.125, 2**20)} if uid == self.uids.get("other") else {}


@pytest.fixture
async def measured(api: LocalApi, tmp_path: Path) -> AsyncIterator[Server]:
    usages = Measured()
    server = Server(api, tmp_path / "cluster", usages=usages)
    await server.start()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"}}
    await api.create(NODES, node)
    capacity = {"cpu": "4", "memory": "8Gi"}
    status = {"status": {"capacity": capacity, "allocatable": capacity}}
    await api.patch(NODES, "", "laptop", status, subresource="status")
    for name, labels in (("mnist-worker-0", {"app": "mnist"}), ("other", {}), ("waiting", {})):
        usages.uids[name] = uid_of(await api.create(PODS, pod(name, namespace="default", labels=labels)))
    yield server
    await server.stop()


@pytest.fixture
async def asked(measured: Server) -> AsyncIterator[Http]:
    client = Http(measured)
    yield client
    await client.session.close()


async def test_what_is_measured_is_listed_and_selected_by_label(measured: Server, api: LocalApi) -> None:
    found = {each["metadata"]["name"]: each for each in (await api.list(POD_METRICS)).items}
    assert set(found) == {"mnist-worker-0", "other"}, "a pod that is not measured has no metrics"
    worker = found["mnist-worker-0"]
    assert worker["containers"] == [
        {"name": "paddle", "usage": {"cpu": "250000000n", "memory": "65536Ki"}},
        {"name": "side", "usage": {"cpu": "500000000n", "memory": "1024Ki"}},
    ]
    assert (worker["window"], worker["timestamp"]) == ("5.000s", "2026-09-21T14:13:20Z")
    selected = await api.list(POD_METRICS, "default", labels="app=mnist")
    assert [each["metadata"]["name"] for each in selected.items] == ["mnist-worker-0"]
    assert (await api.list(POD_METRICS, "kube-system")).items == []
    node = await api.get(NODE_METRICS, "", "laptop")
    assert read_usage(node["usage"]) == (1.5, 3 * 2**30)


async def test_it_is_discovered_and_only_read(asked: Http, api: LocalApi) -> None:
    base = "/apis/metrics.k8s.io/v1beta1"
    await api.create(CRDS, widget_crd())  # a new registry keeps the computed kinds
    code, found, _ = await asked.ask("GET", base)
    assert code == 200
    assert [(each["name"], each["verbs"]) for each in found["resources"]] == [
        ("nodes", ["get", "list"]),
        ("pods", ["get", "list"]),
    ]
    of_one = f"{base}/namespaces/default/pods/other"
    assert (await asked.ask("GET", of_one))[1]["containers"][0]["name"] == "main"
    assert (await asked.ask("GET", f"{base}/namespaces/default/pods/waiting"))[0] == 404
    assert (await asked.ask("DELETE", of_one))[0] == 405
    assert (await asked.ask("POST", f"{base}/namespaces/default/pods", {"metadata": {"name": "x"}}))[0] == 405
    assert (await asked.ask("GET", f"{base}/pods?watch=1"))[0] == 405
    pages = await asked.ask("GET", f"{base}/pods?limit=1")
    assert len(pages[1]["items"]) == 1 and pages[1]["metadata"]["continue"]
    assert (await asked.ask("GET", f"/openapi/v3{base}"))[0] == 200


async def test_a_server_without_measurements_does_not_serve_them(http: Http) -> None:
    assert (await http.ask("GET", "/apis/metrics.k8s.io"))[0] == 404


async def test_kubectl_top(measured: Server, tmp_path: Path) -> None:
    async def top(*words: str) -> list[list[str]]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(measured.kubeconfig)}
        process = await asyncio.create_subprocess_exec(
            need("kubectl"),
            "top",
            *words,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, err.decode()
        return [line.split() for line in out.decode().splitlines()]

    assert (await top("nodes"))[1] == ["laptop", "1500m", "37%", "3072Mi", "37%"]
    assert (await top("pods", "-A"))[1:] == [
        ["default", "mnist-worker-0", "750m", "65Mi"],
        ["default", "other", "125m", "1Mi"],
    ]
    assert (await top("pods", "--containers", "-l", "app=mnist"))[1:] == [
        ["mnist-worker-0", "paddle", "250m", "64Mi"],
        ["mnist-worker-0", "side", "500m", "1Mi"],
    ]
