"""Metrics of the operator. docs/operator.md lists them.

The parts of the operator report to `Measures`, which discards everything: an operator on a laptop uses it. `Prometheus`
keeps the values in its own registry. No label names a job: each job of the past would stay in every scrape for ever.
The depth of the queue and the leadership are read at each scrape.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Literal

from paddock.jobs.model import Phase
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, Resource

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Result = Literal["ok", "conflict", "error", "bug"]
"""How a reconcile ended: `conflict`: another client wrote meanwhile; `error`: from the API; `bug`: in the operator."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measures:
    """Discards what is reported. Durations in seconds."""

    def set_sources(self, depth: Callable[[], int], leads: Callable[[], bool]) -> None:
        """Set the functions that a scrape reads: the depth of the queue, and whether this process leads."""

    def count_job(self, resource: Resource, key: Key, phase: Phase | None) -> None:
        """The phase of a job now; None once it is gone."""

    def reconciled(self, resource: Resource, result: Result, seconds: float) -> None:
        """A reconcile of a job of this kind has ended."""

    def waited(self, seconds: float) -> None:
        """A job was taken from the queue; it was due this long ago."""

    def requested(self, verb: str, resource: Resource, code: int, seconds: float) -> None:
        """The API answered a call; 503 also means no answer (`kube.errors.Unavailable`)."""

    def watch_ended(self, resource: Resource) -> None:
        """A watch ended and is started again."""


UNMEASURED = Measures()


class Prometheus(Measures):
    """`registry`: everything to scrape, with memory and CPU time of the process."""

    def __init__(self, version: str, registry: CollectorRegistry | None = None) -> None:
        import prometheus_client as prometheus

        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # twice as many series, read by nobody
        self.registry = registry = registry or prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        info = prometheus.Info("paddock_build", "Which Paddock this is.", registry=registry)
        info.info({"version": version})
        self._phases: dict[tuple[Resource, Key], str] = {}
        self._jobs = prometheus.Gauge(
            "paddock_jobs", "Jobs by kind and phase; New before the first pass.", ["kind", "phase"], registry=registry
        )
        self._reconciles = prometheus.Counter(
            "paddock_passes_total", "Passes over jobs, by how they ended.", ["kind", "result"], registry=registry
        )
        self._reconcile_seconds = prometheus.Histogram(
            "paddock_pass_duration_seconds", "How long passes took.", ["kind"], buckets=_SECONDS, registry=registry
        )
        self._depth = prometheus.Gauge("paddock_queue_depth", "Jobs that wait for a pass.", registry=registry)
        self._wait = prometheus.Histogram(
            "paddock_queue_wait_seconds",
            "How long jobs waited for a pass that was due.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._requests = prometheus.Counter(
            "paddock_api_requests_total", "API calls.", ["verb", "resource", "code"], registry=registry
        )
        self._request_seconds = prometheus.Histogram(
            "paddock_api_request_duration_seconds",
            "How long API calls took.",
            ["verb", "resource"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._watches = prometheus.Counter(
            "paddock_watch_restarts_total", "Watches that ended and were begun again.", ["resource"], registry=registry
        )
        self._leader = prometheus.Gauge("paddock_leader", "1 while this process leads.", registry=registry)

    def set_sources(self, depth: Callable[[], int], leads: Callable[[], bool]) -> None:
        self._depth.set_function(depth)
        self._leader.set_function(lambda: float(leads()))

    def count_job(self, resource: Resource, key: Key, phase: Phase | None) -> None:
        before = self._phases.pop((resource, key), None)
        if before is not None:
            self._jobs.labels(resource.qualified, before).dec()
        if phase is not None:
            now = self._phases[resource, key] = str(phase) or "New"
            self._jobs.labels(resource.qualified, now).inc()

    def reconciled(self, resource: Resource, result: Result, seconds: float) -> None:
        self._reconciles.labels(resource.qualified, result).inc()
        self._reconcile_seconds.labels(resource.qualified).observe(seconds)

    def waited(self, seconds: float) -> None:
        self._wait.observe(seconds)

    def requested(self, verb: str, resource: Resource, code: int, seconds: float) -> None:
        self._requests.labels(verb, resource.qualified, str(code)).inc()
        self._request_seconds.labels(verb, resource.qualified).observe(seconds)

    def watch_ended(self, resource: Resource) -> None:
        self._watches.labels(resource.qualified).inc()

    def scrape(self) -> tuple[bytes, str]:
        """The body of `/metrics` (Prometheus' text format) and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self.registry), CONTENT_TYPE_LATEST


class MeasuredApi(Api):
    """Reports every call of `api` to `measures`. A watch is not a call: its duration says nothing."""

    def __init__(self, api: Api, measures: Measures, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._measures = measures
        self._clock = clock

    async def send(self, call: Call[T]) -> T:
        started = self._clock()
        try:
            answer = await self._api.send(call)
        except ApiError as error:
            self._count(call, error.code, started)
            raise
        # A cancelled call has no answer and is not counted.
        self._count(call, 201 if isinstance(call, Create) else 200, started)
        return answer

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)

    def _count(self, call: Call[Any], code: int, started: float) -> None:
        self._measures.requested(call.verb, call.resource, code, self._clock() - started)
