"""How far the trainings of this machine are: logs that grow, files of metrics, what was posted, and when it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.gangs import build_job, build_pods
from paddock.app.home import Home
from paddock.app.job_progress import (
    MOST_RANKS,
    TOLD_SECONDS,
    Gang,
    JobProgresses,
    PrintedLines,
    Rank,
    WrittenLines,
    choose_lines,
    cut_lines,
)
from paddock.app.running_logs import RunningLogs
from paddock.app.written_metrics import read_on
from paddock.jobs.model import JobProgress
from paddock.kube.errors import NotFound
from paddock.logs.metric_lines import Place
from paddock.logs.printed_lines import LineReader
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records

GANG = Gang("job", 0)


def append(path: Path, *lines: str, end: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("".join(line + end for line in lines))


def percent(lines: PrintedLines | WrittenLines) -> int | None:
    found = lines.track.progress
    return found.percent if found is not None else None


def test_a_log_is_read_on_line_by_line(tmp_path: Path) -> None:
    log, lines = tmp_path / "0.log", PrintedLines()
    lines.look(log, 0.0)
    append(log, "step 10/100 loss 0.5")
    append(log, "step 20/1", end="")
    lines.look(log, 1.0)
    assert percent(lines) == 10, "a line that has not ended is not read"
    append(log, "00 loss 0.4")
    lines.look(log, 2.0)
    assert percent(lines) == 20
    lines.look(log, 9.0)
    assert lines.track.progress == JobProgress(20, 8, {"loss": 0.4})


def test_a_bar_that_redraws_itself_is_read_in_each_state(tmp_path: Path) -> None:
    log, lines = tmp_path / "0.log", PrintedLines()
    append(
        log,
        " 10%|█| 10/100 [00:01<00:09,  9.0it/s, loss=0.5]",
        " 50%|█| 50/100 [00:05<00:05, 9.0it/s, loss=0.4]",
        end="\r",
    )
    lines.look(log, 0.0)
    assert percent(lines) == 50


def test_of_a_log_that_grows_fast_the_last_lines_are_read(tmp_path: Path) -> None:
    log, lines = tmp_path / "0.log", PrintedLines()
    append(log, "step 10/100 loss 0.5", *["x" * 99] * 50, "step 90/100 loss 0.1")
    lines.look(log, 0.0, most=30)
    assert percent(lines) == 90
    append(log, *["step 80/100 loss 0.5"] * 50, "step 95/100 loss 0.1")
    lines.look(log, 1.0, most=40)
    assert percent(lines) == 95
    log.write_text("step 96/100 loss 0.1\n")
    lines.look(log, 2.0)
    assert percent(lines) == 96, "a file that was cut is read from its start"


def test_a_line_of_which_the_beginning_is_lost_is_not_read(tmp_path: Path) -> None:
    log, lines = tmp_path / "0.log", PrintedLines()
    append(log, "step 90/100 loss 0.5, step 10/100 loss 0.5")
    lines.look(log, 0.0, most=21)
    assert lines.track.progress is None


def test_of_many_lines_the_last_are_read_and_those_that_say_what_they_mean(tmp_path: Path) -> None:
    lines = [f"{step}/100 [==>..] - 1s 12ms/step - loss: 0.3" for step in range(1, 101)]
    chosen = choose_lines(["x", "Epoch 3/4", *lines], LineReader())
    assert chosen[0] == "Epoch 3/4" and chosen[1:] == lines[-len(chosen) + 1 :] and len(chosen) < 60
    log, printed = tmp_path / "0.log", PrintedLines()
    append(log, "Epoch 3/4", *lines[:80])
    printed.look(log, 0.0)
    assert percent(printed) == 70
    append(log, *lines[80:], "Epoch 4/4", *lines[:60])
    printed.look(log, 5.0)
    assert percent(printed) == 90


def test_what_is_no_file_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "link", Path("/dev/zero")):
        assert read_on(path, Place(), 100).data == b""


def test_metrics_that_were_written_are_read_on(tmp_path: Path) -> None:
    file, lines = tmp_path / "worker-0.0.jsonl", WrittenLines()
    lines.look(file, 0.0)
    append(file, '{"step": 10, "steps": 100, "loss": 0.5}', "no JSON", '{"step": 30, "steps": 100}')
    lines.look(file, 1.0)
    assert lines.track.progress == JobProgress(30, None, {"loss": 0.5})


def test_a_metrics_directory_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """A program can put anything in the place of its directory, as of its file."""
    other = tmp_path / "other" / "worker-0.0.jsonl"
    append(other, '{"step": 50, "steps": 100, "loss": 42}')
    (tmp_path / "metrics").symlink_to(other.parent)
    lines = WrittenLines()
    lines.look(tmp_path / "metrics" / other.name, 0.0)
    assert lines.track.progress is None


def test_a_metrics_file_that_was_replaced_or_cut_is_read_anew(tmp_path: Path) -> None:
    file, lines = tmp_path / "worker-0.0.jsonl", WrittenLines()
    append(file, '{"step": 10, "steps": 100}')
    lines.look(file, 0.0)
    fresh = tmp_path / "fresh"
    append(fresh, '{"step": 60, "steps": 100}')
    fresh.replace(file)
    lines.look(file, 1.0)
    assert percent(lines) == 60, "of the same size, and another file"
    file.write_text('{"step":7,"steps":10}\n')
    lines.look(file, 2.0)
    assert percent(lines) == 70


def test_of_a_metrics_file_that_grows_fast_the_last_lines_are_read(tmp_path: Path) -> None:
    file, lines = tmp_path / "worker-0.0.jsonl", WrittenLines()
    append(file, '{"step": 10, "steps": 100}')
    lines.look(file, 0.0)
    append(file, *["{}"] * 9_000, '{"step": 90, "steps": 100}')
    lines.look(file, 1.0, most=400)
    assert percent(lines) == 90


@pytest.mark.parametrize("whole", [True, False])
def test_the_last_lines_of_a_look_are_kept_whole(*, whole: bool) -> None:
    lines = [b'{"step": %d}' % number for number in range(1000)]
    data = b"\n".join(lines) + b'\n{"st'
    kept = cut_lines(data, whole=whole).split(b"\n")
    assert kept[-3:] == [*lines[-2:], b'{"st'] and len(kept) < 50
    assert (kept[0] == lines[0]) is not whole, "what goes on is ended by its own rest"
    assert cut_lines(b"a\nb", whole=True) == b"a\nb"


class Posts:
    def __init__(self) -> None:
        self.posted: dict[tuple[str, int], JobProgress] = {}

    def read(self, uid: str, attempt: int) -> JobProgress | None:
        return self.posted.get((uid, attempt))

    def forget(self, uid: str) -> None:
        self.posted = {key: value for key, value in self.posted.items() if key[0] != uid}


class NoPods:
    """Each has one container."""

    async def get(self, *_: object) -> None:
        raise NotFound("gone")


class Node:
    """A node with running pods of one container each, and a clock."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.now = directory, 1000.0
        self.running: list[tuple[PodState, Run]] = []
        self.posts = Posts()
        logs = RunningLogs(NoPods(), directory / "node", lambda: self.running)  # type: ignore[arg-type]
        self.progresses = JobProgresses(logs, Home(directory, directory), self.posts, clock=lambda: self.now)

    def start(self, uid: str) -> Path:
        """The log."""
        state, run = PodState(uid, "default", uid, "", 0.0, ""), Run("main", 0, 0.0)
        self.running.append((state, run))
        return Records(self.directory / "node").log_file(state, run)

    def rank(self, uid: str) -> Rank:
        return Rank(uid, self.directory / "metrics" / uid)

    def read(self, *pods: str, ends: bool = False, gang: Gang = GANG) -> JobProgress | None:
        return self.progresses.read_gang(gang, tuple(map(self.rank, pods)), ends=ends)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def test_the_first_rank_that_tells_a_percentage_is_told(node: Node) -> None:
    logs = {uid: node.start(uid) for uid in "abc"}
    assert node.read(*"abc") is None
    append(logs["a"], "loss: 0.5, step 5")
    append(logs["b"], "step 20/100 loss 0.4")
    append(logs["c"], "step 30/100 loss 0.3")
    await node.progresses.look()
    assert node.read(*"abc") == JobProgress(20, None, {"loss": 0.4})


async def test_what_is_told_changes_once_in_half_a_minute_and_at_the_end(node: Node) -> None:
    log = node.start("a")
    node.read("a")
    append(log, "step 20/100 loss 0.5")
    await node.progresses.look()
    assert node.read("a") == JobProgress(20, None, {"loss": 0.5})
    node.now += TOLD_SECONDS - 1
    append(log, "step 40/100 loss 0.5")
    await node.progresses.look()
    assert node.read("a") == JobProgress(20, None, {"loss": 0.5})
    node.now += 1
    assert node.read("a") == JobProgress(40, 87, {"loss": 0.5})
    node.running.clear()
    append(log, "step 100/100 loss 0.5")
    assert node.read("a") == JobProgress(40, 87, {"loss": 0.5})
    assert node.read("a", ends=True) == JobProgress(100, 0, {"loss": 0.5}), "what was printed last is read now"


async def test_a_program_that_ends_before_the_first_look_is_told_too(node: Node) -> None:
    log = node.start("a")
    node.read("a")
    node.running.clear()
    append(log, "step 100/100 loss 0.5")
    assert node.read("a", ends=True) == JobProgress(100, None, {"loss": 0.5})


async def test_what_was_posted_wins_over_written_and_printed_numbers(node: Node) -> None:
    log = node.start("a")
    node.read("a")
    append(log, "step 20/100 loss 0.5")
    append(node.rank("a").metrics, '{"step": 30, "steps": 100, "accuracy": 0.9}')
    await node.progresses.look()
    node.posts.posted["job", 0] = JobProgress(45, 1200)
    assert node.read("a") == JobProgress(45, 1200, {"accuracy": 0.9, "loss": 0.5})
    node.posts.posted.clear()
    node.now += TOLD_SECONDS
    assert node.read("a") == JobProgress(30, None, {"accuracy": 0.9, "loss": 0.5})


async def test_a_new_attempt_and_a_container_that_starts_again_begin_anew(node: Node) -> None:
    log = node.start("a")
    node.read("a")
    append(log, "step 90/100 loss 0.5")
    await node.progresses.look()
    node.running = [(state, Run("main", 1, 0.0)) for state, _ in node.running]
    await node.progresses.look()
    assert node.read("a") is None
    node.start("b")
    assert node.read("b", gang=Gang("job", 1)) is None
    assert list(node.progresses._gangs) == [Gang("job", 1)]


async def test_few_ranks_are_looked_at_and_who_is_not_asked_for_is_forgotten(node: Node) -> None:
    job = build_job(ps=2, workers=MOST_RANKS + 1)
    pods = build_pods(job)
    logs = {str(pod.rank): node.start(pod.uid) for pod in pods}
    assert node.progresses.read(job, 0, pods) is None
    append(logs["ps-0"], "step 80/100 loss 0.5")
    append(logs[f"worker-{MOST_RANKS}"], "step 90/100 loss 0.5")
    await node.progresses.look()
    assert node.progresses.read(job, 0, pods) is None
    append(logs["worker-1"], "step 10/100 loss 0.5")
    append(node.directory / "outputs/team/demo-job-uid/.metrics/worker-1-attempt-0.jsonl", '{"step": 20, "steps": 100}')
    await node.progresses.look()
    assert node.progresses.read(job, 0, pods[::-1]) == JobProgress(20, None, {"loss": 0.5})
    node.posts.posted[job.uid, 0] = JobProgress(1)
    node.now += 601
    await node.progresses.look()
    assert not node.progresses._gangs and not node.posts.posted
