"""How far a job is, in words, in tables and on pages."""

from __future__ import annotations

import pytest

from jobs.gangs import build_job, build_status
from paddock.cli.output import rows
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.jobs.model import JobProgress
from paddock.kube.meta import Manifest
from paddock.views.job_progress import tell_briefly, tell_metrics, tell_progress, tell_wide
from paddock.views.jobs import read_job_row

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("progress", "told", "wide"),
    [
        (None, "None", ""),
        (JobProgress(), "None", ""),
        (JobProgress(42, 720), "42 %, 12m left", "42 %, 12m left"),
        (JobProgress(0), "0 %", "0 %"),
        (JobProgress(remaining=30), "30s left", "30s left"),
        (JobProgress(100, 0), "100 %, 0s left", "100 %, 0s left"),
        (JobProgress(metrics={"loss": 0.521301, "lr": 1e-5}), "None", "loss 0.5213, lr 1e-05"),
        (JobProgress(42, metrics=dict.fromkeys("abcd", 1.0)), "42 %", "42 %, a 1, b 1, c 1"),
    ],
)
def test_what_is_known_is_told(progress: JobProgress | None, told: str, wide: str) -> None:
    assert str(tell_progress(progress)) == told
    assert str(tell_wide(progress)) == wide


def test_a_narrow_cell_has_one_metric_where_no_length_is_known() -> None:
    assert tell_briefly(JobProgress(metrics={"loss": 0.5, "lr": 1.0})) == "loss 0.5"
    assert str(tell_briefly(JobProgress(1, metrics={"loss": 0.5}))) == "1 %"


def test_the_description_has_all_metrics() -> None:
    assert tell_metrics(JobProgress(metrics=dict.fromkeys("abcd", 1.0))) == "a 1, b 1, c 1, d 1"
    assert tell_metrics(None) == ""


def stored(name: str, progress: JobProgress | None) -> Manifest:
    status = build_status(build_job(), progress=progress)
    metadata = {"name": name, "namespace": "default", "creationTimestamp": "2023-11-14T22:00:00Z"}
    return {"metadata": metadata, "spec": {}, "status": PADDLEPADDLE.write_status({}, status, NOW)}


def test_the_table_has_the_column_where_a_job_tells_it() -> None:
    silent, told = (
        read_job_row(PADDLEPADDLE.resource, stored(*each)) for each in (("a", None), ("b", JobProgress(42)))
    )
    assert rows.choose_columns([silent]) == ("MODE", "WORKER")
    assert rows.choose_columns([silent], known={rows.PROGRESS}) == ("MODE", "WORKER", rows.PROGRESS)
    columns = rows.choose_columns([silent, told])
    assert rows.build_job_header(columns)[2:5] == ("MODE", "WORKER", "PROGRESS")
    assert [rows.build_job_cells(each, NOW, columns=columns)[4] for each in (silent, told)] == ["", "42 %"]
