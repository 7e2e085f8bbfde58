"""What `python -m benchmarks programs` reads of what programs print, and what its table says of two sides."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.alike import (
    CASES,
    PROGRAMS,
    Built,
    Ended,
    Program,
    Row,
    build_missing,
    build_row,
    compare,
    find_cause,
    find_kind,
    read_numbers,
)
from benchmarks.figures import Figure, build_table

PROGRAM = Program("Trees", ("my-trees==1.0", "numpy"), ("python", "trees.py"))
BUILT = Built(4.4, "mnist-1")


def ended(printed: str, code: int = 0, seconds: float = 2.0) -> Ended:
    return Ended(code, printed, seconds)


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        ("step 1 loss 0.50\nstep 2 loss 0.25", {"loss": "0.25"}),
        ("Epoch 3, Loss: 1.5e-05, Acc: 97", {"loss": "1.5e-05", "acc": "97"}),
        ("{'loss': '0.3', 'eval_loss': 0.25, 'epoch': 1}", {"loss": "0.3", "eval_loss": "0.25"}),
        ("{'loss': [np.float32(0.125)], 'acc': 0.5}", {"loss": "0.125", "acc": "0.5"}),
        ("[29]\ttrain-mlogloss:0.01\ttest-mlogloss:0.13", {"train-mlogloss": "0.01", "test-mlogloss": "0.13"}),
        (
            "12/12 - 0s - 4ms/step - \x1b[1maccuracy: 0.9570\x1b[0m - val_loss: 0.14",
            {"accuracy": "0.9570", "val_loss": "0.14"},
        ),
        (
            "│ test_loss │ 0.7 │\rEpoch 1: 50%, train_loss=0.9\rEpoch 1: 100%, train_loss=0.8",
            {"test_loss": "0.7", "train_loss": "0.8"},
        ),
        ("worker-0 │ reward -1.50", {"reward": "-1.50"}),
        ("lossless 3, no loss here, took 4.5 s", {}),
    ],
)
def test_the_last_value_of_each_measure_is_read_as_it_was_printed(printed: str, numbers: dict[str, str]) -> None:
    assert read_numbers(printed) == numbers


@pytest.mark.parametrize(
    ("plain", "ours", "said"),
    [
        (["loss 0.50 loss 0.25"], ["worker-0 │ loss 0.25"], "yes: loss 0.25"),
        (["loss 0.25"], ["loss 0.250"], "no: loss 0.250, without Paddock 0.25"),
        (["loss 0.25", "loss 0.25"], ["loss 0.25", "loss 0.26"], "no: loss 0.26, without Paddock 0.25"),
        (["loss 0.25"], ["loss 0.25 acc 1"], "no: acc 1, without Paddock none"),
        (["loss 0.25 acc 1"], ["loss 0.25"], "no: acc is missing, without Paddock 1"),
        (["loss 0.25", "loss 0.26"], ["loss 0.25"], "no: other ones each time, without Paddock as well"),
        (["done"], ["done"], "no: none is printed"),
    ],
)
def test_numbers_are_compared_digit_by_digit(plain: list[str], ours: list[str], said: str) -> None:
    assert compare([ended(each) for each in plain], [ended(each) for each in ours]) == said


def test_a_side_that_fails_is_named_with_its_last_line() -> None:
    failed = ended("loss 0.25\nValueError: no\n\n", 1)
    assert compare([ended("loss 0.25")], [failed]) == "no: under Paddock it ends with 1: ValueError: no"
    assert compare([failed], [failed]) == "no: without Paddock it ends with 1: ValueError: no"


def test_a_row_has_the_medians_of_both_sides() -> None:
    plain = [ended("loss 0.25", seconds=seconds) for seconds in (2.0, 2.5, 9.0)]
    printed = "PaddleJob default/trees: Single mode\nruns python trees.py, environment mnist-1\nloss 0.25"
    ours = [ended(printed, seconds=seconds) for seconds in (3.0, 1.0, 3.5)]
    row = build_row(PROGRAM, BUILT, plain, ours)
    assert row.cells == (
        "Trees", "`python trees.py`", "the same", "PaddleJob", "yes: loss 0.25", "2.5 s", "3.0 s",
        "+0.5 s, 1.20 times", "4 s",
    )  # fmt: skip


def test_another_environment_than_that_of_the_plain_side_is_told() -> None:
    printed = "PaddleJob default/trees: Single mode\nruns python trees.py, environment mnist-2\n"
    assert find_kind(printed, "mnist-1") == "PaddleJob, in mnist-2"


def test_a_library_that_is_not_to_be_had_has_a_row() -> None:
    printed = (
        "environment a: building\nNot started after 9 s: worker-0: environment a: no such package (log: /x)\nnext: …"
    )
    row = build_missing(PROGRAM, Built(9.0, error=find_cause(printed)))
    assert row.cells[4] == "not installed: no such package"
    assert len(row.cells) == len(Row.HEADINGS)


def test_a_table_has_the_headings_of_its_rows() -> None:
    assert build_table([Row(("a",) * 9)]).splitlines()[0].startswith("| Library | Plainly |")
    assert build_table([Figure("w", "o", "p", "d", "l", kept=True)]).splitlines()[2].endswith("| kept |")


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_each_program_is_there(case: Program) -> None:
    for words in (case.plain, case.command or case.plain):
        assert any((PROGRAMS / word).is_file() for word in words)
    used = {word for each in CASES.values() for word in each.plain}
    assert {path.name for path in Path(PROGRAMS).iterdir() if path.is_file()} <= used
