"""An informer: a mirror of one resource, kept up to date by `Api.follow`, and a handler of relevant changes.

The mirror may be behind the API server: confirm an absence by a live GET. `controllers.cache` needs less memory on a
fleet, and has own writes at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from paddock.controllers.mirror import Change, Mirror
from paddock.controllers.reflector import Reflector
from paddock.kube.api import Api, Event
from paddock.kube.meta import Manifest, Resource

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Informer(Reflector, Generic[T]):
    """`on_change` gets a change only if `read` returns another value than before."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        read: Callable[[Manifest], T],
        on_change: Callable[[Change[T]], None],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        optional: bool = False,
        on_synced: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            api,
            resource,
            self._mirror_event,
            namespace,
            labels=labels,
            fields=fields,
            optional=optional,
            on_synced=on_synced,
        )
        self.mirror = Mirror(read)
        self._on_change = on_change

    def _mirror_event(self, event: Event) -> None:
        change = self.mirror.take(event)
        if change.problem is not None:
            _log.warning("%s %s is left out: %s", self.resource.kind, change.key, change.problem)
        if change.matters:
            self._on_change(change)

    def _clear(self) -> None:
        for change in self.mirror.clear():
            self._on_change(change)
