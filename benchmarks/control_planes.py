"""Real API servers to measure, a fresh one for each run: etcd and kube-apiserver; no controllers, scheduler or nodes.

What an operator costs is read from outside it: the API server's own count of requests (`/metrics`), and the CPU seconds
and resident memory that the kernel tells of each process. Nothing measured is asked to count itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from paddock.client.client import Client
from paddock.client.connection import Connection
from paddock.client.kubeconfig import read_config
from paddock.client.requests import Request
from paddock.install.crd import build_crds
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.meta import CRDS, Resource

PROGRAM = Path(__file__).parents[1] / "tools" / "kubernetes" / "control_plane.py"
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Asked(NamedTuple):
    """What a request was for: `("PATCH", "pods/status")`. A read of one object counts as LIST for custom kinds."""

    verb: str
    resource: str

    @property
    def writes(self) -> bool:
        return self.verb in ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")


class ControlPlane:
    """A running one. `kubeconfig` is an administrator's."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kubeconfig = home / "kubeconfig"

    def count_requests(self) -> Counter[Asked]:
        """All requests that the API server has answered since it began, but for watches, which never end."""
        text = asyncio.run(_fetch_text(self.kubeconfig, "/metrics"))
        counts: Counter[Asked] = Counter()
        for labels, count in _REQUESTS.findall(text):
            said = dict(_LABEL.findall(labels))
            resource = f"{said['resource']}/{said['subresource']}".rstrip("/")
            counts[Asked(said["verb"], resource)] += int(float(count))
        return Counter({asked: count for asked, count in counts.items() if asked.verb != "WATCH"})

    def cpu(self, program: str = "kube-apiserver") -> float:
        """CPU seconds that a program of the control plane has used."""
        return read_cpu(self.pid(program))

    def pid(self, program: str) -> int:
        return int(json.loads((self.home / "state.json").read_text())["processes"][program]["pid"])


@contextmanager
def open_control_plane(*kinds: Resource) -> Iterator[ControlPlane]:
    """A new one that serves `kinds`; ended and removed at the end."""
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="bench-")))
    try:
        _run(plane, "up")
        asyncio.run(_install(plane.kubeconfig, kinds))
        wait_until_quiet(plane.pid("kube-apiserver"))
        yield plane
    finally:
        _run(plane, "down")
        shutil.rmtree(plane.home, ignore_errors=True)


def read_cpu(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def read_memory(pid: int) -> tuple[float, float]:
    """MB that a process holds (resident), now and at most so far (Linux: VmRSS and VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    now, most = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "VmHWM"))  # type: ignore[index]
    return now * 1024 / 1e6, most * 1024 / 1e6


def wait_until_quiet(*pids: int, seconds: float = 60.0) -> None:
    """Returns once these processes use less than a tenth of a core: what was to be done has been done."""
    deadline = time.monotonic() + seconds
    before = -1.0
    while (now := sum(map(read_cpu, pids))) - before > 0.05 and time.monotonic() < deadline:
        before = now
        time.sleep(0.5)


def _run(plane: ControlPlane, verb: str) -> None:
    ended = subprocess.run([sys.executable, PROGRAM, verb, plane.home], capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"no control plane to measure; `make kubernetes` builds one.\n{ended.stderr}")


async def _install(kubeconfig: Path, kinds: tuple[Resource, ...]) -> None:
    async with Client(read_config(str(kubeconfig))) as client:
        for crd in build_crds():
            await client.create(CRDS, crd)
        async with asyncio.timeout(30):
            for kind in kinds:
                await _until_served(client, kind)


async def _until_served(client: Client, kind: Resource) -> None:
    """A server lists a new kind a moment before it takes objects of it."""
    while True:
        try:
            await client.create(kind, {"metadata": {"name": "x"}}, namespace="default", dry_run=True)
        except NotFound:
            await asyncio.sleep(0.05)
        except ApiError:
            return
        else:
            return


async def _fetch_text(kubeconfig: Path, path: str) -> str:
    connection = Connection(read_config(str(kubeconfig)))
    await connection.open()
    try:
        return (await connection.send(Request("GET", path, headers={"Accept": "text/plain"}))).decode()
    finally:
        await connection.close()
