"""The annotation `paddock.dev/silent`: what is read, and what is said of what is not."""

from __future__ import annotations

import pytest

from paddock.jobs.apis.paddlepaddle import PaddlePaddleJob
from paddock.jobs.apis.silent import read_silence
from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import OnSilence, SilenceLimit
from paddock.manifests.fields import Fields

READ = [
    ("30m", SilenceLimit(1800)),
    ("30m=Tell", SilenceLimit(1800, OnSilence.TELL)),
    ("90s=Restart", SilenceLimit(90, OnSilence.RESTART)),
    ("90=Fail", SilenceLimit(90, OnSilence.FAIL)),
    ("2h=Fail", SilenceLimit(7200, OnSilence.FAIL)),
    ("", None),
]
WRONG = [
    ("30m=restart", "30m=Restart"),
    ("30min=Tell", "30m=Tell"),
    ("30 m = Fail", "30m=Fail"),
    ("30M", "30m=Tell"),
    ("1d", "24h=Tell"),
    ("2 hours=Fail", "2h=Fail"),
    ("500ms=Fail", ""),
    ("30m=Explode", ""),
    ("0m=Fail", ""),
    ("-5m", ""),
    ("soon", ""),
    ("1.5h", ""),
    ("99999999h=Fail", ""),
    (30, "30=Tell"),
    (True, ""),
    (["30m"], ""),
]


@pytest.mark.parametrize(("value", "wanted"), READ)
def test_a_time_and_what_is_done(value: str, wanted: SilenceLimit | None) -> None:
    metadata = Fields({"annotations": {SILENT_ANNOTATION: value}}, "metadata", {})
    assert (read_silence(metadata), metadata.problems) == (wanted, {})


@pytest.mark.parametrize(("value", "near"), WRONG)
def test_another_value_has_no_effect_and_a_warning(value: object, near: str) -> None:
    metadata = Fields({"annotations": {SILENT_ANNOTATION: value}}, "metadata", {})
    assert read_silence(metadata) is None
    (problem,) = metadata.problems.values()
    assert problem.severity == "warning"
    assert ("did you mean" in str(problem)) == bool(near)
    assert near in str(problem)


LIMIT = "spec.runPolicy.backoffLimit"


@pytest.mark.parametrize(
    ("value", "limit", "warned"),
    [
        ("30m=Restart", 0, [f"metadata.annotations[{SILENT_ANNOTATION}]"]),
        ("30m=Restart", 1, []),
        ("30m=Restart", None, [LIMIT]),
        ("30m=Fail", 1, [LIMIT]),
        ("30m=Fail", None, []),
    ],
    ids=["it forbids the restart", "it bounds restarts", "nothing bounds them", "it does nothing", "none"],
)
def test_what_the_limit_of_restarts_means_for_a_silent_job_is_told_before(
    value: str, limit: int | None, warned: list[str]
) -> None:
    policy = {} if limit is None else {"runPolicy": {"backoffLimit": limit}}
    container = {"name": "paddle", "image": "busybox", "command": ["true"]}
    manifest = {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "demo", "namespace": "team", "annotations": {SILENT_ANNOTATION: value}},
        "spec": {**policy, "worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}},
    }
    found = [each.path for each in PaddlePaddleJob().read_job(manifest).warnings]
    assert [path for path in found if "silent" in path or path == LIMIT] == warned
