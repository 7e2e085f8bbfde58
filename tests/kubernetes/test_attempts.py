"""What ends an attempt: each cause creates one new gang, whose ranks all get the same new addresses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from paddock.jobs.model import Settings
from paddock.kube.errors import Conflict, Invalid, NotFound
from paddock.kube.meta import CONFIG_MAPS, EVENTS, PODS, SERVICES, Manifest, labels_of, name_of, uid_of
from paddock.operator.readings import Readings
from paddock.views.changes import build_change
from support.operator_seam import JOBS, build_job, pods_of, running, status_of
from support.waiting import until
from support.worlds import World

pytestmark = pytest.mark.slow

RANKS = ("demo-ps-0", "demo-worker-0", "demo-worker-1")
AGAIN = ("demo-ps-0", "demo-worker-0", "demo-worker-1", "demo-worker-2")
WAIT = 180.0
"""Seconds that anything may take: the machine may be busy."""


async def submit(world: World, **spec: Any) -> None:
    job = build_job(namespace=world.namespace, ps=1, **spec)
    for role in ("ps", "worker"):
        job["spec"][role]["template"]["spec"]["restartPolicy"] = "OnFailure"
    await world.api.create(JOBS, job)


async def gang(world: World, attempt: int, ranks: tuple[str, ...] = RANKS) -> dict[str, Manifest]:
    """Its pods, once all of them exist and no others."""

    async def complete() -> dict[str, Manifest]:
        found = {name_of(pod): pod for pod in (await world.api.list(PODS, world.namespace)).items}
        labels = {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in found.values()}
        return found if set(found) == set(ranks) and labels == {str(attempt)} else {}

    found: dict[str, Manifest] = await until(complete, WAIT)
    return found


async def publish(world: World, pod: str, status: Manifest) -> None:
    await world.api.patch(PODS, world.namespace, pod, {"status": status}, subresource="status")


def up(address: str) -> Manifest:
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    container = {"name": "paddle", "ready": True, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    return {"phase": "Running", "podIP": address, "containerStatuses": [container]}


async def run(world: World, pods: dict[str, Manifest], attempt: int) -> None:
    """Sets all pods running, with new addresses for each attempt, and waits for phase Running."""
    for number, name in enumerate(sorted(pods)):
        await publish(world, name, up(f"10.9.{attempt}.{number + 1}"))
    await until(lambda: _runs(world, attempt), WAIT)


async def _runs(world: World, attempt: int) -> bool:
    status = await status_of(world.api, namespace=world.namespace)
    return (status.get("phase"), status.get("attempt")) == ("Running", attempt)


async def endpoints(world: World, attempt: int) -> Manifest:
    """The data of this attempt's ConfigMap; there is no other ConfigMap."""

    async def told() -> Manifest:
        found = (await world.api.list(CONFIG_MAPS, world.namespace, labels="paddock.dev/job=demo")).items
        maps = {labels_of(each)["paddock.dev/attempt"]: each for each in found}
        return dict(maps[str(attempt)]["data"]) if set(maps) == {str(attempt)} else {}

    found: Manifest = await until(told, WAIT)
    return found


async def fail(world: World) -> None:
    state = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:01:00Z"}}
    container = {"name": "paddle", "ready": False, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    await publish(world, "demo-worker-1", {"phase": "Failed", "containerStatuses": [container]})


async def evict(world: World) -> None:
    await publish(world, "demo-worker-1", {"phase": "Failed", "reason": "Evicted", "message": "DiskPressure"})


async def delete(world: World) -> None:
    await world.api.delete(PODS, world.namespace, "demo-worker-1", grace=0)


async def move(world: World) -> None:
    await publish(world, "demo-worker-1", {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]})


async def preempt(world: World) -> None:
    """As Kubernetes 1.26 and later mark it before they delete the pod, which its node then takes a while to end."""
    await bind(world, "demo-worker-1", "n1")
    word = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempted"}
    await publish(world, "demo-worker-1", {"conditions": [word]})
    await world.api.delete(PODS, world.namespace, "demo-worker-1", grace=30)
    await until(lambda: _attempt(world, 1), WAIT)
    await world.api.delete(PODS, world.namespace, "demo-worker-1", grace=0)


async def bind(world: World, pod: str, node: str) -> None:
    """Binds the pod, as a scheduler does."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
    await world.api.create(PODS, binding, namespace=world.namespace, name=pod, subresource="binding")


async def resize(world: World) -> None:
    await world.api.patch(JOBS, world.namespace, "demo", {"spec": {"worker": {"replicas": 3}}})


async def scale(world: World) -> None:
    """`kubectl scale --replicas=3 paddlejob/demo`."""
    await world.api.patch(JOBS, world.namespace, "demo", {"spec": {"replicas": 3}}, subresource="scale")


async def suspend_and_resume(world: World) -> None:
    patch = {"spec": {"runPolicy": {"suspend": True}}}
    await world.api.patch(JOBS, world.namespace, "demo", patch)
    await until(lambda: _is_empty(world), WAIT)
    patch["spec"]["runPolicy"]["suspend"] = False
    await world.api.patch(JOBS, world.namespace, "demo", patch)


async def _is_empty(world: World) -> bool:
    status = await status_of(world.api, namespace=world.namespace)
    return status.get("phase") == "Suspended" and not await pods_of(world.api, namespace=world.namespace)


Trigger = Callable[[World], Awaitable[None]]


@pytest.mark.parametrize(
    ("trigger", "reason", "restarts", "ranks"),
    [
        (fail, "RankRestarted", 1, RANKS),
        (evict, "RankRestarted", 1, RANKS),
        (delete, "PodsDeleted", 0, RANKS),
        (preempt, "PodsLost", 0, RANKS),
        (move, "AddressesChanged", 0, RANKS),
        (resize, "Resized", 0, AGAIN),
        (scale, "Resized", 0, AGAIN),
        (suspend_and_resume, "Resumed", 0, RANKS),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_one_new_gang_with_endpoints_of_its_own(
    world: World, trigger: Trigger, reason: str, restarts: int, ranks: tuple[str, ...]
) -> None:
    said: list[str] = []
    clock = Clock()
    async with running(world.api, Settings(), readings=Readings(clock)):
        await submit(world)
        first = await gang(world, 0)
        await run(world, first, 0)
        assert (await endpoints(world, 0))["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.9.0.1:36000"
        watching = asyncio.create_task(_listen(world, said))
        try:
            await trigger(world)
            if trigger in (fail, evict):
                await hear_out(world, clock)
            await until(lambda: _attempt(world, 1), WAIT)
            clock.now += 10  # what failed is not made again at once
            await wake(world)
            second = await gang(world, 1, ranks)
            await run(world, second, 1)
            told = await endpoints(world, 1)
            status = await status_of(world.api, namespace=world.namespace)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    assert not {uid_of(pod) for pod in first.values()} & {uid_of(pod) for pod in second.values()}
    assert told["PADDLE_PSERVERS_IP_PORT_LIST"] == "10.9.1.1:36000"
    assert told["PADDLE_TRAINERS"] == ",".join(f"10.9.1.{number}" for number in range(2, len(ranks) + 1))
    assert told["PADDLE_TRAINERS_NUM"] == str(len(ranks) - 1)
    assert (status["attempt"], status["restarts"]) == (1, restarts)
    assert status["worker"]["ready"] == f"{len(ranks) - 1}/{len(ranks) - 1}"
    assert said == [reason], "one cause of a new attempt was recorded, and no other"


async def _listen(world: World, said: list[str]) -> None:
    """The causes of new attempts, from the conditions: one for each time that a condition becomes true."""
    attempts = {0}
    async for event in world.api.follow(JOBS, world.namespace):
        status = (event.object or {}).get("status") or {} if event.type != "SYNCED" else {}
        if status.get("attempt", 0) not in attempts:
            attempts.add(status["attempt"])
            said.append(status["cause"]["reason"])


async def test_a_job_recreated_under_its_name_uses_no_object_of_the_job_before(world: World) -> None:
    """The old pods are still Terminating when the new job comes: a finalizer holds one of them."""
    async with running(world.api, Settings()):
        await submit(world)
        old = await gang(world, 0)
        await run(world, old, 0)
        held = {"metadata": {"finalizers": ["example.org/hold"]}}
        await world.api.patch(PODS, world.namespace, "demo-worker-0", held)
        await world.api.delete(JOBS, world.namespace, "demo")
        await submit(world)
        await until(lambda: _is_in_the_way(world), WAIT)
        release = {"metadata": {"finalizers": None}}
        await world.api.delete(PODS, world.namespace, "demo-worker-0", grace=0)
        await world.api.patch(PODS, world.namespace, "demo-worker-0", release)
        job = await world.api.get(JOBS, world.namespace, "demo")
        new = await until(lambda: _owned(world, uid_of(job)), WAIT)
        for number, name in enumerate(sorted(new)):
            await publish(world, name, up(f"10.9.7.{number + 1}"))
        await until(lambda: _runs(world, 0), WAIT)
        told = await until(lambda: _told_by(world, uid_of(job)), WAIT)
    assert not {uid_of(pod) for pod in old.values()} & {uid_of(pod) for pod in new.values()}
    assert told["PADDLE_TRAINER_ENDPOINTS"] == "10.9.7.2:36000,10.9.7.3:36000"


async def _is_in_the_way(world: World) -> bool:
    cause = (await status_of(world.api, namespace=world.namespace)).get("cause") or {}
    args = cause.get("args", {})
    return (
        cause.get("reason") == "ObjectInTheWay" and bool(args.get("former")) and "Pod demo-worker-0" in args["objects"]
    )


async def _owned(world: World, uid: str) -> dict[str, Manifest]:
    pods = (await world.api.list(PODS, world.namespace)).items
    mine = {name_of(pod): pod for pod in pods if pod["metadata"]["ownerReferences"][0]["uid"] == uid}
    return mine if set(mine) == set(RANKS) and len(pods) == len(mine) else {}


async def _told_by(world: World, uid: str) -> Manifest:
    maps = (await world.api.list(CONFIG_MAPS, world.namespace, labels="paddock.dev/job=demo")).items
    return next((dict(each["data"]) for each in maps if each["metadata"]["ownerReferences"][0]["uid"] == uid), {})


# runPolicy, with a clock that is passed in.


class Clock:
    """Seconds since the epoch for the operator: the present, moved by the test."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def wake(world: World) -> None:
    """Starts a reconcile: delays of the operator are real time here, and are tested as `requeue_after`."""
    await world.api.patch(JOBS, world.namespace, "demo", {"metadata": {"annotations": {"woken": str(time.time())}}})


async def hear_out(world: World, clock: Clock) -> None:
    """The operator waits for the ends of the other ranks, until its clock says that no more will come."""
    await until(lambda: _waits_for_statuses(world), WAIT)
    clock.now += Settings().status_wait
    await wake(world)


async def _waits_for_statuses(world: World) -> bool:
    cause = (await status_of(world.api, namespace=world.namespace)).get("cause") or {}
    return cause.get("reason") == "WaitingForStatuses"


async def _ended(world: World, phase: str) -> Manifest:
    status = await status_of(world.api, namespace=world.namespace)
    return status if status.get("phase") == phase else {}


async def test_the_backoff_limit_ends_the_job_at_the_failure_that_is_one_too_many(world: World) -> None:
    clock = Clock()
    async with running(world.api, Settings(), readings=Readings(clock)):
        await submit(world, runPolicy={"backoffLimit": 1})
        await run(world, await gang(world, 0), 0)
        await fail(world)
        await hear_out(world, clock)
        await until(lambda: _attempt(world, 1), WAIT)
        clock.now += 10
        await wake(world)
        await run(world, await gang(world, 1), 1)
        await fail(world)
        await hear_out(world, clock)
        status = await until(lambda: _ended(world, "Failed"), WAIT)
    assert (status["cause"]["reason"], status["restarts"], status["attempt"]) == ("BackoffLimitExceeded", 1, 1)


async def _attempt(world: World, attempt: int) -> bool:
    return bool((await status_of(world.api, namespace=world.namespace)).get("attempt") == attempt)


async def test_the_deadline_fails_a_job_that_is_still_active(world: World) -> None:
    clock = Clock()
    async with running(world.api, Settings(), readings=Readings(clock)):
        await submit(world, runPolicy={"activeDeadlineSeconds": 3600})
        await run(world, await gang(world, 0), 0)
        clock.now += 3599
        await wake(world)
        await run(world, await gang(world, 0), 0)
        clock.now += 1
        await wake(world)
        status = await until(lambda: _ended(world, "Failed"), WAIT)
    assert status["cause"]["reason"] == "DeadlineExceeded"


async def test_a_cancelled_job_ends_for_good_and_stays_with_who_asked(world: World) -> None:
    """The patch of `paddock cancel` and of the console's button, whose UID is a precondition."""
    async with running(world.api, Settings()):
        await submit(world, cleanPodPolicy="Always")
        await run(world, await gang(world, 0), 0)
        with pytest.raises((Conflict, Invalid)):  # the embedded server's word, and a real one's
            another = {"metadata": {"uid": "of-another-job"}}
            await world.api.patch(JOBS, world.namespace, "demo", build_change("cancel", another, "ada"))
        job = await world.api.get(JOBS, world.namespace, "demo")
        await world.api.patch(JOBS, world.namespace, "demo", build_change("cancel", job, "ada"))
        status = await until(lambda: _ended(world, "Failed"), WAIT)
        assert (status["cause"]["reason"], status["cause"]["args"]) == ("Cancelled", {"who": "ada"})
        await until(lambda: _has_no_pods(world), WAIT)


async def test_who_suspends_and_resumes_a_job_is_in_its_status_and_in_its_events(world: World) -> None:
    """A server gives the job the generation that the signed patch says, in both worlds."""
    async with running(world.api, Settings()):
        await submit(world)
        await run(world, await gang(world, 0), 0)
        for verb, reason in (("suspend", "Suspended"), ("resume", "Resumed")):
            job = await world.api.get(JOBS, world.namespace, "demo")
            await world.api.patch(JOBS, world.namespace, "demo", build_change(verb, job, "ada"))
            status = await until(partial(_has_cause, world, reason), WAIT)
            assert status["cause"]["args"] == {"who": "ada"}
        said = await until(lambda: _find_event(world, "Resumed"), WAIT)
        assert said == "resumed by ada: starting all ranks again"


async def _has_cause(world: World, reason: str) -> Manifest | None:
    status = (await world.api.get(JOBS, world.namespace, "demo")).get("status") or {}
    return status if (status.get("cause") or {}).get("reason") == reason else None


async def _find_event(world: World, reason: str) -> str:
    events = (await world.api.list(EVENTS, world.namespace)).items
    return next((str(each["message"]) for each in events if each["reason"] == reason), "")


async def _has_no_pods(world: World) -> bool:
    return not await pods_of(world.api, namespace=world.namespace)


async def test_the_time_to_live_deletes_a_finished_job_and_its_children(world: World) -> None:
    clock = Clock()
    async with running(world.api, Settings(), readings=Readings(clock)):
        await submit(world, runPolicy={"ttlSecondsAfterFinished": 3600}, cleanPodPolicy="Never")
        await run(world, await gang(world, 0), 0)
        for worker in ("demo-worker-0", "demo-worker-1"):
            await _succeed(world, worker)
        await until(lambda: _ended(world, "Completed"), WAIT)
        clock.now += 3600
        with suppress(NotFound):  # another event may have woken it, and it is gone by now
            await wake(world)
        await until(lambda: _is_gone(world), WAIT)


async def _succeed(world: World, pod: str) -> None:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:01:00Z"}}
    container = {"name": "paddle", "ready": False, "state": state, "image": "x", "imageID": "x", "restartCount": 0}
    await publish(world, pod, {"phase": "Succeeded", "containerStatuses": [container]})


async def _is_gone(world: World) -> bool:
    """A real garbage collector deletes the children; pods without a kubelet stay Terminating."""
    jobs, services = await asyncio.gather(
        world.api.list(JOBS, world.namespace), world.api.list(SERVICES, world.namespace)
    )
    return not jobs.items and not services.items and not await pods_of(world.api, namespace=world.namespace)


@pytest.mark.parametrize("policy", ["", "Always", "OnCompletion", "OnFailure", "Never"])
async def test_survivors_of_a_failed_job_hold_nothing(world: World, policy: str) -> None:
    """Ended pods stay with their logs unless the policy deletes them; running pods are always deleted."""
    async with running(world.api, Settings(status_wait=0)):
        job = build_job(namespace=world.namespace, ps=1, **({"cleanPodPolicy": policy} if policy else {}))
        await world.api.create(JOBS, job)
        await run(world, await gang(world, 0), 0)
        await fail(world)
        await until(lambda: _ended(world, "Failed"), WAIT)
        kept = set() if policy in ("Always", "OnFailure") else {"demo-worker-1"}
        await until(lambda: _holds(world, kept), WAIT)
        status = await until(lambda: _counts_none(world), WAIT)
    assert status["worker"] == {"ready": "0/2", "failed": 1} | ({"refs": status["worker"]["refs"]} if kept else {})
    assert {each["type"]: each["status"] for each in status["conditions"]} == {"Running": "False", "Failed": "True"}


async def _counts_none(world: World) -> Manifest:
    """The status, once it counts no pod that runs."""
    status = await status_of(world.api, namespace=world.namespace)
    return {} if any("running" in status[role] for role in ("ps", "worker")) else status


async def _holds(world: World, names: set[str]) -> bool:
    return set(await pods_of(world.api, namespace=world.namespace)) == names
