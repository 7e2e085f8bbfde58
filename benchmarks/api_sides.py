"""The two API servers that are compared: the embedded one, and a real kube-apiserver with its etcd.

Each has a folder of its own, listens on loopback over TLS, and is started, stopped and killed as a process. What it
costs is what the kernel tells of its processes. etcd runs without fsync, and the embedded store with
`synchronous=normal`: both keep what they have acknowledged when they are killed, and neither waits for a disk.
"""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import psutil

from benchmarks.control_planes import PROGRAM, read_cpu, read_memory
from paddock.client.errors import ConfigError
from paddock.client.kubeconfig import read_config

START_SECONDS = 120.0
_POLL_SECONDS = 0.005
_UNBOUND = [f"--flag=kube-scheduler:--kube-api-{limit}=10000" for limit in ("qps", "burst")]
"""kube-scheduler asks 50 times a second at most, as it comes: its work would go on for minutes beside the others."""


class Side(Protocol):
    """One of both. `home`: its folder."""

    home: Path

    @property
    def kubeconfig(self) -> Path: ...

    @property
    def pids(self) -> list[int]:
        """Of what runs."""

    def launch(self) -> None:
        """Returns before it is ready; `wait_until_ready` waits."""

    def stop(self) -> None:
        """By SIGTERM, in order."""

    def forget(self) -> None:
        """Removes all objects, while it does not run; certificates and port stay."""


class Embedded(Side):
    def __init__(self, home: Path, *, scheduler: bool = False) -> None:
        self.home = home
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._options = ["--scheduler"] if scheduler else []
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def pids(self) -> list[int]:
        return [] if self._process is None else [self._process.pid]

    def launch(self) -> None:
        words = ["-m", "benchmarks.embedded_api", str(self.home), str(self._port), *self._options]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen([sys.executable, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def forget(self) -> None:
        for path in self.home.glob("store.sqlite*"):
            path.unlink()


class Real(Side):
    def __init__(self, home: Path, *, scheduler: bool = False) -> None:
        self.home = home
        self._options = ["--scheduler", *_UNBOUND] if scheduler else []
        self._starting: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def pids(self) -> list[int]:
        with suppress(OSError, ValueError):
            return [each["pid"] for each in json.loads((self.home / "state.json").read_text())["processes"].values()]
        return []

    def launch(self) -> None:
        self.settle()
        words = [sys.executable, str(PROGRAM), "up", str(self.home), *self._options]
        with (self.home / "log").open("ab") as log:
            self._starting = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def settle(self) -> None:
        """Waits for the program that starts it, which goes on for a moment when the server answers already."""
        starting, self._starting = self._starting, None
        if starting is not None and starting.wait(START_SECONDS):
            log = (self.home / "log").read_text()
            raise SystemExit(f"no control plane to measure; `make kubernetes` builds one.\n{log}")

    def stop(self) -> None:
        self.settle()
        subprocess.run([sys.executable, PROGRAM, "down", self.home], check=True, capture_output=True)

    def forget(self) -> None:
        shutil.rmtree(self.home / "etcd", ignore_errors=True)


class Ready(NamedTuple):
    """Seconds from the launch until it said that it is ready, and until it had answered a list."""

    ready: float
    listed: float


def launch_and_wait(side: Side, listed: str = "/api/v1/configmaps?limit=500") -> Ready:
    begun = time.monotonic()
    side.launch()
    times = [_wait_for(side, path, begun) for path in ("/readyz", listed)]
    if isinstance(side, Real):
        side.settle()
    return Ready(*times)


def _wait_for(side: Side, path: str, begun: float) -> float:
    while time.monotonic() - begun < START_SECONDS:
        if _answers(side.kubeconfig, path):
            return time.monotonic() - begun
        time.sleep(_POLL_SECONDS)
    raise SystemExit(f"{type(side).__name__} did not answer {path} within {START_SECONDS:.0f} s: see {side.home}")


def _answers(kubeconfig: Path, path: str) -> bool:
    if not kubeconfig.exists():
        return False
    with suppress(OSError, http.client.HTTPException, ConfigError):  # the last: while it is being written
        config = read_config(str(kubeconfig))
        address = urlsplit(config.server)
        context = ssl.create_default_context(cadata=config.ca)
        connection = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=30, context=context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {config.token}"})
            answer = connection.getresponse()
            answer.read()
            return answer.status == http.client.OK
        finally:
            connection.close()
    return False


def kill(side: Side) -> None:
    """All its processes at once, as -9 does; returns when they are gone."""
    processes = [psutil.Process(pid) for pid in side.pids]
    for process in processes:
        process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, timeout=30)
    if isinstance(side, Embedded):
        side.stop()


def read_cpu_of(side: Side) -> float:
    """Seconds of all its processes."""
    return sum(map(read_cpu, side.pids))


def read_memory_of(side: Side) -> dict[str, float]:
    """MB, resident now, by the name of its process."""
    return {psutil.Process(pid).name(): read_memory(pid)[0] for pid in side.pids}


def run_load(side: Side, verb: str, *words: object) -> Any:
    """What `benchmarks.api_load` saw."""
    return read_output(open_load(side, verb, *words))


def open_load(side: Side, verb: str, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.api_load", verb, str(side.kubeconfig), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read_output(load: subprocess.Popen[str]) -> Any:
    """When it has ended. A failure ends the benchmark; its words are on standard error."""
    printed, _ = load.communicate()
    if load.returncode:
        raise SystemExit(f"the load failed: {' '.join(map(str, load.args[2:]))}")  # type: ignore[index]
    return json.loads(printed.splitlines()[-1])


class Sides(NamedTuple):
    ours: Side
    plain: Side


@contextmanager
def open_sides(
    *, scheduler: bool = False, kinds: tuple[type[Embedded | Real], ...] = (Embedded, Real)
) -> Iterator[Sides]:
    """Both, ready and with no objects; ended and removed at the end. `scheduler`: with theirs, and a node that has
    room."""
    homes = [Path(tempfile.mkdtemp(prefix="bench-")) for _ in kinds]
    sides = Sides(*(kind(home, scheduler=scheduler) for kind, home in zip(kinds, homes, strict=True)))
    try:
        for side in sides:
            launch_and_wait(side)
            if scheduler:
                run_load(side, "node")
        yield sides
    finally:
        for side in sides:
            side.stop()
        for home in homes:
            shutil.rmtree(home, ignore_errors=True)
