"""Halted kinds: when a halt begins and ends, and the annotation of their jobs meanwhile."""

from __future__ import annotations

from paddock.controllers.events import EventRecorder
from paddock.jobs.labels import HALTED_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of
from paddock.operator.operator import COMPONENT
from paddock.operator.pruned_status import RETRY_SECONDS, PrunedStatusGuard
from support.operator_seam import JOBS, Seam, build_job


def build_guard(seam: Seam) -> PrunedStatusGuard:
    return PrunedStatusGuard(seam, EventRecorder(seam, lambda: 1000.0, COMPONENT), lambda: 1000.0)


async def annotation_of(seam: Seam, name: str) -> str | None:
    return annotations_of(await seam.api.get(JOBS, "default", name)).get(HALTED_ANNOTATION)


async def halted(seam: Seam, guard: PrunedStatusGuard, name: str) -> Manifest:
    job = await seam.api.create(JOBS, build_job(name))
    await guard.halt(JOBS, job, ["attempt"])
    return await seam.api.get(JOBS, "default", name)


async def test_a_status_that_the_server_kept_resumes_the_kind(seam: Seam) -> None:
    guard = build_guard(seam)
    job = await halted(seam, guard, "demo")
    assert (guard.retry_in(JOBS), await annotation_of(seam, "demo") is None) == (RETRY_SECONDS, False)
    await guard.resume(JOBS, job)
    assert (guard.retry_in(JOBS), await annotation_of(seam, "demo")) == (0.0, None)


async def test_a_job_with_nothing_to_record_does_not_resume_the_kind(seam: Seam) -> None:
    """Its reconcile has written nothing, so the server may still prune."""
    guard = build_guard(seam)
    job = await halted(seam, guard, "demo")
    await guard.clear(JOBS, job)
    assert (guard.retry_in(JOBS), await annotation_of(seam, "demo")) == (RETRY_SECONDS, None)
