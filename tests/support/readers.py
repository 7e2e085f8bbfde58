"""One reader's client of a console: what it asks for lies below the place of its session, and what it reads is without.

So a test names a page as a screen does; `console.test_origin` is about the places themselves.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from aiohttp import ClientResponse, ClientSession, CookieJar
from aiohttp.test_utils import TestServer
from yarl import URL

from paddock.console.addresses import address_of_session, split_place
from paddock.console.server import Console


class Page(ClientResponse):
    """An answer, whose addresses are as in every session."""

    async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
        text = await super().text(encoding, errors)
        place, _ = split_place(self.url.raw_path)
        return text.replace(address_of_session(place), "") if place else text

    @property
    def within(self) -> str:
        """Where it comes from."""
        return split_place(self.url.raw_path_qs)[1]

    @property
    def following(self) -> str:
        """Where it goes on to."""
        return split_place(self.headers["Location"])[1]


class Reader:
    """`root`: where the pages of the session begin; empty before it has signed in."""

    def __init__(self, client: ClientSession, root: str = "") -> None:
        self.client, self.root = client, root

    async def enter(self, link: str) -> Page:
        """By a link that signs in once."""
        async with self.client.get(link, allow_redirects=False) as answer:
            assert answer.status == 303, answer.status
            await answer.read()
        return self.begin(answer)

    def begin(self, answer: ClientResponse) -> Page:
        """The session that this answer begins, if it does."""
        assert isinstance(answer, Page)
        if place := split_place(answer.headers.get("Location", ""))[0]:
            self.root = address_of_session(place)
        return answer

    @property
    def place(self) -> str:
        return split_place(self.root)[0]

    @property
    def cookie_jar(self) -> Any:
        return self.client.cookie_jar

    def get(self, address: str | URL, **options: Any) -> AbstractAsyncContextManager[Page]:
        return self.ask("GET", address, **options)

    def head(self, address: str | URL, **options: Any) -> AbstractAsyncContextManager[Page]:
        return self.ask("HEAD", address, **options)

    def post(self, address: str | URL, **options: Any) -> AbstractAsyncContextManager[Page]:
        return self.ask("POST", address, **options)

    def ask(self, method: str, address: str | URL, **options: Any) -> Any:
        """Of sign-in and files, which lie outside, as of all else."""
        outside = str(address).startswith(("/sign-in", "/static/", "/healthz", "/kept/"))
        root = "" if outside else self.root
        return self.client.request(method, URL(f"{root}{address}", encoded=isinstance(address, URL)), **options)


@asynccontextmanager
async def visiting(console: Console) -> AsyncIterator[Reader]:
    """Signed in to a console of the test's own; it is closed afterwards."""
    async with TestServer(console.application) as server, reading(server.make_url("/").origin()) as reader:
        await reader.enter(console.make_link(time.time()))
        try:
            yield reader
        finally:
            await console.close()


@asynccontextmanager
async def reading(url: str | URL, **options: Any) -> AsyncIterator[Reader]:
    """Of the console at `url`, not signed in."""
    async with ClientSession(url, cookie_jar=CookieJar(unsafe=True), response_class=Page, **options) as client:
        yield Reader(client)
