"""The objects that Kubeflow's training-operator v1.9.4 leaves when it is stopped: a job, its pods and its Services.

Written from its source (pkg/controller.v1/{common,pytorch,paddlepaddle}, pkg/util/status.go): its four labels and
`job-role`, one Service for each pod, the replica's restartPolicy on the pod, the variables after the user's own, an
init container in workers that have a Master, and conditions with its reasons and messages. No label of ours.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.errors import Forbidden, InternalError
from paddock.kube.meta import PODS, SERVICES, Manifest, owner_reference
from support.kubeflow_jobs import CONTAINERS, FIELDS, STARTED, kind_of, say
from support.waiting import until
from support.worlds import World

PORTS = {"PyTorchJob": ("pytorchjob-port", 23456), "PaddleJob": ("master", 36543)}
_LABELS = "training.kubeflow.org"


async def leave_job(world: World, job: Manifest, status: Manifest) -> Manifest:
    """The job as it is stored, with this status."""
    resource = kind_of(job["kind"])
    stored = await world.api.create(resource, job)
    name = job["metadata"]["name"]
    await world.api.patch(resource, world.namespace, name, {"status": status}, subresource="status")
    return stored


def build_status(job: Manifest, *conditions: Manifest, **more: Any) -> Manifest:
    """`more`: completionTime, or active pods by replica type: `Worker=2`."""
    counts = {
        type_: {"active": count, "selector": _write_selector(job, type_)}
        for type_, count in more.items()
        if type_ in ("Master", "Worker")
    }
    times = {key: value for key, value in more.items() if key not in counts}
    return {"conditions": list(conditions), "replicaStatuses": counts, "startTime": STARTED, **times}


def _write_selector(job: Manifest, type_: str) -> str:
    labels = _selector(job, type_.lower(), 0)
    del labels[f"{_LABELS}/replica-index"]
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def condition(job: Manifest, type_: str, word: str = "", status: str = "True", at: str = STARTED) -> Manifest:
    """`word`: of the reason, where it is not the condition's own."""
    said = {
        "Created": "is created.",
        "Running": "is running.",
        "Suspended": "is suspended.",
        "Succeeded": "is successfully completed.",
        "Failed": "is failed because 1 Worker replica(s) failed.",
    }[word or type_]
    kind, name = job["kind"], job["metadata"]["name"]
    message = f"{kind} {name} {said}"
    times = {"lastUpdateTime": at, "lastTransitionTime": at}
    return {"type": type_, "status": status, "reason": f"{kind}{word or type_}", "message": message, **times}


async def leave_gang(world: World, job: Manifest) -> None:
    """All pods of the job, running, and their Services."""
    for type_, spec in job["spec"][FIELDS[job["kind"]]].items():
        for index in range(spec.get("replicas", 1)):
            await leave_pod(world, job, type_, index)
            await leave_service(world, job, type_, index)


async def leave_pod(world: World, job: Manifest, type_: str, index: int) -> None:
    """Retries: a real server refuses pods in a new namespace until it has a service account."""
    pod = _build_pod(job, type_, index)

    async def create() -> bool:
        try:
            return bool(await world.api.create(PODS, pod))
        except (Forbidden, InternalError):
            return False

    await until(create)
    await say(world, pod["metadata"]["name"], "Running", container=CONTAINERS[job["kind"]])


async def leave_service(world: World, job: Manifest, type_: str, index: int) -> None:
    labels = _selector(job, type_.lower(), index)
    metadata = _metadata(job, type_, index) | {"labels": labels}
    name, port = PORTS[job["kind"]]
    spec = {"clusterIP": "None", "selector": labels, "ports": [{"name": name, "port": port}]}
    await world.api.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def _selector(job: Manifest, type_: str, index: int) -> dict[str, str]:
    return {
        f"{_LABELS}/operator-name": f"{job['kind'].lower()}-controller",
        f"{_LABELS}/job-name": job["metadata"]["name"],
        f"{_LABELS}/replica-type": type_,
        f"{_LABELS}/replica-index": str(index),
    }


def _metadata(job: Manifest, type_: str, index: int) -> Manifest:
    name = f"{job['metadata']['name']}-{type_.lower()}-{index}"
    owner = owner_reference(job) | {"controller": True, "blockOwnerDeletion": True}
    return {"name": name, "namespace": job["metadata"]["namespace"], "ownerReferences": [owner]}


def _build_pod(job: Manifest, type_: str, index: int) -> Manifest:
    specs = job["spec"][FIELDS[job["kind"]]]
    name, port = PORTS[job["kind"]]
    container = dict(specs[type_]["template"]["spec"]["containers"][0])
    container["ports"] = [{"name": name, "containerPort": port}]
    container["env"] = _VARIABLES[job["kind"]](job, specs, type_, index)
    spec: Manifest = {"containers": [container], "restartPolicy": specs[type_]["restartPolicy"]}
    if job["kind"] == "PyTorchJob" and type_ == "Worker" and "Master" in specs:
        wait = {"name": "init-pytorch", "image": "alpine:3.10", "imagePullPolicy": "IfNotPresent"}
        look = f"for i in $(seq 100); do nslookup {job['metadata']['name']}-master-0 && exit; sleep 2; done; exit 1"
        spec["initContainers"] = [wait | {"command": ["sh", "-c", look]}]
    leads = type_ == "Master" or (job["kind"] == "PyTorchJob" and "Master" not in specs and index == 0)
    labels = _selector(job, type_.lower(), index) | ({f"{_LABELS}/job-role": "master"} if leads else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(job, type_, index) | {"labels": labels},
        "spec": spec,
    }


def _size(specs: Manifest) -> int:
    return sum(each.get("replicas", 1) for each in specs.values())


def _build_pytorch(job: Manifest, specs: Manifest, type_: str, index: int) -> list[Manifest]:
    master, at = f"{job['metadata']['name']}-master-0", "23456"
    rank = str(index if type_ == "Master" else index + 1)
    ranked = {"MASTER_PORT": at, "PET_MASTER_PORT": at, "MASTER_ADDR": master, "PET_MASTER_ADDR": master,
              "WORLD_SIZE": str(_size(specs)), "RANK": rank, "PET_NODE_RANK": rank}  # fmt: skip
    values = {"PYTHONUNBUFFERED": "1", **(ranked if "Master" in specs else {}),
              "PET_NPROC_PER_NODE": "auto", "PET_NNODES": str(_size(specs))}  # fmt: skip
    return [{"name": key, "value": value} for key, value in values.items()]


def _build_paddle(job: Manifest, specs: Manifest, type_: str, index: int) -> list[Manifest]:
    name = job["metadata"]["name"]
    values = {"PYTHONUNBUFFERED": "1", "PADDLE_JOB_ID": name, "PADDLE_NNODES": str(_size(specs))}
    first = f"{name}-{'master' if 'Master' in specs else 'worker'}-0"
    env: list[Manifest] = [{"name": key, "value": value} for key, value in values.items()]
    if f"{name}-{type_.lower()}-{index}" == first:
        ip = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
        env.append({"name": "POD_IP_DUMMY", "valueFrom": ip})
        first = "$(POD_IP_DUMMY)"
    return [*env, {"name": "PADDLE_MASTER", "value": f"{first}:36543"}]


_VARIABLES = {"PyTorchJob": _build_pytorch, "PaddleJob": _build_paddle}
