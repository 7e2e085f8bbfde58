"""`paddock operator` as a process of its own, as on a cluster, and what it costs as the kernel tells."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.clusters import PADDOCK
from benchmarks.control_planes import ControlPlane, read_cpu, read_memory

_READY_SECONDS = 60.0


class OperatorProcess:
    """One that is ready: it leads, or could. Its log is in the control plane's directory."""

    def __init__(self, plane: ControlPlane, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            probes = f"127.0.0.1:{free.getsockname()[1]}"
        words = ["--kubeconfig", str(plane.kubeconfig), "--metrics-bind-address=0"]
        command = [*PADDOCK, "operator", *words, f"--health-probe-bind-address={probes}", *options]
        self.log = plane.home / f"operator-{probes}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_until_ready(f"http://{probes}/readyz")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        return read_cpu(self.pid)

    @property
    def memory(self) -> tuple[float, float]:
        return read_memory(self.pid)

    def kill(self) -> None:
        """As -9 does."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def _wait_until_ready(self, url: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not _answers(url):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise SystemExit(f"the operator is not ready; its log:\n{self.log.read_text()}")
            time.sleep(0.05)


@contextmanager
def open_operator(plane: ControlPlane, *options: str) -> Iterator[OperatorProcess]:
    operator = OperatorProcess(plane, *options)
    try:
        yield operator
    finally:
        operator.stop()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
