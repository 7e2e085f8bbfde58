"""`paddock exec`, `shell` and `forward` of real pods: bytes, exit codes, ports, and the commands that are printed where
something is missing."""

from __future__ import annotations

import json
import shlex
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.commands import Cluster, Running, open_cluster, until
from e2e.manifests import build_light_job
from support.printed import fill_in, take_printed, type_printed

pytestmark = pytest.mark.sandbox  # a program gets into a pod in another way in each

SERVES = """\
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"from the pod " * 10000)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with open_cluster("auto") as cluster:
        yield cluster


def begin(cluster: Cluster, name: str, script: str, ports: tuple[int, ...] = (), **more: Any) -> None:
    job = build_light_job(name, script, **more)
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": port} for port in ports]
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    until(f"{name} runs", lambda: cluster.phase(name) == "Running")


def test_a_program_in_a_pod_has_its_bytes_and_its_code(cluster: Cluster) -> None:
    begin(cluster, "inside", "exec sleep 1000", workers=2)
    typed = "echo out $PADDLE_TRAINER_ID; echo err >&2; exit 7"
    ended = cluster.paddock("exec", "inside", "--rank", "1", "--", "sh", "-c", typed)
    assert (ended.code, ended.out, ended.err) == (7, "out 1\n", "err\n")
    first = cluster.paddock("exec", "inside", "--", "sh", "-c", "kill -9 $$")
    assert (first.code, first.out) == (137, "")
    assert first.err == "in worker-0, one of 2 pods: --rank names another\n"
    missing = cluster.paddock("exec", "inside-worker-1", "--", "no-such-program")
    assert (missing.code, missing.out) == (127, "")
    assert missing.err.startswith("no-such-program cannot be started in worker-1: ")
    shell = cluster.paddock("shell", "inside-worker-1")  # without input
    assert (shell.code, shell.out) == (0, "")
    assert shell.err.startswith("inside, worker-1, in /")


def forwarded(running: Running) -> str:
    """The address that it prints."""
    running.until_it_prints(" -> ")
    return next(line.partition(" -> ")[0] for line in running.out.splitlines() if " -> " in line)


@pytest.mark.slow
def test_a_port_of_a_pod_is_reached_until_ctrl_c(cluster: Cluster) -> None:
    begin(cluster, "serves", f"exec python3 -c {shlex.quote(SERVES)}")
    until("it listens", lambda: "port " in cluster.paddock("logs", "serves").out)
    port = cluster.paddock("logs", "serves").out.split()[-1]
    running = cluster.start("forward", "serves", f"0:{port}", "0:1")
    address = forwarded(running)
    for _ in range(2):
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.read() == b"from the pod " * 10000
    nobody = running.out.split()[3]
    with pytest.raises(OSError, match=r"."):
        urllib.request.urlopen(nobody, timeout=60)
    until("it says so", lambda: "port 1 of worker-0: nobody listens there" in running.err)
    running.interrupt()
    assert running.end().code == 130
    ends = cluster.start("forward", "serves", f"0:{port}")
    forwarded(ends)
    assert cluster.paddock("delete", "serves").code == 0
    ended = ends.end()
    assert (ended.code, "nothing is forwarded any more" in ended.err) == (1, True)


def refused(cluster: Cluster, path: str) -> str:
    """What the API says to a patch that it does not take."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        cluster.patch(path, {"spec": {}})
    return str(json.loads(raised.value.read())["message"])


def test_what_is_printed_leads_into_a_pod(cluster: Cluster) -> None:
    begin(cluster, "plain", "exec sleep 1000")
    begin(cluster, "ported", "exec sleep 1000", (8081, 8082))
    ssh = cluster.paddock("ssh", "plain")
    assert ssh.code == 2
    assert type_printed(cluster, take_printed(ssh.err, "paddock shell {job}")).code == 0
    assert type_printed(cluster, take_printed(ssh.err, "paddock exec {job} -- nvidia-smi")).code != 2
    bare = cluster.paddock("exec", "plain")
    assert bare.code == 2
    assert type_printed(cluster, take_printed(bare.err, "paddock shell *")).code == 0
    assert type_printed(cluster, take_printed(bare.err, "paddock exec * -- nvidia-smi")).code != 2
    everywhere = cluster.paddock("exec", "plain", "--all", "-i", "--", "cat")
    assert everywhere.code == 2
    assert type_printed(cluster, take_printed(everywhere.err, "paddock shell **")).code == 0
    attach = cluster.paddock("attach", "plain")
    assert type_printed(cluster, take_printed(attach.err, "paddock shell {job}")).code == 0
    copied = cluster.paddock("cp", "plain:/etc/hostname", ".")
    assert type_printed(cluster, take_printed(copied.err, "paddock outputs {job}")).code == 0
    file = {"FILE": "/proc/self/cmdline"}
    assert "cat" in type_printed(cluster, take_printed(copied.err, "paddock exec {job} -- cat FILE"), file).out
    debugged = refused(cluster, "/api/v1/namespaces/default/pods/plain-worker-0/ephemeralcontainers")
    assert type_printed(cluster, take_printed(debugged, "paddock shell -n * *")).code == 0
    assert "sleep 1000" in type_printed(cluster, take_printed(debugged, "paddock exec -n * * -- ps -ef")).out
    for said, template in (
        (cluster.paddock("port-forward", "plain").err, "paddock forward {job} 8080"),
        (cluster.paddock("forward", "plain").err, "paddock forward * 8080"),
        (cluster.paddock("forward", "ported").err, "paddock forward * *"),
    ):
        running = cluster.start(*shlex.split(take_printed(said, template))[1:])
        forwarded(running)
        running.interrupt()
        assert running.end().code == 130, template


def explain_unserved(cluster: Cluster, path: str) -> str:
    """What the API says to who reads an object of a kind that it does not serve."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        cluster.read(path)
    return str(json.loads(raised.value.read())["message"])


def test_a_kind_that_is_not_served_is_answered_with_what_works(cluster: Cluster) -> None:
    begin(cluster, "reached", "exec sleep 1000")
    job = take_printed(explain_unserved(cluster, "/apis/batch/v1/namespaces/default/jobs/x"), "paddock run -- COMMAND")
    assert type_printed(cluster, job, {"COMMAND": "true"}).code == 0
    ingress = explain_unserved(cluster, "/apis/networking.k8s.io/v1/namespaces/default/ingresses/x")
    forward = fill_in(take_printed(ingress, "paddock forward JOB PORT"), {"JOB": "reached", "PORT": "8080"})
    running = cluster.start(*shlex.split(forward)[1:])
    forwarded(running)
    running.interrupt()
    assert running.end().code == 130


@pytest.mark.slow
def test_a_job_that_has_ended_or_waits_is_said(cluster: Cluster) -> None:
    assert cluster.paddock("run", cluster.write(build_light_job("over", "exit 3"))).code == 1
    over = cluster.paddock("exec", "over", "--", "true")
    assert (over.code, over.out) == (1, "")
    assert over.err.startswith("over has ended, so nothing runs in it: Failed after ")
    assert type_printed(cluster, take_printed(over.err, "paddock logs **")).code == 0
    begin(cluster, "rests", "exec sleep 1000")
    assert cluster.paddock("suspend", "rests").code == 0
    until("it rests", lambda: not cluster.pods("rests"))
    rests = cluster.paddock("shell", "rests")
    assert rests.code == 1
    assert rests.err.startswith("rests is suspended, so it has no pods; ")
    assert type_printed(cluster, take_printed(rests.err, "paddock explain **")).code == 0
    assert type_printed(cluster, take_printed(rests.err, "paddock resume **")).code == 0
