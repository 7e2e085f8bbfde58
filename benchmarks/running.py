"""`paddock run` against a bare shell script that starts the same processes, waits for the workers, ends the servers.

Once with programs that only sleep, as their time is steady and what is left is Paddock's; once with Wide & Deep and a
real PaddlePaddle, whose own time varies by seconds from run to run.
"""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import paddock.environments
from benchmarks.clusters import Cluster, open_directory
from benchmarks.figures import Figure, Pair, alternate, seconds, timed

PROGRAM = Path(paddock.environments.__file__).parent / "programs" / "wide_and_deep"
DOCUMENTS = "registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1"
STEPS = {"EPOCHS": "1", "STEPS": "50"}
LIMIT = 1.0


def measure() -> Sequence[Figure]:
    return (_sleeping(warm=True), _sleeping(warm=False), _training())


def _sleeping(*, warm: bool) -> Figure:
    worker, server = ("sh", "-c", "sleep 1"), ("sh", "-c", "exec sleep 1000")
    with open_directory() as cluster:
        path = cluster.write("job.json", _build_job("busybox", worker, server))
        script = _build_script([worker, worker], [server, server])
        if warm:
            cluster.paddock("up")

        def ours() -> float:
            took = timed(lambda: cluster.paddock("run", path))
            if not warm:
                cluster.down()
            return took

        pair = alternate(ours, lambda: timed(lambda: _run_script(script, cluster.directory)), 5)
    state = "up" if warm else "not up"
    return _build_figure(f"`paddock run`, 2 servers and 2 workers that sleep 1 s; cluster {state}", pair)


def _training() -> Figure:
    with ExitStack() as stack:
        cluster = stack.enter_context(open_directory())
        cluster.paddock("up")
        path = cluster.write("job.json", _build_job(DOCUMENTS, (), (), STEPS))
        run: Callable[[], object] = lambda: cluster.paddock("run", path)  # noqa: E731
        run()  # builds the environment, the first time
        python = json.loads(cluster.paddock("get", "environments", "paddle-ps", "-o", "json"))["status"]["path"]

        def plain() -> float:
            return timed(lambda: _run_bare_training(Path(python) / "bin" / "python3", cluster))

        pair = alternate(lambda: timed(run), plain, 3)
    return _build_figure("the same with Wide & Deep, 50 steps, real PaddlePaddle; cluster up", pair)


def _build_figure(what: str, pair: Pair) -> Figure:
    more = f"{pair.more:+.2f} s, {pair.ratio:.2f} times"
    return Figure(
        what,
        seconds(pair.ours),
        f"shell script {seconds(pair.plain)}",
        more,
        "1.0 s more (0.5 s)",
        pair.more <= LIMIT,
    )


def _build_job(
    image: str, worker: Sequence[str], server: Sequence[str], env: dict[str, str] | None = None
) -> dict[str, Any]:
    def role(command: Sequence[str]) -> dict[str, Any]:
        container: dict[str, Any] = {"name": "paddle", "image": image}
        container["env"] = [{"name": name, "value": value} for name, value in (env or {}).items()]
        if command:
            container["command"] = list(command)
        return {"replicas": 2, "template": {"spec": {"containers": [container]}}}

    spec = {"cleanPodPolicy": "Always", "withGloo": 1, "worker": role(worker), "ps": role(server)}
    return {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": "bench"}, "spec": spec}


def _build_script(workers: Sequence[Sequence[str]], servers: Sequence[Sequence[str]]) -> str:
    lines = ["servers=", "workers=", "code=0"]
    lines += [f'{shlex.join(command)} & servers="$servers $!"' for command in servers]
    lines += [f'{shlex.join(command)} & workers="$workers $!"' for command in workers]
    lines += ["for pid in $workers; do wait $pid || code=1; done", "kill $servers", "wait", "exit $code"]
    return "\n".join(lines)


def _run_script(script: str, directory: Path) -> None:
    with (directory / "bare.log").open("wb") as log:
        subprocess.run(["sh", "-c", script], check=True, cwd=directory, stdout=log, stderr=log)


def _run_bare_training(python: Path, cluster: Cluster) -> None:
    """What paddle-operator's environment variables come to, by hand."""
    first, second, gloo = _free_ports(3)
    job = {
        "PADDLE_PSERVERS_IP_PORT_LIST": f"127.0.0.1:{first},127.0.0.1:{second}",
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_WITH_GLOO": "1",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_HTTP_ENDPOINT": f"127.0.0.1:{gloo}",
        "POD_IP": "127.0.0.1",
        "FLAGS_enable_pir_api": "0",
        "PYTHONUNBUFFERED": "1",
        "PADDOCK_OUTPUT_DIR": str(cluster.directory / f"bare-{first}"),
        **STEPS,
    }
    program = (str(python), str(PROGRAM / "train.py"))
    settings = [f"{name}={value}" for name, value in job.items()]
    servers = [("env", *settings, "TRAINING_ROLE=PSERVER", f"PADDLE_PORT={port}", *program) for port in (first, second)]
    trains = ("env", *settings, "TRAINING_ROLE=TRAINER", f"PADDLE_PORT={first}")
    workers = [(*trains, f"PADDLE_TRAINER_ID={rank}", *program) for rank in (0, 1)]
    _run_script(_build_script(workers, servers), cluster.directory)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in found]
