"""What the server tells of itself: GET /metrics for Prometheus, and GET /paddock/status for `paddock status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from paddock.apiserver.storage.store import Store
from paddock.controllers.heartbeat import KEPT_MINUTES, Heartbeat

_MOST_DAMAGED = 100

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class SelfReport:
    """`heartbeat` is run by the server while it serves."""

    def __init__(self, store: Store) -> None:
        self.heartbeat = Heartbeat()
        self._store = store
        self._registry: CollectorRegistry | None = None

    def find(self, request: web.Request) -> web.Response | None:
        """The answer to a GET of one of its paths, else None."""
        if request.path == "/metrics":
            return self._answer_metrics()
        if request.path == "/paddock/status":
            body = msgspec.json.encode(self.read_status())
            return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-cache"})
        return None

    def read_status(self) -> dict[str, Any]:
        """`longestStall`: seconds for which the event loop ran nothing else, at most, in the last `minutes`; `damaged`:
        the objects that were set aside in the file `store`, and whether there is another one of this name now."""
        store = self._store
        return {
            "longestStall": round(self.heartbeat.longest_delay(), 3),
            "minutes": KEPT_MINUTES,
            "store": str(store.path),
            "damaged": [
                {"object": f"{one!s:.200}", "why": f"{one.why:.200}", "replaced": store.get(*one[:3]) is not None}
                for one in store.damaged[:_MOST_DAMAGED]
            ],
            "damagedCount": len(store.damaged),
        }

    def _answer_metrics(self) -> web.Response:
        # Only a process that is scraped loads the library, which takes some megabytes.
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        self._registry = self._registry or self._build_registry()
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _build_registry(self) -> CollectorRegistry:
        import prometheus_client as prometheus

        registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        prometheus.Gauge(
            "paddock_event_loop_longest_stall_seconds",
            f"For how long the event loop ran nothing else, at most, in the last {KEPT_MINUTES} minutes.",
            registry=registry,
        ).set_function(self.heartbeat.longest_delay)
        prometheus.Gauge(
            "paddock_store_damaged_objects",
            "Objects of the store that could not be read and were set aside.",
            registry=registry,
        ).set_function(lambda: float(len(self._store.damaged)))
        return registry
