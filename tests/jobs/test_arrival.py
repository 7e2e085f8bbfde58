"""Statuses arrive in any order: for any ends of a gang, every order and delay within the bound gives one verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.gangs import (
    NOW,
    TEMPLATE,
    build_job,
    build_pods,
    build_status,
    deleting,
    failed,
    observe,
    reason,
    with_pod,
)
from jobs.gangs import succeeded as ended_well
from paddock.jobs.model import Exit, Job, Phase, Pod, PodPhase, Rank, RestartPolicy, Role, Settings
from paddock.jobs.plan import plan
from paddock.jobs.sentences.explain import explain

BOUND = 10
"""Seconds: the longest delay of a status, and from the first status of a gang to the last."""


@dataclass(frozen=True)
class End:
    """How a rank ends; `finished` and `delay` in seconds, from the first second and from its end. `node`: empty for a
    node of the rank's own."""

    code: int
    finished: int
    delay: float
    reason: str = ""
    node: str = ""

    @property
    def arrives(self) -> float:
        return NOW + self.finished + self.delay


@dataclass(frozen=True)
class Outcome:
    phase: Phase
    attempt: int
    restarts: int
    reason: str
    seconds: float
    """From the first status to the verdict."""


def judge(job: Job, ends: Mapping[Rank, End], seconds: float = 400) -> Outcome | None:
    """The verdict of an operator that looks when a status arrives and when it has asked to; None without one."""
    status, now, first = build_status(job), NOW, min((end.arrives for end in ends.values()), default=NOW)
    while now < NOW + seconds:
        pods = tuple(
            replace(
                pod,
                phase=PodPhase.FAILED if end.code or end.reason else PodPhase.SUCCEEDED,
                exit=Exit(end.code, end.reason, "", NOW + end.finished),
                node=end.node or str(pod.rank),
            )
            if (end := ends.get(pod.rank)) and end.arrives <= now
            else replace(pod, node=str(pod.rank))
            for pod in build_pods(job)
        )
        planned = plan(job, status, observe(job, pods), now)
        if planned.status.decisive() != status.decisive():
            found = planned.status
            assert found.cause is not None
            return Outcome(found.phase, found.attempt, found.restarts, found.cause.reason, now - first)
        assert planned.actions == (), "a verdict that waits acts on nothing"
        status = planned.status
        later = [end.arrives for end in ends.values() if end.arrives > now]
        if planned.requeue_after is not None:
            later.append(now + max(planned.requeue_after, 0.001))
        if not later:
            return None
        now = min(later)
    return None


def with_masters(masters: int, restart: RestartPolicy) -> Job:
    job = build_job(restart=restart)
    master = Role("master", masters, TEMPLATE, restart, decides=True, trains=False)
    return replace(job, roles=(master, *(replace(role, decides=False) for role in job.roles)))


jobs = st.one_of(
    st.builds(build_job, ps=st.integers(0, 2), restart=st.sampled_from(RestartPolicy)),
    st.builds(with_masters, st.integers(1, 2), st.sampled_from(RestartPolicy)),
)
codes = st.sampled_from(
    [(0, ""), (0, ""), (0, ""), (1, ""), (137, ""), (139, ""), (137, "OOMKilled"), (250, ""), (-1, "NodeLost")]
)


@st.composite
def two_arrivals(draw: st.DrawFn) -> tuple[Job, dict[Rank, End], dict[Rank, End]]:
    job = draw(jobs)
    first: dict[Rank, End] = {}
    second: dict[Rank, End] = {}
    delays = st.sampled_from([0.0, 0.5, 3.0, 9.0])
    # The ends on one node come in their order, as one kubelet tells of them, with one clock.
    shared = [(node, draw(delays), draw(delays)) for node in ("left", "right")]
    for rank in job.ranks():
        if draw(st.integers(0, 4)):
            (code, reason), finished = draw(codes), draw(st.integers(0, 2 * BOUND))
            node, *both = draw(st.sampled_from([*shared, ("", draw(delays), draw(delays))]))
            for ends, delay in zip((first, second), both, strict=True):
                ends[rank] = End(code, finished, delay, reason, node)
    for ends in (first, second):
        times = [end.arrives for end in ends.values()]
        assume(times and max(times) - min(times) < BOUND)
    return job, first, second


@given(two_arrivals())
def test_every_order_and_delay_of_arrival_gives_the_same_verdict(
    case: tuple[Job, dict[Rank, End], dict[Rank, End]],
) -> None:
    job, first, second = case
    verdicts = [judge(job, ends) for ends in (first, second)]
    one, other = ((each.phase, each.attempt, each.restarts, each.reason) if each else None for each in verdicts)
    assert one == other, verdicts


PS = build_job(ps=2)
WORKERS, SERVERS = [Rank("worker", 0), Rank("worker", 1)], [Rank("ps", 0), Rank("ps", 1)]


@pytest.mark.parametrize("servers", range(BOUND))
@pytest.mark.parametrize("workers", range(BOUND))
def test_all_that_end_with_0_within_ten_seconds_have_succeeded(servers: int, workers: int) -> None:
    """Servers that return, as in the programs of the documents: a worker may be behind them, or its status."""
    ends = {rank: End(0, servers, 0) for rank in SERVERS} | {rank: End(0, workers, 0) for rank in WORKERS}
    verdict = judge(PS, ends)
    assert verdict is not None
    assert (verdict.phase, verdict.seconds) == (Phase.COMPLETED, max(0, workers - servers))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_300_servers_and_300_workers_that_end_within_a_second_have_succeeded_in_any_order(seed: int) -> None:
    job, random = build_job(ps=300, workers=300), Random(seed)
    pods, status, now = {pod.rank: pod for pod in build_pods(job)}, build_status(job), NOW + 1
    for count, rank in enumerate(random.sample(job.ranks(), 600), 1):
        end = Exit(0, "Completed", "", NOW + random.randint(0, 1))
        pods[rank] = replace(pods[rank], phase=PodPhase.SUCCEEDED, exit=end)
        now += 8 / 600
        if count % 20 == 0:  # statuses come in bunches, and a reconcile sees several
            planned = plan(job, status, observe(job, pods.values()), now)
            assert planned.actions == ()
            assert planned.status.phase is (Phase.COMPLETED if succeeded(job, pods) else Phase.RUNNING)
            status = planned.status
            if status.phase.terminal:
                return


def succeeded(job: Job, pods: Mapping[Rank, Pod]) -> bool:
    return all(pods[rank].phase is PodPhase.SUCCEEDED for rank in job.ranks() if rank.role == "worker")


def test_a_server_that_ends_while_workers_go_on_fails_the_job_ten_seconds_later() -> None:
    verdict = judge(PS, {SERVERS[0]: End(0, 0, 0)})
    assert verdict == Outcome(Phase.FAILED, 0, 0, "ServerEnded", 10.0)


def test_a_status_may_come_ten_seconds_after_the_success_of_another_rank() -> None:
    ends = {SERVERS[0]: End(0, 0, 0), SERVERS[1]: End(0, 0, 0), WORKERS[0]: End(0, 8, 0), WORKERS[1]: End(0, 8, 9)}
    assert judge(PS, ends) == Outcome(Phase.COMPLETED, 0, 0, "Completed", 17.0)
    del ends[WORKERS[1]]
    assert judge(PS, ends) == Outcome(Phase.FAILED, 0, 0, "ServerEnded", 18.0)
    ends[WORKERS[0]] = End(0, 9, 3)  # nobody has said by then that the workers were about to end
    assert judge(PS, ends) == Outcome(Phase.FAILED, 0, 0, "ServerEnded", 10.0)


@pytest.mark.parametrize("hours", [2, 24 * 400])
def test_a_clock_that_is_set_back_during_a_wait_begins_it_anew(hours: int) -> None:
    job, ahead = build_job(), NOW + hours * 3600
    pods = with_pod(build_pods(job), "worker-0", failed(1))
    waiting = plan(job, build_status(job), observe(job, pods), ahead)
    begun = plan(job, waiting.status, observe(job, pods), NOW)
    assert begun.status.cause is not None and begun.status.cause.since == NOW
    judged = plan(job, begun.status, observe(job, pods), NOW + 10)
    assert judged.status.phase is Phase.FAILED


def test_a_clock_that_is_set_back_gives_a_master_its_time_anew() -> None:
    pods = tuple(
        replace(pod, phase=PodPhase.SUCCEEDED, exit=Exit(0, "", "", NOW)) if pod.rank.role == "worker" else pod
        for pod in build_pods(MASTERS)
    )
    waiting = plan(MASTERS, build_status(MASTERS), observe(MASTERS, pods), NOW + 7200)
    begun = plan(MASTERS, waiting.status, observe(MASTERS, pods), NOW)
    assert plan(MASTERS, begun.status, observe(MASTERS, pods), NOW + 299).status.phase is Phase.RUNNING
    assert plan(MASTERS, begun.status, observe(MASTERS, pods), NOW + 300).status.phase is Phase.COMPLETED


def test_a_master_is_not_ended_by_a_clock_that_has_jumped() -> None:
    pods = tuple(
        replace(pod, phase=PodPhase.SUCCEEDED, exit=Exit(0, "", "", NOW)) if pod.rank.role == "worker" else pod
        for pod in build_pods(MASTERS)
    )
    waiting = plan(MASTERS, build_status(MASTERS), observe(MASTERS, pods), NOW)
    jumped = plan(MASTERS, waiting.status, replace(observe(MASTERS, pods), clock_off=7200), NOW + 7200)
    assert (jumped.status.phase, jumped.requeue_after) == (Phase.RUNNING, 60.0)


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "deleting"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [(failed(1), "RankFailed"), (failed(137, 0, "Evicted"), "RankFailed")],
    ids=["error", "evicted"],
)
def test_a_failed_pod_that_is_cleared_away_during_the_wait_has_failed_all_the_same(
    gone: bool, change: Callable[[Pod], Pod], reason: str
) -> None:
    job = build_job(workers=3)
    pods = with_pod(build_pods(job), "worker-0", change)
    status = plan(job, build_status(job), observe(job, pods), NOW).status
    left = tuple(pod for pod in pods if str(pod.rank) != "worker-0") if gone else with_pod(pods, "worker-0", deleting)
    for seconds in (3, 6):  # what was seen is kept as long as the wait lasts
        waiting = plan(job, status, observe(job, left), NOW + seconds)
        assert (waiting.status.phase, waiting.actions) == (Phase.RUNNING, ())
        status = waiting.status
    judged = plan(job, status, observe(job, left), NOW + 10).status
    assert (judged.phase, judged.cause and judged.cause.reason, judged.losses) == (Phase.FAILED, reason, 0)


@pytest.mark.parametrize(("node", "awaited"), [("node", ["worker-1"]), ("", None)], ids=["on a node", "not placed"])
def test_a_rank_that_is_pending_is_awaited_once_it_has_a_node(node: str, awaited: list[str] | None) -> None:
    """Its kubelet may have started it, and its end be on its way. One without a node has run nothing."""
    job = build_job()
    pods = with_pod(build_pods(job), "worker-0", failed(1))
    pods = with_pod(pods, "worker-1", lambda pod: replace(pod, phase=PodPhase.PENDING, node=node))
    starting = build_status(job, Phase.STARTING, started=None)
    cause = plan(job, starting, observe(job, pods), NOW).status.cause
    assert cause is not None
    assert cause.args.get("awaited") == awaited
    assert cause.reason == ("WaitingForStatuses" if awaited else "RankFailed")


@pytest.mark.parametrize(("after", "seconds"), [(9, 19.0), (10, 10.0)])
def test_a_success_lengthens_the_wait_only_if_it_came_less_than_ten_seconds_after_the_first_end(
    after: int, seconds: float
) -> None:
    """Of two workers, one is never heard of. At ten seconds the gang has not succeeded, so nobody waits for it."""
    ends = {SERVERS[0]: End(0, 0, 0), SERVERS[1]: End(0, 0, 0), WORKERS[0]: End(0, after, 0)}
    assert judge(PS, ends) == Outcome(Phase.FAILED, 0, 0, "ServerEnded", seconds)


def test_a_server_that_failed_before_its_worker_on_one_node_fails_the_job_though_the_worker_ended_with_0() -> None:
    """Two servers, one worker that does not need the second: it was Completed, and exit code 0."""
    job = build_job(ps=2, workers=1)
    pods = with_pod(build_pods(job), "ps-1", failed(1, 0))
    status = plan(job, build_status(job), observe(job, pods), NOW).status
    assert (status.phase, status.cause and status.cause.reason) == (Phase.RUNNING, "WaitingForStatuses")
    done = with_pod(pods, "worker-0", ended_well(-3))
    for seconds in (3, 9):
        status = plan(job, status, observe(job, done), NOW + seconds).status
        assert status.phase is Phase.RUNNING
    judged = plan(job, status, observe(job, done), NOW + 14).status
    assert judged.phase is Phase.FAILED and judged.cause is not None
    assert explain(judged.cause).startswith("failed: ps-1 ended with exit code 1 before the workers")


def test_a_rank_that_is_lost_during_the_wait_is_the_cause() -> None:
    job = build_job(workers=3)
    pods = with_pod(build_pods(job), "worker-0", failed(250))
    status = plan(job, build_status(job), observe(job, pods), NOW).status
    judged = plan(job, status, observe(job, with_pod(pods, "worker-1", deleting)), NOW + 3).status
    assert (judged.phase, judged.cause and judged.cause.reason) == (Phase.RESTARTING, "PodsDeleted")


@pytest.mark.slow
def test_a_wait_of_8000_ranks_is_a_short_cause() -> None:
    job = build_job(workers=8000)
    pods = with_pod(build_pods(job), "worker-0", failed(1))
    cause = plan(job, build_status(job), observe(job, pods), NOW).status.cause
    assert cause is not None and len(str(cause.args)) < 300
    assert "the ends of 7999 others" in explain(cause)


def test_the_end_of_the_last_rank_ends_the_wait() -> None:
    verdict = judge(build_job(), {WORKERS[0]: End(250, 0, 0), WORKERS[1]: End(137, 3, 0)})
    assert verdict == Outcome(Phase.FAILED, 0, 0, "RankFailed", 3.0)


MASTERS = with_masters(1, RestartPolicy.NEVER)
MASTER = Rank("master", 0)


def test_a_master_has_five_minutes_after_the_workers() -> None:
    workers = {rank: End(0, 0, 0) for rank in WORKERS}
    assert judge(MASTERS, workers) == Outcome(Phase.COMPLETED, 0, 0, "CompletedWithoutMaster", 300.0)
    saved = judge(MASTERS, {**workers, MASTER: End(0, 200, 0)})
    assert saved == Outcome(Phase.COMPLETED, 0, 0, "Completed", 200.0)
    failed = judge(MASTERS, {**workers, MASTER: End(1, 200, 0)})
    assert failed is not None and (failed.phase, failed.reason) == (Phase.FAILED, "RankFailed")


def test_more_than_five_hundred_ranks_that_failed_are_all_remembered() -> None:
    """Those that somebody deletes during the wait have failed: as lost they would make the restart free."""
    job = build_job(ps=0, workers=601)
    failed_alike = tuple(failed(1)(pod) if pod.rank.index < 600 else pod for pod in build_pods(job))
    waits = plan(job, build_status(job), observe(job, failed_alike), NOW)
    assert reason(waits) == "WaitingForStatuses"
    assert waits.status.cause is not None
    assert len(waits.status.cause.args["ranks"]) == 20
    assert waits.status.cause.args["ended"] == {"worker": "0-599"}
    left = observe(job, failed_alike[600:])
    judged = plan(job, waits.status, left, NOW + Settings().status_wait)
    assert reason(judged) == "RankFailed"
