"""Scale edits of jobs that run: 200 in a minute, from an edit until the pods of the new size exist and no others do.

Ten elastic jobs, edited by the subresource `scale`, as `kubectl scale` does it. PyTorchJobs with an elasticPolicy keep
their pods: those that are new are made, and those too many deleted. Of PaddleJobs with the annotation
`paddock.dev/elastic` each size is a new attempt, and all pods are made anew: half as many edits. Beside each, a bare
loop on a server of its own that creates and deletes the same pods and Services by itself, at the same pace. Pods are
bound to no node, so that a deletion takes no grace period.

A wrong end is an error: each job runs with the size of its last edit, and has counted no restart; PyTorchJobs are in
their first attempt, and PaddleJobs have had one for each edit that was not overtaken. $PADDOCK_BENCH_EDITS is another
number of edits.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.control_planes import Asked, ControlPlane, open_control_plane, wait_until_quiet
from benchmarks.edit_load import PACE
from benchmarks.figures import Figure
from benchmarks.gangs import list_requests, of_operator
from benchmarks.loads import run_load
from benchmarks.operators import open_operator
from benchmarks.shapes import NAMESPACE, SHAPES
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.kube.meta import PODS, Resource, name_of

JOBS, PODS_AT_FIRST = 10, 4
_PROGRAM = "edit_load"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all edits. `waits`: what the load saw; `requests`: all that were asked; `cpu`: seconds of the operator."""

    waits: Mapping[str, Any]
    requests: Counter[Asked]
    cpu: float = 0.0


def measure() -> Sequence[Figure]:
    edits = int(os.environ.get("PADDOCK_BENCH_EDITS", "200"))
    return (
        *_measure("elastic-pytorch", f"{JOBS} PyTorchJobs with elasticPolicy", edits),
        *_measure("elastic-paddle", f"{JOBS} PaddleJobs, each size a new attempt", max(1, edits // 2)),
    )


def _measure(shape: str, jobs: str, edits: int) -> Sequence[Figure]:
    ours, plain = _run_ours(shape, edits), _run_plain(shape, edits)
    plural = SHAPES[shape].resource.plural
    ratio = ours.waits["p50"] / plain.waits["p50"]
    overtaken = f"{ours.waits['overtaken']} were overtaken by the next one"
    per_edit, bare = (of_operator(cost.requests, plural) / edits for cost in (ours, plain))
    return (
        Figure(
            f"{edits} scale edits in {edits * PACE:.0f} s of {jobs}: until the pods of the new size exist, p50 / p99",
            _describe(ours.waits),
            f"bare loop {_describe(plain.waits)}",
            f"{ratio:.1f} times" + (f"; {overtaken}" if ours.waits["overtaken"] else ""),
            "told",
        ),
        Figure(
            "… requests of the operator per edit",
            f"{per_edit:.1f}",
            f"{bare:.1f} creations and deletions",
            list_requests(ours.requests, edits, plural),
            "told",
        ),
        Figure("… CPU of the operator per edit", f"{ours.cpu / edits * 1e3:.1f} ms", "", "", "told"),
    )


def _describe(waits: Mapping[str, Any]) -> str:
    return f"{waits['p50'] * 1e3:.0f} / {waits['p99'] * 1e3:.0f} ms"


def _run_ours(shape: str, edits: int) -> Cost:
    resource = SHAPES[shape].resource
    kinds = f"--kinds={resource.plural}.{resource.group}"
    with open_control_plane(resource) as plane, open_operator(plane, kinds) as operator:
        run_load(plane, "submit", JOBS, PODS_AT_FIRST, shape=shape)
        run_load(plane, "publish", JOBS, PODS_AT_FIRST, "Running", shape=shape)
        asyncio.run(_check(plane, resource, {f"job-{number}": PODS_AT_FIRST for number in range(JOBS)}, range(1)))
        wait_until_quiet(operator.pid)
        requests, cpu = plane.count_requests(), operator.cpu
        waits = run_load(plane, "edit", JOBS, PODS_AT_FIRST, edits, shape=shape, program=_PROGRAM)
        wait_until_quiet(operator.pid)
        cost = Cost(waits, plane.count_requests() - requests, operator.cpu - cpu)
        attempts = range(edits - waits["overtaken"], edits + 1) if SHAPES[shape].made_anew else range(1)
        asyncio.run(_check(plane, resource, waits["sizes"], attempts))
    return cost


def _run_plain(shape: str, edits: int) -> Cost:
    with open_control_plane(SHAPES[shape].resource) as plane:
        run_load(plane, "bare", JOBS, PODS_AT_FIRST, shape=shape)
        run_load(plane, "publish", JOBS, PODS_AT_FIRST, "Running", shape=shape)
        requests = plane.count_requests()
        waits = run_load(plane, "bare", JOBS, PODS_AT_FIRST, edits, shape=shape, program=_PROGRAM)
        return Cost(waits, plane.count_requests() - requests)


async def _check(plane: ControlPlane, resource: Resource, sizes: Mapping[str, int], attempts: int) -> None:
    """Raises AssertionError unless each job soon runs with its size, by its status and by its pods, has never
    restarted, and all together have had so many new attempts."""
    wanted = {name: {"runs": size, "pods": size, "restarts": 0} for name, size in sizes.items()}
    async with Client(read_config(str(plane.kubeconfig))) as client:
        for _ in range(50):
            found, counted = await _find_jobs(client, resource)
            if found == wanted and counted in attempts:
                return
            await asyncio.sleep(0.2)
    wrong = {name: (found.get(name), each) for name, each in wanted.items() if found.get(name) != each}
    raise AssertionError(f"found and wanted: {wrong}; {counted} new attempts, {attempts} wanted")


async def _find_jobs(client: Client, resource: Resource) -> tuple[dict[str, dict[str, int]], int]:
    """What each job has, and the sum of the attempts."""
    pods = Counter(name_of(pod).rpartition("-worker-")[0] for pod in (await client.list(PODS, NAMESPACE)).items)
    jobs = {name_of(job): job.get("status") or {} for job in (await client.list(resource, NAMESPACE)).items}
    found = {
        name: {"runs": _count_running(status), "pods": pods[name], "restarts": int(status.get("restarts", 0))}
        for name, status in jobs.items()
    }
    return found, sum(int(status.get("attempt", 0)) for status in jobs.values())


def _count_running(status: Mapping[str, Any]) -> int:
    """By the status of either API group."""
    if "replicaStatuses" in status:
        return int((status["replicaStatuses"].get("Worker") or {}).get("active", 0))
    return int((status.get("worker") or {}).get("running", 0))
