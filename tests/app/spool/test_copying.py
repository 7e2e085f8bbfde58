"""Copiers of several readers, who share one copy of each log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from paddock.app.consoles.spool.cluster_logs import ClusterLogs
from paddock.app.consoles.spool.copying import Copier
from paddock.app.consoles.spool.files import ClusterSpool, read_left_out
from paddock.app.home import Home
from paddock.kube.errors import InternalError
from support.consoles import PADDLE
from support.waiting import until

POD = {
    "metadata": {"name": "demo-worker-0", "namespace": "default", "uid": "one"},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "paddle"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [{"name": "paddle", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
    },
}


class Source:
    """A log of one line, which goes on until `ended`."""

    def __init__(self) -> None:
        self.streams = 0
        self.ended = asyncio.Event()

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        self.streams += 1
        yield b"2026-01-01T00:00:00Z one\n"
        await self.ended.wait()


async def test_readers_who_see_a_pod_at_the_same_moment_copy_its_log_once(tmp_path: Path) -> None:
    spool, source = ClusterSpool(Home(tmp_path, tmp_path)), Source()
    assert spool.acquire()
    copiers = [Copier(source, spool), Copier(source, spool)]
    for each in copiers:
        each.see(POD)  # neither has begun when the other one looks
    for each in copiers:
        await each.wait(180.0)
    assert source.streams == 1
    for each in copiers:
        await each.stop()
    spool.release()
    assert spool.path_of(POD).read_bytes() == b"one\n"


async def test_a_home_in_which_nothing_can_be_written_costs_the_copies_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    home = Home(tmp_path / "file" / "clusters", tmp_path)
    unused: Any = None
    logs = ClusterLogs(ClusterSpool(home), unused)
    assert await logs.find(PADDLE, "default", "demo", "") is None


class Broken:
    """A node that answers nothing; when the pod is gone, the next attempt's has its name and prints there."""

    def __init__(self) -> None:
        self.gone = False

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        if not self.gone:
            raise InternalError("the node does not answer")
        yield b"2026-01-01T00:01:00Z another pod's\n"


async def test_a_pod_that_goes_before_its_node_answers_has_no_line_of_the_next_of_its_name_and_is_not_whole(
    tmp_path: Path,
) -> None:
    spool, source = ClusterSpool(Home(tmp_path, tmp_path)), Broken()
    assert spool.acquire()

    async def go(_: float) -> None:
        copier.lose(POD)
        source.gone = True
        await asyncio.sleep(0)

    copier = Copier(source, spool, sleep=go)
    copier.see(POD)

    async def is_over() -> bool:
        return not copier.namespaces

    await until(is_over)
    path = spool.path_of(POD)
    spool.release()
    assert path.read_bytes() == b""
    lacks = read_left_out(path)
    assert lacks is not None and lacks.missed is not None
