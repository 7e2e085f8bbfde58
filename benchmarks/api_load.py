"""The load of an API server, in processes of its own, as its work is not to be counted as the server's.

    python -m benchmarks.api_load create KUBECONFIG KIND PREFIX COUNT AT_ONCE   objects, so many in flight
    python -m benchmarks.api_load list KUBECONFIG FORMAT TIMES                  all pods: `json`, or kubectl's `table`
    python -m benchmarks.api_load watch KUBECONFIG PREFIX WATCHERS WRITES       until every watcher has every write
    python -m benchmarks.api_load write KUBECONFIG PREFIX AT_ONCE               until the server is gone
    python -m benchmarks.api_load names KUBECONFIG                              of all ConfigMaps
    python -m benchmarks.api_load node KUBECONFIG                               makes a node with room for all pods

Both servers get the same bytes, by Paddock's client over TLS and uvloop; answers are read and not decoded. Each verb
prints one line of JSON; `cpu` is what this process used for the measured part, in seconds.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from benchmarks.shapes import NAMESPACE
from paddock.client.connection import Connection
from paddock.client.kubeconfig import read_config
from paddock.client.requests import Request, build
from paddock.kube.calls import Create, Patch
from paddock.kube.errors import ApiError
from paddock.kube.meta import CONFIG_MAPS, NODES, PODS, Manifest, Resource

KINDS = {"ConfigMap": CONFIG_MAPS, "Pod": PODS}
_TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
ACCEPTS = {"json": "application/json", "table": _TABLE}
_WRITERS = 16
"""Of what watchers see."""
_PAGE = 2_000


def build_object(kind: str, name: str) -> Manifest:
    """A ConfigMap of 300 bytes, or a pod as a job's worker is one: a command, environment, resources, labels."""
    meta = {"name": name, "labels": {"app": "bench", "bench/index": name.rpartition("-")[2]}}
    manifest: Manifest = {"apiVersion": "v1", "kind": kind, "metadata": meta}
    if kind == "ConfigMap":
        return manifest | {"data": {"key": "x" * 200}}
    container = {
        "name": "train",
        "image": "registry.local/train:1",
        "command": ["python", "-m", "train"],
        "env": [{"name": f"VARIABLE_{number}", "value": str(number)} for number in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}},
        "ports": [{"name": "rendezvous", "containerPort": 23456}],
    }
    return manifest | {"spec": {"restartPolicy": "Never", "containers": [container]}}


async def create(connection: Connection, kind: str, prefix: str, count: str, at_once: str) -> Any:
    posts = [_post(kind, f"{prefix}-{number}") for number in range(int(count))]
    took: list[float] = []

    async def send(request: Request) -> None:
        begun = time.perf_counter()
        await connection.send(request)
        took.append(time.perf_counter() - begun)

    # Connections are made before: a handshake costs a server more than a request, and is not asked for here.
    await _all(lambda _: connection.send(Request("GET", "/version")), range(2 * int(at_once)), int(at_once))
    begun, cpu = time.perf_counter(), time.process_time()
    await _all(send, posts, int(at_once))
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "p50": statistics.median(took), "p99": percentile(took, 0.99)}


async def list_pods(connection: Connection, wanted: str, times: str) -> Any:
    """Seconds of each list, from its request to its last byte."""
    request = Request("GET", PODS.path(NAMESPACE), headers={"Accept": ACCEPTS[wanted]})
    took, cpu, size = [], time.process_time(), 0
    for _ in range(int(times)):
        begun = time.perf_counter()
        size = len(await connection.send(request))
        took.append(time.perf_counter() - begun)
    return {"seconds": took, "bytes": size, "cpu": (time.process_time() - cpu) / int(times)}


async def watch(connection: Connection, prefix: str, watchers: str, writes: str) -> Any:
    """Seconds from the first write until every watcher has every write; of a write, until the last watcher has it."""
    listed = json.loads(await connection.send(Request("GET", CONFIG_MAPS.path(NAMESPACE), {"limit": "1"})))
    followers = [_Watcher(int(writes)) for _ in range(int(watchers))]
    version = listed["metadata"]["resourceVersion"]
    tasks = [asyncio.create_task(each.follow(connection, version)) for each in followers]
    for each in followers:
        await each.begun.wait()
    posts = [_post("ConfigMap", f"{prefix}-{number}") for number in range(int(writes))]
    begun, cpu = time.perf_counter(), time.process_time()
    await _all(connection.send, posts, _WRITERS)
    written = time.perf_counter() - begun
    await asyncio.gather(*tasks)
    return {"seconds": time.perf_counter() - begun, "written": written, "cpu": time.process_time() - cpu}


class _Watcher:
    """Counts the events that come; their objects are not read."""

    def __init__(self, wanted: int) -> None:
        self.begun = asyncio.Event()
        self._wanted = wanted

    async def follow(self, connection: Connection, version: str) -> None:
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "3600"}
        request = Request("GET", CONFIG_MAPS.path(NAMESPACE), query)
        left = self._wanted
        async for chunk in connection.stream(request, on_answer=self.begun.set):
            left -= chunk.count(b"\n")
            if left <= 0:
                return
        raise SystemExit(f"a watch ended with {left} events missing")


async def write(connection: Connection, prefix: str, at_once: str) -> Any:
    """Names of the ConfigMaps whose creation was acknowledged."""
    acknowledged: list[str] = []

    async def send(number: int) -> None:
        name = f"{prefix}-{number}"
        await connection.send(_post("ConfigMap", name))
        acknowledged.append(name)

    try:
        await _all(send, _announced(), int(at_once))
    except ApiError:  # of a server that is gone, or whose store is
        pass
    return {"acknowledged": acknowledged}


def _announced() -> Iterator[int]:
    """Endless; the first number is told, so that who kills the server knows that writes are in flight."""
    print("writing", flush=True)
    yield from itertools.count()


async def list_names(connection: Connection) -> Any:
    names: list[str] = []
    query = {"limit": str(_PAGE)}
    while True:
        request = Request("GET", CONFIG_MAPS.path(NAMESPACE), query)
        listed = json.loads(await connection.send(request))
        names += [item["metadata"]["name"] for item in listed["items"]]
        token = listed["metadata"].get("continue")
        if not token:
            return {"names": names}
        query = {"limit": str(_PAGE), "continue": token}


async def make_node(connection: Connection) -> Any:
    amounts = {"cpu": "1000000", "memory": "1000000Gi", "pods": "1000000"}
    ready = {"type": "Ready", "status": "True", "reason": "Bench"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "roomy"}, "status": status}
    await connection.send(build(Create(NODES, manifest=node)))
    # The server itself says of a new node that it is not ready, and a controller that is not here would take it back.
    await connection.send(build(Patch(NODES, name="roomy", patch={"spec": {"taints": None}}, kind="merge")))
    return {}


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of them."""
    found = sorted(values)
    return found[min(len(found) - 1, int(share * len(found)))]


def _post(kind: str, name: str) -> Request:
    resource: Resource = KINDS[kind]
    body = json.dumps(build_object(kind, name)).encode()
    return Request("POST", resource.path(NAMESPACE), body=body, headers={"Content-Type": "application/json"})


async def _all(work: Callable[[Any], Awaitable[Any]], items: Iterable[Any], at_once: int) -> None:
    """For each item, begun in order. The first error ends all of it."""
    left = iter(items)

    async def take() -> None:
        for item in left:
            await work(item)

    tasks = [asyncio.create_task(take()) for _ in range(at_once)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _connected(kubeconfig: str) -> AsyncIterator[Connection]:
    connection = Connection(read_config(kubeconfig), timeout=120.0)
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


_WORK: dict[str, Callable[..., Awaitable[Any]]] = {
    "create": create,
    "list": list_pods,
    "watch": watch,
    "write": write,
    "names": list_names,
    "node": make_node,
}


async def main(verb: str, kubeconfig: str, *words: str) -> None:
    async with _connected(kubeconfig) as connection:
        try:
            print(json.dumps(await _WORK[verb](connection, *words)))
        except ApiError as error:
            raise SystemExit(f"{verb} {' '.join(words)}: {error}") from None


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
