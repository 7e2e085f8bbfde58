"""200 jobs of one tiny pod, submitted at once, against a bare loop that starts the same 200 processes."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from collections.abc import Sequence

import psutil

from benchmarks.clusters import Cluster, open_directory, sandboxes
from benchmarks.figures import Figure, alternate, timed
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.kube.meta import Manifest, Resource, name_of

JOBS = 200
PADDLE_JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
TIMES = 3
_LOOP = f"i=0; while [ $i -lt {JOBS} ]; do {{}} & i=$((i+1)); done; wait"
_BARE = {
    "none": "sh -c :",
    "bubblewrap": "bwrap --bind / / --proc /proc --dev /dev --unshare-pid --unshare-ipc --unshare-uts sh -c :",
}


def measure() -> Sequence[Figure]:
    return [figure for sandbox in sandboxes() for figure in _measure(sandbox)]


def _measure(sandbox: str) -> Sequence[Figure]:
    memory: list[float] = []
    script = _LOOP.format(_BARE[sandbox])

    def ours() -> float:
        with open_directory() as cluster:
            cluster.paddock("up", "--sandbox", sandbox)
            took = asyncio.run(submit_and_wait(cluster, JOBS))
            memory.append(psutil.Process(cluster.pid).memory_info().rss / 2**20)
            return took

    def plain() -> float:
        return timed(lambda: subprocess.run(["sh", "-c", script], check=True))

    pair = alternate(ours, plain, TIMES, warm_up=0)
    fast, bare = (JOBS / statistics.median(each) for each in (pair.ours, pair.plain))
    resident = statistics.median(memory)
    return (
        Figure(
            f"{JOBS} jobs of one pod at once, {sandbox}",
            f"{fast:.0f} jobs/s",
            f"loop of {JOBS} processes {bare:.0f}/s",
            f"{pair.ratio:.0f} times the loop's time",
            "told",
        ),
        Figure(
            f"resident after these {JOBS} jobs, {sandbox}",
            f"{resident:.0f} MiB",
            "",
            "",
            "120 MB",
            resident * 2**20 <= 120e6,
        ),
    )


async def submit_and_wait(cluster: Cluster, count: int) -> float:
    """Seconds from the first request to the last `Completed`."""
    async with Client(read_config(str(cluster.home / "api" / "kubeconfig"))) as client:
        begun = time.perf_counter()
        waiting = {f"tiny-{number}" for number in range(count)}
        watch = asyncio.create_task(_wait(client, set(waiting)))
        await asyncio.gather(*(client.create(PADDLE_JOBS, _build_job(name)) for name in waiting))
        await watch
        return time.perf_counter() - begun


async def _wait(client: Client, waiting: set[str]) -> None:
    async for event in client.follow(PADDLE_JOBS, "default"):
        if (event.object.get("status") or {}).get("phase") == "Completed":
            waiting.discard(name_of(event.object))
        if not waiting:
            return


def _build_job(name: str) -> Manifest:
    container = {"name": "paddle", "image": "busybox", "command": ["sh", "-c", ":"]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": PADDLE_JOBS.api_version,
        "kind": PADDLE_JOBS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"cleanPodPolicy": "Never", "worker": worker},
    }
