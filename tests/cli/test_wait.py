"""Whom `paddock wait` asks how a job has ended."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.app.home import Home
from paddock.cli.cluster.lookup import NoJob
from paddock.cli.cluster.places import Local
from paddock.cli.verbs.wait import wait_for
from paddock.history.records import RunRecord, write_record
from paddock.kube.api import Event
from paddock.kube.errors import NotFound

NOW = time.time()
FIRST = RunRecord(
    RESOURCE.api_version, RESOURCE.kind, "default", "demo", "first", 1, NOW - 60, ended=NOW - 30, deleted=NOW - 20,
    phase="Completed", finished=True,
)  # fmt: skip


class FakeClient:
    """A cluster with this job, or with none."""

    def __init__(self, job: Any = None) -> None:
        self.job = job

    async def get(self, resource: Any, namespace: str, name: str) -> Any:
        if self.job is None or resource != RESOURCE:
            raise NotFound(name)
        return self.job

    async def list(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(items=[])

    async def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        yield Event("ADDED", self.job)


@pytest.fixture
def place(tmp_path: Path) -> Local:
    return Local(Home(tmp_path, tmp_path))


async def wait(place: Local, job: Any = None) -> int:
    client: Any = FakeClient(job)
    return await wait_for(client, place, "default", "demo", 10.0, "completed")


async def test_the_job_that_is_there_counts_and_not_the_run_before(place: Local) -> None:
    write_record(place.home.history, FIRST)
    assert await wait(place, build_manifest() | {"status": {"phase": "Failed"}}) == 1


async def test_the_history_answers_for_a_job_that_is_gone(place: Local, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(place.home.history, FIRST)
    assert await wait(place) == 0
    assert "Completed" in capsys.readouterr().out


async def test_a_job_that_nobody_knows_is_an_error(place: Local) -> None:
    with pytest.raises(NoJob, match="there is no job 'demo'"):
        await wait(place)
