"""What a program has put in the place of PADDOCK_METRICS: it is read as far as it goes, and nobody waits for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.app.written_metrics import Written, build_reader, explain_unread, read_run, read_written
from paddock.jobs.model import Rank
from paddock.logs.metric_lines import A_LOOK, Piece, Place
from paddock.logs.progress import Progress
from paddock.words.phrases import render

UNREADABLE = "it is no regular file that can be read"


def problem(path: Path) -> str:
    found = read_written(path)
    return "" if found.problem is None else render(found.problem)


def test_the_last_number_of_each_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "worker-0"
    path.write_text('{"step": 1, "loss": 0.5, "tokens": 1}\n{"step": 2, "loss": 0.25}')
    assert read_written(path) == Written(Progress(step=2, loss=0.25, others={"tokens": 1.0}))


def test_no_file_is_nothing(tmp_path: Path) -> None:
    assert read_written(tmp_path / "worker-0") == Written() == read_written(tmp_path / "missing" / "worker-0")


def test_a_directory_a_link_and_a_fifo_are_told_and_waited_for_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"loss": 0.5}\n')
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "fifo")
    for name in ("directory", "link", "fifo"):
        assert problem(tmp_path / name) == UNREADABLE
        assert build_reader(tmp_path / name)(Place()) == Piece(b"", Place())


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/worker-0").write_text('{"loss": 0.5}\n')
    (tmp_path / ".metrics").symlink_to(tmp_path / "elsewhere")
    assert problem(tmp_path / ".metrics/worker-0") == UNREADABLE


def test_of_ten_gigabytes_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "worker-0"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"step": 7, "loss": 0.5}\n')
    assert read_written(path) == Written(Progress(step=7, loss=0.5))
    assert len(build_reader(path)(Place()).data) == A_LOOK


def test_what_was_added_is_read_from_where_the_last_look_ended(tmp_path: Path) -> None:
    path = tmp_path / "worker-0"
    path.write_bytes(b"one\n")
    read = build_reader(path)
    first = read(Place())
    assert (first.data, first.anew, read(first.place).data) == (b"one\n", False, b"")
    with path.open("ab") as file:
        file.write(b"two\n")
    second = read(first.place)
    assert (second.data, second.anew, second.place.offset) == (b"two\n", False, 8)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_cut_or_replaced_is_read_from_its_beginning(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "worker-0"
    path.write_bytes(b"one\n")
    read = build_reader(path)
    first = read(Place())
    if replaced:
        (tmp_path / "new").write_bytes(b"another\n")
        (tmp_path / "new").rename(path)
    else:
        path.write_bytes(b"")
        assert read(first.place) == Piece(b"", Place(0, first.place.inode), anew=True)
        path.write_bytes(b"x\n")
    then = read(first.place)
    assert (then.data, then.anew) == ((b"another\n" if replaced else b"x\n"), True)
    assert read(then.place) == Piece(b"", then.place)


def test_of_a_run_the_first_rank_with_a_wrong_line_is_told(tmp_path: Path) -> None:
    (tmp_path / ".metrics").mkdir()
    (tmp_path / ".metrics/worker-0-attempt-1.jsonl").write_text('{"loss": 0.5}\n')
    (tmp_path / ".metrics/worker-1-attempt-1.jsonl").write_text("loss 0.5\n")
    (tmp_path / ".metrics/worker-2-attempt-0.jsonl").write_text("of an attempt that is over\n")
    found = read_run(tmp_path, [Rank("worker", index) for index in range(4)], 1)
    assert [str(rank) for rank in found] == ["worker-0", "worker-1"]
    said = explain_unread(found)
    assert said is not None and "worker-1 wrote to PADDOCK_METRICS was read: `loss 0.5` is no JSON" in render(said)
    assert explain_unread({}) is None
