"""A session belongs to one origin. Cookies know no ports, so a browser may ask whoever listens at another port of the
console's address for pages: it sends no cookie there, and nothing that lets in."""

from __future__ import annotations

import asyncio
import http.cookiejar
import re
import socket
import time
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, CookieJar, TCPConnector, web
from aiohttp.abc import AbstractResolver, ResolveResult

from browser.places import list_addresses
from console.test_token_sign_in import FakeTokenLogin, serve, sign_in
from paddock.app.consoles.links import make_link
from paddock.app.consoles.listening import LocalConsole
from paddock.app.home import Home
from paddock.console.addresses import split_place
from paddock.console.security import is_on_this_machine
from paddock.jobs.model import Settings
from support.consoles import Written, serve_console
from support.demo import serve_demo
from support.readers import Page, Reader, reading

HERE = {"Sec-Fetch-Site": "same-origin"}
ASKED = ("/", "/sign-in", "/new", "/static/0/console.js", "/s/", "/s/x/", "/c/", "/jobs/default/paddlejobs/a")


class Thief:
    """Another server at the console's address, which remembers what a browser sends it."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Mapping[str, str]]] = []
        self.application = web.Application()
        self.application.router.add_get("/{path:.*}", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        self.got.append((request.rel_url.raw_path_qs, dict(request.headers)))
        return web.Response(text="hello")

    @property
    def cookies(self) -> list[str]:
        return [headers["Cookie"] for _, headers in self.got if "Cookie" in headers]


class Places(AbstractResolver):
    """Every name of `localhost` is this address, as a forwarded port or RFC 6761 has it."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = {"hostname": host, "host": self._address, "port": port}
        return [ResolveResult(**found, family=socket.AF_INET, proto=0, flags=0)]  # type: ignore[typeddict-item]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def beside(host: str) -> AsyncIterator[tuple[Thief, int]]:
    """A thief at another port of `host`."""
    thief = Thief()
    runner = web.AppRunner(thief.application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    try:
        yield thief, runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def local(directory: Path) -> AsyncIterator[tuple[Home, str]]:
    """The console of a laptop's cluster, at its user's address."""
    home = Home(directory, directory)
    console = LocalConsole(Written({}), home, "test", Settings())
    await console.start()
    try:
        yield home, console.url
    finally:
        await console.stop()


@pytest.mark.parametrize("name", ["address", "own name", "localhost"])
async def test_a_browser_that_is_signed_in_sends_no_cookie_to_another_port(tmp_path: Path, name: str) -> None:
    async with local(tmp_path) as (home, url):
        host, port = urlsplit(url).hostname or "", urlsplit(url).port
        link = make_link(home, url, time.time())
        called = {"address": host, "own name": link.host, "localhost": "localhost"}[name]
        jar, connector = CookieJar(unsafe=True), TCPConnector(resolver=Places(host))
        async with (
            beside(host) as (thief, other),
            ClientSession(cookie_jar=jar, connector=connector, response_class=Page) as browser,
        ):
            session = Reader(browser)
            await session.enter(link.address.replace(host, called, 1))
            page = f"http://{called}:{port}{session.root}/"
            async with browser.get(page) as answer:
                assert answer.status == 200, "it is signed in"
            for path in ASKED:
                async with browser.get(f"http://{called}:{other}{path}", headers={"Referer": ""}) as answer:
                    assert answer.status == 200
            assert len(thief.got) == len(ASKED) and thief.cookies == []
            await replay(thief, url)
            async with browser.get(f"http://{called}:{other}{session.root}/"):
                pass
            assert len(thief.cookies) == 1, "what protects is that nobody else knows the place"


async def test_a_jar_of_the_standard_library_sends_none_either(tmp_path: Path) -> None:
    async with local(tmp_path) as (home, url), beside(urlsplit(url).hostname or "") as (thief, other):
        jar = http.cookiejar.CookieJar()
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )  # fmt: skip

        def visit(address: str) -> str:
            with opener.open(address, timeout=60) as answer:
                return str(answer.url)

        page = await asyncio.to_thread(visit, make_link(home, url, time.time()).address)
        assert await asyncio.to_thread(visit, page) == page, "it is signed in"
        for path in ASKED:
            await asyncio.to_thread(visit, f"http://{urlsplit(url).hostname}:{other}{path}")
        assert len(jar) == 1 and len(thief.got) == len(ASKED) and thief.cookies == []


async def replay(thief: Thief, url: str) -> None:
    """All that it got, sent to the console by nobody."""
    for path, headers in thief.got:
        sent = {name: value for name, value in headers.items() if name not in ("Host", "Accept-Encoding")}
        async with ClientSession(url) as nobody, nobody.get(path, headers=sent) as answer:
            assert answer.status == (200 if path.startswith(("/sign-in", "/static/")) else 401), path
            assert not answer.cookies


async def test_a_place_lets_in_with_its_own_cookie_alone(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, reading(served.url) as second, ClientSession(served.url) as nobody:
        first = served.session
        await second.enter(served.sign_in)
        cookies = {each: next(iter(each.cookie_jar)) for each in (first, second)}
        for sent, status in (
            (None, 401),
            (cookies[second], 401),
            (cookies[first], 200),
        ):
            headers = {"Cookie": f"{sent.key}={sent.value}"} if sent else {}
            for path, expected in (("/", status), ("/live", status), ("/static/", 404 if status == 200 else 401)):
                async with nobody.get(first.root + path, headers=headers) as answer:
                    assert answer.status == expected, (sent, path)
            async with nobody.get("/", headers=headers) as answer:
                assert answer.status == 401, "outside of all places nobody is signed in"
            async with nobody.post(f"{first.root}/sign-out", headers=HERE, allow_redirects=False) as answer:
                assert answer.status == 401
        assert cookies[first]["path"] == first.root and cookies[second]["path"] == second.root
        assert cookies[first]["httponly"] and cookies[first]["samesite"] == "Strict" and not cookies[first]["max-age"]


async def test_an_old_bookmark_says_what_to_type_and_nothing_else(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, ClientSession(served.url) as nobody:
        for path in ("/", "/jobs/default/paddlejobs/a", "/s/of-yesterday/jobs/default/paddlejobs/a", "/no/such/page"):
            async with nobody.get(path) as answer:
                assert answer.status == 401 and "`paddock console` opens this console anew" in await answer.text()


async def test_a_colleague_s_address_is_a_page_of_one_s_own_after_the_sign_in() -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as ann, reading(url) as ben:
        await sign_in(ann, "ann")
        sent = f"{ann.root}/queue?namespace=default"
        async with ben.client.get(sent) as answer:
            text = await answer.text()
        (following,) = re.findall(r'name="next" value="([^"]*)"', text)
        assert answer.status == 401 and following == "/queue?namespace=default"
        entered = await sign_in(ben, "ben", following)
        assert entered.headers["Location"] == f"{ben.root}/queue?namespace=default" and ann.root != ben.root


async def test_every_address_of_each_page_lies_below_the_place(tmp_path: Path) -> None:
    """Links, forms, streams, data for scripts, languages and colours."""
    async with serve_demo(tmp_path) as demo, reading(demo.url) as session:
        await session.enter(demo.sign_in)
        for name, place in list_addresses().items():
            address = place if name == "sign-in" else session.root + place
            async with ClientSession(demo.url, cookie_jar=session.cookie_jar) as raw, raw.get(address) as answer:
                page = re.sub(r' (?:data-copy|id|value)="[^"]*"', "", await answer.text())
            outside = {each for each in re.findall(r'="(/[^"]*)"', page) if not each.startswith(f"{session.root}/")}
            public = ("/static/", "/sign-in") if name != "sign-in" else ("/static/", "/sign-in", "/")
            assert all(each.startswith(public) for each in outside), (name, outside)


async def test_no_answer_lets_a_browser_tell_another_server_where_it_was(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served:
        session, elsewhere = served.session, {"Sec-Fetch-Site": "cross-site"}
        asked = [
            ("GET", "/", {}, 200), ("GET", "/live", {}, 200), ("GET", "/no-such-page", {}, 404),
            ("GET", "/jobs/default/paddlejobs/none", {}, 303), ("HEAD", "/", {}, 200),
            ("GET", "/jobs/default/paddlejobs/none/logs/download?rank=worker-0", {}, 404),
            ("POST", "/", {}, 405), ("POST", "/new", elsewhere, 403), ("GET", "/", {"Host": "evil.example"}, 421),
            ("GET", "/sign-in", {}, 200), ("GET", "/sign-in?token=x", {}, 401),
            ("GET", "/static/0/none.js", {}, 404),
        ]  # fmt: skip
        for method, path, headers, status in asked:
            async with session.ask(method, path, headers=HERE | headers, allow_redirects=False) as answer:
                assert answer.status == status, (method, path)
                assert answer.headers["Referrer-Policy"] == "no-referrer", (method, path)
        async with session.client.get(served.sign_in, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Referrer-Policy"]) == (303, "no-referrer")
            assert split_place(answer.headers["Location"])[0]


async def test_a_console_answers_to_its_own_names_alone(tmp_path: Path) -> None:
    async with local(tmp_path) as (home, url), ClientSession(url) as nobody:
        own, port = make_link(home, url, time.time()).host, urlsplit(url).port
        names = {
            own: 401, f"{own}:80": 401, f"localhost:{port}": 401, "127.0.0.1": 401, "[::1]:9": 401,
            urlsplit(url).hostname: 401, "paddock-00000000.localhost": 421, f"evil.{own}": 421, "evil.localhost": 421,
            "127.0.0.1.evil": 421, "": 421, "[::1": 421, "evil.example": 421,
        }  # fmt: skip
        for name, status in names.items():
            async with nobody.get("/", headers={"Host": name or ""}) as answer:
                assert answer.status == status, name


@pytest.mark.parametrize(
    ("host", "peer", "near"),
    [
        ("localhost:8765", "127.0.0.1", True),
        ("paddock-console.localhost:8765", "127.0.0.1", True),
        ("127.0.0.1", "::1", True),
        ("[::1]:80", "::ffff:127.0.0.1", True),
        ("localhost", "10.244.1.7", False),  # any pod may write that name
        ("localhost", "::ffff:10.244.1.7", False),
        ("paddock-console.localhost", "fd00::7", False),
        ("console.example.com", "127.0.0.1", False),  # a proxy in the same pod
        ("localhost", "", False),
        ("", "127.0.0.1", False),
    ],
)
def test_a_name_of_this_machine_is_believed_from_this_machine_alone(host: str, peer: str, near: bool) -> None:
    assert is_on_this_machine(host, peer) is near
