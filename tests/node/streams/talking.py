"""How tests talk to the streams of a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from node.cluster import Cluster, is_running, pod, shell
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import STDERR, STDOUT, Ended, Session, StreamRequest
from paddock.node.streams.node_streams import NodeStreams


def open_streams(cluster: Cluster) -> NodeStreams:
    assert cluster.kubelet is not None
    kubelet = cluster.kubelet
    return NodeStreams(
        kubelet.list_running,
        kubelet.recall_run,
        cluster.directory,
        inputs=kubelet.inputs,
        enter_held=kubelet.enter_held,
    )


async def run_pod(cluster: Cluster, *containers: Manifest, name: str = "p", **spec: Any) -> Manifest:
    await cluster.create(pod(*(containers or (shell("exec sleep 600"),)), name=name, **spec))
    return await cluster.see(name, is_running)


@dataclass
class Answer:
    out: bytes
    err: bytes
    ended: Ended


async def begin(streams: NodeStreams, found: Manifest, *command: str, **more: Any) -> Session:
    return await streams.exec(found, StreamRequest(command=command, **more))


async def ask(streams: NodeStreams, found: Manifest, *command: str, stdin: bytes | None = None, **more: Any) -> Answer:
    """What a program says, all of it."""
    session = await begin(streams, found, *command, stdin=stdin is not None, **more)
    try:
        return await talk(session, stdin)
    finally:
        await session.close()


async def talk(session: Session, stdin: bytes | None = None) -> Answer:
    async def feed() -> None:
        await session.write(stdin or b"")
        session.close_input()

    feeding = asyncio.create_task(feed())
    seen: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
    async with asyncio.timeout(180):
        while piece := await session.read():
            seen[piece[0]].append(piece[1])
        ended = await session.wait()
        await feeding
    return Answer(b"".join(seen[STDOUT]), b"".join(seen[STDERR]), ended)


async def read_until(session: Session, wanted: Callable[[bytes], Any]) -> bytes:
    """Its output up to the moment at which `wanted` says so."""
    seen = b""
    async with asyncio.timeout(180):
        while not wanted(seen):
            piece = await session.read()
            assert piece is not None, seen
            seen += piece[1]
    return seen
