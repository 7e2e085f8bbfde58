"""Readers of a cluster sign in with a token: it is taken once, kept in memory, and forgotten when the session ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from paddock.console.backend import Backend, Identity
from paddock.console.live import render, render_main_notice
from paddock.console.page_context import SILENT_SECONDS, PageContext, Screen
from paddock.console.server import Console
from paddock.console.sessions import IDLE_SECONDS, LONGEST_SECONDS, Session, Sessions
from paddock.kube.api import Api
from paddock.kube.errors import Forbidden, Unauthorized, Unavailable
from paddock.kube.meta import Manifest
from paddock.words.phrases import phrase
from support.consoles import PADDLE, Written
from support.readers import Page, Reader, reading

ANN, BEN = Identity("a", "ann"), Identity("b", "ben")
HERE = {"Sec-Fetch-Site": "same-origin"}
HOST = "console.example.com"


def look(sessions: Sessions, begun: Session, now: float) -> bool:
    return sessions.find(begun.place, begun.name, now) is not None


def test_a_session_ends_when_nobody_uses_it() -> None:
    sessions = Sessions()
    begun = sessions.begin(ANN, 0.0)
    assert look(sessions, begun, IDLE_SECONDS)
    assert look(sessions, begun, 2 * IDLE_SECONDS), "it was used meanwhile"
    assert not look(sessions, begun, 3 * IDLE_SECONDS + 1)


def test_a_session_is_found_by_its_place_and_its_name_together() -> None:
    sessions = Sessions()
    first, second = sessions.begin(ANN, 0.0), sessions.begin(ANN, 0.0)
    found = sessions.find(first.place, first.name, 0.0)
    assert found is not None and found.identity == ANN
    for place, name in (
        (first.place, second.name),
        (first.place, ""),
        (first.place, "né"),
        (first.place, "\udcff"),
        ("", ""),
        ("", first.name),
    ):
        assert sessions.find(place, name, 0.0) is None
    assert len({first.place, first.name, second.place, second.name}) == 4


def test_a_session_ends_at_last() -> None:
    sessions, now = Sessions(), 0.0
    begun = sessions.begin(ANN, now)
    while look(sessions, begun, now):
        now += IDLE_SECONDS / 2
    assert LONGEST_SECONDS < now <= LONGEST_SECONDS + IDLE_SECONDS


def test_a_reader_has_left_when_their_last_session_is_over() -> None:
    sessions = Sessions()
    first, second, other = sessions.begin(ANN, 0.0), sessions.begin(ANN, 0.0), sessions.begin(BEN, 1000.0)
    sessions.end(first)
    assert sessions.readers == {ANN, BEN}
    sessions.end(second)
    sessions.end(second)
    assert sessions.readers == {BEN}
    sessions.prune(IDLE_SECONDS + 1)
    assert sessions.readers == {BEN}
    sessions.prune(IDLE_SECONDS + 1001)
    assert sessions.readers == set() and not look(sessions, other, 0.0)


class FakeTokenLogin:
    """Tokens are readers' names. `gone`: who is not known any more."""

    def __init__(self) -> None:
        self.inside: set[Identity] = set()
        self.gone: set[Identity] = set()

    async def enter(self, token: str) -> Identity:
        known = next((each for each in (ANN, BEN) if each.name == token), None)
        if known is None:
            raise Unavailable("nothing answers") if token == "down" else Unauthorized("no such token")
        self.inside.add(known)
        return known

    async def look(self, identity: Identity) -> None:
        if identity in self.gone:
            raise Unauthorized("expired")

    async def leave(self, identity: Identity) -> None:
        self.inside.discard(identity)


def job(name: str) -> Manifest:
    meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
    return {"apiVersion": PADDLE.api_version, "kind": PADDLE.kind, "metadata": meta, "spec": {}}


JOBS: Mapping[str, Sequence[Manifest]] = {"a": [job("anns")], "b": [job("bens")], "": []}


@asynccontextmanager
async def serve(token_login: FakeTokenLogin, **options: Any) -> AsyncIterator[URL]:
    def connect(identity: Identity) -> Api:
        return Written({PADDLE: JOBS[identity.id]})

    console = Console(Backend("prod", False, connect, token_login=token_login), b"k" * 32, frozenset({HOST}), **options)
    runner = web.AppRunner(console.application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield URL(f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await console.close()
        await runner.cleanup()


async def sign_in(session: Reader, token: str, following: str = "/", **headers: str) -> Page:
    form = {"token": token, "next": following}
    async with session.post("/sign-in", data=form, headers=HERE | headers, allow_redirects=False) as answer:
        await answer.read()
        return session.begin(answer)


async def test_each_reader_sees_their_own_objects() -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as ann, reading(url) as ben:
        assert (await sign_in(ann, "ann")).status == 303
        assert (await sign_in(ben, " ben\n")).status == 303
        for session, own, other in ((ann, "anns", "bens"), (ben, "bens", "anns")):
            text = await (await session.get("/")).text()
            assert own in text
            assert other not in text


async def test_the_page_that_was_asked_for_comes_after_the_sign_in() -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as ann:
        async with ann.get("/new?x=1") as asked:
            assert asked.status == 401
            assert 'name="next" value="/new?x=1"' in await asked.text()
        first = await sign_in(ann, "ann", "/new?x=1")
        assert first.following == "/new?x=1"
        async with ann.client.get("/s/of-a-colleague/new?x=1") as asked:
            assert asked.status == 401
            assert 'name="next" value="/new?x=1"' in await asked.text(), "their place is not asked for"
        again = await sign_in(ann, "ann", "https://evil.example")
        assert again.following == "/" and again.headers["Location"] != first.headers["Location"]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("eve", "the cluster does not take this token"),
        ("", "that is no token"),
        ("x" * 20_000, "that is no token"),
        ("down", "nothing answers"),
    ],
)
async def test_a_token_that_is_not_taken_says_why(token: str, said: str) -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as session:
        answer = await sign_in(session, token)
        assert answer.status == 401
        assert said in await answer.text()
        assert not answer.cookies


async def test_another_site_can_sign_nobody_in() -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as session:
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        async with session.post("/sign-in", data={"token": "ann"}, headers=elsewhere) as answer:
            assert answer.status == 403
            assert not answer.cookies


async def test_a_token_is_not_taken_over_plain_http() -> None:
    token_login = FakeTokenLogin()
    async with serve(token_login) as url, reading(url) as session:
        async with session.get("/", headers={"Host": HOST}) as answer:
            text = await answer.text()
        assert "this page came over plain HTTP" in text
        assert 'name="token"' not in text
        answer = await sign_in(session, "ann", Host=HOST, **{"X-Forwarded-Proto": "https"})
        assert (answer.status, token_login.inside) == (401, set()), "only a proxy that was named is believed"


async def test_behind_a_proxy_with_tls_the_cookie_belongs_to_https_alone() -> None:
    async with serve(FakeTokenLogin(), behind_tls=True) as url, reading(url) as session:
        answer = await sign_in(session, "ann", Host=HOST, **{"X-Forwarded-Proto": "https"})
        (cookie,) = answer.cookies.values()
        assert (answer.status, cookie.key) == (303, "__Secure-paddock-session")
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Strict")
        assert cookie["path"] == session.root
        assert not cookie["domain"]
        assert not cookie["max-age"], "it ends with the browser"


async def test_another_host_is_not_served_but_a_kubelet_is() -> None:
    async with serve(FakeTokenLogin()) as url, reading(url) as session:
        async with session.get("/", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 421
        async with session.get("/healthz", headers={"Host": "10.1.2.3:8765"}) as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")


async def test_who_signs_out_is_forgotten() -> None:
    token_login = FakeTokenLogin()
    async with serve(token_login) as url, reading(url) as session:
        (copied,) = (await sign_in(session, "ann")).cookies.values()
        assert token_login.inside == {ANN}
        async with session.post("/sign-out", headers=HERE) as answer:
            assert answer.within == "/sign-in"
        assert token_login.inside == set()
        async with session.get("/", headers={"Cookie": f"{copied.key}={copied.value}"}) as answer:
            assert answer.status == 401


async def test_an_open_page_says_that_its_session_has_ended() -> None:
    token_login = FakeTokenLogin()
    async with serve(token_login) as url, reading(url) as session, asyncio.timeout(180):
        await sign_in(session, "ann")
        token_login.gone.add(ANN)
        async with session.get("/live") as stream:
            text = (await stream.content.read()).decode()
        assert "your session has ended" in text
        assert token_login.inside == set()
        async with session.get("/") as answer:
            assert answer.status == 401
            assert "your session has ended" in await answer.text()


async def test_what_a_form_was_sent_with_is_not_lost() -> None:
    form = {"text": "kind: PaddleJob"}
    async with (
        serve(FakeTokenLogin()) as url,
        reading(url) as session,
        session.post("/new", data=form, headers=HERE) as answer,
    ):
        assert answer.status == 401
        assert "kind: PaddleJob" in await answer.text()


def page(now: float, silent_since: float | None) -> PageContext:
    backend = Backend("prod", False, lambda _: Written({}), silent_since=lambda _: silent_since)
    return PageContext(backend, ANN, Written({}), "en", {}, {}, {}, now)


def test_a_connection_that_broke_and_is_there_again_is_not_told() -> None:
    assert page(100.0, None).silent_since is None
    assert page(100.0, 99.0).silent_since is None
    assert page(100.0, 100.0 - SILENT_SECONDS).silent_since == 100.0 - SILENT_SECONDS


def test_a_page_says_since_when_the_api_has_not_answered() -> None:
    text = render_main_notice(page(107.0, 100.0), phrase("there is no such page"))
    assert '<p class="silent" role="status">The cluster\'s API has not answered for 7s: what is shown is of' in text
    assert 'class="silent"' not in render_main_notice(page(107.0, None), phrase("there is no such page"))


async def test_a_page_keeps_what_it_had_while_the_api_does_not_answer(tmp_path: Path) -> None:
    errors: list[Exception] = []

    async def build(_: PageContext) -> Mapping[str, Any]:
        if errors:
            raise errors[0]
        return {"status": 200, "said": "42 jobs"}

    screen = Screen("notice", "/", phrase("Jobs"), lambda *_: (), build)
    shown, before = await render(screen, page(100.0, None), None)
    assert "42 jobs" in shown
    errors[:] = [Unavailable("nothing answers")]
    shown, before = await render(screen, page(107.0, 100.0), before)
    assert "42 jobs" in shown
    assert "has not answered for 7s" in shown
    shown, _ = await render(screen, page(107.0, 100.0), None)
    assert "nothing answers" in shown, "a page that has nothing yet"
    errors[:] = [Forbidden("may not list pods")]
    shown, _ = await render(screen, page(108.0, None), before)
    assert "your rights on the cluster do not allow this: may not list pods" in shown
    errors[:] = [Unauthorized("expired")]
    with pytest.raises(Unauthorized):
        await render(screen, page(108.0, None), before)
