"""A lost rank until training goes on: a PyTorchJob with an elasticPolicy beside one whose whole gang restarts.

Three ranks train by torchrun, one to a pod, the script of `examples/elastic`, which here writes and prints a checkpoint
after each step; a step takes a tenth of a second. The torchrun of worker-2 is killed (-9). With the elasticPolicy the
two others form their group without it, train on, and form it again when its pod is back; without it all three begin
again. Both go on from the checkpoint. The pod of the one and the gang of the other come back after the back-off of a
first restart. Moments are those at which `paddock run` prints a line. The rendezvous notices a silent agent after 3 s
and waits 3 s for others (`keep_alive_interval: 1`, `last_call_timeout: 3`). By torchrun's own timings, which are 15 s
and 30 s, a group of two may never be formed, as the third is back before: told beside.

A wrong end is an error: one restart, and one attempt with the elasticPolicy, two without. $PADDOCK_BENCH_LOSSES is
another number of runs than 3.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

from benchmarks.clusters import PADDOCK, Cluster, open_directory
from benchmarks.figures import Figure, Pair, alternate, seconds
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.policies.backoff import FIRST_DELAY
from paddock.kube.meta import PODS, Manifest, metadata

TIMES = 3
RANKS = 3
EXAMPLE = Path(__file__).parents[1] / "examples" / "elastic"
QUICK = {"keep_alive_interval": "1", "last_call_timeout": "3"}
_PATIENCE = 240.0
_PAUSE = 1.0
"""Seconds without a step, by which a group that trains is told from one that is formed."""
_BEGUN = re.compile(r"\b(\d+) ranks go on at sample \d+")
_STEP = re.compile(r"\bsample \d+, ranks (\d+), loss")
_numbers = itertools.count()


class Recovery(NamedTuple):
    """Seconds from the kill to the first step that any rank trains then, and to the first one of all ranks; and of
    those the ones in which nobody trained: a group that forms anew stops twice."""

    step: float
    whole: float
    idle: float


class Told:
    """What a `paddock run` prints, each line with the moment at which it came."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[tuple[float, str]] = []
        self._process = process
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, look: Callable[[], float | None]) -> float:
        """The first moment that `look` finds. A run that has ended, or is too slow, ends the benchmark."""
        deadline = time.time() + _PATIENCE
        while (found := look()) is None:
            if self._process.poll() is not None or time.time() > deadline:
                raise SystemExit("training has not gone on:\n" + "".join(line for _, line in self.lines[-50:]))
            time.sleep(0.05)
        return found

    def find_step(self, since: float, ranks: int = 0) -> float | None:
        """When the first step was printed of a group, of so many ranks or of any, that began after `since`."""
        begun = False
        for moment, line in list(self.lines):
            if moment > since and (group := _BEGUN.search(line)):
                begun = ranks in (0, int(group[1]))
            elif begun and (step := _STEP.search(line)) and ranks in (0, int(step[1])):
                return moment
        return None

    def sum_pauses(self, since: float, end: float) -> float:
        """Seconds between steps that are further apart than a step takes."""
        steps = [moment for moment, line in list(self.lines) if since < moment <= end and _STEP.search(line)]
        pauses = [later - earlier for earlier, later in itertools.pairwise([since, *steps])]
        return sum(pause for pause in pauses if pause > _PAUSE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append((time.time(), line))


def measure() -> Sequence[Figure]:
    times = int(os.environ.get("PADDOCK_BENCH_LOSSES", TIMES))
    elastic: list[Recovery] = []
    gangs: list[Recovery] = []
    with open_directory() as cluster:
        for script in EXAMPLE.glob("*.py"):
            shutil.copy(script, cluster.directory)
        cluster.paddock("up")
        cluster.paddock("run", "--raw", _write_job(cluster, "first", None, "--samples", "48"), *_workdir(cluster))

        def lose(found: list[Recovery], timings: dict[str, str] | None) -> float:
            found.append(_lose(cluster, timings))
            return found[-1].step

        alternate(lambda: lose(elastic, QUICK), lambda: lose(gangs, None), times, warm_up=0)
        slow = _lose(cluster, {})
    step, whole, idle = (Pair(*durations) for durations in zip(_turn(elastic), _turn(gangs), strict=True))
    return (
        _build_figure(
            f"{RANKS} ranks with elasticPolicy, one killed (-9): until the next training step of any rank",
            step,
            f"{FIRST_DELAY} s of a gang's are its back-off",
        ),
        _build_figure(f"… until all {RANKS} train again", whole, "both wait for that back-off"),
        _build_figure("… of it without a training step", idle, "an elastic group stops again when the rank is back"),
        Figure(
            f"… with torchrun's own timings, once: the next step / all {RANKS} / without a step",
            f"{slow.step:.2f} / {slow.whole:.2f} / {slow.idle:.2f} s",
            "",
            "",
            "told",
        ),
    )


def _turn(runs: Sequence[Recovery]) -> Sequence[tuple[float, ...]]:
    """By what was measured, in the order of `Recovery`, that of all runs."""
    return list(zip(*runs, strict=True))


def _build_figure(what: str, pair: Pair, why: str) -> Figure:
    difference = f"{pair.more:+.2f} s, {pair.ratio:.2f} times; {why}"
    return Figure(what, seconds(pair.ours), f"whole gang {seconds(pair.plain)}", difference, "told")


def _lose(cluster: Cluster, timings: dict[str, str] | None) -> Recovery:
    """`timings`: of the rendezvous; None for a job without elasticPolicy."""
    name = f"loss-{next(_numbers)}"
    path = _write_job(cluster, name, timings, "--every", "1", "--pause", "0.1")
    with _running(cluster, path) as told:
        told.until(lambda: told.find_step(0.0, RANKS))
        pods = asyncio.run(_fetch_pods(cluster, name))
        time.sleep(2.0)
        killed = time.time()
        os.kill(_find_torchrun(str(metadata(pods[f"{name}-worker-{RANKS - 1}"])["uid"])), signal.SIGKILL)
        step = told.until(lambda: told.find_step(killed))
        whole = told.until(lambda: told.find_step(killed, RANKS))
        attempts = asyncio.run(_fetch_counts(cluster, name))
    if attempts != (int(timings is None), 1):
        raise AssertionError(f"{name}: attempt and restarts are {attempts}")
    return Recovery(step - killed, whole - killed, told.sum_pauses(killed, whole))


@contextmanager
def _running(cluster: Cluster, path: str) -> Iterator[Told]:
    """Ended as by Ctrl-C."""
    process = subprocess.Popen(
        (*PADDOCK, "run", "--raw", path, *_workdir(cluster)),
        env=cluster.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Told(process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _workdir(cluster: Cluster) -> tuple[str, ...]:
    return ("--workdir", str(cluster.directory))


def _write_job(cluster: Cluster, name: str, timings: dict[str, str] | None, *options: str) -> str:
    """That of the example, with torchrun and three workers, and with its sizes in `elasticPolicy` or without any."""
    job: Manifest = yaml.safe_load((EXAMPLE / "pytorch.yaml").read_text())
    job["metadata"] = {"name": name}
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]
    worker["replicas"] = RANKS
    container = worker["template"]["spec"]["containers"][0]
    container["command"] = ["torchrun", "--nproc-per-node", "1", "train_pytorch.py", *options]
    container["resources"] = {}
    if timings is not None:
        configured = [{"key": key, "value": value} for key, value in timings.items()]
        policy = {"minReplicas": 1, "maxReplicas": RANKS, "rdzvBackend": "c10d", "rdzvConf": configured}
        job["spec"]["elasticPolicy"] = policy
    return cluster.write(f"{name}.json", job)


def _find_torchrun(uid: str) -> int:
    """The process of a pod's container, and no shell or bwrap around it."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PADDOCK_POD_UID") == uid:
                found.append((process.pid, process.cmdline()))
        except (psutil.Error, OSError):
            continue
    agents = [pid for pid, words in found if any(Path(word).name == "torchrun" for word in words[:2])]
    if len(agents) != 1:
        raise SystemExit(f"no single torchrun to kill: {found}")
    return agents[0]


async def _fetch_pods(cluster: Cluster, name: str) -> dict[str, Any]:
    async with Client(read_config(str(cluster.home / "api" / "kubeconfig"))) as client:
        pods = await client.list(PODS, "default", labels=f"paddock.dev/job={name}")
    return {str(metadata(pod)["name"]): pod for pod in pods.items}


async def _fetch_counts(cluster: Cluster, name: str) -> tuple[int, int]:
    """The attempt and the restarts of its status."""
    async with Client(read_config(str(cluster.home / "api" / "kubeconfig"))) as client:
        status = (await client.get(KUBEFLOW_PYTORCH.resource, "default", name)).get("status") or {}
    return int(status.get("attempt", 0)), int(status.get("restarts", 0))
