"""attach: what a container prints from now on, and how it ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.cluster import Cluster, is_running, pod, seeing, shell
from node.streams.talking import Answer, open_streams, read_until, run_pod, talk
from paddock.kube.errors import BadRequest, TooManyRequests
from paddock.kube.meta import PODS, Manifest
from paddock.kube.pod_streams import STDERR, STDOUT, Ended, Session, Size, StreamRequest
from paddock.node.streams.node_streams import POD_SESSIONS, SESSIONS, Counts, NodeStreams, explain_many_sessions
from support.waiting import until

PRINTS = (
    "echo before; cd {place}; touch begun; until test -e go; do sleep 0.02; done; echo after; echo err >&2; "
    "until test -e stop; do sleep 0.02; done; printf last; exit 7"
)


@pytest.fixture
async def streams(cluster: Cluster) -> AsyncIterator[NodeStreams]:
    streams = open_streams(cluster)
    yield streams
    await streams.close()


@pytest.mark.parametrize("tty", [False, True], ids=["pipes", "terminal"])
async def test_it_shows_what_comes_and_ends_with_the_run(
    cluster: Cluster, streams: NodeStreams, tmp_path: Path, tty: bool
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    await cluster.create(seeing(pod(shell(PRINTS.format(place=place))), place))
    found = await cluster.see("p", is_running)
    await until((place / "begun").exists)
    session = await streams.attach(found, StreamRequest(tty=tty))
    (place / "go").touch()
    end = "\r\n" if tty else "\n"
    shown = await read_until(session, lambda seen: seen.endswith(f"err{end}".encode()))
    assert shown.decode() == f"after{end}err{end}"
    waiting = asyncio.create_task(session.wait())
    (place / "stop").touch()
    assert await talk(session) == Answer(b"last", b"", Ended(7))
    assert await waiting == Ended(7)
    await session.close()
    with pytest.raises(BadRequest, match="pod p has ended: its phase is Failed"):
        await streams.attach(await cluster.end(), StreamRequest())


async def test_it_belongs_to_one_run_of_a_container(cluster: Cluster, streams: NodeStreams, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    script = f"until test -e {place}/stop; do sleep 0.02; done; rm {place}/stop; echo bye; exit 3"
    await cluster.create(seeing(pod(shell(script), policy="Always"), place))
    found = await cluster.see("p", is_running)
    session = await streams.attach(found, StreamRequest())
    (place / "stop").touch()
    assert await talk(session) == Answer(b"bye\n", b"", Ended(3))
    await session.close()


async def test_who_types_is_told_that_nobody_reads(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    said = (
        "the program of container main has no input, as its container has no `stdin: true`: what you type does not "
        "reach it\r\n"
    )
    for tty, channel in ((False, STDERR), (True, STDOUT)):
        session = await streams.attach(found, StreamRequest(stdin=True, tty=tty))
        await session.write(bytes(2**20))
        session.close_input()
        session.resize(Size(1, 1))
        assert await session.read() == (channel, said.encode())
        reading = asyncio.create_task(session.read())
        await session.close()
        assert await reading is None
        assert await session.wait() == Ended()
    assert is_running(await cluster.see("p", lambda _: True))


READS = "echo begun; while read -r line; do echo got $line; done; echo over"


async def attach_with(streams: NodeStreams, found: Manifest) -> Session:
    return await streams.attach(found, StreamRequest(stdin=True))


async def test_an_input_is_for_whoever_comes_and_never_ends(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster, shell(READS, stdin=True))
    for name in (b"one", b"two"):
        session = await attach_with(streams, found)
        await session.write(name + b"\n")
        session.close_input()
        await read_until(session, lambda seen, name=name: seen.endswith(b"got " + name + b"\n"))
        await session.close()
    # Neither the end of a client nor that of the node's process is that of the input.
    await cluster.drop()
    kubelet = cluster.start()
    await until(lambda: list(kubelet.list_running()))
    later = open_streams(cluster)
    session = await attach_with(later, found)
    await session.write(b"three\n")
    assert b"got three" in await read_until(session, lambda seen: seen.endswith(b"three\n"))
    await later.close()


@pytest.mark.parametrize("goes", [False, True], ids=["ends its input", "goes"])
async def test_an_input_for_one_client_ends_with_it(cluster: Cluster, streams: NodeStreams, goes: bool) -> None:
    found = await run_pod(cluster, shell(f"{READS}; exec sleep 600", stdin=True, stdinOnce=True))
    session = await attach_with(streams, found)
    second = await attach_with(streams, found)
    channel, said = await second.read() or (0, b"")
    assert (channel, b"is for one client (stdinOnce)" in said) == (STDERR, True)
    await session.write(b"one\n")
    await (session.close() if goes else asyncio.to_thread(int))
    session.close_input()
    assert (await read_until(second, lambda seen: seen.endswith(b"over\n"))).endswith(b"got one\nover\n")


@pytest.mark.parametrize(("key", "over"), [(b"\x04", True), (b"\x03", False)], ids=["Ctrl-D", "Ctrl-C"])
async def test_keys_of_a_raw_terminal(cluster: Cluster, streams: NodeStreams, key: bytes, over: bool) -> None:
    found = await run_pod(cluster, shell(f"{READS}; exec sleep 600", stdin=True, stdinOnce=True, tty=True))
    session = await streams.attach(found, StreamRequest(stdin=True, tty=True))
    await session.write(b"on")
    await session.write(b"e\r")
    seen = await read_until(session, lambda seen: b"got one\r\n" in seen)
    assert b"one\r\n" in seen.replace(b"got one\r\n", b"", 1), "what was typed is shown"
    await session.write(key)
    if over:
        assert b"over" in await read_until(session, lambda seen: b"over" in seen)
    else:
        assert await session.wait() == Ended()
    await session.close()


async def test_what_nobody_reads_waits_and_is_not_kept(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster, shell("exec sleep 600", stdin=True, stdinOnce=True))
    session = await attach_with(streams, found)
    writing = asyncio.create_task(session.write(bytes(2**20)))
    assert not (await asyncio.wait({writing}, timeout=0.3))[0]  # shows that it waits
    await session.close()
    await writing


async def test_without_a_client_it_waits_and_nothing_stays_open_after_it(cluster: Cluster) -> None:
    once = shell("read line; echo got $line", name="once", stdin=True, stdinOnce=True)
    await run_pod(cluster, once, shell("test -p /dev/stdin && read line", name="main", stdin=True))
    assert cluster.kubelet is not None
    held = cluster.kubelet.inputs._held
    assert len(held) == 1
    await cluster.api.delete(PODS, "default", "p", grace=0)
    await cluster.gone()
    await until(lambda: not held)


async def test_a_wrong_container_is_named(cluster: Cluster, streams: NodeStreams) -> None:
    with pytest.raises(BadRequest, match="container man is not valid for pod p; it has main; did you mean main"):
        await streams.attach(await run_pod(cluster), StreamRequest(container="man"))


async def test_a_pod_has_so_many_sessions(cluster: Cluster, streams: NodeStreams) -> None:
    found, descriptors = await run_pod(cluster), len(os.listdir("/proc/self/fd"))
    sessions = [await streams.attach(found, StreamRequest()) for _ in range(POD_SESSIONS)]
    for again in (streams.attach(found, StreamRequest()), streams.exec(found, StreamRequest(command=("true",)))):
        with pytest.raises(TooManyRequests, match="pod p has 50 sessions of exec and attach, the most at a time for a"):
            await again
    await sessions.pop().close()
    sessions.append(await streams.attach(found, StreamRequest()))
    await streams.close()
    assert streams._counts.total == 0 and not streams._sessions
    await until(lambda: len(os.listdir("/proc/self/fd")) == descriptors)


def test_a_node_has_so_many_sessions() -> None:
    counts = Counts(3, 2, explain_many_sessions)
    forget = [counts.add(*each) for each in (("a", "pa"), ("a", "pa"), ("b", "pb"))]
    with pytest.raises(TooManyRequests, match=f"this node has {SESSIONS} sessions of exec and attach, the most at a"):
        counts.add("c", "pc")
    forget[2]()
    forget[2]()
    assert counts.total == 2
    with pytest.raises(TooManyRequests, match=f"pod pa has {POD_SESSIONS} sessions"):
        counts.add("a", "pa")
    counts.add("c", "pc")
