"""A short command, from its start to its end: `paddock get` of one job on a laptop's cluster that is up, beside what
kubectl takes for the same job of the same API, and beside a Python that imports what no client does without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.clusters import Cluster, open_directory
from benchmarks.figures import Figure, alternate, seconds, timed

TIMES = 20
_IMPORTS = "import asyncio, json, sqlite3, ssl"
_MOST_OF_PYTHON = 3.0
_JOB = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "one"},
    "spec": {
        "worker": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "paddle", "image": "python:3", "command": ["true"]}]}},
        }
    },
}


def measure() -> Sequence[Figure]:
    with open_directory() as cluster:
        cluster.paddock("up")
        cluster.paddock("submit", cluster.write("one.yaml", _JOB))
        cluster.paddock("wait", "one")
        return (_beside_kubectl(cluster), _beside_python(cluster))


def _get(cluster: Cluster) -> float:
    return timed(lambda: cluster.paddock("get"))


def _beside_kubectl(cluster: Cluster) -> Figure:
    what = "`paddock get` of one job; cluster up"
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        ours = tuple(_get(cluster) for _ in range(TIMES))
        return Figure(what, seconds(ours), "there is no kubectl on this machine", "", "told")
    environment = {**cluster.environment, "KUBECONFIG": str(cluster.home / "api" / "kubeconfig")}
    environment["HOME"] = str(cluster.directory)  # its cache of what the API serves
    words = (kubectl, "get", "paddlejobs.batch.paddlepaddle.org")
    pair = alternate(partial(_get, cluster), _run(words, environment), TIMES)
    return Figure(
        what, seconds(pair.ours), f"`kubectl get` {seconds(pair.plain)}", f"{pair.ratio:.1f} times", "told"
    )  # fmt: skip


def _beside_python(cluster: Cluster) -> Figure:
    words = (sys.executable, "-c", _IMPORTS)
    pair = alternate(partial(_get, cluster), _run(words, dict(os.environ)), TIMES)
    return Figure(
        "the same",
        seconds(pair.ours),
        f"Python importing asyncio, json, sqlite3 and ssl {seconds(pair.plain)}",
        f"{pair.ratio:.1f} times",
        f"{_MOST_OF_PYTHON:.1f} times",
        pair.ratio <= _MOST_OF_PYTHON,
    )


def _run(words: Sequence[str], environment: dict[str, str]) -> Callable[[], float]:
    return lambda: timed(lambda: subprocess.run(words, check=True, env=environment, capture_output=True))
