"""The status in `kubectl get pdj` was wrong, came late, or was written repeatedly.

14  test_a_failed_role_and_a_pending_one_make_a_failed_job_in_any_order
24  test_a_finished_job_is_not_written_again_after_an_edit
25  test_all_pods_are_created_at_once_and_deleted_at_once
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

from jobs.gangs import NOW, build_pods, build_status, failed, observe, with_pod
from jobs.gangs import build_job as build_parsed
from paddock.jobs.model import Phase, PodPhase, Settings
from paddock.jobs.plan import plan
from support.operator_seam import JOBS, Request, Seam, build_job, have_pods, pods_of, running, set_phase, settled
from support.operator_seam import status_of as read_status_of
from support.waiting import until
from support.worlds import World


def test_a_failed_role_and_a_pending_one_make_a_failed_job_in_any_order() -> None:
    """14: it was random at each reconcile."""
    job = build_parsed(ps=1, workers=2)
    pods = with_pod(build_pods(job), "worker-0", failed())
    pods = with_pod(pods, "ps-0", lambda pod: replace(pod, phase=PodPhase.PENDING))
    for recorded in (Phase.PENDING, Phase.STARTING):
        phases = {
            plan(job, build_status(job, recorded), observe(job, order), NOW, Settings(status_wait=0)).status.phase
            for order in permutations(pods)
        }
        assert phases == {Phase.FAILED}


async def test_a_finished_job_is_not_written_again_after_an_edit(world: World) -> None:
    """24: every reconcile wrote the status, also of finished jobs."""
    api, namespace = world.api, world.namespace
    seam = Seam(api, namespace)
    async with running(seam, Settings()):
        await api.create(JOBS, build_job(ps=0, namespace=namespace))
        for number, pod in enumerate(sorted(await until(lambda: have_pods(api, 2, namespace=namespace))), 2):
            await set_phase(api, pod, "Running", address=f"10.98.0.{number}", namespace=namespace)
        await until(lambda: _in_phase(world, "Running"))
        for worker in ("demo-worker-0", "demo-worker-1"):
            await set_phase(api, worker, "Succeeded", namespace=namespace)
        await until(lambda: _in_phase(world, "Completed"))
        await until(lambda: _has_no_pods(world))
        await settled(seam, 1.0)
        before = len(seam.requests)
        await api.patch(JOBS, namespace, "demo", {"metadata": {"annotations": {"somebody": "looked"}}})
        # A job that comes later has its pods: the operator has looked at this one too, and asks for nothing by the way.
        await api.create(JOBS, build_job("later", ps=0, namespace=namespace))
        await until(lambda: have_pods(api, 2, "later", namespace=namespace))
        await settled(seam, 0.5)
    assert {verb for verb, what, name in seam.requests[before:] if name == "demo" and what != "events"} <= {"get"}


async def _in_phase(world: World, phase: str) -> bool:
    return (await read_status_of(world.api, namespace=world.namespace)).get("phase") == phase


async def _has_no_pods(world: World) -> bool:
    return not await pods_of(world.api, namespace=world.namespace)


async def test_all_pods_are_created_at_once_and_deleted_at_once(world: World) -> None:
    """25: one object for each pass, and the next when the watch had told of it; removal waited for each pod's grace.

    No request is answered here before all of its kind are under way."""
    api, namespace = world.api, world.namespace
    seam = Seam(api, namespace)
    seam.before = _answer_together({("create", "pods"): 4, ("delete", "pods"): 4})
    async with running(seam, Settings()):
        await api.create(JOBS, build_job(namespace=namespace))
        await until(lambda: have_pods(api, 4, namespace=namespace))
        await api.patch(JOBS, namespace, "demo", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: _has_no_pods(world))


def _answer_together(counts: dict[tuple[str, str], int]) -> Callable[[Request], object]:
    gates = {kind: asyncio.Barrier(count) for kind, count in counts.items()}

    async def wait(request: Request) -> None:
        if request[:2] in gates:
            await gates[request[:2]].wait()

    return wait
