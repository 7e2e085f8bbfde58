"""PaddlePaddle's own elasticity, by an etcd of the user's own: Paddock leaves ranks and sizes to it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, until
from support.sandboxes import ONE_SANDBOX
from support.worlds import find_programs

pytestmark = [ONE_SANDBOX, pytest.mark.paddle, pytest.mark.timeout(600)]

EXAMPLE = Path(__file__).parents[2] / "examples/elastic"
REQUIREMENTS = "paddlepaddle==3.3.1\netcd3\n"
OLD_PROTOBUF = {"name": "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "value": "python"}
"""etcd3 0.12, of 2020, fails to import with today's protobuf without it."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[str]:
    """Its address, `127.0.0.1:PORT`."""
    client, peer = f"127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    command = [find_programs() / "etcd", "--data-dir", tmp_path / "data", "--listen-peer-urls", peer]
    command += ["--listen-client-urls", f"http://{client}", "--advertise-client-urls", f"http://{client}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield client
        process.terminate()


def build_job(address: str) -> dict[str, Any]:
    launch = ["python", "-m", "paddle.distributed.launch", "--master", f"etcd://{address}", "--nnodes", "2:2"]
    container = {
        "name": "paddle",
        "image": "paddlepaddle/paddle:3.3.1",
        "command": [*launch, "train_paddle.py", "--samples", "9600"],
        "env": [OLD_PROTOBUF],
    }
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [container]}}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "dealt"},
        "spec": {"elastic": 1, "worker": {"replicas": 2, "template": template}},
    }


def test_ranks_that_meet_at_a_users_own_etcd_train(cluster: Cluster, etcd: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "work")
    (tmp_path / "work" / "requirements.txt").write_text(REQUIREMENTS)
    where = ("--workdir", str(tmp_path / "work"), "-r", str(tmp_path / "work" / "requirements.txt"))
    ended = cluster.paddock("run", cluster.write(build_job(etcd)), *where, seconds=400)
    assert ended.code == 0, str(ended)
    assert "2 ranks go on at sample 0" in ended.out and "trained on 9600 samples" in ended.out
    assert "the master of the launcher is etcd" in ended.err
    until("the end of its record", lambda: cluster.phase("dealt") == "Completed")
