"""This machine as values: name, interfaces, shared memory, limits, cores and memory. Nothing needs root."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from paddock.doctor.host.values import Interface, Limits, OwnName, Shm
from paddock.doctor.probes.bounded import run_bounded
from paddock.node.runtime.machine import read_limits

NAME_PATIENCE = 5.0
"""Seconds for the own name. A resolver asks each name server for five seconds before it tries again."""
_PREFIXES = ("PADDLE_", "MASTER_")
_SUFFIXES = ("_VISIBLE_DEVICES", "_SOCKET_IFNAME", "_proxy", "_PROXY")
_NAMES = ("POD_IP", "CUDA_DEVICE_ORDER")


def choose_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are judged; all others may be secrets, and are not kept."""
    return {
        name: value for name, value in environ.items()
        if name in _NAMES or name.startswith(_PREFIXES) or name.endswith(_SUFFIXES)
    }  # fmt: skip


async def find_own_name() -> OwnName:
    name = socket.gethostname()
    started = time.monotonic()
    try:
        addresses = await run_bounded(lambda: _resolve_own(name), NAME_PATIENCE)
    except TimeoutError:
        return OwnName(name, (), time.monotonic() - started, is_found=False)
    return OwnName(name, addresses, time.monotonic() - started)


def _resolve_own(name: str) -> tuple[str, ...]:
    """As PaddlePaddle's launch does it, gethostbyname(getfqdn(name)), then what gloo asks for, the name itself."""
    found: list[str] = []
    try:
        found.append(socket.gethostbyname(socket.getfqdn(name)))
    except OSError:
        pass
    try:
        found += [str(each[4][0]) for each in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except OSError:
        pass
    return tuple(sorted(dict.fromkeys(found), key=lambda address: ":" in address))


def read_interfaces() -> tuple[Interface, ...]:
    states = psutil.net_if_stats()
    found = []
    for name, addresses in psutil.net_if_addrs().items():
        kept = [each.address.partition("%")[0] for each in addresses if each.family is socket.AF_INET]
        kept += [
            each.address for each in addresses if each.family is socket.AF_INET6 and not each.address.startswith("fe80")
        ]
        state = states.get(name)
        found.append(Interface(name, tuple(kept), state.mtu if state else 0, bool(state and state.isup)))
    return tuple(found)


def read_shm(path: Path = Path("/dev/shm")) -> Shm | None:  # noqa: S108 - it is looked at
    """None if it is not there."""
    try:
        held, state, above = os.statvfs(path), path.stat(), path.parent.stat()
    except OSError:
        return None
    size, free = held.f_frsize * held.f_blocks, held.f_frsize * held.f_bavail
    return Shm(size, free, state.st_dev != above.st_dev, os.access(path, os.W_OK))


def read_process_limits() -> Limits:
    """The limits of this process: those of the shell that started it."""
    soft, hard = map(_bound, resource.getrlimit(resource.RLIMIT_NOFILE))
    locked = _bound(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0])
    return Limits(soft, hard, locked, _bound(resource.getrlimit(resource.RLIMIT_STACK)[0]))


def _bound(value: int) -> int | None:
    return None if value == resource.RLIM_INFINITY else value


def read_room(root: Path = Path("/")) -> tuple[float, int]:
    """Cores and bytes of memory that a process may use: affinity and the limits of its groups count."""
    limits = read_limits(root / "sys/fs/cgroup", _read(root / "proc/self/cgroup"))
    cores, memory = len(os.sched_getaffinity(0)), psutil.virtual_memory().total
    return min(cores, float(limits.cpus or cores)), min(memory, limits.memory or memory)


def find_container(environ: Mapping[str, str], root: Path = Path("/")) -> str:
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    return "docker" if any((root / each).exists() for each in (".dockerenv", "run/.containerenv")) else ""


def find_rdma(root: Path = Path("/")) -> tuple[str, ...]:
    try:
        return tuple(sorted(each.name for each in (root / "sys/class/infiniband").iterdir()))
    except OSError:
        return ()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
