"""Searches by a regular expression have a process each, so few of them run at once, however many are asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from paddock.app.consoles.logs import LocalLogs
from paddock.app.history import History
from paddock.app.home import Home
from paddock.console.backend import KeptLog, KeptRun
from paddock.console.logs.lanes import Lane
from paddock.console.logs.look import AT_ONCE, MOST_APART, Search, find
from paddock.console.logs.wanted import Wanted
from paddock.history.log_shelf import OpenLog
from paddock.kube.meta import Resource
from support.consoles import keep_log


class Busy:
    """Logs that are gone; `most`: searches that had begun and not ended."""

    def __init__(self) -> None:
        self.lock, self.inside, self.most = threading.Lock(), 0, 0

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        return None

    def open(self, log: KeptLog) -> AbstractContextManager[OpenLog]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        raise FileNotFoundError(log.id)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1


@pytest.mark.slow
async def test_few_searches_have_a_process_at_once() -> None:
    logs = Busy()
    lanes = [Lane("worker-0", KeptLog("gone", "worker", 0, 0, 1, 0.0))]

    async def search() -> None:
        await find(logs, lanes, Search(Wanted("(a+)+$", regex=True), seconds=0.1))
        logs.leave()

    await asyncio.gather(*(search() for _ in range(3 * MOST_APART)))
    assert 1 < logs.most <= MOST_APART


class Open:
    """Logs of which `most` were open at once."""

    def __init__(self, directory: Path) -> None:
        self.logs, self.lock, self.inside, self.most = (
            LocalLogs(History(Home(directory, directory))),
            threading.Lock(),
            0,
            0,
        )

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        return None

    @contextmanager
    def open(self, log: KeptLog) -> Iterator[OpenLog]:
        with self.logs.open(log) as opened:
            with self.lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            try:
                yield opened
            finally:
                with self.lock:
                    self.inside -= 1


async def test_a_search_in_many_logs_opens_some_of_them_at_once(tmp_path: Path) -> None:
    path, logs = keep_log(tmp_path, "worker-0", "one\ntwo\n"), Open(tmp_path)
    lanes = [Lane(f"worker-{each}", KeptLog(str(path), "worker", each, 0, 8, 0.0)) for each in range(250)]
    for wanted in (Wanted("two"), Wanted("t.o", regex=True)):
        found = await find(logs, lanes, Search(wanted, seconds=60.0))
        assert [[line.number for line in each.lines] for each in found] == [[1]] * 250
        assert all(each.is_whole for each in found)
        assert (logs.most, logs.inside) == (AT_ONCE, 0)
