"""Leader election of several operators, and the operator process with its probes and its end: in both worlds."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from paddock.app.cluster import ClusterOperator, Options
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.controllers.clock import steady_clock
from paddock.install.rights import LEASE
from paddock.jobs.model import Settings
from paddock.kube.api import Api
from paddock.kube.errors import NotFound, Unavailable
from paddock.kube.meta import CRDS, LEASES, PODS, Manifest, annotations_of, uid_of
from paddock.kube.times import format_micro_time
from paddock.operator.election import RENEW_DEADLINE, RENEW_PERIOD, RETRY_PERIOD, Election
from paddock.operator.metrics import Prometheus
from paddock.operator.operator import Operator
from support.operator_seam import JOBS, Request, Seam, build_job, have_pods, pods_of, running, set_phase, status_of
from support.waiting import until
from support.worlds import ControlPlane, World, create_namespace, install_jobs, remove_namespace

pytestmark = pytest.mark.slow

PATIENCE = 180.0
"""Seconds after which a test gives up: far more than anything takes, for machines that are busy."""


@dataclass
class Candidate:
    """One operator of several. `kill` is like kill -9: the Lease is not released."""

    operator: Operator
    election: Election
    tasks: tuple[asyncio.Task[None], ...]

    async def kill(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def candidate(world: World, name: str, clock: Callable[[], float] = steady_clock) -> AsyncIterator[Candidate]:
    election = Election(world.api, world.namespace, name, clock=clock)
    operator = Operator(world.api, Settings(), namespaces=(world.namespace,), leadership=election)
    tasks = (asyncio.create_task(operator.run()), asyncio.create_task(election.run()))
    found = Candidate(operator, election, tasks)
    try:
        async with asyncio.timeout(PATIENCE):
            await operator.ready.wait()
        yield found
    finally:
        await found.kill()


async def lease_of(world: World) -> Manifest:
    try:
        return await world.api.get(LEASES, world.namespace, LEASE)
    except NotFound:
        return {}


async def holder_of(world: World) -> str:
    return str((await lease_of(world)).get("spec", {}).get("holderIdentity") or "")


@pytest.mark.slow
async def test_another_acts_after_a_leaders_death(world: World) -> None:
    """How soon is measured (`benchmarks`): five seconds at most."""
    async with candidate(world, "first") as first:
        await asyncio.wait_for(first.election.wait(), PATIENCE)
        async with candidate(world, "second") as second:
            await _make_pods(world, "before")
            assert not second.election.leads
            await first.kill()
            await _make_pods(world, "after")
            assert await holder_of(world) == "second"


async def _make_pods(world: World, name: str) -> None:
    """Makes a job, and waits for its pods."""
    await world.api.create(JOBS, build_job(name, namespace=world.namespace))
    await until(lambda: have_pods(world.api, 4, name, namespace=world.namespace))


async def test_a_released_lease_is_acquired_at_once(world: World) -> None:
    async with candidate(world, "first") as first:
        await asyncio.wait_for(first.election.wait(), PATIENCE)
        async with candidate(world, "second"):
            await _make_pods(world, "before")
            await first.operator.drain(1)
            await first.kill()
            # Whoever waited for this Lease to expire would wait for an hour.
            an_hour = {"spec": {"leaseDurationSeconds": 3600}}
            await world.api.patch(LEASES, world.namespace, LEASE, an_hour)
            await first.election.release()
            await _make_pods(world, "after")
            assert await holder_of(world) == "second"


async def test_a_standby_reconciles_nothing_and_has_synced_caches(world: World) -> None:
    async with candidate(world, "first") as first:
        await asyncio.wait_for(first.election.wait(), PATIENCE)
        seam = Seam(world.api)
        election = Election(world.api, world.namespace, "second")
        async with running(seam, Settings(), namespaces=(world.namespace,), leadership=election):
            await world.api.create(JOBS, build_job(namespace=world.namespace))
            await until(lambda: have_pods(world.api, 4, namespace=world.namespace))
            assert seam.requests == []


async def test_a_live_lease_of_a_go_operator_is_respected_until_it_expires(world: World) -> None:
    """As controller-runtime writes it. Its clock is off by years, which must not matter."""
    now, seconds = [100.0], 4
    lease = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": LEASE, "namespace": world.namespace},
        "spec": {
            "holderIdentity": "paddle-controller-manager-0_5ee2", "leaseDurationSeconds": seconds,
            "acquireTime": format_micro_time(0), "renewTime": format_micro_time(0), "leaseTransitions": 7,
        },
    }  # fmt: skip
    await world.api.create(LEASES, lease)
    async with candidate(world, "ours", lambda: now[0]) as ours:
        for renewal in range(1, 4):
            now[0] += seconds - 1
            renewed = format_micro_time(renewal)
            await world.api.patch(LEASES, world.namespace, LEASE, {"spec": {"renewTime": renewed}})
            await until(lambda renewed=renewed: _has_seen(ours.election, renewed))
            assert not ours.election.leads
        now[0] += seconds - 0.1
        await asyncio.sleep(2 * RETRY_PERIOD)  # a span in which it looks, and may not take it
        assert not ours.election.leads
        now[0] += 0.1
        await asyncio.wait_for(ours.election.wait(), PATIENCE)
    spec = (await lease_of(world))["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"], spec["leaseDurationSeconds"]) == ("ours", 8, 4)


def _has_seen(election: Election, renewed: str) -> bool:
    record = election.observation.record
    return record is not None and record.renewed == renewed


@pytest.mark.slow
async def test_a_leader_that_cannot_renew_stops_starting_reconciles_and_continues_later(world: World) -> None:
    seam, cut_off = Seam(world.api), asyncio.Event()

    async def be_cut_off(_: Request) -> None:
        if cut_off.is_set():
            raise Unavailable("cut off")

    seam.before = be_cut_off
    election, asked = Election(seam, world.namespace, "only"), Seam(world.api)
    electing = asyncio.create_task(election.run())
    async with running(asked, Settings(), namespaces=(world.namespace,), leadership=election):
        await asyncio.wait_for(election.wait(), PATIENCE)
        cut_off.set()
        await asyncio.sleep(RENEW_DEADLINE)
        assert not election.leads
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        await asyncio.sleep(1.0)
        assert asked.requests == []
        cut_off.clear()
        await until(lambda: have_pods(world.api, 4, namespace=world.namespace))
        assert not electing.done()
    electing.cancel()
    assert (await lease_of(world))["spec"]["leaseTransitions"] == 0, "nobody else has led"


async def test_only_the_given_namespaces_are_served_and_read(world: World) -> None:
    other, third = await create_namespace(world.api), await create_namespace(world.api)
    served = (world.namespace, other)
    for namespace in (*served, third):
        await world.api.create(JOBS, build_job(namespace=namespace))
    followed = Followed(world.api)
    async with running(followed, Settings(), namespaces=served):
        for namespace in served:
            await until(lambda namespace=namespace: have_pods(world.api, 4, namespace=namespace))
        await until(lambda: _has_status(world.api, other))
        assert not await pods_of(world.api, namespace=third)
        assert followed.namespaces == set(served)
        before = uid_of(await world.api.get(PODS, other, "demo-worker-0"))
        await world.api.delete(PODS, other, "demo-worker-0", grace=0)
        await until(lambda: _is_made_again(world.api, other, "demo-worker-0", before))  # a child there is heard of
    if world.real:
        for namespace in (other, third):
            await remove_namespace(world.api, namespace)


class Followed(Seam):
    """Records the namespaces that are followed."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.namespaces: set[str] = set()

    def follow(self, resource, namespace="", **selectors):  # type: ignore[no-untyped-def]
        self.namespaces.add(namespace)
        return super().follow(resource, namespace, **selectors)


async def _has_status(api: Api, namespace: str) -> bool:
    return bool(await status_of(api, namespace=namespace))


async def _is_made_again(api: Api, namespace: str, pod: str, before: str) -> bool:
    found = (await pods_of(api, namespace=namespace)).get(pod)
    return found is not None and uid_of(found) != before


async def test_an_idle_leader_writes_nothing_but_its_lease(world: World) -> None:
    """With a job that runs and one that has ended."""
    seam, api, namespace = Seam(world.api), world.api, world.namespace
    options = Options(lease_namespace=namespace, namespaces=(namespace,), leader_elect=True)
    async with clustered(ClusterOperator(seam, seam, options, Prometheus("test"))):
        for name in ("demo", "done"):
            await api.create(JOBS, build_job(name, ps=0, worker=1, namespace=namespace))
            await until(lambda name=name: have_pods(api, 1, name, namespace=namespace))
            await set_phase(api, f"{name}-worker-0", "Running", address="10.98.0.2", namespace=namespace)
        await set_phase(api, "done-worker-0", "Succeeded", namespace=namespace)
        await until(lambda: _in_phase(api, "done", "Completed", namespace))
        await until(lambda: _in_phase(api, "demo", "Running", namespace))
        await until(lambda: _have_gone(api, "done", namespace))
        await _quiet(seam)
        seam.requests.clear()
        begun = time.monotonic()
        await asyncio.sleep(3)  # a span in which nothing else may be asked
        await until(lambda: seam.requests)
        assert {request[1:] for request in seam.requests} == {("leases", LEASE)}
        renewals = 1 + (time.monotonic() - begun) / RENEW_PERIOD
        assert len(seam.requests) <= 2 * renewals


async def _in_phase(api: Api, name: str, phase: str, namespace: str) -> bool:
    return bool((await status_of(api, name, namespace)).get("phase") == phase)


async def _have_gone(api: Api, name: str, namespace: str) -> bool:
    return not await pods_of(api, name, namespace)


async def _quiet(seam: Seam) -> None:
    """Returns once the jobs have had half a second without a request."""

    async def at_rest() -> bool:
        before = _about_jobs(seam)
        await asyncio.sleep(0.5)
        return _about_jobs(seam) == before

    await until(at_rest)


def _about_jobs(seam: Seam) -> int:
    return sum(request[1] != "leases" for request in seam.requests)


@asynccontextmanager
async def clustered(cluster: ClusterOperator) -> AsyncIterator[asyncio.Event]:
    """Runs until ready, then shuts down gracefully; raises its errors."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cluster.run(stop))
        async with asyncio.timeout(PATIENCE):
            await cluster.operator.ready.wait()
        try:
            yield stop
        finally:
            stop.set()
            await asyncio.wait([task])


async def test_a_graceful_shutdown_releases_the_lease_with_the_version_on_it(world: World) -> None:
    options = Options(lease_namespace=world.namespace, namespaces=(world.namespace,), leader_elect=True)
    async with clustered(ClusterOperator(world.api, world.api, options, Prometheus("test"))) as stop:
        await until(lambda: holder_of(world))
        stop.set()
        await until(lambda: _is_free(world))
    notes = annotations_of(await lease_of(world))
    assert notes["paddock.dev/version"]
    assert json.loads(notes["paddock.dev/settings"])["namespaces"] == [world.namespace]


async def _is_free(world: World) -> bool:
    return not await holder_of(world)


async def test_a_running_reconcile_ends_before_the_lease_is_released(world: World) -> None:
    seam, going_on, held = Seam(world.api), asyncio.Event(), asyncio.Event()

    async def hold_the_first_pod(request: tuple[str, str, str]) -> None:
        if request[:2] == ("create", "pods") and not held.is_set():
            held.set()
            await going_on.wait()

    seam.before = hold_the_first_pod
    options = Options(lease_namespace=world.namespace, namespaces=(world.namespace,), leader_elect=True)
    async with clustered(ClusterOperator(seam, world.api, options, Prometheus("test"))) as stop:
        await world.api.create(JOBS, build_job(namespace=world.namespace))
        await asyncio.wait_for(held.wait(), PATIENCE)
        stop.set()
        await asyncio.sleep(1.2)
        assert await holder_of(world), "it leads as long as a pass is under way"
        going_on.set()
        await until(lambda: _is_free(world))
    assert len(await pods_of(world.api, namespace=world.namespace)) == 4


@pytest.mark.kubernetes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_the_command_serves_until_it_is_told_to_end(
    control_plane: ControlPlane, tmp_path: Path, number: signal.Signals
) -> None:
    """`paddock operator`, the real process against the real API: its probes, its log, its exit code."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(Client(read_config(str(control_plane.kubeconfig))))
        await install_jobs(api)  # the first test of this control plane, or one after it was emptied
        namespace = await create_namespace(api)
        log = tmp_path / "log"
        process = await stack.enter_async_context(_process(log, control_plane, namespace, "--leader-elect"))
        await api.create(JOBS, build_job(namespace=namespace))
        await until(lambda: have_pods(api, 4, namespace=namespace))
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert all({"ts", "level", "logger", "msg"} <= set(line) for line in lines)
        about = [line["job"] for line in lines if "job" in line]
        assert {"kind": "PaddleJob", "namespace": namespace, "name": "demo"}.items() <= about[0].items()
        lease = await api.get(LEASES, namespace, LEASE)
        assert "holderIdentity" not in lease["spec"]
        await remove_namespace(api, namespace)


@pytest.mark.kubernetes
async def test_a_missing_definition_is_waited_for_and_logged_once(control_plane: ControlPlane, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Client(read_config(str(control_plane.kubeconfig))) as api:
        namespace = await create_namespace(api)
        await _uninstall_jobs(api)
        async with _process(log, control_plane, namespace) as process:
            await until(lambda: _says(log, "is not installed in this cluster"))
            assert "`kubectl create -f deploy/v1/crd.yaml`" in log.read_text()
            await asyncio.sleep(1.5)  # it has tried again
            await install_jobs(api)
            await api.create(JOBS, build_job(namespace=namespace))
            await until(lambda: have_pods(api, 4, namespace=namespace))
            assert log.read_text().count("is not installed") == 1
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        await remove_namespace(api, namespace)


async def _uninstall_jobs(api: Api) -> None:
    """Tests run one after the other, and each installs the CRDs that it needs."""
    with suppress(NotFound):
        await api.delete(CRDS, "", f"{JOBS.plural}.{JOBS.group}")

    async def is_gone() -> bool:
        try:
            await api.list(JOBS)
        except NotFound:
            return True
        return False

    await until(is_gone)


@pytest.mark.kubernetes
async def test_a_missing_right_is_logged_with_its_account(
    control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(replace(read_config(str(control_plane.kubeconfig)), impersonate="somebody")) as api:
        operator = Operator(api, Settings(), namespaces=("default",))
        task = asyncio.create_task(operator.run())
        # The watches are refused at the same time: which of them is logged first is not decided.
        await until(lambda: _has_said(caplog, "pods"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        said = next(line for line in caplog.messages if "watch pods" in line)
    assert said.startswith("cannot watch pods in namespace default, trying again: pods is forbidden: ")
    assert 'User "somebody" cannot list resource "pods"' in said
    assert "`paddock manifests operator --image IMAGE --jobs-in default` prints the rights that it needs there" in said
    assert "pods" in operator.unsynced()
    assert not operator.ready.is_set()


async def _has_said(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return any(f"watch {text}" in line for line in caplog.messages)


async def _says(log: Path, text: str) -> bool:
    return text in log.read_text()


@asynccontextmanager
async def _process(
    log: Path, control_plane: ControlPlane, namespace: str, *words: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    command = [
        sys.executable, "-m", "paddock.cli.main", "operator", f"--kubeconfig={control_plane.kubeconfig}",
        f"--namespace={namespace}", "--lease-namespace", namespace, *words,
        "--metrics-bind-address=0", "--health-probe-bind-address", "127.0.0.1:0",
    ]  # fmt: skip
    with log.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(*command, stderr=stream, env=os.environ | {"HOME": "/nowhere"})
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
