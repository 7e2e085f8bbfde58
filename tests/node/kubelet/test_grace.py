"""The grace of a pod that is ended: it is of all processes of a container, with real ones, in both sandboxes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, is_running, pod, processes_of, seeing
from paddock.kube.meta import EVENTS, PODS, Manifest
from support.waiting import until

SAVES = """\
import os, signal, sys, time
folder = sys.argv[1]
def save(number, frame):
    with open(f"{folder}/told", "a") as file:
        file.write("once\\n")
    while not os.path.exists(f"{folder}/go"):
        time.sleep(0.02)
    open(f"{folder}/saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(f"{folder}/ready", "w").close()
while True:
    time.sleep(0.02)
"""
LOADS = """\
import os, signal, subprocess, sys, time
folder = sys.argv[1]
loader = subprocess.Popen(["/bin/sh", "-c", "sleep 600"])
def save(number, frame):
    time.sleep(0.3)  # a loader that was told as well would be gone by then
    with open(f"{folder}/loader", "w") as file:
        file.write(str(loader.poll()))
    loader.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(f"{folder}/ready", "w").close()
while True:
    time.sleep(0.02)
"""


def files(directory: Path) -> Path:
    """A directory that the pod sees, with the programs."""
    found = directory / "shared"
    found.mkdir()
    (found / "saves.py").write_text(SAVES)
    (found / "loads.py").write_text(LOADS)
    return found


async def start(cluster: Cluster, shared: Path, script: str, **spec: object) -> Manifest:
    await cluster.create(seeing(pod(container("/bin/bash", "-c", script), **spec), shared))
    running = await cluster.see("p", is_running)
    await until((shared / "ready").exists)
    return running


async def read_cuts(cluster: Cluster) -> list[str]:
    found = await cluster.api.list(EVENTS, "default")
    return [event["message"] for event in found.items if event["reason"] == "ExceededGracePeriod"]


@pytest.mark.parametrize(
    "script",
    [
        "{python} {shared}/saves.py {shared}; echo done",
        "set -e; echo prepare; ( {python} {shared}/saves.py {shared}; true ); echo end",
        "setsid {python} {shared}/saves.py {shared}; true",
        "trap 'exit 3' TERM; {python} {shared}/saves.py {shared} & wait",
    ],
)
async def test_a_program_that_a_shell_has_started_saves_in_its_grace(
    cluster: Cluster, tmp_path: Path, script: str
) -> None:
    shared = files(tmp_path)
    script = script.format(python=PYTHON, shared=shared)
    running = await start(cluster, shared, script, terminationGracePeriodSeconds=3600)
    await cluster.api.delete(PODS, "default", "p")
    await until((shared / "told").exists)
    # The kubelet has nothing else to do meanwhile: it looks by itself whether the program has ended.
    await asyncio.sleep(0.5)
    (shared / "go").touch()
    await cluster.gone()
    assert (shared / "saved").exists(), "it was killed while it saved"
    assert (shared / "told").read_text() == "once\n", "a handler that saves is not entered twice"
    assert not processes_of(running)
    assert await read_cuts(cluster) == []


async def test_a_program_that_saves_keeps_its_children_until_it_has_ended(cluster: Cluster, tmp_path: Path) -> None:
    """As on Kubernetes, where the first process alone is told: a loader of torch that ends by a signal fails what reads
    from it."""
    shared = files(tmp_path)
    await start(cluster, shared, f"exec {PYTHON} {shared}/loads.py {shared}")
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    assert (shared / "loader").read_text() == "None"


async def test_what_still_runs_after_the_grace_is_killed_and_counted(cluster: Cluster, tmp_path: Path) -> None:
    shared = files(tmp_path)
    script = f"{PYTHON} {shared}/saves.py {shared}; echo done"
    running = await start(cluster, shared, script, terminationGracePeriodSeconds=1)
    await cluster.api.delete(PODS, "default", "p")
    await cluster.gone()
    assert not (shared / "saved").exists()
    assert await read_cuts(cluster) == [
        "1 process of container main of p still ran after the grace of 1 s, and was killed"
    ]
    await until(lambda: not processes_of(running))


async def test_a_kubelet_that_comes_meanwhile_lets_it_save(cluster: Cluster, tmp_path: Path) -> None:
    shared = files(tmp_path)
    script = f"{PYTHON} {shared}/saves.py {shared}; echo done"
    await start(cluster, shared, script, terminationGracePeriodSeconds=3600)
    await cluster.api.delete(PODS, "default", "p")
    await until((shared / "told").exists)
    await cluster.drop()
    cluster.start()
    (shared / "go").touch()
    await cluster.gone()
    assert (shared / "saved").exists()


async def test_a_container_whose_program_ends_by_itself_ends_at_once(cluster: Cluster, tmp_path: Path) -> None:
    shared = files(tmp_path)
    script = f"{PYTHON} {shared}/saves.py {shared} & until test -e {shared}/ready; do sleep 0.02; done; exit 5"
    found = await cluster.run(seeing(pod(container("/bin/bash", "-c", script)), shared))
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    await until(lambda: not processes_of(found))
    assert not (shared / "told").exists()
