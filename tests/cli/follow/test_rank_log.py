"""Whose log `logs`, the end of a run and `Result.log` read where the API has none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from history.test_logs import write_log
from paddock.app.home import Home
from paddock.cli.cluster.places import Cluster, Local
from paddock.cli.follow.rank_log import fetch_log, follow_lines
from paddock.client.kubeconfig import Config
from paddock.kube.errors import BadRequest, Forbidden, NotFound
from paddock.views.flags import LOCAL
from paddock.views.stored import StoredJob, read_stored

JOB = read_stored(RESOURCE, build_manifest())
POD = {"metadata": {"namespace": "default", "name": "demo-worker-0", "uid": "new"}}


class FakeClient:
    """A node that has the text as the log of each pod, or refuses with the error."""

    def __init__(self, answer: bytes | Exception, pod: Any = None) -> None:
        self.answer, self.pod = answer, pod

    async def get(self, *_: Any) -> Any:
        if isinstance(self.pod, Exception):
            raise self.pod
        return self.pod

    async def stream_log(self, *_: Any, **options: Any) -> AsyncIterator[bytes]:
        if isinstance(self.answer, Exception):
            raise self.answer
        for start in range(0, len(self.answer), 3):
            yield self.answer[start : start + 3]


WAITING, GONE = BadRequest("container is waiting to start"), NotFound("no such pod")


@pytest.fixture
def place(tmp_path: Path) -> Local:
    return Local(Home(tmp_path, tmp_path))


async def fetch(place: Local, answer: bytes | Exception, pod: Any = POD, job: StoredJob = JOB, **options: Any) -> Any:
    said: list[str] = []
    log = await fetch_log(
        FakeClient(answer), place, job, "worker-0", pod, lambda each: said.append(str(each)), **options
    )  # type: ignore[arg-type]
    return (log, *said)


async def test_an_earlier_runs_log_is_never_shown_as_this_ones(place: Local) -> None:
    write_log(place.home.node, "demo-worker-0", "old", job="another run")
    assert await fetch(place, WAITING) == (None,)
    assert await fetch(place, GONE, None) == (None,)


async def test_a_pod_that_waits_has_not_the_log_of_the_attempt_before(place: Local) -> None:
    write_log(place.home.node, "demo-worker-0", "old", job=JOB.uid)
    assert await fetch(place, WAITING) == (None,)
    assert await fetch(place, GONE, None) == (b"x",), "of a pod that is gone the job's last"


async def test_a_pod_that_is_gone_has_the_log_that_it_wrote(place: Local) -> None:
    for pod, attempt in (("old", 0), ("new", 1)):
        write_log(place.home.node, "demo-worker-0", pod, job=JOB.uid, attempt=attempt, text=f"{pod} log\n")
    assert await fetch(place, GONE) == await fetch(place, GONE, None) == (b"new log\n",)
    client: Any = FakeClient(GONE)
    lines = [line async for batch in follow_lines(client, place, POD, "paddle") for line in batch]
    assert lines == ["new log"]


DELETED, UNREAD = (
    "demo-worker-0 was deleted before its log was read",
    "the log of demo-worker-0 cannot be read: no such pod",
)
LEAVING = {"metadata": {**POD["metadata"], "deletionTimestamp": "2026-11-30T12:00:00Z"}}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (GONE, DELETED),
        ({"metadata": {**POD["metadata"], "uid": "another"}}, DELETED),
        (LEAVING, DELETED),
        (POD, UNREAD),  # a node that was set up anew does not know it
        (Forbidden("no"), UNREAD),
    ],
)
async def test_of_a_cluster_a_pod_that_was_deleted_is_told_from_a_node_that_does_not_know_it(
    found: Any, told: str
) -> None:
    client: Any = FakeClient(GONE, found)
    remote = Cluster(Config("https://cluster"), LOCAL)
    said: list[str] = []
    async for batch in follow_lines(client, remote, POD, "paddle", notify=lambda each: said.append(str(each))):
        assert batch == []
    assert await fetch_log(client, remote, JOB, "worker-0", POD, lambda each: said.append(str(each))) is None
    assert said == [told, told]


@pytest.mark.parametrize("pod", [POD, None])
async def test_no_more_is_read_than_is_needed(place: Local, pod: Any) -> None:
    write_log(place.home.node, "demo-worker-0", "new", job=JOB.uid, text="0123456789")
    assert await fetch(place, GONE, pod, most=4) == (b"6789",)
    assert await fetch(place, b"abcdefghijk", POD, most=4) == (b"hijk",)
    assert await fetch(place, b"ab", POD, most=4) == (b"ab",)


async def test_a_log_that_was_replaced_by_a_link_is_not_read(place: Local, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret")
    log = write_log(place.home.node, "demo-worker-0", "new", job=JOB.uid)
    log.unlink()
    log.symlink_to(key)
    assert await fetch(place, GONE) == await fetch(place, GONE, None) == (None,)
