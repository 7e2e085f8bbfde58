"""A pod's begin and end on a laptop, by timestamps that its program prints.

Begin: from the moment at which a Pod is sent to the API to the first instruction of its program. Beside it the same by
a former Paddock, where one is (`PADDOCK_BENCH_FORMER=/path/of/a/checkout python -m benchmarks pods`): its cluster is up
at the same time, and asked in turns. End: from a trial's last instruction to the answer of the API that its job has
succeeded, with a container in the form of Katib's collector, which looks every tenth of a second whether the program
has ended, and without one.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.clusters import Cluster, open_directory, sandboxes
from benchmarks.entering import in_turns
from benchmarks.figures import Figure
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import PODS, Resource

STARTS, ENDS = 40, 15
_NOW = "date +%s.%N"
_TRAINS = f"sleep 0.2; echo accuracy=0.91 > /var/log/katib/metrics.log; {_NOW}; echo completed > /var/log/katib/1.pid"
_COLLECTS = "until [ -e /var/log/katib/1.pid ]; do sleep 0.1; done; cat /var/log/katib/metrics.log"
_PYTORCH = next(kind for kind in KINDS if kind.kind == "PyTorchJob")


def measure() -> Sequence[Figure]:
    return [figure for sandbox in sandboxes() for figure in (_start(sandbox), _end(sandbox))]


def _start(sandbox: str) -> Figure:
    former = os.environ.get("PADDOCK_BENCH_FORMER", "")
    with ExitStack() as stack:
        ours = stack.enter_context(open_directory())
        ours.paddock("up", "--sandbox", sandbox)
        works = {"plain": start_plainly, "ours": lambda: asyncio.run(start_pod(ours))}
        if former:
            theirs = stack.enter_context(open_directory())
            theirs.variables["PYTHONPATH"] = str(Path(former) / "src")
            theirs.paddock("up", "--sandbox", sandbox)
            works["former"] = lambda: asyncio.run(start_pod(theirs))
        took = in_turns(works, STARTS)
    beside = f"a former Paddock {milliseconds(took['former'])}" if former else ""
    more = f"{_more(took['ours'], took['former'])}, {_ratio(took['ours'], took['former'])} times; " if former else ""
    return Figure(
        f"a Pod sent to the API, to its program's first instruction, {sandbox}",
        milliseconds(took["ours"]),
        beside,
        f"{more}fork and exec of the program alone {milliseconds(took['plain'])}",
        "told",
    )


def _end(sandbox: str) -> Figure:
    with open_directory() as cluster:
        cluster.paddock("up", "--sandbox", sandbox)
        took = in_turns(
            {
                "collected": lambda: asyncio.run(end_trial(cluster, collected=True)),
                "alone": lambda: asyncio.run(end_trial(cluster, collected=False)),
            },
            ENDS,
        )
    return Figure(
        f"a trial's last instruction, to its job's success, with Katib's collector, {sandbox}",
        milliseconds(took["collected"]),
        f"without a side-car {milliseconds(took['alone'])}",
        f"{_more(took['collected'], took['alone'])}, {_ratio(took['collected'], took['alone'])} times",
        "told",
    )


def start_plainly() -> float:
    begun = time.time()
    printed = subprocess.run(("sh", "-c", _NOW), stdout=subprocess.PIPE, check=True).stdout
    return float(printed) - begun


async def start_pod(cluster: Cluster) -> float:
    """Seconds; the pod is deleted."""
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", _NOW]}
    pod = {"metadata": {"generateName": "begins-"}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    async with open_client(cluster) as client:
        begun = time.time()
        created = await client.create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod}, namespace="default")
        name = created["metadata"]["name"]
        await see(client, PODS, name, lambda found: found.get("phase") in ("Succeeded", "Failed"))
        printed = await read_log(client, name, "main")
        await client.delete(PODS, "default", name)
    return float(printed) - begun


async def end_trial(cluster: Cluster, *, collected: bool) -> float:
    """Seconds; the job is deleted."""
    async with open_client(cluster) as client:
        created = await client.create(_PYTORCH, build_trial(collected=collected), namespace="default")
        name = created["metadata"]["name"]
        await see(client, _PYTORCH, name, _has_succeeded)
        seen = time.time()
        ended = float(await read_log(client, f"{name}-master-0", "pytorch"))
        await client.delete(_PYTORCH, "default", name)
    return seen - ended


def build_trial(*, collected: bool) -> dict[str, Any]:
    """The form in which Katib puts its collector into a trial: a container beside it, a volume, shared processes."""
    scripts = {"pytorch": _TRAINS, **({"metrics-logger-and-collector": _COLLECTS} if collected else {})}
    mounts = [{"name": "metrics-volume", "mountPath": "/var/log/katib"}]
    containers = [
        {"name": name, "image": "busybox", "command": ["sh", "-c", script], "volumeMounts": mounts}
        for name, script in scripts.items()
    ]
    spec = {"containers": containers, "volumes": [{"name": "metrics-volume", "emptyDir": {}}]}
    spec["shareProcessNamespace"] = collected  # type: ignore[assignment]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"generateName": "trial-"},
        "spec": {
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}}
        },
    }


def _has_succeeded(status: dict[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    if conditions.get("Failed") == "True":
        raise SystemExit(f"a trial failed: {json.dumps(status)}")
    return conditions.get("Succeeded") == "True"


def open_client(cluster: Cluster) -> Client:
    return Client(read_config(str(cluster.home / "api" / "kubeconfig")))


async def see(client: Client, resource: Resource, name: str, wanted: Any) -> None:
    """Returns when the object's status is as wanted."""
    async for event in client.follow(resource, "default", fields=f"metadata.name={name}"):
        if event.type != "SYNCED" and wanted(event.object.get("status") or {}):
            return


async def read_log(client: Client, pod: str, container: str) -> str:
    """The first line."""
    text = b"".join([chunk async for chunk in client.stream_log("default", pod, container=container)])
    return text.decode().splitlines()[0]


def milliseconds(durations: Sequence[float]) -> str:
    found = sorted(1000 * each for each in durations)
    return f"{statistics.median(found):.0f} ms ({found[0]:.0f} to {found[-1]:.0f})"


def _more(ours: Sequence[float], plain: Sequence[float]) -> str:
    """The median of the differences of neighbours."""
    return f"{1000 * statistics.median(one - other for one, other in zip(ours, plain, strict=True)):+.0f} ms"


def _ratio(ours: Sequence[float], plain: Sequence[float]) -> str:
    return f"{statistics.median(ours) / statistics.median(plain):.2f}"
