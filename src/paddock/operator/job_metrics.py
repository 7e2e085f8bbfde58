"""Metrics of what jobs go through, by namespace and kind: starts, restarts, ends, and what their pods have held. They
outlive the jobs.

The counters of a namespace are there, at 0, from its first job on: Prometheus does not see the first increment of a
series that begins with it. All its series go an hour after its last job, so their number is bounded by the namespaces
that have jobs. Prometheus keeps what it has scraped; a namespace that comes back begins at 0, as after a restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paddock.jobs import causes
from paddock.jobs.model import Phase
from paddock.operator.transitions import Finished, Ran, Restarted, Transition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

KEPT_SECONDS = 3600.0
"""How long the series of a namespace without jobs are kept: many scrapes, so that none of its counts is missed."""

MOST_NAMESPACES = 5_000
"""Of which what pods hold is counted one by one; what those of others hold is counted as of `OTHERS`."""
OTHERS = "_others"
"""No namespace has this name (RFC 1123)."""

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TO_RUNNING = (1.0, 2.5, 5.0, 10.0, 30.0, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR)
_DURATION = (
    10.0, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 3 * _DAY, 7 * _DAY,
)  # fmt: skip

ENDS: tuple[tuple[Phase, type[causes.Cause]], ...] = (
    (Phase.COMPLETED, causes.Completed),
    (Phase.COMPLETED, causes.CompletedServersKept),
    (Phase.COMPLETED, causes.CompletedWithoutMaster),
    (Phase.COMPLETED, causes.CompletedWithoutWorkers),
    (Phase.COMPLETED, causes.CompletedWithoutContainers),
    (Phase.FAILED, causes.RankFailed),
    (Phase.FAILED, causes.ServerEnded),
    (Phase.FAILED, causes.SilentFailed),
    (Phase.FAILED, causes.BackoffLimitExceeded),
    (Phase.FAILED, causes.DeadlineExceeded),
    (Phase.FAILED, causes.Cancelled),
    (Phase.FAILED, causes.LostTooOften),
)
"""How jobs end. Another cause is counted all the same; its series does not begin at 0."""

_Labels = tuple[str, ...]


class JobMetrics:
    """`clock` in seconds."""

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float]) -> None:
        import prometheus_client as prometheus

        self._clock = clock
        self._jobs: Counter[str] = Counter()
        self._empty_since: dict[str, float] = {}
        self._kinds: dict[str, set[str]] = {}
        self._series: dict[str, set[tuple[Any, _Labels]]] = {}
        by_job = ["namespace", "kind"]
        self._finished = prometheus.Counter(
            "paddock_jobs_finished_total",
            "Jobs that have ended, by phase and cause.",
            [*by_job, "outcome", "reason"],
            registry=registry,
        )
        self._restarts = prometheus.Counter(
            "paddock_job_restarts_total",
            "New attempts of jobs by their cause, and whether they count towards backoffLimit.",
            [*by_job, "cause", "counted"],
            registry=registry,
        )
        self._to_running = prometheus.Histogram(
            "paddock_job_time_to_running_seconds",
            "From the creation or resumption of a job until all its ranks first ran.",
            by_job,
            buckets=_TO_RUNNING,
            registry=registry,
        )
        self._duration = prometheus.Histogram(
            "paddock_job_duration_seconds",
            "From when all ranks of a job first ran until its end.",
            [*by_job, "outcome"],
            buckets=_DURATION,
            registry=registry,
        )
        self._held = prometheus.Counter(
            "paddock_resource_seconds_total",
            "What pods of jobs held of their nodes, by their requests, times seconds: cores, bytes, devices, pods.",
            [*by_job, "resource"],
            registry=registry,
        )

    def enter(self, kind: str, namespace: str) -> None:
        """The namespace has one more job."""
        self._jobs[namespace] += 1
        self._empty_since.pop(namespace, None)
        if kind in self._kinds.setdefault(namespace, set()):
            return
        self._kinds[namespace].add(kind)
        for phase, cause in ENDS:
            self._labels(self._finished, namespace, kind, phase, cause.__name__)
        for reason in causes.NEW_ATTEMPT_REASONS:
            # Only what the program did counts towards backoffLimit.
            self._restarted(namespace, kind, reason, issubclass(causes.CAUSES[reason], causes.Failure))

    def leave(self, namespace: str) -> None:
        """The namespace has one job less."""
        self._jobs[namespace] -= 1
        if not self._jobs[namespace]:
            del self._jobs[namespace]
            self._empty_since[namespace] = self._clock()

    def count(self, kind: str, namespace: str, transition: Transition) -> None:
        if namespace not in self._jobs:
            self._empty_since.setdefault(namespace, self._clock())
        match transition:
            case Ran(seconds):
                self._labels(self._to_running, namespace, kind).observe(seconds)
            case Restarted(cause, counted):
                self._restarted(namespace, kind, cause, counted).inc()
            case Finished(outcome, reason, seconds):
                self._labels(self._finished, namespace, kind, outcome, reason).inc()
                if seconds is not None:
                    self._labels(self._duration, namespace, kind, outcome).observe(seconds)

    def hold(self, namespace: str, kind: str, resource: str, held: float) -> None:
        """Pods of this kind of job have held so much of a resource, times seconds."""
        shown = namespace if namespace in self._series or len(self._series) < MOST_NAMESPACES else OTHERS
        if shown == namespace and namespace not in self._jobs:
            self._empty_since.setdefault(namespace, self._clock())
        self._labels(self._held, shown, kind, resource).inc(held)

    def expire(self) -> None:
        """Remove the series of namespaces that have had no job for long."""
        long_ago = self._clock() - KEPT_SECONDS
        for namespace in [name for name, since in self._empty_since.items() if since <= long_ago]:
            del self._empty_since[namespace]
            self._kinds.pop(namespace, None)
            for metric, labels in self._series.pop(namespace, ()):
                metric.remove(*labels)

    def _restarted(self, namespace: str, kind: str, cause: str, counted: bool) -> Any:
        return self._labels(self._restarts, namespace, kind, cause, str(counted).lower())

    def _labels(self, metric: Any, namespace: str, *others: str) -> Any:
        labels = (namespace, *map(str, others))
        self._series.setdefault(namespace, set()).add((metric, labels))
        return metric.labels(*labels)
