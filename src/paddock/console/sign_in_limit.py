"""How often somebody may try to sign in: so many tries in a minute from one address, and from all of them. Pure.

A try counts until it has proved right. The bounds are for those who try: no session is asked for them, so nobody who is
signed in can be kept out by the tries of others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from paddock.kube.times import Moment
from paddock.serving.addresses import name_owner
from paddock.words.phrases import Phrase, counted

PER_PEER = 10
OVER_ALL = 100
PER_SECONDS = 60.0


class TooManySignIns(Exception):
    """`seconds`: after which the next try is taken."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"wait {seconds} s")
        self.seconds = seconds

    @property
    def said(self) -> Phrase:
        return counted(
            "too many tries to sign in: wait {count} second, then try again. Who is signed in is not held up",
            "too many tries to sign in: wait {count} seconds, then try again. Who is signed in is not held up",
            count=self.seconds,
        )


@dataclass(frozen=True, slots=True)
class _Level:
    """Tries that were counted. They run out evenly, so many in `PER_SECONDS`."""

    tries: float = 0.0  # at the moment `at`
    at: Moment = 0.0  # when they were counted

    def left(self, now: Moment, most: int) -> float:
        return max(0.0, self.tries - (now - self.at) * most / PER_SECONDS)


class SignInLimit:
    """`clock`: seconds that never go back."""

    def __init__(
        self, per_peer: int = PER_PEER, over_all: int = OVER_ALL, clock: Callable[[], Moment] = time.monotonic
    ) -> None:
        self._per_peer, self._over_all, self._clock = per_peer, over_all, clock
        self._all = _Level()
        self._peers: dict[str, _Level] = {}

    def take(self, peer: str) -> None:
        """Counts a try. Raises `TooManySignIns`, and then counts none: who waits is let in."""
        now = self._clock()
        own = self._peers.get(peer, _Level()).left(now, self._per_peer)
        every = self._all.left(now, self._over_all)
        wait = max(_wait(own, self._per_peer), _wait(every, self._over_all))
        if wait > 0:
            raise TooManySignIns(math.ceil(wait))
        self._peers = {name: level for name, level in self._peers.items() if level.left(now, self._per_peer) > 0}
        self._peers[peer] = _Level(own + 1, now)
        self._all = _Level(every + 1, now)

    def give_back(self, peer: str) -> None:
        """The try was right: it does not count."""
        now = self._clock()
        own = self._peers.get(peer, _Level()).left(now, self._per_peer)
        self._peers[peer] = _Level(max(0.0, own - 1), now)
        self._all = _Level(max(0.0, self._all.left(now, self._over_all) - 1), now)


def _wait(tries: float, most: int) -> float:
    """Seconds until one more is within bounds."""
    return (tries + 1 - most) * PER_SECONDS / most


def name_peer(remote: str, forwarded: str = "") -> str:
    """The peer that tries: the owner of the connection's address, or of the last one of `forwarded` (X-Forwarded-For),
    which the nearest proxy wrote, where it is believed. Empty for what is no address."""
    return name_owner(forwarded.rpartition(",")[2].strip()) or name_owner(remote)
