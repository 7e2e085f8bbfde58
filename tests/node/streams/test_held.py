"""Programs in containers that have failed and are held, in both sandboxes: what they see, and when all of it ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import Cluster, marked, open_cluster, pod, shell
from node.streams.talking import ask, begin, open_streams, read_until
from paddock.kube.errors import BadRequest
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import PODS, SECRETS, Manifest, uid_of
from paddock.kube.pod_streams import Ended
from paddock.node.runtime import processes
from paddock.node.runtime.orphans import end_leftovers
from paddock.node.runtime.sandbox import Sandbox
from paddock.node.streams.node_streams import NodeStreams
from support.waiting import until


@pytest.fixture
async def streams(cluster: Cluster) -> AsyncIterator[NodeStreams]:
    streams = open_streams(cluster)
    yield streams
    await streams.close()


async def fail(cluster: Cluster, script: str, hold: str = "1h", **more: Any) -> Manifest:
    """A pod whose program has ended with 3."""
    spec = more.pop("spec", {})
    made = pod(shell(f"{script}\nexit 3", **more), name="p", restartPolicy="Never", **spec)
    made["metadata"].setdefault("annotations", {})[HOLD_ANNOTATION] = hold
    found = await cluster.run(made)
    assert found["status"]["phase"] == "Failed"
    return found


async def test_it_sees_what_the_program_saw(cluster: Cluster, streams: NodeStreams) -> None:
    """Its variables, a Secret's too though that is gone, its directory, host name, volumes, rights and limits; not
    what its program has made of its variables."""
    await cluster.api.create(
        SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
                  "stringData": {"word": "hüsh"}},
    )  # fmt: skip
    place = cluster.directory / "data"
    look = (
        "pwd; env | grep -v -e ^_= -e ^SHLVL= -e ^PWD= -e ^OLDPWD= | sort; hostname; cat /etc/hosts; umask; ulimit -n; "
        f"grep -e ^Cap -e NoNew -e Groups -e Uid -e Gid /proc/self/status; ls -1di {place}/ $TMPDIR; cat {place}/kept"
    )
    env = [
        {"name": "PLAIN", "value": "a b"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "word"}}},
    ]
    leave = f"echo kept > {place}/kept; echo mine > $TMPDIR/mine"
    first = f"{leave}\n{{ {look}; }} >{place}/first 2>&1; export PLAIN=other; cd /"
    found = await fail(
        cluster, first, env=env, volumeMounts=[{"name": "data", "mountPath": str(place)}],
        spec={"volumes": [{"name": "data", "emptyDir": {}}]},
    )  # fmt: skip
    await cluster.api.delete(SECRETS, "default", "s")
    (own,) = cluster.directory.glob("scratch/*/volumes/data/first")
    answer = await ask(streams, found, "/bin/sh", "-c", f"{look}; cat $TMPDIR/mine")
    assert answer.out.decode() == f"{own.read_text()}mine\n"
    assert "SECRET=hüsh" in own.read_text()
    (told,) = cluster.directory.glob("scratch/*/main-0.program")
    assert told.stat().st_mode & 0o777 == 0o600, "it has the Secret's value"
    # Without a sandbox its link is there while somebody is in it.
    await until(lambda: not os.path.lexists(place))


async def test_a_kubelet_that_stops_has_ended_what_was_just_left(cluster: Cluster, streams: NodeStreams) -> None:
    found = await fail(cluster, "true")
    await ask(streams, found, "true")
    await cluster.stop()
    assert not marked(uid_of(found))
    assert not processes._children, "nobody has waited for it"
    assert not list(cluster.directory.glob("scratch/*/*.held-*"))


async def test_who_is_in_it_together_sees_each_other_and_what_is_left_ends(
    cluster: Cluster, streams: NodeStreams
) -> None:
    found = await fail(cluster, "true")
    script = "(sleep 600 & setsid sleep 601 &); echo begun; read line; exit 5"
    first = await begin(streams, found, "sh", "-c", script, stdin=True)
    await read_until(first, lambda text: b"begun" in text)
    other = await ask(streams, found, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    assert b"sleep 600" in other.out, "the same sandbox"
    await first.write(b"\n")
    assert await first.wait() == Ended(5)
    await first.close()
    await until(lambda: not marked(uid_of(found)))
    assert streams._counts.total == 0
    assert (await ask(streams, found, "true")).ended == Ended(0), "and it is made again"
    await until(lambda: not list(cluster.directory.glob("scratch/*/*.held-*")))


async def test_it_ends_with_its_time_and_with_the_pod(cluster: Cluster, streams: NodeStreams) -> None:
    found = await fail(cluster, "echo > $TMPDIR/mine")
    session = await begin(streams, found, "sleep", "600")
    assert cluster.kubelet is not None
    cluster.kubelet._holds._clock = lambda: time.time() + 3601
    # Its own timer is an hour away: any change makes it look.
    await cluster.api.patch(PODS, "default", "p", {"metadata": {"labels": {"looked": "at"}}})
    assert (await session.wait()).code == 137
    await session.close()
    with pytest.raises(BadRequest, match="has ended: its phase is Failed; it is held no more"):
        await ask(streams, found, "true")
    await until(lambda: not list(cluster.directory.glob("scratch/*/tmp")) and not marked(uid_of(found)))
    cluster.kubelet._holds._clock = time.time
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    found = await fail(cluster, "true")
    session = await begin(streams, found, "sleep", "600")
    await cluster.api.delete(PODS, "default", "p")
    assert (await session.wait()).code == 137
    await session.close()
    await until(lambda: not list(cluster.directory.glob("scratch/*")))


async def test_a_pod_that_is_not_held_says_how_it_could_be(cluster: Cluster, streams: NodeStreams) -> None:
    found = await cluster.run(pod(shell("exit 3"), name="p", restartPolicy="Never"))
    with pytest.raises(BadRequest, match=r"its phase is Failed; the annotation paddock.dev/hold of its job"):
        await ask(streams, found, "true")
    assert not list(cluster.directory.glob("scratch/*/*.program"))
    good = pod(shell("true"), name="good", restartPolicy="Never")
    good["metadata"]["annotations"] = {HOLD_ANNOTATION: "1h"}
    with pytest.raises(BadRequest, match=r"its phase is Succeeded$"):
        await ask(streams, await cluster.run(good), "true")


async def test_what_cannot_be_made_again_is_said(cluster: Cluster, streams: NodeStreams) -> None:
    found = await fail(cluster, "true")
    (told,) = cluster.directory.glob("scratch/*/main-0.program")
    told.write_text('{"environment"')
    with pytest.raises(BadRequest, match="is held, and its sandbox cannot be made again: nothing is left"):
        await ask(streams, found, "true")
    assert streams._counts.total == 0


async def test_another_node_process_finds_it_as_it_was(tmp_path: Path, sandbox: Sandbox) -> None:
    async with open_cluster(tmp_path, sandbox) as cluster:
        found = await fail(cluster, "echo kept > here; echo kept > $TMPDIR/there")
        await cluster.stop()
        assert await asyncio.to_thread(end_leftovers, cluster.directory, 0.2) == 0
        cluster.start()
        streams = open_streams(cluster)
        enters = lambda: ask(streams, found, "sh", "-c", "cat here $TMPDIR/there")  # noqa: E731
        assert cluster.kubelet is not None
        await until(lambda: cluster.kubelet is not None and cluster.kubelet._adopted)
        assert (await enters()).out == b"kept\nkept\n"
        await streams.close()
        await cluster.stop()
        await asyncio.to_thread(end_leftovers, cluster.directory, 0.2, time.time() + 3601)
        assert not list(cluster.directory.glob("scratch/*"))
