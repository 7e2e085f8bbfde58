"""What torchrun's report says of the process that failed first, and what becomes of it in a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.logs.endings import read_ending
from paddock.logs.torchrun import ROOT, Report, read_report, select_rank

HERE = Path(__file__).parent
KUBELET = 2048
"""Bytes of a log that a cause is read from."""
EXIT = "exitcode: 3, rank: 1 (local_rank: 0); its last line: rank 1 of 2"
VALUE = "ValueError: the label 10 is out of range"


def read(name: str) -> str:
    return (HERE / f"torchrun_{name}.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "report", "own"),
    [
        ("two_raise_1", Report(1, 0, 1), False),
        ("two_raise_0", Report(0, 0, 1), False),
        ("two_exit_1", Report(1, 0, 3), True),
        ("single_kill", Report(1, 1, -9, ("Signal 9 (SIGKILL) received by PID 7216",)), True),
        ("single_raise", Report(1, 1, 1), False),
    ],
)
def test_a_report_names_the_process_that_failed_first(name: str, report: Report, own: bool) -> None:
    found = read_report(read(name).splitlines())
    assert found == report
    assert found.chose_its_end == own


def test_a_recorded_function_has_its_traceback_in_the_report() -> None:
    found = read_report(read("record").splitlines())
    assert found is not None
    assert [line for line in found.lines if line.strip()][-1] == VALUE


@pytest.mark.parametrize(("name", "whole", "end"), [
    ("two_raise_1", VALUE, VALUE),
    ("two_exit_1", EXIT, EXIT),
    ("single_kill", "Signal 9 (SIGKILL) received by PID 7216", "Signal 9 (SIGKILL) received by PID 7216"),
    ("single_raise", VALUE, "ChildFailedError: exitcode: 1, rank: 1 (local_rank: 1)"),
    ("record", VALUE, VALUE),
    ("told", "ValueError: the label 3 is out of range", "ValueError: the label 3 is out of range"),
])  # fmt: skip
def test_the_error_of_the_program_is_told_also_by_what_the_kubelet_keeps(name: str, whole: str, end: str) -> None:
    text = read(name)
    assert read_ending(text).error.startswith(whole)
    assert read_ending(text[-KUBELET:]).error == end


def test_a_traceback_whose_report_is_cut_off_is_told() -> None:
    text = read("record")
    call = '    File "/app/rec.py", line 5, in step\n      step()\n'
    place = text.index('    File "/app/rec.py", line 4, in main\n', text.index("Root Cause"))
    end = (text[:place] + 60 * call + text[place:])[-KUBELET:]
    assert "Root Cause" not in end
    assert read_ending(end).error == VALUE


@pytest.mark.parametrize(
    "lines", [["  File 'a'", "  epoch 1"], ["====================="], ["a", "  b", "", "c", "=" * 60]]
)
def test_lines_that_end_no_report_tell_no_error(lines: list[str]) -> None:
    assert read_ending("\n".join(lines)).error == ""


@pytest.mark.parametrize(
    ("name", "echo"), [("two_raise_0", True), ("two_raise_1", False), ("two_exit_1", False), ("single_kill", False)]
)
def test_only_the_rank_whose_process_lost_its_peer_is_an_echo(name: str, echo: bool) -> None:
    text = read(name)
    assert (read_ending(text).is_lost_peer, read_ending(text[-KUBELET:]).is_lost_peer) == (echo, echo)


def test_of_two_errors_in_one_pod_that_of_the_first_process_counts() -> None:
    later = (
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1\n[rank0]: KeyError: 'later'\n"
    )
    text = read("single_raise").replace("W1122", later + "W1122", 1)
    assert read_ending(text).error == VALUE


@pytest.mark.parametrize(
    "change", [("Root Cause (first", "Cause"), ("(local_rank: 1)", ""), ("exitcode  : 1 (pid: 7538)", "exitcode  :")]
)
def test_a_report_in_pieces_is_none(change: tuple[str, str]) -> None:
    assert read_report(read("single_raise").replace(*change).splitlines()) is None


def test_a_cut_report_still_tells_no_other_error() -> None:
    text = read("two_raise_1")
    for end in range(text.index("\n", text.index("ChildFailedError: ")), len(text) + 1, 5):
        assert read_ending(text[:end]).error == VALUE


def test_of_a_rank_that_lost_its_peer_the_programs_own_words_are_told_while_they_are_there() -> None:
    text = read("two_raise_0")
    assert read_ending(text).error.startswith("RuntimeError: [")
    after = text[text.index("E1122") :]
    assert read_ending(after).error == "ChildFailedError: exitcode: 1, rank: 0 (local_rank: 0)"


def test_lines_of_other_ranks_are_those_that_torch_marks() -> None:
    assert select_rank(["a", "[rank1]: b", "[rank10]: c", "[rank2]: d"], 1) == ["a", "[rank1]: b"]


def test_a_number_that_is_none_of_a_rank_is_no_mark_of_torch() -> None:
    """Python converts no text of more than 4300 digits."""
    line = f"[rank{'9' * 5000}]: error"
    assert select_rank([line], 0) == [line]
    assert read_report([ROOT, f"  rank      : {'9' * 5000} (local_rank: 0)", "  exitcode  : 1 (pid: 5)"]) is None
