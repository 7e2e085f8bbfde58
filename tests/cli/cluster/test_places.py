"""What a command says while it follows a job on a remote cluster that nobody acts on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.cli.cluster.places import Cluster
from paddock.views.flags import Flags
from paddock.views.stored import read_stored
from paddock.words.phrases import render
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
