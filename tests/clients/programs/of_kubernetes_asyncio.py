"""kubernetes_asyncio as its users have it. Each function is one habit, and returns what it saw."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.leaderelection import electionconfig, leaderelection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes_asyncio.stream import WsApiClient

NAMESPACE = os.environ["NAMESPACE"]
JOBS = ("kubeflow.org", "v1", NAMESPACE, "pytorchjobs")


def settings(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def pod(name: str, script: str) -> client.V1Pod:
    container = client.V1Container(name="main", image="python", command=["sh", "-c", script])
    spec = client.V1PodSpec(containers=[container], restart_policy="Never", termination_grace_period_seconds=1)
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=spec)


def job(name: str) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python", "command": ["true"]}]}}
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"template": template}}},
    }  # fmt: skip


async def crud(api: client.ApiClient) -> Any:
    core = client.CoreV1Api(api)
    made = await core.create_namespaced_config_map(NAMESPACE, settings("c", a="1"))
    made.data["a"] = "2"
    replaced = await core.replace_namespaced_config_map("c", NAMESPACE, made)
    listed = await core.list_namespaced_config_map(NAMESPACE, label_selector="none=here")
    await core.delete_namespaced_config_map("c", NAMESPACE)
    return {
        "replaced": replaced.data,
        "none": listed.items,
        "missing": await refusal(core.read_namespaced_config_map("c", NAMESPACE)),
    }


async def refusal(call: Any) -> Any:
    try:
        await call
    except ApiException as error:
        return [error.status, json.loads(error.body)["message"]]
    return "was taken"


async def patches(api: client.ApiClient) -> Any:
    """It sends a dict for a custom object as application/json-patch+json unless it is told otherwise."""
    core, custom, found = client.CoreV1Api(api), client.CustomObjectsApi(api), {}
    await core.create_namespaced_config_map(NAMESPACE, settings("c", a="1", b="1"))
    patched = await core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"a": "2"}})
    found["dict"] = patched.data
    operated = await core.patch_namespaced_config_map("c", NAMESPACE, [{"op": "remove", "path": "/data/b"}])
    found["list"] = operated.data
    await custom.create_namespaced_custom_object(*JOBS, job("j"))
    labels = {"metadata": {"labels": {"x": "y"}}}
    found["custom"] = await refusal(custom.patch_namespaced_custom_object(*JOBS, "j", labels))
    merged = await custom.patch_namespaced_custom_object(
        *JOBS, "j", labels, _content_type="application/merge-patch+json"
    )
    found["merged"] = merged["metadata"]["labels"]
    await custom.patch_namespaced_custom_object(  # an answer of 201 it does not read
        *JOBS, "k", job("k"), field_manager="me", force=True, _content_type="application/apply-patch+yaml"
    )
    found["applied"] = (await custom.get_namespaced_custom_object(*JOBS, "k"))["metadata"]["managedFields"][0][
        "manager"
    ]
    return found


async def watching(api: client.ApiClient) -> Any:
    core, found = client.CoreV1Api(api), []
    listed = await core.list_namespaced_config_map(NAMESPACE)

    async def change() -> None:
        await core.create_namespaced_config_map(NAMESPACE, settings("c", a="1"))
        await core.patch_namespaced_config_map("c", NAMESPACE, {"data": {"a": "2"}})
        await core.delete_namespaced_config_map("c", NAMESPACE)

    version, seen = listed.metadata.resource_version, 0
    changes = asyncio.create_task(change())
    while seen < 3:  # each event by a watch of its own, from where the last one ended
        async with watch.Watch().stream(
            core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=60
        ) as events:
            async for event in events:
                found.append([event["type"], event["object"].metadata.name])
                version, seen = event["object"].metadata.resource_version, seen + 1
                break
    await changes
    return found


async def logs(api: client.ApiClient) -> Any:
    core = client.CoreV1Api(api)
    await core.create_namespaced_pod(NAMESPACE, pod("p", "for i in 1 2 3; do echo line $i; sleep 0.3; done"))
    await until(core, "p", "Running", "Succeeded")
    answer = await core.read_namespaced_pod_log("p", NAMESPACE, follow=True, _preload_content=False)
    return [line.decode().strip() async for line in answer.content]


async def entering(api: client.ApiClient) -> Any:
    core = client.CoreV1Api(api)
    await core.create_namespaced_pod(NAMESPACE, pod("p", "sleep 600"))
    await until(core, "p", "Running")
    async with WsApiClient() as sockets:
        words = {"stdin": False, "stdout": True, "stderr": True, "tty": False}
        command = ["sh", "-c", "echo out; exit 3"]
        entered = client.CoreV1Api(sockets)
        out = await entered.connect_get_namespaced_pod_exec("p", NAMESPACE, command=command, **words)
        socket = await entered.connect_get_namespaced_pod_exec(
            "p", NAMESPACE, command=command, _preload_content=False, **words
        )
        code = None
        async with socket as talk:
            async for message in talk:
                if message.data[0] == 3:
                    code = WsApiClient.parse_error_data(message.data[1:].decode())
    return {"out": out, "exit": code}


async def electing(api: client.ApiClient) -> Any:
    led = []

    async def lead() -> None:
        led.append("led")

    async def stop() -> None:
        led.append("stopped")

    lock = LeaseLock("leader", NAMESPACE, "first", api)
    settings = electionconfig.Config(
        lock, lease_duration=3, renew_deadline=2, retry_period=1, onstarted_leading=lead, onstopped_leading=stop
    )
    running = asyncio.create_task(leaderelection.LeaderElection(settings).run())
    for _ in range(600):
        if led:
            break
        await asyncio.sleep(0.1)
    running.cancel()
    lease = await client.CoordinationV1Api(api).read_namespaced_lease("leader", NAMESPACE)
    return {"led": led[:1], "holder": lease.spec.holder_identity}


async def in_cluster(api: client.ApiClient) -> Any:
    """Runs in a pod, with the token of its account."""
    core = client.CoreV1Api(api)
    listed = [each.metadata.name for each in (await core.list_namespaced_config_map(NAMESPACE)).items]
    return {"listed": listed, "secrets": await refusal(core.list_namespaced_secret(NAMESPACE))}


async def until(core: Any, name: str, *phases: str) -> None:
    for _ in range(900):
        if (await core.read_namespaced_pod(name, NAMESPACE)).status.phase in phases:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never came")


async def main() -> Any:
    if os.environ.get("IN_CLUSTER"):
        config.load_incluster_config()
    else:
        await config.load_kube_config()
    async with client.ApiClient() as api:
        return await globals()[sys.argv[1]](api)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
