"""The annotation `paddock.dev/idle`: what is read, and what is said of what is not."""

from __future__ import annotations

import pytest

from paddock.jobs.apis.idle import read_idle
from paddock.jobs.labels import IDLE_ANNOTATION
from paddock.jobs.model import IdleLimit, OnIdle
from paddock.manifests.fields import Fields


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("30m", IdleLimit(1800)),
        ("30m=Tell", IdleLimit(1800, OnIdle.TELL)),
        ("1h=Suspend", IdleLimit(3600, OnIdle.SUSPEND)),
        ("90=Suspend", IdleLimit(90, OnIdle.SUSPEND)),
        ("", None),
    ],
)
def test_a_time_and_what_is_done(value: str, wanted: IdleLimit | None) -> None:
    metadata = Fields({"annotations": {IDLE_ANNOTATION: value}}, "metadata", {})
    assert (read_idle(metadata), metadata.problems) == (wanted, {})


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("1h=suspend", "1h=Suspend"),
        ("1h=Suspended", "1h=Suspend"),
        ("2 hours", "2h=Tell"),
        ("1d=Suspend", "24h=Suspend"),
        ("1h=Restart", ""),
        ("0h", ""),
        ("soon", ""),
        (30, "30=Tell"),
        (True, ""),
    ],
)
def test_another_value_has_no_effect_and_a_warning_with_its_place(value: object, near: str) -> None:
    metadata = Fields({"annotations": {IDLE_ANNOTATION: value}}, "metadata", {})
    assert read_idle(metadata) is None
    ((path, problem),) = metadata.problems.items()
    assert path == f'metadata.annotations["{IDLE_ANNOTATION}"]' or IDLE_ANNOTATION in str(path)
    assert problem.severity == "warning"
    assert "1h=Tell, 1h=Suspend" in str(problem)
    assert (f"did you mean {near}" in str(problem).replace("'", "").replace('"', "")) == bool(near)
