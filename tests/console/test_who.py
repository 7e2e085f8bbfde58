"""Who has submitted and changed a job, and which nodes it avoids, on pages of a cluster; a laptop has one person."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from console.test_pages import text_of
from paddock.jobs.labels import CHANGED_BY_ANNOTATION, CREATED_BY_ANNOTATION
from paddock.jobs.people import Change, write_change
from paddock.kube.meta import Manifest
from paddock.kube.times import format_time
from support.places import serve_place

JOB = "/jobs/team/paddlejobs.batch.paddlepaddle.org/mine"
BOT = "system:serviceaccount:ci:bot<b>"


def build_job() -> Manifest:
    job = build_manifest()
    job["metadata"] |= {
        "name": "mine",
        "namespace": "team",
        "uid": "one",
        "generation": 2,
        "annotations": {
            CREATED_BY_ANNOTATION: BOT,
            CHANGED_BY_ANNOTATION: write_change(Change("ada@example.com", "edited", 2)),
        },
    }
    accused = {"reason": "NodeLost", "attempts": [1], "until": format_time(time.time() + 3600)}
    job["status"] = {"phase": "Running", "attempt": 2, "suspects": {"gpu-7": accused}}
    return job


@pytest.mark.parametrize("local", [False, True], ids=["a cluster", "a laptop"])
async def test_a_job_says_by_whom_it_is_and_who_changed_it(tmp_path: Path, local: bool) -> None:
    async with serve_place({RESOURCE: [build_job()]}, tmp_path, local=local) as place:
        page, listed = await place.read(JOB), await place.read("/?columns=name,owner")
    assert ("Submitted by service account bot<b> of ci" in text_of(page)) is not local
    assert ("Last change edited by ada@example.com" in text_of(page)) is not local
    assert 'title="submitted by service account bot&lt;b&gt; of ci"' in listed or local
    assert ("service account bot<b> of ci" in text_of(listed)) is not local
    assert "node gpu-7 is avoided until" in text_of(page) and "(attempt 1: the node was lost)" in text_of(page)
