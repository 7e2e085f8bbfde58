"""The meter on real processes: children, orphans, other programs; its record and what the API is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from paddock.node.runtime.machine import Machine
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process, read_birth
from paddock.node.runtime.records import log_directory
from paddock.node.usage.gpu_usage import GpuMeter
from paddock.node.usage.meter import Meter
from paddock.node.usage.process_trees import ProcessTrees
from paddock.node.usage.records import read_usage_file
from support.waiting import until

BUSY = """
import time
while time.process_time() < 0.3: pass
held = b"x" * 50_000_000
print("done", flush=True)
time.sleep(60)
"""
_TICK = 0.01
PARENT = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}]){rest}"


@contextmanager
def running(program: str) -> Iterator[Process]:
    """Once it has printed `done`."""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"done\n"
        yield Process(child.pid, read_birth(child.pid) or 0)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def read_seconds(pid: int) -> float:
    """Of a process and its descendants, as another reader of /proc has it: what a start of Python takes depends on what
    else the machine does."""
    root = psutil.Process(pid)
    return sum(sum(each.cpu_times()[:4]) for each in (root, *root.children(recursive=True)))


def test_children_count_and_others_do_not() -> None:
    with running(PARENT.format(child=BUSY, rest="; time.sleep(60)")) as root, running(BUSY):
        least = read_seconds(root.pid)
        spent = ProcessTrees[str]().look({"main": root})["main"]
        most = read_seconds(root.pid)
    assert least >= 0.3
    assert least - _TICK <= spent.cpu <= most + _TICK, "those of parent and child, not of the other program"
    assert 50e6 < spent.memory < 150e6


def test_a_program_beside_counts_while_its_number_is_its_own() -> None:
    idle = BUSY.replace("0.3", "0").replace("50_000_000", "1")
    with running(idle) as root, running(PARENT.format(child=BUSY, rest="; time.sleep(60)")) as beside:
        trees = ProcessTrees[str]()
        assert trees.look({"main": root})["main"].memory < 50e6, "nobody has told of it"
        found = trees.look({"main": root}, {beside: "main"})["main"]
        other = trees.look({"main": root}, {Process(beside.pid, 1): "main", beside: "unknown"})["main"]
    assert found.memory > 50e6 and found.cpu >= 0.3
    assert len(found.processes) == 3
    assert other.processes == found.processes, "what is known stays known"


def test_a_child_is_known_when_its_parent_is_gone() -> None:
    rest = "\ntime.sleep(60)"
    middle = PARENT.format(child=BUSY, rest="; time.sleep(60)")
    with running(PARENT.format(child=middle, rest=rest)) as root:
        trees = ProcessTrees[str]()
        before = trees.look({"main": root})["main"]
        children = Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        after = trees.look({"main": root})["main"]
    assert after.memory > 50e6 and before.memory > 50e6


def test_what_was_looked_at_before_its_container_was_known_is_found() -> None:
    with running(PARENT.format(child=BUSY, rest="; time.sleep(60)")) as root:
        trees = ProcessTrees[str]()
        assert trees.look({}) == {}
        assert trees.look({"main": root})["main"].memory > 50e6


def test_a_process_that_is_gone_has_spent_nothing() -> None:
    with running(BUSY) as root:
        trees = ProcessTrees[str]()
        assert trees.look({"main": root})
    assert trees.look({"main": root}) == {}
    assert trees.look({"main": Process(os.getpid(), 1)}) == {}, "another process has the number now"


async def test_a_run_is_measured_told_and_recorded(tmp_path: Path) -> None:
    clock = [1000.0]
    worked = [10.0]
    logs = log_directory(tmp_path, "default", "mnist-worker-0", "u1") / "paddle"
    logs.mkdir(parents=True)
    with running(BUSY) as root:
        run = Run("paddle", 0, 999.0, root.pid, root.birth)
        state = PodState("u1", "default", "mnist-worker-0", "127.1.1.1", 999.0, runs={"paddle": run})
        runs = [(state, run)]
        meter = Meter(
            tmp_path,
            Machine("laptop", Fraction(2), 2**33),
            lambda: runs,
            clock=lambda: clock[0],
            read_machine=lambda: (worked[0], 3e9),
        )
        await meter.tick()
        first = meter.read_pod("u1")["paddle"]
        assert first.window == 1.0 and first.cpu >= 0.3, "since its start"
        clock[0], worked[0] = 1005.0, 20.0
        await meter.tick()
        assert meter.read_pod("u1")["paddle"].cpu < 0.1
        assert (meter.read_node("laptop"), meter.read_node("other")) == (meter._node, None)
        node = meter.read_node("laptop")
        assert node is not None and (node.cpu, node.memory, node.window) == (2.0, 3e9, 5.0)
    samples = read_usage_file(logs / "0.usage")
    assert [each.at for each in samples] == [1000.0, 1005.0]
    assert samples[0].cpu == pytest.approx(first.cpu, rel=1e-6)
    runs.clear()
    clock[0] = 1020.0
    await meter.tick()
    assert meter.read_pod("u1") == {}
    assert len(read_usage_file(logs / "0.usage")) == 2


async def test_logs_that_were_removed_stop_nothing(tmp_path: Path) -> None:
    with running(BUSY) as root:
        run = Run("paddle", 0, 999.0, root.pid, root.birth)
        runs = [(PodState("u1", "default", "gone", "", 999.0, runs={"paddle": run}), run)]
        meter = Meter(tmp_path, Machine("laptop", Fraction(2), 2**33), lambda: runs, clock=lambda: 1000.0)
        await meter.tick()
        assert meter.read_pod("u1")["paddle"].cpu > 0


async def test_gpus_are_read_from_one_nvidia_smi(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho $$ >> $0.pids\necho '0, 80, 1024'\necho '1, 20, 2048'\nexec sleep 60\n")
    program.chmod(0o755)
    meter = GpuMeter({"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    meter.want(True)
    meter.want(True)
    await until(lambda: meter.read([0, 1]).percent == 50.0)
    assert meter.read([0, 1]).memory == 3 * 2**30 and meter.read([1]).percent == 20.0
    meter.want(False)
    (pid,) = (tmp_path / "nvidia-smi.pids").read_text().split()
    await until(lambda: read_birth(int(pid)) is None)
    assert meter.read([0]).percent != meter.read([0]).percent
