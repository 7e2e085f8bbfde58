"""Processes are identified by pid and birth, and never confused with others."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from paddock.node.runtime import processes
from paddock.node.runtime.processes import ExitWatcher, Process, spawn
from support.waiting import until


def start(tmp_path: Path, *command: str, **environment: str) -> Process:
    return spawn(command, {"PATH": os.defpath, **environment}, tmp_path, tmp_path / "log")


async def test_an_exit_is_reported_once(tmp_path: Path) -> None:
    told: list[int] = []
    process = start(tmp_path, "/bin/sh", "-c", "echo out; echo err >&2; exit 3")
    ExitWatcher().watch(process, lambda: told.append(1))
    await until(lambda: told)
    assert processes.reap(process.pid) == 3
    assert processes.reap(process.pid) is None
    assert (tmp_path / "log").read_text() == "out\nerr\n"
    assert told == [1]


async def test_a_process_whose_pid_is_reused_has_ended(tmp_path: Path) -> None:
    process = start(tmp_path, "/bin/sleep", "60")
    other = Process(process.pid, process.birth - 1)
    told = asyncio.Event()
    ExitWatcher().watch(other, told.set)
    await asyncio.wait_for(told.wait(), 60)
    assert not processes.is_alive(other)
    assert processes.is_alive(process)
    processes.send_signal(process.pid, signal.SIGKILL)
    await until(lambda: processes.reap(process.pid) == -9)
    assert not processes.is_alive(process)
    processes.send_signal(process.pid, signal.SIGKILL)  # gone, and no error


async def test_a_pods_processes_are_found_by_their_environment(tmp_path: Path) -> None:
    mark = {processes.POD_VARIABLE: "uid-of-a-test", processes.CONTAINER_VARIABLE: "main"}
    process = start(tmp_path, "/bin/sh", "-c", "setsid sleep 60 & wait", **mark)
    await until(lambda: len(processes.find_pod_processes(["uid-of-a-test"])["uid-of-a-test"]) == 2)
    found = processes.find_pod_processes(["uid-of-a-test", "other"])
    assert found["other"] == []
    assert {name for _, name in found["uid-of-a-test"]} == {"main"}
    assert {process.pid, *processes.find_descendants(process.pid)} == {pid for pid, _ in found["uid-of-a-test"]}
    assert not processes.belongs_to_pod(os.getpid(), "uid-of-a-test")
    for pid, _ in found["uid-of-a-test"]:
        processes.send_signal(pid, signal.SIGKILL)
    await until(lambda: processes.reap(process.pid) is not None)


async def test_a_process_that_is_in_execve_is_found(tmp_path: Path) -> None:
    again = 'exec /bin/sh -c "$0" "$0"'
    process = start(tmp_path, "/bin/sh", "-c", again, again, **{processes.POD_VARIABLE: "uid-of-a-test"})
    # Linux shows no environment during execve: one read of seven was empty.
    missed = sum(not processes.belongs_to_pod(process.pid, "uid-of-a-test") for _ in range(2_000))
    processes.send_signal(process.pid, signal.SIGKILL)
    await until(lambda: processes.reap(process.pid) is not None)
    assert missed == 0


async def test_closing_leaves_processes_alone(tmp_path: Path) -> None:
    told: list[int] = []
    exits = ExitWatcher()
    process = start(tmp_path, "/bin/sleep", "60")
    exits.watch(process, lambda: told.append(1))
    exits.close()
    assert processes.is_alive(process)
    processes.send_signal(process.pid, signal.SIGKILL)
    await until(lambda: processes.reap(process.pid) is not None)
    assert told == []
