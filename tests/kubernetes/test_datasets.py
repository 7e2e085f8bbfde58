"""Datasets on a real Kubernetes: the operator as a pod, claims that are bound, Jobs whose pods run the fetching process
of the operator's own image, and pods of jobs that mount what they have fetched."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datasets.fetch.web import Server, build_bytes, serve
from paddock.cli.verbs.manifests import build_manifests, write_list
from paddock.install.deployment import DEPLOYMENT, Installation
from support.deployed import Kubectl
from support.fetch_jobs import build_dataset
from support.real_node import ADDRESS, NAMESPACE, Cluster, build_shell_job, need_node, open_node, run_paddock

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(700)]

MEBIBYTE = 1 << 20
DATA = build_bytes(24 * MEBIBYTE)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """With the operator as `paddock manifests --datasets` installs it, leading."""
    need_node()
    with open_node() as plane:
        found = Cluster(Kubectl(plane))
        for what in ("crd", "operator"):
            found.kubectl("create", "-f", "-", stdin=write_list(build_manifests(what, Installation(datasets=True))))
        found.kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{DEPLOYMENT}", "--timeout=180s")
        yield found


@pytest.fixture
def volume(cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The directory of a volume that is free for one claim."""
    folder = tmp_path / "volume"
    folder.mkdir()
    folder.chmod(0o777)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o005)
    name = f"volume-{abs(hash(request.node.name))}"
    spec = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(folder)},
            "persistentVolumeReclaimPolicy": "Retain"}  # fmt: skip
    manifest = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(manifest))
    yield folder
    cluster.kubectl("delete", "pv", name, "--wait=false")


def create(cluster: Cluster, name: str, uri: str, **spec: Any) -> None:
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(build_dataset(name, NAMESPACE, uri, **spec)))


def status_of(cluster: Cluster, name: str) -> dict[str, Any]:
    return dict(cluster.read("datasets.paddock.dev", name).get("status") or {})


async def until(cluster: Cluster, name: str, wanted: Callable[[dict[str, Any]], object], seconds: float = 180) -> None:
    """Until the status of the Dataset is as wanted; the server of the test answers meanwhile."""
    deadline = time.monotonic() + seconds
    while not wanted(status := await asyncio.to_thread(status_of, cluster, name)):
        assert time.monotonic() < deadline, f"{status}\n{await asyncio.to_thread(tell, cluster)}"
        await asyncio.sleep(0.3)


def tell(cluster: Cluster) -> str:
    listed = cluster.kubectl("-n", NAMESPACE, "get", "datasets,jobs,pods,pvc", "-o", "wide")
    log = cluster.kubectl("-n", NAMESPACE, "logs", f"deploy/{DEPLOYMENT}", "--tail=20")
    return listed + cluster.kubectl("-n", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp") + log


def has_phase(phase: str) -> Callable[[dict[str, Any]], bool]:
    return lambda status: status.get("phase") == phase


def delete(cluster: Cluster, name: str) -> None:
    """The Dataset, and with it all that was made for it."""
    cluster.kubectl("-n", NAMESPACE, "delete", "dataset", name, "--timeout=180s")
    cluster.until(f"the end of all of {name}", lambda: not made_for(cluster, name))


def made_for(cluster: Cluster, name: str, what: str = "pvc,jobs,pods") -> list[str]:
    return cluster.kubectl.names("-n", NAMESPACE, what, "-l", f"paddock.dev/dataset={name}")


async def test_a_pod_that_is_killed_at_41_percent_is_followed_by_one_that_goes_on_and_a_job_reads_the_files(
    cluster: Cluster, volume: Path, tmp_path: Path
) -> None:
    server = Server(data=DATA, speed=3 * MEBIBYTE, trickles_after=len(DATA) // 2, host=ADDRESS)
    async with serve(server):
        await asyncio.to_thread(create, cluster, "words", server.url("words.bin"), sha256=SHA256)
        job = build_shell_job("reads", ["sha256sum", "/data/words.bin"], workers=1)
        job["metadata"]["annotations"] = {"paddock.dev/datasets": "words:/data"}
        await asyncio.to_thread(cluster.kubectl, "create", "-f", "-", stdin=json.dumps(job))
        await until(cluster, "words", lambda status: status.get("progress", 0) >= 41)
        waiting = await asyncio.to_thread(lambda: cluster.read("pdj", "reads")["status"])
        assert (waiting["cause"]["reason"], waiting["cause"]["args"]["dataset"]) == ("WaitingForDataset", "words")
        words = ("-n", NAMESPACE, "delete", "pods", "-l", "paddock.dev/dataset=words", "--grace-period=0", "--force")
        await asyncio.to_thread(cluster.kubectl, *words)
        server.trickles_after = 0
        await until(cluster, "words", has_phase("Ready"))
        # What was on its way when the pod was killed was sent, and never arrived.
        assert server.sent - len(DATA) <= 2 * MEBIBYTE, "it began again from nothing"
    status = await asyncio.to_thread(status_of, cluster, "words")
    assert (status["bytesTotal"], status["files"], status["claim"]) == (len(DATA), 1, "dataset-words")
    assert (volume / "words.bin").read_bytes() == DATA
    await asyncio.to_thread(cluster.until_ended, "reads")
    assert cluster.logs("reads-worker-0").split()[0] == SHA256
    cluster.kubectl("-n", NAMESPACE, "delete", "pdj", "reads")
    await asyncio.to_thread(delete, cluster, "words")


async def test_a_wrong_checksum_is_the_end_and_another_round_fetches_again(cluster: Cluster, volume: Path) -> None:
    async with serve(Server(data=b"one", host=ADDRESS)) as server:
        await asyncio.to_thread(create, cluster, "sums", server.url(), sha256=hashlib.sha256(b"two").hexdigest())
        await until(cluster, "sums", has_phase("Failed"))
        status = await asyncio.to_thread(status_of, cluster, "sums")
        assert (status["fault"], status.get("retries", False)) == ("source", False), status
        # Ten seconds after a failure the Job of an old Kubernetes makes another pod, unless it has been deleted by
        # then, for which a busy machine may be too slow. With the Job gone, nobody asks again.
        gone = "the end of the Job that has failed"
        await asyncio.to_thread(cluster.until, gone, lambda: not made_for(cluster, "sums", "jobs,pods"))
        asked = len(server.requests)
        await asyncio.sleep(12)
        assert len(server.requests) == asked
        server.data, server.etag = b"two", '"two"'
        patch = json.dumps({"spec": {"round": 1}})
        await asyncio.to_thread(
            cluster.kubectl, "-n", NAMESPACE, "patch", "dataset", "sums", "--type=merge", "-p", patch
        )
        await until(cluster, "sums", has_phase("Ready"))
    assert (volume / "words.bin").read_bytes() == b"two"
    await asyncio.to_thread(delete, cluster, "sums")


async def test_a_password_goes_from_the_secret_to_the_pod_and_a_missing_one_is_told(
    cluster: Cluster, volume: Path
) -> None:
    async with serve(Server(data=DATA[:1000], host=ADDRESS)) as server:
        await asyncio.to_thread(create, cluster, "locked", server.url(), secretName="login")
        await until(cluster, "locked", lambda status: 'secret "login" not found' in str(status.get("message")))
        assert server.requests == []
        words = ("-n", NAMESPACE, "create", "secret", "generic", "login", "--from-literal=token=abc")
        await asyncio.to_thread(cluster.kubectl, *words)
        await until(cluster, "locked", has_phase("Ready"))
        assert {each.get("Authorization") for each in server.requests} == {"Bearer abc"}
    await asyncio.to_thread(delete, cluster, "locked")


async def test_a_claim_without_a_volume_and_a_claim_that_is_not_there_are_told(cluster: Cluster) -> None:
    await asyncio.to_thread(
        create, cluster, "homeless", "https://host.invalid/x.tar", storage={"storageClassName": "nas"}
    )
    said = "the claim dataset-homeless has no volume of class nas yet: "
    await until(cluster, "homeless", lambda status: str(status.get("message")).startswith(said))
    await asyncio.to_thread(create, cluster, "photos", "claim://dataset-homeles")
    nearest = 'did you mean "dataset-homeless"?'
    await until(cluster, "photos", lambda status: nearest in str(status.get("message")))
    for name in ("photos", "homeless"):
        await asyncio.to_thread(delete, cluster, name)


async def test_a_storage_that_kubernetes_does_not_take_is_said_on_the_object(cluster: Cluster) -> None:
    for name, storage in (("much", {"size": "much"}), ("modes", {"accessModes": ["ReadAll"]})):
        await asyncio.to_thread(create, cluster, name, "https://host.invalid/x.tar", storage=storage)
        await until(cluster, name, has_phase("Failed"))
        status = await asyncio.to_thread(status_of, cluster, name)
        assert "the cluster does not take spec.storage: " in status["message"]
        await asyncio.to_thread(delete, cluster, name)


def test_the_command_shows_what_is_there(cluster: Cluster, tmp_path: Path) -> None:
    create(cluster, "shown", "file:///data/words")
    words = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    cluster.until("its failure", lambda: has_phase("Failed")(status_of(cluster, "shown")))
    listed = run_paddock(tmp_path / "home", "dataset", "list", *words)
    assert "shown" in listed.stdout, listed.stderr
    described = run_paddock(tmp_path / "home", "dataset", "describe", "shown", *words)
    assert "copy it into a claim" in " ".join(described.stdout.split()), described.stdout + described.stderr
    delete(cluster, "shown")
