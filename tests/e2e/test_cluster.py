"""The life of the local cluster: killed in the middle of a job, started again, stopped without a trace."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job

COUNT = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo line $i; sleep 0.2; done"


def test_killed_under_a_run_it_comes_back_and_the_pods_never_notice(cluster: Cluster) -> None:
    run = cluster.start("run", cluster.write(build_light_job("steady", COUNT, workers=2)))
    run.until_it_prints("worker-1 │ line 3")
    before = {rank: (pod["metadata"]["uid"], cluster.processes_of(pod)) for rank, pod in cluster.pods("steady").items()}
    old = cluster.kill_cluster()
    until("the announcement of a new cluster", lambda: "the cluster was killed; " in run.err)
    assert cluster.record["pid"] != old
    pods = cluster.pods("steady")
    assert {rank: pod["metadata"]["uid"] for rank, pod in pods.items()} == {r: uid for r, (uid, _) in before.items()}
    ended = run.end()
    assert ended.code == 0, str(ended)
    for rank in ("worker-0", "worker-1"):
        said = [line for line in ended.lines if line.startswith(f"{rank} │ line")]
        assert said == [f"{rank} │ line {number}" for number in range(1, 21)], "each line once, in order"
    assert cluster.job("steady")["status"].get("attempt", 0) == 0


@pytest.mark.slow
def test_an_exit_that_nobody_saw_is_known_to_the_next_cluster(cluster: Cluster) -> None:
    cluster.paddock("submit", cluster.write(build_light_job("unseen", "echo started; sleep 0.7; exit 7")))
    until("its first line", lambda: "started" in cluster.paddock("logs", "unseen").out)
    pod = cluster.pods("unseen")["worker-0"]
    cluster.kill_cluster()
    until("the end of its processes", lambda: not cluster.processes_of(pod))
    assert cluster.up().code == 0
    until("its failure", lambda: cluster.phase("unseen") == "Failed")
    assert "worker-0 ended with exit code 7" in cluster.paddock("describe", "unseen").out


def test_down_leaves_no_process_port_or_temporary_file(cluster: Cluster) -> None:
    job = build_light_job("busy", "mktemp; (setsid sleep 1001 &); echo ready; exec sleep 1000", ps="exec sleep 1000")
    volumes = {"name": "fast", "emptyDir": {"medium": "Memory"}}
    pod = job["spec"]["worker"]["template"]["spec"]
    pod["volumes"], pod["containers"][0]["volumeMounts"] = [volumes], [{"name": "fast", "mountPath": "/tmp/e2e-fast"}]
    cluster.paddock("submit", cluster.write(job))
    until("its processes", lambda: "ready" in cluster.paddock("logs", "busy").out)
    assert cluster.leftovers()
    pods = [pod["metadata"]["uid"] for pod in cluster.pods("busy").values()]
    assert _find_in_memory(pods)
    address = urlsplit(cluster.record["url"])
    down = cluster.paddock("down")
    said = "local cluster stopped; 1 unfinished job (busy) starts again with it: `paddock delete busy` removes it\n"
    assert (down.code, down.err) == (0, said), str(down)
    assert cluster.leftovers() == []
    assert not _answers(str(address.hostname), int(address.port or 0))
    assert not _find_in_memory(pods)
    assert not os.path.lexists("/tmp/e2e-fast")


@pytest.mark.slow
def test_down_after_a_kill_ends_what_was_left_behind(cluster: Cluster) -> None:
    cluster.paddock("submit", cluster.write(build_light_job("orphan", "echo ready; exec sleep 1000", ps="sleep 1000")))
    until("its processes", lambda: "ready" in cluster.paddock("logs", "orphan").out)
    cluster.kill_cluster()
    assert cluster.processes()
    down = cluster.paddock("down")
    assert down.code == 0, str(down)
    assert "that it had left behind" in down.err
    assert cluster.leftovers() == []


@pytest.mark.slow
def test_down_after_a_kill_and_a_new_up_leaves_nothing_either(cluster: Cluster) -> None:
    cluster.paddock("submit", cluster.write(build_light_job("adopted", "echo ready; exec sleep 1000")))
    until("its processes", lambda: "ready" in cluster.paddock("logs", "adopted").out)
    pod = cluster.pods("adopted")["worker-0"]
    before = cluster.processes_of(pod)
    cluster.kill_cluster()
    assert cluster.up().code == 0
    assert cluster.pods("adopted")["worker-0"]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert cluster.processes_of(pod) == before, "the pod was started again"
    assert cluster.paddock("down").code == 0
    assert cluster.leftovers() == []


@pytest.mark.slow
def test_four_starts_at_once_end_in_one_cluster_that_works(cluster: Cluster) -> None:
    assert cluster.paddock("down").code == 0
    starts = [cluster.start("up", "--sandbox", cluster.sandbox) for _ in range(4)]
    ended = [start.end() for start in starts]
    assert [each.code for each in ended] == [0, 0, 0, 0], ended
    serving = [said for said in cluster.processes().values() if "paddock.app.local" in said]
    assert len(serving) == 1
    assert len({url for each in ended for url in re.findall(r"https://127.0.0.1:\d+", each.out + each.err)}) <= 1, ended
    assert cluster.paddock("run", cluster.write(build_light_job("after", "true"))).code == 0


@pytest.mark.slow
def test_a_cluster_that_was_started_under_nohup_gives_its_ranks_the_signals_of_a_container(cluster: Cluster) -> None:
    assert cluster.paddock("down").code == 0
    job = cluster.write(build_light_job("deaf", "grep SigIgn /proc/self/status"))
    ended = cluster.python(
        "import sys\nfrom signal import *\nfrom paddock.cli.main import run\n"
        "for each in (SIGHUP, SIGINT, SIGQUIT, SIGTERM): signal(each, SIG_IGN)\n"
        f"sys.exit(run({['run', job, '--sandbox', cluster.sandbox]}))"
    )
    assert ended.code == 0, str(ended)
    ignored = int(ended.out.split()[-1], 16)  # also of those that threads have for themselves
    assert [each for each in signal.valid_signals() if ignored >> each - 1 & 1] == [], str(ended)


def test_a_job_that_asks_for_another_sandbox_than_the_cluster_has_is_not_run(cluster: Cluster) -> None:
    """It would have other rights than its user thinks."""
    job = cluster.write(build_light_job("boxed", "echo ran"))
    other = "none" if cluster.sandbox == "bubblewrap" else "bubblewrap"
    refused = cluster.paddock("run", job, "--sandbox", other)
    assert (refused.code, refused.out) == (2, ""), str(refused)
    assert f"--sandbox {other}: the local cluster is up, and its pods run in {cluster.sandbox}" in refused.err
    assert cluster.paddock("run", job, "--sandbox", cluster.sandbox).code == 0


def test_the_cluster_ends_its_pods_when_it_is_asked_to_end(cluster: Cluster) -> None:
    """SIGTERM, as when the machine is shut down. What it knows of the pods stays for the next start."""
    cluster.paddock("submit", cluster.write(build_light_job("evening", "echo ready; exec sleep 1000")))
    until("its processes", lambda: "ready" in cluster.paddock("logs", "evening").out)
    os.kill(int(cluster.record["pid"]), signal.SIGTERM)
    until("no process left", lambda: not cluster.processes())
    assert not list(cluster.temporary.iterdir())


def _find_in_memory(uids: Iterable[str]) -> list[str]:
    """What the pods of these UIDs, and no other test's, have in the machine's memory."""
    return [name for name in os.listdir("/dev/shm") if any(uid in name for uid in uids)]


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
