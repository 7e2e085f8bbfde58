"""`paddock outputs` of a cluster against a server whose pods are the tests' own: what is left there when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from paddock.cli.main import run
from paddock.kube.meta import Manifest
from support.foreign import write_kubeconfig
from support.streaming import SmallCluster, Streamed, build_small_job, serve_in_thread


class ClaimCluster(SmallCluster):
    """Its pods run as soon as they are created."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            pod: Manifest = await request.json()
            pod["metadata"]["uid"] = "u"
            self.objects.append({**pod, "status": {"phase": "Running"}})
            return web.json_response(pod, status=201)
        if request.method == "DELETE":
            self.objects = [each for each in self.objects if each["kind"] != "Pod"]
            return web.json_response({"status": "Success"})
        return await super().answer(request)

    @property
    def pods(self) -> list[Manifest]:
        return [each for each in self.objects if each["kind"] == "Pod"]


@dataclass
class Scene:
    cluster: ClaimCluster
    options: tuple[str, ...]

    def type(self, *words: str) -> int:
        return run([*words, *self.options])


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    job = build_small_job("demo", phase="Succeeded")
    job["metadata"]["annotations"] = {"paddock.dev/outputs": "results"}
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "results", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteMany"]}, "status": {"phase": "Bound"},
    }  # fmt: skip
    cluster = ClaimCluster(job, claim)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "PADDOCK_CONTEXT", "LC_ALL", "LANG", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    with serve_in_thread(cluster) as (url, _):
        config = tmp_path / "config"
        config.write_text(write_kubeconfig(url))
        yield Scene(cluster, ("--kubeconfig", str(config)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_pod_goes_when_the_command_is_ended(scene: Scene, number: signal.Signals, tmp_path: Path) -> None:
    seen = list[str]()

    async def waits(_: Streamed) -> None:
        seen.extend(each["metadata"]["name"] for each in scene.cluster.pods)
        os.kill(os.getpid(), number)
        await asyncio.Event().wait()

    scene.cluster.program = waits
    assert scene.type("outputs", "demo", "--to", str(tmp_path / "here")) == 128 + number
    assert len(seen) == 1 and scene.cluster.pods == []


async def _find_no_python(run: Streamed) -> None:
    await run.end(message='exec: "python3": executable file not found in $PATH: unknown')


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gone --claim rezults --image mine:1", "there is no claim rezults in namespace default\n"),
        ("gone --claim rezults", "there is no claim rezults in namespace default\n"),
        (
            "demo --run 3 --image mine:1",
            "name an image that has it: `paddock outputs demo WHERE --image IMAGE --run 3`\n",
        ),
        (
            "gone --claim results",
            "name an image that has it: `paddock outputs gone WHERE --claim results --image IMAGE`\n",
        ),
    ],
)
def test_what_is_advised_reads_the_same(scene: Scene, words: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    scene.cluster.program = _find_no_python
    assert scene.type("outputs", *words.split()) == 1
    assert capfd.readouterr().err.replace(" ".join(scene.options), "WHERE").endswith(said)
    assert scene.cluster.pods == []
