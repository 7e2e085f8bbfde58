"""The page about backup, followed to the letter: by kubectl and jq on one API, and from there on another."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import open_cluster
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.jobs.model import Settings
from paddock.kube.meta import Manifest
from support.operator_seam import JOBS, Seam, build_job, have_pods, install_jobs, running, set_phase, settled, status_of
from support.programs import need
from support.waiting import until

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operations" / "backup.md").read_text()
COMMANDS = re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE)


@asynccontextmanager
async def cluster(directory: Path) -> AsyncIterator[tuple[LocalApi, Path]]:
    """An API with the definitions, and its kubeconfig."""
    api = await LocalApi.open(directory)
    await install_jobs(api)
    server = Server(api, directory)
    await server.start()
    try:
        yield api, server.kubeconfig
    finally:
        await server.stop()
        await api.close()


async def follow(commands: list[str], kubeconfig: Path, directory: Path) -> None:
    for program in ("kubectl", "jq"):
        need(program)
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "KUBECONFIG": str(kubeconfig)}
    for command in commands:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(
            command, cwd=directory, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        _, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, f"{command}: {err.decode()}"


def find(*starts: str) -> list[str]:
    """The commands of the page that begin so, in its order."""
    return [command for command in COMMANDS if command.startswith(starts)]


async def train(api: LocalApi, name: str, phase: str) -> None:
    """The job's pods run; with `Succeeded`, its worker has ended."""
    pods = await until(lambda: have_pods(api, 1, name))
    for pod in pods:
        await set_phase(api, pod, "Running")
    await until(lambda: _is(api, name, "Running"))
    if phase == "Succeeded":
        await set_phase(api, f"{name}-worker-0", phase)
        await until(lambda: _is(api, name, "Completed"))


async def _is(api: LocalApi, name: str, phase: str) -> bool:
    return (await status_of(api, name)).get("phase") == phase


async def _has_no_refs(api: LocalApi, name: str) -> bool:
    """Its pods were cleaned up, and that is counted."""
    return "refs" not in (await status_of(api, name))["worker"]


async def test_jobs_come_back_with_their_status(tmp_path: Path) -> None:
    settings = Settings(shared_network=True, status_wait=0)
    async with cluster(tmp_path / "old") as (api, kubeconfig):
        async with running(api, settings):
            for name, phase in (("ended", "Succeeded"), ("training", "Running")):
                await api.create(JOBS, build_job(name, ps=0, worker=1))
                await train(api, name, phase)
            await api.create(JOBS, build_job("waiting", ps=0, worker=1, runPolicy={"suspend": True}))
            await until(lambda: _is(api, "waiting", "Suspended"))
            await until(lambda: _has_no_refs(api, "ended"))
        before = {name: await status_of(api, name) for name in ("ended", "training", "waiting")}
        await follow(find("kubectl get pdj"), kubeconfig, tmp_path)
    async with cluster(tmp_path / "new") as (api, kubeconfig):
        await follow(find("jq ", "kubectl create", "kubectl replace"), kubeconfig, tmp_path)
        restored = {name: await status_of(api, name) for name in before}
        assert restored == before
        seam = Seam(api)
        async with running(seam, settings):
            pods = await until(lambda: have_pods(api, 1, "training"))
            await settled(seam)
            assert [pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in pods.values()] == ["1"]
            status = await status_of(api, "training")
            assert (status["attempt"], status.get("restarts", 0)) == (1, 0), "no restart is counted"
            assert await status_of(api, "ended") == before["ended"]
            assert _without_times(await status_of(api, "waiting")) == _without_times(before["waiting"])
            assert not await have_pods(api, 1, "ended")
            assert not await have_pods(api, 1, "waiting")


def _without_times(status: Manifest) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name in ("phase", "attempt", "cause")}


def test_the_order_of_the_page_keeps_the_operator_away_until_the_status_is_there() -> None:
    starts = ("kubectl -n paddle-system scale", "kubectl create", "kubectl replace --subresource=status")
    assert [command.split()[-1] for command in find(*starts)] == [
        "--replicas=0", "restored.json", "restored.json", "--replicas=1",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_laptops_directory_comes_back_with_its_jobs() -> None:
    """`paddock down`, a copy, and the copy put back to the same path."""
    stop, copy = (next(each for each in COMMANDS if each.startswith(start)) for start in ("paddock down", "cp -a"))
    assert (stop, copy.split()[:2]) == ("paddock down", ["cp", "-a"])
    with open_cluster("none") as laptop:
        laptop.up()
        manifest = laptop.directory / "job.yaml"
        manifest.write_text(MANIFEST)
        assert laptop.kubectl("create", "-f", str(manifest)).code == 0
        assert laptop.paddock(*stop.split()[1:]).code == 0
        shutil.copytree(laptop.home, laptop.directory / "copy", symlinks=True)
        shutil.rmtree(laptop.home)
        shutil.move(laptop.directory / "copy", laptop.home)
        laptop.up()
        found = laptop.paddock("get", "-o", "json")
        assert "kept-through-it-all" in found.out, str(found)


MANIFEST = """
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: kept-through-it-all}
spec:
  runPolicy: {suspend: true}
  worker:
    replicas: 1
    template:
      spec:
        containers: [{name: paddle, image: busybox, command: ["true"]}]
"""
