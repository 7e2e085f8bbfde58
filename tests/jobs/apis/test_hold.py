"""The annotation `paddock.dev/hold` of a job, and what its pods get of it."""

from __future__ import annotations

import pytest

from jobs.gangs import build_job
from paddock.jobs.apis.hold import read_hold
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import annotations_of
from paddock.manifests.fields import Fields


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("", None), ("0", None), ("25h", None), (30, None)])
def test_a_value_that_is_none_has_a_warning_and_no_effect(text: object, seconds: int | None) -> None:
    fields = Fields({"annotations": {HOLD_ANNOTATION: text}}, "metadata", {})
    assert read_hold(fields) == seconds
    problems = list(fields.problems.values())
    assert [each.severity for each in problems] == (["warning"] if text and seconds is None else [])


def test_pods_are_told_of_it_on_a_laptop_alone() -> None:
    job = build_job(hold=1800)
    rank = Rank("worker", 0)
    local = build_pod(job, rank, 0, None, Settings(output_root="/outputs"))
    assert annotations_of(local)[HOLD_ANNOTATION] == "1800s"
    assert HOLD_ANNOTATION not in annotations_of(build_pod(job, rank, 0, None, Settings()))
    without = build_pod(build_job(), rank, 0, None, Settings(output_root="/outputs"))
    assert HOLD_ANNOTATION not in annotations_of(without)
