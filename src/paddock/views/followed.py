"""The state of a job that is being followed, from its status, its pods and their logs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import Job, Phase, Rank, Status
from paddock.kube.times import Moment
from paddock.logs.complaints import Complaint, is_echo
from paddock.logs.progress import Progress
from paddock.logs.swallowed import LAUNCHER, find_doubted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FollowedJob:
    """A job as its follower has seen it."""

    job: Job
    status: Status
    submitted: Moment
    """Measured by the follower, as the API's times are whole seconds."""
    ended: Moment | None = None
    """Measured by the follower."""
    progress: Mapping[Rank, Progress] = field(default_factory=dict)
    messages: Mapping[Rank, str] = field(default_factory=dict)
    """The termination message of each rank."""
    complaints: Mapping[Rank, Complaint] = field(default_factory=dict)
    """The error that the program of a rank has printed and not recovered from (`logs.swallowed`)."""
    ends: Mapping[Rank, Complaint] = field(default_factory=dict)
    """The error in which the log of a rank ends."""
    printed: frozenset[str] = frozenset()
    """The ranks, as `worker-0`, whose last lines a reader has just seen."""

    @property
    def seconds(self) -> float:
        """Seconds from the submission to the end; 0 before the end."""
        return max(0.0, (self.ended or self.submitted) - self.submitted)


def with_status(view: FollowedJob, status: Status, now: Moment) -> FollowedJob:
    """The view with the job's newest status. One that has ended stays as it is: clean-up changes the counts later."""
    if view.ended is not None:
        return view
    return replace(view, status=status, ended=now if status.phase.terminal else None)


def _first_trainer(view: FollowedJob, known: Mapping[Rank, T]) -> Rank | None:
    """The first rank in `known` that trains. It represents all, as the ranks of a gang train in step."""
    training = {role.name for role in view.job.roles if role.trains}
    return min((rank for rank in known if rank.role in training), default=None)


def find_progress(view: FollowedJob) -> Progress | None:
    """The progress of the job: that of its first rank that trains."""
    rank = _first_trainer(view, view.progress)
    return view.progress[rank] if rank else None


def find_termination_message(view: FollowedJob) -> str:
    """The termination message of the first rank that trains, on one line."""
    rank = _first_trainer(view, view.messages)
    return " ".join(view.messages[rank].split())[:300] if rank else ""


def find_last_error(view: FollowedJob) -> tuple[Rank, Complaint] | None:
    """The error in which the log of a completed job ends, first one of which its launcher tells."""
    if view.status.phase is not Phase.COMPLETED:
        return None
    training = {role.name for role in view.job.roles if role.trains}
    ends = [(rank, error) for rank, error in view.ends.items() if rank.role in training]
    return min(ends, key=lambda each: (each[1].kind != LAUNCHER, is_echo(each[1].text), each[0]), default=None)


def read_view_code(view: FollowedJob) -> int:
    """The exit code of a command that followed the job to its end: 1 also where its launcher said that a process
    failed, and its shell did not."""
    last = find_last_error(view)
    return read_exit_code(view.status.phase, view.status.cause) or int(last is not None and last[1].kind == LAUNCHER)


def find_caught_error(view: FollowedJob) -> tuple[Rank, Complaint] | None:
    """The error in the log of a completed job, which its program caught: it may have trained nothing."""
    if view.status.phase is not Phase.COMPLETED:
        return None
    training = {role.name for role in view.job.roles if role.trains}
    errors = {rank: error for rank, error in view.complaints.items() if rank.role in training}
    rank = find_doubted(errors, [rank for rank in view.progress if rank.role in training])
    return (rank, errors[rank]) if rank else None
