"""Which of many numbers have a curve."""

from __future__ import annotations

import pytest

from paddock.console.charts.choice import MOST_CHARTS, choose, is_exact
from paddock.console.charts.numbers import MOST_OWN, LogNumbers
from paddock.console.screens.charts import write_id
from paddock.logs.metric_lines import Piece, Place

LINE = "step {} loss 0.5 lr 0.1 reward 3.5 batch_size: 32 mem 900 MB throughput 12.5 samples/s"


def read(*lines: str, written: str = "") -> LogNumbers:
    numbers = LogNumbers()
    for number, line in enumerate(lines):
        numbers.add(number, line.encode())
    numbers.add_written(Piece(written.encode(), Place(len(written), 1)))
    return numbers


def test_any_number_of_a_line_with_a_step_can_be_drawn() -> None:
    log = read(*(LINE.format(step) for step in range(3)))
    choice = choose([log], ["cpu"], [])
    assert list(choice.known) == ["loss", "lr", "speed", "own:reward", "own:batch_size", "own:mem (MB)", "cpu"]
    for name in choice.known[:-1]:
        assert list(log.series[name].steps) == [0, 1, 2]
    assert list(log.series["own:mem (MB)"].values) == [900.0] * 3
    assert log.series["own:mem (MB)"].text == LINE.format(2)


def test_settings_and_memory_are_not_drawn_without_being_asked_for() -> None:
    log = read(LINE.format(1), written='{"step": 1, "tokens": 7}\n')
    choice = choose([log], ["cpu"], [])
    assert (list(choice.drawn), choice.is_usual) == (["loss", "lr", "speed", "own:reward", "own:tokens", "cpu"], True)
    asked = choose([log], ["cpu"], ["own:mem (MB)", "loss", "gpu", "own:nothing"])
    assert (list(asked.drawn), asked.is_usual) == (["loss", "own:mem (MB)"], False)
    assert choose([log], [], ["own:nothing"]).is_usual


def test_speed_is_measured_only_where_none_is_printed() -> None:
    log = LogNumbers()
    for number, now in enumerate((0.0, 20.0)):
        log.add(number, f"step {number * 10} loss 0.5".encode())
        log.measure(now)
    assert "measured" in choose([log], [], []).drawn
    assert "measured" not in choose([log, read("step 1 loss 0.5 ips 3.5 samples/s")], [], []).known


def test_what_is_written_on_purpose_is_not_read_from_lines_of_the_same_name() -> None:
    log = read("step 1 loss 0.5 reward 9.5", written='{"step": 2, "reward": 1.5}\n')
    log.add(1, b"step 3 loss 0.5 reward 9.5")
    assert list(log.series["own:reward"].values) == [1.5]


def test_a_program_that_prints_ever_new_names_has_a_bound() -> None:
    log = read(*(f"step {number} loss 0.5 name{number}: 3" for number in range(10 * MOST_OWN)))
    own = [name for name in log.series if name.startswith("own:")]
    assert len(own) == MOST_OWN
    assert len(choose([log], [], own).drawn) == MOST_CHARTS


@pytest.mark.slow
def test_a_long_series_of_any_name_stays_bounded() -> None:
    log = LogNumbers()
    for step in range(20_000):
        log.add(step, b"step %d loss 0.5 reward %s" % (step, b"99.5" if step == 12_345 else b"0.5"))
    found = log.series["own:reward"]
    assert len(found.values) < 4_000 and max(found.values) == 99.5


@pytest.mark.parametrize(
    ("one", "other"), [("own:<b", "own:\u03cb"), ("a-62-", "ab"), ("own:a b", "own:a_b"), ("own:ä", "own:a")]
)
def test_no_two_names_have_one_id(one: str, other: str) -> None:
    assert write_id(one) != write_id(other)
    assert all(each.isascii() and (each.isalnum() or each in "_-") for each in write_id(one) + write_id(other))


@pytest.mark.parametrize(
    ("name", "exact"),
    [("loss", False), ("accuracy", False), ("speed", False), ("own:reward", False), ("lr", True), ("val_loss", True),
     ("val_accuracy", True), ("own:eval_f1", True), ("own:train_lr", True)],
)  # fmt: skip
def test_a_number_that_is_chosen_or_evaluated_is_drawn_as_it_is(name: str, exact: bool) -> None:
    assert is_exact(name) is exact
