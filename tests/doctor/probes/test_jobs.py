"""A job is looked at by its pods, what they printed in the last attempt, and what they use; on any cluster."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from history.test_logs import write_log
from paddock.app.examined_jobs import MOST_OF_FILES, Looked, look_at_job, look_at_run, read_file, share_of
from paddock.app.history import History
from paddock.app.home import Home
from paddock.history.records import RunRecord
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import NODES, PODS, Manifest, Resource, name_of
from paddock.kube.usage import POD_METRICS
from support.written import build_pod, build_written_job

LOGS = Path(__file__).parents[1] / "logs"
LABELS = (LOGS / "devices-are-labels.log").read_text()
LAUNCH = ["python", "-m", "paddle.distributed.launch", "train.py"]


def build_job(workers: int, command: Sequence[str] = LAUNCH, **limits: str) -> Manifest:
    job = build_written_job(phase="Running", attempt=1)
    del job["spec"]["ps"]
    container = {"name": "paddle", "image": "paddlepaddle/paddle:3.0.0", "command": list(command),
                 "resources": {"limits": limits}}  # fmt: skip
    job["spec"]["worker"] = {"replicas": workers, "template": {"spec": {"containers": [container]}}}
    return job


@dataclass
class FakeClient:
    """An API with these objects and logs; `asked`: the pods whose logs were read."""

    objects: Mapping[Resource, Sequence[Manifest]]
    logs: Mapping[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    read: int = 0

    async def list(self, resource: Resource, namespace: str = "", **_: Any) -> Any:
        if resource == NODES and resource not in self.objects:
            raise Forbidden("nodes is forbidden")
        return SimpleNamespace(items=list(self.objects.get(resource, ())))

    async def stream_log(self, namespace: str, pod: str, tail: int | None = None, **_: Any) -> AsyncIterator[bytes]:
        self.asked.append(pod)
        if pod not in self.logs:
            raise NotFound(f'pods "{pod}" not found')
        text = self.logs[pod] if tail is None else b"".join(self.logs[pod].splitlines(keepends=True)[-tail:])
        for start in range(0, len(text), 1000):
            self.read += 1000
            yield text[start : start + 1000]


async def look(
    client: FakeClient,
    job: Manifest,
    *,
    local: bool = False,
    history: History | None = None,
    most: int | None = None,
    options: str = "",
) -> Looked:
    read, status = PADDLEPADDLE.read_job(job), PADDLEPADDLE.read_status(job)
    return await look_at_job(
        client,  # type: ignore[arg-type]
        read,
        status,
        "one",
        history=history,
        local=local,
        now=time.time(),
        most=most,
        options=options,
    )


def checks(looked: Looked) -> list[tuple[str, str]]:
    return [(each.check, str(each.where)) for each in looked.findings]


async def test_the_logs_of_a_kubernetes_come_through_its_api_with_their_times() -> None:
    stamped = "".join(f"2026-11-23T21:28:18.123456789Z {line}\n" for line in LABELS.splitlines())
    pods = [build_pod("worker", 0), build_pod("worker", 0, attempt=0)]
    client = FakeClient({PODS: pods}, {name_of(pods[0]): stamped.encode()})
    looked = await look(client, build_job(1))
    assert checks(looked) == [("devices-are-labels", "worker-0, line 3")]
    assert client.asked == ["demo-worker-0"]  # of the last attempt
    assert (looked.pods, looked.logs, looked.lines) == (2, 1, LABELS.count("\n"))


async def test_the_image_of_a_kubernetes_says_which_wheel_it_has() -> None:
    job = build_job(1, **{"nvidia.com/gpu": "2"})
    assert ("cpu-wheel-on-gpu-machine", "worker") in checks(await look(FakeClient({PODS: []}), job))
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "paddlepaddle/paddle:3.0.0-gpu-cuda12.6"
    assert checks(await look(FakeClient({PODS: []}), job)) == []


async def test_what_ranks_use_says_who_waits_for_whom() -> None:
    pods = [build_pod("worker", index) for index in range(2)]
    for pod in pods:
        pod["status"]["startTime"] = "2026-11-23T21:28:00Z"
    text = b"2026-11-23T21:28:18.5Z Epoch 1, Batch 3, Loss 0.5\n"
    metrics = [
        {"metadata": {"name": f"demo-worker-{index}"}, "containers": [{"usage": {"cpu": cpu, "memory": "1Gi"}}]}
        for index, cpu in ((0, "0"), (1, "1"))
    ]
    client = FakeClient({PODS: pods, POD_METRICS: metrics}, {name_of(pod): text for pod in pods})
    (finding,) = (await look(client, build_job(2, ["python", "train.py"]))).findings
    assert finding.check == "silent-for-long"
    assert str(finding.why) == "worker-0 wait idle for worker-1, which computes"


async def test_the_local_cluster_has_the_logs_of_pods_that_are_gone(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    write_log(home.node, "demo-worker-0", "a", job="one", attempt=0, text="LAUNCH INFO x put value failed\n" * 9)
    write_log(home.node, "demo-worker-0", "b", job="one", attempt=1, text=LABELS)
    looked = await look(FakeClient({PODS: []}), build_job(1), local=True, history=History(home))
    assert checks(looked) == [("devices-are-labels", "worker-0, line 3")]


async def test_a_job_that_is_gone_is_looked_at_by_its_record(tmp_path: Path) -> None:
    home, job = Home(tmp_path, tmp_path), build_job(1, [*LAUNCH[:3], "--nnodes", "2", "train.py"])
    write_log(home.node, "demo-worker-0", "a", job="one", attempt=0, text=LABELS)
    run = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "one", 1, 100.0, spec=job["spec"])
    looked = await look_at_run(History(home), run, time.time())
    assert [check for check, _ in checks(looked)] == ["nodes-differ-from-replicas", "devices-are-labels"]


MIDDLE = [f"Epoch {number}, Loss 0.5" for number in range(200_000)]


def stamp(lines: Sequence[str]) -> bytes:
    return "".join(f"2026-11-23T21:28:18.{number:09d}Z {line}\n" for number, line in enumerate(lines)).encode()


@pytest.mark.parametrize(("middle", "cut"), [(200_000, 1), (3_500, 0), (100, 0)])
async def test_of_a_large_log_of_a_kubernetes_the_beginning_and_the_end_are_read(middle: int, cut: int) -> None:
    pod, lines = build_pod("worker", 0), [*LABELS.splitlines(), *MIDDLE[:middle], "E   CUDA out of memory", "the end"]
    client = FakeClient({PODS: [pod]}, {name_of(pod): stamp(lines)})
    looked = await look(client, build_job(1), most=2 << 17)
    assert checks(looked) == [("devices-are-labels", "worker-0, line 3")]
    assert looked.cut == cut
    assert client.read < 400_000
    if not cut:
        assert looked.lines == len(lines), "each once"


@pytest.mark.parametrize(
    ("end", "cut"), [(None, False), (1 << 16, True), pytest.param(1 << 30, False, marks=pytest.mark.slow)]
)
def test_of_a_large_file_both_ends_are_read_and_the_lines_between_them_are_counted_about(
    tmp_path: Path, end: int | None, cut: bool
) -> None:
    home, lines = Home(tmp_path, tmp_path), [*LABELS.splitlines(), *MIDDLE, "the end"]
    write_log(home.node, "demo-worker-0", "a", job="one", attempt=0, text="\n".join(lines) + "\n")
    (file,) = History(home).find_job_logs("default", "demo", "one")
    read = list[int]()
    log = read_file(file, lambda _rank, size: read.append(size), end)
    assert log is not None
    assert (log.has_gap, log.last_text, log.block_line > 0) == (cut, "the end", True)
    assert abs(log.lines - len(lines)) <= (len(lines) // 4 if cut else 0)
    assert read[-1] <= (3 << 16 if cut else 1 << 30)


@pytest.mark.slow
@pytest.mark.parametrize(("mebibytes", "cut"), [(60, 0), (70, 1)])
async def test_of_the_files_of_one_job_as_much_is_read_as_takes_seconds(
    tmp_path: Path, mebibytes: int, cut: int
) -> None:
    home, long = Home(tmp_path, tmp_path), "x" * (2**20 - 1)  # few lines, which are read quickly
    lines = [*LABELS.splitlines(), *[long] * mebibytes, "the end"]
    write_log(home.node, "demo-worker-0", "a", job="one", attempt=0, text="\n".join(lines) + "\n")
    looked = await look(FakeClient({PODS: []}), build_job(1), local=True, history=History(home))
    assert (looked.cut, checks(looked)) == (cut, [("devices-are-labels", "worker-0, line 3")])
    assert share_of(MOST_OF_FILES, 1, MOST_OF_FILES) == 32 << 20


@pytest.mark.parametrize(("most", "logs", "share"), [
    (None, 5, None), (16 << 20, 1, 1 << 20), (16 << 20, 64, 1 << 17), (16 << 20, 10_000, 1 << 14),
    (1 << 20, 0, 1 << 19),
])  # fmt: skip
def test_the_more_logs_there_are_the_less_of_each_is_read(most: int | None, logs: int, share: int | None) -> None:
    assert share_of(most, logs) == share


@dataclass
class StackClient(FakeClient):
    """Which also takes stacks, as a local cluster does; `paths`: what was asked."""

    paths: list[str] = field(default_factory=list)
    refuses: bool = False

    async def fetch(self, path: str, **_: Any) -> Any:
        self.paths.append(path)
        if self.refuses:
            raise NotFound("the server could not find the requested resource: pods has no stacks here")
        frames = [{"function": "step", "file": "/home/me/train.py", "line": 88}]
        threads = [{"name": "MainThread", "main": True, "frames": frames}]
        program = {"pid": 1, "container": "paddle", "command": "python", "threads": threads}
        return {"pod": "demo", "processes": [program], "of_a_later_version": 1}


@pytest.mark.parametrize("refuses", [False, True], ids=["takes stacks", "of an older Paddock"])
async def test_where_ranks_are_is_asked_for_where_they_are_silent(tmp_path: Path, refuses: bool) -> None:
    pods = [build_pod("worker", index) for index in range(2)]
    for pod in pods:
        pod["status"]["startTime"] = "2026-11-23T21:28:00Z"
    metrics = [{"metadata": {"name": name_of(pod)}, "containers": [{"usage": {"cpu": "0"}}]} for pod in pods]
    client = StackClient({PODS: pods, POD_METRICS: metrics}, refuses=refuses)
    history = History(Home(tmp_path, tmp_path))
    looked = await look(client, build_job(2, ["python", "train.py"]), local=True, history=history)
    (finding,) = looked.findings
    assert client.paths == [f"/api/v1/namespaces/default/pods/demo-worker-{index}/stacks" for index in range(2)]
    assert finding.command == "paddock stacks demo"
    assert ("worker-0 and worker-1 in step, train.py:88" in str(finding.what)) is not refuses
    healthy = StackClient({PODS: [build_pod("worker", 0)]})
    await look(healthy, build_job(1), local=True, history=history)
    assert healthy.paths == []


async def test_on_a_kubernetes_no_pod_is_entered_for_it_and_the_command_that_does_is_named() -> None:
    pods = [build_pod("worker", index) for index in range(2)]
    for pod in pods:
        pod["status"]["startTime"] = "2026-11-23T21:28:00Z"
    metrics = [{"metadata": {"name": name_of(pod)}, "containers": [{"usage": {"cpu": "0"}}]} for pod in pods]
    client = StackClient({PODS: pods, POD_METRICS: metrics})
    looked = await look(client, build_job(2, ["python", "train.py"]), options=" --context prod")
    (finding,) = looked.findings
    assert (finding.check, finding.command) == ("silent-for-long", "paddock stacks demo --context prod")
    assert client.paths == []
