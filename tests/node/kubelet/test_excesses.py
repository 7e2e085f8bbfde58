"""A container that has more than it may, where no control group bounds it: told, and ended where that was asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import NODE, PYTHON, Cluster, container, is_running, log_text, open_cluster, pod, terminated
from paddock.kube.container_ends import (
    read_memory_end,
    read_processes_end,
    write_memory_end,
    write_processes_end,
)
from paddock.kube.meta import EVENTS, Manifest
from paddock.node.kubelet import excesses
from paddock.node.runtime.bounds import Bounds, Excess, find_excess, is_near
from paddock.node.runtime.cgroups import Cgroups
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.sandbox import Sandbox
from paddock.node.usage.meter import Meter
from support.waiting import until

MIB = 2**20
LIMITED = {"resources": {"limits": {"memory": "64Mi"}}}
TAKES = "import time; held = bytearray(200 << 20); print('has it', flush=True); time.sleep(100)"
SHARES = (
    "import os, time\nheld = bytearray(40 << 20)\n"
    "for _ in range(4): os.fork() or time.sleep(100)\nprint('has it', flush=True); time.sleep(100)"
)
"""Five processes with the same 40 MiB: one after the other it looks like 200."""
FORKS = (
    "import os, time\nfor _ in range(12):\n    if not os.fork(): time.sleep(100)\nprint('has it', flush=True)\n"
    "time.sleep(100)"
)


@pytest.mark.parametrize(
    ("bounds", "held", "processes", "excess"),
    [
        (Bounds(), 1e12, 9999, None),
        (Bounds(memory=64), 64, 1, None),
        (Bounds(memory=64), 65, 1, Excess(memory=65)),
        (Bounds(memory=64), None, 1, None),
        (Bounds(processes=5), None, 5, None),
        (Bounds(processes=5), None, 6, Excess(processes=6)),
        (Bounds(64, 5), 65, 6, Excess(65, 6)),
    ],
)
def test_what_is_too_much(bounds: Bounds, held: float | None, processes: int, excess: Excess | None) -> None:
    assert find_excess(bounds, held, processes) == excess


def test_only_what_may_be_above_the_limit_is_looked_at_closely() -> None:
    assert [is_near(Bounds(64), 64), is_near(Bounds(64), 65), is_near(Bounds(), 65)] == [False, True, False]


def test_what_is_written_of_an_end_is_read() -> None:
    assert read_memory_end(write_memory_end(303 * MIB, 64 * MIB)) == ("303 MiB", "64 MiB")
    assert read_processes_end(write_processes_end(5000, 4096)) == (5000, 4096)
    assert read_memory_end("no memory left") is None and read_processes_end("had many processes") is None


class Scene:
    """A cluster whose limits can be enforced or not."""

    def __init__(self) -> None:
        self.enforces = False
        self.cluster: Cluster = NotImplemented

    async def start(self, manifest: Manifest) -> Meter:
        """The meter, as soon as the program has what it takes."""
        await self.cluster.create(manifest)
        found = await self.cluster.see("p", is_running)
        await until(lambda: "has it" in log_text(self.cluster, found))
        assert self.cluster.kubelet is not None
        kubelet = self.cluster.kubelet
        machine = Machine(NODE, kubelet._machine.cpus, 2**33)
        return Meter(self.cluster.directory, machine, kubelet.list_running, environment={}, watch=kubelet.excesses)

    async def list_events(self, reason: str) -> list[Any]:
        found = (await self.cluster.api.list(EVENTS, fields=f"reason={reason}")).items
        return [(each["involvedObject"]["kind"], each["message"]) for each in found]


@pytest.fixture
async def scene(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[Scene]:
    scene = Scene()
    settings = {"enforces_limits": lambda: scene.enforces, "cgroups": Cgroups(most=10)}
    async with open_cluster(tmp_path, sandbox, **settings) as cluster:
        scene.cluster = cluster
        yield scene


async def test_more_than_the_limit_is_told_once_and_ended_where_that_is_asked_for(scene: Scene) -> None:
    meter = await scene.start(pod(container(PYTHON, "-c", TAKES, **LIMITED)))
    for _ in range(2):
        meter._looked = float("-inf")
        await meter.tick()
    ((kind, said),) = await scene.list_events("MemoryAboveLimit")
    assert kind == "Pod" and said.startswith("uses 2") and said.endswith("a cluster would have ended it (OOMKilled)")
    ((kind, said),) = await scene.list_events("MemoryLimitNotEnforced")
    assert kind == "Pod" and "`paddock up --enforce-limits`" in said, "it has no job"

    scene.enforces, meter._looked = True, float("-inf")
    await meter.tick()
    end = terminated(await scene.cluster.end())
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled"), end
    used, limit = read_memory_end(end["message"]) or ("", "")
    assert used.startswith("2") and limit == "64 MiB"


async def test_who_was_told_is_forgotten_when_gone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excesses, "_MOST_TOLD", 3)
    meter = await scene.start(pod(container(PYTHON, "-c", TAKES, **LIMITED)))
    assert scene.cluster.kubelet is not None
    found = scene.cluster.kubelet.excesses
    found._told_owners |= {f"gone-{number}" for number in range(5)}
    found._told_runs |= {("gone", "main", number) for number in range(5)}
    await meter.tick()
    await scene.cluster.run(pod(container("true", **LIMITED), name="q"))
    assert [len(found._told_owners), len(found._told_runs)] == [2, 1], "those of p and q, and the run of p"
    assert len(await scene.list_events("MemoryLimitNotEnforced")) == 2


async def test_memory_that_processes_share_counts_once(scene: Scene) -> None:
    scene.enforces = True
    meter = await scene.start(pod(container(PYTHON, "-c", SHARES, **LIMITED)))
    await meter.tick()
    assert await scene.list_events("MemoryAboveLimit") == []
    assert is_running(await scene.cluster.see("p", lambda _: True))


async def test_more_processes_than_a_container_may_have_are_ended_with_it(scene: Scene) -> None:
    meter = await scene.start(pod(container(PYTHON, "-c", FORKS)))
    await meter.tick()
    end = terminated(await scene.cluster.end())
    assert (end["exitCode"], end["reason"]) == (137, "TooManyProcesses"), end
    count, most = read_processes_end(end["message"]) or (0, 0)
    assert count >= 13 and most == 10


async def test_what_another_kubelet_was_ending_is_ended(scene: Scene) -> None:
    """A crash between the record and the signal."""
    await scene.start(pod(container(PYTHON, "-c", TAKES, **LIMITED)))
    scene.enforces = True
    first = scene.cluster.kubelet
    assert first is not None
    first.excesses._kill_until_ended = lambda *_: None  # type: ignore[method-assign]
    meter = Meter(scene.cluster.directory, first._machine, first.list_running, environment={}, watch=first.excesses)
    await meter.tick()
    await scene.cluster.drop()
    second = scene.cluster.start()
    await scene.cluster.see("p", is_running)
    await until(lambda: [each for each in second.list_running() if second.excesses.find_bounds(*each).memory])
    await Meter(
        scene.cluster.directory, second._machine, second.list_running, environment={}, watch=second.excesses
    ).tick()
    end = terminated(await scene.cluster.end())
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled"), end
