"""Processes are identified by pid and birth, and never confused with others."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

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


async def test_a_name_that_the_kernel_has_cut_within_a_character_is_read(tmp_path: Path) -> None:
    """After 15 bytes: 14 of four characters and one letter, and one more."""
    program = tmp_path / "a训练模型脚本"
    program.symlink_to("/bin/sleep")
    process = start(tmp_path, str(program), "60")
    comm = Path(f"/proc/{process.pid}/comm")
    await until(lambda: comm.read_bytes().startswith(b"a"))
    with pytest.raises(UnicodeDecodeError):
        comm.read_bytes().rstrip(b"\n").decode()
    assert processes.is_alive(process) and processes.read_parent(process.pid) is not None
    processes.send_signal(process.pid, signal.SIGKILL)
    await until(lambda: processes.reap(process.pid) is not None)


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


def test_a_process_decides_not_how_much_of_its_environment_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process can make it as long as its memory."""
    (tmp_path / "7").mkdir()
    with (tmp_path / "7/environ").open("wb") as file:
        file.write(f"{processes.POD_VARIABLE}=one\0".encode())
        file.truncate(2**40)  # more than there is memory: sparse
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert processes.belongs_to_pod(7, "one") and not processes.belongs_to_pod(7, "two")
