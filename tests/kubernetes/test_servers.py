"""Faults of an API server: refusals, broken connections, delays, outages. The job completes in spite of each.

All of it on the wire (`bad_server`), before the embedded API and before a real one, and the real one's own restarts.
Pods are walked, and the user acts, by a connection of their own that has no faults.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.client import Client
from paddock.client.kubeconfig import Config, read_config
from paddock.jobs.labels import HALTED_ANNOTATION
from paddock.jobs.model import Settings
from paddock.kube.errors import ApiError, Conflict, Expired, InternalError, Timeout, TooManyRequests, Unavailable
from paddock.kube.meta import CRDS, EVENTS, PODS, Manifest, annotations_of
from paddock.operator.readings import Readings
from support.bad_server import BadServer, Cut, Fault, bad_server, client_of
from support.fake_kubelet import walking
from support.lives import FAILED_ONCE, Clock, End, Life, Scene, live
from support.operator_seam import JOBS, Seam, build_job, running, settled
from support.waiting import until
from support.worlds import ControlPlane, World, open_control_plane, open_embedded, open_real

# Lives are given three minutes on a busy machine, some more than once.
pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

CAME_THROUGH = End(
    "Completed",
    attempt=1,
    restarts=1,
    made={("ps-0", "0"): 1, ("worker-0", "0"): 1, ("ps-0", "1"): 1, ("worker-0", "1"): 1},
    left=frozenset({"ConfigMap 1"}),
)

_LIMIT = 300
"""Requests of a whole life under faults; about fifty do without them."""

Faults = Callable[[int, str, str], Fault | None]


@pytest.fixture
async def server(world: World, tmp_path: Path) -> AsyncIterator[BadServer]:
    async with _address(world, tmp_path / "server") as config, bad_server(config) as server:
        yield server


@asynccontextmanager
async def _address(world: World, directory: Path) -> AsyncIterator[Config]:
    if world.control_plane is not None:
        yield read_config(str(world.control_plane.kubeconfig))
        return
    assert isinstance(world.api, LocalApi)
    embedded = Server(world.api, directory)
    await embedded.start()
    try:
        yield read_config(str(embedded.kubeconfig))
    finally:
        await embedded.stop()


async def _live(world: World, server: BadServer, life: Life = FAILED_ONCE) -> End:
    async with client_of(server) as client:
        scene = Scene(world.api, world.namespace, "demo")
        async with running(Seam(client, world.namespace), Settings(status_wait=0.2), readings=Readings(scene.clock)):
            return await live(life, scene)


def _one_in(number: int, fault: Fault, *, writes: bool = False) -> Faults:
    """A random share of requests, or of writes: a fixed interval could align with the reconciles."""
    dice = Random(1)
    return lambda at, method, path: fault if not dice.randrange(number) and not (writes and method == "GET") else None


def _status_writes_once(error: ApiError) -> Faults:
    """Refuses each write of a status once."""
    refused: list[int] = []

    def fault(at: int, method: str, path: str) -> Fault | None:
        if not path.endswith("/status") or (refused and refused.pop()):
            return None
        refused.append(at)
        return Fault(error)

    return fault


FAULTS: dict[str, Callable[[], Faults]] = {
    "409 at every status": lambda: _status_writes_once(Conflict("the object has been modified")),
    "409": lambda: _one_in(6, Fault(Conflict("the object has been modified")), writes=True),
    "429 with Retry-After": lambda: _one_in(6, Fault(TooManyRequests("too many requests", retry_after=1.0))),
    "429 without": lambda: _one_in(6, Fault(TooManyRequests("too many requests"))),
    "500": lambda: _one_in(6, Fault(InternalError("etcdserver: request timed out"))),
    "500 though it was done": lambda: _one_in(6, Fault(InternalError("etcdserver: request timed out"), done=True)),
    "503": lambda: _one_in(6, Fault(Unavailable("the server is currently unable to handle the request"))),
    "504 though it was done": lambda: _one_in(6, Fault(Timeout("timed out"), done=True)),
    "the connection breaks": lambda: _one_in(6, Fault()),
    "the connection breaks, though it was done": lambda: _one_in(6, Fault(done=True)),
    "0.2 s for each request": lambda: _one_in(1, Fault(seconds=0.2)),
}
"""Made anew for each test: faults remember where they are."""


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_job_completes_though_the_server_fails(
    world: World, server: BadServer, fault: Callable[[], Faults]
) -> None:
    server.fault = fault()
    assert await _live(world, server) == CAME_THROUGH
    assert server.requests < _LIMIT


_EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old resource version: 1 (9)",\
"reason":"Expired","code":410}}\n'
CUTS = {
    "cut at every third event": Cut(3),
    "cut in the middle of a line": Cut(2, b'{"type":"MODIFIED","object":{"kind":"Po'),
    "410 at every third event": Cut(3, _EXPIRED, forgets=True),
    "500 in the stream": Cut(2, b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd"}}\n'),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
async def test_a_job_completes_though_watches_break(world: World, server: BadServer, cut: Cut) -> None:
    server.cut = cut
    assert await _live(world, server) == CAME_THROUGH
    assert server.watches < _LIMIT
    assert server.requests < _LIMIT


async def test_a_watch_from_a_version_that_is_too_old_lists_again(world: World, server: BadServer) -> None:
    """410 as the answer of every other list and watch; a list can get it for an expired continue token."""
    server.cut = Cut(2)
    server.fault = lambda at, method, path: (
        Fault(Expired("too old")) if method == "GET" and path.endswith("s") and at % 2 else None
    )
    assert await _live(world, server) == CAME_THROUGH


async def test_a_server_that_ends_every_watch_at_once_is_not_overloaded(world: World, server: BadServer) -> None:
    server.cut = Cut(0)
    async with client_of(server) as client, running(Seam(client, world.namespace), Settings(status_wait=0.2)):
        await asyncio.sleep(3)
    assert server.watches + server.requests < 300


async def test_a_lost_event_is_recovered_by_the_next_list(world: World, server: BadServer) -> None:
    """A faulty proxy may lose an event. Here: the success of the worker."""
    server.swallows = lambda line: b'"Succeeded"' in line
    server.watch_seconds = 1
    scene = Scene(world.api, world.namespace, "demo")
    async with (
        client_of(server, relist=2.0) as client,
        running(Seam(client, world.namespace), Settings(status_wait=0.2), readings=Readings(scene.clock)),
    ):
        assert await live(FAILED_ONCE, scene) == CAME_THROUGH


PHASES = ("Pending", "Running", "Restarting", "Completed")


def _interrupted(phase: str, interrupt: Callable[[], Awaitable[None]]) -> Life:
    """The life of a job that fails once, with `interrupt` in this phase. Its worker fails after that, or before.

    The life stays in the phase until that is over: a test that is late to look would never see it there.
    """
    over = asyncio.Event()
    failed_before = phase in ("Restarting", "Completed")

    def ends(attempt: int, role: str, index: int) -> int | None:
        return FAILED_ONCE.ends(attempt, role, index) if failed_before or over.is_set() else None

    async def user(scene: Scene) -> None:
        await scene.phase(phase)
        await interrupt()
        over.set()
        await FAILED_ONCE.user(scene)

    return replace(FAILED_ONCE, ends=ends, user=user, stays=lambda each: each == phase and not over.is_set())


@pytest.mark.parametrize("phase", PHASES)
async def test_the_server_goes_for_a_second_in_the_middle_of_a_phase(
    world: World, server: BadServer, phase: str
) -> None:
    async def go() -> None:
        await server.down()
        await asyncio.sleep(1)
        await server.up()

    assert await _live(world, server, _interrupted(phase, go)) == CAME_THROUGH
    assert server.requests < _LIMIT


@pytest.fixture(scope="module")
def own_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane whose API server may be stopped: nobody else uses it."""
    with open_control_plane(tmp_path_factory.mktemp("own-control-plane")) as plane:
        yield plane


@pytest.mark.kubernetes
@pytest.mark.parametrize("phase", PHASES)
async def test_a_real_server_is_started_again_in_the_middle_of_a_phase(own_plane: ControlPlane, phase: str) -> None:
    """Its watches resume from versions that it does not know any more: 410."""

    async def restart() -> None:
        await asyncio.to_thread(own_plane.down, "--only", "kube-apiserver")
        await asyncio.to_thread(own_plane.up, "--controllers")

    async with open_real(own_plane) as world, Client(read_config(str(own_plane.kubeconfig))) as client:
        scene = Scene(world.api, world.namespace, "demo")
        async with running(Seam(client, world.namespace), Settings(status_wait=0.2), readings=Readings(scene.clock)):
            assert await live(_interrupted(phase, restart), scene) == CAME_THROUGH


# A CustomResourceDefinition of somebody else.


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=[pytest.mark.kubernetes, pytest.mark.slow])])
async def own_world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A world whose definitions may be changed."""
    if request.param == "embedded":
        async with open_embedded(tmp_path) as world:
            yield world
    else:
        async with open_real(request.getfixturevalue("own_plane")) as world:
            yield world


def _build_old_schema() -> Manifest:
    """Structural, with the status that paddle-operator 0.3 records."""
    text, whole, anything = {"type": "string"}, {"type": "integer"}, {"x-kubernetes-preserve-unknown-fields": True}
    time = {"type": "string", "format": "date-time"}
    counts = dict.fromkeys(("pending", "starting", "running", "failed", "succeeded", "unknown"), whole)
    role = {"type": "object", "properties": {**counts, "refs": {"type": "array", "items": {"type": "object"}}}}
    status = {
        **dict.fromkeys(("phase", "mode", "elastic"), text),
        **dict.fromkeys(("ps", "worker", "heter"), role),
        **dict.fromkeys(("startTime", "completionTime"), time),
        "observedGeneration": whole,
    }
    properties = {"spec": {"type": "object", **anything}, "status": {"type": "object", "properties": status}}
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


async def _define(world: World, schema: Manifest) -> None:
    """Installs a schema of PaddleJobs; it is in force when this returns."""
    ours = "attempt" in schema["openAPIV3Schema"]["properties"]["status"]["properties"]
    crd = await world.api.get(CRDS, "", JOBS.qualified)
    crd["spec"]["versions"][0]["schema"] = schema
    await world.api.replace(CRDS, crd)
    name = "probe-ours" if ours else "probe-theirs"
    await world.api.create(JOBS, build_job(name, namespace=world.namespace, runPolicy={"suspend": True}))
    await until(lambda: _keeps(world, name, ours))
    await world.api.delete(JOBS, world.namespace, name)


async def _keeps(world: World, name: str, ours: bool) -> bool:
    patch = {"status": {"phase": "Completed", "attempt": 1}}
    answer = await world.api.patch(JOBS, world.namespace, name, patch, subresource="status")
    return ("attempt" in answer["status"]) == ours


async def test_a_foreign_definition_halts_the_kind_until_the_operators_is_installed(
    own_world: World,
) -> None:
    world, clock = own_world, Clock()
    ours = (await world.api.get(CRDS, "", JOBS.qualified))["spec"]["versions"][0]["schema"]
    await _define(world, _build_old_schema())
    seam = Seam(world.api, world.namespace)
    kubelet = walking(world.api, world.namespace, lambda *rank: 0 if rank[1] == "worker" else None, 2)
    async with kubelet, running(seam, Settings(status_wait=0.2), readings=Readings(clock)):
        for name in ("demo", "other"):
            await world.api.create(JOBS, FAILED_ONCE.build(name, world.namespace))
        for name in ("demo", "other"):
            assert "paddock manifests" in await until(lambda name=name: _is_told(world, name))
        await settled(seam)
        assert (await world.api.list(PODS, world.namespace)).items == []
        events = (await world.api.list(EVENTS, world.namespace)).items
        said = {each["message"] for each in events if each["reason"] == "StatusDropped"}
        assert len(said) == 1
        assert "status.attempt" in min(said)
        assert "paddock manifests" in min(said)
        writes = [each for each in seam.requests if each[0] not in ("get", "list")]
        assert len(writes) <= 8, writes
        await _define(world, ours)
        clock.offset += 61
        for name in ("demo", "other"):
            scene = Scene(world.api, world.namespace, name)
            await scene.patch({"metadata": {"annotations": {"a": "minute"}}})
            await scene.phase("Completed")
            await until(lambda name=name: _is_told_no_more(world, name))


async def _is_told(world: World, name: str) -> str:
    job = await world.api.get(JOBS, world.namespace, name)
    return annotations_of(job).get(HALTED_ANNOTATION, "")


async def _is_told_no_more(world: World, name: str) -> bool:
    return not await _is_told(world, name)
