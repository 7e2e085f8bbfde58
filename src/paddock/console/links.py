"""Sign-in by a link, for the one reader of a laptop: each link once, each session until it is ended or over.

Nothing is kept of who is in: links and sessions are signed. Of those that are worth nothing any more before their time
is over, because a link was used or a session was ended, digests are kept (`Spent`).
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping

from aiohttp import web

from paddock.console.addresses import read_next
from paddock.console.answers import go_on
from paddock.console.tickets import SESSION_SECONDS, Ticket, make_link, read_ticket, write_ticket
from paddock.console.tries import Tries, name_peer
from paddock.console.world import Identity
from paddock.kube.times import Moment


class Spent:
    """Tickets that were used up. `known`: digest -> when its ticket is over, seconds since the epoch. `keep` is given
    all of them whenever there is one more, so that they are known to the next process as well."""

    def __init__(self, known: Mapping[str, int], keep: Callable[[Mapping[str, int]], None] = lambda _: None) -> None:
        self._known, self._keep = dict(known), keep

    def __contains__(self, ticket: Ticket) -> bool:
        return _digest(ticket) in self._known

    def add(self, ticket: Ticket, now: Moment) -> None:
        """Those whose time is over are dropped: their signature is not taken any more."""
        self._known = {digest: expires for digest, expires in self._known.items() if expires > now}
        self._known[_digest(ticket)] = ticket.expires
        self._keep(self._known)


class Links:
    """`key` signs links and sessions; `cookie`: the name of the session's."""

    def __init__(self, key: bytes, cookie: str, spent: Spent, tries: Tries) -> None:
        self._key, self._cookie, self._spent, self._tries = key, cookie, spent, tries

    def make(self, now: Moment, path: str = "/") -> str:
        return make_link(self._key, now, path)

    def identify(self, request: web.Request) -> Identity | None:
        return Identity() if self._read_session(request) else None

    def enter(self, request: web.Request) -> web.Response | None:
        """The answer that begins a session, or goes on in the reader's own who opens a used link once more; None for a
        link that is no good. Raises `TooManyTries`, which no link does that is good: a signature cannot be guessed, and
        whatever else runs on this machine keeps its user out else."""
        now = time.time()
        ticket = read_ticket(request.query["token"], "link", self._key, now)
        answer = go_on(read_next(request.query.get("next", "")))  # the token leaves the address
        if ticket is None or ticket in self._spent:
            if ticket is not None and self._read_session(request):
                return answer
            self._tries.take(name_peer(request.remote or ""))
            return None
        self._spent.add(ticket, now)
        session = Ticket("session", int(now) + SESSION_SECONDS, secrets.token_hex(12))
        answer.set_cookie(
            self._cookie, write_ticket(session, self._key), max_age=SESSION_SECONDS, httponly=True, samesite="Strict"
        )
        return answer

    def leave(self, request: web.Request, answer: web.StreamResponse) -> None:
        if ticket := self._read_session(request):
            self._spent.add(ticket, time.time())  # a copy of the cookie is worth nothing from now on
        answer.del_cookie(self._cookie)

    def _read_session(self, request: web.Request) -> Ticket | None:
        ticket = read_ticket(request.cookies.get(self._cookie, ""), "session", self._key, time.time())
        return ticket if ticket and ticket not in self._spent else None


def _digest(ticket: Ticket) -> str:
    return hashlib.sha256(f"{ticket.purpose}.{ticket.nonce}".encode()).hexdigest()
