"""Three operators as processes share the namespaces of a real API server out, with the rights and the arguments that
`paddock manifests operator --shards 6` gives them; one of them is killed."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.deployment import Installation, build_operator
from paddock.jobs.labels import ATTEMPT_LABEL, SHARDS_LABEL
from paddock.kube.api import Api
from paddock.kube.errors import NotFound
from paddock.kube.meta import LEASES, NAMESPACES, PODS, labels_of, name_of, uid_of
from paddock.operator.shares import shard_of
from paddock.operator.sharing import name_shard
from support.deployed import Kubectl, Process, operator, write_kubeconfig
from support.fake_kubelet import Kubelet, walking
from support.operator_seam import JOBS, build_job, have_pods, status_of
from support.waiting import until
from support.worlds import ControlPlane, install_jobs, open_control_plane

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]

SHARDS = 6
FLEET = Installation(namespace="paddle-fleet", watched=(), shards=SHARDS)
NAMES = ("first", "second")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Its own: these operators take the jobs of all namespaces."""
    with open_control_plane(tmp_path_factory.mktemp("shards-control-plane")) as plane:
        yield plane


def choose_namespaces() -> list[str]:
    """Two for each shard."""
    chosen: dict[int, list[str]] = {shard: [] for shard in range(SHARDS)}
    for number in count():
        found = chosen[shard_of(f"team-{number}", SHARDS)]
        if len(found) < 2:
            found.append(f"team-{number}")
        if all(len(each) == 2 for each in chosen.values()):
            return [name for each in chosen.values() for name in each]
    raise AssertionError


@dataclass(slots=True)
class Fleet:
    """`kubelets`: of each namespace."""

    api: Api
    config: Path
    processes: list[Process]
    kubelets: dict[str, Kubelet] = field(default_factory=dict)

    async def holders(self) -> dict[int, str]:
        """Of each shard that is held."""
        found: dict[int, str] = {}
        for shard in range(SHARDS):
            try:
                lease = await self.api.get(LEASES, FLEET.namespace, name_shard(shard, SHARDS))
            except NotFound:
                continue
            if holder := lease["spec"].get("holderIdentity"):
                found[shard] = holder
        return found

    async def shared_among(self, members: int) -> dict[int, str]:
        """Waits until so many have shared out fairly; who holds what."""

        async def fair() -> dict[int, str]:
            holders = await self.holders()
            shares = Counter(holders.values())
            return holders if len(holders) == SHARDS and set(shares.values()) == {SHARDS // members} else {}

        found: dict[int, str] = await until(fair)
        return found

    async def count_members(self) -> int:
        leases = (await self.api.list(LEASES, FLEET.namespace, labels=f"{SHARDS_LABEL}={SHARDS}")).items
        return sum("member" in name_of(lease) for lease in leases)

    async def has_members(self, number: int) -> bool:
        return await self.count_members() == number

    def find(self, holder: str) -> Process:
        (found,) = (each for each in self.processes if f"leading as {holder}" in each.log.read_text())
        return found

    async def run_jobs(self) -> None:
        for namespace in self.kubelets:
            for name in NAMES:
                await self.api.create(JOBS, build_job(name, ps=0, worker=2, namespace=namespace))
        await asyncio.gather(
            *(until(lambda n=n, name=name: self.runs(n, name)) for n in self.kubelets for name in NAMES)
        )

    async def runs(self, namespace: str, name: str, attempt: int = 0) -> bool:
        status = await status_of(self.api, name, namespace)
        return status.get("phase") == "Running" and status.get("attempt", 0) == attempt


@contextmanager
def start(config: Path, number: int) -> Iterator[list[Process]]:
    with ExitStack() as stack:
        yield [stack.enter_context(operator(config, FLEET.arguments)) for _ in range(number)]


@asynccontextmanager
async def open_fleet(plane: ControlPlane, directory: Path) -> AsyncIterator[Fleet]:
    kubectl = Kubectl(plane)
    for manifest in build_operator(FLEET):
        await asyncio.to_thread(kubectl, "create", "-f", "-", stdin=json.dumps(manifest))
    async with Client(read_config(str(plane.kubeconfig))) as api, AsyncExitStack() as stack:
        await install_jobs(api)
        config = write_kubeconfig(plane, directory / "kubeconfig", FLEET.namespace)
        fleet = Fleet(api, config, stack.enter_context(start(config, 3)))
        for namespace in choose_namespaces():
            await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            walked = walking(api, namespace, lambda *_: None, 2)
            fleet.kubelets[namespace] = await stack.enter_async_context(walked)
        yield fleet


async def test_three_operators_share_a_fleet_and_what_a_killed_one_led_goes_on(
    plane: ControlPlane, tmp_path: Path
) -> None:
    async with open_fleet(plane, tmp_path) as fleet:
        holders = await fleet.shared_among(3)
        await fleet.run_jobs()
        assert await fleet.holders() == holders
        for holder in set(holders.values()):
            assert read_reconciled(fleet.find(holder)) == of_shards(fleet, holders, holder)

        killed = holders[0]
        left = [namespace for namespace in fleet.kubelets if holders[shard_of(namespace, SHARDS)] == killed]
        assert len(left) == 4
        before = {namespace: await have_pods(fleet.api, 2, "first", namespace) for namespace in left}
        fleet.find(killed).end(signal.SIGKILL)
        started = time.monotonic()
        for namespace in left:
            await fleet.api.delete(PODS, namespace, "first-worker-0")
        seconds = [await replaced(fleet, namespace, before[namespace], started) for namespace in left]
        print(f"replaced after {max(seconds):.1f} s")
        assert max(seconds) <= 60.0  # five, which tests/operator/test_failover.py has on its own clock

        holders = await fleet.shared_among(2)
        assert killed not in holders.values()
        await asyncio.gather(*(until(lambda each=each: fleet.runs(each, "first", 1)) for each in left))
        for namespace, kubelet in fleet.kubelets.items():
            assert kubelet.doubles == []
            made = Counter((name_of(pod), labels_of(pod)[ATTEMPT_LABEL]) for pod in kubelet.made.values())
            again = ("1",) if namespace in left else ()
            assert made == {
                (f"{name}-worker-{index}", attempt): 1
                for name in NAMES
                for index in (0, 1)
                for attempt in ("0", *(again if name == "first" else ()))
            }
            for name in NAMES:
                status = await status_of(fleet.api, name, namespace)
                wanted = 1 if namespace in left and name == "first" else 0
                assert (status.get("attempt", 0), status.get("restarts", 0)) == (wanted, 0), (namespace, name)

        ended = fleet.find(holders[0])
        assert ended.end() == 0
        started = time.monotonic()
        holders = await fleet.shared_among(1)
        print(f"given over after {time.monotonic() - started:.1f} s")
        (alone,) = (each for each in fleet.processes if each.process.poll() is None)
        await until(lambda: fleet.has_members(1))  # of the killed one nothing is left either
        assert alone.end() == 0
        assert await fleet.holders() == {}
        assert await fleet.count_members() == 0
        for process in fleet.processes:
            told = [each["msg"] for each in process.entries() if each["level"] == "error" or "forbidden" in each["msg"]]
            assert told == []


async def replaced(fleet: Fleet, namespace: str, before: dict[str, Any], started: float) -> float:
    """Seconds until the deleted pod of this running job has a successor."""

    async def there() -> bool:
        pods = await have_pods(fleet.api, 2, "first", namespace)
        return bool(pods) and not {uid_of(each) for each in pods.values()} & {uid_of(each) for each in before.values()}

    await until(there)
    return time.monotonic() - started


def read_reconciled(process: Process) -> set[str]:
    """The namespaces whose jobs this process has reconciled, as its log tells."""
    return set(re.findall(r"PaddleJob (team-\d+)/", process.log.read_text()))


def of_shards(fleet: Fleet, holders: dict[int, str], holder: str) -> set[str]:
    return {namespace for namespace in fleet.kubelets if holders[shard_of(namespace, SHARDS)] == holder}
