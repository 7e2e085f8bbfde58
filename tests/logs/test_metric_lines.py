"""The file that PADDOCK_METRICS names: what is read of it, and what is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.metric_lines import LONGEST, MOST_NAMES, MetricLines, Wrong, explain_metric_file, read_metric_line
from paddock.logs.progress import Progress
from paddock.words.phrases import render

READ = [
    (b'{"step": 3, "loss": 0.1}', Progress(step=3, loss=0.1)),
    (b'{"epoch": 1.0, "global_step": 3, "train/loss": 0.5}', Progress(epoch=1, step=3, loss=0.5)),
    (
        b'{"val_loss": 0.5, "eval_accuracy": 0.75, "learning_rate": 1e-4, "grad_norm": 2}',
        Progress(val_loss=0.5, val_accuracy=0.75, lr=1e-4, grad_norm=2.0),
    ),
    (b'{"time": 1.5, "best loss": 0.25, "x y": -1}', Progress(others={"time": 1.5, "best loss": 0.25, "x y": -1.0})),
    (b'{"epoch": 0.5, "rank": 3}', Progress(others={"epoch": 0.5, "rank": 3.0})),
    (b'{"loss": 0.5, "train_loss": 0.75}', Progress(loss=0.5, others={"train_loss": 0.75})),
    (b'{"it": 7, "step": 900}', Progress(step=900, others={"it": 7.0})),
    (b"{}", Progress()),
]
NOT_READ = [
    (b"loss 0.5", "`loss 0.5` is no JSON object"),
    (b"[1, 2]", "`[1, 2]` is no JSON object"),
    (b'{"loss": 0.5', '`{"loss": 0.5` is no JSON object'),
    (b"\xff\x00\x1b[31m", "`� [31m` is no JSON object"),
    (b"[" * 4_000, "`" + "[" * 59 + "…` is no JSON object"),
    (b'{"loss": true}', "the value of `loss` is no finite number: true"),
    (b'{"loss": "0.5"}', 'the value of `loss` is no finite number: "0.5"'),
    (b'{"loss": NaN}', "the value of `loss` is no finite number: NaN"),
    (b'{"loss": 1e999}', "the value of `loss` is no finite number: Infinity"),
    (b'{"loss": ' + b"9" * 400 + b"}", "the value of `loss` is no finite number: " + "9" * 59 + "…"),
    (b'{"loss": [0.5]}', "the value of `loss` is no finite number: [0.5]"),
    (b'{"' + b"a" * 65 + b'": 1}', "the name `" + "a" * 59 + "…` has more than 64 characters"),
    (b'{"\\ud800": 1}', "the name '\\ud800' cannot be printed"),
    (b'{"": 1}', "the name '' cannot be printed"),
    (b'{"\\u001b[31m": 1}', "the name '\\x1b[31m' cannot be printed"),
    (b'{"a": ' + b"1" * LONGEST + b"}", "a line has more than 4096 bytes"),
    (
        ("{" + ", ".join(f'"a{number}": 1' for number in range(MOST_NAMES + 1)) + "}").encode(),
        "a line has 65 names, at most 64 are read",
    ),
]


@pytest.mark.parametrize(("line", "progress"), READ)
def test_a_line_of_numbers_is_read(line: bytes, progress: Progress) -> None:
    assert read_metric_line(line) == progress


@pytest.mark.parametrize(("line", "why"), NOT_READ)
def test_a_line_that_is_not_read_is_told(line: bytes, why: str) -> None:
    found = read_metric_line(line)
    assert isinstance(found, Wrong) and render(found.why) == why


def test_the_first_line_that_is_not_read_is_told_and_takes_nothing_from_the_others() -> None:
    lines = MetricLines()
    found = lines.feed(b'{"loss": 0.5}\nfirst\n\nsecond\n{"loss": 0.25}\n{"loss":')
    assert found == [Progress(loss=0.5), Progress(loss=0.25)]
    assert lines.problem is not None and render(lines.problem) == "`first` is no JSON object"
    assert render(explain_metric_file("worker-0", lines.problem)) == (
        "not all of what worker-0 wrote to PADDOCK_METRICS was read: `first` is no JSON object; each line is to be a "
        'JSON object of names and finite numbers, for example `{"step": 3, "loss": 0.1}`'
    )


def test_a_line_without_an_end_is_held_up_to_its_limit_and_the_next_one_is_read() -> None:
    lines = MetricLines()
    for _ in range(1_000):
        assert lines.feed(b"x" * 1_000) == []
    assert lines.feed(b'\n{"loss": 0.5}\n') == [Progress(loss=0.5)]
    assert lines.problem is not None and render(lines.problem) == "a line has more than 4096 bytes"


def test_the_line_in_which_reading_begins_is_passed_over_without_a_word() -> None:
    lines = MetricLines()
    lines.skip()
    assert lines.feed(b'ss": 0.5}\n{"loss": 0.25}') == []
    assert lines.end() == [Progress(loss=0.25)] and lines.problem is None


@given(st.lists(st.sampled_from([b'{"loss": 0.5}', b"no", b"", b'{"a": 1}', b"x" * 5_000])), st.integers(1, 50))
def test_it_does_not_matter_where_what_was_added_is_cut(written: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in written)
    whole, pieces = MetricLines(), MetricLines()
    found = [each for start in range(0, len(data), size) for each in pieces.feed(data[start : start + size])]
    assert found == whole.feed(data) and pieces.problem == whole.problem


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    MetricLines().feed(data + b"\n" + data)
