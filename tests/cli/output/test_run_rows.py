"""The runs of the history as lines of a table, as JSON, and as one last line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from paddock.cli.output.run_rows import RunRow, build_cells, build_document, build_metrics, explain_end
from paddock.history.records import Attempt, Cause, Metrics, RunRecord

RUN = RunRecord(
    "batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "u", 2, 100.0,
    spec={"worker": {"replicas": 4}}, attempts=(Attempt(0, 100.0),),
)  # fmt: skip
FAILED = replace(
    RUN, phase="Failed", finished=True, ended=112.0, cause=Cause("RankFailed", {"ranks": ["worker-0"], "code": 3})
)
BEFORE = replace(RUN, uid="t", run=1, spec={"worker": {"replicas": 2}})


@pytest.mark.parametrize(
    ("row", "took", "ended"),
    [
        (RunRow(FAILED, {}, None), "12s", "Failed"),
        (RunRow(replace(RUN, phase="Running"), {}, None), "60s", "Running"),
        (RunRow(replace(RUN, phase="Running"), {}, None, is_up=False), "", "Running, cluster down"),
        (RunRow(replace(RUN, phase="Running", ended=105.0, deleted=105.0), {}, None, is_up=False), "5s", "Stopped"),
        (RunRow(replace(RUN, phase="Suspended", given_up="timeout", ended=130.0), {}, None), "30s", "TimedOut"),
    ],
)
def test_a_row_says_how_long_it_took_and_how_it_ended(row: RunRow, took: str, ended: str) -> None:
    cells = build_cells(row, 160.0)
    assert (cells[0], cells[1], cells[3], cells[4]) == ("demo", "2", took, ended)


def test_a_row_says_what_changed_and_the_last_numbers() -> None:
    cells = build_cells(RunRow(FAILED, {"worker-0": {"epoch": 3, "step": 400, "loss": 0.1234567}}, BEFORE), 160.0)
    assert cells[5:] == ["epoch 3 step 400 loss 0.1235", "spec.worker.replicas: 2 → 4"]
    unknown = replace(BEFORE, spec={})
    assert build_cells(RunRow(replace(FAILED, spec={}), {}, unknown), 160.0)[5:] == ["", ""]


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, ""),
        ({"worker-10": {"loss": 1.0}, "worker-9": {"loss": 2.0}}, "loss 2"),
        ({"worker-0": {"step": 7}}, "step 7"),
        ({"worker-0": {"loss": "nan"}}, "loss nan"),
        ({"odd": {"epoch": 1}}, "epoch 1"),
    ],
)
def test_the_first_rank_stands_for_all(metrics: dict[str, Metrics], said: str) -> None:
    assert build_metrics(metrics) == said


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (FAILED, "demo run 2: Failed after 12s: worker-0 ended with exit code 3; its log has the reason"),
        (
            replace(FAILED, phase="Completed", cause=Cause("Completed", {"succeeded": 2})),
            "demo run 2: Completed in 12s: 2 ranks succeeded",
        ),
        (replace(RUN, ended=105.0, deleted=105.0), "demo run 2: Stopped after 5s: the job was deleted"),
        (
            replace(RUN, phase="Suspended", given_up="timeout", ended=130.0),
            "demo run 2: Suspended after 30s (--timeout)",
        ),
        (replace(RUN, phase="Running"), "demo run 2: Running"),
    ],
)
def test_the_last_line_says_how_it_ended(run: RunRecord, said: str) -> None:
    assert explain_end(run) == said


def test_a_run_as_json_has_its_attempts_and_changes() -> None:
    document: dict[str, Any] = build_document(RunRow(FAILED, {"worker-0": {"loss": 1.0}}, BEFORE), {0: ("worker-0",)})
    assert json.loads(json.dumps(document)) == document
    assert (document["run"], document["outcome"], document["ended"]) == (2, "Failed", "1970-01-01T00:01:52Z")
    assert document["changed"] == ["spec.worker.replicas: 2 → 4"]
    assert document["attempts"] == [{"attempt": 0, "began": "1970-01-01T00:01:40Z", "cause": None,
                                     "ranks": ["worker-0"]}]  # fmt: skip
    assert document["cause"]["sentence"].startswith("failed: worker-0 ended with exit code 3")
