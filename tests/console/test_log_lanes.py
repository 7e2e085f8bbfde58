"""Which rank is opened, which are folded, how bad a line is, and what can be searched for."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.consoles.logs import find_failed
from paddock.console.backend import KeptLog
from paddock.console.logs.errors import ErrorLine, find_error
from paddock.console.logs.lanes import Lane, arrange, list_lanes
from paddock.console.logs.levels import read_level
from paddock.console.logs.wanted import LONGEST, Wanted, WrongPattern
from paddock.history.log_index import Hints, LineIndex
from paddock.history.log_shelf import Shelf
from paddock.history.records import Attempt, Cause, RunRecord
from paddock.jobs.model import Rank
from paddock.logs.complaints import COMPLAINT_HINTS, MAY_COMPLAIN

OWN, ECHO = ErrorLine(5, "ValueError: x", False), ErrorLine(3, "RuntimeError: Connection closed by peer", True)


def lane(index: int, error: ErrorLine | None = None, *, modified: float = 10.0, size: int = 9) -> Lane:
    return Lane(f"worker-{index}", KeptLog(f"log {index}", "worker", index, 0, size, modified), error)


def show(lanes: tuple[Lane, ...]) -> str:
    return " ".join(each.rank.removeprefix("worker-") + "!" * each.is_first for each in lanes)


@pytest.mark.parametrize(
    ("lanes", "failed", "chosen", "opened", "echoes", "rest"),
    [
        ([], "", (), "", "", ""),
        ([lane(0), lane(1)], "", (), "0 1", "", ""),
        ([lane(0), lane(1)], "worker-1", (), "1! 0", "", ""),
        ([lane(0), lane(1)], "worker-7", (), "0 1", "", ""),
        ([lane(0, ECHO), lane(1, OWN), lane(2, ECHO)], "", (), "1!", "0 2", ""),
        ([lane(0, ECHO), lane(1, OWN), lane(2, ECHO)], "", ("worker-2",), "1! 0 2", "", ""),
        ([lane(0, ECHO), lane(1, ECHO), lane(2, ECHO)], "worker-2", (), "2!", "0 1", ""),
        ([lane(0, ECHO), lane(1, ECHO)], "", (), "0 1", "", ""),
        ([lane(0, OWN, modified=12.0), lane(1), lane(2, OWN, modified=11.0)], "", (), "2! 0 1", "", ""),
        ([lane(0, size=0), lane(1)], "", (), "1 0", "", ""),
        ([lane(0), lane(1), lane(2), lane(3), lane(4)], "", (), "0 1 2", "", "3 4"),
        ([lane(0), lane(1), lane(2), lane(3), lane(4)], "worker-4", ("worker-3",), "4! 0 1 3", "", "2"),
    ],
)
def test_the_rank_that_failed_first_comes_first_and_echoes_are_folded(
    lanes: list[Lane], failed: str, chosen: tuple[str, ...], opened: str, echoes: str, rest: str
) -> None:
    found = arrange(lanes, failed, chosen, most=3)
    assert (show(found.open), show(found.echoes), show(found.rest)) == (opened, echoes, rest)


def test_a_rank_without_a_log_has_a_lane_too() -> None:
    logs = [KeptLog("a", "worker", 10, 0, 9, 1.0), KeptLog("b", "worker", 2, 0, 9, 1.0)]
    lanes = list_lanes(logs, [Rank("worker", 2), Rank("worker", 3)])
    assert [(each.rank, each.is_silent) for each in lanes] == [
        ("worker-2", False), ("worker-3", True), ("worker-10", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (b"step 1 loss 0.5", ""),
        (b"mean error rate 0.1", "error"),
        (b"terror_count=3 errors=0", ""),
        (b"2026-01-01 ERROR trainer: bad", "error"),
        (b"\x1b[31mERROR\x1b[0m bad", "error"),
        (b"ValueError: x", "error"),
        (b"Traceback (most recent call last):", "error"),
        (b"[E1122 10:00:00 x.cc:3] bad", "error"),
        (b"WARNING: slow", "warning"),
        (b"x.py:3: UserWarning: old", "warning"),
        (b"W1122 10:00:00 x.cc:3] hm", "warning"),
        (b"\xff\xfe\x00", ""),
        (b"y" * 3_000 + b" ERROR", ""),
    ],
)
def test_how_bad_a_line_is(line: bytes, level: str) -> None:
    assert read_level(line) == level


@pytest.mark.parametrize(
    ("wanted", "line", "found"),
    [
        (Wanted("a.c"), b"abc", False),
        (Wanted("loss"), b"Loss", True),
        (Wanted("Loss"), b"loss", False),
        (Wanted("损失"), "损失 3".encode(), True),
        (Wanted("a.c", regex=True), b"abc", True),
        (Wanted(level="error"), b"ERROR disk", True),
        (Wanted(level="warning"), b"ERROR disk", True),
        (Wanted("disk", level="error"), b"WARNING disk", False),
        (Wanted("^disk", regex=True, level="error"), b"ERROR disk", False),
        (Wanted("disk$", regex=True, level="error"), b"ERROR disk", True),
    ],
)
def test_what_is_found(wanted: Wanted, line: bytes, found: bool) -> None:
    assert bool(wanted.compile().search(line)) == found


@pytest.mark.parametrize("text", ["a(b", "x" * (LONGEST + 1), "a{9999999999}"])
def test_what_is_no_pattern_is_said(text: str) -> None:
    with pytest.raises(WrongPattern):
        Wanted(text, regex=True).compile()


def test_each_attempt_has_the_rank_that_ended_it() -> None:
    causes = [Cause("RankFailed", {"ranks": [f"worker-{index}"]}) for index in (0, 1)]
    attempts = (Attempt(0, 1.0), Attempt(1, 2.0, causes[0]), Attempt(2, 3.0, causes[1]))
    run = RunRecord(
        "v1", "PaddleJob", "default", "demo", "one", 1, 1.0, attempts=attempts, cause=causes[0], phase="Failed"
    )
    assert find_failed(run) == {0: "worker-0", 1: "worker-1", 2: "worker-0"}
    assert find_failed(replace(run, phase="Running")) == {0: "worker-0", 1: "worker-1"}, "it waits for that rank"
    assert find_failed(replace(run, phase="Restarting")) == {0: "worker-0", 1: "worker-1"}, "attempt 2 is the new one"
    alone = replace(
        run, phase="Restarting", cause=Cause("RankRestarted", {"ranks": ["worker-2"], "alone": ["worker-2"]})
    )
    assert find_failed(alone) == {0: "worker-0", 1: "worker-1", 2: "worker-2"}


LOGS = sorted((Path(__file__).parents[1] / "logs").glob("*.log"))
INDENTED = b"epoch 1\n  (External) CUDA error(2)\n\t(NotFound) x\n(Fatal) y\nplain (z)\nKeyError: 'x'\n"


@pytest.mark.parametrize(
    "text", [INDENTED, *(path.read_bytes() for path in LOGS)], ids=["own", *(p.stem for p in LOGS)]
)
def test_a_hint_of_an_error_leaves_no_line_out(text: bytes, tmp_path: Path) -> None:
    path, index = tmp_path / "0.log", LineIndex()
    path.write_bytes(text)
    with path.open("rb") as file:
        index.update(file.fileno())
        found = list(index.find(file.fileno(), MAY_COMPLAIN))
        assert found or text is not INDENTED
        assert list(index.find(file.fileno(), MAY_COMPLAIN, hints=Hints(COMPLAINT_HINTS))) == found


def test_the_first_error_is_found_as_the_log_grows_and_an_echo_gives_way(tmp_path: Path) -> None:
    path, shelf, later = tmp_path / "0.log", Shelf(), time.monotonic() + 60
    said = []
    for text in ("a\nRuntimeError: Connection closed by peer\nValue", "Error: broken\n", "KeyError: 'x'\n"):
        with path.open("a") as file:
            file.write(text)
        with shelf.open("one", lambda: os.open(path, os.O_RDONLY)) as log:
            found = find_error(log, later)
            assert found is not None
            said.append((found.line, found.is_echo))
    assert said == [(1, True), (2, False), (2, False)]
    path.write_text("b\n")
    with shelf.open("one", lambda: os.open(path, os.O_RDONLY)) as log:
        assert find_error(log, later) is None, "another file took its place"
