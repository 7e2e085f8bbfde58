"""What the watches of a client are like: how long each has been silent, and which the server refuses.

A follower goes on whatever happens (`client.client`), so nothing else tells that it is blind: it hears of no change
while its server is dead, or the right to watch has been taken away. Any thread may ask.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.kube.meta import Resource


@dataclass(eq=False, slots=True)
class Watch:
    """The watch of one follower, and of those that it begins after it."""

    resource: Resource
    namespace: str
    heard: float
    """When its server last sent something, by a monotonic clock."""
    refused_since: float | None = None
    """Since when the server refuses what it once granted, by a monotonic clock."""
    why: str = ""
    """The server's answer."""


class Watches:
    """`on_end` is called after every watch that is started again. `on_refusal` gets each refusal, and None when a
    refused one is granted again."""

    def __init__(
        self,
        *,
        on_end: Callable[[Resource], None] = lambda _: None,
        on_refusal: Callable[[Watch, ApiError | None], None] = lambda watch, error: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_end = on_end
        self._on_refusal = on_refusal
        self._clock = clock
        self._watches: set[Watch] = set()

    def silence(self) -> float:
        """Seconds since the watch that has been silent longest was heard; 0 without any. A server sends at least a
        bookmark a minute."""
        return max((self._clock() - watch.heard for watch in tuple(self._watches)), default=0.0)

    def refused(self, seconds: float = 0.0) -> list[Watch]:
        """The watches that have been refused for so long."""
        begun = self._clock() - seconds
        return [each for each in tuple(self._watches) if each.refused_since is not None and each.refused_since <= begun]

    # For who follows.

    def add(self, resource: Resource, namespace: str) -> Watch:
        watch = Watch(resource, namespace, self._clock())
        self._watches.add(watch)
        return watch

    def remove(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def hear(self, watch: Watch) -> None:
        """The server has answered, or sent something."""
        watch.heard = self._clock()
        if watch.refused_since is not None:
            watch.refused_since, watch.why = None, ""
            self._on_refusal(watch, None)

    def end(self, watch: Watch, error: ApiError | None) -> None:
        """Its last watch has ended, or the list before the next; another begins."""
        if isinstance(error, Forbidden | Unauthorized):
            watch.why = error.message
            watch.refused_since = self._clock() if watch.refused_since is None else watch.refused_since
            self._on_refusal(watch, error)
        self._on_end(watch.resource)
