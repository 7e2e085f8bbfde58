"""Interference of a cluster and its other users with a job: the job waits, with a message, and continues.

Killed operators are in `test_killed_at_every_write`, bad servers in `test_servers`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.labels import ATTEMPT_LABEL
from paddock.jobs.model import Settings
from paddock.jobs.sentences.explain import explain
from paddock.kube.errors import ApiError, Forbidden, Invalid, NotFound
from paddock.kube.meta import (
    EVENTS,
    NAMESPACES,
    PODS,
    SERVICES,
    Manifest,
    Resource,
    labels_of,
    name_of,
    uid_of,
)
from paddock.operator.readings import Readings
from support.fake_kubelet import walking
from support.lives import FAILED_ONCE, Clock, End, Life, Scene, live
from support.operator_seam import JOBS, Request, Seam, pods_of, running, settled
from support.waiting import until
from support.worlds import ControlPlane, World, create_namespace, open_real

# Lives are given three minutes on a busy machine, some more than once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas")

RAN_THROUGH = End("Completed", 0, 0, {("ps-0", "0"): 1, ("worker-0", "0"): 1}, frozenset({"ConfigMap 0"}))
CAME_THROUGH = End(
    "Completed",
    attempt=1,
    restarts=1,
    made={("ps-0", "0"): 1, ("worker-0", "0"): 1, ("ps-0", "1"): 1, ("worker-0", "1"): 1},
    left=frozenset({"ConfigMap 1"}),
)


@pytest.fixture
async def real_world(control_plane: ControlPlane) -> AsyncIterator[World]:
    async with open_real(control_plane) as world:
        yield world


@pytest.fixture
def seam(world: World) -> Seam:
    return Seam(world.api, world.namespace)


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world.api, world.namespace, "demo")


async def _said(world: World, reason: str) -> list[Manifest]:
    return [each for each in (await world.api.list(EVENTS, world.namespace)).items if each["reason"] == reason]


async def _waits(scene: Scene, reason: str) -> Manifest | None:
    status = await scene.status()
    return status if (status.get("cause") or {}).get("reason") == reason else None


def _trains(ends: Callable[[], int | None]) -> Life:
    """A job whose workers end when the test says so."""
    return replace(FAILED_ONCE, ends=lambda attempt, role, index: ends() if role == "worker" else None)


# Two operators.


async def test_two_operators_at_once_give_a_job_one_life(world: World, scene: Scene) -> None:
    told: list[tuple[int, int, str]] = []

    async def listen() -> None:
        async for event in world.api.follow(JOBS, world.namespace):
            status = event.object.get("status") or {}
            told.append((status.get("attempt", 0), status.get("restarts", 0), str(status.get("phase"))))

    listening = asyncio.create_task(listen())
    try:
        async with _operating(world, scene), _operating(world, scene), _operating(world, scene):
            end = await live(FAILED_ONCE, scene)
    finally:
        listening.cancel()
    assert end == CAME_THROUGH
    phases = [each for before, each in zip([None, *told], told, strict=False) if each != before]
    assert [numbers[:2] for numbers in phases] == sorted(numbers[:2] for numbers in phases)
    assert max(Counter(phases).values()) == 1, f"the status went to and fro: {phases}"
    assert await _said(world, "ActionFailed") == []  # what another operator made is no failure


@asynccontextmanager
async def _operating(world: World, scene: Scene) -> AsyncIterator[None]:
    async with running(Seam(world.api, world.namespace), Settings(status_wait=0.2), readings=Readings(scene.clock)):
        yield


async def test_a_late_delete_never_deletes_the_replacement(world: World, seam: Seam, scene: Scene) -> None:
    """One operator's delete is delayed; meanwhile the other one deletes the pod and creates the next of that name."""
    replaced, held, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hold(request: Request) -> None:
        if request == ("delete", "pods", "demo-worker-0") and not held.is_set():
            held.set()
            await replaced.wait()

    async def release(scene: Scene) -> None:
        async with asyncio.timeout(180):
            await held.wait()
        async with _operating(world, scene):  # the other comes now: the first would be left with nothing to delete
            await until(lambda: _is_replaced(world))
            replaced.set()
            await settled(seam)
            over.set()
            await FAILED_ONCE.user(scene)

    seam.before = hold

    def ends(attempt: int, role: str, index: int) -> int | None:
        return FAILED_ONCE.ends(attempt, role, index) if attempt == 0 or over.is_set() else None

    async with running(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)):
        assert await live(replace(FAILED_ONCE, ends=ends, user=release), scene) == CAME_THROUGH


async def _is_replaced(world: World) -> bool:
    pod = (await pods_of(world.api, namespace=world.namespace)).get("demo-worker-0")
    return pod is not None and labels_of(pod)[ATTEMPT_LABEL] == "1"


# Clocks.


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_clock_that_jumps_while_a_job_trains_changes_nothing(
    world: World, seam: Seam, scene: Scene, hours: int
) -> None:
    over = asyncio.Event()

    async def jump(scene: Scene) -> None:
        await scene.phase("Running")
        scene.clock.offset += hours * 3600
        await scene.patch({"metadata": {"annotations": {"look": "again"}}})
        await settled(seam)
        assert (await scene.status())["phase"] == "Running"
        over.set()
        await FAILED_ONCE.user(scene)

    life = replace(
        _trains(lambda: 0 if over.is_set() else None),
        user=jump,
        spec={"runPolicy": {"activeDeadlineSeconds": 7200, "backoffLimit": 0}},
    )
    async with running(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)):
        assert await live(life, scene) == RAN_THROUGH


async def test_a_clock_that_is_set_back_during_a_backoff_does_not_extend_it(
    world: World, seam: Seam, scene: Scene
) -> None:
    clock = Clock()
    life = FAILED_ONCE
    async with (
        walking(world.api, world.namespace, life.ends, 2),
        running(seam, Settings(status_wait=0.2), readings=Readings(clock)),
    ):
        await world.api.create(JOBS, life.build("demo", world.namespace))
        await scene.phase("Restarting")
        clock.offset -= 3600
        await scene.patch({"metadata": {"annotations": {"look": "again"}}})
        await scene.phase("Completed")


# Somebody else's objects of our names.


def _theirs(resource: Resource, name: str, namespace: str) -> Manifest:
    spec: dict[Resource, Manifest] = {
        PODS: {"spec": {"containers": [{"name": "c", "image": "x"}]}},
        SERVICES: {"spec": {"ports": [{"port": 80}]}},
    }
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **spec[resource]}


@pytest.mark.parametrize("resource", [PODS, SERVICES], ids=lambda resource: resource.kind)
async def test_a_foreign_object_is_waited_for_and_never_changed(
    world: World, seam: Seam, scene: Scene, resource: Resource
) -> None:
    theirs = await world.api.create(resource, _theirs(resource, "demo-worker-0", world.namespace))
    life = replace(_trains(lambda: 0), user=lambda scene: _make_room(world, seam, scene, resource, theirs))
    async with running(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)):
        assert await live(life, scene) == RAN_THROUGH


async def _make_room(world: World, seam: Seam, scene: Scene, resource: Resource, theirs: Manifest) -> None:
    status = await until(lambda: _waits(scene, "ObjectInTheWay"))
    assert status["cause"]["args"]["objects"] == [f"{resource.kind} {name_of(theirs)}"]
    there = await world.api.get(resource, world.namespace, name_of(theirs))
    assert (uid_of(there), there["metadata"].get("ownerReferences")) == (uid_of(theirs), None)
    assert not [each for each in seam.requests if each[0] != "get" and each[1:] == (resource.plural, name_of(theirs))]
    await world.api.delete(resource, world.namespace, name_of(theirs), uid=uid_of(theirs), grace=0)
    await FAILED_ONCE.user(scene)


# A server that refuses one thing for good reasons.


REFUSALS: dict[str, ApiError] = {
    "403": Forbidden('admission webhook "policy.example" denied the request: no image of that registry'),
    "422": Invalid('Pod "demo-worker-0" is invalid: spec.containers[0].image: Required value'),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.slow
async def test_a_refused_pod_is_explained_and_retried_with_back_off(
    world: World, seam: Seam, scene: Scene, refusal: ApiError
) -> None:
    refusing = asyncio.Event()
    refusing.set()

    async def refuse(request: Request) -> None:
        if request == ("create", "pods", "demo-worker-0") and refusing.is_set():
            raise refusal

    async def allow_later(scene: Scene) -> None:
        status = await until(lambda: _waits(scene, "ObjectsRefused"))
        assert status["cause"]["args"] == {"objects": ["Pod demo-worker-0"], "message": refusal.message}
        cause = PADDLEPADDLE.read_status({"status": status}).cause
        assert cause is not None
        assert refusal.message in explain(cause)
        (event,) = await until(lambda: _said(world, "ActionFailed"))
        assert refusal.message in event["message"]
        before = seam.requests.count(("create", "pods", "demo-worker-0"))
        await asyncio.sleep(3)
        assert seam.requests.count(("create", "pods", "demo-worker-0")) - before <= 6
        assert set(await pods_of(world.api, namespace=world.namespace)) == {"demo-ps-0"}  # the others are made
        refusing.clear()
        await FAILED_ONCE.user(scene)

    seam.before = refuse
    async with running(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)):
        assert await live(replace(_trains(lambda: 0), user=allow_later), scene) == RAN_THROUGH
    assert len(seam.requests) < 100


@pytest.mark.kubernetes
async def test_a_quota_that_refuses_the_third_pod_is_explained_and_a_larger_one_is_used(
    real_world: World,
) -> None:
    world = real_world
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": world.namespace},
             "spec": {"hard": {"pods": "2"}}}  # fmt: skip
    await world.api.create(QUOTAS, quota)
    await until(lambda: _is_counted(world))
    scene, seam = Scene(world.api, world.namespace, "demo"), Seam(world.api, world.namespace)

    async def raise_quota(scene: Scene) -> None:
        status = await until(lambda: _waits(scene, "QuotaExceeded"))
        args = status["cause"]["args"]
        said = (args["quota"], args["names"], args["asked"], args["used"], args["hard"])
        assert said == ("pods", ["pods"], ["1"], ["2"], ["2"])
        assert len(await pods_of(world.api, namespace=world.namespace)) == 2
        await until(lambda: _said(world, "ActionFailed"))
        await world.api.patch(QUOTAS, world.namespace, "pods", {"spec": {"hard": {"pods": "4"}}})
        await FAILED_ONCE.user(scene)

    life = replace(_trains(lambda: 0), user=raise_quota, ps=2, worker=2)
    async with running(seam, Settings(status_wait=0.2), readings=Readings(scene.clock)):
        end = await live(life, scene)
    assert (end.phase, end.attempt, set(end.made.values())) == ("Completed", 0, {1})
    assert len(seam.requests) < 150


async def _is_counted(world: World) -> bool:
    quota = await world.api.get(QUOTAS, world.namespace, "pods")
    return "hard" in (quota.get("status") or {})


# A namespace that goes.


@pytest.mark.kubernetes
async def test_a_namespace_that_is_deleted_harms_no_other_and_costs_little(real_world: World) -> None:
    world = real_world
    seam, going = Seam(world.api), await create_namespace(world.api)
    life = FAILED_ONCE
    async with walking(world.api, going, lambda *rank: None, 2), running(seam, Settings(status_wait=0.2)):
        for number in range(3):
            await world.api.create(JOBS, life.build(f"demo{number}", going))
        for number in range(3):
            await Scene(world.api, going, f"demo{number}").phase("Running")
        before = len(seam.requests)
        await world.api.delete(NAMESPACES, "", going)
        scene = Scene(world.api, world.namespace, "demo")
        end = await live(life, replace(scene, clock=Clock()))
        await until(lambda: _is_gone(world, going))
        await asyncio.sleep(1)
    assert end.phase == "Completed"
    spent = Counter(request[:2] for request in seam.requests[before:] if request[2].startswith(("demo0", "demo1")))
    assert sum(spent.values()) < 60, spent


async def _is_gone(world: World, namespace: str) -> bool:
    try:
        await world.api.get(NAMESPACES, "", namespace)
    except NotFound:
        return True
    return False
