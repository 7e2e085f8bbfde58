"""A small place as the console shows it, the same each time: jobs in each state, their pods, logs and nodes.

For goldens of screens, accessibility, screenshots. The API is the embedded one, with no operator and no node; what
those two would write is written here, at times that are fixed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from history.test_logs import write_log
from jobs.gangs import cause
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.consoles import local
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.console.addresses import address_of_job
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.history.records import Attempt, Cause, RunRecord, write_record
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Counts, Job, Phase, Rank, Settings, Status
from paddock.jobs.names import output_name
from paddock.jobs.objects.pods import build_pod
from paddock.kube.api import Api
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import DATASETS, ENVIRONMENTS, EVENTS, NODES, PODS, Manifest, name_of, uid_of
from paddock.kube.times import format_time, read_time
from support.written_outputs import WrittenBoards, write_outputs

NOW = read_time("2026-11-20T09:00:00Z") or 0.0
KEY = b"k" * 32
PADDLE = next(each for each in KINDS if each.api_version == "batch.paddlepaddle.org/v1")
TORCH = next(each for each in KINDS if each.kind == "PyTorchJob")


@dataclass(slots=True)
class Clock:
    """What the API and the console take for the time."""

    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Demo:
    """A console that listens at `url`; a link of `sign_in` works once."""

    url: str
    api: LocalApi
    console: Console
    clock: Clock
    home: Home

    @property
    def sign_in(self) -> str:
        return self.url + self.console.make_link(time.time())


@dataclass(frozen=True, slots=True)
class Written:
    """One job. `begun`: minutes before `NOW`. `roles`: replicas of each. `logs`: of a rank in an attempt."""

    name: str
    torch: bool
    begun: int
    roles: Mapping[str, int]
    phase: Phase
    reason: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0
    ready: int | None = None
    gpus: int = 0
    logs: Mapping[tuple[str, int], str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    pods: bool = True
    datasets: str = ""


def write_steps(begin: int, end: int, *, drop: float = 0.0) -> str:
    """Lines of a training, from step `begin` to `end`."""
    return "".join(
        f"epoch {step // 100} step {step} loss {2.3 / (1 + step / 120) + (step * 37 % 11) / 90 - drop:.4f} "
        f"acc {min(0.98, 0.2 + step / 1200):.3f} ips {310 + step * 53 % 17} samples/s\n"
        for step in range(begin, end, 5)
    )


SCRIPT = " <script>document.title = 'broken'</script>"
"""In messages, lines of logs and values: on no page may it be more than text."""
FAILURE = f"""\
Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 33, in main
    loss = model(batch)
RuntimeError: CUDA error: device-side assert triggered{SCRIPT}
"""
ECHO = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.3]:52114\n"
)

JOBS = (
    Written("wide-and-deep", False, 95, {"ps": 2, "worker": 4}, Phase.RUNNING, labels={"team": "ads"},
            logs={("worker-0", 0): write_steps(0, 600), ("worker-1", 0): write_steps(0, 590, drop=0.01),
                  ("ps-0", 0): "server 0 listens\n"}),
    Written("resnet50", True, 61, {"Master": 1, "Worker": 3}, Phase.RUNNING, attempt=1,
            logs={("master-0", 0): write_steps(0, 400), ("worker-1", 0): write_steps(0, 400, drop=-0.12) + FAILURE,
                  ("master-0", 1): write_steps(350, 900), ("worker-1", 1): write_steps(350, 890, drop=-0.12)}),
    Written("bert-large", True, 12, {"Master": 1, "Worker": 7}, Phase.PENDING, "WaitingForScheduler",
            {"pods": 8, "wanted": 8, "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."}, ready=0,
            gpus=1, datasets="imagenet:/data, words:/data/words"),
    Written("gpt-moe", True, 240, {"Master": 1, "Worker": 3}, Phase.FAILED, "RankFailed",
            {"ranks": ["worker-1"], "code": 1, "error": FAILURE.splitlines()[-1]}, ready=0,
            logs={("master-0", 0): write_steps(0, 300) + ECHO, ("worker-0", 0): write_steps(0, 300) + ECHO,
                  ("worker-1", 0): write_steps(0, 300) + FAILURE, ("worker-2", 0): write_steps(0, 300) + ECHO}),
    Written("mnist", False, 1500, {"worker": 1}, Phase.COMPLETED, "Completed", {"succeeded": 1}, ready=0,
            logs={("worker-0", 0): write_steps(0, 200)}),
    Written("night-run", False, 600, {"worker": 2}, Phase.SUSPENDED, "Suspended", ready=0, pods=False),
)  # fmt: skip


@asynccontextmanager
async def serve_demo(
    directory: Path, *, hostile: bool = True, backend: Callable[[Backend], Backend] = lambda backend: backend
) -> AsyncIterator[Demo]:
    """`hostile`: with `SCRIPT` in what users and programs wrote. `backend` may change what the console is given."""
    home, clock = Home(directory / "home", directory / "home"), Clock()
    api = await LocalApi.open(directory / "api", clock=clock)
    try:
        await apply_crds(api, build_crds())
        await write_nodes(api)
        await write_environments(api)
        await write_datasets(api, clock)
        for each in JOBS:
            await write_job(api, home, clock, each if hostile else tame(each))
        clock.now = NOW
        found = backend(replace(
            local.build_backend(api, home, "demo", Settings()), boards=await write_results(api, home, hostile=hostile)
        ))  # fmt: skip
        console = Console(found, KEY, clock=clock)
        async with listen(console) as url:
            yield Demo(url, api, console, clock, home)
    finally:
        await api.close()


async def write_results(api: Api, home: Home, *, hostile: bool) -> WrittenBoards:
    """The outputs of `gpt-moe`, and a board of it."""
    uid, script = uid_of(await api.get(TORCH, "default", "gpt-moe")), SCRIPT if hostile else ""
    path = home.outputs / "default" / output_name("gpt-moe", uid)
    write_outputs(path, NOW, script)
    boards = WrittenBoards(home)
    boards.show(TORCH, "default", "gpt-moe", path.name.rpartition("-")[2], script)
    return boards


def tame(each: Written) -> Written:
    args = {key: value.replace(SCRIPT, "") if isinstance(value, str) else value for key, value in each.args.items()}
    return replace(each, args=args, logs={key: text.replace(SCRIPT, "") for key, text in each.logs.items()})


@asynccontextmanager
async def listen(console: Console) -> AsyncIterator[str]:
    """The address, on a free port of this machine."""
    runner = web.AppRunner(console.application, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await console.close()
        await runner.cleanup()


def address(name: str) -> str:
    """The page of one of `JOBS`."""
    (found,) = (each for each in JOBS if each.name == name)
    return address_of_job(TORCH if found.torch else PADDLE, "default", name)


def build_manifest(each: Written) -> Manifest:
    container: Manifest = {"name": "pytorch" if each.torch else "paddle", "command": ["python", "train.py"]}
    container["image"] = "pytorch/pytorch:2.5.1" if each.torch else "paddlepaddle/paddle:3.0.0"
    container["env"] = [{"name": "NOTE", "value": SCRIPT}]
    requests = {"cpu": "500m", "memory": "1Gi"}
    limits = {"nvidia.com/gpu": str(each.gpus)} if each.gpus else {}
    container["resources"] = {"requests": requests, "limits": limits} if limits else {"requests": requests}
    template = {"spec": {"containers": [container]}}
    roles: Manifest = {role: {"replicas": count, "template": template} for role, count in each.roles.items()}
    head: Manifest = {"name": each.name, "namespace": "default", "labels": dict(each.labels)}
    if each.datasets:
        head["annotations"] = {MOUNTS_ANNOTATION: each.datasets}
    if each.torch:
        return {"apiVersion": TORCH.api_version, "kind": "PyTorchJob", "metadata": head,
                "spec": {"pytorchReplicaSpecs": roles}}  # fmt: skip
    suspend = {"runPolicy": {"suspend": True}} if each.phase is Phase.SUSPENDED else {}
    return {"apiVersion": PADDLE.api_version, "kind": "PaddleJob", "metadata": head, "spec": {**roles, **suspend}}


async def write_job(api: Api, home: Home, clock: Clock, each: Written) -> None:
    resource = TORCH if each.torch else PADDLE
    clock.now = NOW - 60 * each.begun
    stored = await api.create(resource, build_manifest(each))
    job = KINDS[resource].read_job(stored)
    clock.now += 5
    status = build_status(job, each, clock.now)
    patch = KINDS[resource].write_status({}, status, clock.now, stored)
    await api.patch(resource, "default", each.name, {"status": patch}, subresource="status")
    if each.pods:
        for number, rank in enumerate(job.ranks(), 2):
            await write_pod(api, job, rank, number, each, stored)
    await write_event(api, stored, each)
    for (rank, attempt), text in each.logs.items():
        uid = stored["metadata"]["uid"]
        name = f"{each.name}-{rank}"
        write_log(home.node, name, f"{name}-{attempt}", job=uid, attempt=attempt, text=text, when=NOW - 60)
    write_record(home.history, build_record(stored, each, status))


def build_status(job: Job, each: Written, now: float) -> Status:
    over = each.phase in (Phase.FAILED, Phase.COMPLETED)
    counts = {
        role.name: Counts(
            wanted=role.replicas,
            running=role.replicas if each.ready is None else each.ready,
            succeeded=role.replicas if each.phase is Phase.COMPLETED else 0,
            failed=1 if each.phase is Phase.FAILED and role.name == "worker" else 0,
        )
        for role in job.roles
    }
    recorded = replace(cause(each.reason, **each.args), since=now) if each.reason else None
    started = None if each.phase in (Phase.PENDING, Phase.SUSPENDED) else now
    return Status(
        phase=each.phase, mode=job.mode, attempt=each.attempt, restarts=each.attempt, roles=counts, cause=recorded,
        started=started, finished=now + 600 if over else None, observed_generation=job.generation,
    )  # fmt: skip


def build_record(stored: Manifest, each: Written, status: Status) -> RunRecord:
    created = read_time(stored["metadata"]["creationTimestamp"]) or 0.0
    told = Cause(status.cause.reason, dict(status.cause.args), status.cause.since) if status.cause else None
    why = Cause("RankRestarted", {"ranks": ["worker-1"], "code": 1, "restart": 1}, created + 900)
    again = (Attempt(1, created + 905, why),) if each.attempt else ()
    return RunRecord(
        stored["apiVersion"], stored["kind"], "default", each.name, stored["metadata"]["uid"], 1, created,
        ended=status.finished, spec=stored["spec"], phase=str(each.phase), finished=status.finished is not None,
        cause=told, restarts=each.attempt, attempts=(Attempt(0, created + 5), *again),
    )  # fmt: skip


async def write_pod(api: Api, job: Job, rank: Rank, number: int, each: Written, stored: Manifest) -> None:
    manifest = build_pod(job, rank, each.attempt, None, Settings())
    owner = {"apiVersion": stored["apiVersion"], "kind": stored["kind"], "name": each.name,
             "uid": stored["metadata"]["uid"], "controller": True}  # fmt: skip
    manifest["metadata"] |= {"ownerReferences": [owner], "namespace": "default"}
    if each.phase is not Phase.PENDING:
        manifest["spec"]["nodeName"] = f"node-{number % 2 + 1}"
    pod = await api.create(PODS, manifest)
    begun = format_time(NOW - 60 * each.begun + 20)
    failed = each.phase is Phase.FAILED and str(rank) in each.args.get("ranks", ())
    state: Manifest = {"running": {"startedAt": begun}}
    phase = "Running"
    if each.phase in (Phase.FAILED, Phase.COMPLETED):
        end = {"startedAt": begun, "finishedAt": format_time(NOW - 60 * each.begun + 600)}
        well = each.phase is Phase.COMPLETED
        phase, code = ("Succeeded", 0) if well else ("Failed", 1 if failed else 143)
        state = {"terminated": {**end, "exitCode": code, "reason": "Completed" if well else "Error"}}
    status: Manifest = {"phase": phase, "podIP": f"10.0.0.{number}", "startTime": begun}
    if each.phase is Phase.PENDING:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": each.args["message"]}
        status = {"phase": "Pending", "conditions": [said]}
    else:
        name = manifest["spec"]["containers"][0]["name"]
        one = {"name": name, "ready": phase == "Running", "state": state, "image": "x", "imageID": "x"}
        status["containerStatuses"] = [{**one, "restartCount": 0}]
    await api.patch(PODS, "default", name_of(pod), {"status": status}, subresource="status")


async def write_event(api: Api, stored: Manifest, each: Written) -> None:
    told = each.args.get("message") or f"all ranks run{SCRIPT}"
    moment = format_time(NOW - 600)
    involved = {"apiVersion": stored["apiVersion"], "kind": stored["kind"], "name": each.name,
                "namespace": "default", "uid": stored["metadata"]["uid"]}  # fmt: skip
    await api.create(EVENTS, {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{each.name}.1", "namespace": "default"},
        "involvedObject": involved, "reason": each.reason or "Started", "message": told, "count": 3,
        "type": "Warning" if each.reason in ("RankFailed", "WaitingForScheduler") else "Normal",
        "firstTimestamp": format_time(NOW - 900), "lastTimestamp": moment, "source": {"component": "paddock"},
    })  # fmt: skip


async def write_nodes(api: Api) -> None:
    for name in ("node-1", "node-2"):
        capacity = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        node = await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}})
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                 "lastHeartbeatTime": format_time(NOW), "lastTransitionTime": format_time(NOW - 86_400)}  # fmt: skip
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
        await api.patch(NODES, "", name_of(node), {"status": status}, subresource="status")


async def write_environments(api: Api) -> None:
    """One that is ready, one whose build fails."""
    said = f"no version of torhc was found{SCRIPT}"
    for name, packages, status in (
        ("demo-packages", ["paddlepaddle==3.0.0", "numpy"], {"phase": "Ready", "key": "0123456789abcdef0123"}),
        ("team-3.12", ["torhc"], {"phase": "Failed", "message": said}),
    ):
        spec = {"images": [f"*/{name}:*"], "requirements": packages, "python": "==3.12.*"}
        head = {"apiVersion": ENVIRONMENTS.api_version, "kind": ENVIRONMENTS.kind, "metadata": {"name": name}}
        await api.create(ENVIRONMENTS, {**head, "spec": spec})
        await api.patch(ENVIRONMENTS, "", name, {"status": status}, subresource="status")


async def write_datasets(api: Api, clock: Clock) -> None:
    """One that is fetched, one that is there, one that has failed."""
    for name, begun, source, status in (
        ("imagenet", 14, {"uri": "s3://datasets/imagenet", "endpoint": "https://s3.example.com", "secretName": "keys"},
         {"phase": "Fetching", "progress": 41, "bytesDone": 3_200_000_000, "bytesTotal": 7_800_000_000, "files": 412,
          "filesTotal": 1000, "message": f"fetching, 41 %, 3.2 of 7.8 GB, 12 MB/s, 6 min left{SCRIPT}"}),
        ("words", 300, {"uri": "https://me:secret@data.example.com/words.txt?key=secret", "sha256": "0" * 64},
         {"phase": "Ready", "progress": 100, "bytesDone": 48_000_000, "bytesTotal": 48_000_000, "files": 1,
          "filesTotal": 1, "message": "48 MB in 1 file", "path": "/home/me/.paddock/datasets/words/data",
          "revision": '"5f2a"', "finishedAt": format_time(NOW - 17_000)}),
        ("faces", 90, {"uri": "https://data.example.com/faces.tar"},
         {"phase": "Failed", "fault": "source", "retries": False,
          "message": f"https://data.example.com/faces.tar: 404 Not Found{SCRIPT}"}),
    ):  # fmt: skip
        clock.now = NOW - 60 * begun
        head = {"name": name, "namespace": "default"}
        made = {"apiVersion": DATASETS.api_version, "kind": DATASETS.kind, "metadata": head, "spec": {"source": source}}
        stored = await api.create(DATASETS, made)
        told = {"observedGeneration": stored["metadata"]["generation"], "claim": f"dataset-{name}", **status}
        await api.patch(DATASETS, "default", name, {"status": told}, subresource="status")
    involved = {"apiVersion": DATASETS.api_version, "kind": DATASETS.kind, "name": "faces", "namespace": "default",
                "uid": uid_of(await api.get(DATASETS, "default", "faces"))}  # fmt: skip
    await api.create(EVENTS, {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "faces.1", "namespace": "default"},
        "involvedObject": involved,
        "reason": "Failed", "type": "Warning", "message": f"404 Not Found{SCRIPT}", "count": 1,
        "firstTimestamp": format_time(NOW - 5000), "lastTimestamp": format_time(NOW - 5000),
        "source": {"component": "paddock"},
    })  # fmt: skip


async def write_many(api: Api, count: int) -> None:
    """`count` small jobs that run, in the namespace `default`."""
    pattern = Written("many", False, 30, {"worker": 2}, Phase.RUNNING)
    for number in range(count):
        each = replace(pattern, name=f"many-{number:04}")
        stored = await api.create(PADDLE, build_manifest(each))
        status = build_status(KINDS[PADDLE].read_job(stored), each, NOW - 1800)
        patch = KINDS[PADDLE].write_status({}, status, NOW - 1800)
        await api.patch(PADDLE, "default", each.name, {"status": patch}, subresource="status")
        if number % 50 == 0:
            await asyncio.sleep(0)
