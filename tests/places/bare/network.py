"""Machines that reach each other, made by a test: a process, a network and a host name each, on one bridge.

All of it is in namespaces that processes of the test hold, the bridge too, so it ends with these processes, and two
tests are in each other's way in nothing.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from places.bare.rendered import OWN
from support.programs import lack, need

Names = Literal["resolve", "debian", "unresolvable"]
_HOLD = "echo ready; while :; do sleep 1000 & wait; done"
"""A first process that takes the orphans of its machine."""
_MACHINE = ("--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True)
class Machine:
    """`holder`: the process whose namespaces it has. `directory`: where its programs start."""

    name: str
    address: str
    holder: int
    directory: Path

    def run(
        self, *words: str, env: Mapping[str, str] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program there as a user of that machine does."""
        inside = ("nsenter", f"--target={self.holder}", "--net", "--uts", "--mount", "--pid", f"--wd={self.directory}")
        return subprocess.run(
            [*inside, *words],
            env={**OWN, "HOSTNAME": self.name, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout,
        )  # fmt: skip


@dataclass(frozen=True)
class Network:
    machines: tuple[Machine, ...]
    switch: int

    def cut(self, index: int) -> None:
        """The machine is silent from now on: what it sends and what is sent to it is lost."""
        _in_network(self.switch, f"ip link set m{index} nomaster")

    def restore(self, index: int) -> None:
        _in_network(self.switch, f"ip link set m{index} master bridge")


@contextmanager
def open_network(folder: Path, addresses: Sequence[str], names: Names) -> Iterator[Network]:
    """Machines with these addresses (10.77.x.y), called gpu-0, gpu-1, ….

    names: "resolve": each machine knows the addresses of all names. "debian": each machine knows the others, and its
    own name is 127.0.1.1. "unresolvable": no names are known.
    """
    for program in ("unshare", "nsenter", "ip"):
        need(program)
    if os.geteuid() != 0:
        lack("ip", "makes networks for root alone")
    with ExitStack() as stack:
        switch = _hold(stack, ["unshare", "--net", "--kill-child", "--fork"])
        _in_network(switch, "ip link set lo up; ip link add bridge type bridge; ip link set bridge up")
        machines = []
        for index, address in enumerate(addresses):
            directory = folder / f"gpu-{index}"
            directory.mkdir()
            machine = Machine(f"gpu-{index}", address, _hold(stack, ["unshare", *_MACHINE]), directory)
            _in_network(switch, f"ip link add m{index} type veth peer name eth0 netns {machine.holder}")
            _in_network(switch, f"ip link set m{index} master bridge up")
            _write_names(machine, addresses, names)
            done = machine.run(
                "sh", "-ec",
                f"hostname {machine.name}; mount --bind hosts /etc/hosts; mount --bind resolv.conf /etc/resolv.conf; "
                f"ip link set lo up; ip address add {address}/16 dev eth0; ip link set eth0 up",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            machines.append(machine)
        yield Network(tuple(machines), switch)


def _write_names(machine: Machine, addresses: Sequence[str], names: Names) -> None:
    known = {f"gpu-{index}": address for index, address in enumerate(addresses)}
    if names == "debian":
        known[machine.name] = "127.0.1.1"
    lines = [] if names == "unresolvable" else [f"{address} {name}\n" for name, address in known.items()]
    (machine.directory / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
    (machine.directory / "resolv.conf").write_text("")


def _hold(stack: ExitStack, unshare: Sequence[str]) -> int:
    """The id of the first process in new namespaces, which end with it."""
    process = subprocess.Popen([*unshare, "bash", "-c", _HOLD], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    stack.callback(_end, process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _in_network(holder: int, commands: str) -> None:
    done = subprocess.run(
        ["nsenter", f"--target={holder}", "--net", "sh", "-ec", commands], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def wait_until(path: Path, text: str, seconds: float) -> None:
    """Until the file has the text."""
    end = time.monotonic() + seconds
    while not (path.exists() and text in path.read_text(errors="replace")):
        assert time.monotonic() < end, f"{path} has no {text!r}: {path.read_text() if path.exists() else 'not there'}"
        time.sleep(0.1)
