"""Since when no program of a gang prints, as the node sees it: by real logs and a steady clock."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from paddock.app.job_reports import JobReports, build_text
from paddock.app.running_logs import RunningLogs
from paddock.jobs.model import Report, Stacks
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest
from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks, Thread
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records

PODS = frozenset({"a", "b"})
WAITS = (
    "I1125 14:05:17.974907 12966 tcp_utils.cc:109] Retry to connect to 192.168.9.17:55929 while the server is not yet "
    "listening.\n",
    "[W1125 10:00:00.1 socket.cpp:697] [c10d] The client socket has failed to connect to [host-0]:29500 (errno: "
    "111 - Connection refused).\n",
)
RANKS = {"a": "worker-0", "b": "worker-1"}


def build_stacks(pod: str, frames: tuple[Frame, ...]) -> PodStacks:
    thread = Thread("MainThread", True, frames)
    return PodStacks(pod, (ProcessStacks(1, "main", "python", "", (thread,), "py-spy"),))


class NoPods:
    async def get(self, *_: object) -> Manifest:
        raise NotFound("gone")


class Answers:
    """The seam to the processes; `tests/e2e/test_stacks.py` takes real ones."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.hangs, self.asked, self.gate = hangs, list[str](), asyncio.Event()
        self.gate.set()

    async def take(self, pod: Manifest) -> PodStacks:
        name = pod["metadata"]["name"]
        self.asked.append(name)
        await self.gate.wait()
        if self.hangs:
            raise RuntimeError("a bug")
        frames = (Frame("<module>", "/w/train.py", 9), Frame("read_batch" if name == "b" else "step", "/w/train.py", 5))
        return PodStacks(
            name, (ProcessStacks(1, "main", "python", "", (Thread("MainThread", True, frames),), "py-spy"),)
        )


class Node:
    def __init__(self, directory: Path, *, hangs: bool = False) -> None:
        self.now, self.answers = 100.0, Answers(hangs=hangs)
        self.running = [
            (PodState(uid, "team", uid, "127.0.0.9", 0.0, runs={"main": run}), run)
            for uid in sorted(PODS)
            for run in (Run("main", 0, 0.0, pid=1),)
        ]
        self.logs = {state.uid: Records(directory).log_file(state, run) for state, run in self.running}
        for log in self.logs.values():
            log.parent.mkdir(parents=True)
            log.write_bytes(b"")
        stacks: Any = self.answers
        api: Any = NoPods()
        logs = RunningLogs(api, directory, lambda: self.running)
        self.reports = JobReports(logs, stacks, clock=lambda: self.now, wall=lambda: 0.0)

    async def later(self, seconds: float, **printed: str) -> Report:
        """What is reported so many seconds later; `printed`: what the pod has printed meanwhile."""
        self.now += seconds
        for uid, text in printed.items():
            with self.logs[uid].open("a") as log:
                log.write(text)
        await self.reports.look()
        report = self.reports.read(PODS)
        assert report is not None
        return report

    async def taken(self) -> None:
        """When the stacks that were asked for are written."""
        await asyncio.gather(*self.reports.taking)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    made = Node(tmp_path)
    made.reports.read(PODS)
    return made


async def test_it_counts_from_the_first_look_and_anew_at_each_line_of_any_rank(node: Node) -> None:
    assert (await node.later(5)).quiet == 0, "what was there before the first look is not judged"
    assert (await node.later(30)).quiet == 30
    assert (await node.later(5, b="step 1\n")).quiet == 0
    assert (await node.later(5, a="50%|#####     \r")).quiet == 0, "a bar that moves"
    assert (await node.later(7)).quiet == 7


async def test_a_pod_that_waits_for_its_room_is_not_silent(node: Node) -> None:
    running, node.running = node.running, []
    node.reports.read(PODS, PODS)
    node.now += 500
    assert node.reports.read(PODS, {"b"}) == Report(0)
    node.now += 90
    assert node.reports.read(PODS) == Report(0), "b has begun by now, whether or not its log was looked at"
    node.running = running
    assert (await node.later(10)).quiet == 0
    assert (await node.later(30)).quiet == 30


async def test_a_log_that_no_look_has_known_yet_gets_its_stacks(node: Node) -> None:
    node.now += 60
    node.reports.take_stacks(RANKS)
    await node.taken()
    assert all("no rank prints; the stack of" in log.read_text() for log in node.logs.values())
    assert (await node.later(1)).quiet == 0, "the first look judges nothing that was there before it"


@pytest.mark.parametrize("line", WAITS)
async def test_who_only_says_that_it_waits_is_not_heard(node: Node, line: str) -> None:
    await node.later(0)
    assert (await node.later(10, a=line, b=line + line)).quiet == 10
    assert (await node.later(10, a=line + "step 1\n")).quiet == 0


async def test_a_flood_is_heard_without_being_read(node: Node) -> None:
    await node.later(0)
    assert (await node.later(10, a=WAITS[0] * 2000)).quiet == 0


async def test_stacks_are_written_once_into_each_log_and_are_no_lines(node: Node) -> None:
    await node.later(0, a="step 1\n", b="step 1\n")
    assert (await node.later(60)).stacks is None
    node.answers.gate.clear()
    node.reports.take_stacks(RANKS)
    assert (await node.later(0)).stacks == Stacks(), "asked for, not there yet"
    node.answers.gate.set()
    await node.taken()
    assert await node.later(0) == Report(
        60, Stacks(written=True, who=("worker-0", "worker-1"), places=("step, train.py:5", "read_batch, train.py:5"))
    )
    for uid, rank in RANKS.items():
        first, said, *rest = node.logs[uid].read_text().splitlines()
        assert (first, said) == ("step 1", f"paddock: no rank prints; the stack of {rank} at 1970-01-01T00:00:00Z:")
        assert all(line.startswith("paddock: ") for line in rest) and 'train.py", line 5' in rest[-1]
    assert (await node.later(10)).quiet == 70
    assert await node.later(10, a="step 2\n") == Report(0, None), "the next silence has stacks of its own"


async def test_stacks_that_cannot_be_taken_hold_nothing_up(tmp_path: Path) -> None:
    node = Node(tmp_path, hangs=True)
    node.reports.read(PODS)
    await node.later(0)
    node.reports.take_stacks(RANKS)
    await node.taken()
    assert (await node.later(0)).stacks == Stacks(written=True)


async def test_what_a_program_has_put_in_the_place_of_its_log_is_not_followed(node: Node, tmp_path: Path) -> None:
    await node.later(0)
    other = tmp_path / "other"
    other.write_text("")
    for log in node.logs.values():
        log.unlink()
    node.logs["a"].symlink_to(other)
    os.mkfifo(node.logs["b"])
    node.now += 60
    await node.reports.look()
    node.reports.take_stacks(RANKS)
    await node.taken()
    report = node.reports.read(PODS)
    assert report is not None and report.stacks is not None and report.stacks.written
    assert other.read_text() == ""


@pytest.mark.parametrize("limit", [60.0, 1800.0, 7200.0])
async def test_a_rank_that_has_ended_is_not_heard_again_and_its_last_line_counts(node: Node, limit: float) -> None:
    await node.later(0, a="step 1\n")
    await node.later(7, b="done\n")
    node.running = node.running[:1]  # b has ended
    for _ in range(int(limit // 60)):
        report = await node.later(60)
    assert report.quiet == limit // 60 * 60, "as one hangs whose peers are gone"
    assert (await node.later(60, a="step 2\n")).quiet == 0


async def test_stacks_of_a_silence_that_is_over_change_nothing(node: Node) -> None:
    await node.later(0, a="step 1\n")
    await node.later(60)
    node.answers.gate.clear()
    node.reports.take_stacks(RANKS)
    await node.later(5, a="step 2\n")
    node.answers.gate.set()
    await node.taken()
    assert (await node.later(30)).stacks is None


async def test_a_gang_with_a_pod_that_was_made_anew_begins_anew(node: Node, tmp_path: Path) -> None:
    await node.later(100)
    report = node.reports.read(frozenset({"a", "c"}))
    assert report == Report(0), "c is heard from now on"
    await node.reports.look()
    assert node.reports.read(frozenset({"a", "c"})) == Report(0)


async def test_of_whom_nothing_runs_is_forgotten(node: Node) -> None:
    await node.later(0)
    node.running = []
    node.now += 10_000
    await node.reports.look()
    assert node.reports.read(PODS) == Report(0), "as one that was never seen"
    assert node.reports.read(frozenset()) is None


def test_a_stack_that_is_long_is_cut_at_a_line() -> None:
    frames = tuple(Frame("f" * 200, "/w/train.py", number) for number in range(1000))
    text = build_text("worker-0", build_stacks("a", frames), 0.0)
    assert 60_000 < len(text) < 70_000 and text.endswith(b"\npaddock: the rest is cut off\n")
