"""What `paddock run` shows, by tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.views import build_job, build_restart, build_view
from paddock.cli.follow.failure import build_failure, build_untold
from paddock.cli.output.display import (
    build_building,
    build_doubt,
    build_end,
    build_head,
    build_live_line,
    build_timeout,
)
from paddock.cli.verbs.down import build_stopped
from paddock.jobs.model import CauseRecord, Counts, Phase, Rank
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Key
from paddock.logs.complaints import Complaint, find_complaint
from paddock.logs.endings import read_ending
from paddock.logs.swallowed import LAUNCHER
from paddock.views.building import read_building
from paddock.views.ended import read_end
from paddock.views.followed import read_view_code
from paddock.words.phrases import render

FAILED = CauseRecord("RankFailed", {"ranks": ["worker-1"], "code": 3})
DOCUMENTED = "epoch 1  step 100/400  loss 0.5213"


def test_the_head_counts_servers_and_workers() -> None:
    assert build_head(build_job(ps=2)) == "PaddleJob demo: PS mode, 2 servers, 2 workers"
    assert build_head(replace(build_job(), mode="Single")) == "PaddleJob demo: 2 workers"
    team = replace(build_job(), key=Key("team", "demo"))
    assert build_head(team) == "PaddleJob team/demo: Collective mode, 2 workers"
    first = replace(team.roles[0], name="master", replicas=1)
    assert build_head(replace(team, roles=(first, *team.roles))) == (
        "PaddleJob team/demo: 1 master, 2 workers (master-0 is rank 0 and trains like the others)"
    )


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (build_view(), "Running 12s · ps 2/2 · worker 2/2"),
        (build_view(line=DOCUMENTED), "Running 12s · ps 2/2 · worker 2/2 · epoch 1 step 100/400 · loss 0.5213"),
        (build_view(phase=Phase.NONE), "Submitted 12s · ps 2/2 · worker 2/2"),
        (
            build_view(phase=Phase.STARTING, cause=CauseRecord("PodsStarting", {"starting": 1, "wanted": 4})),
            "Starting 12s · ps 2/2 · worker 2/2 · 1 of 4 pods is starting",
        ),
        (build_view(restarts=2), "Running 12s · ps 2/2 · worker 2/2 · restarts 2"),
    ],
)
def test_the_live_line_says_phase_ranks_progress_and_what_it_waits_for(view: Any, said: str) -> None:
    assert build_live_line(view, now=112.0) == said


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (build_view(phase=Phase.COMPLETED, ended=131.2), "Completed in 31 s: ps 2/2, worker 2/2 succeeded."),
        (build_view(phase=Phase.COMPLETED, ended=101.26), "Completed in 1.3 s: ps 2/2, worker 2/2 succeeded."),
        (build_view(phase=Phase.COMPLETED, ended=400.0), "Completed in 5m: ps 2/2, worker 2/2 succeeded."),
        (
            build_view(phase=Phase.COMPLETED, ended=131.2, messages={Rank("worker", 0): "AUC 0.81\n(chance 0.50)"}),
            "Completed in 31 s: ps 2/2, worker 2/2 succeeded. AUC 0.81 (chance 0.50)",
        ),
        (
            build_view(phase=Phase.COMPLETED, ended=131.2, messages={Rank("ps", 0): "a server's words"}),
            "Completed in 31 s: ps 2/2, worker 2/2 succeeded.",
        ),
        (build_view(phase=Phase.FAILED, ended=112.0), "Failed after 12 s: no cause is recorded"),
    ],
)
def test_the_end_says_how_long_who_and_why(view: Any, said: str) -> None:
    assert build_end(view) == said


WAITING = CauseRecord("WaitingForScheduler", {"pods": 4, "wanted": 4, "message": "no room"})


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (build_view(phase=Phase.PENDING, cause=WAITING), "waiting for room for 4 of 4 pods: no room"),
        (build_view(), "Running, all of its pods run"),
        (build_view(line=DOCUMENTED), "Running, epoch 1 step 100/400, loss 0.5213"),
        (build_view(phase=Phase.RESTARTING, cause=build_restart(1)), explain(build_restart(1))),
        (build_view(phase=Phase.NONE), "no cause is recorded"),
    ],
)
def test_a_timeout_says_how_far_the_job_is_or_what_it_waits_for(view: Any, said: str) -> None:
    assert build_timeout(view, 60) == f"Not completed in 60 s (--timeout): {said}"
    assert build_timeout(view, 600).startswith("Not completed in 10m (--timeout): ")


def test_what_is_shown_meanwhile_in_chinese() -> None:
    running = build_view(
        phase=Phase.STARTING, cause=CauseRecord("PodsStarting", {"starting": 1, "wanted": 4}), restarts=2
    )
    building = read_building("paddle-ps", {"phase": "Building", "progress": 61, "message": "building (paddle), 61 %"})
    assert building is not None
    assert build_live_line(running, 112.0, "zh") == (
        "启动中 12 秒 · ps 2/2 · worker 2/2 · 1 个 Pod（共 4 个）正在启动 · 已重启 2 次"
    )
    assert build_timeout(build_view(), 60, "zh") == "60 秒内未完成（--timeout）：运行中，全部 Pod 都在运行"
    assert build_building(building, bar=False, language="zh") == "环境 paddle-ps：正在构建（paddle），61%"
    message = "building (paddle, 193 MB), installing, 61 %, 12 MB/s"
    building = read_building("nx", {"phase": "Building", "progress": 61, "message": message})
    assert building is not None
    assert build_building(building, bar=False, language="zh") == (
        "环境 nx：正在构建（paddle, 193 MB），正在安装，61%，12 MB/s"
    )


def test_the_end_does_not_say_failed_twice() -> None:
    given_up = CauseRecord("BackoffLimitExceeded", {**build_restart(2).args, "limit": 2})
    said = build_end(build_view(phase=Phase.FAILED, cause=given_up, ended=140.0))
    assert said.startswith("Failed after 40 s: after 2 restarts, as many as runPolicy.backoffLimit allows: worker-0")


@pytest.mark.parametrize(
    ("message", "percent", "line", "drawn"),
    [
        (
            "building (paddlepaddle 3.0.0, 193 MB), 61 %",
            61,
            "environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB), 61 %",
            "environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB) ██████░░░░ 61 %",
        ),
        (
            "building (paddlepaddle 3.0.0, 193 MB), 61 %, 12 MB/s, 9 s left",
            61,
            "environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB), 61 %, 12 MB/s, 9 s left",
            "environment paddle-ps: building (paddlepaddle 3.0.0, 193 MB) ██████░░░░ 61 %, 12 MB/s, 9 s left",
        ),
        (
            "building (paddlepaddle 3.0.0), installing, 90 %",
            90,
            "environment paddle-ps: building (paddlepaddle 3.0.0), installing, 90 %",
            "environment paddle-ps: building (paddlepaddle 3.0.0), installing █████████░ 90 %",
        ),
        (
            "waiting for another build of paddlepaddle 3.0.0",
            0,
            "environment paddle-ps: waiting for another build of paddlepaddle 3.0.0, 0 %",
            "environment paddle-ps: waiting for another build of paddlepaddle 3.0.0 ░░░░░░░░░░ 0 %",
        ),
    ],
)
def test_a_build_is_a_bar_on_a_terminal_and_a_line_in_a_pipe(message: str, percent: int, line: str, drawn: str) -> None:
    building = read_building("paddle-ps", {"phase": "Building", "progress": percent, "message": message})
    assert building is not None
    assert (build_building(building, bar=False), build_building(building, bar=True)) == (line, drawn)


@pytest.mark.parametrize("phase", ["Ready", "Failed", "Pending", None])
def test_what_is_not_being_built_is_not_shown(phase: str | None) -> None:
    assert read_building("paddle-ps", {"phase": phase, "progress": 0}) is None


def test_a_job_that_completes_after_an_error_is_doubted() -> None:
    line = "Error initializing process group: Distributed package doesn't have NCCL built in"
    complaint = find_complaint([line])
    assert complaint is not None
    worker, server = {Rank("worker", 1): complaint}, {Rank("ps", 0): complaint}
    said, advice = build_doubt(replace(build_view(phase=Phase.COMPLETED), complaints=worker))
    assert render(said, "en").startswith(f"warning: worker-1 printed “{line}” and still ended with 0")
    assert render(advice, "en").startswith(
        "nccl needs GPUs: run the job where it has some, or let the program use gloo"
    )
    numbered = {Rank("worker", 1): replace(complaint, line=5)}
    said, _ = build_doubt(replace(build_view(phase=Phase.COMPLETED), complaints=numbered))
    assert render(said, "en").endswith(f"so the job counts as completed; line 5 of its log: “{line}”")
    assert build_doubt(replace(build_view(phase=Phase.COMPLETED), complaints=server)) == []
    assert build_doubt(replace(build_view(phase=Phase.FAILED), complaints=worker)) == []
    assert build_doubt(build_view(phase=Phase.COMPLETED)) == []


KEY, FAILED = Complaint("traceback", "KeyError: 'label'", line=41), Complaint(LAUNCHER, "LAUNCH ERROR: failed", line=7)


@pytest.mark.parametrize(
    ("ends", "end", "zh", "code"),
    [
        ({Rank("worker", 1): KEY}, "and the log of worker-1 ends in KeyError (line 41): ps 2/2",
         "但 worker-1 的日志以 KeyError（第 41 行） 结尾", 0),
        ({Rank("worker", 0): KEY, Rank("worker", 1): FAILED},
         "and the log of worker-1 ends in LAUNCH ERROR: failed (line 7): ps 2/2", "LAUNCH ERROR: failed", 1),
        ({Rank("worker", 0): replace(KEY, line=None)}, "and the log of worker-0 ends in KeyError: ps", "KeyError", 0),
        ({Rank("ps", 0): KEY}, ": ps 2/2", "已完成", 0),
    ],
)  # fmt: skip
def test_a_completed_job_whose_log_ends_in_an_error_is_no_plain_success(
    ends: dict[Rank, Complaint], end: str, zh: str, code: int
) -> None:
    """Its exit code is 1 where a launcher said that a process failed."""
    view = replace(build_view(phase=Phase.COMPLETED), ended=112.0, ends=ends)
    assert build_end(view).startswith(f"Completed in 12 s{'' if end[0] == ':' else ', '}{end}")
    assert zh in build_end(view, "zh")
    assert read_view_code(view) == code
    assert read_end(view, code, 0.0).cause == ("the log of worker-1 ends in LAUNCH ERROR: failed (line 7)" * code)
    told = [render(each, "en") for each in build_doubt(view)]
    assert bool(told) == (end[0] != ":")
    assert all("still ended with 0" in each or "set -eo pipefail" in each for each in told)
    failed = replace(view, status=replace(view.status, phase=Phase.FAILED))
    assert ("ends in" in build_end(failed), build_doubt(failed), read_view_code(failed)) == (False, [], 1)


def test_who_has_turned_substitutions_off_is_told_what_they_would_do() -> None:
    complaint = find_complaint(["Error initializing process group: Distributed package doesn't have NCCL built in"])
    assert complaint is not None
    view = replace(build_view(phase=Phase.COMPLETED), complaints={Rank("worker", 1): complaint})
    off = replace(view, job=replace(view.job, annotations={"paddock.dev/substitute": "false"}))
    assert "take the annotation paddock.dev/substitute off it" in render(build_doubt(off)[1], "en")


def test_an_error_without_a_known_reason_has_no_advice() -> None:
    complaint = find_complaint(["Error setting device: unknown"])
    assert complaint is not None
    view = replace(build_view(phase=Phase.COMPLETED), complaints={Rank("worker", 1): complaint})
    assert len(build_doubt(view)) == 1


@pytest.mark.parametrize(
    "counts",
    [{"ps": Counts(2, running=2)}, {"ps": Counts(2, running=1)}, {"ps": Counts(2)}],
    ids=["before clean-up", "during clean-up", "after clean-up"],
)
def test_the_end_counts_the_servers_that_served_to_the_end_whatever_clean_up_left(counts: dict[str, Counts]) -> None:
    view = build_view(phase=Phase.COMPLETED, ended=131.2)
    roles = {**view.status.roles, **counts}
    assert build_end(replace(view, status=replace(view.status, roles=roles))) == (
        "Completed in 31 s: ps 2/2, worker 2/2 succeeded."
    )


@pytest.mark.parametrize(
    ("unfinished", "said"),
    [
        ([], "local cluster stopped"),
        (
            ["lst"],
            "local cluster stopped; 1 unfinished job (lst) starts again with it: `paddock delete lst` removes it",
        ),
        (
            ["team/lst"],
            "local cluster stopped; 1 unfinished job (lst) starts again with it: `paddock delete lst -n team` "
            "removes it",
        ),
        (
            ["team/lst", "lst"],
            "local cluster stopped; 2 unfinished jobs (lst, lst) start again with it: `paddock delete` removes them",
        ),
        (
            ["hangs", "lst"],
            "local cluster stopped; 2 unfinished jobs (hangs, lst) start again with it: `paddock delete hangs "
            "lst` removes them",
        ),
        (
            list("abcdef"),
            "local cluster stopped; 6 unfinished jobs (a, b, c, d and 2 more) start again with it: `paddock "
            "delete` removes them",
        ),
    ],
)
def test_down_names_the_jobs_that_restart(unfinished: list[str], said: str) -> None:
    keys = [Key(each.rpartition("/")[0] or "default", each.rpartition("/")[2]) for each in unfinished]
    assert str(build_stopped(keys)) == said


def test_a_failure_names_the_line_that_says_why() -> None:
    text = (
        "Traceback (most recent call last):\n  File 'train.py', line 1\nModuleNotFoundError: No module named 'pandas'\n"
    )
    *_, last = build_failure("worker-1", text.encode(), "")
    assert render(last, "en") == "worker-1 says what went wrong: ModuleNotFoundError: No module named 'pandas'"
    assert len(build_failure("worker-1", b"out of ideas\n", "")) == 2
    assert str(build_failure("worker-1", text.encode(), "", is_told=True)[-1]).strip() == text.splitlines()[-1]


def test_a_rank_that_was_killed_did_not_fail_by_an_error_that_it_had_caught() -> None:
    text = 'Traceback (most recent call last):\n  File "t.py", line 8, in main\nOSError: shard 3\ngoing on\n'
    *_, last = build_failure("worker-1", text.encode(), "")
    assert render(last, "en") == "worker-1 says what went wrong: OSError: shard 3; its last line: going on"
    *_, last = build_failure("worker-1", text.encode(), "", killed=True)
    assert str(last).strip() == "going on"


TORCHRUN = (Path(__file__).parents[2] / "logs/torchrun_single_raise.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("told", "log", "said"),
    [
        (TORCHRUN[-2048:], TORCHRUN, ["master-0 says what went wrong: ValueError: the label 10 is out of range"]),
        (TORCHRUN, TORCHRUN, []),
        (TORCHRUN[-2048:], TORCHRUN[-2048:], []),
        ("KeyError: 'x'", TORCHRUN, []),
        ("", TORCHRUN, []),
    ],
)
def test_the_error_of_the_program_is_told_where_the_kubelet_kept_only_torchruns(
    told: str, log: str, said: list[str]
) -> None:
    assert list(map(str, build_untold("master-0", read_ending(told).error, read_ending(log).error))) == said


def test_a_completed_job_names_its_rank_that_failed_with_its_error() -> None:
    """Its Master decides; a worker that fails beside it is no failure of the job, and not nothing."""
    args = {"succeeded": 1, "failed": ["worker-0"], "code": 1, "error": "ValueError: no room"}
    done = build_view(phase=Phase.COMPLETED, cause=CauseRecord("Completed", args, 0.0))
    assert ", but worker-0 failed: ValueError: no room (exit code 1). " in build_end(done)
    assert "but" not in build_end(build_view(phase=Phase.COMPLETED, cause=CauseRecord("Completed", {"succeeded": 1})))
