"""The end of a followed job whose watch of pods is behind its watch of the job, as after a killed cluster."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.views import RESOURCE, build_job, build_manifest
from history.test_logs import write_log
from paddock.app.home import Home
from paddock.app.written_metrics import find_file
from paddock.cli.cluster.places import Local
from paddock.cli.follow.follow import Follower
from paddock.cli.output.screen import Screen
from paddock.jobs.model import Phase, Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, Listing, T
from paddock.kube.errors import ApiError, Unavailable
from paddock.kube.meta import PODS, Manifest, Resource, name_of
from paddock.views.followed import FollowedJob, find_termination_message
from paddock.views.stored import read_stored

WORKER = Rank("worker", 0)
LINES = b"epoch 1  step 100/100  loss 0.5\nHeld-out AUC 0.81\n"
SAID = "Held-out AUC 0.81"


def build_worker(state: dict[str, Any], phase: str, attempt: int = 0) -> Manifest:
    pod = build_pod(build_job(workers=1), WORKER, attempt, None, Settings())
    pod["metadata"]["uid"] = "of-worker-0"
    pod["status"] = {"phase": phase, "containerStatuses": [{"name": "paddle", "state": state}]}
    return pod


RUNNING = build_worker({"running": {}}, "Running")
SUCCEEDED = build_worker({"terminated": {"exitCode": 0, "message": SAID}}, "Succeeded")
GONE = {"metadata": {"namespace": "default", "name": name_of(SUCCEEDED), "uid": "of-worker-0"}}


class Late(Api):
    """The watch of the job says `phase` as soon as the watch of pods has said `told`; a list of the pods has `answer`,
    None for no pod. A log has no end before the pod's end was read."""

    attempt = 0
    """Of the job, by its watch."""

    def __init__(self, told: list[Event], answer: Manifest | ApiError | None, phase: str = "Completed") -> None:
        self.told, self.answer, self.phase = told, answer, phase
        self.lists = 0
        self._told, self._read = asyncio.Event(), asyncio.Event()

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, List) and call.resource == PODS
        self.lists += 1
        self._read.set()
        if isinstance(self.answer, ApiError):
            raise self.answer
        answer: Any = Listing([] if self.answer is None else [self.answer], "1")
        return answer  # type: ignore[no-any-return]

    async def follow(self, resource: Resource, namespace: str = "", **_: str) -> AsyncIterator[Event]:
        if resource == PODS:
            for event in self.told:
                yield event
            self._told.set()
        else:
            await self._told.wait()
            status = {"phase": self.phase, **({"attempt": self.attempt} if self.attempt else {})}
            yield Event("MODIFIED", {**build_manifest(workers=1), "status": status})
        await asyncio.Event().wait()

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        yield LINES[:32]
        if self.told[-1].type == "ADDED" and self.told[-1].object is RUNNING:
            await self._read.wait()
        yield LINES[32:]


async def follow(
    api: Late,
    home: Path,
    *,
    workers: int = 1,
    shows: Callable[[Rank], bool] = lambda _: True,
    container: str = "",
    from_start: bool = False,
    tail: int | None = None,
    patience: float = 180,
    err: io.StringIO | None = None,
) -> tuple[FollowedJob, str]:
    """The view at the end, and all that goes to standard output."""
    out = io.StringIO()
    screen = Screen(Console(file=out), Console(file=err or io.StringIO(), width=200))
    job = read_stored(RESOURCE, build_manifest(workers=workers))
    place = Local(Home(home, home))
    follower = Follower(api, place, job, screen, shows, container=container, from_start=from_start, tail=tail,  # type: ignore[arg-type]
                        patience=patience)  # fmt: skip
    return await asyncio.wait_for(follower.run(), 180), out.getvalue()


@pytest.mark.parametrize("told", [[], [Event("ADDED", RUNNING)]], ids=["nothing", "that it runs"])
async def test_the_end_of_a_rank_that_its_watch_has_not_shown_is_read(told: list[Event], tmp_path: Path) -> None:
    api = Late([Event("SYNCED", {}), *told], SUCCEEDED)
    view, out = await follow(api, tmp_path)
    assert (view.status.phase, find_termination_message(view)) == (Phase.COMPLETED, SAID)
    assert out == LINES.decode()
    assert api.lists == 1


FAILED = build_worker({"terminated": {"exitCode": 1}}, "Failed")


@pytest.mark.parametrize("told", [[], [Event("ADDED", RUNNING)]], ids=["nothing", "that it runs"])
async def test_the_lines_of_a_rank_that_fails_at_once_are_printed(told: list[Event], tmp_path: Path) -> None:
    view, out = await follow(Late([Event("SYNCED", {}), *told], FAILED, "Failed"), tmp_path)
    assert (view.status.phase, out) == (Phase.FAILED, LINES.decode())


@pytest.mark.parametrize("last", [Event("MODIFIED", SUCCEEDED), Event("DELETED", SUCCEEDED), Event("DELETED", GONE)])
async def test_a_rank_whose_end_was_shown_is_not_read_again(last: Event, tmp_path: Path) -> None:
    api = Late([Event("ADDED", RUNNING), last], Unavailable("never asked"))
    view, out = await follow(api, tmp_path)
    assert view.status.phase is Phase.COMPLETED and SAID in out and api.lists == 0


async def test_the_last_words_of_a_rank_that_failed_are_not_those_of_the_completed_job(tmp_path: Path) -> None:
    """An attempt before had failed; its pod's message is the end of its log."""
    failed = build_worker({"terminated": {"exitCode": 1, "message": "Traceback: …"}}, "Failed")
    view, _ = await follow(Late([Event("ADDED", failed), Event("DELETED", failed)], Unavailable("gone")), tmp_path)
    assert (view.status.phase, find_termination_message(view)) == (Phase.COMPLETED, "")


async def test_what_a_rank_wrote_on_purpose_is_progress_of_the_job_as_what_it_printed(tmp_path: Path) -> None:
    """A program that writes its steps alone is not given up as one that never progresses."""
    job = read_stored(RESOURCE, build_manifest(workers=1))
    path = find_file(Home(tmp_path, tmp_path), job.key.namespace, job.key.name, job.uid, "worker-0", 0)
    path.parent.mkdir(parents=True)
    path.write_text('{"step": 7, "loss": 0.5}\n')
    view, _ = await follow(Late([Event("SYNCED", {})], SUCCEEDED), tmp_path)
    progress = view.progress[Rank("worker", 0)]
    assert (progress.step, progress.loss) == (7, 0.5)


@pytest.mark.parametrize("error", [None, Unavailable("the cluster is gone")])
async def test_a_pod_that_cannot_be_read_leaves_the_result(error: ApiError | None, tmp_path: Path) -> None:
    view, _ = await follow(Late([Event("ADDED", RUNNING)], error), tmp_path)
    assert (view.status.phase, view.messages) == (Phase.COMPLETED, {})


AGAIN = build_worker({"terminated": {"exitCode": 0, "message": SAID}}, "Succeeded", attempt=1)
SYNCED, ADDED = Event("SYNCED", {}), Event("ADDED", AGAIN)
CAME_AND_WENT = [Event("ADDED", build_worker({}, "Pending")), Event("DELETED", GONE)]


@pytest.mark.parametrize("told", [[Event("SYNCED", {})], CAME_AND_WENT], ids=["nothing", "that it came and went"])
@pytest.mark.parametrize("shows", [True, False])
async def test_a_rank_whose_pod_nobody_saw_run_has_its_kept_log_printed(
    told: list[Event], shows: bool, tmp_path: Path
) -> None:
    """Of its last attempt, and never that of another run of this name."""
    node = Home(tmp_path, tmp_path).node
    write_log(node, "demo-worker-0", "before", job="another run", text="not this\n")
    for attempt, uid in enumerate(("first", "second")):
        write_log(node, "demo-worker-0", uid, job="0123456789", attempt=attempt, text=f"{uid}\nlast words\n")
    view, out = await follow(Late(told, None), tmp_path, shows=lambda _: shows)
    assert (view.status.phase, out) == (Phase.COMPLETED, "second\nlast words\n" if shows else "")


async def test_a_log_that_was_printed_is_not_printed_again_for_a_pod_that_never_ran(tmp_path: Path) -> None:
    write_log(Home(tmp_path, tmp_path).node, "demo-worker-0", "of-worker-0", job="0123456789", text=LINES.decode())
    unstarted = build_worker({}, "Pending")
    unstarted["metadata"]["uid"] = "of-worker-0-again"
    told = [Event("ADDED", SUCCEEDED), Event("DELETED", SUCCEEDED), Event("ADDED", unstarted)]
    _, out = await follow(Late(told, None, "Failed"), tmp_path)
    assert out == LINES.decode()


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize("told", [[SYNCED, ADDED], [ADDED, SYNCED]], ids=["later", "at once"])
async def test_who_starts_a_job_sees_what_an_attempt_printed_that_was_gone_before_the_first_look(
    told: list[Event], from_start: bool, tmp_path: Path
) -> None:
    """A program that fails at once, on a busy machine. Who follows a job later asks for its present attempt."""
    node = Home(tmp_path, tmp_path).node
    write_log(node, "demo-worker-0", "before", job="another run", text="not this\n")
    write_log(node, "demo-worker-0", "gone", job="0123456789", attempt=0, text="failed at once\n")
    write_log(node, "demo-worker-0", "of-worker-0", job="0123456789", attempt=1, text=LINES.decode())
    _, out = await follow(Late(told, AGAIN), tmp_path, from_start=from_start)
    assert out == ("failed at once\n" if from_start else "") + LINES.decode()


async def test_attempts_that_were_all_gone_before_the_first_look_are_printed_in_their_order(tmp_path: Path) -> None:
    for attempt, uid in enumerate(("first", "second", "third")):
        write_log(
            Home(tmp_path, tmp_path).node, "demo-worker-0", uid, job="0123456789", attempt=attempt, text=f"{uid}\n"
        )
    api = Late([SYNCED], None, "Failed")
    api.attempt = 2
    _, out = await follow(api, tmp_path, from_start=True)
    assert out == "first\nsecond\nthird\n"


async def test_a_first_look_that_fails_keeps_no_line_back(tmp_path: Path) -> None:
    write_log(Home(tmp_path, tmp_path).node, "demo-worker-0", "gone", job="0123456789", text="failed at once\n")
    _, out = await follow(Late([ADDED, SYNCED], Unavailable("busy")), tmp_path, from_start=True)
    assert out == "failed at once\n" + LINES.decode()


class Stalled(Late):
    """A log whose first bytes arrive, and then no more."""

    arrives = 0

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        if self.arrives:
            yield LINES[: self.arrives]
        await asyncio.Event().wait()


CUT = "not all that worker-0 printed was shown, as the cluster did not send it in time: paddock logs demo\n"


@pytest.mark.parametrize("arrives", [0, 7, len(LINES)])
@pytest.mark.parametrize(
    ("told", "answer"),
    [([ADDED], AGAIN), ([Event("ADDED", RUNNING)], SUCCEEDED), ([Event("ADDED", RUNNING)], Unavailable("busy"))],
    ids=["its end was shown", "its end is read", "nobody says that it has ended"],
)
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("shown", [True, False])
async def test_a_stream_that_stalls_at_the_end_is_read_from_the_file_or_told_to_be_cut(
    arrives: int, told: list[Event], answer: Manifest | ApiError, kept: bool, shown: bool, tmp_path: Path
) -> None:
    """As on a busy machine: no bound of seconds loses a line without a word."""
    if kept:
        node = Home(tmp_path, tmp_path).node
        write_log(node, "demo-worker-0", "of-worker-0", job="0123456789", text=LINES.decode())
    api, err = Stalled(told, answer), io.StringIO()
    api.arrives = arrives
    _, out = await follow(api, tmp_path, patience=0, err=err, shows=lambda _: shown)
    printed = LINES if kept else LINES[:arrives]
    assert out.rstrip("\n") == (printed.decode().rstrip("\n") if shown else "")
    assert err.getvalue() == (CUT if shown and not kept else "")


async def test_the_lines_before_now_that_were_not_asked_for_are_not_read_from_the_file(tmp_path: Path) -> None:
    node = Home(tmp_path, tmp_path).node
    write_log(node, "demo-worker-0", "of-worker-0", job="0123456789", text=LINES.decode())
    _, out = await follow(Stalled([ADDED], AGAIN), tmp_path, patience=0, tail=1)
    assert out == LINES.decode().splitlines(keepends=True)[-1]


async def test_a_deleted_pod_has_its_last_lines_printed(tmp_path: Path) -> None:
    _, out = await follow(Late([Event("ADDED", RUNNING)], None), tmp_path)
    assert SAID in out


class OfContainers(Late):
    """Each container's log is its own name."""

    async def stream_log(self, namespace: str, pod: str, *, container: str = "", **_: Any) -> AsyncIterator[bytes]:
        yield f"said by {container}\n".encode()


def beside(kind: str) -> Manifest:
    """The worker with another container, whose state stands under `kind`."""
    pod = deepcopy(SUCCEEDED)
    pod["status"][kind] = [*pod["status"].get(kind, ()), {"name": "metrics", "state": {"running": {}}}]
    return pod


@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses"])
async def test_another_container_of_a_rank_is_followed(kind: str, tmp_path: Path) -> None:
    """Also one of `initContainers`, where native side-cars stand."""
    _, out = await follow(OfContainers([Event("ADDED", beside(kind))], None), tmp_path, container="metrics")
    assert out == "said by metrics\n"


async def test_of_a_rank_that_nobody_saw_run_the_kept_log_of_the_container_is_printed(tmp_path: Path) -> None:
    node = Home(tmp_path, tmp_path).node
    for container in ("paddle", "metrics"):
        write_log(node, "demo-worker-0", "one", container=container, job="0123456789", text=f"said by {container}\n")
    _, out = await follow(Late([Event("SYNCED", {})], None), tmp_path, container="metrics")
    assert out == "said by metrics\n"


class Restarted(Late):
    """Two attempts of the rank one after the other; the first has not ended its last line."""

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        self.streams = getattr(self, "streams", 0) + 1
        yield b"\x1b[31mhalf\x1b[0m\ta" if self.streams == 1 else b"whole\n"


OF_NEXT = deepcopy(SUCCEEDED)
OF_NEXT["metadata"]["uid"] = "of-worker-0-again"
BOTH = [Event("ADDED", SUCCEEDED), Event("DELETED", SUCCEEDED), Event("ADDED", OF_NEXT)]


@pytest.mark.parametrize(
    ("workers", "shows", "printed"),
    [
        (1, lambda rank: True, "\x1b[31mhalf\x1b[0m\ta\nwhole\n"),
        (2, lambda rank: rank == WORKER, "\x1b[31mhalf\x1b[0m\ta\nwhole\n"),
        (2, lambda rank: True, "worker-0 │ \x1b[31mhalf\x1b[0m\ta\nworker-0 │ whole\n"),
        (2, lambda rank: rank != WORKER, ""),
    ],
    ids=["the only one", "one of two", "both of two", "the other"],
)
async def test_the_lines_of_one_rank_are_as_its_attempts_printed_them(
    workers: int, shows: Callable[[Rank], bool], printed: str, tmp_path: Path
) -> None:
    _, out = await follow(Restarted(BOTH, None), tmp_path, workers=workers, shows=shows)
    assert out == printed


NCCL = "Error initializing process group: Distributed package doesn't have NCCL built in"


class Swallowing(Late):
    """The attempts of the rank print these logs."""

    logs: tuple[bytes, ...] = ()

    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        self.streams = getattr(self, "streams", 0) + 1
        yield self.logs[self.streams - 1]


@pytest.mark.parametrize(
    ("logs", "line"),
    [((f"a\nb\n{NCCL}\n".encode(), f"a\n{NCCL}\n".encode()), 2), ((f"{NCCL}\n".encode(), b"trained\n"), None)],
)
async def test_the_error_that_a_rank_swallowed_is_that_of_its_last_attempt(
    logs: tuple[bytes, ...], line: int | None, tmp_path: Path
) -> None:
    api = Swallowing(BOTH, None)
    api.logs = logs
    view, _ = await follow(api, tmp_path)
    assert [error.line for error in view.complaints.values()] == ([line] if line else [])


NOISE = b"LAUNCH INFO 2026-11-20 15:41:36,894 host: None\n"


class Noisy(Late):
    async def stream_log(self, namespace: str, pod: str, **_: Any) -> AsyncIterator[bytes]:
        for line in (NOISE, b"mine\n", b" 10%|#  | 1/9 [00:01<00:09, 2.9it/s]\n"):
            yield line


@pytest.mark.parametrize(
    ("folds", "shown", "said"),
    [
        (True, ["mine", " 10%|#  | 1/9 [00:01<00:09, 2.9it/s]"],
         "(1 line of launchers and libraries is folded: `paddock logs demo --raw` shows it)\n"),
        (False, [NOISE.decode().strip(), "mine", " 10%|#  | 1/9 [00:01<00:09, 2.9it/s]"], ""),
    ],
)  # fmt: skip
async def test_the_script_s_lines_go_to_stdout_and_what_is_folded_is_told_once(
    folds: bool, shown: list[str], said: str, tmp_path: Path
) -> None:
    out, err = io.StringIO(), io.StringIO()
    job = read_stored(RESOURCE, build_manifest(workers=1))
    follower = Follower(
        Noisy([Event("ADDED", SUCCEEDED)], SUCCEEDED),  # type: ignore[arg-type]
        Local(Home(tmp_path, tmp_path)),
        job,
        Screen(Console(file=out), Console(file=err, width=200)),
        lambda _: True,
        folds=folds,
    )
    view = await asyncio.wait_for(follower.run(), 180)
    assert out.getvalue().splitlines() == shown
    assert err.getvalue() == said
    assert view.printed == {"worker-0"}
