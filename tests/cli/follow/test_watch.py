"""run --watch: which changes count, when, and what ends it. Looks, pauses and signals are given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.watch import Snapshot, Watch, find_changes, plan_pause
from paddock.cli.output.interrupts import Listen
from paddock.words.phrases import Phrase, render

FIRST: Snapshot = {"train.py": (1, 10), "config.yaml": (1, 5)}
SECOND: Snapshot = {**FIRST, "train.py": (2, 11)}


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        (FIRST, ()),
        (SECOND, ("train.py",)),
        ({**FIRST, "config.yaml": (1, 6)}, ("config.yaml",)),
        ({"train.py": (1, 10)}, ("config.yaml",)),
        ({**FIRST, "model.py": (3, 1)}, ()),
    ],
)
def test_changes_that_count(now: Snapshot, changed: tuple[str, ...]) -> None:
    assert find_changes(FIRST, now) == changed


def test_a_look_that_takes_long_is_taken_less_often() -> None:
    assert (plan_pause(0.001), plan_pause(0.5)) == (1.0, 10.0)


class Script:
    """A run of `Watch` with looks, which stay at the last one, and interrupts at the numbers of pauses."""

    def __init__(self, looks: list[Snapshot], interrupt_at: int) -> None:
        self.looks, self.said, self.pauses = looks, [], 0
        self._interrupt_at = interrupt_at
        self._interrupted: Callable[[], None] = lambda: None
        self.watch = Watch(self.look, self.said.append, sleep=self.sleep, signals=self.signals)

    def look(self) -> Snapshot:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    async def sleep(self, seconds: float) -> None:
        self.pauses += 1
        if self.pauses == self._interrupt_at:
            self._interrupted()
            await asyncio.Event().wait()

    @asynccontextmanager
    async def signals(self, queue: asyncio.Queue[None]) -> AsyncIterator[None]:
        self._interrupted = lambda: queue.put_nowait(None)
        yield

    @property
    def lines(self) -> list[str]:
        return [render(each) if isinstance(each, Phrase) else each for each in self.said]


def follow(listen: Listen) -> int:
    """A job that ends only when it is told to."""

    async def until_told() -> None:
        queue: asyncio.Queue[None] = asyncio.Queue()
        async with listen(queue):
            await queue.get()

    asyncio.run(until_told())
    return 130


def test_a_running_job_is_ended_and_run_again_when_a_change_has_settled() -> None:
    runs: list[int] = []
    for_change: list[bool] = []

    def once(listen: Listen) -> int:
        runs.append(len(script.looks))
        code = follow(listen)
        for_change.append(script.watch.is_changed)
        return code

    half: Snapshot = {**FIRST, "train.py": (2, 3)}
    script = Script([FIRST, FIRST, half, SECOND, SECOND, SECOND], interrupt_at=5)
    assert script.watch.repeat(once) == 130
    assert runs == [5, 1], "looks that are left at each start"
    assert for_change == [True, False]
    assert script.lines == ["train.py changed: running it again"]


def test_after_its_end_a_change_is_awaited_and_an_interrupt_ends() -> None:
    codes = iter([0, 1])
    script = Script([FIRST, SECOND, SECOND, SECOND], interrupt_at=3)
    assert script.watch.repeat(lambda _: next(codes)) == 130
    assert script.lines == [
        "watching 2 files: a change runs it again, Ctrl-C ends",
        "train.py changed: running it again",
        "watching 2 files: a change runs it again, Ctrl-C ends",
    ]


def test_an_interrupt_of_the_job_ends_all() -> None:
    script = Script([FIRST], interrupt_at=1)
    assert script.watch.repeat(follow) == 130
    assert script.lines == []


def test_what_is_wrong_at_first_ends_and_later_waits_for_the_next_change() -> None:
    def wrong(_: Listen) -> int:
        raise UserError("train.py:1: invalid syntax")

    with pytest.raises(UserError):
        Script([FIRST], interrupt_at=1).watch.repeat(wrong)

    attempts = iter([lambda _: 0, wrong])
    script = Script([FIRST, SECOND], interrupt_at=3)
    assert script.watch.repeat(lambda listen: next(attempts)(listen)) == 130
    assert script.lines[2] == "train.py:1: invalid syntax"
