"""What an operator on a cluster reads of logs: when, how much, and what follows where it may not or cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import pytest

from jobs.gangs import build_job, build_pods
from paddock.app.cluster_reports import (
    A_SECOND,
    AT_ONCE,
    GRANTED_SECONDS,
    REFUSED_SECONDS,
    RETRY_SECONDS,
    Asked,
    ClusterReports,
    build_line_reader,
)
from paddock.jobs.model import Job, OnSilence, Pod, PodPhase, Report, SilenceLimit
from paddock.kube.errors import ApiError, BadRequest, Forbidden, InternalError, NotFound, Timeout, Unavailable
from paddock.kube.meta import Key

if TYPE_CHECKING:
    from paddock.client.client import Client

LIMIT = 100
WAITS = (
    "[W1125 10:00:00.1 socket.cpp:697] [c10d] The client socket has failed to connect to [host-0]:29500 (errno: "
    "111 - Connection refused)."
)


@dataclass
class Cluster:
    """A clock, logs, and what is asked of them. `may`: what the API server says of the right; an error is raised."""

    workers: int = 2
    may: bool | ApiError = True
    stamps: bool = True
    limit: int = LIMIT
    now: float = 1000.0
    skew: int = 0
    """Seconds by which the clocks of nodes are ahead."""
    logs: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    errors: dict[str, ApiError] = field(default_factory=dict)
    asked: list[tuple[float, Asked]] = field(default_factory=list)
    reviews: list[float] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    most: int = 0
    leads: bool = True
    plain: bool = False
    """A log was asked for without times."""
    pods: tuple[Pod, ...] = ()

    def __post_init__(self) -> None:
        self.gate.set()
        self.job: Job = replace(build_job(workers=self.workers), silence=SilenceLimit(self.limit, OnSilence.RESTART))
        self.pods = self.pods or tuple(build_pods(self.job))
        self.logs = {pod.name: [] for pod in self.pods}
        self.reports = ClusterReports(
            self,  # type: ignore[arg-type]
            self.read,
            "ops",
            may_look=lambda _: self.leads,
            clock=lambda: self.now,
        )

    async def create(self, _resource: Any, review: Any) -> dict[str, Any]:
        asked = review["spec"]["resourceAttributes"]
        assert (asked["verb"], asked["resource"], asked["subresource"]) == ("get", "pods", "log")
        self.reviews.append(self.now)
        if isinstance(self.may, ApiError):
            raise self.may
        return {"status": {"allowed": self.may}}

    async def read(self, asked: Asked, most: int) -> bytes:
        self.asked.append((self.now, asked))
        self.most = max(self.most, len(self.reports.looking))
        await self.gate.wait()
        if error := self.errors.get(asked.pod.name):
            raise error
        if asked.timestamps and not self.stamps:
            raise BadRequest("this node keeps no time for each line of a log, so timestamps are not available")
        self.plain = self.plain or not asked.timestamps
        lines = self.logs[asked.pod.name]
        if asked.since is not None:
            lines = [line for line in lines if line[0] >= self.now - asked.since]
        if asked.since_time:
            lines = [line for line in lines if self.stamp(line[0])[:19] >= asked.since_time[:19]]
        text = "".join(f"{self.stamp(at) if asked.timestamps else ''}{line}\n" for at, line in lines[-asked.tail :])
        return text.encode()[:most]

    def stamp(self, at: float) -> str:
        seconds = int(at) + self.skew
        return f"2026-11-28T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{int(at % 1 * 1e9):09}Z "

    def say(self, line: str, pod: int = 0) -> None:
        self.logs[self.pods[pod].name].append((self.now, line))

    async def turn(self) -> None:
        self.reports.look()
        for _ in range(20):
            await asyncio.sleep(0)

    async def go(self, seconds: float, *, step: float = 0.5, each: Callable[[], None] = lambda: None) -> Report:
        end = self.now + seconds
        while self.now < end:
            self.reports.read_report(self.job, self.pods)
            await self.turn()
            self.now += step
            each()
        report = self.reports.read_report(self.job, self.pods)
        assert report is not None and self.plain <= (not self.stamps)
        return report


@pytest.mark.parametrize("stamps", [True, False], ids=["times", "a node without times"])
async def test_a_silent_gang_is_told_after_its_limit_and_a_line_ends_it(stamps: bool) -> None:
    cluster = Cluster(stamps=stamps)
    cluster.say("step 1")
    early = await cluster.go(LIMIT - 5)
    assert early.quiet < LIMIT and not early.unseen
    late = await cluster.go(35)
    assert late.quiet >= LIMIT
    assert late.stacks is not None and late.stacks.forbidden and late.stacks.written
    cluster.say("step 2", pod=1)
    assert (await cluster.go(15)).quiet < 15


@pytest.mark.parametrize("stamps", [True, False], ids=["times", "a node without times"])
async def test_any_rank_that_prints_answers_for_all(stamps: bool) -> None:
    cluster = Cluster(stamps=stamps, workers=3)

    def print_rarely() -> None:
        if cluster.now % 60 == 0:
            cluster.say("the same words each time", pod=2)

    found = [(await cluster.go(1, each=print_rarely)).quiet for _ in range(6 * LIMIT)]
    assert max(found) < LIMIT


@pytest.mark.parametrize("stamps", [True, False], ids=["times", "a node without times"])
@pytest.mark.parametrize("between", ["", "loss 0.1"], ids=["waits alone", "a line between"])
async def test_a_line_that_says_that_its_process_waits_is_not_heard(stamps: bool, between: str) -> None:
    cluster = Cluster(stamps=stamps)
    cluster.say("begin")

    def wait() -> None:
        if cluster.now % 2 == 0:
            if between and cluster.now % 30 == 0:
                cluster.say(between)
            cluster.say(WAITS)

    quiet = (await cluster.go(2 * LIMIT, each=wait)).quiet
    assert (quiet >= LIMIT) is (not between)


@pytest.mark.parametrize("skew", [-900, 0, 7200])
async def test_a_node_s_clock_ends_no_job_and_saves_none(skew: int) -> None:
    cluster = Cluster(skew=skew, now=40000.0)

    def speak() -> None:
        if cluster.now < 40200 and cluster.now % 10 == 0:
            cluster.say("step")

    assert (await cluster.go(200, each=speak)).quiet < 20
    assert (await cluster.go(LIMIT + 35)).quiet >= LIMIT


async def test_nobody_asks_more_often_than_the_limit_wants_and_never_all_at_once() -> None:
    cluster = Cluster(workers=60)
    cluster.gate.clear()
    await cluster.go(2)
    assert cluster.most <= AT_ONCE
    cluster.gate.set()
    await cluster.go(3 * LIMIT)
    per_second: dict[int, int] = {}
    for at, _ in cluster.asked:
        per_second[int(at)] = per_second.get(int(at), 0) + 1
    assert max(per_second.values()) <= 2 * A_SECOND
    assert len(cluster.asked) <= A_SECOND * 3 * LIMIT + A_SECOND
    looks: dict[str, list[float]] = {}
    for at, asked in cluster.asked:
        looks.setdefault(asked.pod.name, []).append(at)
    gaps = [second - first for times in looks.values() for first, second in pairwise(times)]
    assert min(gaps) >= LIMIT / 10
    assert all(asked.tail == 1 and asked.timestamps for _, asked in cluster.asked)


async def test_a_silence_of_many_ranks_is_told_once_all_were_looked_at() -> None:
    cluster = Cluster(workers=300)
    await cluster.go(40)
    assert len({asked.pod.name for _, asked in cluster.asked}) == len(cluster.pods)
    report = await cluster.go(LIMIT + 70)
    assert report.quiet >= LIMIT
    cluster.say("alive", pod=299)
    assert (await cluster.go(80)).quiet < LIMIT


@pytest.mark.parametrize(
    ("may", "said"),
    [
        (False, "`paddock manifests logs -n ops --jobs-in "),
        (Unavailable("no answer"), "whether this operator may read logs is not known: no answer"),
    ],
    ids=["refused", "not answered"],
)
async def test_without_the_right_nothing_is_read_and_it_is_told(may: bool | ApiError, said: str) -> None:
    cluster = Cluster(may=may)
    report = await cluster.go(3 * LIMIT)
    assert not cluster.asked and report.quiet == 0 and said in report.unseen
    assert len(cluster.reviews) == 3 * LIMIT // REFUSED_SECONDS + 1
    cluster.may = True
    report = await cluster.go(REFUSED_SECONDS + LIMIT + 35)
    assert (report.unseen, report.quiet >= LIMIT) == ("", True)


async def test_an_answer_that_is_lost_takes_no_right_away() -> None:
    cluster = Cluster()
    await cluster.go(GRANTED_SECONDS - 5)
    cluster.may = Unavailable("no answer")
    report = await cluster.go(15)
    assert not report.unseen and report.quiet >= LIMIT
    cluster.may = True
    assert (await cluster.go(2 * RETRY_SECONDS)).unseen == ""
    asked = len(cluster.reviews)
    await cluster.go(GRANTED_SECONDS - 3 * RETRY_SECONDS)
    assert len(cluster.reviews) == asked


async def test_a_right_that_is_taken_away_is_noticed_at_once_and_asked_for_again_after_minutes() -> None:
    cluster = Cluster()
    await cluster.go(2 * GRANTED_SECONDS + 1)
    assert len(cluster.reviews) == 3
    cluster.may = False
    cluster.errors = {pod.name: Forbidden("pods is forbidden") for pod in cluster.pods}
    assert "may not read logs" in (await cluster.go(15)).unseen


@pytest.mark.parametrize(
    "error", [InternalError("no route to the kubelet"), NotFound("pods not found"), BadRequest("is waiting to start")]
)
async def test_a_log_that_cannot_be_read_ends_nothing_and_is_told_after_a_minute(error: ApiError) -> None:
    cluster = Cluster()
    cluster.errors = {cluster.pods[1].name: error}
    report = await cluster.go(4 * LIMIT)
    assert report.quiet == 0
    assert f"the log of {cluster.pods[1].name} cannot be read" in report.unseen and error.message in report.unseen
    cluster.errors = {}
    report = await cluster.go(LIMIT + 35)
    assert (report.unseen, report.quiet >= LIMIT) == ("", True)


async def test_a_log_that_was_read_before_proves_no_more_than_it_did() -> None:
    cluster = Cluster()
    await cluster.go(30)
    cluster.errors = {cluster.pods[1].name: InternalError("no route to the kubelet")}
    assert (await cluster.go(4 * LIMIT)).quiet <= 31


async def test_what_was_silent_before_another_led_proves_nothing() -> None:
    cluster = Cluster()
    assert (await cluster.go(LIMIT + 35)).quiet >= LIMIT
    cluster.leads = False
    cluster.now += 20
    assert (await cluster.go(LIMIT)).quiet == 0
    cluster.leads = True
    cluster.say("it has gone on meanwhile")
    assert (await cluster.go(15)).quiet < LIMIT


async def test_ended_ranks_are_not_read_and_a_new_pod_is_another() -> None:
    cluster = Cluster()
    await cluster.go(LIMIT / 2)
    cluster.pods = (replace(cluster.pods[0], phase=PodPhase.SUCCEEDED), *cluster.pods[1:])
    cluster.asked.clear()
    assert (await cluster.go(LIMIT)).quiet < LIMIT, "it may have printed just before its end"
    assert cluster.pods[0].name not in {asked.pod.name for _, asked in cluster.asked}
    assert (await cluster.go(35)).quiet >= LIMIT
    cluster.pods = (replace(cluster.pods[0], uid="anew", phase=PodPhase.RUNNING), *cluster.pods[1:])
    assert (await cluster.go(5)).quiet < 5


async def test_who_does_not_lead_asks_nothing_and_a_job_that_is_gone_is_forgotten() -> None:
    cluster = Cluster()
    cluster.leads = False
    await cluster.go(LIMIT)
    assert not cluster.asked and not cluster.reviews
    cluster.leads = True
    await cluster.go(20)
    cluster.now += 10 * LIMIT
    cluster.asked.clear()
    await cluster.turn()
    assert not cluster.asked


async def test_a_job_without_a_limit_is_not_looked_at() -> None:
    cluster = Cluster()
    cluster.job = replace(cluster.job, silence=None)
    assert cluster.reports.read_report(cluster.job, cluster.pods) is None
    await cluster.turn()
    assert not cluster.asked and not cluster.reviews


class Endless:
    """A server whose log never ends, or never comes."""

    def __init__(self, *, speaks: bool) -> None:
        self.speaks, self.query = speaks, dict[str, Any]()

    async def stream_log(self, _namespace: str, _pod: str, **query: Any) -> AsyncGenerator[bytes, None]:
        self.query = query
        while True:
            if not self.speaks:
                await asyncio.sleep(60)
            yield b"x" * 1000


async def test_no_log_is_read_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program prints one line of any length, and a node answers as slowly as it likes."""
    monkeypatch.setattr("paddock.app.cluster_reports._READ_SECONDS", 0.05)
    asked, server = Asked(Key("team", "demo"), "paddle"), Endless(speaks=True)
    assert len(await build_line_reader(cast("Client", server))(asked, 4096)) == 4096
    assert (server.query["tail"], server.query["timestamps"], server.query["container"]) == (1, True, "paddle")
    with pytest.raises(Timeout):
        await build_line_reader(cast("Client", Endless(speaks=False)))(asked, 4096)
