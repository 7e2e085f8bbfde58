"""Kinds that nothing is done for: when that begins, when it ends, and what their jobs say meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from operator_seam import JOBS, Seam, build_job, open_cluster
from paddock.jobs.labels import HALTED_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of
from paddock.operator.events import Events
from paddock.operator.halts import SECONDS, Halts


@pytest.fixture
async def seam(tmp_path: Path) -> AsyncIterator[Seam]:
    async with open_cluster(tmp_path) as api:
        yield Seam(api)


def build_halts(seam: Seam) -> Halts:
    return Halts(seam, Events(seam, lambda: 1000.0), lambda: 1000.0)


async def annotation_of(seam: Seam, name: str) -> str | None:
    return annotations_of(await seam.api.get(JOBS, "default", name)).get(HALTED_ANNOTATION)


async def halted(seam: Seam, halts: Halts, name: str) -> Manifest:
    job = await seam.api.create(JOBS, build_job(name))
    await halts.begin(JOBS, job, ["attempt"])
    return await seam.api.get(JOBS, "default", name)


async def test_a_record_that_was_kept_ends_the_halt_of_the_kind(seam: Seam) -> None:
    halts = build_halts(seam)
    job = await halted(seam, halts, "demo")
    assert (halts.left(JOBS), await annotation_of(seam, "demo") is None) == (SECONDS, False)
    await halts.lift(JOBS, job)
    assert (halts.left(JOBS), await annotation_of(seam, "demo")) == (0.0, None)


async def test_a_job_of_which_there_is_nothing_to_record_ends_no_halt(seam: Seam) -> None:
    """Whether the server keeps what is written, its pass has not seen."""
    halts = build_halts(seam)
    job = await halted(seam, halts, "demo")
    await halts.clear(JOBS, job)
    assert (halts.left(JOBS), await annotation_of(seam, "demo")) == (SECONDS, None)
