"""Ranks that run on machines by ssh: when they are stopped, when the job has ended, and who failed first. Pure.

The rules are those of the operator without restarts: the first failure ends the job, and a parameter server that ends
before the trainers are done has failed. Who failed first is read by the operator's own table (`policies.root_cause`);
peers die within a moment, so ends are collected for `SETTLE_SECONDS` before the rest is stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paddock.jobs.model import Exit, Job, Pod, PodPhase, Rank
from paddock.jobs.policies.root_cause import Death, find_root_cause, read_deaths

SETTLE_SECONDS = 3.0


class State(Enum):
    RUNNING = "running"
    STOPPING = "stopping"  # the rest is being stopped
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class End:
    """How a rank ended."""

    rank: Rank
    code: int | None  # None where its machine was lost
    at: float  # seconds, of any clock
    tail: str = ""  # the end of what it printed
    is_stopped: bool = False  # it was stopped before it ended


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do when a rank has ended."""

    state: State
    stop: frozenset[Rank] = frozenset()  # ranks to stop now
    wake: float | None = None  # when to decide again, if nothing ends meanwhile
    deaths: tuple[Death, ...] = ()  # who failed first, and those that cannot be told from it


def decide(job: Job, ends: Sequence[End], now: float, *, probing: bool = False) -> Decision:
    """What to do after these ends. `job`: with the roles that were rendered (`programs.with_fixed_size`). `probing`: it
    is being asked whether the other machines answer, as peers of a lost machine may fail before ssh gives it up."""
    serving = {rank for role in job.roles if role.serves for rank in role.ranks()}
    ended = {end.rank for end in ends}
    left = frozenset(set(job.ranks()) - ended)
    done = all(rank in ended for rank in job.ranks() if rank not in serving)
    failures = [end for end in ends if not end.is_stopped and (end.code != 0 or (end.rank in serving and not done))]
    if failures:
        deaths = find_first(job, failures, serving)
        settled = min(end.at for end in failures) + SETTLE_SECONDS
        if not left:
            return Decision(State.FAILED, deaths=deaths)
        if probing or now < settled:
            return Decision(State.RUNNING, wake=settled, deaths=deaths)
        return Decision(State.STOPPING, left, deaths=deaths)
    if not done:
        return Decision(State.RUNNING)
    return Decision(State.STOPPING, left) if left else Decision(State.COMPLETED)


def find_first(job: Job, failures: Sequence[End], serving: Collection[Rank]) -> tuple[Death, ...]:
    """The ranks that failed first among those that nobody had stopped."""
    begun = min(end.at for end in failures)
    pods = {end.rank: _as_pod(end, begun) for end in failures}
    early = [pods[end.rank] for end in failures if end.rank in serving and end.code is not None]
    return find_root_cause(read_deaths(job, list(pods.values()), early, (), whole=True))


def _as_pod(end: End, begun: float) -> Pod:
    """The rank as the operator would see its pod. A lost machine is a node that is lost."""
    reason = "NodeLost" if end.code is None else ""
    code = 255 if end.code is None else end.code
    closed = Exit(code, reason, end.tail, finished=end.at - begun)
    return Pod(str(end.rank), str(end.rank), end.rank, 0, PodPhase.FAILED, exit=closed)


def list_lost(ends: Sequence[End], host_of: Mapping[Rank, str]) -> dict[str, list[Rank]]:
    """The machines that were lost, each with its ranks."""
    lost: dict[str, list[Rank]] = {}
    for end in ends:
        if end.code is None and not end.is_stopped:
            lost.setdefault(host_of[end.rank], []).append(end.rank)
    return lost
