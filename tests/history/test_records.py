"""Records of runs: what is written is read back, and what is damaged or foreign is skipped."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.history.records import (
    Attempt,
    Cause,
    Damaged,
    Renewal,
    RunRecord,
    find_runs,
    next_run,
    path_of,
    read_records,
    remove_record,
    write_record,
)

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "uid-1", 1, 100.0)


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    cause = Cause("RankFailed", {"ranks": ["worker-0"], "code": 3}, 120.0)
    full = replace(
        RUN, ended=130.0, deleted=140.0, spec={"worker": {"replicas": 2}}, annotations={"paddock.dev/resume": "true"},
        phase="Failed", finished=True, cause=cause, restarts=1, attempts=(Attempt(0, 100.0), Attempt(1, 110.0, cause)),
        metrics={"worker-0": {"epoch": 3, "loss": 0.5}},
        renewals=(Renewal(1, 115.0, ("worker-1",), cause),), renewals_dropped=2, renewed={"worker-1": 3},
    )  # fmt: skip
    write_record(tmp_path / "history", full)
    assert find_runs(tmp_path / "history", "default", "demo") == [full]
    assert full.attempt == 1


def test_records_are_private_and_replaced_in_one_step(tmp_path: Path) -> None:
    directory = tmp_path / "history"
    write_record(directory, RUN)
    write_record(directory, replace(RUN, phase="Running"))
    path = path_of(directory, RUN)
    assert [each.name for each in path.parent.iterdir()] == ["uid-1.json"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert {each.stat().st_mode & 0o777 for each in (directory, *path.parents[:2])} == {0o700}


def test_runs_of_a_name_come_oldest_first_and_are_numbered_for_each_kind(tmp_path: Path) -> None:
    of_kubeflow = replace(RUN, api_version="kubeflow.org/v1", uid="uid-k")
    for each in (replace(RUN, run=10, uid="b"), replace(RUN, run=9, uid="c"), of_kubeflow, replace(RUN, name="other")):
        write_record(tmp_path, each)
    runs = find_runs(tmp_path, "default", "demo")
    assert [each.uid for each in runs] == ["c", "b", "uid-k"]
    assert (next_run(runs, RUN.identity), next_run(runs, of_kubeflow.identity)) == (11, 2)
    assert next_run([], RUN.identity) == 1
    assert len(list(read_records(tmp_path))) == 4
    assert find_runs(tmp_path, "default", "missing") == find_runs(tmp_path, "..", "x") == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"kind": 3}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_record_is_reported_and_the_others_are_read(tmp_path: Path, content: bytes) -> None:
    write_record(tmp_path, RUN)
    bad = path_of(tmp_path, replace(RUN, uid="bad"))
    bad.write_bytes(content)
    found = list(read_records(tmp_path))
    assert [each.path for each in found if isinstance(each, Damaged)] == [bad]
    assert [each for each in found if isinstance(each, RunRecord)] == [RUN]


def test_a_link_a_pipe_and_the_record_of_another_run_are_no_records(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    place = path_of(tmp_path, RUN).parent
    (place / "link.json").symlink_to(path_of(tmp_path, RUN))
    os.mkfifo(place / "pipe.json")
    (place / "copy.json").write_bytes(path_of(tmp_path, RUN).read_bytes())
    found = list(read_records(tmp_path))
    assert {each.path.name for each in found if isinstance(each, Damaged)} == {"link.json", "pipe.json", "copy.json"}
    assert find_runs(tmp_path, "default", "demo") == [RUN]


@pytest.mark.parametrize("name", ["..", "a/b", "", "x" * 300])
def test_a_name_that_is_no_name_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        write_record(tmp_path, replace(RUN, name=name))
    assert list(tmp_path.iterdir()) == []


def test_a_removed_record_leaves_no_empty_directories(tmp_path: Path) -> None:
    other = replace(RUN, uid="uid-2", run=2)
    write_record(tmp_path, RUN)
    write_record(tmp_path, other)
    remove_record(tmp_path, RUN)
    assert find_runs(tmp_path, "default", "demo") == [other]
    remove_record(tmp_path, other)
    remove_record(tmp_path, other)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("record", "outcome", "over"),
    [
        (RUN, "Pending", False),
        (replace(RUN, phase="Running"), "Running", False),
        (replace(RUN, phase="Completed", finished=True), "Completed", True),
        (replace(RUN, phase="Failed", finished=True, deleted=3.0), "Failed", True),
        (replace(RUN, phase="Running", deleted=3.0), "Stopped", True),
        (replace(RUN, phase="Suspended", given_up="timeout"), "TimedOut", False),
        (replace(RUN, phase="Suspended", given_up="environment", deleted=3.0), "NotStarted", True),
        (replace(RUN, phase="Suspended"), "Suspended", False),
    ],
)
def test_the_outcome_is_one_word(record: RunRecord, outcome: str, over: bool) -> None:
    assert (record.outcome, record.over) == (outcome, over)
