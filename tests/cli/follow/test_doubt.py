"""What the logs of a completed job say against it, for who has not followed it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_job, build_manifest
from history.test_logs import write_log
from paddock.app.home import Home
from paddock.cli.cluster.places import Local
from paddock.cli.follow.doubt import MOST_BYTES, MOST_RANKS, fetch_doubt, fetch_read
from paddock.cli.verbs.wait import explain_reached
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, Listing, T
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import PODS, Resource
from paddock.views.followed import read_view_code
from paddock.views.stored import read_stored

ERROR = "Error initializing process group: Distributed package doesn't have NCCL built in"
SWALLOWED = f"Rank: 0, World Size: 2\n{ERROR}\n".encode()


class Cluster(Api):
    """Pods and their logs, by rank; an error is the answer of the API."""

    def __init__(self, logs: dict[str, bytes | ApiError], pods: ApiError | None = None) -> None:
        self.logs, self.refusal = logs, pods
        self.asked: list[str] = []
        self.sent = 0

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, List) and call.resource == PODS
        if self.refusal is not None:
            raise self.refusal
        ranks = [Rank(name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in self.logs]
        job = build_job(workers=MOST_RANKS + 2)
        pods = [build_pod(job, rank, 0, None, Settings()) for rank in ranks]
        answer: Any = Listing(pods, "1")
        return answer  # type: ignore[no-any-return]

    async def follow(self, resource: Resource, namespace: str = "", **_: str) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")
        yield

    async def stream_log(self, _: str, pod: str, **__: Any) -> AsyncIterator[bytes]:
        self.asked.append(pod)
        log = self.logs[pod.removeprefix("demo-")]
        if isinstance(log, ApiError):
            raise log
        for start in range(0, len(log), 2**16):
            self.sent += 1
            yield log[start : start + 2**16]


async def doubt(cluster: Cluster, home: Path, phase: str = "Completed", workers: int = 2) -> list[str]:
    job = read_stored(RESOURCE, {**build_manifest(workers=workers), "status": {"phase": phase}})
    return [str(each) for each in await fetch_doubt(cluster, Local(Home(home, home)), job)]  # type: ignore[arg-type]


async def test_the_rank_and_the_line_are_named_with_what_to_do(tmp_path: Path) -> None:
    warning, advice = await doubt(Cluster({"worker-0": SWALLOWED, "worker-1": SWALLOWED}), tmp_path)
    assert warning.startswith("warning: worker-0 printed an error") and warning.endswith(
        f"line 2 of its log: “{ERROR}”"
    )
    assert advice.startswith("nccl needs GPUs")


async def test_a_log_that_ends_in_an_error_is_told_of_a_job_that_printed_progress_too(tmp_path: Path) -> None:
    log = b'Epoch 1, Loss: 0.5\nTraceback (most recent call last):\n  File "t.py", line 2, in <module>\nKeyError: 1\n'
    warning, advice = await doubt(Cluster({"worker-0": b"Epoch 1, Loss: 0.5\n", "worker-1": log}), tmp_path)
    assert warning.startswith("warning: worker-1 printed an error") and warning.endswith(
        "line 4 of its log: “KeyError: 1”"
    )
    assert "set -eo pipefail" in advice


@pytest.mark.parametrize(
    ("log", "code", "said"),
    [
        (b"ChildFailedError:\nretrying\nepoch 1 loss 0.5\nfinished\n", 0, "demo: Completed in 0.0 s: worker 2"),
        (b"step\nChildFailedError:\n", 1, "the log of worker-0 ends in ChildFailedError (line 2)"),
    ],
)
async def test_who_waits_reads_the_same_end_as_who_followed(log: bytes, code: int, said: str, tmp_path: Path) -> None:
    job = read_stored(RESOURCE, {**build_manifest(workers=2), "status": {"phase": "Completed"}})
    cluster: Any = Cluster({"worker-0": log, "worker-1": b""})
    read = await fetch_read(cluster, Local(Home(tmp_path, tmp_path)), job)
    assert read is not None and read_view_code(read) == code
    assert said in explain_reached(job, "en", read)


@pytest.mark.parametrize(
    "logs",
    [
        {"worker-0": b"", "worker-1": b"done\n"},
        {"worker-0": b"Epoch 1, Loss: 0.5\n", "worker-1": SWALLOWED},  # it recovered, as rank 0 trained
        {"worker-0": SWALLOWED + b"Falling back to gloo\n", "worker-1": b""},
        {"worker-0": Forbidden("no logs"), "worker-1": Forbidden("no logs")},
        {"worker-0": SWALLOWED + b"x\n" * MOST_BYTES, "worker-1": b""},  # nobody knows how it went on
    ],
)
async def test_nothing_is_said_of_an_ordinary_job_or_of_what_is_not_known(logs: Any, tmp_path: Path) -> None:
    assert await doubt(Cluster(logs), tmp_path) == []


async def test_pods_that_nobody_may_list_say_nothing(tmp_path: Path) -> None:
    assert await doubt(Cluster({"worker-0": SWALLOWED}, Forbidden("no pods")), tmp_path) == []


@pytest.mark.parametrize("phase", ["Failed", "Running", ""])
async def test_only_a_completed_job_is_doubted_and_no_other_log_is_read(phase: str, tmp_path: Path) -> None:
    cluster = Cluster({"worker-0": SWALLOWED})
    assert await doubt(cluster, tmp_path, phase) == [] and cluster.asked == []


async def test_the_kept_log_of_a_pod_that_is_gone_is_read(tmp_path: Path) -> None:
    write_log(Home(tmp_path, tmp_path).node, "demo-worker-0", "new", job="0123456789", text=SWALLOWED.decode())
    assert len(await doubt(Cluster({}), tmp_path)) == 2


async def test_a_large_job_and_a_large_log_are_read_in_part(tmp_path: Path) -> None:
    logs: dict[str, bytes | ApiError] = {f"worker-{each}": b"x\n" * 2**20 for each in range(MOST_RANKS + 2)}
    cluster = Cluster(logs)
    assert await doubt(cluster, tmp_path, workers=MOST_RANKS + 2) == []
    assert cluster.asked == [f"demo-worker-{each}" for each in range(MOST_RANKS)]
    assert cluster.sent <= MOST_RANKS * (MOST_BYTES // 2**16 + 1)
