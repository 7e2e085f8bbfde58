"""`paddock doctor` of jobs that are really wrong, on the local cluster; and that what it advises mends a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX]
WAITS = """
say() { echo "LAUNCH INFO 2026-11-20 15:38:21,548 $1"; }
say '-----------  Configuration  ----------------------'
say 'master: 127.0.0.1:6170'
say 'nnodes: 2'
say 'training_script: train.py'
say 'Job: default, mode collective, replicas 2[2:2], elastic False'
say 'Waiting peer start...'
exec sleep 1000
"""
"""As the launcher does that waits for a second node."""


def find(cluster: Cluster, *words: str) -> list[dict[str, Any]]:
    ended = cluster.paddock("doctor", *words, "-o", "json")
    assert ended.code in (0, 1), str(ended)
    document = json.loads(ended.out)
    assert document["healthy"] == (ended.code == 0)
    return [finding for subject in document["subjects"] for finding in subject["findings"]]


@pytest.mark.slow
def test_a_command_that_asks_for_other_nodes_than_the_job_has(shared: Cluster) -> None:
    job = build_light_job("two-nodes", 'exec python -m paddle.distributed.launch --nnodes 2 "$SCRIPT"')
    assert shared.paddock("submit", shared.write(job)).code == 0
    (finding,) = find(shared, "two-nodes")
    assert (finding["check"], finding["severity"]) == ("nodes-differ-from-replicas", "wrong")
    assert finding["what"] == "the command says --nnodes 2, and the job has 1 pod that trains"
    shown = shared.paddock(*shlex.split(finding["command"])[1:])  # the command that looks closer works
    assert shown.code == 0 and "--nnodes 2" in shown.out
    shared.paddock("delete", "two-nodes")
    (kept,) = find(shared, "two-nodes")  # of a job that is gone, what is kept
    assert kept["check"] == "nodes-differ-from-replicas"


@pytest.mark.slow
def test_a_launcher_that_waits_for_a_node_that_nobody_starts(shared: Cluster) -> None:
    assert shared.paddock("submit", shared.write(build_light_job("waits", WAITS))).code == 0
    until("its log", lambda: "Waiting peer" in shared.paddock("logs", "waits", "--raw").out)
    (finding,) = find(shared, "waits")
    assert (finding["check"], finding["where"]) == ("waits-for-nodes-that-nobody-starts", "worker-0, line 6")
    assert finding["check"] in [each["check"] for each in find(shared)]  # without a name, too
    shared.paddock("delete", "waits")


def test_a_job_that_is_not_there_is_refused_with_the_nearest_name(shared: Cluster) -> None:
    assert shared.paddock("submit", shared.write(build_light_job("fine", "echo ready; exec sleep 1000"))).code == 0
    until("its log", lambda: "ready" in shared.paddock("logs", "fine").out)
    until("its phase, which comes after its log", lambda: shared.phase("fine") == "Running")
    healthy = shared.paddock("doctor", "fine")
    assert healthy.code == 0, str(healthy)
    assert healthy.out == "PaddleJob default/fine: nothing found; looked at 1 pod, 1 log with 1 line\n"
    ended = shared.paddock("doctor", "fien")
    assert ended.code == 2
    assert ended.err.endswith("there is no job 'fien' in namespace default; did you mean 'fine'?\n")
    shared.paddock("delete", "fine")


def test_a_job_that_failed_is_never_nothing_found(shared: Cluster) -> None:
    """Also where its program has printed no error, and when its pods and the job are gone."""
    assert (
        shared.paddock("run", shared.write(build_light_job("mute", "echo step 1; echo disk is full; exit 3"))).code == 1
    )
    for _ in ("while its pods are there", "of what is kept"):
        (finding,) = find(shared, "mute")
        assert (finding["check"], finding["where"]) == ("program-failed", "worker-0, line 2")
        assert finding["what"] == "it failed (exit code 3), and printed no error; its last line: disk is full"
        closer = shared.paddock(*shlex.split(finding["command"])[1:])
        assert closer.lines == ["step 1", "disk is full"]
        assert "no line has the form of an error; the last lines of worker-0, which failed first:" in closer.err
        shared.paddock("delete", "mute")


RETRIES = """
case $PADDLE_TRAINER_ID in 0) echo loads; exec sleep 1000;; esac
while sleep 0.2; do
echo "I1125 14:05:17.974907 12966 tcp_utils.cc:109] Retry to connect to ${PADDLE_TRAINERS%,*}:6070 while the server is \
not yet listening."
done
"""
"""As a rank of PaddlePaddle does whose rank 0 does not come so far."""


def test_a_rank_that_waits_is_explained_with_the_rank_that_it_waits_for(shared: Cluster) -> None:
    assert shared.paddock("submit", shared.write(build_light_job("late", RETRIES, workers=2))).code == 0
    until("three lines of it", lambda: shared.paddock("logs", "late", "--raw").out.count("Retry to connect") > 2)
    until("its phase, which comes after its log", lambda: shared.phase("late") == "Running")
    explained = shared.paddock("explain", "late")
    assert "worker-1 waits for worker-0, which is to serve the store at 127." in explained.out, str(explained)
    assert explained.lines[-1] == "next: paddock doctor late"
    (finding,) = find(shared, "late")
    assert finding["check"] == "waits-for-address" and finding["what"].startswith("waits for worker-0, ")
    assert shared.paddock(*shlex.split(finding["command"])[1:]).lines == ["loads"]
    shown = shared.paddock("logs", "late").lines
    assert sum("Retry to connect" in line for line in shown) == 1, "the third one is shown, the others are folded"
    shared.paddock("delete", "late", "--now")


PROGRAM = """
import paddle, paddle.distributed as dist
dist.init_parallel_env()
t = paddle.ones([1])
if dist.get_world_size() > 1:
    dist.all_reduce(t)
print("sum", int(t[0].item()), flush=True)
"""
MENDED: Mapping[str, tuple[str, dict[str, str], str]] = {
    "cpu-wheel-with-devices": ("--devices 0,1 train.py", {}, "sum 2"),
    "cpu-wheel-with-visible-devices": ("train.py", {"CUDA_VISIBLE_DEVICES": "0,1"}, "sum 2"),
    "run-check-needs-two-nodes": ("run_check", {}, "PaddlePaddle is installed successfully"),
}


@pytest.mark.paddle
@pytest.mark.parametrize("check", MENDED)
async def test_the_command_of_a_finding_mends_the_run(
    check: str, tmp_path: Path, python_of: Callable[[str], str], served: Cluster
) -> None:
    python = Path(await asyncio.to_thread(python_of, "paddle"))
    words, variables, said = MENDED[check]
    (tmp_path / "train.py").write_text(PROGRAM)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "CUDA_"))}
    environment = {**clean, **variables, "PATH": f"{python.parent}:{clean['PATH']}"}

    async def launch(command: str, seconds: float) -> tuple[int | None, str]:
        # A file and no pipe: a server that the launcher forked may outlive it, and would hold the pipe open.
        with (tmp_path / "printed").open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                "timeout", "--kill-after=10", str(seconds), "sh", "-c", command, cwd=tmp_path, env=environment,
                stdout=out, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            code = await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return code, (tmp_path / "printed").read_text()

    code, printed = await launch(f"python -m paddle.distributed.launch {words}", 20)
    assert code != 0, printed
    (tmp_path / "run.log").write_text(printed)
    (finding,) = find(served, "--log", str(tmp_path / "run.log"))
    assert finding["check"] == check
    code, printed = await launch(finding["command"], 60)
    assert code == 0 and said in printed, printed
