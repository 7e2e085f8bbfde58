"""A job is read again when its manifest says something else."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import Status
from paddock.jobs.text.problems import InvalidJob
from paddock.kube.meta import Key, Manifest
from paddock.operator.job_reader import REMEMBERED, JobReader
from paddock.operator.job_state import JobRef
from support.operator_seam import build_job

REF = JobRef(PADDLEPADDLE.resource, Key("default", "demo"))


def stored(**metadata: Any) -> Manifest:
    job = build_job()
    return {**job, "metadata": {**job["metadata"], "uid": "u", "generation": 1, "resourceVersion": "1", **metadata}}


def test_a_version_that_differs_in_its_status_alone_is_the_same_job() -> None:
    reader = JobReader()
    first, _ = reader.read(REF, PADDLEPADDLE, stored(), Status())
    again, _ = reader.read(REF, PADDLEPADDLE, {**stored(resourceVersion="2"), "status": {"phase": "Running"}}, Status())
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
def test_every_other_difference_is_read(changed: Manifest) -> None:
    reader = JobReader()
    reader.read(REF, PADDLEPADDLE, stored(), Status())
    job, refusal = reader.read(REF, PADDLEPADDLE, changed, Status())
    assert (job, refusal) == (PADDLEPADDLE.read_job(changed), None)


def test_what_is_invalid_is_not_remembered() -> None:
    reader = JobReader()
    reader.read(REF, PADDLEPADDLE, stored(), Status())
    for _ in range(2):
        with pytest.raises(InvalidJob):
            reader.read(REF, PADDLEPADDLE, stored() | {"spec": {}}, Status())


def test_the_jobs_that_were_read_last_are_remembered() -> None:
    reader = JobReader()
    for number in range(REMEMBERED + 10):
        reader.read(JobRef(REF.resource, Key("default", f"demo-{number}")), PADDLEPADDLE, stored(), Status())
    assert len(reader._read) == REMEMBERED
