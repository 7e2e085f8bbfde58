"""The metrics of runs are read behind the page, each run once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from history.test_logs import write_log
from paddock.app.consoles import runs as local_runs
from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.runs import LocalRuns
from paddock.app.history import History
from paddock.app.home import Home
from paddock.console.backend import Extent, KeptRun
from paddock.history.logs import LogFile
from paddock.history.record_shelf import RecordShelf
from paddock.history.records import RunRecord, write_record
from support.consoles import PADDLE


class CountedLogs(LocalLogs):
    """Counts the runs that are read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.asked: list[str] = []

    def read_run(self, run: RunRecord, files: Sequence[LogFile]) -> KeptRun:
        self.asked.append(run.uid)
        return super().read_run(run, files)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def build(directory: Path, clock: Clock) -> tuple[LocalRuns, CountedLogs]:
    history, records = History(Home(directory, directory)), RecordShelf(Home(directory, directory).history)
    logs = CountedLogs(history, records=records)
    return LocalRuns(history, logs, records, clock), logs


def keep(directory: Path, uid: str, texts: list[str], *, over: bool = True) -> RunRecord:
    home = Home(directory, directory)
    run = RunRecord(PADDLE.api_version, "PaddleJob", "default", "demo", uid, 1, 100.0, phase="Running", finished=over,
                    settled=over)  # fmt: skip
    write_record(home.history, run)
    for attempt, text in enumerate(texts):
        write_log(home.node, "demo-worker-0", f"{uid}-{attempt}", job=uid, attempt=attempt, text=text, when=1.0)
    return run


async def read_all(runs: LocalRuns, asked: list[RunRecord]) -> Mapping[str, Mapping[str, Extent]]:
    while True:
        found = runs.look(asked)
        if not runs.reading:
            return found
        await asyncio.sleep(0)


async def test_the_best_of_a_run_is_that_of_all_its_attempts_and_the_last_that_of_its_newest(tmp_path: Path) -> None:
    runs, _ = build(tmp_path, Clock())
    one = keep(tmp_path, "one", ["step 1 loss: 5\nstep 2 loss: 0.5\n", "step 2 loss: 3\nstep 3 loss: nan\n"])
    assert runs.look([one]) == {} and runs.reading
    found = (await read_all(runs, [one]))["one"]["loss"]
    assert (found.lowest, found.highest) == (0.5, 5.0) and math.isnan(found.last)


async def test_a_run_that_is_over_is_read_once_and_one_that_goes_on_again_after_a_while(tmp_path: Path) -> None:
    clock = Clock()
    runs, logs = build(tmp_path, clock)
    both = [keep(tmp_path, "over", ["step 1 loss: 5\n"]), keep(tmp_path, "on", ["step 1 loss: 4\n"], over=False)]
    for _ in range(3):
        await read_all(runs, both)
    assert logs.asked == ["over", "on"]
    clock.now += local_runs.FRESH_SECONDS
    await read_all(runs, both)
    assert logs.asked == ["over", "on", "on"]


async def test_a_run_that_ends_is_read_once_more_at_once_and_then_until_its_ranks_are_silent(tmp_path: Path) -> None:
    clock = Clock()
    runs, logs = build(tmp_path, clock)
    going = keep(tmp_path, "one", ["step 1 loss: 4\n"], over=False)
    for run in (going, ended := replace(going, finished=True), ended):
        await read_all(runs, [run])
    assert logs.asked == ["one", "one"]
    clock.now += local_runs.FRESH_SECONDS
    for run in (ended, replace(ended, settled=True)):
        await read_all(runs, [run])
    assert logs.asked == ["one"] * 3
    clock.now += local_runs.FRESH_SECONDS
    for _ in range(2):
        await read_all(runs, [replace(ended, settled=True)])
        clock.now += local_runs.FRESH_SECONDS
    assert logs.asked == ["one"] * 4


async def test_of_a_log_that_cannot_be_read_in_time_no_best_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_runs, "LONGEST_SECONDS", -1.0)
    runs, _ = build(tmp_path, Clock())
    one = keep(tmp_path, "one", ["".join(f"step {step} loss: 1\n" for step in range(400_000))])
    assert (await read_all(runs, [one])) == {"one": {}}


async def test_a_run_whose_logs_are_gone_has_no_metrics(tmp_path: Path) -> None:
    runs, _ = build(tmp_path, Clock())
    assert (await read_all(runs, [RunRecord(PADDLE.api_version, "PaddleJob", "default", "none", "x", 1, 100.0)])) == {
        "x": {}
    }
