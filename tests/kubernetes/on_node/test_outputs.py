"""What jobs write on a real node, into a claim that a real controller has bound: kept when the job is deleted, fetched,
and resumed from, by programs that are not root."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.printed import fill_in, take_printed
from support.programs import need
from support.real_node import BUSYBOX, NAMESPACE, Cluster, build_shell_job, copy_rootfs, run_paddock

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(900)]

PYTHON = "paddock.test/python-and-shell:1"
NOBODY = 65532
TRAINS = """\
import os, pathlib
checkpoints = pathlib.Path(os.environ["PADDOCK_CHECKPOINT_DIR"])
done = len(list(checkpoints.iterdir()))
if os.environ["PADDLE_TRAINER_ID"] == "0":
    (checkpoints / f"epoch-{done}").write_bytes(os.urandom(3000000))
    pathlib.Path(os.environ["PADDOCK_OUTPUT_DIR"], "model").write_text(f"after {done + 1} epochs")
print(f"user {os.getuid()} begins at epoch {done}", flush=True)
"""


@pytest.fixture(scope="module")
def claims(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One that anybody may write into, and one of root's; and an image that has a Python and a shell."""
    plane = cluster.kubectl.control_plane
    rootfs = copy_rootfs(plane, tmp_path_factory.mktemp("image") / "rootfs")
    (rootfs / "bin").mkdir(exist_ok=True)
    shutil.copy(need("busybox"), rootfs / "bin/sh")
    plane.node("image", PYTHON, str(rootfs))
    shutil.rmtree(rootfs)
    for name, mode in (("results", 0o777), ("private", 0o755)):
        place = tmp_path_factory.mktemp(name)
        for parent in (place, *place.parents):
            if parent.stat().st_mode & 0o005 != 0o005:
                parent.chmod(parent.stat().st_mode | 0o005)
        place.chmod(mode)
        create_claim(cluster, name, place)


def create_claim(cluster: Cluster, name: str, place: Path) -> None:
    size = {"storage": "1Gi"}
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": size, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(place)},
                 "storageClassName": name, "persistentVolumeReclaimPolicy": "Retain"},
    }  # fmt: skip
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": size}, "storageClassName": name},
    }  # fmt: skip
    for each in (volume, claim):
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(each))


def build_job(claim: str, image: str = PYTHON, program: str = TRAINS, name: str = "train") -> dict[str, Any]:
    job = build_shell_job(name, ["python3", "-c", program], workers=2)
    job["metadata"]["annotations"] = {"paddock.dev/outputs": claim}
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["securityContext"] = {"runAsUser": NOBODY, "runAsGroup": NOBODY, "runAsNonRoot": True}
    spec["terminationGracePeriodSeconds"] = 2  # a Python that is process 1 does not end by SIGTERM
    spec["containers"][0] |= {
        "image": image,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return job


class Tenant:
    def __init__(self, cluster: Cluster, home: Path) -> None:
        self.cluster, self.home = cluster, home
        self.where = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)

    def asks(self, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return run_paddock(self.home, verb, *self.where, *words)

    def runs(self, job: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
        file = self.home.parent / "job.json"
        file.write_text(json.dumps(job))
        return self.asks("run", str(file), *words)

    def deletes(self) -> None:
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pdj", "--all", "--timeout=180s")
        words = ("-n", NAMESPACE, "get", "pods", "-l", "paddock.dev/job", "-o", "name")
        self.cluster.until("the end of their pods", lambda: not self.cluster.kubectl(*words).strip())


@pytest.fixture
def tenant(cluster: Cluster, claims: None, tmp_path: Path) -> Iterator[Tenant]:
    found = Tenant(cluster, tmp_path / "home")
    yield found
    found.deletes()


def test_a_run_is_kept_is_fetched_when_its_job_is_deleted_and_is_resumed_from(tenant: Tenant, tmp_path: Path) -> None:
    first = tenant.runs(build_job("results"))
    assert first.returncode == 0, first.stdout + first.stderr
    assert f"user {NOBODY} begins at epoch 0" in first.stdout
    printed = take_printed(first.stderr.rpartition("      ")[2], "paddock outputs **")
    typed = run_paddock(tenant.home, *shlex.split(printed)[1:])
    assert typed.returncode == 0 and typed.stdout.startswith("results:train/"), typed.stdout + typed.stderr
    copies = take_printed(typed.stderr, "paddock outputs ** --to DIR")
    again = run_paddock(tenant.home, *shlex.split(fill_in(copies, {"DIR": str(tmp_path / "there")}))[1:])
    assert again.returncode == 0 and (tmp_path / "there/model").exists(), again.stdout + again.stderr
    tenant.deletes()
    gone = tenant.asks("outputs", "train", "--claim", "results", "--image", PYTHON, "--to", str(tmp_path / "here"))
    assert gone.returncode == 0, gone.stdout + gone.stderr
    assert "run 1: 2 files" in gone.stderr
    assert (tmp_path / "here/model").read_text() == "after 1 epochs"
    assert (tmp_path / "here/checkpoint/epoch-0").stat().st_size == 3_000_000

    second = tenant.runs(build_job("results"), "--resume")
    assert second.returncode == 0, second.stdout + second.stderr
    assert f"user {NOBODY} begins at epoch 1" in second.stdout
    assert "resumes from the checkpoints of run 1\n" in second.stderr
    listed = tenant.asks("outputs", "train", "-l")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert [line.split()[-1] for line in listed.stdout.splitlines()[1:]] == [
        "checkpoint/epoch-0", "checkpoint/epoch-1", "model"
    ]  # fmt: skip
    assert "run 2: 3 files" in listed.stderr and "the claim has the runs 1 and 2" in listed.stderr
    earlier = json.loads(tenant.asks("outputs", "train", "--run", "1", "-o", "json").stdout)
    assert [each["path"] for each in earlier["files"]] == ["model"], "its checkpoints were moved"
    third = tenant.runs(build_job("results"), "--resume=1")
    assert third.returncode == 1 and "run 1 of train has no checkpoints in the claim results" in third.stderr, third
    left = ("-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=paddock-outputs", "-o", "name")
    tenant.cluster.until("the end of the pods that have read", lambda: not tenant.cluster.kubectl(*left).strip())


def test_a_run_is_read_in_its_own_pod_while_it_goes_on(tenant: Tenant, tmp_path: Path) -> None:
    program = f"{TRAINS}\nimport time; time.sleep(600)"
    (tmp_path / "job.json").write_text(json.dumps(build_job("results", program=program, name="reads")))
    assert tenant.asks("submit", str(tmp_path / "job.json")).returncode == 0
    ask = tenant.cluster.kubectl.run

    def wrote() -> bool:
        """A kubelet has the log of a container some time before its status says that it runs."""
        phase = ask("-n", NAMESPACE, "get", "pod", "reads-worker-0", "-o", "jsonpath={.status.phase}").stdout
        return phase == "Running" and "begins" in ask("-n", NAMESPACE, "logs", "reads-worker-0").stdout

    tenant.cluster.until("worker-0 runs and has written", wrote)
    found = tenant.asks("outputs", "reads", "-l")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "model" in found.stdout and "the pod" not in found.stderr


def test_a_claim_that_its_user_may_not_write_is_told_with_the_cure(tenant: Tenant) -> None:
    failed = tenant.runs(build_job("private"))
    assert failed.returncode == 1
    assert f"user {NOBODY} may not write into the claim private" in failed.stderr, failed.stderr
    assert "securityContext.fsGroup" in failed.stderr


def test_an_image_without_python_keeps_its_outputs_and_another_reads_them(tenant: Tenant, tmp_path: Path) -> None:
    job = build_job("results", BUSYBOX, name="plain")
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["command"] = [
        "sh", "-c", "echo whole > $PADDOCK_OUTPUT_DIR/model"
    ]  # fmt: skip
    ran = tenant.runs(job)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    without = tenant.asks("outputs", "plain")
    assert without.returncode == 1 and "no python3 can be started" in without.stderr, without.stderr
    other = tenant.asks("outputs", "plain", "--image", PYTHON, "--to", str(tmp_path / "here"))
    assert other.returncode == 0, other.stdout + other.stderr
    assert (tmp_path / "here/model").read_text() == "whole\n"
