"""Pods that outlive their kubelet, and their adoption by the next one. Real processes, real crashes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, is_running, marked, open_cluster, pod, processes_of, seeing, shell, terminated
from paddock.kube.meta import PODS, SECRETS
from paddock.node.runtime.run_files import read_run_file
from paddock.node.runtime.sandbox import Sandbox, choose_sandbox
from support.sandboxes import need_sandbox
from support.waiting import until


async def test_a_new_kubelet_adopts_what_runs(cluster: Cluster) -> None:
    go = cluster.directory.parent / "shared/go"
    script = f"echo one; while ! test -e {go}; do sleep 0.02; done; echo two; exit 7"
    await cluster.create(seeing(pod(shell(script)), go.parent))
    await cluster.see("p", is_running)
    await cluster.drop()
    cluster.start()
    go.touch()
    found = await cluster.end()
    assert terminated(found)["exitCode"] == 7
    assert await cluster.log(found) == "one\ntwo\n"


async def test_a_new_kubelet_reads_how_a_pod_ended_meanwhile(cluster: Cluster) -> None:
    go = cluster.directory.parent / "shared/go"
    await cluster.create(seeing(pod(shell(f"while ! test -e {go}; do sleep 0.02; done; kill -9 $$$$")), go.parent))
    running = await cluster.see("p", is_running)
    await cluster.drop()
    go.touch()
    await until(lambda: not processes_of(running))
    cluster.start()
    assert terminated(await cluster.end())["exitCode"] == 137


@pytest.mark.parametrize("meanwhile", [True, False])
async def test_a_new_kubelet_hides_the_values_of_secrets(cluster: Cluster, meanwhile: bool) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}}
    await cluster.api.create(SECRETS, secret | {"stringData": {"token": "tok-123"}})
    go = cluster.directory.parent / "shared/go"
    script = f"while ! test -e {go}; do sleep 0.02; done; echo 401 for key $API_KEY >&2; exit 1"
    key = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}}
    main = shell(script, env=[key], terminationMessagePolicy="FallbackToLogsOnError")
    await cluster.create(seeing(pod(main), go.parent))
    running = await cluster.see("p", is_running)
    await cluster.drop()
    if meanwhile:
        go.touch()
        await until(lambda: not processes_of(running))
    cluster.start()
    go.touch()
    assert terminated(await cluster.end())["message"] == "401 for key ***"


async def crash(directory: Path, sandbox: Sandbox, script: str) -> str:
    """Runs one pod, which sees `directory`/shared, in its own cluster, and kills this cluster with -9 when the pod
    runs. Returns the pod's UID."""
    program = Path(__file__).with_name("crashing_cluster.py")
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = (str(program), str(directory), sandbox.name, script)
    daemon = await asyncio.create_subprocess_exec(PYTHON, *words, stdout=asyncio.subprocess.PIPE, env=where)
    assert daemon.stdout is not None
    uid = (await daemon.stdout.readline()).decode().strip()
    daemon.kill()
    await daemon.wait()
    return uid


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), pytest.param("kill -9 $$$$", 137, marks=pytest.mark.slow)])
async def test_exit_codes_survive_a_kill_of_the_daemon(tmp_path: Path, sandbox: Sandbox, end: str, code: int) -> None:
    go = tmp_path / "shared/go"
    uid = await crash(tmp_path, sandbox, f"while ! test -e {go}; do sleep 0.02; done; echo bye; {end}")
    assert marked(uid)
    go.touch()
    await until(lambda: not marked(uid))
    (exit_file,) = (tmp_path / "node").glob("scratch/*/*.exit")
    await until(lambda: sandbox.read_exit(read_run_file(exit_file)) is not None)
    os.utime(exit_file, (1_700_000_000, 1_700_000_000))
    async with open_cluster(tmp_path, sandbox) as cluster:
        found = await cluster.end()
        assert terminated(found)["exitCode"] == code
        assert terminated(found)["finishedAt"] == "2023-11-14T22:13:20Z"
        assert await cluster.log(found) == "bye\n"


async def test_a_pod_that_outlives_the_daemon_is_adopted_by_the_next(tmp_path: Path, sandbox: Sandbox) -> None:
    go = tmp_path / "shared/go"
    uid = await crash(tmp_path, sandbox, f"while ! test -e {go}; do sleep 0.02; done; exit 7")
    async with open_cluster(tmp_path, sandbox) as cluster:
        assert marked(uid)
        go.touch()
        assert terminated(await cluster.end())["exitCode"] == 7


async def test_a_pod_without_an_exit_code_is_lost(tmp_path: Path, sandbox: Sandbox) -> None:
    uid = await crash(tmp_path, sandbox, "exec sleep 60")
    for pid in marked(uid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await until(lambda: not marked(uid))
    for path in (tmp_path / "node").glob("scratch/*/*.exit"):
        path.write_text("")  # as when the machine went down
    async with open_cluster(tmp_path, sandbox) as cluster:
        found = await cluster.end()
        assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Lost")
        assert "was stopped" in found["status"]["message"]
        assert terminated(found)["reason"] == "ContainerStatusUnknown"


@pytest.fixture
def other(sandbox: Sandbox) -> Sandbox:
    """The sandbox of the next kubelet."""
    return need_sandbox("none" if sandbox.binds else "bubblewrap")


async def test_a_pod_that_ended_in_another_sandbox_is_read_all_the_same(
    tmp_path: Path, sandbox: Sandbox, other: Sandbox
) -> None:
    go = tmp_path / "shared/go"
    uid = await crash(tmp_path, sandbox, f"while ! test -e {go}; do sleep 0.02; done; exit 7")
    go.touch()
    await until(lambda: not marked(uid))
    async with open_cluster(tmp_path, other) as cluster:
        assert terminated(await cluster.end())["exitCode"] == 7


async def test_a_pod_that_runs_in_another_sandbox_is_followed(tmp_path: Path, sandbox: Sandbox, other: Sandbox) -> None:
    go = tmp_path / "shared/go"
    await crash(tmp_path, sandbox, f"setsid sleep 60 & while ! test -e {go}; do sleep 0.02; done; exit 7")
    async with open_cluster(tmp_path, other) as cluster:
        go.touch()
        found = await cluster.end()
        assert terminated(found)["exitCode"] == 7
        await until(lambda: not processes_of(found))


async def test_a_pod_that_runs_in_another_sandbox_gets_its_grace_period(
    tmp_path: Path, sandbox: Sandbox, other: Sandbox
) -> None:
    ready, saved = tmp_path / "shared/ready", tmp_path / "shared/saved"
    script = f"trap 'echo 1 >{saved}; exit 0' TERM; echo 1 >{ready}; while :; do sleep 0.05; done"
    uid = await crash(tmp_path, sandbox, script)
    await until(ready.exists)
    async with open_cluster(tmp_path, other) as cluster:
        await cluster.api.delete(PODS, "default", "p", grace=5)
        await cluster.gone()
        assert saved.exists()
        await until(lambda: not marked(uid))


async def test_an_unreadable_record_affects_its_own_pod_only(tmp_path: Path) -> None:
    plain = choose_sandbox("none")
    uid = await crash(tmp_path, plain, "exec sleep 60")
    for pid in marked(uid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await until(lambda: not marked(uid))
    (exit_file,) = (tmp_path / "node").glob("scratch/*/*.exit")
    exit_file.write_text("9" * 5000)  # more digits than a number may have
    async with open_cluster(tmp_path, plain) as cluster:
        assert (await cluster.run(pod(shell("true"), name="q")))["status"]["phase"] == "Succeeded"
        assert (await cluster.end())["status"]["reason"] == "Lost"
