"""Follows one resource and hands each event to a store: client-go's reflector.

`Informer` and `Cache` are reflectors with their own store. `Api.follow` resumes broken watches.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable

from paddock.kube.api import Api, Event
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CRDS, Resource, key_of
from paddock.kube.times import exponential_backoff

_UNSERVED_SECONDS = 5.0, 300.0
"""Until a kind that is not served is tried again, at first and after many tries, unless a CustomResourceDefinition
changes before."""

_log = logging.getLogger(__name__)


class Reflector:
    """`take` gets each ADDED, MODIFIED and DELETED event, also before `synced` is set; `on_synced` is called once then.

    An event on which `take` raises is logged and skipped. An `optional` kind that is not served has no objects and is
    tried again later. `on_listed` is called each time all objects are known, so also when a kind is served again.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        take: Callable[[Event], None],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        optional: bool = False,
        on_synced: Callable[[], None] = lambda: None,
        on_listed: Callable[[], None] = lambda: None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self._api = api
        self._take = take
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._optional = optional
        self._on_synced = on_synced
        self._on_listed = on_listed
        self._definition_changed = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled. Raises the errors of `Api.follow`: the kind is not served, or forbidden."""
        tries = 0
        while True:
            self._definition_changed.clear()
            try:
                await self._follow()
                return
            except NotFound:
                if not self._optional:
                    raise
            self._clear()
            self._set_synced()
            tries += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(exponential_backoff(tries, *_UNSERVED_SECONDS)):
                    await self._definition_changed.wait()
                    tries = 0

    def on_definition_change(self) -> None:
        """A CustomResourceDefinition has changed, so an optional kind may be served now."""
        self._definition_changed.set()

    async def _follow(self) -> None:
        events = self._api.follow(self.resource, self._namespace, labels=self._labels, fields=self._fields)
        async for event in events:
            if event.type == "SYNCED":
                self._on_listed()
                self._set_synced()
            else:
                self._take_and_log_errors(event)

    def _take_and_log_errors(self, event: Event) -> None:
        try:
            self._take(event)
        except Exception:
            what = (self.resource.plural, key_of(event.object), event.type)
            _log.exception("%s %s: %s was not understood; this is a bug", *what)

    def _set_synced(self) -> None:
        if not self.synced.is_set():
            self.synced.set()
            self._on_synced()

    def _clear(self) -> None:
        """Remove all objects from the store: the kind is not served."""


async def follow_definitions(api: Api, reflectors: Iterable[Reflector]) -> None:
    """Calls `on_definition_change` at each change of a CustomResourceDefinition, so optional kinds are found as soon as
    they are served. Runs until cancelled."""
    reflectors = tuple(reflectors)
    try:
        async for _ in api.follow(CRDS):
            for reflector in reflectors:
                reflector.on_definition_change()
    except (NotFound, Forbidden) as error:
        _log.info("a kind whose CRD is installed later is found within five minutes, as CRDs are hidden: %s", error)
