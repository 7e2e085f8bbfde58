"""Packages and a large directory reach the pods of a real node by claims that pods of the user's fill, through a real
API server: `paddock run -r --workdir` with an image that has Python and pip and nothing of the job's."""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from environments.packages import make_wheel
from support.real_node import ADDRESS, NAMESPACE, Cluster, copy_rootfs, run_paddock

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(1200)]

IMAGE = "paddock.test/python:1"
TRAIN = """import os, mine
size = os.path.getsize("weights.bin")
print("step 1 of rank", os.environ["PADDLE_TRAINER_ID"], "by mine", mine.version, "with", size, "bytes", flush=True)
"""


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """Wheels at an address that pods reach."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer((ADDRESS, 0), partial(Quiet, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_image(cluster: Cluster, directory: Path) -> None:
    """A Python with pip, as an image of a framework has it."""
    root = copy_rootfs(cluster.kubectl.control_plane, directory / "rootfs")
    site = next((root / "usr/local/lib").glob("python3*/site-packages"))
    pip = importlib.metadata.distribution("pip")
    for name in ("pip", f"pip-{pip.version}.dist-info"):
        shutil.copytree(str(pip.locate_file(name)), site / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "usr/local/bin/python").symlink_to("python3")
    cluster.kubectl.control_plane.node("image", IMAGE, str(root))
    shutil.rmtree(root)


def make_volumes(cluster: Cluster, directory: Path, count: int) -> None:
    """Storage by hand: a cluster without a StorageClass."""
    for number in range(count):
        path = directory / f"volume-{number}"
        path.mkdir()
        cluster.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"filled-{number}"},
            "spec": {
                "capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                "hostPath": {"path": str(path), "type": "Directory"}, "persistentVolumeReclaimPolicy": "Retain",
            },
        }))  # fmt: skip


def test_ranks_train_with_packages_and_a_directory_that_no_registry_had(
    cluster: Cluster, tmp_path: Path, record_property: Any
) -> None:
    make_image(cluster, tmp_path)
    make_volumes(cluster, tmp_path, 2)
    work, wheels, home = tmp_path / "work", tmp_path / "wheels", tmp_path / "home"
    for each in (work, wheels):
        each.mkdir()
    file, content = make_wheel("mine", "3.0")
    (wheels / file).write_bytes(content)
    (work / "train.py").write_text(TRAIN)
    (work / "weights.bin").write_bytes(os.urandom(2_000_000))
    (work / "requirements.txt").write_text("mine\n")
    config = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    with serving(wheels) as address:
        words = (
            "run", *config, "--image", IMAGE, "--framework", "none", "--workers", "2", "--workdir", str(work),
            "-r", str(work / "requirements.txt"), "--env", "PIP_NO_INDEX=1", "--env", f"PIP_FIND_LINKS={address}",
            "--env", f"PIP_TRUSTED_HOST={ADDRESS}", "--name", "filled", "--", "python", "train.py",
        )  # fmt: skip
        first = run_paddock(home, *words)
        assert first.returncode == 0, first.stdout + first.stderr + cluster.story()
        began = time.monotonic()
        second = run_paddock(home, *words)
        seconds = time.monotonic() - began
    for ended in (first, second):
        for rank in (0, 1):
            assert f"step 1 of rank {rank} by mine 3.0 with 2000000 bytes" in ended.stdout, ended.stderr
    assert re.search(r"requirements.txt are in the claim env-\w+, after \S+: 1 package over those of", first.stderr)
    assert re.search(r"work is in the claim code-\w+, after ", first.stderr), first.stderr
    assert re.search(r"the claim env-\w+ has the packages of \S+ already", second.stderr), second.stderr
    assert re.search(r"the claim code-\w+ has \S+ already: nothing is sent", second.stderr)
    assert "waiting for env-" not in second.stderr and "waiting for code-" not in second.stderr
    record_property("second_run_seconds", round(seconds, 1))
    print(f"the second run took {seconds:.1f} s in all; the first said:\n{first.stderr}")
    pods = cluster.kubectl("-n", NAMESPACE, "get", "pods", "-o", "name")
    assert "-fill" not in pods
