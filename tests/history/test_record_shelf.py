"""Records are decoded once for as long as their files are the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.history import record_shelf
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import Damaged, RunRecord, path_of, read_records, remove_record, write_record

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "uid-1", 1, 100.0)


def test_a_record_that_is_the_same_is_the_same_object_and_one_that_changed_is_read(tmp_path: Path) -> None:
    shelf = RecordShelf(tmp_path)
    assert shelf.read() == ([], [])
    other = replace(RUN, uid="uid-2", run=2, created=200.0)
    for each in (other, RUN):
        write_record(tmp_path, each)
    first, _ = shelf.read("default", "demo")
    assert first == [RUN, other]
    write_record(tmp_path, replace(other, phase="Completed"))
    again, _ = shelf.read()
    assert again[0] is first[0] and again[1].phase == "Completed"
    remove_record(tmp_path, RUN)
    assert [each.uid for each in shelf.read()[0]] == ["uid-2"]


def test_a_damaged_record_is_told_each_time_and_mended_when_it_is_mended(tmp_path: Path) -> None:
    shelf = RecordShelf(tmp_path)
    write_record(tmp_path, RUN)
    shelf.read()
    path_of(tmp_path, RUN).write_text("{")
    for _ in range(2):
        runs, damaged = shelf.read()
        assert runs == [] and isinstance(damaged[0], Damaged)
    write_record(tmp_path, RUN)
    assert shelf.read() == ([RUN], [])


def test_more_records_than_are_kept_in_memory_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_shelf, "MOST", 2)
    shelf = RecordShelf(tmp_path)
    for number in range(5):
        write_record(tmp_path, replace(RUN, uid=f"u{number}", run=number, created=float(number)))
    for _ in range(2):
        assert shelf.read()[0] == sorted(
            (each for each in read_records(tmp_path) if isinstance(each, RunRecord)), key=lambda run: run.run
        )
    assert len(shelf._known) == 2
