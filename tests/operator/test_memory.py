"""The operator's process starts within its limit, however large the objects are that tenants have made."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.meta import CONFIG_MAPS, Manifest
from support.loopback import own_address
from support.operator_seam import open_cluster
from support.waiting import until

LIMIT = 120
"""MiB, for sixty objects of a megabyte: it may have 300 as shipped."""


@asynccontextmanager
async def operator_of(server: Server, directory: Path) -> AsyncIterator[int]:
    """`paddock operator` in a process of its own, which is ready; its PID."""
    with socket.create_server((own_address(), 0)) as free:
        probes = f"{own_address()}:{free.getsockname()[1]}"
    words = ["operator", "--kubeconfig", str(server.kubeconfig), "--metrics-bind-address=0"]
    with (directory / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "paddock.cli.main", *words, f"--health-probe-bind-address={probes}", stderr=log
        )
    try:
        async with aiohttp.ClientSession() as session:
            await until(lambda: is_ready(session, f"http://{probes}/readyz"))
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


async def is_ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


def read_most(pid: int) -> int:
    """MiB that a process has held at most (Linux: VmHWM)."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


async def fill(api: LocalApi, count: int) -> None:
    """ConfigMaps with more than a megabyte of labels each, which no quota of Kubernetes bounds."""
    labels = {f"{number:05}.{'p' * 240}/{'k' * 63}": "v" * 63 for number in range(3000)}
    for number in range(count):
        metadata: Manifest = {"name": f"c{number:03}", "namespace": "default", "labels": labels}
        await api.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.slow
async def test_an_operator_starts_in_its_memory_among_large_objects_of_others(tmp_path: Path) -> None:
    async with open_cluster(tmp_path / "store") as api:
        await fill(api, 60)
        server = Server(api, tmp_path)
        await server.start()
        try:
            async with operator_of(server, tmp_path) as pid:
                assert read_most(pid) < LIMIT
        finally:
            await server.stop()
