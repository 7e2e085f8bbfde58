"""What an operator reads beside its API: clocks, the ports of its machine, and the programs that run there.

On a laptop the operator sits beside the node and sees all of it. On a cluster it sees the clocks, and when programs
have printed last if it may read logs (`app.cluster_reports`). What it does not see it does not guess: the defaults say
so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from paddock.jobs.model import Job, JobProgress, Pod, Report, Status
from paddock.kube.meta import Key, Resource
from paddock.kube.times import Moment


class Programs(Protocol):
    """What the node tells of the programs that it runs. Any thread may read."""

    def read_report(self, job: Job, pods: Sequence[Pod]) -> Report | None:
        """When the gang of a job with `silence` has printed last, by its pods; None where nobody sees them run."""
        ...

    def read_progress(self, job: Job, attempt: int, pods: Sequence[Pod]) -> JobProgress | None:
        """How far a gang is, by its pods; None where none tells."""
        ...

    def take_stacks(self, pods: Mapping[str, str]) -> None:
        """Begins to write the stacks of these pods into their logs (`policies.silent_job`). `pods`: the rank of each,
        by its UID. Returns at once."""
        ...


class UnseenPrograms:
    """Of pods whose logs nobody reads."""

    def read_report(self, job: Job, pods: Sequence[Pod]) -> Report | None:
        return None

    def read_progress(self, job: Job, attempt: int, pods: Sequence[Pod]) -> JobProgress | None:
        return None

    def take_stacks(self, pods: Mapping[str, str]) -> None:
        return None


class GpuWatch(Protocol):
    """Who looks whether the GPUs of jobs work (`app.idle_jobs`). Any thread may tell it."""

    def note(self, job: Job, status: Status, pods: Sequence[Pod]) -> None:
        """A job as it is now, most of which have no annotation `paddock.dev/idle`. Returns at once."""
        ...

    def forget(self, resource: Resource, key: Key) -> None:
        """The job is gone, or another operator's."""
        ...


class NoGpuWatch:
    """Nobody looks."""

    def note(self, job: Job, status: Status, pods: Sequence[Pod]) -> None:
        return None

    def forget(self, resource: Resource, key: Key) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Readings:
    """One value for all parts of an operator."""

    clock: Callable[[], Moment] = time.time
    """Seconds since the epoch by the API server (`controllers.clock`)."""
    clock_off: Callable[[], float] = lambda: 0.0
    """Seconds by which the readings of that clock disagree, or 0."""
    steady: Callable[[], float] = time.monotonic
    """The clock of delays, in seconds; it must be the event loop's."""
    taken_ports: Callable[[], frozenset[int]] = frozenset
    """Ports that this machine listens on; asked only where pods share its network."""
    programs: Programs = field(default_factory=UnseenPrograms)
    gpus: GpuWatch = field(default_factory=NoGpuWatch)
