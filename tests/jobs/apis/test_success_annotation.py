"""`paddock.dev/success`: who decides, in every kind of job; a value that is not known has a warning alone."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.samples import KUBEFLOW_JOBS, PYTORCH_JOBS, SAMPLES, read_manifest
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.apis.success import write_success
from paddock.jobs.labels import SUCCESS_ANNOTATION
from paddock.jobs.model import Job, Success


def read(sample: str, value: Any = None) -> Job:
    manifest = read_manifest(sample)
    if value is not None:
        manifest["metadata"] |= {"annotations": {SUCCESS_ANNOTATION: value}}
    api = next(api for api in KINDS.values() if api.resource.kind == manifest["kind"]
               and api.resource.api_version == manifest["apiVersion"])  # fmt: skip
    return api.read_job(manifest)


def name_deciding(job: Job) -> list[str]:
    return [role.name for role in job.roles if role.decides]


@pytest.mark.parametrize("sample", SAMPLES)
def test_all_roles_that_train_decide_and_those_that_serve_never(sample: str) -> None:
    plain, job = read(sample), read(sample, "AllRanks")
    assert plain.success == Success()
    assert job.success == Success(all_ranks=True)
    assert name_deciding(job) == [role.name for role in job.roles if role.trains]
    assert [role.serves for role in job.roles] == [role.serves for role in plain.roles]
    assert job.one_decides == plain.one_decides  # the ranks of an elasticPolicy keep their rules


@pytest.mark.parametrize("sample", ["wide_and_deep", *KUBEFLOW_JOBS, *PYTORCH_JOBS])
@pytest.mark.parametrize(("seconds", "value"), [(None, "AllRanks"), (600, "AllRanks:600"), (1, "AllRanks:1")])
def test_what_is_written_is_read(sample: str, seconds: int | None, value: str) -> None:
    assert write_success(seconds) == value
    job = read(sample, value)
    assert job.success == Success(True, seconds)
    assert job.warnings == read(sample).warnings


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("allranks", "AllRanks"),
        ("AllRank", "AllRanks"),
        ("All-Ranks:60", "AllRanks:60"),
        ("AllRanks:60s", "AllRanks:60"),
        ("AllRanks:10m", "AllRanks:600"),
        ("AllRanks:0", "AllRanks"),
        ("AllRanks:-5", "AllRanks"),
        ("AllRanks:1.5", "AllRanks"),
        ("AllRanks:", "AllRanks"),
        ("AllRanks ", "AllRanks"),
        ("AllRanks:٣", "AllRanks"),
        ("Master", ""),
        ("true", ""),
    ],
)
def test_another_value_has_a_warning_with_the_nearest_right_one(value: str, near: str) -> None:
    job = read("pytorch_mnist", value)
    assert (job.success, name_deciding(job)) == (Success(), ["master"])
    (warning,) = (each for each in job.warnings if SUCCESS_ANNOTATION in each.path)
    assert warning.severity == "warning"
    ends = f'; did you mean "{near}"?' if near else "AllRanks:600"
    assert warning.message.startswith(f'has no effect: found "{value}"; there are AllRanks and')
    assert warning.message.endswith(ends)


def test_an_empty_text_means_the_default_as_everywhere() -> None:
    job = read("pytorch_mnist", "")
    assert job.success == Success()
    assert job.warnings == read("pytorch_mnist").warnings
