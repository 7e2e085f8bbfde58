"""`paddock --context C …` against a real Kubernetes API server, as a user types it: screens, exit codes, what is there.

The commands are real processes without a local cluster (a home of their own, which must stay empty); the operator runs
in this process, and a test says what a kubelet would have said. Logs need a kubelet: the node here has none.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.install.rights import LEASE
from paddock.jobs.model import Settings
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, CONFIG_MAPS, LEASES, NODES, PODS, Manifest, name_of
from paddock.kube.times import format_micro_time
from support.operator_seam import JOBS, build_job, have_pods, running, set_phase
from support.waiting import until
from support.worlds import ControlPlane, World, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]

PADDLE = "registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu"
GHOST: Manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ghost"}}
"""A node without a kubelet: who asks it for a log is refused the connection."""


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


class User:
    """Somebody with a kubeconfig of several contexts, in a directory of their own."""

    def __init__(self, world: World, directory: Path) -> None:
        self.world, self.directory, self.home = world, directory, directory / "home"
        self.kubeconfig = directory / "kubeconfig"
        self.work = directory / "work"
        self.work.mkdir()
        assert world.control_plane is not None
        self.kubeconfig.write_text(json.dumps(_contexts(world.control_plane.kubeconfig, world.namespace)))

    def environment(self, **variables: str) -> dict[str, str]:
        own = {"PADDOCK_HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "COLUMNS": "200", "NO_COLOR": "1"}
        without = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PADDOCK_"))}
        return without | own | variables

    async def start(self, *words: str, **variables: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "paddock.cli.main",
            *words,
            env=self.environment(**variables),
            cwd=self.work,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def paddock(self, *words: str, **variables: str) -> Ended:
        return await end(await self.start(*words, **variables))

    def write(self, name: str = "demo", **container: Any) -> str:
        """A job of one worker on the node without a kubelet; the file's name."""
        job = build_job(name, ps=0, worker=1)
        spec = job["spec"]["worker"]["template"]["spec"]
        spec["nodeName"] = "ghost"
        spec["containers"][0] |= {"image": "example.com/mine:1"} | container
        del job["metadata"]["namespace"]
        (self.work / f"{name}.yaml").write_text(yaml.safe_dump(job))
        return f"{name}.yaml"

    async def says(self, phase: str, code: int = 0, name: str = "demo") -> None:
        """What a kubelet would say of the worker, once it is there."""
        api, namespace = self.world.api, self.world.namespace
        await until(lambda: have_pods(api, 1, name, namespace))
        await set_phase(api, f"{name}-worker-0", phase, code, "10.98.0.2", namespace)

    async def until_phase(self, phase: str, name: str = "demo") -> Manifest:
        async def look() -> Manifest | None:
            with suppress(NotFound):
                job = await self.world.api.get(JOBS, self.world.namespace, name)
                if (job.get("status") or {}).get("phase") == phase:
                    return job
            return None

        found: Manifest = await until(look)
        return found

    async def config_maps(self) -> list[Manifest]:
        listing = await self.world.api.list(CONFIG_MAPS, self.world.namespace)
        return [each for each in listing.items if "-workdir-" in name_of(each)]


async def read_lines(process: asyncio.subprocess.Process, beginning: str) -> list[str]:
    """The lines of standard error up to the first that begins so."""
    assert process.stderr is not None
    lines = []
    async with asyncio.timeout(180):
        while line := (await process.stderr.readline()).decode():
            lines.append(line.rstrip("\n"))
            if line.startswith(beginning):
                return lines
    raise AssertionError(f"it ended without {beginning!r}")


async def end(process: asyncio.subprocess.Process) -> Ended:
    try:
        async with asyncio.timeout(180):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return Ended(process.returncode or 0, out.decode(), err.decode())


def _contexts(kubeconfig: Path, namespace: str) -> Mapping[str, Any]:
    """`prod` is the administrator's; the others are what goes wrong with contexts."""
    config: Manifest = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0], config["users"][0]
    users = {
        "admin": user["user"],
        "alice": {**user["user"], "as": "alice"},
        "stranger": {"token": "wrong"},
        "plugin": {"exec": {"command": "no-such-plugin", "apiVersion": "client.authentication.k8s.io/v1beta1"}},
    }
    contexts = {name: {"cluster": "here", "user": name, "namespace": namespace} for name in users}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "here", "cluster": cluster["cluster"]},
            {"name": "down", "cluster": {**cluster["cluster"], "server": "https://127.0.0.1:9"}},
        ],
        "users": [{"name": name, "user": each} for name, each in users.items()],
        "contexts": [
            {"name": "prod", "context": contexts.pop("admin")},
            {"name": "down", "context": {"cluster": "down", "user": "admin"}},
            *({"name": name, "context": each} for name, each in contexts.items()),
        ],
    }


@pytest.fixture
async def user(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[User]:
    async with open_real(control_plane) as world:
        user = User(world, tmp_path)
        yield user
        for pod in (await world.api.list(PODS, world.namespace)).items:  # no kubelet says that they have ended
            await world.api.delete(PODS, world.namespace, name_of(pod), grace=0)
        assert not user.home.exists(), "the local cluster was not needed"


@asynccontextmanager
async def operator(user: User) -> AsyncIterator[None]:
    """An operator that acts, and the node without a kubelet."""
    api = user.world.api
    try:
        await api.create(NODES, GHOST)
        kubelet = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                   "daemonEndpoints": {"kubeletEndpoint": {"Port": 9}}}  # fmt: skip
        await api.patch(NODES, "", "ghost", {"status": kubelet}, subresource="status")
        async with running(api, Settings()):
            yield
    finally:
        await api.delete(NODES, "", "ghost")


async def test_run_follows_a_job_to_its_end(user: User) -> None:
    async with operator(user):
        run = await user.start("--context", "prod", "run", user.write())
        await user.says("Running")
        await user.until_phase("Running")
        # Before its end: clean-up deletes the pod then, and nobody could be asked for its log.
        begun = await read_lines(run, "the log of demo-worker-0 cannot be read: ")
        await user.says("Succeeded")
        ended = await end(run)
    assert ended.code == 0, ended
    assert begun[0] == f"PaddleJob {user.world.namespace}/demo: 1 worker"
    assert begun[1] == "runs python train.py, image example.com/mine:1"
    assert "connection refused" in begun[-1]
    lines = ended.err.splitlines()
    assert lines[-2].startswith("Completed in ") and "worker-0 succeeded" in lines[-2]
    assert lines[-1].startswith("logs: gone with the pods (cleanPodPolicy OnCompletion)")
    assert ended.out == "", "its log cannot be read"


async def test_a_job_that_fails_says_which_rank_and_where_its_log_is(user: User) -> None:
    async with operator(user):
        run = await user.start("run", user.write(), "--context", "prod")
        await user.says("Running")
        await user.until_phase("Running")
        await user.says("Failed", 3)
        ended = await end(run)
        logs = await user.paddock("logs", "demo", "--context", "prod")
        explained = await user.paddock("explain", "demo", "--context", "prod")
        described = await user.paddock("describe", "demo", "--context", "prod")
        listed = await user.paddock("get", "--context", "prod")
        whole = await user.paddock("get", "jobs", "demo", "-o", "json", PADDOCK_CONTEXT="prod")
    assert ended.code == 1, ended
    assert "the log of demo-worker-0 cannot be read: " in ended.err and ended.out == ""
    assert "worker-0 ended with exit code 3" in ended.err and "logs: paddock logs demo --context prod" in ended.err
    assert logs.code == 1 and "the log of demo-worker-0 cannot be read: " in logs.err
    assert explained.out.splitlines()[1].startswith("failed: worker-0 ended with exit code 3")
    assert "reason RankFailed, recorded " in explained.out
    assert "next: paddock logs demo --context prod --role worker --rank 0" in explained.out
    assert "exit code 3" in described.out and "Warning  Failed" in described.out
    assert listed.out.splitlines()[0].split() == ["NAME", "STATUS", "WORKER", "AGE", "WHY"]
    assert json.loads(whole.out)["status"]["cause"]["reason"] == "RankFailed"


async def test_ctrl_c_ends_the_job_and_its_directory(user: User) -> None:
    (user.work / "train.py").write_text("print('hello')\n")
    async with operator(user):
        run = await user.start("run", user.write(image=PADDLE), "--context", "prod")
        await user.says("Running")
        await user.until_phase("Running")
        (sent,) = await user.config_maps()
        run.send_signal(signal.SIGINT)
        pods = asyncio.create_task(_end_pods(user))
        ended = await end(run)
        await pods
        await until(lambda: _no(user.config_maps))
    assert ended.code == 130, ended
    assert "interrupted: the job and its pods are gone" in ended.err
    assert sent["data"]["train.py"] == "print('hello')\n"


async def _end_pods(user: User) -> None:
    """The node's part: a pod that is deleted has ended."""

    async def look() -> bool:
        pods = (await user.world.api.list(PODS, user.world.namespace)).items
        for pod in pods:
            if pod["metadata"].get("deletionTimestamp"):
                await user.world.api.delete(PODS, user.world.namespace, name_of(pod), grace=0)
        return not pods

    await until(look)


async def _no(find: Callable[[], Awaitable[list[Manifest]]]) -> bool:
    return not await find()


async def test_a_directory_travels_with_the_job_that_owns_it(user: User) -> None:
    files = {
        "train.py": b"import pkg.mod\n",
        "pkg/mod.py": b"x = 1\n",
        "pkg/w.bin": b"\xff\x00",
        "a.log": b"",
        ".env": b"",
    }
    for path, content in files.items():
        (user.work / path).parent.mkdir(exist_ok=True)
        (user.work / path).write_bytes(content)
    (user.work / ".gitignore").write_text("*.log\n*.yaml\n")
    ended = await user.paddock("submit", user.write(image=PADDLE), "--context", "prod")
    (sent,) = await user.config_maps()
    job = await user.world.api.get(JOBS, user.world.namespace, "demo")
    assert ended.code == 0, ended
    assert ended.out == f"configmap/{name_of(sent)} created\npaddlejob/demo created\n"
    assert "sending 3 files, 23 B, of . as a ConfigMap; left out: 2 by .gitignore, 1 hidden" in ended.err
    assert "`paddock logs demo -f --context prod` follows it" in ended.err
    assert sent["data"] == {"train.py": "import pkg.mod\n", "pkg__mod.py": "x = 1\n"}
    assert base64.b64decode(sent["binaryData"]["pkg__w.bin"]) == b"\xff\x00"
    (owner,) = sent["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("PaddleJob", job["metadata"]["uid"])
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert container["workingDir"] == container["volumeMounts"][0]["mountPath"] == "/paddock/workdir"
    await user.paddock("delete", "demo", "--context", "prod")
    await until(lambda: _no(user.config_maps))


async def test_a_secret_does_not_travel_and_neither_does_the_home_directory(user: User) -> None:
    """The kubeconfig in use lies in the directory, as it does for many who try a cluster."""
    (user.work / "train.py").write_text("")
    file = user.write(image=PADDLE)
    (user.work / "access.yaml").write_bytes(user.kubeconfig.read_bytes())
    refused = await user.paddock("submit", file, "--context", "prod")
    assert (refused.code, refused.out) == (2, "") and "\n  access.yaml\nNothing was sent." in refused.err, refused
    (user.work / ".gitignore").write_text("access.yaml\n")
    at_home = await user.paddock("submit", file, "--context", "prod", HOME=str(user.work))
    assert (at_home.code, at_home.out) == (2, "") and "only where --workdir names it" in at_home.err, at_home
    assert await user.config_maps() == [] and not await _job_is_there(user)
    sent = await user.paddock("submit", file, "--context", "prod")
    assert sent.code == 0 and "left out by .gitignore: 1\n  demo.yaml, train.py\n" in sent.err, sent


async def test_a_job_that_is_refused_leaves_no_directory_behind(user: User) -> None:
    (user.work / "train.py").write_text("")
    assert (await user.paddock("submit", user.write(), "--workdir", ".", "--context", "prod")).code == 0
    assert len(await user.config_maps()) == 1
    again = await user.paddock("submit", user.write(), "--workdir", ".", "--context", "prod")
    assert again.code == 2 and "`paddock delete demo --context prod` ends it" in again.err
    assert len(await user.config_maps()) == 1


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        (b"", ("--sandbox", "none"), "--sandbox is for the local cluster"),
    ],
)
async def test_what_cannot_be_is_said_before_anything_is_sent(
    user: User, content: bytes, words: tuple[str, ...], said: str
) -> None:
    (user.work / "train.py").write_text("")
    (user.work / "data.bin").write_bytes(content)
    ended = await user.paddock("run", user.write(image=PADDLE), *words, "--context", "prod")
    assert ended.code == 2 and said in ended.err and ended.out == "", ended
    assert await user.config_maps() == [] and (await user.world.api.list(JOBS, user.world.namespace)).items == []


async def test_a_job_that_nobody_takes_says_why(user: User) -> None:
    file = user.write()
    run = await user.start("run", file, "--context", "prod")
    await until(lambda: _job_is_there(user))
    explained = await user.paddock("explain", "demo", "--context", "prod")
    await read_lines(run, "no operator has taken the job yet: none seems to run")
    run.send_signal(signal.SIGINT)
    ended = await end(run)
    assert ended.code == 130
    assert "no operator has taken the job yet: none seems to run, as nobody holds the Lease" in explained.out
    assert "this command is paddock" in explained.out and "the operator: none" in explained.out


async def _job_is_there(user: User) -> bool:
    return bool((await user.world.api.list(JOBS, user.world.namespace)).items)


async def test_an_operator_that_watches_elsewhere_is_named(user: User) -> None:
    api, now = user.world.api, format_micro_time(time.time())
    annotations = {"paddock.dev/version": "9.9.9", "paddock.dev/settings": json.dumps({"namespaces": ["elsewhere"]})}
    lease = {
        "apiVersion": LEASES.api_version, "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": user.world.namespace, "annotations": annotations},
        "spec": {"holderIdentity": "pod-1", "renewTime": now, "leaseDurationSeconds": 600},
    }  # fmt: skip
    await api.create(LEASES, lease)
    await user.paddock("submit", user.write(), "--context", "prod")
    explained = await user.paddock("explain", "demo", "--context", "prod")
    status = await user.paddock("status", "--context", "prod")
    assert f"namespace {user.world.namespace} watches elsewhere alone, not {user.world.namespace}" in explained.out
    assert "the operator: paddock 9.9.9" in explained.out
    assert status.code == 0 and "paddock 9.9.9 in namespace" in status.out and "watching elsewhere alone" in status.out


@pytest.mark.parametrize(
    ("context", "code", "said"),
    [
        ("nope", 2, "context 'nope' is not in it (there: alice, down, plugin, prod, stranger)"),
        ("down", 1, "nothing answers at https://127.0.0.1:9"),
        ("stranger", 1, "does not know who you are (Unauthorized): the token or certificate of"),
        ("plugin", 2, "the credential plug-in no-such-plugin (user 'plugin' in "),
        ("alice", 1, "alice may not list paddlejobs.batch.paddlepaddle.org in namespace test-"),
    ],
)
async def test_a_context_that_does_not_work_says_why(user: User, context: str, code: int, said: str) -> None:
    ended = await user.paddock("--context", context, "get")
    assert (ended.code, ended.out) == (code, "") and said in ended.err, ended
    assert "Traceback" not in ended.err


async def grant(user: User, refused: Ended) -> None:
    """Runs the script of a refusal, as the administrator who is sent it."""
    assert user.world.control_plane is not None
    kubectl = [str(user.world.control_plane.kubectl), "--kubeconfig", str(user.kubeconfig), "--context", "prod"]
    script = refused.err.partition("\n\n")[2]
    assert script.startswith("kubectl apply -f - <<'END'\n"), refused
    script = f'set -e\nkubectl() {{ {shlex.join(kubectl)} "$@"; }}\n{script}'  # as somebody pastes it
    granted = await asyncio.create_subprocess_exec("bash", "-c", script, stdout=asyncio.subprocess.DEVNULL)
    assert await granted.wait() == 0, script


async def test_the_queue_is_that_of_the_cluster_as_far_as_it_may_be_read(user: User) -> None:
    """Nobody schedules here: a job without a node's name waits."""
    placed, waits = user.write("placed"), user.write("waits", resources={"limits": {"nvidia.com/gpu": 2}})
    job = yaml.safe_load((user.work / waits).read_text())
    del job["spec"]["worker"]["template"]["spec"]["nodeName"]
    (user.work / waits).write_text(yaml.safe_dump(job))
    async with operator(user):
        for file in (placed, waits):
            submitted = await user.paddock("submit", file, "--context", "prod")
            assert submitted.code == 0, submitted
        await until(lambda: have_pods(user.world.api, 1, "waits", user.world.namespace))
        await user.says("Running", name="placed")
        await user.until_phase("Running", "placed")
        whole = await user.paddock("--context", "prod", "queue")
        refused = await user.paddock("--context", "alice", "queue")
        await grant(user, refused)
        own = await user.paddock("--context", "alice", "queue")
        everywhere = await user.paddock("--context", "alice", "queue", "-A")
    assert whole.code == 0 and "no GPU" in whole.out.splitlines()[0], whole
    assert whole.err == "positions are by priority, then by age: the cluster's own scheduler decides\n", whole
    assert own.out.splitlines()[0].startswith("what the nodes have is not known: you lack the right `list nodes`"), own
    assert own.err.startswith(f"positions count namespace {user.world.namespace} alone: you may not list the pods"), own
    for said in (whole, own):
        rows = [line.split()[:4] for line in said.out.splitlines()[2:]]
        assert rows == [["-", "placed", "Running", "1"], ["1", "waits", "Pending", "1"]], said
        assert "2 GPUs" in said.out
    assert (everywhere.code, everywhere.out) == (1, "") and "alice may not list" in everywhere.err, everywhere


NO_ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
"""What kube-scheduler says: it has no amounts."""


@asynccontextmanager
async def nodes(user: User, **gpus: int) -> AsyncIterator[None]:
    """Nodes that are objects alone, each with so many GPUs."""
    api = user.world.api
    names = {name: f"{name}-{user.world.namespace}" for name in gpus}
    try:
        for name, count in gpus.items():
            await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": names[name]}})
            await api.patch(NODES, "", names[name], {"spec": {"taints": None}})  # the server's, until a kubelet reports
            has = {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": str(count)}
            ready = [{"type": "Ready", "status": "True", "reason": "x", "message": "x"}]
            status = {"allocatable": has, "capacity": has, "conditions": ready}
            await api.patch(NODES, "", names[name], {"status": status}, subresource="status")
        yield
    finally:
        for name in names.values():
            with suppress(NotFound):
                await api.delete(NODES, "", name)


def write_free(user: User, name: str, gpus: int, node: str = "") -> str:
    """The file of a job of one worker that asks for GPUs, on a node or on any."""
    file = user.work / user.write(name, resources={"limits": {"nvidia.com/gpu": gpus}})
    job = yaml.safe_load(file.read_text())
    spec = job["spec"]["worker"]["template"]["spec"]
    del spec["nodeName"]
    if node:
        spec["nodeName"] = node
    file.write_text(yaml.safe_dump(job))
    return file.name


async def submit_to(user: User, name: str, gpus: int, node: str = "") -> None:
    """A job of one worker: on a node, or one of which a scheduler says that it has no room."""
    file = write_free(user, name, gpus, f"{node}-{user.world.namespace}" if node else "")
    submitted = await user.paddock("submit", file, "--context", "prod")
    assert submitted.code == 0, submitted
    api, namespace = user.world.api, user.world.namespace
    await until(lambda: have_pods(api, 1, name, namespace))
    if not node:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_ROOM}
        status = {"status": {"conditions": [said]}}
        await api.patch(PODS, namespace, f"{name}-worker-0", status, subresource="status")
        await until(lambda: _waits_for_room(user, name))


async def _waits_for_room(user: User, name: str) -> bool:
    status = (await user.world.api.get(JOBS, user.world.namespace, name)).get("status") or {}
    return (status.get("cause") or {}).get("reason") == "WaitingForScheduler"


async def test_a_job_that_waits_for_room_says_what_is_free_and_who_holds_it(user: User) -> None:
    async with operator(user), nodes(user, a=2, b=1):
        await submit_to(user, "big", 1, "a")
        await submit_to(user, "waits", 2)
        await submit_to(user, "never", 32)
        said = {
            each: await user.paddock("--context", "prod", *each.split(), COLUMNS="240")
            for each in ("explain waits", "explain never", "get", "get pods", "queue", "describe waits")
        }
        document = json.loads((await user.paddock("--context", "prod", "queue", "-o", "json")).out)
        later = ("explain", "--why-not", write_free(user, "later", 2))
        why_not = await user.paddock("--context", "prod", *later)
        refused = await user.paddock("--context", "alice", "explain", "waits")
        await grant(user, refused)
        own = {
            each: await user.paddock("--context", "alice", *each.split(), COLUMNS="240")
            for each in ("explain waits", "get", "get pods", "describe waits")
        }
        own_why_not = await user.paddock("--context", "alice", *later)
    waits = "needs 2 GPUs on one node; 2 are free, at most 1 on one node; big holds 1"
    never = "asks for 32 GPUs on one node; the largest has 2, so it cannot start here"
    assert said["explain waits"].out.splitlines()[1:3] == [waits, f"the scheduler says: {NO_ROOM[:-1]}"]
    assert never in said["explain never"].out
    for each in ("get", "get pods", "queue"):
        assert waits in said[each].out and never in said[each].out, said[each]
    assert waits in said["describe waits"].out
    assert why_not.code == 1 and f"would wait: {waits}" in why_not.out, why_not
    (lacks,) = (job["lacks"] for job in document["jobs"] if job["name"] == "waits")
    assert lacks == [{"resource": "nvidia.com/gpu", "needs": "2", "free": "2", "has": "3", "largestFree": "1",
                      "never": False, "heldBy": {"big": "1"}}]  # fmt: skip
    unknown = "what is free is not known: you lack the right `list nodes`, which an administrator of the cluster grants"
    for ended in own.values():
        assert ended.code == 0 and "no node has enough GPUs free" in ended.out and "on one node" not in ended.out, ended
    assert unknown in own["explain waits"].out and unknown in own["describe waits"].out
    assert f"would be accepted; {unknown}" in own_why_not.out, own_why_not
    assert own["get"].err == own["get pods"].err == f"{unknown}\n"


async def test_the_rights_that_the_refusal_names_are_enough(user: User) -> None:
    (user.work / "train.py").write_text("")
    file = user.write(image=PADDLE)
    refused = await user.paddock("run", file, "--context", "alice")
    assert refused.code == 1 and await user.config_maps() == []
    await grant(user, refused)
    async with operator(user):
        run = await user.start("run", file, "--context", "alice")
        await user.says("Running")
        await user.until_phase("Running")
        await user.says("Succeeded")
        ended = await end(run)
    assert ended.code == 0, ended


async def test_the_rights_for_packages_are_named_together_and_are_enough(user: User) -> None:
    """Up to the pod that fills the claim, which a kubelet would run."""
    (user.work / "requirements.txt").write_text("six\n")
    file = user.write(image=PADDLE, command=["python", "-c", "1"])
    words = ("run", file, "-r", "requirements.txt", "--context", "alice")
    for _ in range(2):  # those of jobs, then those of claims
        refused = await user.paddock(*words)
        assert refused.code == 1 and "END" in refused.err, refused
        await grant(user, refused)
    assert "persistentvolumeclaims" in refused.err and "pods/exec" in refused.err
    namespace = user.world.namespace
    assert (await user.world.api.list(CLAIMS, namespace)).items == []
    run = await user.start(*words)
    begun = await read_lines(run, "waiting for env-")
    (claim,) = (await user.world.api.list(CLAIMS, namespace)).items
    (pod,) = (await user.world.api.list(PODS, namespace)).items
    run.send_signal(signal.SIGINT)
    ended = await end(run)
    listed = await user.paddock("env", "list", "--context", "alice")
    removed = await user.paddock("env", "rm", name_of(claim), "--context", "alice")
    assert f"made the claim {name_of(claim)} of 10Gi (ReadWriteOnce) for requirements.txt" in begun
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("PersistentVolumeClaim", claim["metadata"]["uid"])
    assert ended.code == 130 and "goes on filling the claim" in ended.err, ended
    assert name_of(claim) in listed.out and "Building" in listed.out and "six for " in listed.out, listed
    assert removed.code == 0, removed
    assert (await user.world.api.list(JOBS, namespace)).items == []


async def test_validate_asks_the_cluster_as_well(user: User) -> None:
    right = await user.paddock("validate", user.write(), "--context", "prod")
    assert (right.code, right.out) == (0, "demo.yaml: 1 PaddleJob, no problems\n"), right
    wrong = await user.paddock("validate", user.write(), "--context", "prod", "-n", "nope")
    assert (
        wrong.code == 1 and "the cluster says: there is no namespace nope: `kubectl --context prod create" in wrong.out
    )
    assert (await user.world.api.list(JOBS, user.world.namespace)).items == []
    chinese = await user.paddock("validate", "demo.yaml", "--context", "prod", "-n", "nope", LANG="zh_CN.UTF-8")
    assert "集群的答复：没有命名空间 nope" in chinese.out


async def test_what_belongs_to_the_local_cluster_is_not_asked_of_another(user: User) -> None:
    for words, said in (
        (("get", "environments", "--context", "prod"), "environments belong to the local cluster"),
        (("--context", "prod", "up"), "`paddock up` is about the local cluster"),
        (("--context", "prod", "env", "build", "paddle"), "`env build` is about the local cluster"),
    ):
        ended = await user.paddock(*words)
        assert ended.code == 2 and said in ended.err, ended


async def test_why_not_computes_and_says_so(user: User) -> None:
    ended = await user.paddock("explain", "--why-not", user.write(), "--context", "prod")
    assert "computed by this command, paddock" in ended.out, ended


def write_with_claim(user: User, name: str = "demo") -> str:
    """A job whose pods mount the claim `results`."""
    file = user.write(name, volumeMounts=[{"name": "o", "mountPath": "/out"}])
    job = yaml.safe_load((user.work / file).read_text())
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "o", "persistentVolumeClaim": {"claimName": "results"}}]
    (user.work / file).write_text(yaml.safe_dump(job))
    return file


async def create_claim(user: User, *modes: str) -> None:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "results", "namespace": user.world.namespace}
    await user.world.api.create(
        CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
    )


async def find_board(user: User) -> Manifest | None:
    with suppress(NotFound):
        return await user.world.api.get(PODS, user.world.namespace, "demo-board")
    return None


async def is_gone(user: User) -> bool:
    found = await find_board(user)
    return found is None or "deletionTimestamp" in found["metadata"]


async def test_a_board_is_a_pod_where_the_claim_is_and_goes_with_ctrl_c(user: User) -> None:
    await create_claim(user, "ReadWriteOnce")
    async with operator(user):
        assert (await user.paddock("submit", write_with_claim(user), "--context", "prod")).code == 0
        await user.says("Running")
        await user.until_phase("Running")
        board = await user.start("--context", "prod", "board", "demo", "--no-browser")
        begun = await read_lines(board, "demo-board: ")
        pod = await find_board(user)
        assert pod is not None
        unscheduled = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no room at all",
        }
        await user.world.api.patch(PODS, user.world.namespace, "demo-board", {"status": {"conditions": [unscheduled]}},
                                   subresource="status")  # fmt: skip
        waits = await read_lines(board, "demo-board: waiting for room")
        board.send_signal(signal.SIGINT)
        ended = await end(board)
        assert await is_gone(user)
        job = await user.world.api.get(JOBS, user.world.namespace, "demo")
    assert begun[0] == "made the pod demo-board, which shows /out of the claim results"
    assert "no room at all" in waits[-1]
    assert (ended.code, ended.out) == (0, "") and "the pod demo-board is deleted" in ended.err, ended
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner["uid"] == job["metadata"]["uid"] and not owner.get("controller")
    spec = pod["spec"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["ghost"]}]}]
    assert spec["automountServiceAccountToken"] is False
    assert [each["name"] for each in spec["volumes"]] == ["files", "scratch"]
    (container,) = spec["containers"]
    assert container["image"] == "example.com/mine:1" and container["command"][-1] == "/out"
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["volumeMounts"][0] == {"name": "files", "mountPath": "/out", "readOnly": True}
    counted = job["status"]["worker"]
    assert [each["name"] for each in counted["refs"]] == ["demo-worker-0"], "the board is no rank"


async def test_a_board_names_each_right_that_it_lacks(user: User) -> None:
    await create_claim(user, "ReadWriteMany")
    assert (await user.paddock("submit", write_with_claim(user), "--context", "prod")).code == 0
    asks = ("--context", "alice", "board", "demo", "--no-browser")
    no_job = await user.paddock(*asks)
    await grant(user, no_job)
    no_pods = await user.paddock(*asks)
    assert await find_board(user) is None
    await grant(user, no_pods)
    board = await user.start(*asks)
    await read_lines(board, "demo-board: ")
    board.send_signal(signal.SIGINT)
    ended = await end(board)
    assert (no_job.code, no_pods.code) == (1, 1)
    assert "alice may not get paddlejobs.batch.paddlepaddle.org" in no_job.err
    assert f"alice may not create pods in namespace {user.world.namespace}" in no_pods.err
    assert ended.code == 0 and await is_gone(user), ended


@pytest.mark.parametrize("words", [("demo", "other"), ("demo:2",), ("demo", "--run", "2")])
async def test_a_board_of_a_cluster_is_of_one_job(user: User, words: tuple[str, ...]) -> None:
    ended = await user.paddock("--context", "prod", "board", *words)
    assert (ended.code, ended.out) == (2, "") and "cluster" in ended.err, ended


def write_with_outputs(user: User) -> str:
    """A job of two pods that names the claim `results` for what it writes."""
    file = user.write()
    job = yaml.safe_load((user.work / file).read_text())
    job["metadata"].setdefault("annotations", {})["paddock.dev/outputs"] = "results"
    job["spec"]["worker"]["replicas"] = 2
    (user.work / file).write_text(yaml.safe_dump(job))
    return file


async def find_readers(user: User) -> list[Manifest]:
    """The pods that read outputs and are not about to go."""
    found = (
        await user.world.api.list(PODS, user.world.namespace, labels="app.kubernetes.io/name=paddock-outputs")
    ).items
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


async def test_a_claim_for_outputs_is_looked_at_before_the_job_is_sent_and_read_by_a_pod_that_goes(user: User) -> None:
    refused = await user.paddock("submit", write_with_outputs(user), "--context", "prod")
    assert (await user.world.api.list(JOBS, user.world.namespace)).items == []
    await create_claim(user, "ReadWriteOnce")
    async with operator(user):
        told = await user.paddock("submit", write_with_outputs(user), "--context", "prod")
        await until(lambda: have_pods(user.world.api, 2, "demo", user.world.namespace))
        ranks = (await user.world.api.list(PODS, user.world.namespace)).items
        reading = await user.start("--context", "prod", "outputs", "demo", "--run", "1", "--to", "here")
        begun = await read_lines(reading, "the pod demo-outputs-")
        (pod,) = await find_readers(user)
        reading.send_signal(signal.SIGINT)
        ended = await end(reading)
        assert await find_readers(user) == []
    assert refused.code == 2 and "there is no claim results in namespace" in refused.err, refused
    assert told.code == 0 and "one node at a time may have the claim results (ReadWriteOnce)" in told.err, told
    uid = (await user.world.api.get(JOBS, user.world.namespace, "demo"))["metadata"]["uid"]
    for each in ranks:
        assert [first["name"] for first in each["spec"]["initContainers"]] == ["paddock-outputs"]
        (mount,) = [
            found for found in each["spec"]["containers"][0]["volumeMounts"] if found["name"] == "paddock-output"
        ]
        assert mount["subPath"] == f"demo/{uid}"
    assert "reads the claim results, with the image example.com/mine:1" in begun[0]
    assert pod["spec"]["automountServiceAccountToken"] is False and ended.code == 130, ended


async def test_outputs_names_the_rights_that_it_lacks_all_at_once(user: User) -> None:
    await create_claim(user, "ReadWriteMany")
    assert (await user.paddock("submit", write_with_outputs(user), "--context", "prod")).code == 0
    asks = ("--context", "alice", "outputs", "demo")
    await grant(user, await user.paddock(*asks))
    refused = await user.paddock(*asks)
    assert refused.code == 1 and "alice may not create pods in namespace" in refused.err, refused
    assert "resources: [pods/exec], verbs: [get, create]" in refused.err
    await grant(user, refused)
    reading = await user.start(*asks)
    await read_lines(reading, "the pod demo-outputs-")
    reading.send_signal(signal.SIGINT)
    await end(reading)
    assert await find_readers(user) == []
