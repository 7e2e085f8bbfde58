"""A job is read again when its manifest says something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Status
from paddock.kube.meta import Key, Manifest
from paddock.operator.aside import Aside
from paddock.operator.job_reader import REMEMBERED, JobReader
from paddock.operator.job_state import JobRef
from paddock.words.problems import InvalidJob
from support.operator_seam import build_job

REF = JobRef(PADDLEPADDLE.resource, Key("default", "demo"))


def stored(**metadata: Any) -> Manifest:
    job = build_job()
    return {**job, "metadata": {**job["metadata"], "uid": "u", "generation": 1, "resourceVersion": "1", **metadata}}


async def test_a_version_that_differs_in_its_status_alone_is_the_same_job() -> None:
    reader = JobReader(Aside())
    first, _ = await reader.read(REF, PADDLEPADDLE, stored(), Status())
    again, _ = await reader.read(
        REF, PADDLEPADDLE, {**stored(resourceVersion="2"), "status": {"phase": "Running"}}, Status()
    )
    assert again is first


@pytest.mark.parametrize(
    "changed",
    [
        stored(uid="another"),
        stored(generation=2),
        stored(annotations={"paddock.dev/cancel": "by me"}),
        stored(deletionTimestamp="2026-01-01T00:00:00Z"),
        stored() | {"spec": build_job(worker=3)["spec"]},
    ],
    ids=["uid", "generation", "annotation", "deletion", "spec"],
)
async def test_every_other_difference_is_read(changed: Manifest) -> None:
    reader = JobReader(Aside())
    await reader.read(REF, PADDLEPADDLE, stored(), Status())
    job, refusal = await reader.read(REF, PADDLEPADDLE, changed, Status())
    assert (job, refusal) == (PADDLEPADDLE.read_job(changed), None)


async def test_what_is_invalid_is_not_remembered() -> None:
    reader = JobReader(Aside())
    await reader.read(REF, PADDLEPADDLE, stored(), Status())
    for _ in range(2):
        with pytest.raises(InvalidJob):
            await reader.read(REF, PADDLEPADDLE, stored() | {"spec": {}}, Status())


async def test_the_jobs_that_were_read_last_are_remembered() -> None:
    reader = JobReader(Aside())
    for number in range(REMEMBERED + 10):
        await reader.read(JobRef(REF.resource, Key("default", f"demo-{number}")), PADDLEPADDLE, stored(), Status())
    assert len(reader._read) == REMEMBERED


async def test_a_large_manifest_is_read_beside_the_loop() -> None:
    """And a small one at once: each reconcile reads one."""

    class Noted(Aside):
        small: ClassVar[list[bool]] = []

        async def run(self, decide: Callable[[], Any], *, small: bool) -> Any:
            self.small.append(small)
            return await super().run(decide, small=small)

    job = stored()
    env = [{"name": f"E{number}", "value": "x" * 40} for number in range(2_000)]
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = env
    large, _ = await JobReader(Noted()).read(REF, PADDLEPADDLE, job, Status())
    await JobReader(Noted()).read(REF, PADDLEPADDLE, stored(), Status())
    assert large == PADDLEPADDLE.read_job(job)
    assert Noted.small == [False, True]
