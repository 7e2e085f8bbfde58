"""Which attempt a page of logs shows around a restart, and which rank of it has failed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from console.test_logs import LOGS, TRACE, ask, read
from jobs.gangs import cause
from paddock.console.backend import KeptLog, LeftOut
from paddock.console.logs.attempts import choose_attempt, find_culprits, list_printed
from paddock.history.records import Attempt, Cause
from paddock.jobs.model import Phase, Status
from support.consoles import keep_log, keep_run, serve_console
from support.written import build_written_job

ARGS: dict[str, Any] = {"ranks": ["worker-1"], "code": 1, "restart": 3, "limit": 3, "delay": 40}
RESTARTED = {"reason": "RankRestarted", "args": ARGS}


@pytest.mark.parametrize(
    ("phase", "reason", "args", "found"),
    [
        (Phase.FAILED, "RankFailed", {"ranks": ("worker-1",)}, {3: "worker-1"}),
        (Phase.RESTARTING, "RankRestarted", {"ranks": ("worker-1",)}, {2: "worker-1"}),
        (Phase.RESTARTING, "RankRestarted", {"ranks": ("worker-1",), "alone": ("worker-1",)}, {3: "worker-1"}),
        (Phase.RESTARTING, "PodsDeleted", {"ranks": ("worker-0", "worker-1")}, {2: "worker-0"}),
        (Phase.COMPLETED, "RanksFailed", {"failed": ("worker-2",)}, {3: "worker-2"}),
        (Phase.RUNNING, "WaitingForRanks", {"ranks": ("worker-1",)}, {}),
        (Phase.FAILED, "DeadlineExceeded", {}, {}),
    ],
)
def test_a_cause_names_the_rank_of_the_attempt_that_it_speaks_of(
    phase: Phase, reason: str, args: dict[str, Any], found: dict[int, str]
) -> None:
    assert find_culprits(Status(phase=phase, attempt=3, cause=cause(reason, **args))) == found


@pytest.mark.parametrize(
    ("last", "printed", "is_over", "chosen"),
    [
        (0, (), False, 0),
        (3, (0, 1, 2), False, 2),
        (3, (0,), False, 0),
        (3, (0, 3), False, 3),
        (3, (0, 2), True, 3),
        (3, (), False, 3),
    ],
)
def test_until_the_new_attempt_has_printed_the_one_before_it_is_opened(
    last: int, printed: tuple[int, ...], is_over: bool, chosen: int
) -> None:
    assert choose_attempt(last, printed, is_over) == chosen


def test_an_attempt_whose_logs_were_removed_has_printed() -> None:
    removed = LeftOut("demo-worker-0", "main", removed=True)
    logs = [KeptLog("a", "worker", 0, 0, 0, 1.0), KeptLog("b", "worker", 0, 1, 9, 1.0)]
    assert list_printed([*logs, KeptLog("c", "worker", 0, 2, 0, 1.0, removed)]) == {1, 2}


def keep_restarts(directory: Path, restarts: int = 3) -> dict[str, Any]:
    """A job that waits for its next attempt; each one before it has a traceback of worker-1."""
    causes = [None, *(Cause("RankRestarted", {**ARGS, "restart": number + 1}, 150.0) for number in range(restarts))]
    attempts = tuple(Attempt(number, 100.0 + 60 * number, each) for number, each in enumerate(causes))
    keep_run(directory, phase="Restarting", cause=causes[-1], attempts=attempts, restarts=restarts)
    for number in range(restarts):
        keep_log(directory, "worker-0", f"attempt {number}\n", attempt=number)
        keep_log(directory, "worker-1", f"attempt {number}\n{TRACE}", attempt=number)
    return build_written_job(phase="Restarting", attempt=restarts, restarts=restarts, cause=RESTARTED)


@pytest.mark.parametrize("query", ["", "?rank=worker-1"])
async def test_until_the_new_attempt_has_printed_the_page_opens_the_one_of_the_cause_at_its_error(
    tmp_path: Path, query: str
) -> None:
    job = keep_restarts(tmp_path)
    async with serve_console(tmp_path, [job]) as served:
        page = await read(served, LOGS + query)
    assert 'data-query="rank=worker-1&amp;at=2"' in page and 'data-line="5"' in page
    assert page.count("failed first") == 1 and "printed nothing<" not in page
    assert "Attempt 3 has printed nothing yet: this is attempt 2." in page
    assert "ValueError: broken" in page and ">attempt 2<" in page


async def test_an_attempt_that_has_printed_nothing_has_no_rank_that_failed_first(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path)
    async with serve_console(tmp_path, [job]) as served:
        page = await read(served, f"{LOGS}?at=3")
        keep_log(tmp_path, "worker-0", "attempt 3\n", attempt=3)
    assert "failed first" not in page and "printed nothing" in page


async def test_once_the_new_attempt_prints_it_is_opened_and_no_rank_of_it_has_failed(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path)
    keep_log(tmp_path, "worker-0", "attempt 3\n", attempt=3)
    async with serve_console(tmp_path, [job]) as served:
        page, before = await read(served, LOGS), await read(served, f"{LOGS}?at=2")
    assert ">attempt 3<" in page and "failed first" not in page
    assert "Attempt 3 runs." in before and f'href="{LOGS}?at=3&amp;rank=worker-1">Show it<' in before


async def test_above_the_lines_of_an_attempt_stands_when_and_why_it_began(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path)
    async with serve_console(tmp_path, [job]) as served:
        page, first = await read(served, f"{LOGS}?at=1&rank=worker-1"), await read(served, f"{LOGS}?at=0")
    divider = page.split('<p class="divider">')[1].split("</p>")[0]
    assert 'Attempt 1 began at <time datetime="1970-01-01T00:02:40Z"' in divider
    assert "restart 1 of 3: worker-1" in divider and "in 40 s" not in divider
    assert f'<a href="{LOGS}?at=0&amp;rank=worker-1">Attempt 0</a>' in divider
    assert 'class="divider"' not in first


async def test_what_the_script_asks_for_tells_the_newest_attempt_that_has_printed(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path)
    async with serve_console(tmp_path, [job]) as served:
        told = await ask(served, "lines?rank=worker-1&at=1&n=0")
    assert (told["newest"], told["live"], told["over"]) == (2, True, True)


async def test_of_fifty_restarts_twelve_are_linked_and_the_others_are_folded(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path, 50)
    async with serve_console(tmp_path, [job]) as served:
        page, old = await read(served, LOGS), await read(served, f"{LOGS}?at=7")
    assert list_attempts(page) == ([*range(39)], [*range(39, 51)], 49)
    assert list_attempts(old) == ([each for each in range(40) if each != 7], [7, *range(40, 51)], 7)


def list_attempts(page: str) -> tuple[list[int], list[int], int]:
    """(folded, in a row, the one that is shown)."""
    nav = page.split('<nav class="attempts"')[1].split("</nav>")[0]
    folded, _, row = nav.partition("</details>")
    shown = re.findall(r'aria-current="true">(\d+)<', nav)
    numbers = [[int(each) for each in re.findall(r">(\d+)</a>", part)] for part in (folded, row)]
    return numbers[0], numbers[1], int(shown[0])


async def test_a_page_for_the_script_has_no_lines(tmp_path: Path) -> None:
    job = keep_restarts(tmp_path)
    async with serve_console(tmp_path, [job]) as served:
        page = await read(served, f"{LOGS}?at=2&bare=1&q=broken")
    assert 'class="row' not in page and "failed first" in page and 'class="found"' not in page
    words = page.split('data-words="')[1].split('"')[0].replace("&#34;", '"').replace("&#39;", "'")
    assert json.loads(words)["follow"] == "Follow"
