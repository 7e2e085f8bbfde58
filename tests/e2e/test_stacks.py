"""`paddock stacks` of jobs that really hang: a lock of Python, and a collective that one rank does not join."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from e2e.commands import Cluster, Ended, until
from e2e.manifests import build_light_job
from support.locked import LOCK
from support.printed import take_printed, type_printed
from support.sandboxes import ONE_SANDBOX

TORCH = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
def read_batch():
    while True:
        time.sleep(0.2)
def step(t):
    dist.all_reduce(t)
t = torch.ones(1)
step(t)
print("ready", flush=True)
if dist.get_rank() == 1:
    read_batch()
step(t)
"""
PADDLE = """
import time, paddle, paddle.distributed as dist
dist.init_parallel_env()
def read_batch():
    while True:
        time.sleep(0.2)
def step(t):
    dist.all_reduce(t)
t = paddle.ones([1])
step(t)
print("ready", flush=True)
if dist.get_rank() == 1:
    read_batch()
step(t)
"""


PLACES = "worker-0 and worker-2 in step, wait.py:8; worker-1 in read_batch, wait.py:5"


def refuses(ended: Ended) -> bool:
    """This machine lets nobody look into a process, and the test's Python has not Paddock's module."""
    return "the system lets nobody look into process" in ended.err


def run(cluster: Cluster, job: str, name: str, program: str, workers: str, python: str, *words: str) -> Path:
    """Starts it in a directory of its own; the path of the program."""
    directory = cluster.directory / "work"
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(program)
    words = (*words, "--name", job, "--workers", workers, "--workdir", str(directory), "--detach", "--", python, name)
    ended = cluster.paddock("run", *words)
    assert ended.code == 0, str(ended)
    return directory / name


def test_ranks_that_wait_for_a_lock_have_their_lines(shared: Cluster) -> None:
    path = run(shared, "locked", "wait.py", LOCK, "3", sys.executable)

    def look() -> Ended | None:
        ended = shared.paddock("stacks", "locked")
        return ended if refuses(ended) or ended.lines[:1] == [PLACES] else None

    ended = until("the place of each", look, tell=lambda: shared.paddock("stacks", "locked"))
    if refuses(ended):
        pytest.skip("this machine lets nobody look into a process")
    assert ended.code == 0, str(ended)
    assert ended.out.split("\n\n")[1] == (
        f'worker-0, worker-2\n  File "{path}", line 13, in <module>\n  File "{path}", line 8, in step'
    )
    (place,) = json.loads(shared.paddock("stacks", "locked", "--rank", "1", "-o", "json").out)["places"]
    assert (place["function"], place["file"], place["line"], place["ranks"]) == (
        "read_batch", "wait.py", 5, ["worker-1"],
    )  # fmt: skip
    # As on a Kubernetes: by programs in the pods.
    config = ("--kubeconfig", str(shared.home / "api" / "kubeconfig"))
    entered = shared.paddock("stacks", "locked", *config)
    assert (entered.code, entered.lines[:1]) == (0, [PLACES]), str(entered)
    assert entered.err.startswith("py-spy (8 MiB) is copied into the containers")
    without = shared.paddock("stacks", "locked", "--no-copy", *config)
    assert (without.code, without.out) == (1, "") and "wait.py: it waits" in without.err, str(without)
    everywhere = shared.paddock("exec", "locked", "--all", "--", "sh", "-c", "echo $PADDLE_TRAINER_ID")
    assert sorted(everywhere.lines) == [f"worker-{rank} │ {rank}" for rank in range(3)], str(everywhere)
    # Nothing was ended by it.
    assert all(pod["status"]["phase"] == "Running" for pod in shared.pods("locked").values())
    shared.paddock("delete", "locked")


def limit_silence(cluster: Cluster, group: str, job: str, value: str) -> None:
    path = f"/apis/{group}/namespaces/default/{'paddlejobs' if 'batch' in group else 'pytorchjobs'}/{job}"
    cluster.patch(path, {"metadata": {"annotations": {"paddock.dev/silent": value}}})


@pytest.mark.slow
def test_a_silent_job_is_told_restarted_or_ended_with_its_stacks_in_the_logs(shared: Cluster) -> None:
    run(shared, "silent", "wait.py", LOCK, "2", sys.executable, "--restarts", "3")
    limit_silence(shared, "batch.paddlepaddle.org/v1", "silent", "3s=Tell")
    until("that it is told", lambda: "no rank has printed for over 3s" in shared.paddock("get").out)
    explained = shared.paddock("explain", "silent").out
    typed = type_printed(shared, take_printed(explained, "paddock stacks {word}{where}"))
    assert "step, wait.py:" in typed.out or refuses(typed), str(typed)
    assert all(pod["status"]["phase"] == "Running" for pod in shared.pods("silent").values()), "nothing was ended"
    logs = shared.paddock("logs", "silent").out
    assert logs.count("paddock: no rank prints; the stack of worker-") == 2, logs
    limit_silence(shared, "batch.paddlepaddle.org/v1", "silent", "3s=Restart")
    until("the next attempt", lambda: shared.job("silent")["status"].get("restarts") == 1)
    again = shared.paddock("explain", "silent").out
    typed = type_printed(shared, take_printed(again, "paddock logs {word}{where} --previous"))
    assert "paddock: no rank prints" in typed.out, str(typed)
    limit_silence(shared, "batch.paddlepaddle.org/v1", "silent", "3s=Fail")
    until("its end", lambda: shared.phase("silent") == "Failed")
    ended = shared.paddock("wait", "silent")
    assert ended.code == 1 and "no rank has printed for over 3s" in ended.out + ended.err, str(ended)
    found = shared.paddock("doctor", "silent").out
    assert "(ended-for-silence)" in found
    first = shared.paddock("logs", "silent", "--first-error")
    assert "printed no error" in first.err and "no rank has printed for over 3s" in first.err, str(first)
    for said in (found, shared.paddock("explain", "silent").out):
        typed = type_printed(shared, take_printed(said, "paddock logs {word}{where}"))
        assert "paddock: no rank prints" in typed.out, str(typed)
    if "nobody look into process" not in logs:
        assert "in read_batch, wait.py:5" in explained and "worker-1 in read_batch, wait.py:5" in found
    shared.paddock("delete", "silent")


@pytest.mark.slow
def test_what_has_no_stack_is_told_and_is_a_failure(shared: Cluster) -> None:
    assert shared.paddock("submit", shared.write(build_light_job("shells", "echo ready; exec sleep 1000"))).code == 0
    until("its phase", lambda: shared.phase("shells") == "Running")
    until("its log", lambda: "ready" in shared.paddock("logs", "shells").out)
    ended = shared.paddock("stacks", "shells")
    assert ended.code == 1 and ended.out == "", str(ended)
    assert ended.err.startswith("no stack of worker-0: it runs no Python, but ")
    assert json.loads(shared.paddock("stacks", "shells", "-o", "json").out)["without"][0]["rank"] == "worker-0"
    assert "it has worker-0" in shared.paddock("stacks", "shells", "--rank", "7").err
    shared.paddock("delete", "shells")


def test_a_job_that_does_not_run_has_no_stacks(shared: Cluster) -> None:
    shared.paddock("run", shared.write(build_light_job("over", "true")))
    ended = shared.paddock("stacks", "over")
    assert ended.code == 1, str(ended)
    assert ended.err == "no stack of over: worker-0 does not run; `paddock explain over` says why\n"


@pytest.mark.paddle
@pytest.mark.slow
@ONE_SANDBOX
@pytest.mark.parametrize(
    ("name", "program", "ranks"),
    [("torch", TORCH, ("master-0", "worker-0")), ("paddle", PADDLE, ("worker-0", "worker-1"))],
)
def test_a_rank_that_does_not_join_a_collective_is_named(
    name: str, program: str, ranks: tuple[str, str], shared: Cluster
) -> None:
    job = f"hang-{name}"
    script = run(shared, job, f"hang_{name}.py", program, "2", "python")

    def look() -> Ended | None:
        """Not later than gloo gives up: PaddlePaddle's after half a minute, which makes another attempt."""
        ended = shared.paddock("stacks", job)
        return ended if "in read_batch" in ended.out and "all_reduce" in ended.out else None

    ended = until("both places", look, 600, tell=lambda: shared.paddock("stacks", job))
    line = program.split("\n").index("    dist.all_reduce(t)") + 1
    assert ended.lines[0].startswith(f"{ranks[0]} in all_reduce, {script.name}:{line}; {ranks[1]} in read_batch")
    assert ended.lines[1] == f"the collective of {ranks[0]} lacks {ranks[1]}"
    limit_silence(shared, "batch.paddlepaddle.org/v1" if name == "paddle" else "kubeflow.org/v1", job, "2s=Fail")
    until("its end", lambda: "Failed" in shared.paddock("get", "jobs", job).out)
    told = shared.paddock("explain", job).out
    assert f"{ranks[0]} in all_reduce, {script.name}:{line}" in told, told
    assert f"{ranks[1]} in read_batch, {script.name}:" in told, told
    assert "in all_reduce" in shared.paddock("logs", job).out, "the stack stands in the log"
    shared.paddock("delete", job)


@pytest.mark.slow
def test_a_job_that_has_printed_nothing_for_minutes_is_told_of_with_what_to_type(shared: Cluster) -> None:
    job = build_light_job("still", "echo it has begun; exec sleep 1000", workers=1)
    assert shared.paddock("submit", shared.write(job)).code == 0
    until("its line", lambda: "it has begun" in shared.paddock("logs", "still").out)
    until("its phase, which comes after its output", lambda: shared.phase("still") == "Running")
    (log,) = [each for each in shared.home.rglob("*.log") if b"it has begun" in each.read_bytes()]
    os.utime(log, (time.time() - 300, time.time() - 300))
    said = shared.paddock("explain", "still").out
    assert "no rank has printed for 5m" in said, said
    assert "looked at 1 pod" in type_printed(shared, take_printed(said, "paddock doctor **")).out
    shared.paddock("delete", "still")
