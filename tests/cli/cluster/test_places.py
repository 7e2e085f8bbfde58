"""What a command says while it follows a job: on a remote cluster that nobody acts on, and on a full disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home, Lock, Running, write_running
from paddock.app.launch import Started, StartError
from paddock.cli.cluster import places
from paddock.cli.cluster.errors import Failed, NotFollowed, explain_error
from paddock.cli.cluster.places import Cluster, Local
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.submitter import submit
from paddock.views.flags import Flags
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import phrase, render
from support.operator_seam import JOBS, build_job, open_cluster
from support.waiting import until


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalApi]:
    async with open_cluster(tmp_path) as api:
        yield api


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({}, "no operator has taken the job yet: none seems to run"),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "managed by kueue.x-k8s.io/multikueue, not by Paddock"),
    ],
)
async def test_a_job_without_a_status_is_explained_once(cluster: LocalApi, policy: dict[str, Any], said: str) -> None:
    job = read_stored(JOBS, await cluster.create(JOBS, build_job(runPolicy=policy)))
    place = Cluster(config=None, flags=Flags(" --context c"), status_seconds=0.0)  # type: ignore[arg-type]
    told: list[str] = []
    attending = asyncio.create_task(place.attend(cluster, job, lambda each: told.append(render(each))))  # type: ignore[arg-type]

    async def is_told() -> bool:
        return bool(told)

    await until(is_told)
    attending.cancel()
    await asyncio.gather(attending, return_exceptions=True)
    (line,) = told
    assert line.startswith(said)


FULL = "the disk that holds {home}/node is full (0 B of 0 B free): nothing is recorded until some of it is free."


@pytest.fixture
def full_home(tmp_path: Path) -> Iterator[Home]:
    """Of a cluster that is up, with a disk for its node that has no room."""
    root = tmp_path / "home"
    root.mkdir()
    (root / "node").symlink_to("/proc")
    home = Home(root, root)
    lock = Lock(home)
    assert lock.acquire()
    yield home
    lock.release()


@pytest.mark.parametrize("phase", ["", "Pending", "Starting"])
async def test_a_job_that_cannot_begin_on_a_full_disk_is_not_followed_for_ever(
    cluster: LocalApi, full_home: Home, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_FULL_SECONDS", 0.0)
    job = await _create(cluster, phase)
    told: list[str] = []
    said = str(await Local(full_home).attend(cluster, job, lambda each: told.append(str(each))))  # type: ignore[arg-type]
    assert [line.startswith(FULL.format(home=full_home.root)) for line in told] == [True]
    assert said.startswith(told[0])
    assert said.endswith(
        f"the job is kept and begins when there is room: `paddock logs {job.key.name} -f` follows it, "
        f"`paddock delete {job.key.name}` removes it"
    )


async def test_a_job_that_runs_is_followed_on_while_the_disk_is_full_and_room_is_told(
    cluster: LocalApi, full_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_FULL_SECONDS", 0.0)
    job = await _create(cluster, "Running")
    told: list[str] = []
    looks = 0
    waits = places._waits

    async def counted(*given: Any) -> bool:
        nonlocal looks
        looks += 1
        return await waits(*given)

    monkeypatch.setattr(places, "_waits", counted)
    attending = asyncio.create_task(Local(full_home).attend(cluster, job, lambda each: told.append(str(each))))  # type: ignore[arg-type]

    async def is_looked_at() -> bool:
        return looks > 1

    await until(is_looked_at)
    assert not attending.done() and len(told) == 1
    (full_home.root / "node").unlink()

    async def is_told() -> bool:
        return len(told) > 1

    await until(is_told)
    assert told[1] == "the disk has room again: what happens to the job is recorded"
    attending.cancel()
    await asyncio.gather(attending, return_exceptions=True)


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        (0, ["the cluster was killed; started again in 0.0 s, the job goes on"]),
        (2, ["the cluster was killed; started again in 0.0 s, the job goes on"]),
        (3, ["the cluster ended while it started: signal 9 killed it",
             "the job is kept, and its ranks go on: `paddock logs demo -f` starts the cluster and follows it"]),
    ],
)  # fmt: skip
async def test_a_cluster_that_is_killed_while_it_is_started_again_is_started_once_more(
    failures: int, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job goes on meanwhile, so its `run` does not end as one that failed."""
    home, left = Home(tmp_path, tmp_path), failures
    killed = Running(pid=0, url="", started=0.0, version="", machine="", sandbox="none")
    write_running(home, killed)

    def start(_: Home) -> Started:
        nonlocal left
        left -= 1
        if left >= 0:
            raise StartError(phrase("the cluster ended while it started: {why}", why="signal 9 killed it"))
        home.record.unlink()
        return Started(killed, 0.0, fresh=True)

    monkeypatch.setattr(places, "_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(places.launch, "start", start)
    job, said = read_stored(JOBS, {**build_job(), "metadata": {"name": "demo", "namespace": "default"}}), list[str]()
    attending = Local(home).attend(None, job, lambda each: said.append(str(each)))  # type: ignore[arg-type]
    if failures < 3:
        assert "the cluster was stopped" in str(await attending)
        assert said == told
        return
    with pytest.raises(NotFollowed) as ended:
        await attending
    explained = explain_error(ended.value)
    assert explained is not None and (explained.message.splitlines(), explained.exit_code) == (told, 3)


async def test_nothing_is_submitted_to_a_full_disk(cluster: LocalApi, full_home: Home) -> None:
    with pytest.raises(Failed) as refused:
        await submit(Submission(cluster, Local(full_home), [], lambda _: None))
    first, second = refused.value.said
    assert str(first).startswith(FULL.format(home=full_home.root)) and str(second) == "nothing was submitted"


async def _create(cluster: LocalApi, phase: str) -> StoredJob:
    created = await cluster.create(JOBS, build_job())
    if phase:
        where = (JOBS, created["metadata"]["namespace"], created["metadata"]["name"])
        created = await cluster.patch(*where, {"status": {"phase": phase}}, subresource="status")
    return read_stored(JOBS, created)
