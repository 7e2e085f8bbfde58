"""A console that keeps: what ranks have printed outlives their pods, and what ran outlives its job, whoever looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.app.consoles.spool.files import read_left_out
from paddock.kube.meta import uid_of
from support.kept import READS_LOGS, SEES_JOBS, Kept, ask, list_logs, list_runs, open_cluster
from support.operator_seam import JOBS
from support.small_disks import fill, small_disk
from support.waiting import until


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Kept]:
    async with open_cluster(tmp_path) as made:
        yield made


async def test_the_traceback_of_a_first_attempt_outlives_its_pod_and_its_job(cluster: Kept) -> None:
    keeper = await cluster.have_keeper()
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    async with cluster.console(keeper) as url:
        job = await cluster.have_job()
        pod = await cluster.have_pod(job, "worker-0", "Traceback", "ValueError: 1")
        await cluster.end(pod)
        await cluster.until_kept(pod, b"Traceback\nValueError: 1\n")
        await cluster.remove(pod)
        pod = await cluster.have_pod(job, "worker-0", "step 1", attempt=1)
        await cluster.end(pod, "Succeeded", 0)
        await cluster.until_kept(pod, b"step 1\n", attempt=1)
        await cluster.remove(pod)
        await cluster.api.delete(JOBS, "default", "demo")

        async def deleted() -> bool:
            runs = (await list_runs(url, token, name="demo")).runs
            return bool(runs) and runs[-1].deleted is not None

        await until(deleted)
        found = await list_logs(url, token, "demo")
        assert [(each.owner.pod, each.size, each.missed) for each in found.logs] == [
            ("demo-worker-0", 24, None), ("demo-worker-0", 7, None),
        ]  # fmt: skip
        first = found.logs[0]
        where = f"/kept/v1/namespaces/default/logs/{first.directory}/{first.container}/{first.file}"
        assert (await ask(url, where, token)).body == b"Traceback\nValueError: 1\n"
        (run,) = (await list_runs(url, token)).runs
        assert (run.uid, run.run, run.name) == (uid_of(job), 1, "demo")


async def test_what_a_pod_printed_that_runs_on_is_read_in_rounds(cluster: Kept) -> None:
    async with cluster.console(await cluster.have_keeper()):
        pod = await cluster.have_pod(await cluster.have_job(), "worker-1", "one")
        await cluster.until_kept(pod, b"one\n")
        assert cluster.node.of(pod).streams == 1


async def test_of_a_pod_that_is_gone_before_it_was_read_it_is_said_that_nothing_is_known(cluster: Kept) -> None:
    keeper = await cluster.have_keeper()
    job = await cluster.have_job()
    pod = await cluster.have_pod(job, "worker-0", "one")
    async with cluster.console(keeper):
        await cluster.until_kept(pod, b"one\n")
    await cluster.remove(pod)  # while no keeper looks
    async with cluster.console(keeper):
        (path,) = cluster.directory.glob("node/pods/*/paddle/0.log")

        async def missed() -> bool:
            lacks = read_left_out(path)
            return lacks is not None and lacks.missed is not None and 0 < lacks.missed[0] <= lacks.missed[1]

        await until(missed)
    assert path.read_bytes() == b"one\n"


async def test_the_next_console_goes_on_where_the_last_one_ended(cluster: Kept) -> None:
    keeper = await cluster.have_keeper()
    pod = await cluster.have_pod(await cluster.have_job(), "worker-0", "one")
    async with cluster.console(keeper):
        await cluster.until_kept(pod, b"one\n")
    cluster.node.print(pod, "two")
    await cluster.end(pod)
    async with cluster.console(keeper):
        await cluster.until_kept(pod, b"one\ntwo\n")
    (path,) = cluster.directory.glob("node/pods/*/paddle/0.log")
    assert read_left_out(path) is None


async def test_a_second_console_of_the_same_directory_reads_and_does_not_write(cluster: Kept) -> None:
    keeper = await cluster.have_keeper()
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    async with cluster.console(keeper) as first, cluster.console(keeper) as second:
        pod = await cluster.have_pod(await cluster.have_job(), "worker-0", "one")
        await cluster.end(pod)
        await cluster.until_kept(pod, b"one\n")

        async def told() -> bool:
            return b"another process keeps" in (await ask(second, "/healthz")).body

        await until(told)
        assert (await ask(first, "/healthz")).body == b"ok\n"
        assert len((await list_logs(second, token, "demo")).logs) == 1
        assert (await list_runs(second, token)).troubles != ()


@pytest.mark.slow
async def test_a_full_claim_is_said_ends_no_page_and_is_filled_on_when_there_is_room(
    cluster: Kept, tmp_path: Path
) -> None:
    keeper = await cluster.have_keeper()
    token = await cluster.have_reader("ann", [SEES_JOBS, READS_LOGS])
    with small_disk(tmp_path / "claim", "8m") as disk:
        cluster.directory = disk / "kept"
        async with cluster.console(keeper) as url:
            first = await cluster.have_pod(await cluster.have_job("before"), "worker-0", "one")
            await cluster.end(first)
            await cluster.until_kept(first, b"one\n")
            filling = fill(disk)
            second = await cluster.have_pod(await cluster.have_job("meanwhile"), "worker-0", "two")
            await cluster.end(second)

            async def said() -> bool:
                answer = await ask(url, "/healthz")
                return answer.status == 200 and b"No space left on device" in answer.body

            await until(said)
            assert "No space left on device" in " ".join((await list_runs(url, token)).troubles)
            assert len((await list_logs(url, token, "before")).logs) == 1
            filling.unlink()
            await cluster.until_kept(second, b"two\n")

            async def well() -> bool:
                runs = [run.name for run in (await list_runs(url, token)).runs]
                return (await ask(url, "/healthz")).body == b"ok\n" and "meanwhile" in runs

            await until(well)
