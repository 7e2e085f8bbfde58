"""How readers come in: what the server needs of a sign-in, whichever it is.

`link_sign_in` is that of a laptop, which has one reader; `token_sign_in` that of a console of many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import web

from paddock.console.page_context import Missing, PageContext
from paddock.words.phrases import Phrase


class SignIn(Protocol):
    """It begins sessions (`signed_in`); what is done within one is none of its business."""

    probes: frozenset[str]
    """Addresses without session that a kubelet asks: by the address of the pod, so by no name of this console."""

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Its own addresses: where a reader comes in, and those of `probes`."""
        ...

    def refuse(self, request: web.Request) -> web.Response:
        """The page, 401, of a reader who has no session, or whose session is over."""
        ...

    def link_again(self, request: web.Request) -> str:
        """Where a reader whose form came after the end of the session signs in and goes on; empty if no address lets
        them in again."""
        ...

    async def expel(self, request: web.Request) -> web.Response | None:
        """The API does not take the reader of this session: ends it, and answers how to come in again. None where no
        sign-in changes what the API says; the session stays."""
        ...


class Pages(Protocol):
    """What shows a sign-in's pages, in the reader's language: `routes.Routes`."""

    @property
    def ended(self) -> Phrase:
        """What is said of a session that is over."""
        ...

    def page_for(self, request: web.Request) -> PageContext: ...

    def notice(self, request: web.Request, status: int, missing: Missing | None = None) -> web.Response: ...

    def render(self, request: web.Request, template: str, status: int, built: Mapping[str, Any]) -> web.Response:
        """A page that is no screen."""
        ...
