"""`paddock run -r` on a cluster, without a registry: the laptop's API reached by its kubeconfig, with real claims, real
pods and real pips."""

from __future__ import annotations

import http.server
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, Ended, open_cluster, until
from environments.packages import make_wheel
from support.printed import take_printed, type_printed
from support.sandboxes import need_bubblewrap

pytestmark = pytest.mark.sandbox

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
TRAIN = """import os, sys
import mine
try:
    open("written", "w")
except OSError as error:
    print("read-only:", error.strerror)
print("step 1 by", mine.version, "in", os.getcwd(), os.path.dirname(mine.__file__), sorted(os.listdir(".")))
"""


class Remote:
    """A cluster that is reached by its kubeconfig alone, the directory of a user, and wheels at an address, as pods
    have a /tmp of their own."""

    def __init__(self, cluster: Cluster, wheels: Path, address: str) -> None:
        self.cluster, self.wheels = cluster, wheels
        self.options = ("--kubeconfig", str(cluster.home / "api/kubeconfig"))
        self.work = cluster.directory / "work"
        self.work.mkdir()
        self.index = ("--env", "PIP_NO_INDEX=1", "--env", f"PIP_FIND_LINKS={address}")
        (self.work / "train.py").write_text(TRAIN)
        self.add("mine", "1.0")
        self.require("mine\n")

    def add(self, name: str, version: str) -> None:
        file, content = make_wheel(name, version)
        (self.wheels / file).write_bytes(content)

    def require(self, text: str) -> None:
        (self.work / "requirements.txt").write_text(text)

    def run(self, *words: str, packages: bool = True) -> Ended:
        requirements = ("-r", str(self.work / "requirements.txt"), *self.index) if packages else ()
        where = ("--image", "python:3", "--workdir", str(self.work))
        return self.cluster.paddock("run", *self.options, *where, *requirements, *words, "--", "python3", "train.py")

    def env(self, *words: str) -> Ended:
        return self.cluster.paddock("env", *words, *self.options)

    def claims(self) -> dict[str, dict[str, Any]]:
        return {each["metadata"]["name"]: each for each in self.cluster.read(CLAIMS)["items"]}

    def claim_of(self, kind: str) -> str:
        (found,) = (name for name in self.claims() if name.startswith(kind))
        return found


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The files of a directory at an address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    need_bubblewrap()  # without it nothing is mounted read-only
    with serving(tmp_path) as address, open_cluster("auto") as cluster:
        assert cluster.up().code == 0
        yield Remote(cluster, tmp_path, address)


def test_packages_are_installed_once_and_found_by_the_next_run(remote: Remote, record_property: Any) -> None:
    first = remote.run()
    assert first.code == 0, str(first)
    assert (
        "step 1 by 1.0 in /paddock/workdir /paddock/packages/env/packages ['requirements.txt', 'train.py']" in first.out
    )
    assert "read-only: Read-only file system" in first.out
    name = remote.claim_of("env-")
    assert f"made the claim {name} of 10Gi (ReadWriteOnce)" in first.err
    assert f"are in the claim {name}, after " in first.err and "1 package over those of the image" in first.err
    assert not [each for each in remote.cluster.read(PODS)["items"] if each["metadata"]["name"].endswith("-fill")]

    began = time.monotonic()
    second = remote.run("--workers", "2")
    record_property("second_run_seconds", round(time.monotonic() - began, 1))
    assert second.code == 0 and second.out.count("step 1 by 1.0") == 2, str(second)
    assert f"the claim {name} has the packages of {remote.work}/requirements.txt already" in second.err
    assert "waiting for" not in second.err

    listed = remote.env("list")
    assert listed.code == 0 and [line.split()[:4] for line in listed.out.splitlines()] == [
        ["NAME", "STATUS", "SIZE", "ACCESS"], [name, "Ready", "10Gi", "ReadWriteOnce"],
    ], str(listed)  # fmt: skip
    assert "mine for python:3" in listed.out
    refused = remote.env("rm", name)
    assert refused.code == 2 and f"the claim {name} is in use by train" in refused.err, str(refused)
    assert remote.cluster.paddock("delete", "train", *remote.options).code == 0
    assert remote.env("rm", name).code == 0 and remote.claims() == {}


def test_what_cannot_be_installed_is_told_and_leaves_nothing(remote: Remote) -> None:
    remote.require("mine==7.0\n")
    failed = remote.run()
    assert (failed.code, failed.out) == (1, ""), str(failed)
    assert "mine==7.0 is not in the package index that pods of the cluster use; for Python 3." in failed.err
    assert "of the image python:3 it has 1.0. Change it in " in failed.err
    assert "nothing was submitted" in failed.err
    assert remote.claims() == {} and remote.cluster.read(PODS)["items"] == []


def test_a_large_directory_goes_by_a_claim_and_is_not_sent_again(remote: Remote) -> None:
    (remote.work / "train.py").write_text(TRAIN.replace("import mine\n", "class mine: version, __file__ = 2, 'x'\n"))
    (remote.work / "weights.bin").write_bytes(os.urandom(3_000_000))
    first = remote.run(packages=False)
    assert first.code == 0 and "['requirements.txt', 'train.py', 'weights.bin']" in first.out, str(first)
    assert "read-only: Read-only file system" in first.out
    name = remote.claim_of("code-")
    assert f"is in the claim {name}, after " in first.err
    second = remote.run(packages=False)
    assert second.code == 0 and f"the claim {name} has {remote.work} already: nothing is sent" in second.err, str(
        second
    )

    (remote.work / "weights.bin").write_bytes(os.urandom(3_000_000))
    assert remote.run(packages=False).code == 0
    assert len(remote.claims()) == 2, "the first is kept for an hour"


def test_an_interrupt_while_packages_are_installed_submits_nothing(remote: Remote) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        where = (
            "--image",
            "python:3",
            "-r",
            str(remote.work / "requirements.txt"),
            "--env",
            f"PIP_INDEX_URL={address}",
        )
        running = remote.cluster.start("run", *remote.options, *where, "--", "python3", "-c", "1")
        until("the pod", lambda: remote.cluster.read(PODS)["items"])
        running.interrupt()
        ended = running.end()
    assert ended.code == 130 and "interrupted: nothing was submitted" in ended.err, str(ended)
    name = remote.claim_of("env-")
    assert f"the pod {name}-fill goes on filling the claim {name}: the next command finds it there" in ended.err
    assert remote.env("rm", name).code == 0 and remote.claims() == {}


def test_a_claim_of_one_node_is_refused_to_ranks_of_several_with_what_removes_it(remote: Remote) -> None:
    """The claim was made for a job of one rank."""
    assert remote.run().code == 0
    name = remote.claim_of("env-")
    remote.cluster.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}})
    refused = remote.run("--name", "wide", "--workers", "2")
    assert (refused.code, refused.out) == (2, ""), str(refused)
    said = f"the claim {name} is for one node at a time (ReadWriteOnce), and the 2 ranks of the job may be placed on"
    assert said in refused.err and "nothing was submitted" in refused.err
    assert remote.cluster.paddock("delete", "train", *remote.options).code == 0
    done = type_printed(remote.cluster, take_printed(refused.err, "paddock env rm **"))
    assert done.code == 0 and remote.claims() == {}, str(done)
