"""The logs of a cluster's jobs are copied while somebody looks, and are there when the pods are gone: over HTTP, with
an API server as the cluster and a node that serves times as a kubelet does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.consoles.spool.cluster_logs import ClusterLogs
from paddock.app.consoles.spool.files import ClusterSpool, place_of_cluster
from paddock.app.consoles.spool.prune import tidy
from paddock.app.home import Home
from paddock.cli.main import cli
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.console.backend import KeptRun
from paddock.history.retention import Limits
from paddock.jobs.labels import ATTEMPT_LABEL, INDEX_LABEL, JOB_LABEL, ROLE_LABEL
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS, Manifest, owner_reference, uid_of
from support.operator_seam import JOBS, build_job, install_jobs, set_phase
from support.timed_logs import TimedLogs
from support.waiting import until


@dataclass
class Cluster:
    api: LocalApi
    server: Server
    node: TimedLogs
    directory: Path

    async def have_job(self, name: str = "demo") -> Manifest:
        return await self.api.create(JOBS, build_job(name, ps=0, worker=2))

    async def have_pod(self, job: Manifest, rank: str = "worker-0", phase: str = "Running", attempt: int = 0) -> str:
        name, (role, index) = f"{job['metadata']['name']}-{rank}", rank.split("-")
        labels = {JOB_LABEL: job["metadata"]["name"], ROLE_LABEL: role, INDEX_LABEL: index, ATTEMPT_LABEL: str(attempt)}
        spec = {"containers": [{"name": "paddle", "image": "x"}], "nodeName": "n", "restartPolicy": "Never"}
        metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [owner_reference(job)]}
        await self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        await set_phase(self.api, name, phase)
        return name

    @property
    def spool(self) -> ClusterSpool:
        return ClusterSpool(place_of_cluster(Home(self.directory, self.directory), self.server.url))

    @asynccontextmanager
    async def logs(self, spool: ClusterSpool | None = None, **options: Any) -> AsyncIterator[ClusterLogs]:
        """As one process of the console has them."""
        own = spool or self.spool
        async with Client(read_config(str(self.server.kubeconfig))) as client:
            logs = ClusterLogs(own, client, **options)
            try:
                yield logs
            finally:
                await logs.stop()
                if spool is None:
                    own.release()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    api = await LocalApi.open(tmp_path / "store")
    node = TimedLogs()
    server = Server(api, tmp_path, logs=node)
    await server.start()
    await install_jobs(api)
    made = Cluster(api, server, node, tmp_path / "home")
    try:
        yield made
    finally:
        await made.server.stop()
        await api.close()


async def look(logs: ClusterLogs, uid: str = "", name: str = "demo") -> KeptRun:
    return await logs.find(JOBS, "default", name, uid) or KeptRun()


def read(logs: ClusterLogs, run: KeptRun, rank: str = "worker-0") -> bytes:
    log = next((each for each in run.logs if each.rank == rank), None)
    if log is None:
        return b""
    with logs.open(log) as opened:
        return opened.read_bytes(0, 10**6)


async def until_it_has(logs: ClusterLogs, text: bytes, uid: str = "", name: str = "demo") -> KeptRun:
    async def ask() -> KeptRun | None:
        run = await look(logs, uid, name)
        return run if read(logs, run) == text else None

    found: KeptRun = await until(ask)
    return found


async def test_a_log_is_copied_as_it_grows_and_outlives_its_pod_and_its_job(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    now = time.time()
    cluster.node.print(pod, "one", at=now - 2)
    async with cluster.logs() as logs:
        assert read(logs, await look(logs, uid_of(job))) == b"one\n"  # the first look has the first lines
        cluster.node.print(pod, "two", at=now + 1)
        run = await until_it_has(logs, b"one\ntwo\n", uid_of(job))
        assert not run.over and [(log.rank, log.attempt) for log in run.logs] == [("worker-0", 0)]
        with logs.open(run.logs[0]) as opened:
            marks = opened.read_marks()
        assert [round((marks.time_of(place) or 0) - now) for place in (0, 4)] == [-2, 1]
        cluster.node.end(pod)
        await set_phase(cluster.api, pod, "Succeeded")
        await cluster.api.delete(PODS, "default", pod, grace=0)
        await cluster.api.delete(JOBS, "default", "demo")

        async def over() -> bool:
            return (await look(logs)).over

        await until(over)
        assert read(logs, await look(logs)) == b"one\ntwo\n"
    async with cluster.logs() as logs:  # the next console, which finds neither job nor pod
        assert read(logs, await look(logs)) == b"one\ntwo\n"
    (directory,) = (cluster.directory / "clusters").iterdir()
    modes = {path.stat().st_mode & 0o077 for path in directory.rglob("*")}
    assert modes == {0}


async def test_a_stream_that_breaks_in_the_middle_of_a_line_goes_on_without_doubles(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    now = time.time()
    cluster.node.of(pod).breaks = 3
    for text in ("a", "b", "b", "torn", "end"):
        cluster.node.print(pod, text, at=now)  # all of one time
    async with cluster.logs() as logs:
        await until_it_has(logs, b"a\nb\nb\ntorn\nend\n", uid_of(job))
    assert cluster.node.of(pod).streams > 1


async def test_the_next_console_goes_on_where_the_last_one_ended(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "one", "two")
    async with cluster.logs() as logs:
        await until_it_has(logs, b"one\ntwo\n", uid_of(job))
    cluster.node.print(pod, "three")
    path = next(cluster.directory.rglob("0.log"))
    with path.open("a") as file:
        file.write("half of what was not saved")  # as after a kill
    async with cluster.logs() as logs:
        await until_it_has(logs, b"one\ntwo\nthree\n", uid_of(job))


async def test_what_a_container_printed_before_it_was_started_again_comes_first(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "first life", at=time.time() - 5)
    cluster.node.restart(pod)
    cluster.node.print(pod, "second life")
    container = {"name": "paddle", "ready": True, "image": "x", "imageID": "x", "restartCount": 1,
                 "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}  # fmt: skip
    status = {"status": {"containerStatuses": [container]}}
    await cluster.api.patch(PODS, "default", pod, status, subresource="status")
    async with cluster.logs() as logs:
        await until_it_has(logs, b"first life\nsecond life\n", uid_of(job))


async def test_a_cluster_that_tells_no_times_is_copied_by_bytes(cluster: Cluster) -> None:
    cluster.node.plain = True
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.of(pod).breaks = 1
    cluster.node.print(pod, "one", "two")
    async with cluster.logs() as logs:
        await until_it_has(logs, b"one\ntwo\n", uid_of(job))


async def test_ranks_that_end_are_copied_although_nobody_looks_if_there_is_one_reader(cluster: Cluster) -> None:
    async with cluster.logs() as logs:
        await logs.start(everything=True)
        job = await cluster.have_job()
        pod = await cluster.have_pod(job)
        cluster.node.print(pod, "nobody saw it")
        cluster.node.end(pod)
        await set_phase(cluster.api, pod, "Failed", 1)

        async def copied() -> bool:
            return any(path.read_bytes() for path in cluster.directory.rglob("0.log"))

        await until(copied)
        await cluster.api.delete(PODS, "default", pod, grace=0)
        await cluster.api.delete(JOBS, "default", "demo")
        await until_it_has(logs, b"nobody saw it\n", uid_of(job))


@pytest.mark.slow
async def test_what_nobody_looks_at_any_more_is_let_go(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "one")
    async with cluster.logs() as logs:
        await logs.start(everything=True)
        await until_it_has(logs, b"one\n", uid_of(job))
        later = asyncio.get_running_loop().time() + 3600
        logs.let_go(later)
        assert logs.followed >= 2, "a job that runs is followed to its end, with the pods beside it"
        cluster.node.end(pod)
        await set_phase(cluster.api, pod, "Succeeded")
        await cluster.api.delete(JOBS, "default", "demo")

        async def nothing() -> bool:
            logs.let_go(later)
            return logs.followed == 0

        await until(nothing)
        assert read(logs, await look(logs)) == b"one\n", "who looks again finds what was kept"
        assert logs.followed == 2


async def test_who_may_not_read_logs_gets_no_copies(cluster: Cluster) -> None:
    job = await cluster.have_job()
    cluster.node.print(await cluster.have_pod(job), "secret")
    asked = []

    async def may(namespace: str) -> bool:
        asked.append(namespace)
        return len(asked) == 1

    async with cluster.logs(may=may) as logs:
        assert read(logs, await look(logs, uid_of(job))) == b"secret\n"
        with pytest.raises(Forbidden, match="default"):
            await look(logs, uid_of(job))
    assert asked == ["default", "default"]


@pytest.mark.slow
async def test_two_readers_share_one_copy(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "one")
    spool = cluster.spool
    async with cluster.logs(spool) as first, cluster.logs(spool) as second:
        await until_it_has(first, b"one\n", uid_of(job))
        await until_it_has(second, b"one\n", uid_of(job))
        cluster.node.print(pod, "two")
        await until_it_has(second, b"one\ntwo\n", uid_of(job))
    assert cluster.node.of(pod).streams == 1
    spool.release()


@pytest.mark.slow
async def test_a_reader_who_leaves_takes_no_log_with_them(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "one")
    spool = cluster.spool
    async with cluster.logs(spool) as second:
        async with cluster.logs(spool) as first:
            await until_it_has(first, b"one\n", uid_of(job))
            await until_it_has(second, b"one\n", uid_of(job))
        cluster.node.print(pod, "two")
        await until_it_has(second, b"one\ntwo\n", uid_of(job))
    spool.release()


async def test_a_second_console_reads_what_the_first_one_copies(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "one")
    async with cluster.logs() as first:
        await until_it_has(first, b"one\n", uid_of(job))
        async with cluster.logs() as second:
            assert read(second, await look(second, uid_of(job))) == b"one\n"
        cluster.node.print(pod, "two")
        await until_it_has(first, b"one\ntwo\n", uid_of(job))
    assert cluster.node.of(pod).streams == 1


@pytest.mark.slow
async def test_the_oldest_runs_go_first_and_none_that_is_looked_at(cluster: Cluster) -> None:
    uids = []
    async with cluster.logs() as logs:
        for number in range(3):
            job = await cluster.have_job(f"job{number}")
            pod = await cluster.have_pod(job)
            cluster.node.print(pod, "x" * 8_000)
            cluster.node.end(pod)
            await set_phase(cluster.api, pod, "Succeeded")
            await until_it_has(logs, b"x" * 8_000 + b"\n", uid_of(job), f"job{number}")
            uids.append(uid_of(job))
            if number:
                await cluster.api.delete(JOBS, "default", f"job{number}")
    spool = cluster.spool
    assert spool.acquire()
    before = spool.room.taken
    async with Client(read_config(str(cluster.server.kubeconfig))) as client:
        await tidy(spool, client, {uids[0]}, Limits(bytes=14_000))
    spool.forget_pruned()
    left = {path.parts[-3].split("_")[1] for path in cluster.directory.rglob("0.log")}
    assert left == {"job0-worker-0", "job2-worker-0"}
    assert len(spool.room.logs) == 2 and 0 < spool.room.taken < before  # what was pruned takes no room
    spool.release()


@pytest.mark.slow
async def test_paddock_logs_prints_the_copy_when_the_pod_is_gone_and_when_the_job_is(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(cluster.directory))
    words = ["logs", "demo", "--kubeconfig", str(cluster.server.kubeconfig)]
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "only once")
    cluster.node.end(pod)
    await set_phase(cluster.api, pod, "Succeeded")
    async with cluster.logs() as logs:
        await until_it_has(logs, b"only once\n", uid_of(job))
        await cluster.api.delete(PODS, "default", pod, grace=0)
        done = {"status": {"phase": "Completed", "completionTime": "2026-01-01T00:01:00Z"}}
        await cluster.api.patch(JOBS, "default", "demo", done, subresource="status")

        async def ended() -> bool:
            return (await look(logs, uid_of(job))).over

        await until(ended)
    told = await asyncio.to_thread(CliRunner().invoke, cli, words)
    assert (told.exit_code, told.stdout) == (0, "only once\n")
    assert "has copied on this machine" in " ".join(told.stderr.split())
    await cluster.api.delete(JOBS, "default", "demo")
    async with cluster.logs() as logs:
        assert (await look(logs)).over
    again = await asyncio.to_thread(CliRunner().invoke, cli, words)
    assert (again.exit_code, again.stdout) == (0, told.stdout)


async def test_an_api_that_is_down_for_a_while_costs_no_line(cluster: Cluster) -> None:
    job = await cluster.have_job()
    pod = await cluster.have_pod(job)
    cluster.node.print(pod, "before")
    async with cluster.logs() as logs:
        await until_it_has(logs, b"before\n", uid_of(job))
        port = int(cluster.server.url.rpartition(":")[2])
        await cluster.server.stop()
        cluster.node.print(pod, "meanwhile")
        assert read(logs, await look(logs, uid_of(job))) == b"before\n"
        cluster.server = Server(cluster.api, cluster.directory.parent, logs=cluster.node)
        await cluster.server.start(port)
        cluster.node.print(pod, "after")
        await until_it_has(logs, b"before\nmeanwhile\nafter\n", uid_of(job))
