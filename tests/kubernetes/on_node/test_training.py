"""The operator as a pod of a real node, and real PaddlePaddle in the pods of its jobs, in each training mode."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.training import assert_trained
from paddock.app.consoles.spool.cluster_logs import ClusterLogs
from paddock.app.consoles.spool.files import ClusterSpool, place_of_cluster
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.environments.definition import Definition
from paddock.install.deployment import DEPLOYMENT
from paddock.jobs.apis.registry import PADDLEPADDLE
from support.deployed import write_kubeconfig
from support.printed import take_printed
from support.real_node import (
    ADDRESS,
    ALL_REDUCE,
    NAMESPACE,
    PROGRAMS,
    Cluster,
    Program,
    build_job,
    build_shell_job,
    prepare,
    run_paddock,
)
from support.waiting import until

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(700)]

GLOO = (0, 1, 2)


def test_the_operator_runs_as_a_pod_that_is_nobody(cluster: Cluster) -> None:
    kubectl = cluster.kubectl
    ours = ("-l", "control-plane=controller-manager")  # beside pods of other tests' jobs
    (pod,) = kubectl("-n", NAMESPACE, "get", "pods", *ours, "--no-headers").splitlines()
    assert pod.split()[1:4] == ["1/1", "Running", "0"]
    script = "import os, sys; print(os.getuid()); open('/tmp/x', 'w')"
    tried = kubectl.run("-n", NAMESPACE, "exec", f"deploy/{DEPLOYMENT}", "--", "python3", "-c", script)
    assert (tried.stdout.strip(), "Read-only file system" in tried.stderr) == ("65532", True), tried.stderr
    log = kubectl("-n", NAMESPACE, "logs", f"deploy/{DEPLOYMENT}")
    assert "serves paddlejobs.batch.paddlepaddle.org in namespaces paddle-system of https://10.96.0.1:443" in log
    assert f"leading as {pod.split()[0]}" in log
    holder = cluster.read("lease", "b2a304f2.paddlepaddle.org")["spec"]["holderIdentity"]
    assert holder.startswith(pod.split()[0])


@pytest.mark.sample  # a real node: pods that run, logs, a directory that is sent
def test_paddock_sends_a_directory_follows_the_pods_and_reads_their_logs(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.sh").write_text('echo "rank $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM has trained"\n')
    manifest = tmp_path / "job.yaml"
    manifest.write_text(json.dumps(build_shell_job("sent", ["sh", "train.sh"], workers=2)))
    words = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    home = tmp_path / "home"
    ended = run_paddock(home, "run", str(manifest), "--workdir", str(tmp_path / "job"), *words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for index in (0, 1):
        assert f"worker-{index} │ rank {index} of 2 has trained" in ended.stdout
    assert "Completed in " in ended.stderr
    assert run_paddock(home, "logs", "sent", "--rank", "1", *words).stdout.strip() == "rank 1 of 2 has trained"


def test_a_silent_job_is_told_of_as_unseen_until_the_role_for_logs_is_there_and_restarted_then(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The lines of a kubelet have times. The operator asks for its right every two minutes."""
    talks = build_shell_job("talks", ["sh", "-c", "while :; do echo step; sleep 2; done"], workers=2)
    hangs = build_shell_job("hangs", ["sh", "-c", "echo begin; exec sleep 1000"], workers=2)
    for job, value in ((talks, "20s=Fail"), (hangs, "20s=Restart")):
        job["metadata"]["annotations"] = {"paddock.dev/silent": value}
    words = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    with cluster.created(talks, hangs):
        cluster.until("its event", lambda: "SilenceUnseen" in run_paddock(tmp_path, "describe", "hangs", *words).stdout)
        said = run_paddock(tmp_path, "describe", "hangs", *words).stdout
        typed = take_printed(said, "paddock manifests logs -n * --jobs-in *")
        role = run_paddock(tmp_path, *typed.split()[1:]).stdout
        assert not cluster.read("pdj", "hangs")["status"].get("restarts")
        try:
            cluster.kubectl("apply", "-f", "-", stdin=role)
            cluster.until("the restart", lambda: cluster.read("pdj", "hangs")["status"].get("restarts"), 240)
            explained = run_paddock(tmp_path, "explain", "hangs", *words).stdout
            assert "no rank has printed for over 20s; no stacks were taken" in explained, explained
            assert cluster.phase("talks") == "Running" and not cluster.read("pdj", "talks")["status"].get("restarts")
        finally:
            cluster.kubectl("delete", "-f", "-", "--ignore-not-found", stdin=role)


_PRINTS = (
    """for n in 1 2 3; do echo "line $n"; done; head -c 40000 /dev/zero | tr '\\0' y; echo; sleep 3; printf 'no end'"""
)


async def test_the_console_copies_what_a_kubelet_tells_with_times_and_has_it_when_the_job_is_gone(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A line of 40 kB comes from the runtime in three parts, and is one."""
    config = read_config(str(cluster.kubectl.control_plane.kubeconfig))
    spool = ClusterSpool(place_of_cluster(Home(tmp_path, tmp_path), config.server))
    begun = time.time()
    async with Client(config) as client:
        logs = ClusterLogs(spool, client)
        with cluster.created(build_shell_job("copied", ["sh", "-c", _PRINTS], workers=1)):
            await until(lambda: is_copied(logs), 120)
        run = await logs.find(PADDLEPADDLE.resource, NAMESPACE, "copied", "")
        assert run is not None
        (log,) = run.logs
        with logs.open(log) as opened:
            text = opened.read_bytes(0, 10**6)
            marks = opened.read_marks()
        assert text == b"line 1\nline 2\nline 3\n" + b"y" * 40_000 + b"\nno end"
        # not `log.size`, which may be of a second before
        assert len(marks) >= 2 and marks.offsets[-1] == len(text) and begun < marks.times[-1] < time.time()
        await logs.stop()


async def is_copied(logs: ClusterLogs) -> bool:
    run = await logs.find(PADDLEPADDLE.resource, NAMESPACE, "copied", "")
    if run is None or not run.over or not run.logs:
        return False
    with logs.open(run.logs[0]) as opened:
        return opened.read_bytes(0, 10**6).endswith(b"no end")


_LOCK = """
import os, threading
lock = threading.Lock()
def read_batch():
    lock.acquire()
def step():
    with lock:
        lock.acquire()
if os.environ["PADDLE_TRAINER_ID"] == "1":
    with lock:
        read_batch()
step()
"""
_BASE = Path(sys.base_prefix).resolve()
_READER = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [batch.paddlepaddle.org], resources: [paddlejobs], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader}]
"""


def build_stuck(name: str, tmp_path: Path, path: str = "", *, writes: bool = True, **security: Any) -> dict[str, Any]:
    """Two ranks that hang in a lock of plain Python. `path`: PATH of the container, where another is wanted. `writes`:
    its /tmp is a volume."""
    program = tmp_path / "program"
    program.mkdir(exist_ok=True)
    (program / "wait.py").write_text(_LOCK)
    settings = {"PATH": path} if path else {}
    plain = Program(
        Definition(name="plain"), Path(sys.executable), _BASE, program, (str(program / "wait.py"),), settings
    )
    job = build_job(name, plain, tmp_path / name, {"worker": 2})
    spec = job["spec"]["worker"]["template"]["spec"]
    (container,) = spec["containers"]
    container["securityContext"] = security
    if writes:
        spec["volumes"].append({"name": "tmp", "emptyDir": {}})
        container["volumeMounts"].insert(0, {"name": "tmp", "mountPath": "/tmp"})
    return job


def test_the_stacks_of_pods_are_taken_by_exec_where_that_is_allowed(cluster: Cluster, tmp_path: Path) -> None:
    """By the image's own py-spy, by one that is copied, and by none: each says which it was, or why."""
    words = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    own = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    places = "worker-0 in step, wait.py:8; worker-1 in read_batch, wait.py:5"

    def paddock(*typed: str) -> subprocess.CompletedProcess[str]:
        return run_paddock(tmp_path / "home", *typed)

    def until_running(job: str) -> None:
        cluster.until("both ranks", lambda: cluster.phase(job) == "Running")

    with cluster.created(build_stuck("stuck", tmp_path)):
        until_running("stuck")
        cluster.until("the place of each", lambda: paddock("stacks", "stuck", *words).stdout.startswith(places))
        copied = paddock("stacks", "stuck", *words)
        assert (copied.returncode, copied.stderr.count("is copied into")) == (0, 1), copied.stderr
        left = paddock("exec", "stuck", "--all", *words, "--", "sh", "-c", "ls -A /tmp /dev/shm | grep paddock")
        assert (left.returncode, left.stdout) == (1, ""), left.stdout
        without = paddock("stacks", "stuck", "--no-copy", *words)
        assert (without.returncode, without.stdout) == (1, "")
        assert "its image has no py-spy" in without.stderr and "it waits, in " in without.stderr
        cluster.kubectl("-n", NAMESPACE, "apply", "-f", "-", stdin=_READER)
        reader = write_kubeconfig(cluster.kubectl.control_plane, tmp_path / "reader", account="reader")
        refused = paddock("stacks", "stuck", "--kubeconfig", str(reader), "-n", NAMESPACE)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "may not get pods/exec in namespace paddle-system" in refused.stderr
    with cluster.created(build_stuck("own", tmp_path, own)):
        until_running("own")
        cluster.until("the place", lambda: paddock("stacks", "own", "--no-copy", *words).stdout.startswith(places))
    nobody = {
        "runAsUser": 1000, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        "allowPrivilegeEscalation": False, "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    with cluster.created(build_stuck("strict", tmp_path, **nobody)):
        until_running("strict")
        cluster.until("the place", lambda: paddock("stacks", "strict", *words).stdout.startswith(places))
    with cluster.created(build_stuck("shut", tmp_path, writes=False, **nobody)):
        until_running("shut")
        shut = paddock("stacks", "shut", *words)
        assert (shut.returncode, shut.stdout) == (1, ""), shut.stdout
        assert "no directory where one may be written" in shut.stderr, shut.stderr


@pytest.fixture
async def wide_and_deep() -> Program:
    return await prepare("paddle-ps", PROGRAMS / "wide_and_deep", "train.py", EPOCHS="1", STEPS="100")


@pytest.fixture
async def heter() -> Program:
    return await prepare("paddle-ps", Path(__file__).parents[3] / "examples" / "heter", "train.py")


@pytest.fixture
async def all_reduce() -> Program:
    launch = ("-m", "paddle.distributed.launch", "train.py", "--epochs=3")
    return await prepare("paddle", ALL_REDUCE, *launch)


@pytest.mark.paddle
@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_parameter_servers_train(cluster: Cluster, wide_and_deep: Program, tmp_path: Path, intranet: str) -> None:
    ranks = {"ps": 2, "worker": 2}
    jobs = {gloo: f"{intranet.lower()}-gloo-{gloo}" for gloo in GLOO}
    built = (
        build_job(job, wide_and_deep, tmp_path / job, ranks, intranet=intranet, withGloo=gloo)
        for gloo, job in jobs.items()
    )
    with cluster.created(*built):
        cluster.until_ended(*jobs.values())
        for gloo, job in jobs.items():
            data, pods = cluster.endpoints(job), cluster.pods(job)
            servers = [_address(pods, rank) if intranet == "PodIP" else f"{job}-{rank}" for rank in ("ps-0", "ps-1")]
            assert data["PADDLE_PSERVERS_IP_PORT_LIST"] == ",".join(f"{each}:36000" for each in servers)
            assert data.get("PADDLE_WITH_GLOO", "0") == str(gloo)
            assert data.get("PADDLE_GLOO_HTTP_ENDPOINT") == (f"{servers[0]}:36018" if gloo else None)
            _assert_learned(cluster, wide_and_deep, job, tmp_path / job)


@pytest.mark.paddle
def test_parameter_servers_train_on_the_nodes_own_network_side_by_side(
    cluster: Cluster, wide_and_deep: Program, tmp_path: Path
) -> None:
    """A server and a worker each: one node has room for one server at a port, and jobs have ports of their own."""
    ranks = {"ps": 1, "worker": 1}
    jobs = {gloo: f"host-gloo-{gloo}" for gloo in GLOO}
    built = (
        build_job(job, wide_and_deep, tmp_path / job, ranks, intranet="Host", withGloo=gloo)
        for gloo, job in jobs.items()
    )
    with cluster.created(*built):
        cluster.until_ended(*jobs.values())
        told = {job: cluster.endpoints(job) for job in jobs.values()}
        assert len({data["PADDLE_PORT"] for data in told.values()}) == len(jobs)
        for job, data in told.items():
            assert data["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{ADDRESS}:{data['PADDLE_PORT']}"
            _assert_learned(cluster, wide_and_deep, job, tmp_path / job)


@pytest.mark.paddle
def test_heter_ranks_train_with_more_servers_and_heter_ranks_than_workers(
    cluster: Cluster, heter: Program, tmp_path: Path
) -> None:
    ranks = {"ps": 2, "worker": 1, "heter": 2}
    job = build_job("heter", heter, tmp_path / "heter", ranks, withGloo=1, runPolicy={"backoffLimit": 3})
    for role in ranks:  # on a busy machine a heter rank may end, as PaddlePaddle gives a connection 200 ms
        template = job["spec"][role]["template"]
        job["spec"][role]["template"] = {**template, "spec": {**template["spec"], "restartPolicy": "OnFailure"}}
    with cluster.created(job):
        cluster.until_ended("heter")
        logs = {rank: cluster.kubectl("-n", NAMESPACE, "logs", f"heter-{rank}") for rank in ("worker-0", "heter-0")}
        losses = [float(each) for each in re.findall(r"loss (\d\.\d+)", logs["heter-0"])]
        assert losses[-1] < 0.5 < losses[0], logs["heter-0"]
        moved = re.search(r"embedding moved by (\S+), dense layers moved by (\S+) ", logs["worker-0"])
        assert moved and min(map(float, moved.groups())) > 1, logs["worker-0"]


@pytest.mark.paddle
def test_collective_trains(cluster: Cluster, all_reduce: Program, tmp_path: Path) -> None:
    workers = {"collective-podip": ("PodIP", 2), "collective-service": ("Service", 2), "collective-host": ("Host", 1)}
    built = (
        build_job(job, all_reduce, tmp_path / job, {"worker": count}, intranet=intranet)
        for job, (intranet, count) in workers.items()
    )
    with cluster.created(*built):
        cluster.until_ended(*workers)
        for job, (_, count) in workers.items():
            data, pods = cluster.endpoints(job), cluster.pods(job)
            hosts = [_address(pods, f"worker-{index}") for index in range(count)]
            assert data["PADDLE_TRAINER_ENDPOINTS"] == ",".join(f"{each}:{data['PADDLE_PORT']}" for each in hosts)
            for index in range(count):
                assert re.search(r"Learned y = (2\.9|3\.0)\d x \+ (1\.9|2\.0)\d", cluster.logs(f"{job}-worker-{index}"))


def test_ranks_of_the_nodes_own_network_that_one_node_cannot_hold_wait_and_say_so(cluster: Cluster) -> None:
    """The launcher counts nodes by their addresses: two ranks on one would wait for a third for ever."""
    with cluster.created(build_shell_job("crowded", ["sleep", "600"], workers=2, intranet="Host")):
        cluster.until("a rank that waits", lambda: "free ports" in str(cluster.pods("crowded")))
        waiting = [pod for pod in cluster.pods("crowded").values() if not pod["spec"].get("nodeName")]
        assert len(waiting) == 1
        cluster.until("the cause", lambda: "free ports" in str(cluster.read("pdj", "crowded").get("status")))
        assert cluster.phase("crowded") in ("Pending", "Starting")


def _address(pods: dict[str, dict[str, Any]], rank: str) -> str:
    return str(pods[rank]["status"]["podIP"])


def _assert_learned(cluster: Cluster, program: Program, job: str, output: Path) -> None:
    """The status of the job, and the quality of its saved parameters after a hundred steps."""
    words = cluster.kubectl("-n", NAMESPACE, "get", "pdj", job, "--no-headers").split()
    assert words[1:3] == ["Completed", "PS"]
    assert "Held-out AUC 0." in cluster.logs(f"{job}-worker-0"), cluster.last_words(job)
    assert_trained(program.python, output, near=0.15)
