"""Probes and hooks of real pods: what is asked, what follows from the answer, and what is told of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod, seeing, shell
from paddock.kube.meta import EVENTS, PODS, Manifest
from paddock.node.kubelet.care import MOST_PROBES
from paddock.node.kubelet.performing import run_by_streams
from paddock.node.runtime.sandbox import Sandbox
from paddock.node.streams.node_streams import NodeStreams
from support.waiting import until

SERVER = """
import http.server, os, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = int(pathlib.Path(sys.argv[1], "code").read_text())
        asked = self.headers.get("X-Asked", "")
        pathlib.Path(sys.argv[1], "asked").write_text(f"{self.path} {asked}")
        self.send_response(code); self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer((os.environ["POD_IP"], 0), Handler)
pathlib.Path(sys.argv[1], "new").write_text(str(server.server_port))
pathlib.Path(sys.argv[1], "new").rename(pathlib.Path(sys.argv[1], "port"))
server.serve_forever()
"""
POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
WAITS = "trap 'exit 0' TERM; while :; do sleep 0.02; done"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that pods see."""
    return tmp_path_factory.mktemp("seen")


@contextlib.asynccontextmanager
async def open_entered(directory: Path, sandbox: Sandbox) -> AsyncIterator[Cluster]:
    """A cluster in whose containers commands can be run."""
    made: list[NodeStreams] = []
    async with open_cluster(
        directory, sandbox, run_in_container=run_by_streams(lambda: made[-1].exec_for_kubelet)
    ) as cluster:
        assert cluster.kubelet is not None
        made.append(NodeStreams(cluster.kubelet.list_running, cluster.kubelet.recall_run, cluster.directory))
        yield cluster
        await made[0].close()


@pytest.fixture
async def entered(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[Cluster]:
    async with open_entered(tmp_path, sandbox) as cluster:
        yield cluster


def probe(action: Manifest, **more: Any) -> Manifest:
    """With time enough for an answer on a busy machine."""
    return {"periodSeconds": 1, "timeoutSeconds": 60, "failureThreshold": 1, **action, **more}


def command(script: str) -> Manifest:
    return {"exec": {"command": ["/bin/sh", "-c", script]}}


def serves(place: Path, port: int, code: int = 200, **more: Any) -> Manifest:
    """A server of the pod's address, whose answers have the code that a file has."""
    (place / "code").write_text(str(code))
    script = SERVER.replace('["POD_IP"], 0)', f'["POD_IP"], {port})')
    return container(PYTHON, "-c", script, str(place), env=[POD_IP], **more)


def is_ready(found: Manifest) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found["status"].get("conditions") or ())


async def read_events(cluster: Cluster, reason: str) -> list[str]:
    found = await cluster.api.list(EVENTS, "default")
    return [event["message"] for event in found.items if event["reason"] == reason]


async def tells(cluster: Cluster, reason: str, message: str) -> bool:
    return message in await read_events(cluster, reason)


async def test_a_pod_is_ready_while_its_server_answers_well(cluster: Cluster, place: Path) -> None:
    http = {"httpGet": {"port": 8123, "path": "/health", "httpHeaders": [{"name": "X-Asked", "value": "yes"}]}}
    await cluster.create(seeing(pod(serves(place, 8123, 503, readinessProbe=probe(http))), place))
    found = await cluster.see("p", lambda found: found["status"].get("phase") == "Running")
    assert not is_ready(found)
    await until(lambda: (place / "asked").exists())
    (place / "code").write_text("302")
    await cluster.see("p", is_ready)
    assert (place / "asked").read_text() == "/health yes"
    (place / "code").write_text("500")
    found = await cluster.see("p", lambda found: not is_ready(found))
    assert (
        found["status"]["containerStatuses"][0] | {"ready": False, "started": True, "restartCount": 0}
        == (found["status"]["containerStatuses"][0])
    )


async def test_a_port_that_nobody_listens_on_is_told_as_a_kubelet_does(cluster: Cluster) -> None:
    await cluster.create(pod(shell(WAITS, readinessProbe=probe({"tcpSocket": {"port": 8124}}))))
    found = await cluster.see("p", lambda found: found["status"].get("podIP"))
    address = found["status"]["podIP"]
    said = f"Readiness probe failed: dial tcp {address}:8124: connect: connection refused"
    await until(lambda: tells(cluster, "Unhealthy", said))


async def test_a_container_that_is_not_alive_is_started_again(cluster: Cluster, place: Path) -> None:
    server = serves(place, 8125, livenessProbe=probe({"httpGet": {"port": 8125}}, failureThreshold=2))
    # It may take longer to listen than two probes take.
    server["startupProbe"] = probe({"httpGet": {"port": 8125}}, failureThreshold=600)
    await cluster.create(seeing(pod(server, policy="OnFailure", terminationGracePeriodSeconds=7), place))
    await cluster.see("p", is_ready)
    (place / "code").write_text("500")
    found = await cluster.see("p", lambda found: restarts(found) == 1)
    status = found["status"]["containerStatuses"][0]
    assert status["lastState"]["terminated"]["exitCode"] == 143
    said = "livenessProbe failed 2 times in a row: HTTP probe failed with statuscode: 500"
    assert said in status["lastState"]["terminated"]["message"]
    await until(lambda: tells(cluster, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500"))
    await until(lambda: tells(cluster, "Killing", "Container main failed liveness probe, will be restarted"))


def restarts(found: Manifest) -> int:
    statuses = found["status"].get("containerStatuses") or [{"restartCount": 0}]
    return int(statuses[0]["restartCount"])


async def test_a_deaf_container_has_the_grace_of_its_probe(cluster: Cluster) -> None:
    deaf = shell("trap '' TERM; while :; do sleep 0.02; done")
    # Once the shell is deaf.
    deaf["livenessProbe"] = probe({"tcpSocket": {"port": 8126}}, initialDelaySeconds=4, terminationGracePeriodSeconds=1)
    began = time.monotonic()
    found = await cluster.run(pod(deaf, terminationGracePeriodSeconds=600))
    assert time.monotonic() - began < 300
    ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (found["status"]["phase"], found["status"].get("reason"), ended["exitCode"], ended["reason"]) == (
        "Failed", None, 137, "Error",
    )  # fmt: skip
    await until(lambda: tells(cluster, "Killing", "Container main failed liveness probe, and is ended"))


async def test_main_starts_when_the_startup_probe_of_its_side_car_has_passed(entered: Cluster, place: Path) -> None:
    side = shell(f"sleep 0.3; touch {place}/up; {WAITS}", name="s", restartPolicy="Always")
    side["startupProbe"] = probe(command(f"test -e {place}/up"), failureThreshold=60)
    main = shell(f"test -e {place}/up")
    assert (await entered.run(seeing(pod(main, initContainers=[side]), place)))["status"]["phase"] == "Succeeded"


@pytest.mark.slow
async def test_a_probe_that_hangs_is_over_in_time_and_holds_up_nobody(entered: Cluster, place: Path) -> None:
    hanging = [
        shell(
            WAITS,
            name=f"h{number}",
            readinessProbe=probe(command("sleep 3600"), timeoutSeconds=1, failureThreshold=100),
        )
        for number in range(3)
    ]
    quick = shell(WAITS, readinessProbe=probe(command(f"echo x >>{place}/asked")))
    await entered.create(seeing(pod(*hanging, quick), place))
    await until(lambda: (place / "asked").exists() and len((place / "asked").read_text().split()) >= 3)
    said = 'Readiness probe failed: command timed out: "/bin/sh -c sleep 3600" timed out after 1s'
    await until(lambda: tells(entered, "Unhealthy", said))
    assert MOST_PROBES > 3


async def test_post_start_ends_before_the_next_container_starts(entered: Cluster, place: Path) -> None:
    first = shell(WAITS, name="a", lifecycle={"postStart": command(f"sleep 0.3; touch {place}/hooked")})
    main = shell(f"test -e {place}/hooked && touch {place}/good; {WAITS}")
    await entered.create(seeing(pod(first, main), place))
    found = await entered.see("p", is_ready)
    await until(lambda: (place / "good").exists())
    assert all(each["started"] for each in found["status"]["containerStatuses"])


async def test_a_failed_post_start_ends_the_container(entered: Cluster) -> None:
    main = shell(WAITS, lifecycle={"postStart": command("echo no mount; exit 3")})
    found = await entered.run(pod(main, policy="Never"))
    ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["message"] == "ended by the kubelet, as its postStart hook failed: no mount"
    await until(lambda: tells(entered, "FailedPostStartHook", "PostStartHook failed: no mount"))


async def test_pre_stop_comes_before_sigterm(entered: Cluster, place: Path) -> None:
    log = place / "order"
    main = shell(f"trap 'echo told >>{log}; exit 0' TERM; touch {place}/up; while :; do sleep 0.02; done")
    main["lifecycle"] = {"preStop": command(f"sleep 0.3; echo hook >>{log}")}
    await entered.create(seeing(pod(main), place))
    await until(lambda: (place / "up").exists())
    await entered.api.delete(PODS, "default", "p")
    await entered.gone()
    assert log.read_text().split() == ["hook", "told"]


async def test_pre_stop_counts_in_the_grace_and_the_program_is_told_all_the_same(entered: Cluster, place: Path) -> None:
    log = place / "order"
    main = shell(f"trap 'echo told >>{log}; exit 0' TERM; touch {place}/up; while :; do sleep 0.02; done")
    main["lifecycle"] = {"preStop": command("sleep 600")}
    await entered.create(seeing(pod(main, terminationGracePeriodSeconds=1), place))
    await until(lambda: (place / "up").exists())
    await entered.api.delete(PODS, "default", "p")
    await entered.gone()
    assert log.read_text().split() == ["told"]


async def test_a_hook_that_had_not_ended_runs_again_after_a_restart(entered: Cluster, place: Path) -> None:
    script = f"echo x >>{place}/tries; while ! test -e {place}/go; do sleep 0.02; done"
    await entered.create(seeing(pod(shell(WAITS, lifecycle={"postStart": command(script)})), place))
    tries = place / "tries"
    await until(lambda: tries.exists() and tries.read_text())  # a shell opens it first
    await entered.drop()
    entered.start()
    await until(lambda: len(tries.read_text().split()) == 2)
    (place / "go").touch()
    await entered.see("p", is_ready)
