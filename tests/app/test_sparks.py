"""The loss of the jobs of a list: known at once or soon, read once of a job that is over."""

from __future__ import annotations

import asyncio
from pathlib import Path

from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.used.sparks import FRESH_SECONDS, KeptSparks, choose_log
from paddock.app.history import History
from paddock.app.home import Home
from paddock.console.backend import KeptLog, Printing
from support.consoles import PADDLE, keep_log, keep_run


def job(*, over: bool = False, uid: str = "one") -> Printing:
    return Printing(PADDLE, "default", "demo", uid, over)


async def look(sparks: KeptSparks, wanted: Printing) -> list[float]:
    found = [spark.last for spark in sparks.look([wanted]).values()]
    while sparks.reading:  # noqa: ASYNC110 - it ends by itself
        await asyncio.sleep(0.001)
    return found


async def test_what_is_known_is_shown_and_the_rest_is_read_behind_the_page(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "step 1 loss 0.5\nstep 2 loss 0.25\n")
    keep_log(tmp_path, "worker-1", "step 1 loss 7\nstep 2 loss 8\n")
    now = [0.0]
    sparks = KeptSparks(LocalLogs(History(Home(tmp_path, tmp_path)), lambda: now[0] * 1000), lambda: now[0])
    assert await look(sparks, job()) == []
    assert await look(sparks, job()) == [0.25]
    with path.open("a") as log:
        log.write("step 3 loss 0.125\n")
    assert await look(sparks, job()) == [0.25], "a page is rendered often"
    now[0] = FRESH_SECONDS
    await look(sparks, job(over=True))
    assert await look(sparks, job(over=True)) == [0.125]
    path.unlink()
    now[0] = 1000.0
    assert await look(sparks, job(over=True)) == [0.125] and not sparks.reading


async def test_a_job_without_logs_has_none(tmp_path: Path) -> None:
    sparks = KeptSparks(LocalLogs(History(Home(tmp_path, tmp_path))))
    assert [await look(sparks, job(uid="none")) for _ in range(2)] == [[], []]


def test_rank_0_of_the_last_attempt_is_read() -> None:
    logs = tuple(
        KeptLog(f"{role}-{index}-{attempt}", role, index, attempt, 1, 1.0)
        for role, index, attempt in (("worker", 0, 0), ("worker", 1, 1), ("worker", 0, 1), ("ps", 0, 1))
    )
    assert choose_log(logs).id == "worker-0-1"
