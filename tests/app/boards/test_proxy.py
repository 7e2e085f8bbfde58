"""The proxy before a board, with a board's server of the test behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from paddock.app.boards.proxy import LINK_SECONDS, MOST_BODY, POLICY, Access, Proxy
from paddock.serving.server import HttpServer

BIG = 8 * 2**20


@dataclass
class World:
    """A proxy at a port, the server behind it, and a client that is no browser: it keeps nothing."""

    access: Access
    base: str
    backend: web.AppRunner
    client: aiohttp.ClientSession
    now: list[float]
    seen: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def ask(
        self, path: str, *, method: str = "GET", host: str = "", signed: bool = True, data: bytes | None = None,
        **headers: str,
    ) -> tuple[aiohttp.ClientResponse, bytes]:  # fmt: skip
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        cookies = f"{self.access.cookie}={self.access.session}; " if signed else ""
        given["Cookie"] = cookies + "console=secret; vdl_lng=zh" + (f"; {given['Cookie']}" if "Cookie" in given else "")
        given["Host"] = host or f"{self.access.host}:{URL(self.base).port}"
        url = URL(f"{self.base}{path}", encoded=True)
        async with self.client.request(method, url, headers=given, data=data, allow_redirects=False) as answer:
            return answer, await answer.read()

    def page(self, path: str) -> str:
        return f"{self.access.root}{path}"


@asynccontextmanager
async def open_world(directory: Path) -> AsyncIterator[World]:
    now = [1000.0]
    access = Access(now[0])
    seen: list[web.BaseRequest] = []
    bodies: list[bytes] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        bodies.append(await request.read())
        path = request.path.removeprefix(access.root)
        if path == "/big":
            return web.Response(body=b"x" * BIG)
        if path == "/moved":
            return web.Response(status=302, headers={"Location": f"{access.root}/index"})
        if path == "/away":
            return web.Response(status=302, headers={"Location": "https://elsewhere.example/"})
        if path == "/cut":
            stream = web.StreamResponse()
            stream.content_length = 100
            await stream.prepare(request)
            await stream.write(b"half")
            assert request.transport is not None
            request.transport.abort()
            return stream
        headers = {"Set-Cookie": "vdl_lng=en", "Server": "Werkzeug", "Content-Security-Policy": "frame-ancestors *",
                   "Access-Control-Allow-Origin": "*", "X-Frame": "a"}  # fmt: skip
        return web.Response(text=request.path_qs, headers=headers)

    application = web.Application(client_max_size=2 * MOST_BODY)
    application.router.add_route("*", "/{path:.*}", answer)
    backend = web.AppRunner(application)
    await backend.setup()
    await web.UnixSite(backend, str(directory / "socket")).start()
    proxy = Proxy(access, directory / "socket", clock=lambda: now[0])
    server = HttpServer(proxy.application, cancels=True)
    await proxy.start()
    await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        yield World(access, f"http://127.0.0.1:{server.port}", backend, client, now, seen, bodies)
    await server.stop()
    await proxy.stop()
    await backend.cleanup()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


async def test_the_link_lets_in_once_by_a_cookie_of_that_path_alone(world: World) -> None:
    answer, _ = await world.ask(world.access.link, signed=False)
    cookie = answer.headers["Set-Cookie"]
    assert (answer.status, answer.headers["Location"]) == (303, f"{world.access.root}/")
    assert cookie.startswith(f"{world.access.cookie}={world.access.session};")
    assert {"HttpOnly", f"Path={world.access.root}", "SameSite=Strict"} <= set(cookie.split("; "))
    assert "Domain" not in cookie  # of this very host
    again, text = await world.ask(world.access.link, signed=False)
    assert again.status == 401 and "Set-Cookie" not in again.headers
    assert b"once, within five minutes" in text


async def test_a_look_at_the_link_does_not_use_it_up(world: World) -> None:
    assert (await world.ask(world.access.link, method="HEAD", signed=False))[0].status == 401
    assert (await world.ask("/open?ticket=wrong", signed=False))[0].status == 401
    assert (await world.ask("/open", signed=False))[0].status == 401
    assert (await world.ask(world.access.link, signed=False))[0].status == 303


async def test_the_link_is_worth_nothing_after_five_minutes(world: World) -> None:
    world.now[0] += LINK_SECONDS
    assert (await world.ask(world.access.link, signed=False))[0].status == 401


@pytest.mark.parametrize(
    ("path", "signed", "status"),
    [
        ("PLACE/data", True, 200),
        ("PLACE/", True, 200),
        ("PLACE", True, 303),
        ("PLACE/data", False, 401),
        ("PLACEx/data", True, 401),
        ("/s/other/data", True, 401),
        ("/", True, 401),
        ("/data", True, 401),
        ("//data", True, 401),
    ],
)
async def test_neither_the_path_nor_the_cookie_alone_lets_in(
    world: World, path: str, signed: bool, status: int
) -> None:
    answer, _ = await world.ask(path.replace("PLACE", world.access.root), signed=signed)
    assert answer.status == status
    assert bool(world.seen) == (status == 200)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("OWN", 200),
        ("OWN:8080", 200),
        ("127.0.0.1:8080", 200),
        ("localhost:8080", 421),
        ("evil.example", 421),
        ("OWN.evil.example", 421),
        ("board-00000000.localhost", 421),
        ("[", 421),
    ],
)
async def test_only_its_own_name_is_answered(world: World, host: str, status: int) -> None:
    answer, _ = await world.ask(world.page("/x"), host=host.replace("OWN", world.access.host))
    assert answer.status == status
    assert bool(world.seen) == (status == 200)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {"Sec_Fetch_Site": "same-origin"}, 200),
        ("POST", {"Sec_Fetch_Site": "same-site"}, 403),
        ("POST", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("POST", {"Origin": "http://evil.example"}, 403),
        ("POST", {}, 403),
        ("DELETE", {"Sec_Fetch_Site": "same-origin"}, 403),
    ],
)
async def test_what_is_sent_is_taken_of_its_own_pages_alone(
    world: World, method: str, headers: Mapping[str, str], status: int
) -> None:
    answer, _ = await world.ask(world.page("/x"), method=method, data=b"body", **headers)
    assert answer.status == status
    assert world.bodies == ([b"body"] if status == 200 else [])


async def test_the_server_gets_no_cookie_and_no_name_and_sets_none(world: World) -> None:
    answer, text = await world.ask(
        world.page("/x%2Fy?a=%41&b=%2F"), Accept_Language="zh", Authorization="Bearer x", Referer="http://c/", X_Own="y"
    )
    assert text.decode() == world.page("/x%2Fy?a=%41&b=%2F")
    (request,) = world.seen
    assert {"Cookie", "Authorization", "Referer", "X-Own", "Origin"}.isdisjoint(request.headers)
    assert (request.headers["Host"], request.headers["Accept-Language"]) == ("board", "zh")
    assert {"Set-Cookie", "Access-Control-Allow-Origin", "X-Frame"}.isdisjoint(answer.headers)


async def test_every_answer_keeps_other_sites_out(world: World) -> None:
    answer, _ = await world.ask(world.page("/x"))
    assert answer.headers.getall("Content-Security-Policy") == ["frame-ancestors *", POLICY]
    refused, _ = await world.ask("/", signed=False)
    for each in (answer, refused):
        assert each.headers["Referrer-Policy"] == "no-referrer"
        assert each.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert each.headers["X-Content-Type-Options"] == "nosniff"
        assert each.headers["Server"] == "Paddock"


async def test_a_large_answer_comes_whole(world: World) -> None:
    _, content = await world.ask(world.page("/big"))
    assert len(content) == BIG


async def test_a_large_question_is_refused(world: World) -> None:
    data = b"x" * (MOST_BODY + 1)
    answer, _ = await world.ask(world.page("/x"), method="POST", data=data, Sec_Fetch_Site="same-origin")
    assert answer.status == 413
    assert world.bodies == []


async def test_it_leads_to_its_own_pages_alone(world: World) -> None:
    assert (await world.ask(world.page("/moved")))[0].headers["Location"] == world.page("/index")
    assert "Location" not in (await world.ask(world.page("/away")))[0].headers


async def test_fonts_are_given_without_a_cookie_and_nothing_else(world: World) -> None:
    answer, text = await world.ask("/font-roboto/abc_-1.woff2", signed=False)
    assert (answer.status, text.decode()) == (200, world.page("/font-roboto/abc_-1.woff2"))
    for path in ("/font-roboto/../data", "/font-roboto/%2e%2e/data.woff2", "/font-roboto/a/b.woff2"):
        assert (await world.ask(path, signed=False))[0].status == 401


async def test_an_answer_that_is_cut_is_not_taken_for_a_whole_one(world: World) -> None:
    with pytest.raises(aiohttp.ClientError):
        await world.ask(world.page("/cut"))


async def test_a_server_that_has_gone_is_a_sentence(world: World) -> None:
    await world.backend.cleanup()
    answer, text = await world.ask(world.page("/x"))
    assert answer.status == 502
    assert b"does not answer" in text


def test_two_boards_share_neither_a_host_nor_a_secret() -> None:
    one, other = Access(0.0), Access(0.0)
    for name in ("host", "cookie", "ticket", "place", "session", "root"):
        assert getattr(one, name) != getattr(other, name)
    assert one.session not in repr(one) and one.ticket not in repr(one)
