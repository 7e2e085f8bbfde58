"""Metrics of the operator. docs/operator.md lists them.

The parts of the operator report to `Measures`, which discards everything: an operator on a laptop uses it. `Prometheus`
keeps the values in its own registry. No label names a job: each job of the past would stay in every scrape for ever.
Labels that name a namespace are kept as long as it has jobs, and an hour longer (`operator.job_metrics`). The
queue and the leadership are read at each scrape.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, get_args

from paddock.jobs.model import Phase
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import ApiError
from paddock.kube.guard import NotBegun
from paddock.kube.meta import Key, Resource
from paddock.kube.pod_amounts import Amounts
from paddock.operator.job_metrics import JobMetrics
from paddock.operator.resource_time import ResourceTime
from paddock.operator.transitions import Transition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Result = Literal["ok", "conflict", "error", "bug", "lost"]
"""How a reconcile ended: `conflict`: another client wrote meanwhile; `error`: from the API; `bug`: in the operator;
`lost`: with the Lease."""

Renewal = Literal["ok", "conflict", "error"]
"""How an attempt to take or renew the Lease ended: `conflict`: another process was faster."""

Noticed = Literal["sent", "failed", "dropped"]
"""What became of a notice: `failed`: its receiver did not take it, or its routes could not be read; `dropped`: too many
waited."""

_SCRAPE_WAIT = 2.0
"""Seconds that a scrape waits for the operator's event loop; Prometheus waits 10 by default."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measures:
    """Discards what is reported. Durations in seconds."""

    def set_sources(
        self, depth: Callable[[], int], led: Callable[[], int], age: Callable[[], float], shards: int = 1
    ) -> None:
        """Set the functions that a scrape reads: the depth of the queue, how many of the `shards` this process leads
        (all of it is one shard if it is not shared out), and how long the job that is due longest has waited."""

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

    def passed(self, resource: Resource, key: Key, transition: Transition) -> None:
        """A transition of this job was recorded."""

    def set_terms(self, term: Callable[[str], object | None]) -> None:
        """Set the function that tells in which term this process leads a namespace; None where it does not."""

    def held(self, resource: Resource, pod: Key, amounts: Amounts | None) -> None:
        """What a pod of a job of this kind holds of its node from now on; None: nothing."""

    def renewed(self, result: Renewal) -> None:
        """An attempt to take or renew the Lease has ended."""

    def set_loop_age(self, age: Callable[[], float]) -> None:
        """Set the function that a scrape reads, in any thread: how long the operator's event loop has computed without
        a turn."""

    def set_watches(self, silence: Callable[[], float], refused: Callable[[], int]) -> None:
        """Set the functions that a scrape reads, in any thread: how long the watch has been silent that was heard
        longest ago, and how many are refused."""

    def noticed(self, result: Noticed) -> None:
        """A notice of a job that has ended was sent, or was not."""

    def halted(self, resource: Resource, left: Callable[[], float]) -> None:
        """This kind is halted, as the server drops its status; `left`: seconds until a job of it is tried again."""


UNMEASURED = Measures()


class Prometheus(Measures):
    """`registry`: everything to scrape, with memory and CPU time of the process. `clock` in seconds."""

    def __init__(
        self,
        version: str,
        registry: CollectorRegistry | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
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
        self._silence = prometheus.Gauge(
            "paddock_watch_silence_seconds",
            "Since the server sent something on the watch that has been silent longest.",
            registry=registry,
        )
        self._refused = prometheus.Gauge(
            "paddock_watches_refused", "Watches that the server granted and now refuses.", registry=registry
        )
        self._leader = prometheus.Gauge("paddock_leader", "1 while this process leads.", registry=registry)
        self._led = prometheus.Gauge(
            "paddock_shards_led", "Shards that this process leads; without --shards one is all.", registry=registry
        )
        self._shards = prometheus.Gauge(
            "paddock_shards", "Shards that there are, by the setting of this process.", registry=registry
        )
        self._age = prometheus.Gauge(
            "paddock_queue_age_seconds",
            "How long the job that is due longest has waited.",
            registry=registry,
        )
        self._renewals = prometheus.Counter(
            "paddock_lease_renewals_total",
            "Attempts to take or renew the Lease, by how they ended.",
            ["result"],
            registry=registry,
        )
        for result in get_args(Renewal):
            self._renewals.labels(result)
        self._notices = prometheus.Counter(
            "paddock_notices_total",
            "Notices of jobs that ended, for each route, by what became of them.",
            ["result"],
            registry=registry,
        )
        for noticed in get_args(Noticed):
            self._notices.labels(noticed)
        self._halted = prometheus.Gauge(
            "paddock_kind_halted", "1 while the API server drops the status of this kind.", ["kind"], registry=registry
        )
        self._loop_age = prometheus.Gauge(
            "paddock_loop_age_seconds",
            "Since the event loop turned last; below a second unless it computes.",
            registry=registry,
        )
        self._job_metrics = JobMetrics(registry, clock)
        self._resource_time = ResourceTime(clock, lambda _: None, self._job_metrics.hold)
        self._clock = clock
        self._sources: list[tuple[prometheus.Gauge, Callable[[], float]]] = []
        self._halts: dict[Resource, Callable[[], float]] = {}

    def set_sources(
        self, depth: Callable[[], int], led: Callable[[], int], age: Callable[[], float], shards: int = 1
    ) -> None:
        self._sources = [
            (self._depth, depth),
            (self._age, age),
            (self._leader, lambda: led() > 0),
            (self._led, led),
            (self._shards, lambda: shards),
        ]

    def count_job(self, resource: Resource, key: Key, phase: Phase | None) -> None:
        before = self._phases.pop((resource, key), None)
        if before is None and phase is not None:
            self._job_metrics.enter(resource.qualified, key.namespace)
            for result in get_args(Result):  # from 0 on: else Prometheus does not see the first bug
                self._reconciles.labels(resource.qualified, result)
        if before is not None:
            self._jobs.labels(resource.qualified, before).dec()
        if phase is not None:
            now = self._phases[resource, key] = str(phase) or "New"
            self._jobs.labels(resource.qualified, now).inc()
        elif before is not None:
            self._job_metrics.leave(key.namespace)

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

    def passed(self, resource: Resource, key: Key, transition: Transition) -> None:
        self._job_metrics.count(resource.qualified, key.namespace, transition)

    def set_terms(self, term: Callable[[str], object | None]) -> None:
        self._resource_time = ResourceTime(self._clock, term, self._job_metrics.hold)

    def held(self, resource: Resource, pod: Key, amounts: Amounts | None) -> None:
        self._resource_time.note(pod, resource.qualified, amounts)

    def renewed(self, result: Renewal) -> None:
        self._renewals.labels(result).inc()

    def set_loop_age(self, age: Callable[[], float]) -> None:
        self._loop_age.set_function(age)

    def set_watches(self, silence: Callable[[], float], refused: Callable[[], int]) -> None:
        self._silence.set_function(silence)
        self._refused.set_function(refused)

    def noticed(self, result: Noticed) -> None:
        self._notices.labels(result).inc()

    def halted(self, resource: Resource, left: Callable[[], float]) -> None:
        self._halts[resource] = left

    def scrape(self) -> tuple[bytes, str]:
        """The body of `/metrics` (Prometheus' text format) and its content type."""
        for _ in self._read_sources():
            pass
        return self._write()

    async def scrape_from(self, loop: asyncio.AbstractEventLoop) -> tuple[bytes, str]:
        """As `scrape`, for a running loop that need not be `loop`, which has the values. Neither is stopped: with a
        thousand namespaces the text takes seconds. A loop that computes gives no new values, and the old ones are
        told."""

        async def read() -> None:
            for _ in self._read_sources():
                await asyncio.sleep(0)

        reading = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(read(), loop))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SCRAPE_WAIT):
                await asyncio.shield(reading)  # it goes on to its end: else the last namespaces would never be counted
        return await asyncio.to_thread(self._write)

    def _read_sources(self) -> Iterator[None]:
        """In the thread of the operator's event loop, whose values these are, and which may do other things between two
        steps."""
        yield from self._resource_time.advance()
        self._job_metrics.expire()
        for gauge, read in self._sources:
            gauge.set(read())
        for resource, left in self._halts.items():
            self._halted.labels(resource.qualified).set(left() > 0)

    def _write(self) -> tuple[bytes, str]:
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
        except NotBegun:
            raise  # nothing was asked
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
