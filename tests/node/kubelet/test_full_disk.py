"""The disk of the node is full: what was started is not lost by it, and what cannot be started says why."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from node.cluster import marked, open_cluster, pod, seeing, shell, terminated, waiting
from node.kubelet.dying_clusters import open_clusters
from paddock.kube.meta import uid_of
from paddock.node.runtime.container_env import Configs, ContainerWaiting
from paddock.node.runtime.containers import Containers, PodContext
from paddock.node.runtime.machine_faults import MACHINE_FAULT, explain_os_error, refuse_fault
from paddock.node.runtime.machine_view import read_view
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.records import Records
from paddock.node.runtime.sandbox import Sandbox
from support.host_programs import HostPrograms
from support.small_disks import fill, small_disk
from support.waiting import until

SCRIPT = "echo start >>{shared}/runs; while ! test -e {shared}/go; do sleep 0.02; done; exit 0"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A directory of which `node` has a disk of its own, of one MiB."""
    with small_disk(tmp_path / "node", "1m"):
        yield tmp_path


async def start_and_kill(directory: Path, sandbox: Sandbox) -> None:
    """A cluster whose program runs is gone."""
    async with open_clusters() as clusters:
        pid = await clusters.begin(directory, sandbox, 0, [SCRIPT])
        await until((directory / "shared/runs").exists)
        os.kill(pid, signal.SIGKILL)
        await clusters.wait()


async def test_an_end_on_a_full_disk_is_known_to_the_next_cluster(small: Path, sandbox: Sandbox) -> None:
    await start_and_kill(small, sandbox)
    (record,) = (small / "node/records").glob("*.json")
    fill(small / "node")
    (small / "shared/go").touch()
    await until(lambda: not marked(record.stem))
    async with open_cluster(small, sandbox) as cluster:
        found = await cluster.end("p-0")
    assert (found["status"]["phase"], terminated(found)["exitCode"]) == ("Succeeded", 0)
    assert (small / "shared/runs").read_text() == "start\n"


@pytest.mark.slow
async def test_an_end_that_an_adopting_cluster_sees_on_a_full_disk_counts(small: Path, sandbox: Sandbox) -> None:
    await start_and_kill(small, sandbox)
    async with open_cluster(small, sandbox) as cluster:
        await cluster.see("p-0", lambda found: found["status"].get("phase") == "Running")
        fill(small / "node")
        (small / "shared/go").touch()
        found = await cluster.end("p-0")
    assert (found["status"]["phase"], terminated(found)["exitCode"]) == ("Succeeded", 0)


@pytest.mark.slow
async def test_an_end_that_nobody_wrote_on_a_full_disk_is_told_with_the_disk(small: Path, sandbox: Sandbox) -> None:
    await start_and_kill(small, sandbox)
    (record,) = (small / "node/records").glob("*.json")
    fill(small / "node")
    # Stopped first: the wrapper would write the end of its program before its own comes.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in marked(record.stem):
            with suppress(ProcessLookupError):  # that one has ended by itself
                os.kill(pid, number)
    await until(lambda: not marked(record.stem))
    async with open_cluster(small, sandbox) as cluster:
        found = await cluster.end("p-0")
    (file,) = (small / "node/scratch").glob("*/*.exit")
    said = f"the disk of {file} is full, which may be why its end is not in that file"
    assert found["status"]["reason"] == "Lost"
    assert found["status"]["message"].endswith(f"so nobody saw how it ended; {said}")


async def test_what_cannot_be_recorded_is_not_started_and_says_what_to_do(small: Path, sandbox: Sandbox) -> None:
    ran = small / "shared/ran"
    async with open_cluster(small, sandbox) as cluster:
        filling = fill(small / "node")
        await cluster.create(seeing(pod(shell(f"echo ran >>{ran}")), ran.parent))
        found = await cluster.see("p", lambda found: waiting(found).get("message"))
        assert waiting(found)["reason"] == MACHINE_FAULT
        assert waiting(found)["message"].startswith(f"the disk of {small}/node/")
        assert waiting(found)["message"].endswith(" is full: make room on it; it is tried again by itself")
        filling.unlink()
        assert (await cluster.end())["status"]["phase"] == "Succeeded"
    assert ran.read_text() == "ran\n"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk of /disk/run is full"),
        (errno.EMFILE, "the cluster has as many files open as it may"),
        (errno.ENFILE, "this machine has as many files open as it may"),
        (errno.EROFS, "/disk/run is on a disk that is mounted read-only"),
    ],
)
def test_a_fault_of_the_machine_is_told_apart_from_a_wrong_manifest(number: int, said: str) -> None:
    error = OSError(number, os.strerror(number), "/disk/run")
    with pytest.raises(ContainerWaiting) as caught:
        refuse_fault(error, Path("/other"))
    assert caught.value.obstacle.reason == MACHINE_FAULT and caught.value.obstacle.message.startswith(said)
    refuse_fault(OSError(errno.ENOENT, "no", "/disk/run"), Path("/other"))


class FullDisk(Records):
    """Has room for the files of a run, and for no record of it."""

    def save(self, state: PodState, *, durable: bool = False) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/disk/record")


def test_a_start_whose_record_is_refused_makes_no_process(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "shared").mkdir()
    manifest = seeing(pod(shell(f"touch {tmp_path}/shared/ran")), tmp_path / "shared")
    manifest["metadata"]["uid"] = "u"
    containers = Containers(
        FullDisk(tmp_path / "node"), HostPrograms(), sandbox, inherited=os.environ,
        capacity={"cpu": Fraction(1), "memory": Fraction(2**30)}, hides_gpus=False, view=read_view(os.environ, 0),
    )  # fmt: skip
    state = PodState(uid_of(manifest), "default", "p", "127.64.0.1", 0.0)
    context = PodContext(Configs("default"), "", {}, ())
    with pytest.raises(ContainerWaiting) as caught:
        containers.start(manifest, manifest["spec"]["containers"][0], Run("main", 0, 0.0), state, context)
    assert caught.value.obstacle.reason == MACHINE_FAULT
    assert "/disk/record" in caught.value.obstacle.message
    assert marked("u") == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk of /p is full: make room on it"),
        (errno.EDQUOT, "the quota of the disk of /p is used up: make room or raise it"),
        (errno.EROFS, "/p is on a disk that is mounted read-only: mount it writable"),
        (errno.EIO, "the disk of /p fails with an input/output error: see dmesg"),
        (errno.EMFILE, "the cluster has as many files open as it may: raise the limit (ulimit -n)"),
        (errno.ENFILE, "this machine has as many files open as it may: raise fs.file-max (sysctl)"),
    ],
)
def test_a_fault_of_the_machine_is_no_fault_of_the_manifest(number: int, words: str) -> None:
    obstacle = explain_os_error(OSError(number, os.strerror(number), "/p"), Path("/n")).obstacle
    assert obstacle.reason == MACHINE_FAULT
    assert obstacle.message.startswith(words)
    assert obstacle.message.endswith("; it is tried again by itself")


def test_a_fault_without_a_path_is_told_with_the_directory_of_the_node() -> None:
    obstacle = explain_os_error(OSError(errno.ENOSPC, "No space left on device"), Path("/n")).obstacle
    assert obstacle.message.startswith("the disk of /n is full")


def test_any_other_error_is_told_with_its_path() -> None:
    obstacle = explain_os_error(PermissionError(errno.EACCES, "Permission denied", "/p"), Path("/n")).obstacle
    assert (obstacle.reason, obstacle.message) == ("CreateContainerError", "Permission denied: /p")
