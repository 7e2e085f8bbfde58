"""`paddock board` over a claim, as on a cluster: the laptop's API reached by its kubeconfig, with a real pod, a real
forwarded port, and a TensorBoard of a few lines in the job's image."""

from __future__ import annotations

import http.cookiejar
import json
import shlex
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.commands import Cluster, Ended, Running, open_cluster, until
from e2e.manifests import build_light_job
from environments.packages import make_wheel
from support.printed import take_printed
from support.sandboxes import need_bubblewrap

pytestmark = pytest.mark.sandbox

FAKE = """\
import http.server, json, os, sys
given = dict(each[2:].partition("=")[::2] for each in sys.argv[1:])
def write():
    try:
        open(given["logdir"] + "/mine", "w")
    except OSError as error:
        return type(error).__name__
    return "written"
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = {"path": self.path, "files": os.listdir(given["logdir"]), "write": write(),
                "prefix": given["path_prefix"],
                "token": os.path.exists("/var/run/secrets/kubernetes.io/serviceaccount")}
        self.send_response(200); self.end_headers(); self.wfile.write(json.dumps(said).encode())
    def log_message(self, *words): pass
if __name__ == "__main__":
    http.server.ThreadingHTTPServer((given["host"], int(given["port"])), Handler).serve_forever()
"""
EVENTS = "events.out.tfevents.1700000000.h.1.0"
PODS = "/api/v1/namespaces/default/pods"


class Boards:
    """A cluster with a claim that the job `train` writes to, and commands that reach it by its kubeconfig."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.words = ("--kubeconfig", str(cluster.home / "api/kubeconfig"), "board")
        self.files = cluster.directory / "results"
        self.files.mkdir()
        (self.files / EVENTS).touch()

    def prepare(self) -> None:
        assert self.cluster.up().code == 0
        _, wheel = make_wheel("tensorboard_fake", "1.0", files={
            "tensorboard/__init__.py": b"", "tensorboard/main.py": FAKE.encode(),
        })  # fmt: skip
        path = self.cluster.directory / "tensorboard_fake-1.0-py3-none-any.whl"
        path.write_bytes(wheel)
        self.create("/apis/paddock.dev/v1alpha1/environments", "paddock.dev/v1alpha1", "Environment", "boards", {
            "images": ["boards"], "requirements": [f"tensorboard_fake @ file://{path}"],
        })  # fmt: skip
        for name in ("results", "other"):
            volume = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "hostPath": {"path": str(self.files)}}
            size = {"storage": "1Gi"}
            self.create("/api/v1/persistentvolumes", "v1", "PersistentVolume", name, volume | {"capacity": size})
            del volume["hostPath"]
            self.create("/api/v1/namespaces/default/persistentvolumeclaims", "v1", "PersistentVolumeClaim", name,
                        volume | {"volumeName": name, "resources": {"requests": size}})  # fmt: skip

    def create(self, path: str, version: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        self.cluster.create(path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})

    def begin_job(self, name: str, *claims: str, image: str = "boards") -> None:
        job = build_light_job(name, "exec sleep 1000")
        spec = job["spec"]["worker"]["template"]["spec"]
        spec["containers"][0] |= {
            "image": image,
            "volumeMounts": [{"name": each, "mountPath": f"/mnt/{each}"} for each in claims],
        }
        spec["volumes"] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
        assert self.cluster.paddock("submit", self.cluster.write(job)).code == 0
        until(f"{name} runs", lambda: self.cluster.phase(name) == "Running")

    def begin(self, *words: str) -> Running:
        running = self.cluster.start(*self.words, *words, "--no-browser")
        running.until_it_prints("/open?ticket=")
        return running

    def end(self, running: Running) -> Ended:
        running.interrupt()
        return running.end()

    def refuse(self, *words: str) -> Ended:
        return self.cluster.paddock(*self.words, *words, "--no-browser")

    def pods(self) -> dict[str, Any]:
        items = self.cluster.read(PODS)["items"]
        return {each["metadata"]["name"]: each for each in items if "deletionTimestamp" not in each["metadata"]}


@pytest.fixture(scope="module")
def boards() -> Iterator[Boards]:
    need_bubblewrap()  # without it nothing is mounted read-only
    with open_cluster("auto") as cluster:
        boards = Boards(cluster)
        boards.prepare()
        boards.begin_job("train", "results")
        yield boards


def open_link(running: Running) -> dict[str, Any]:
    """What a browser gets of the printed link, with the cookie that it is given."""
    link = urlsplit(running.out.split()[0])
    jar = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(strict_ns_domain=0))
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(f"http://127.0.0.1:{link.port}{link.path}?{link.query}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_a_pod_shows_the_claim_until_ctrl_c(boards: Boards) -> None:
    running = boards.begin("train")
    found = open_link(running)
    assert (found["files"], found["write"], found["token"]) == ([EVENTS], "OSError", False)
    assert found["path"] == f"{found['prefix']}/"
    link = urlsplit(running.out.split()[0])
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{link.port}{found['path']}", timeout=60)
    assert refused.value.code == 401
    again = boards.begin("train")
    assert "the pod train-board shows it already" in again.err
    assert open_link(again)["prefix"] == found["prefix"]
    assert boards.end(again).code == 0 and "train-board" in boards.pods(), "it is the other command's"
    other = boards.refuse("train", "--path", "/mnt/results/run")
    assert other.code == 1
    assert ": /mnt/results of the claim results (boards, TensorBoard or VisualDL)" in other.err
    ended = boards.end(running)
    assert ended.code == 0
    assert "made the pod train-board, which shows /mnt/results of the claim results" in ended.err
    assert "TensorBoard over /mnt/results of the claim results" in ended.err
    assert "the pod train-board is deleted" in ended.err and "train-board" not in boards.pods()


def test_one_that_is_kept_goes_with_its_job(boards: Boards) -> None:
    boards.begin_job("kept", "results")
    ended = boards.end(boards.begin("kept", "--keep"))
    assert ended.code == 0 and "the pod kept-board stays until nobody has looked for 10 min" in ended.err
    assert "kept-board" in boards.pods()
    assert boards.cluster.paddock("delete", "kept").code == 0
    until("the pod is gone", lambda: "kept-board" not in boards.pods())


def test_the_printed_command_ends_a_board(boards: Boards, kubectl: None) -> None:
    boards.begin_job("printed", "results")
    ended = boards.end(boards.begin("printed", "--keep"))
    typed = take_printed(ended.err, "kubectl ** delete pod printed-board -n default")
    assert boards.cluster.kubectl(*shlex.split(typed)[1:]).code == 0
    assert "printed-board" not in boards.pods()


def test_an_image_without_it_is_said(boards: Boards) -> None:
    boards.begin_job("bare", "results", image="busybox")
    refused = boards.refuse("bare")
    assert refused.code == 1
    assert "the image busybox has no TensorBoard, or no Python that finds it" in refused.err
    assert "bare-board" not in boards.pods()
    typed = take_printed(refused.err, "paddock board bare ** --image IMAGE").replace("IMAGE", "boards")
    running = boards.cluster.start(*shlex.split(typed)[1:], "--no-browser")
    running.until_it_prints("/open?ticket=")
    assert open_link(running)["files"] == [EVENTS]
    boards.end(running)


def test_of_several_claims_the_command_line_names_one(boards: Boards) -> None:
    boards.begin_job("both", "results", "other")
    refused = boards.refuse("both")
    assert refused.code == 1
    typed = take_printed(refused.err.splitlines()[1], "paddock board **")
    running = boards.cluster.start(*shlex.split(typed)[1:], "--no-browser")
    running.until_it_prints("/open?ticket=")
    boards.end(running)
    assert boards.refuse("both", "--claim", "reslts").code == 2
    assert boards.refuse("train", "both").code == 2
