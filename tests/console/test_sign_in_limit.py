"""Who tries to sign in too often waits, and keeps nobody out who is signed in."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from yarl import URL

from console.test_token_sign_in import ANN, HERE, HOST, FakeTokenLogin, serve, sign_in
from paddock.console.sign_in_limit import OVER_ALL, PER_PEER, PER_SECONDS, SignInLimit, TooManySignIns, name_peer
from paddock.serving.addresses import LOOPBACK
from paddock.words.phrases import render
from support.consoles import serve_console
from support.readers import reading


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def count(limit: SignInLimit, peer: str, most: int = 1000) -> int:
    """How many tries are taken at once."""
    for taken in range(most):
        try:
            limit.take(peer)
        except TooManySignIns:
            return taken
    return most


def test_one_address_has_so_many_tries_a_minute() -> None:
    clock = Clock()
    limit = SignInLimit(clock=clock)
    assert count(limit, "a") == PER_PEER
    assert count(limit, "b") == PER_PEER, "another address has tries of its own"
    with pytest.raises(TooManySignIns) as refused:
        limit.take("a")
    assert refused.value.seconds == PER_SECONDS / PER_PEER
    clock.now += refused.value.seconds
    assert count(limit, "a") == 1
    clock.now += PER_SECONDS * 1000
    assert count(limit, "a") == PER_PEER


def test_all_addresses_together_have_so_many() -> None:
    limit = SignInLimit(clock=Clock())
    assert sum(count(limit, f"10.0.0.{each}") for each in range(200)) == OVER_ALL


def test_a_try_that_was_right_does_not_count() -> None:
    limit = SignInLimit(clock=Clock())
    for _ in range(10 * OVER_ALL):
        limit.take("a")
        limit.give_back("a")
    assert count(limit, "a") == PER_PEER


def test_addresses_that_have_tried_long_ago_are_forgotten() -> None:
    clock = Clock()
    limit = SignInLimit(clock=clock)
    for each in range(10_000):
        limit.take(f"host-{each}")
        clock.now += PER_SECONDS
    assert len(limit._peers) < 5


@pytest.mark.parametrize(
    ("remote", "forwarded", "name"),
    [
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "evil, 198.51.100.1, 192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "192.0.2.7, unknown", "10.0.0.1"),
        ("::ffff:10.0.0.1", "", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "", "2001:db8:1:2::/64"),
        ("127.0.0.1", "", LOOPBACK),
        ("127.9.8.7", "", LOOPBACK),
        ("::1", "", LOOPBACK),
        ("", "", ""),
    ],
)
def test_an_address_is_that_of_the_connection_or_the_one_that_the_proxy_wrote(
    remote: str, forwarded: str, name: str
) -> None:
    assert name_peer(remote, forwarded) == name


def test_the_sentence_says_how_long() -> None:
    assert render(TooManySignIns(1).said).startswith("too many tries to sign in: wait 1 second, then try again.")
    assert "wait 6 seconds" in render(TooManySignIns(6).said)


class Asked(FakeTokenLogin):
    """Counts what the API is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[str] = []

    async def enter(self, token: str):  # type: ignore[no-untyped-def]
        self.tokens.append(token)
        return await super().enter(token)


async def test_tokens_are_tried_so_often_and_the_api_is_asked_no_more() -> None:
    token_login = Asked()
    async with serve(token_login, limit=SignInLimit(clock=Clock())) as url, reading(url) as ann, reading(url) as eve:
        assert (await sign_in(ann, "ann")).status == 303
        for _ in range(PER_PEER):
            assert (await sign_in(eve, "eve")).status == 401
        refused = await sign_in(eve, "ben", "/queue")
        text = await refused.text()
        assert (refused.status, refused.headers["Retry-After"]) == (429, "6")
        assert "too many tries to sign in: wait 6 seconds" in text
        assert 'name="next" value="/queue"' in text, "what was asked for is not forgotten"
        assert (len(token_login.tokens), token_login.inside) == (PER_PEER + 1, {ANN})
        async with ann.get("/") as answer:
            assert answer.status == 200, "who is signed in is not held up"


async def test_behind_a_proxy_each_browser_has_its_own_tries() -> None:
    limit = SignInLimit(clock=Clock())
    https = {"Host": HOST, "X-Forwarded-Proto": "https"}
    async with serve(FakeTokenLogin(), behind_tls=True, limit=limit) as url, reading(url) as eve, reading(url) as ben:
        for each in range(PER_PEER + 1):
            forwarded = {"X-Forwarded-For": f"10.9.9.{each}, 192.0.2.1"}
            answer = await sign_in(eve, "eve", **https, **forwarded)
        assert answer.status == 429, "what the browser itself wrote into the header means nothing"
        forwarded = {"X-Forwarded-For": "192.0.2.2"}
        assert (await sign_in(ben, "ben", **https, **forwarded)).status == 303


async def test_without_a_named_proxy_no_header_says_who_tries() -> None:
    async with serve(FakeTokenLogin(), limit=SignInLimit(clock=Clock())) as url, reading(url) as eve:
        for each in range(PER_PEER + 1):
            answer = await sign_in(eve, "eve", **{"X-Forwarded-For": f"192.0.2.{each}"})
        assert answer.status == 429


async def test_wrong_links_are_tried_so_often_and_a_good_one_is_never_refused(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, ClientSession() as other:
        wrong = URL(served.url) / "sign-in" % {"token": "link.99999999999.a.b"}
        said = [await look(other, wrong) for _ in range(PER_PEER + 3)]
        assert said[:PER_PEER] == [401] * PER_PEER
        assert said[-1] == 429
        async with other.get(served.sign_in, allow_redirects=False) as answer:
            assert answer.status == 303
        async with served.session.get("/") as answer:
            assert answer.status == 200


async def look(session: ClientSession, address: URL) -> int:
    async with session.get(address, headers=HERE) as answer:
        assert isinstance(answer.status, int)
        assert (web.HTTPTooManyRequests.status_code == answer.status) == ("Retry-After" in answer.headers)
        return answer.status
