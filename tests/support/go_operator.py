"""The objects that paddle-operator v0.3.5 leaves when it is stopped: a job, and its children as it creates them.

Written from its source: no label of ours, `refs` with a resourceVersion, counts without `ready`, one random port for a
job, a ConfigMap that is not immutable, an init container that looks its peers up, and a finalizer that does nothing.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.errors import Forbidden, InternalError
from paddock.kube.meta import CONFIG_MAPS, PODS, SERVICES, Manifest, owner_reference
from support.operator_seam import JOBS, build_job
from support.waiting import until
from support.worlds import World

PORT = 41237
FINALIZER = "finalizers.paddlepaddle.org"
STARTED = "2023-05-19T08:00:00Z"
RANKS = {"ps": 2, "worker": 2}
_ROLES = {"ps": "PSERVER", "worker": "TRAINER"}


def address(role: str, index: int) -> str:
    return f"10.244.{list(RANKS).index(role)}.{index + 1}"


async def leave_job(world: World, name: str = "demo", status: Manifest | None = None, **spec: Any) -> Manifest:
    """The job as it is stored, with the finalizer and this status."""
    manifest = build_job(name, namespace=world.namespace, **spec)
    manifest["metadata"]["finalizers"] = [FINALIZER]
    job = await world.api.create(JOBS, manifest)
    if status:
        await world.api.patch(JOBS, world.namespace, name, {"status": status}, subresource="status")
    return job


async def leave_pod(world: World, job: Manifest, role: str, index: int, phase: str = "Running") -> None:
    name = f"{job['metadata']['name']}-{role}-{index}"
    await until(lambda: _create_pod(world, _pod(job, role, index)))
    ready = phase == "Running"
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2023-05-19T09:00:00Z"}}
    state = ended if phase == "Succeeded" else {"running": {"startedAt": STARTED}}
    main = {"name": "paddle", "ready": ready, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    status: Manifest = {"phase": phase, "podIP": address(role, index)}
    if phase != "Pending":
        status["containerStatuses"] = [main]
    await world.api.patch(PODS, world.namespace, name, {"status": status}, subresource="status")


async def _create_pod(world: World, pod: Manifest) -> bool:
    """Retries: a real server refuses pods in a new namespace until it has a service account."""
    try:
        return bool(await world.api.create(PODS, pod))
    except (Forbidden, InternalError):
        return False


async def leave_service(world: World, job: Manifest, role: str, index: int) -> None:
    name = f"{job['metadata']['name']}-{role}-{index}"
    ports = [{"name": f"p-{offset}", "port": 36000 + offset} for offset in range(20)]
    selector = {"paddle-res-name": name}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": ports}
    await world.api.create(
        SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(job, name), "spec": spec}
    )


async def leave_config_map(world: World, job: Manifest) -> None:
    name = job["metadata"]["name"]
    endpoints = {role: ",".join(f"{address(role, n)}:{PORT}" for n in range(count)) for role, count in RANKS.items()}
    data = {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": str(PORT),
        "PADDLE_PSERVERS_IP_PORT_LIST": endpoints["ps"],
        "PADDLE_TRAINER_ENDPOINTS": endpoints["worker"],
        "PADDLE_TRAINERS": ",".join(address("worker", n) for n in range(RANKS["worker"])),
        "PADDLE_TRAINERS_NUM": str(RANKS["worker"]),
    }
    metadata = _metadata(job, name) | {"labels": {"paddle-res-name": name}}
    await world.api.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


async def leave_gang(world: World, job: Manifest, phase: str = "Running") -> None:
    for role, count in RANKS.items():
        for index in range(count):
            await leave_pod(world, job, role, index, phase)
            await leave_service(world, job, role, index)
    await leave_config_map(world, job)


def build_status(phase: str, **counts: Manifest) -> Manifest:
    return {"phase": phase, "mode": "PS", **counts} | ({"startTime": STARTED} if phase != "Pending" else {})


def counted(job_name: str, role: str, **numbers: int) -> Manifest:
    refs = [
        {"apiVersion": "v1", "kind": "Pod", "name": f"{job_name}-{role}-{index}", "uid": "u", "resourceVersion": "7"}
        for index in range(sum(numbers.values()))
    ]
    return {**numbers, "refs": refs}


def _metadata(job: Manifest, name: str) -> Manifest:
    namespace = job["metadata"]["namespace"]
    return {"name": name, "namespace": namespace, "ownerReferences": [owner_reference(job)]}


def _pod(job: Manifest, role: str, index: int) -> Manifest:
    name = f"{job['metadata']['name']}-{role}-{index}"
    ip = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    env = [
        {"name": "POD_IP", "valueFrom": ip},
        {"name": "PADDLE_TRAINER_ID", "value": str(index)},
        {"name": "TRAINING_ROLE", "value": _ROLES[role]},
        {"name": "PADDLE_TRAINING_ROLE", "value": _ROLES[role]},
    ]
    source = {"configMapRef": {"name": job["metadata"]["name"]}}
    container = {"name": "paddle", "image": "paddle:test", "command": ["python", "train.py"], "env": env}
    wait = {"name": "coord-paddle", "image": "alpine:3.10", "command": ["sh", "-c", f"nslookup {name}"]}
    spec = {
        "containers": [{**container, "envFrom": [source]}],
        "initContainers": [{**wait, "resources": {"requests": {"cpu": "10m", "memory": "10m"}}}],
        "hostname": name,
        "subdomain": name,
        "restartPolicy": "Never",
    }
    marks = {"labels": {"paddle-res-name": name, "paddle-res-type": role}, "annotations": {"paddle-resource": role}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(job, name) | marks, "spec": spec}
