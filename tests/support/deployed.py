"""Installs `deploy/` on a real control plane with the real kubectl, as the documents say.

The control plane has no node for the Deployment's pod: a test runs the operator itself, with the rights of the
Deployment's service account (`write_kubeconfig`) and with its arguments (`arguments_of`).
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from paddock.install.deployment import ACCOUNT, DEPLOYMENT, NAMESPACE
from support.waiting import until
from support.worlds import ControlPlane

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_SERIAL = count()


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as the administrator: today's if it is installed, else that of the control plane."""

    control_plane: ControlPlane

    def __call__(self, *words: str, stdin: str | None = None) -> str:
        """Its output. Fails the test with kubectl's error if kubectl fails."""
        ended = self.run(*words, stdin=stdin)
        assert ended.returncode == 0, f"kubectl {' '.join(words)}: {ended.stderr}"
        return ended.stdout

    def run(self, *words: str, stdin: str | None = None, seconds: float = 180) -> subprocess.CompletedProcess[str]:
        """Runs in `deploy/..`, as the documents' paths are relative to it."""
        program = shutil.which("kubectl") or str(self.control_plane.kubectl)
        command = [program, "--kubeconfig", str(self.control_plane.kubeconfig), *words]
        return subprocess.run(
            command, cwd=DEPLOY.parent, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )

    def names(self, *words: str) -> list[str]:
        return self("get", *words, "-o", "name").split()


def write_kubeconfig(
    control_plane: ControlPlane, path: Path, namespace: str = NAMESPACE, account: str = ACCOUNT
) -> Path:
    """A kubeconfig with exactly the rights of a service account: it has a token of that account."""
    kubectl = Kubectl(control_plane)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    address = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token = json.loads(kubectl("create", "--raw", address, "-f", "-", stdin=json.dumps(request)))["status"]["token"]
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"] = [{"name": account, "user": {"token": token}}]
    config["contexts"] = [
        {
            "name": account,
            "context": {"cluster": config["clusters"][0]["name"], "user": account, "namespace": namespace},
        }
    ]
    config["current-context"] = account
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path


def arguments_of(text: str) -> Sequence[str]:
    """The operator's arguments in an `operator.yaml`."""
    deployment = next(each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment")
    assert deployment["metadata"]["name"] == DEPLOYMENT
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["paddock", "operator"]
    found: list[str] = container["args"]
    return found


async def until_served(kubectl: Kubectl) -> None:
    """An API server serves a kind some time after its CRD is created."""

    async def served() -> bool:
        return (await asyncio.to_thread(kubectl.run, "get", "pdj")).returncode == 0

    await until(served, 180)


@dataclass(slots=True)
class Process:
    """A process of `paddock operator` or `paddock webhook`, and its log file."""

    process: subprocess.Popen[bytes]
    log: Path

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends it by this signal; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(180)

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    async def port(self) -> int:
        """The webhook's, once it listens."""

        async def listens() -> str:
            said = re.search(r"checks jobs at 127.0.0.1:(\d+)", self.log.read_text())
            return said[1] if said else ""

        return int(await until(listens))


@contextmanager
def operator(kubeconfig: Path, arguments: Sequence[str]) -> Iterator[Process]:
    """The operator with the arguments of a Deployment, without the addresses to listen on, as tests share a machine.
    It is killed at the end if it still runs."""
    words = [each for each in arguments if "-bind-address=" not in each]
    words += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    with _running("operator", kubeconfig, words) as running:
        yield running


@contextmanager
def webhook(kubeconfig: Path) -> Iterator[Process]:
    """The webhook, on a free port of the loopback address. It is killed at the end if it still runs."""
    with _running("webhook", kubeconfig, ["--bind-address=127.0.0.1:0"]) as running:
        yield running


@contextmanager
def _running(verb: str, kubeconfig: Path, words: Sequence[str]) -> Iterator[Process]:
    log = kubeconfig.with_name(f"{kubeconfig.name}-{next(_SERIAL)}.log")
    command = [sys.executable, "-m", "paddock.cli.main", verb, "--kubeconfig", str(kubeconfig), "--log-format=json"]
    with log.open("wb") as stream:
        process = subprocess.Popen([*command, *words], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
    running = Process(process, log)
    try:
        yield running
    finally:
        running.end(signal.SIGKILL)
