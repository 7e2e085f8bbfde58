"""`paddock stacks` of jobs that really hang: a lock of Python, and a collective that one rank does not join."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from e2e.commands import Cluster, Ended, until
from e2e.manifests import build_light_job
from support.sandboxes import ONE_SANDBOX

LOCK = """
import os, threading
lock = threading.Lock()
def read_batch():
    lock.acquire()
def step():
    with lock:
        lock.acquire()
print("ready", flush=True)
if os.environ["PADDLE_TRAINER_ID"] == "1":
    with lock:
        read_batch()
step()
"""
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


def run(cluster: Cluster, job: str, name: str, program: str, workers: str, python: str) -> Path:
    """Starts it in a directory of its own; the path of the program."""
    directory = cluster.directory / "work"
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(program)
    words = ("--name", job, "--workers", workers, "--workdir", str(directory), "--detach", "--", python, name)
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
    # Nothing was ended by it.
    assert all(pod["status"]["phase"] == "Running" for pod in shared.pods("locked").values())
    shared.paddock("delete", "locked")


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
    shared.paddock("delete", job)
