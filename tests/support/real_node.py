"""A real node on this machine: pods are containers with their own addresses and names, and train for real.

There is no image of PaddlePaddle here: its environment, which `paddock` builds and keeps in the user's cache, is
mounted from the machine into an image that has a shell and nothing else, and with it the system's libraries. Everything
else of such a job is what a user of a cluster would write.

The node needs root, and a machine can have one. `open_node` always removes it completely.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import paddock.environments
from paddock.app.home import read_home
from paddock.environments.builder import Builder
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import Definition, read_definition
from paddock.environments.uv import find_uv
from paddock.install.deployment import EXAMPLE_IMAGE, USER
from support.deployed import Kubectl
from support.programs import need
from support.worlds import ControlPlane, find_programs

ADDRESS = "10.99.0.1"
BUSYBOX = "paddock.test/busybox:1"
PROGRAMS = Path(paddock.environments.__file__).parent / "programs"
ALL_REDUCE = Path(__file__).resolve().parents[2] / "examples" / "all_reduce"
NAMESPACE = "paddle-system"

_ROOTFS = Path(__file__).resolve().parents[2] / "tools" / "kubernetes" / "rootfs.py"
_LOCK = Path(tempfile.gettempdir()) / "paddock-real-node.lock"
_NEEDED = ("containerd", "runc", "busybox", "iptables", "conntrack")
_CAPABILITIES = (12, 21)
"""CAP_NET_ADMIN for the bridge, CAP_SYS_ADMIN for mounts (linux/capability.h)."""
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
_DEFINITIONS = {each.name: each for each in map(read_definition, build_defaults())}


def need_node() -> None:
    """Skips the test if this machine cannot run a real node."""
    (capabilities,) = re.findall(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())
    if os.getuid() or any(not int(capabilities, 16) >> bit & 1 for bit in _CAPABILITIES):
        pytest.skip("a real node needs root with CAP_NET_ADMIN and CAP_SYS_ADMIN")
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    for program in _NEEDED:  # tools/kubernetes/node.py --help says what for
        need(program, path=path)
    need("kubelet", path=str(find_programs()))


@contextmanager
def open_node(*, operator_image: bool = True) -> Iterator[ControlPlane]:
    """A control plane that pods can reach, and one real node, which has the image of the operator if that is asked for.

    In a folder of its own: pytest's are cleaned up by other sessions, and mounts do not survive that in order. A
    process of tests waits until another has given the machine's one node back."""
    directory = Path(tempfile.mkdtemp(prefix="real-node-"))
    plane = ControlPlane(directory / "plane", find_programs())
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _start(plane, directory, operator_image=operator_image)
            yield plane
        finally:
            plane.node("down")
            plane.down()
            plane.address("--remove")
            shutil.rmtree(directory)


def copy_rootfs(plane: ControlPlane, place: Path) -> Path:
    """The files of the operator's image in `place`, to be changed: a Python, and nothing that trains."""
    return Path(shutil.copytree(plane.home.parent / "rootfs", place, symlinks=True))


def _start(plane: ControlPlane, directory: Path, *, operator_image: bool) -> None:
    plane.address()
    plane.up("--controllers", "--scheduler", "--address", ADDRESS)
    plane.node("up", "--proxy")
    if operator_image:
        subprocess.run([sys.executable, _ROOTFS, directory / "rootfs"], check=True)
        plane.node(
            "image", EXAMPLE_IMAGE, str(directory / "rootfs"), "--entrypoint", "paddock", "--user", f"{USER}:{USER}"
        )


@dataclass(frozen=True, slots=True)
class Program:
    """What every rank of a job runs: an environment, a program from this machine, and its settings."""

    definition: Definition
    python: Path
    prefix: Path
    directory: Path
    words: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    def build_template(self, output: Path) -> dict[str, Any]:
        """`output` is one folder of the node for all ranks, as a shared volume would be: /output."""
        links = {each: Path(each).resolve() for each in _SYSTEM if Path(each).exists()}
        mounts = {**links, **{str(each): each for each in (self.python.parents[1], self.prefix, self.directory)}}
        mounts["/output"] = output
        volumes = [
            {"name": f"v{number}", "hostPath": {"path": str(path), "type": "Directory"}}
            for number, path in enumerate(mounts.values())
        ]
        env = {**dict(self.definition.environment), "PADDOCK_OUTPUT_DIR": "/output", **self.settings}
        container = {
            "name": "paddle",
            "image": BUSYBOX,
            "command": [str(self.python), *self.words],
            "workingDir": "/tmp",
            "env": [{"name": name, "value": value} for name, value in env.items()],
            "volumeMounts": [
                {"name": f"v{number}", "mountPath": place, "readOnly": place != "/output"}
                for number, place in enumerate(mounts)
            ],
        }
        return {"spec": {"containers": [container], "volumes": volumes}}


async def prepare(environment: str, directory: Path, *words: str, **settings: str) -> Program:
    """Builds the environment if the user's cache does not have it.

    A word that names a file of `directory` is replaced by its path.
    """
    builder = Builder(read_home(os.environ).cache / "environments", dict(os.environ), find_uv())
    definition = _DEFINITIONS[environment]
    built = await builder.build(definition, lambda progress: None)
    python = Path(built.path) / "bin" / "python3"
    (home,) = re.findall(r"^home = (.+)$", (python.parents[1] / "pyvenv.cfg").read_text(), re.MULTILINE)
    command = tuple(str(directory / word) if (directory / word).is_file() else word for word in words)
    return Program(definition, python, Path(home).parent, directory, command, settings)


def build_job(name: str, program: Program, output: Path, ranks: Mapping[str, int], **spec: Any) -> dict[str, Any]:
    """A job whose pods stay after its end, so that their logs can be read."""
    output.mkdir(parents=True, exist_ok=True)
    template = program.build_template(output)
    roles = {role: {"replicas": replicas, "template": template} for role, replicas in ranks.items()}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"cleanPodPolicy": "Never", **roles, **spec},
    }


def build_shell_job(name: str, command: Sequence[str], *, workers: int, **spec: Any) -> dict[str, Any]:
    """A job with the small image of the node."""
    container = {"name": "paddle", "image": BUSYBOX, "command": [*command]}
    worker = {"replicas": workers, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"cleanPodPolicy": "Never", "worker": worker, **spec},
    }


def run_paddock(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "paddock.cli.main", *words]
    environment = os.environ | {"PADDOCK_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster through kubectl, as users see it."""

    kubectl: Kubectl

    def read(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("-n", NAMESPACE, "get", kind, name, "-o", "json"))
        return found

    @contextmanager
    def created(self, *jobs: Mapping[str, Any]) -> Iterator[None]:
        """Creates these jobs; always deletes them at the end, as the next jobs need the cores."""
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs})
        self.kubectl("create", "-f", "-", stdin=listed)
        try:
            yield
        finally:
            self.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", stdin=listed)

    def logs(self, name: str) -> str:
        return self.kubectl("-n", NAMESPACE, "logs", name)

    def pods(self, job: str) -> dict[str, dict[str, Any]]:
        """The pods by rank, such as `worker-0`."""
        words = ("-n", NAMESPACE, "get", "pods", "-l", f"paddock.dev/job={job}", "-o", "json")
        items = json.loads(self.kubectl(*words))["items"]
        return {pod["metadata"]["name"].removeprefix(f"{job}-"): pod for pod in items}

    def endpoints(self, job: str) -> dict[str, str]:
        """The data of the job's ConfigMap, of which there is one at a time: its name is used once."""
        words = ("-n", NAMESPACE, "get", "configmaps", "-l", f"paddock.dev/job={job}", "-o", "json")
        (found,) = json.loads(self.kubectl(*words))["items"]
        return dict(found["data"])

    def phase(self, job: str) -> str:
        return str(self.read("pdj", job).get("status", {}).get("phase") or "")

    def until(self, what: str, look: Callable[[], object], seconds: float = 180) -> None:
        deadline = time.monotonic() + seconds
        while not look():
            assert time.monotonic() < deadline, f"after {seconds:.0f} s there is still not: {what}\n{self.story()}"
            time.sleep(0.5)

    def until_ended(self, *jobs: str, seconds: float = 400) -> None:
        """Wait until all are Completed. A failed job fails the test with the last lines of its logs."""

        def ended() -> bool:
            phases = {job: self.phase(job) for job in jobs}
            failed = [job for job, phase in phases.items() if phase == "Failed"]
            assert not failed, "\n".join([self.story(), *(self.last_words(job) for job in failed)])
            return set(phases.values()) == {"Completed"}

        self.until(f"the end of {', '.join(jobs)}", ended, seconds)

    def last_words(self, job: str) -> str:
        pods = self.kubectl("-n", NAMESPACE, "get", "pods", "-l", f"paddock.dev/job={job}", "-o", "name").split()
        said = (self.kubectl.run("-n", NAMESPACE, "logs", "--tail=15", pod) for pod in pods)
        return "\n".join(f"--- {pod}\n{each.stdout}{each.stderr}" for pod, each in zip(pods, said, strict=True))

    def story(self) -> str:
        listed = self.kubectl("-n", NAMESPACE, "get", "pdj,pods", "-o", "wide")
        return listed + self.kubectl("-n", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp")
