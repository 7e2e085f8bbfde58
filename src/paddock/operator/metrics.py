"""What is counted of the operator, and how it reads as Prometheus metrics. docs/operator.md lists them.

`Measures` is what the parts of the operator tell; by itself it keeps nothing, and a laptop's operator has that one.
`Prometheus` keeps it, in a registry of its own. No label names a job: a fleet's jobs come and go, and each would stay
in every scrape for ever. What is known elsewhere, the depth of the queue, is asked when somebody looks.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from paddock.jobs.model import Phase
from paddock.kube.api import Api, Event, Listing, PatchKind
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, Manifest, Resource

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Result = Literal["ok", "conflict", "error", "bug"]
"""How a pass ended: `conflict` is somebody else's write meanwhile, `error` an answer of the API, `bug` ours."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measures:
    """Hears of everything and keeps nothing. Durations in seconds."""

    def look_at(self, depth: Callable[[], int], leads: Callable[[], bool]) -> None:
        """Where to ask for the depth of the queue and for leadership, when somebody looks."""

    def count_job(self, resource: Resource, key: Key, phase: Phase | None) -> None:
        """The phase of a job now; None once it is gone."""

    def passed(self, resource: Resource, result: Result, seconds: float) -> None:
        """A pass over a job of this kind has ended."""

    def waited(self, seconds: float) -> None:
        """A job was taken from the queue that was due so long ago."""

    def requested(self, verb: str, resource: Resource, code: int, seconds: float) -> None:
        """The API answered; 503 also stands for no answer (`kube.errors.Unavailable`)."""

    def watch_ended(self, resource: Resource) -> None:
        """A watch of the API ended and is begun again."""


UNMEASURED = Measures()


class Prometheus(Measures):
    """`registry` holds everything that there is to scrape, with the process's own memory and CPU time."""

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
        self._passes = prometheus.Counter(
            "paddock_passes_total", "Passes over jobs, by how they ended.", ["kind", "result"], registry=registry
        )
        self._pass_seconds = prometheus.Histogram(
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

    def look_at(self, depth: Callable[[], int], leads: Callable[[], bool]) -> None:
        self._depth.set_function(depth)
        self._leader.set_function(lambda: float(leads()))

    def count_job(self, resource: Resource, key: Key, phase: Phase | None) -> None:
        before = self._phases.pop((resource, key), None)
        if before is not None:
            self._jobs.labels(resource.qualified, before).dec()
        if phase is not None:
            now = self._phases[resource, key] = str(phase) or "New"
            self._jobs.labels(resource.qualified, now).inc()

    def passed(self, resource: Resource, result: Result, seconds: float) -> None:
        self._passes.labels(resource.qualified, result).inc()
        self._pass_seconds.labels(resource.qualified).observe(seconds)

    def waited(self, seconds: float) -> None:
        self._wait.observe(seconds)

    def requested(self, verb: str, resource: Resource, code: int, seconds: float) -> None:
        self._requests.labels(verb, resource.qualified, str(code)).inc()
        self._request_seconds.labels(verb, resource.qualified).observe(seconds)

    def watch_ended(self, resource: Resource) -> None:
        self._watches.labels(resource.qualified).inc()

    def scrape(self) -> tuple[bytes, str]:
        """What `/metrics` answers, and its content type (Prometheus' text format)."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self.registry), CONTENT_TYPE_LATEST


class MeasuredApi(Api):
    """The same API, of which every call is told to `measures`. Watches are not calls: they last."""

    def __init__(self, api: Api, measures: Measures, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._measures = measures
        self._clock = clock

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        with _Call(self, "get", resource):
            return await self._api.get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        with _Call(self, "list", resource):
            return await self._api.list(resource, namespace, labels=labels, fields=fields)

    async def create(self, resource: Resource, manifest: Mapping[str, Any], **options: Any) -> Manifest:
        with _Call(self, "create", resource, 201):
            return await self._api.create(resource, manifest, **options)

    async def replace(self, resource: Resource, manifest: Mapping[str, Any], **options: Any) -> Manifest:
        with _Call(self, "update", resource):
            return await self._api.replace(resource, manifest, **options)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        kind: PatchKind = "merge",
    ) -> Manifest:
        with _Call(self, "patch", resource):
            return await self._api.patch(resource, namespace, name, patch, subresource=subresource, kind=kind)

    async def delete(self, resource: Resource, namespace: str, name: str, **options: Any) -> None:
        with _Call(self, "delete", resource):
            await self._api.delete(resource, namespace, name, **options)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)


class _Call:
    """One call, from its beginning to its answer. A call that is cancelled has no answer, and is not counted."""

    def __init__(self, api: MeasuredApi, verb: str, resource: Resource, success: int = 200) -> None:
        self._api, self._verb, self._resource, self._code = api, verb, resource, success

    def __enter__(self) -> None:
        self._begun = self._api._clock()

    def __exit__(self, _type: Any, error: BaseException | None, _trace: Any) -> None:
        if error is None or isinstance(error, ApiError):
            code = self._code if error is None else error.code
            self._api._measures.requested(self._verb, self._resource, code, self._api._clock() - self._begun)
