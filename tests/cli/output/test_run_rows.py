"""The runs of the history as lines of a table, as JSON, and as one last line."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.run_rows import (
    HEADER,
    RunRow,
    build_attempt_rows,
    build_cells,
    build_document,
    build_metrics,
    explain_dropped,
    explain_end,
    mark_best,
)
from paddock.cli.output.terminal import PlainConsole, print_table
from paddock.cli.verbs.history import sort_rows
from paddock.history.metrics import Metrics
from paddock.history.records import Attempt, Cause, Renewal, RunRecord

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
    assert cells[5:] == ["", "epoch 3 step 400 loss 0.1235", "spec.worker.replicas: 2 → 4"]
    unknown = replace(BEFORE, spec={})
    assert build_cells(RunRow(replace(FAILED, spec={}), {}, unknown), 160.0)[5:] == ["", "", ""]
    here = replace(FAILED, annotations={"paddock.dev/working-directory": "/srv/proj/"})
    assert build_cells(RunRow(here, {}, None), 160.0)[5] == "/srv/proj"


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, ""),
        ({"worker-10": {"loss": 1.0}, "worker-9": {"loss": 2.0}}, "loss 2"),
        ({"worker-0": {"step": 7}}, "step 7"),
        ({"worker-0": {"loss": "nan"}}, "loss nan"),
        ({"odd": {"epoch": 1}}, "epoch 1"),
        ({"worker-0": {"epoch": 1, "loss": 0.5, "val_loss": 0.75, "lr": 0.1}}, "epoch 1 loss 0.5 val_loss 0.75 lr 0.1"),
        ({"worker-0": {"step": 1, "train-rmse": 0.5, "eval-rmse": 0.75}}, "step 1 train-rmse 0.5 eval-rmse 0.75"),
        ({"worker-0": {"epoch": 1, "accuracy": 0.5, "lr": 0.1}}, "epoch 1 accuracy 0.5 lr 0.1"),
        ({"worker-0": {"step": 100, "accuracy@step": 50, "accuracy": 0.5}}, "step 100 accuracy 0.5 (step 50)"),
        (
            {
                "worker-0": {
                    "epoch": 3,
                    "step": 9,
                    "loss": 0.5,
                    "val_loss": 0.75,
                    "val_loss@epoch": 2,
                    "val_loss@step": 40,
                }
            },
            "epoch 3 step 9 loss 0.5 val_loss 0.75 (epoch 2)",
        ),
        (
            {"worker-0": {"epoch": 3, "step": 9, "loss": 0.5, "loss@epoch": 3, "loss@step": 8}},
            "epoch 3 step 9 loss 0.5 (step 8)",
        ),
    ],
)
def test_the_first_rank_stands_for_all(metrics: dict[str, Metrics], said: str) -> None:
    assert build_metrics(metrics) == said


@pytest.mark.parametrize("width", [60, 80, 110, 166])
def test_no_line_of_a_table_of_runs_is_wider_than_the_terminal(width: int) -> None:
    """And nothing of it is left out."""
    numbers = {"epoch": 2, "val_loss": 1.038, "accuracy": 0.057, "val_accuracy": 0.43, "lr": 0.1}
    rows = mark_best([
        RunRow(replace(RUN, name="cnn-" * number * 6), {"w-0": {**numbers, "loss": 1.0 * number}}, BEFORE)
        for number in (1, 2)
    ])  # fmt: skip
    file = io.StringIO()
    console = PlainConsole(file=file, width=width, force_terminal=True, color_system=None)
    print_table(console, HEADER, [build_cells(row, 160.0) for row in rows], cut=True)
    printed = file.getvalue()
    assert max(map(len, printed.splitlines())) <= width
    assert "loss 1* " in " ".join(printed.split()) and " ".join(printed.split()).count("val_accuracy 0.43") == 2
    assert printed.count("spec.worker.replicas:") == 2 and "cnn-" * 12 in printed


def test_rows_are_sorted_by_what_a_program_was_asked_for_and_by_what_it_found() -> None:
    def row(number: int, lr: str, accuracy: float) -> RunRow:
        spec = {"worker": {"template": {"spec": {"containers": [{"name": "c", "command": ["t", "--lr", lr]}]}}}}
        return RunRow(replace(RUN, run=number, spec=spec), {"w-0": {"lr": 0.0, "val_acc": accuracy}}, None)

    rows = [row(1, "0.1", 0.5), row(2, "1e-3", 0.75), row(3, "3", 0.25)]
    found = {
        sort: [each.run.run for each in sort_rows(rows, sort, 160.0)] for sort in ("lr", "val_acc", "-run", "took")
    }
    assert found == {"lr": [2, 1, 3], "val_acc": [2, 1, 3], "-run": [3, 2, 1], "took": [1, 2, 3]}
    with pytest.raises(UserError, match=r"no run here has 'val_ac'; did you mean 'val_acc'\?; there are val_acc, lr"):
        sort_rows(rows, "val_ac", 160.0)


KEPT = replace(
    FAILED, phase="Completed",
    cause=Cause("CompletedServersKept", {"succeeded": 2, "kept": ["ps-0"], "policy": "Never"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            replace(
                FAILED,
                phase="Completed",
                cause=Cause("Completed", {"failed": ["worker-1"], "code": 1, "error": "E: x"}),
            ),
            "demo run 2: Completed in 12s, but worker-1 failed: E: x (exit code 1)",
        ),
        (
            replace(RUN, phase="Suspended", given_up="timeout", ended=130.0),
            "demo run 2: Suspended after 30s (--timeout)",
        ),
        (
            KEPT,
            "demo run 2: Completed in 12s: 2 ranks succeeded; cleanPodPolicy Never keeps ps-0, which still runs; "
            "delete the job to end it",
        ),
        (replace(KEPT, deleted=500.0), "demo run 2: Completed in 12s: 2 ranks succeeded"),
    ],
)
def test_the_last_line_says_how_it_ended(run: RunRecord, said: str) -> None:
    """Of other ends tests/net has it."""
    assert explain_end(run) == said


def test_a_run_as_json_has_its_attempts_and_changes() -> None:
    document: dict[str, Any] = build_document(RunRow(FAILED, {"worker-0": {"loss": 1.0}}, BEFORE), {0: ("worker-0",)})
    assert json.loads(json.dumps(document)) == document
    assert (document["run"], document["outcome"], document["ended"]) == (2, "Failed", "1970-01-01T00:01:52Z")
    assert document["changed"] == ["spec.worker.replicas: 2 → 4"]
    assert document["attempts"] == [{"attempt": 0, "began": "1970-01-01T00:01:40Z", "cause": None,
                                     "ranks": ["worker-0"]}]  # fmt: skip
    assert document["cause"]["sentence"].startswith("failed: worker-0 ended with exit code 3")


def test_attempts_of_one_second_have_times_of_their_own() -> None:
    run = replace(RUN, attempts=(Attempt(0, 100.25), Attempt(1, 100.75), Attempt(2, 103.5)))
    times = [row[1].split()[1] for row in build_attempt_rows(run, {})]
    assert [each.rpartition(":")[2] for each in times] == ["40.250", "40.750", "43"]
    document = build_document(RunRow(run, {}, None), {})
    assert [each["began"] for each in document["attempts"]] == [
        "1970-01-01T00:01:40.250000Z", "1970-01-01T00:01:40.750000Z", "1970-01-01T00:01:43Z",
    ]  # fmt: skip


LOST = Cause("PodsDeleted", {"ranks": ["worker-10"], "alone": ["worker-10"]})
RENEWED = replace(
    RUN,
    attempts=(Attempt(0, 100.0), Attempt(1, 130.0, Cause("Resized", {"wanted": 4}))),
    renewals=(Renewal(0, 110.0, ("worker-10", "worker-9"), LOST), Renewal(0, 120.0, ("worker-1",)),
              Renewal(1, 140.0, ("worker-2",), LOST)),
)  # fmt: skip


def test_a_rank_that_was_started_again_alone_has_a_line_beneath_its_attempt() -> None:
    rows = build_attempt_rows(RENEWED, {0: ("worker-0", "worker-1")})
    why = "starting worker-10 again alone: worker-10 was deleted; not counted as a restart"
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("0", "worker-0 worker-1", ""),
        ("0", "worker-9 worker-10", why),
        ("0", "worker-1", "started again alone"),
        ("1", "", rows[3][3]),
        ("1", "worker-2", why),
    ]
    assert "resized" in rows[3][3]
    assert [row[1] for row in rows] == sorted(row[1] for row in rows), "they are in the order of time"


def test_lines_that_are_not_kept_are_counted() -> None:
    assert explain_dropped(RENEWED) is None
    assert [str(explain_dropped(replace(RENEWED, renewals_dropped=count))) for count in (1, 7)] == [
        "1 earlier time that ranks were started again alone is not kept",
        "7 earlier times that ranks were started again alone are not kept",
    ]


def test_json_has_when_ranks_were_started_again_alone() -> None:
    document: dict[str, Any] = build_document(RunRow(RENEWED, {}, None), {})
    assert json.loads(json.dumps(document)) == document
    assert document["renewals"][1] == {
        "attempt": 0, "began": "1970-01-01T00:02:00Z", "cause": None, "ranks": ["worker-1"],
    }  # fmt: skip
    assert document["renewals"][0]["ranks"] == ["worker-9", "worker-10"]
