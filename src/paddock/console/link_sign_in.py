"""Sign-in by a link, for the one reader of a laptop: each link once.

Links are signed, so nothing is kept of those that are good. Of those that were used before their time was over digests
are kept (`UsedTickets`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping

from aiohttp import web

from paddock.console.addresses import SIGN_IN, read_next
from paddock.console.answers import with_retry_after
from paddock.console.backend import Identity
from paddock.console.page_context import Missing
from paddock.console.sign_in import Pages
from paddock.console.sign_in_limit import SignInLimit, TooManySignIns, name_peer
from paddock.console.signed_in import SignedIn
from paddock.console.tickets import Ticket, read_ticket
from paddock.kube.times import Moment


class UsedTickets:
    """Tickets that were used up. `known`: digest -> when its ticket is over, seconds since the epoch. `keep`: called
    with all of them after each change, to persist them."""

    def __init__(self, known: Mapping[str, int], keep: Callable[[Mapping[str, int]], None] = lambda _: None) -> None:
        self._known, self._keep = dict(known), keep

    def __contains__(self, ticket: Ticket) -> bool:
        return _digest(ticket) in self._known

    def add(self, ticket: Ticket, now: Moment) -> None:
        """Notes that a ticket is used. Tickets whose time is over are dropped: their signature is not taken any
        more."""
        self._known = {digest: expires for digest, expires in self._known.items() if expires > now}
        self._known[_digest(ticket)] = ticket.expires
        self._keep(self._known)


class LinkSignIn:
    """A `sign_in.SignIn` of one reader. `key` signs the links."""

    probes = frozenset[str]()

    def __init__(
        self, key: bytes, used_tickets: UsedTickets, limit: SignInLimit, signed_in: SignedIn, pages: Pages
    ) -> None:
        self._key, self._used_tickets, self._limit = key, used_tickets, limit
        self._signed_in, self._pages = signed_in, pages

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get(SIGN_IN, self._enter)

    def refuse(self, request: web.Request) -> web.Response:
        return self._pages.notice(request, 401, Missing(self._pages.ended))

    def link_again(self, request: web.Request) -> str:
        """None: whoever started the console prints a new link."""
        return ""

    async def expel(self, request: web.Request) -> web.Response | None:
        """Never: the API is asked with the rights of who started the console."""
        return None

    async def _enter(self, request: web.Request) -> web.Response:
        if not request.query.get("token") or request.method == "HEAD":  # who previews a link does not use it
            return self._pages.notice(request, 200)
        try:
            if not self._take(request):
                return self._pages.notice(request, 401)
        except TooManySignIns as error:
            return with_retry_after(self._pages.notice(request, 429, Missing(error.said)), error.seconds)
        following = read_next(request.query.get("next", ""))  # the token leaves the address
        return await self._signed_in.begin(request, Identity(), following)

    def _take(self, request: web.Request) -> bool:
        """Whether the link is good; it is used up by that. Raises `TooManySignIns`, which no link does that is good: a
        signature cannot be guessed, and whatever else runs on this machine keeps its user out else."""
        now = time.time()
        ticket = read_ticket(request.query["token"], "link", self._key, now)
        if ticket is None or ticket in self._used_tickets:
            self._limit.take(name_peer(request.remote or ""))
            return False
        self._used_tickets.add(ticket, now)
        return True


def _digest(ticket: Ticket) -> str:
    return hashlib.sha256(f"{ticket.purpose}.{ticket.nonce}".encode()).hexdigest()
