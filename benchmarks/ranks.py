"""PyTorch's ranks: from the start of their processes to their first all_reduce, and from a killed rank to the next one.

Three ranks that torchrun starts, one to a pod, as a PyTorchJob of 1 + 2 and bare, with the same Python and program.
What counts begins at the earliest of the three processes, before torchrun, and ends when the last rank has its sum:
Paddock's own time before that is in "On a laptop". A rank that kills itself (-9) ends the whole gang here, which starts
again after its back-off; torchrun alone, with agents that live and know each other, starts its processes again.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clusters import Cluster, open_directory
from benchmarks.figures import Figure, alternate, seconds
from paddock.jobs.policies.backoff import FIRST_DELAY

TIMES = 5
LIMIT = 0.5
IMAGE = "pytorch/pytorch:2.9.0"
ENVIRONMENT = "pytorch"
RANKS = 3
_PROGRAM = """
import os, sys, time
import torch
import torch.distributed as dist

attempt = int(os.path.exists("killed"))  # torchrun counts its agents' restarts apart
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("FIRST", attempt, time.time(), int(total), flush=True)
if "kill" in sys.argv and attempt == 0:
    if dist.get_rank() == 2:
        time.sleep(1)
        open("killed", "w").close()
        print("KILLED", attempt, time.time(), flush=True)
        os.kill(os.getpid(), 9)
    while True:
        dist.all_reduce(total)
dist.barrier()
dist.destroy_process_group()
"""
_SAID = re.compile(r"\b(START|FIRST|KILLED) (\d+) (\d+\.\d+)")
_START = "echo START 0 $(date +%s.%N); exec "


def measure() -> Sequence[Figure]:
    with open_directory() as cluster:
        (cluster.directory / "train.py").write_text(_PROGRAM)
        cluster.paddock("up")
        cluster.paddock("run", "--raw", _write_job(cluster, "torchrun train.py"))  # builds the environment
        found = json.loads(cluster.paddock("get", "environments", ENVIRONMENT, "-o", "json"))
        python = Path(found["status"]["path"]) / "bin" / "python3"
        return (_measure_rendezvous(cluster, python), _measure_kill(cluster, python))


def _measure_rendezvous(cluster: Cluster, python: Path) -> Figure:
    job = _write_job(cluster, "torchrun train.py")

    def ours() -> float:
        return _from_start(cluster.show("run", "--raw", job))

    def plain() -> float:
        return _from_start(_run_bare(cluster, python, "train.py"))

    pair = alternate(ours, plain, TIMES)
    return Figure(
        "PyTorchJob of 1 + 2: start of its processes to the first all_reduce",
        seconds(pair.ours),
        f"torchrun {seconds(pair.plain)}",
        f"{pair.more:+.2f} s, {pair.ratio:.2f} times",
        f"{LIMIT} s more",
        pair.more <= LIMIT,
    )


def _measure_kill(cluster: Cluster, python: Path) -> Figure:
    job = _write_job(cluster, "python3 train.py kill")

    killed = cluster.directory / "killed"

    def ours() -> float:
        killed.unlink(missing_ok=True)
        return _from_kill(cluster.show("run", "--raw", job))

    def plain() -> float:
        killed.unlink(missing_ok=True)
        return _from_kill(_run_bare(cluster, python, "train.py kill", "--max-restarts=1"))

    pair = alternate(ours, plain, 3, warm_up=0)
    return Figure(
        "… a rank killed (-9) to the first all_reduce of the next attempt",
        seconds(pair.ours),
        f"torchrun with --max-restarts {seconds(pair.plain)}",
        f"{FIRST_DELAY} s of it are the back-off of a first restart",
        "told",
    )


def _write_job(cluster: Cluster, command: str) -> str:
    container = {"name": "pytorch", "image": IMAGE, "command": ["sh", "-c", _START + command]}

    def role(replicas: int) -> dict[str, Any]:
        return {"replicas": replicas, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}

    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": "ranks",
            "annotations": {"paddock.dev/working-directory": str(cluster.directory)},
        },
        "spec": {"nprocPerNode": "1", "pytorchReplicaSpecs": {"Master": role(1), "Worker": role(RANKS - 1)}},
    }
    return cluster.write("ranks.json", job)


def _run_bare(cluster: Cluster, python: Path, program: str, *options: str) -> str:
    """What the three print. With options, torchrun's agents meet at a rendezvous that the first one opens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = []
    for number in range(RANKS):
        words = [str(python), "-m", "torch.distributed.run", f"--nnodes={RANKS}", "--nproc-per-node=1", *options]
        if options:
            host = f"--rdzv-conf=is_host={int(number == 0)}"
            words += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", host, "--local-addr=127.0.0.1"]
        else:
            words += [f"--node-rank={number}", "--master-addr=127.0.0.1", f"--master-port={port}"]
        script = f"{_START}{shlex.join(words)} {program}"
        processes.append(
            subprocess.Popen(
                ["sh", "-c", script],
                cwd=cluster.directory,
                # else torch 2.13 meets the dead ranks' addresses again, and fails; an elastic job gets it from Paddock
                env={**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    said = [process.communicate(timeout=300)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("bare torchrun failed:\n" + "\n".join(said))
    return "\n".join(said)


def _from_start(text: str) -> float:
    """Seconds from the first START to the last of the ranks' first sums."""
    ends = _read(text, "FIRST", "0")
    return max(ends) - min(_read(text, "START", "0"))


def _from_kill(text: str) -> float:
    return max(_read(text, "FIRST", "1")) - min(_read(text, "KILLED", "0"))


def _read(text: str, word: str, attempt: str) -> list[float]:
    """The moments at which `word` was said in that attempt."""
    found = [float(moment) for said, number, moment in _SAID.findall(text) if (said, number) == (word, attempt)]
    if len(found) != (1 if word == "KILLED" else RANKS) and word != "START":
        raise SystemExit(f"{len(found)} ranks said {word} in attempt {attempt}:\n{text}")
    return found
