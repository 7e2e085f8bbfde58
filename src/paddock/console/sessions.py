"""Who has signed in with a token: sessions in memory, each with a random name that the browser keeps. Pure but for it.

They end with the process, so nothing that lets somebody in is written anywhere. Times are seconds since the epoch.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from paddock.console.world import Identity
from paddock.kube.times import Moment

IDLE_SECONDS = 8 * 3600.0
"""A session that nobody has used for so long is over; an open page uses it."""
LONGEST_SECONDS = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class _Session:
    identity: Identity
    begun: Moment
    used: Moment

    def is_over(self, now: Moment) -> bool:
        return now - self.used > IDLE_SECONDS or now - self.begun > LONGEST_SECONDS


class Sessions:
    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def begin(self, identity: Identity, now: Moment) -> str:
        """Its name."""
        name = secrets.token_urlsafe(32)
        self._sessions[name] = _Session(identity, now, now)
        return name

    def find(self, name: str, now: Moment) -> Identity | None:
        """Whose it is; None if it is over, or never was. It counts as used."""
        found = self._sessions.get(name)
        if found is None or found.is_over(now):
            return None
        self._sessions[name] = replace(found, used=now)
        return found.identity

    def end(self, name: str) -> Identity | None:
        """The reader whose last session it was."""
        found = self._sessions.pop(name, None)
        return found.identity if found and found.identity not in self.readers else None

    def end_all(self, identity: Identity) -> None:
        self._sessions = {name: each for name, each in self._sessions.items() if each.identity != identity}

    def prune(self, now: Moment) -> set[Identity]:
        """The readers whose last session is over."""
        before = self.readers
        self._sessions = {name: each for name, each in self._sessions.items() if not each.is_over(now)}
        return before - self.readers

    @property
    def readers(self) -> set[Identity]:
        return {each.identity for each in self._sessions.values()}
