"""Workers that start when the parameter servers answer: whose pods wait, and the program by which they do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from jobs.samples import read_any, read_manifest
from paddock.jobs.labels import SERVERS_CONTAINER, SERVERS_FIRST_ANNOTATION
from paddock.jobs.model import Job, Rank, Settings
from paddock.jobs.objects.pods import build_pod

LAPTOP, CLUSTER = Settings(output_root="/outputs"), Settings()
BLANKS = Settings(output_root="/my outputs")


def read_job(gloo: int | None, value: str = "true", **spec: Any) -> Job:
    manifest = read_manifest("wide_and_deep")
    manifest["metadata"]["annotations"] = {SERVERS_FIRST_ANNOTATION: value}
    manifest["spec"] |= {"withGloo": gloo, **spec} if gloo is not None else spec
    return read_any(manifest)


def list_inits(job: Job, role: str, settings: Settings) -> list[str]:
    spec = build_pod(job, Rank(role, 0), 0, None, settings)["spec"]
    return [each["name"] for each in spec.get("initContainers") or ()]


@pytest.mark.parametrize(
    ("gloo", "settings", "waits"),
    [
        (0, LAPTOP, True),
        (0, CLUSTER, True),
        (1, LAPTOP, True),
        # server 0 serves the store at which the workers meet, and opens its port when all have come
        (1, CLUSTER, False),
        (1, BLANKS, False),
        (2, LAPTOP, False),
        (2, CLUSTER, False),
    ],
)
def test_workers_wait_where_servers_can_open_their_ports_without_them(
    gloo: int, settings: Settings, waits: bool
) -> None:
    job = read_job(gloo)
    assert list_inits(job, "worker", settings) == [SERVERS_CONTAINER] * waits
    assert list_inits(job, "ps", settings) == []


def test_without_the_annotation_nobody_waits() -> None:
    assert list_inits(read_job(0, "false"), "worker", LAPTOP) == []


def test_gloo_meets_in_files_of_the_attempt_where_a_store_at_server_0_would_wait_for_the_workers() -> None:
    job = read_job(1)
    for rank in (Rank("ps", 0), Rank("worker", 1)):
        pod = build_pod(job, rank, 2, None, LAPTOP)
        env = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
        assert env["PADDLE_GLOO_RENDEZVOUS"] == "2"
        assert env["PADDLE_GLOO_FS_PATH"] == f"{env['PADDOCK_OUTPUT_DIR']}/.metrics/gloo-2"


def test_it_is_the_last_of_the_init_containers_and_asks_for_what_the_program_asks_for() -> None:
    job = read_job(0)
    template = job.role("worker").template["spec"]  # type: ignore[union-attr]
    template["initContainers"] = [{"name": SERVERS_CONTAINER, "image": "busybox"}]
    template["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}
    spec = build_pod(job, Rank("worker", 0), 0, None, CLUSTER)["spec"]
    own, waiting = spec["initContainers"]
    assert (own["image"], waiting["name"]) == ("busybox", f"{SERVERS_CONTAINER}-2")
    assert (waiting["image"], waiting["resources"]) == (spec["containers"][0]["image"], {"requests": {"cpu": "2"}})


@pytest.mark.parametrize(("value", "gloo"), [("yes", 0), ("true", 2)])
def test_an_annotation_that_does_nothing_is_told_of(value: str, gloo: int) -> None:
    (said,) = (each for each in read_job(gloo, value).warnings if SERVERS_FIRST_ANNOTATION in each.path)
    assert "has no effect" in str(said.said)


def run_program(endpoints: str, seconds: str) -> subprocess.CompletedProcess[str]:
    """The container's own command."""
    spec = build_pod(read_job(0), Rank("worker", 0), 0, None, CLUSTER)["spec"]
    command = [*spec["initContainers"][0]["command"][:-1], seconds]
    env = {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "PADDLE_PSERVERS_IP_PORT_LIST": endpoints}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def test_the_program_ends_when_all_servers_answer_and_goes_on_without_one_that_never_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        here = [f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other)]
        ended = run_program(",".join(here), "60")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        other.close()
        ended = run_program(",".join(here), "0")
    assert ended.returncode == 0 and ended.stderr == ""
    assert ended.stdout.startswith(f"the parameter server {here[1]} has not answered for 0 s ([Errno 111]")
