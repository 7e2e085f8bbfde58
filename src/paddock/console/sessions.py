"""Sign-in sessions, in memory, each with two random secrets. Pure but for these.

The name is in a cookie, and alone lets in. The place is in each address of the session, and is the path of that cookie.
Cookies know no ports (RFC 6265, 8.5): a browser sends one to every server of the same host, but only below its path, so
another server on this machine gets it from a page whose address it cannot know.

Sessions end with the process, so nothing that lets somebody in is written anywhere. Times are seconds since the epoch.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, replace

from paddock.console.addresses import address_of_session
from paddock.console.backend import Identity
from paddock.console.bounds import MOST_SESSIONS, SESSIONS_OF_ONE, Full, name_reader
from paddock.kube.times import Moment
from paddock.words.phrases import phrase

IDLE_SECONDS = 8 * 3600.0
"""A session that nobody has used for so long is over; an open page uses it."""
LONGEST_SECONDS = 7 * 86_400.0
_PLACE_BYTES, _NAME_BYTES = 16, 32


@dataclass(frozen=True, slots=True)
class Session:
    identity: Identity
    place: str
    name: str
    begun: Moment
    used: Moment

    @property
    def root(self) -> str:
        """Where its pages begin."""
        return address_of_session(self.place)

    def is_over(self, now: Moment) -> bool:
        return now - self.used > IDLE_SECONDS or now - self.begun > LONGEST_SECONDS


class Sessions:
    def __init__(self, of_one: int = SESSIONS_OF_ONE, over_all: int = MOST_SESSIONS) -> None:
        self._of_one, self._over_all = of_one, over_all
        self._sessions: dict[str, Session] = {}
        """By their places."""

    def begin(self, identity: Identity, now: Moment) -> Session:
        """Where the reader has as many as one may have, it takes the room of the one that was used longest ago. Raises
        `Full` where all readers together have as many as there may be: nobody is signed out by another reader."""
        own = [each for each in self._sessions.values() if name_reader(each.identity) == name_reader(identity)]
        if len(own) >= self._of_one:
            del self._sessions[min(own, key=lambda each: each.used).place]
        elif len(self._sessions) >= self._over_all:
            raise Full(503, _NO_ROOM)
        begun = Session(identity, secrets.token_urlsafe(_PLACE_BYTES), secrets.token_urlsafe(_NAME_BYTES), now, now)
        self._sessions[begun.place] = begun
        return begun

    def find(self, place: str, name: str, now: Moment) -> Session | None:
        """The one of this place, for who has its name; None if it is over, or never was. It counts as used."""
        found = self._sessions.get(place)
        if (
            found is None
            or found.is_over(now)
            or not hmac.compare_digest(found.name.encode(), name.encode(errors="surrogateescape"))
        ):
            return None
        found = self._sessions[place] = replace(found, used=now)
        return found

    def end(self, session: Session) -> None:
        self._sessions.pop(session.place, None)

    def end_all(self, identity: Identity) -> None:
        self._sessions = {place: each for place, each in self._sessions.items() if each.identity != identity}

    def prune(self, now: Moment) -> None:
        """Ends those that are over."""
        self._sessions = {place: each for place, each in self._sessions.items() if not each.is_over(now)}

    @property
    def readers(self) -> set[Identity]:
        return {each.identity for each in self._sessions.values()}


_NO_ROOM = phrase(
    "so many readers are signed in that there is no room for another one: try again later, or ask one of them to sign "
    "out. Who is signed in notices nothing"
)
