"""Commands and ports of pods: of a laptop's, and of a real node's (kubelet, containerd, runc) on the same machine.

`true` by exec, and 64 MiB through a forwarded port, all in turns. kubectl is the control plane's own (1.20.2), which
speaks SPDY to both, as a newer one asks an old server twice. A client's own start is in the time of its command, and
stands beside it. The port is served by busybox's httpd in each pod, and read by this process; "direct" is a connection
to the pod's port without anybody between: on loopback of the laptop, through the bridge of the node.

The real node needs root (tests/support/real_node.py); without it those columns are empty.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.clusters import PADDOCK, open_directory, sandboxes
from benchmarks.figures import Figure, seconds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

EXECS, STREAMS = 15, 9
MIB = 64
_NAME = "entered"
_RUNS = "head -c {size} /dev/zero > {www}/big; exec busybox httpd -f -p {listen} -h {www}"
_READ = 256 << 10
_FORWARDS = {"paddock": "paddock forward", "kubectl": "kubectl port-forward"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod with the server runs."""

    name: str
    kubeconfig: Path
    namespace: str
    environment: Mapping[str, str]
    kubectl: str
    address: str
    """Of the pod, from this machine."""
    port: int

    @property
    def options(self) -> tuple[str, ...]:
        return ("--kubeconfig", str(self.kubeconfig), "-n", self.namespace)

    @property
    def paddock_exec(self) -> tuple[str, ...]:
        return (*PADDOCK, "exec", *self.options, f"{_NAME}-worker-0", "--", "true")

    @property
    def kubectl_exec(self) -> tuple[str, ...]:
        return (self.kubectl, *self.options, "exec", f"{_NAME}-worker-0", "--", "true")

    def run(self, command: Sequence[str], cpu: list[float]) -> float:
        """Seconds; `cpu` gets those of a core that the command has used."""
        begun, before = time.perf_counter(), os.times()
        subprocess.run(command, env=dict(self.environment), stdin=subprocess.DEVNULL, capture_output=True, check=True)
        took, after = time.perf_counter() - begun, os.times()
        cpu.append(after.children_user + after.children_system - before.children_user - before.children_system)
        return took

    @contextmanager
    def forwarded(self, *command: str) -> Iterator[int]:
        """A port of this machine, by a command that prints an address of it first."""
        with subprocess.Popen(command, env=dict(self.environment), stdout=subprocess.PIPE, text=True) as running:
            try:
                assert running.stdout is not None
                found = re.search(r":(\d+) ->", running.stdout.readline())
                if found is None:
                    raise SystemExit(f"{' '.join(command)} forwards nothing")
                yield int(found[1])
            finally:
                running.terminate()


def measure() -> Sequence[Figure]:
    with ExitStack() as stack:
        kubectl = _find_kubectl()
        laptops = [stack.enter_context(_open_laptop(sandbox, kubectl)) for sandbox in sandboxes()]
        node = stack.enter_context(_open_node(kubectl))
        return (*_compare_execs(laptops, node), *_compare_streams(laptops, node))


def _compare_execs(laptops: Sequence[Place], node: Place | None) -> list[Figure]:
    places = [*laptops, *([node] if node else [])]
    commands: dict[str, tuple[Place, Sequence[str]]] = {
        "paddock": (laptops[0], (*PADDOCK, "--version")),
        "kubectl": (laptops[0], (laptops[0].kubectl, "version", "--client")),
    }
    for place in places:
        commands[f"paddock {place.name}"] = (place, place.paddock_exec)
        commands[f"kubectl {place.name}"] = (place, place.kubectl_exec)
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    works = {name: partial(place.run, command, cpu[name]) for name, (place, command) in commands.items()}
    took = in_turns(works, EXECS)
    plain = took[f"kubectl {node.name}"] if node else ()
    beside = f"`kubectl exec`, {node.name} {seconds(plain)}" if node else "no real node here"
    return [
        Figure(
            f"exec of `true`: `{program} exec`, {place.name}",
            seconds(took[f"{program} {place.name}"]),
            beside,
            f"{_ratio(took[f'{program} {place.name}'], plain)}; of it CPU of the command "
            f"{statistics.median(cpu[f'{program} {place.name}']):.2f} s; the bare `{program}` {seconds(took[program])}",
            "told",
        )
        for place in places
        for program in ("paddock", "kubectl")
        if (program, place) != ("kubectl", node)
    ]


def _compare_streams(laptops: Sequence[Place], node: Place | None) -> list[Figure]:
    places = [*laptops, *([node] if node else [])]
    with ExitStack() as stack:
        works: dict[str, Callable[[], float]] = {}
        for place in places:
            pod = f"{_NAME}-worker-0"
            ports = {
                "direct": (place.address, place.port),
                "paddock": ("127.0.0.1", stack.enter_context(
                    place.forwarded(*PADDOCK, "forward", *place.options, pod, f"0:{place.port}"))),
                "kubectl": ("127.0.0.1", stack.enter_context(
                    place.forwarded(place.kubectl, *place.options, "port-forward", pod, f":{place.port}"))),
            }  # fmt: skip
            for way, (address, port) in ports.items():
                works[f"{way} {place.name}"] = lambda address=address, port=port: fetch(address, port)  # type: ignore[misc]
        took = in_turns(works, STREAMS)
    return [
        Figure(
            f"{MIB} MiB of a port: `{_FORWARDS[way]}`, {place.name}",
            rates(took[f"{way} {place.name}"]),
            f"direct {rates(took[f'direct {place.name}'])}",
            _tell_speed(took, way, place, node),
            "told",
        )
        for place in places
        for way in _FORWARDS
    ]


def _tell_speed(took: Mapping[str, Sequence[float]], way: str, place: Place, node: Place | None) -> str:
    ours = took[f"{way} {place.name}"]
    said = f"{_speed(ours, took[f'direct {place.name}'])} of direct"
    if node is None or (way, place) == ("kubectl", node):
        return said
    return f"{said}, {_speed(ours, took[f'kubectl {node.name}'])} of kubectl on the {node.name}"


def in_turns(works: Mapping[str, Callable[[], float]], times: int) -> dict[str, tuple[float, ...]]:
    """Each in turns, every second time in the other order, after a round that does not count."""
    order = list(works)
    rounds = [{name: works[name]() for name in order[:: 1 - 2 * (turn % 2)]} for turn in range(times + 1)][1:]
    return {name: tuple(each[name] for each in rounds) for name in works}


def rates(durations: Sequence[float]) -> str:
    """`210 MiB/s (180 to 250)`."""
    found = sorted(MIB / each for each in durations)
    return f"{statistics.median(found):.0f} MiB/s ({found[0]:.0f} to {found[-1]:.0f})"


def _speed(ours: Sequence[float], plain: Sequence[float]) -> str:
    return f"{statistics.median(plain) / statistics.median(ours):.2f} times"


def _ratio(ours: Sequence[float], plain: Sequence[float]) -> str:
    return f"{statistics.median(ours) / statistics.median(plain):.2f} times" if plain else "not compared"


def fetch(address: str, port: int) -> float:
    """Seconds of a GET of the large file."""
    begun = time.perf_counter()
    with socket.create_connection((address, port), 60) as connection:
        connection.sendall(b"GET /big HTTP/1.0\r\n\r\n")
        received = 0
        while data := connection.recv(_READ):
            received += len(data)
    if received < MIB << 20:
        raise SystemExit(f"{received} bytes came of {MIB} MiB")
    return time.perf_counter() - begun


# The pods


def build_job(image: str, script: str, namespace: str) -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": ["sh", "-c", script]}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {"worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}},
    }


@contextmanager
def _open_laptop(sandbox: str, kubectl: str) -> Iterator[Place]:
    with open_directory() as cluster, tempfile.TemporaryDirectory(prefix="bench-www-") as www:
        cluster.paddock("up", "--sandbox", sandbox)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        # A pod in bubblewrap has a /tmp of its own, and no other writes this folder.
        script = f"mkdir -p {www}; " + _RUNS.format(size=MIB << 20, www=www, listen=f"127.0.0.1:{port}")
        cluster.paddock("submit", cluster.write("job.json", build_job("busybox", script, "default")))
        place = Place(
            f"laptop, {sandbox}", cluster.home / "api" / "kubeconfig", "default", cluster.environment, kubectl,
            "127.0.0.1", port,
        )  # fmt: skip
        _wait_for_server(place)
        yield place


@contextmanager
def _open_node(kubectl: str) -> Iterator[Place | None]:
    import pytest

    from paddock.install.deployment import DEPLOYMENT
    from support.deployed import Kubectl
    from support.real_node import BUSYBOX, NAMESPACE, Cluster, need_node, open_node

    try:
        need_node()
    except pytest.skip.Exception as lack:
        print(f"no real node: {lack}", file=sys.stderr)
        yield None
        return
    with open_node() as plane, open_directory() as home:
        cluster = Cluster(Kubectl(plane))
        cluster.kubectl("create", "-f", "deploy/v1/crd.yaml", "-f", "deploy/v1/operator.yaml")
        cluster.kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{DEPLOYMENT}", "--timeout=180s")
        script = "mkdir /www; " + _RUNS.format(size=MIB << 20, www="/www", listen="8080")
        with cluster.created(build_job(BUSYBOX, script, NAMESPACE)):
            cluster.until("it runs", lambda: cluster.pods(_NAME).get("worker-0", {}).get("status", {}).get("podIP"))
            address = cluster.pods(_NAME)["worker-0"]["status"]["podIP"]
            place = Place("real node", plane.kubeconfig, NAMESPACE, home.environment, kubectl, address, 8080)
            _wait_for_server(place)
            yield place


def _wait_for_server(place: Place) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            fetch(place.address, place.port)
        except (OSError, SystemExit):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _find_kubectl() -> str:
    from support.worlds import find_programs

    found = find_programs() / "kubectl"
    return str(found) if found.exists() else shutil.which("kubectl") or "kubectl"
