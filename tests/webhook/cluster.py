"""A cluster that has the webhook's configuration and nothing else."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from paddock.install.deployment import Installation
from paddock.install.webhook import CONFIGURATIONS, NAME, build_webhook
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Get, Replace, T
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import Manifest, Resource
from paddock.webhook.keeper import read_bundle

SHIPPED = build_webhook(Installation(watched=()))
START = datetime(2026, 11, 20, tzinfo=UTC)


class Cluster(Api):
    """Serves one configuration, by resourceVersion. `before_write` is called before each write."""

    def __init__(self) -> None:
        self.stored: Manifest | None = {**copy.deepcopy(SHIPPED[-1])}
        self.stored["metadata"]["resourceVersion"] = "1"
        self.writes = 0
        self.before_write: Callable[[], Awaitable[None]] | None = None

    async def send(self, call: Call[T]) -> T:
        assert call.resource == CONFIGURATIONS
        if self.stored is None or call.name != NAME:
            raise NotFound("there is none")
        if isinstance(call, Replace):
            if self.before_write is not None:
                await self.before_write()
            if call.manifest["metadata"]["resourceVersion"] != self.stored["metadata"]["resourceVersion"]:
                raise Conflict("it has changed")
            self.write(copy.deepcopy(dict(call.manifest)))
            self.writes += 1
        else:
            assert isinstance(call, Get)
        return copy.deepcopy(self.stored)  # type: ignore[return-value]

    def write(self, manifest: Manifest) -> None:
        manifest["metadata"]["resourceVersion"] = str(int(self.stored["metadata"]["resourceVersion"]) + 1)
        self.stored = manifest

    def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        raise NotImplementedError

    @property
    def client(self) -> dict[str, Any]:
        found: dict[str, Any] = self.stored["webhooks"][0]["clientConfig"]
        return found

    @property
    def bundle(self) -> str:
        return read_bundle(self.client.get("caBundle"))
