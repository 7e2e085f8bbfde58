"""Ranks that share a GPU, on a machine that has two by its nvidia-smi: each is told its GPU, and so is who asks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import Cluster, open_cluster, until

SMI = """#!/bin/sh
case "$*" in
*--loop*) printf '2, 37, 1234\\n5, 5, 200\\n'; exec sleep 600 ;;
*) printf '2, GPU-a, NVIDIA H200, 143771 MiB\\n5, GPU-b, NVIDIA H200, 143771 MiB\\n' ;;
esac
"""
PROGRAM = "import os, time; print('visible', os.environ.get('CUDA_VISIBLE_DEVICES'), flush=True); time.sleep(600)"


@pytest.fixture
def gpus(sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster of its own, on a machine with the GPUs 2 and 5."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with open_cluster(sandbox) as cluster:
        yield cluster


def start(cluster: Cluster, name: str, *options: str) -> None:
    ended = cluster.paddock("run", "--detach", "--name", name, *options, "--", "python3", "-c", PROGRAM)
    assert ended.code == 0, ended


def read_gpu_column(cluster: Cluster) -> dict[str, str]:
    """By pod: what `paddock get pods` says of its GPUs."""
    pods = json.loads(cluster.paddock("get", "pods", "-o", "json").out)["items"]
    lines = cluster.paddock("get", "pods").out.splitlines()
    at = lines[0].index("GPU"), lines[0].index("WHY")
    assert len(lines) == len(pods) + 1
    return {line.split()[0]: line[at[0] : at[1]].strip() for line in lines[1:]}


@pytest.mark.slow
def test_ranks_share_a_gpu_and_never_more_than_they_say(gpus: Cluster) -> None:
    start(gpus, "three", "--share-gpu", "3", "--workers", "3")
    start(gpus, "half", "--share-gpu", "2")
    start(gpus, "late", "--share-gpu", "3")
    start(gpus, "whole", "--gpus", "1")
    until("three runs", lambda: gpus.phase("three") == "Running")
    until("half runs", lambda: gpus.phase("half") == "Running")
    shares = read_gpu_column(gpus)
    assert shares == {
        **{f"three-worker-{index}": "1/3 of GPU 2" for index in range(3)},
        "half-worker-0": "1/2 of GPU 5", "late-worker-0": "-", "whole-worker-0": "-",
    }  # fmt: skip
    for rank in range(3):
        until(
            f"rank {rank} prints",
            lambda rank=rank: "visible 2" in gpus.paddock("logs", "three", "--rank", str(rank)).out,  # type: ignore[misc]
        )
    until("the other prints", lambda: "visible 5" in gpus.paddock("logs", "half").out)

    assert "worker-0, worker-1 and worker-2: 1/3 of GPU 2" in gpus.paddock("explain", "three").out
    until("late is told", lambda: "needs 1/3 GPU; none is free" in gpus.paddock("explain", "late").out)
    until("whole is told", lambda: "needs 1 GPU; none is free" in gpus.paddock("explain", "whole").out)
    queue = gpus.paddock("queue").out
    assert "2 GPUs: 0 free; GPU 2: 0 of 3 shares free; GPU 5: 1 of 2 shares free" in queue, queue
    assert "1/2 GPU" in queue and "1/3 GPU" in queue
    until("its use is told", lambda: "1/2 of GPU 5" in gpus.paddock("top", "half", "--once").out)

    # One share becomes free: the rank with the same number takes it, and nobody else.
    assert gpus.paddock("delete", "half", "--yes").code == 0
    until("whole has what half had", lambda: gpus.phase("late") == "Running" or gpus.phase("whole") == "Running")
    first = read_gpu_column(gpus)
    assert {first["late-worker-0"], first["whole-worker-0"]} in ({"1/3 of GPU 5", "-"}, {"GPU 5", "-"})


def test_shares_of_two_jobs_lie_on_one_gpu_and_a_whole_one_is_left(gpus: Cluster) -> None:
    refused = gpus.paddock("run", "--share-gpu", "2", "--gpus", "2", "--", "python3", "-c", PROGRAM)
    assert refused.code == 2 and "a rank that shares a GPU asks for one" in refused.err
    start(gpus, "left", "--share-gpu", "2")
    start(gpus, "right", "--share-gpu", "2")
    until("right runs", lambda: gpus.phase("right") == "Running")
    assert set(read_gpu_column(gpus).values()) == {"1/2 of GPU 2"}
    start(gpus, "whole", "--gpus", "1")
    until("whole runs", lambda: gpus.phase("whole") == "Running")
    assert read_gpu_column(gpus)["whole-worker-0"] == "GPU 5"
