"""What one reader may hold of a console is bounded, and who holds all of it keeps nobody else from theirs."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest

from console.test_token_sign_in import ANN, BEN, HERE, FakeTokenLogin, serve, sign_in
from paddock.console.backend import Identity
from paddock.console.bounds import MOST_FIELDS, Full, OpenPages, name_reader
from paddock.console.sessions import Session, Sessions
from support.consoles import serve_console
from support.readers import reading
from support.waiting import until


def is_in(sessions: Sessions, session: Session, now: float) -> bool:
    return sessions.find(session.place, session.name, now) is not None


def test_one_reader_s_new_session_takes_the_room_of_their_own_that_was_used_longest_ago() -> None:
    sessions = Sessions(of_one=2, over_all=9)
    other, first, second = (sessions.begin(each, float(at)) for at, each in enumerate((BEN, ANN, ANN)))
    assert is_in(sessions, first, 5.0), "it is used"
    third = sessions.begin(ANN, 6.0)
    assert [is_in(sessions, each, 7.0) for each in (other, first, second, third)] == [True, True, False, True]


def test_many_tokens_of_one_user_are_one_reader_s() -> None:
    sessions = Sessions(of_one=2, over_all=9)
    begun = [sessions.begin(Identity(f"token-{each}", "ann"), float(each)) for each in range(5)]
    assert [is_in(sessions, each, 5.0) for each in begun] == [False, False, False, True, True]
    assert name_reader(Identity("x")) != name_reader(Identity("y")), "who is not named is known by their token"


def test_where_there_is_no_room_nobody_is_signed_out_for_a_newcomer() -> None:
    sessions = Sessions(of_one=2, over_all=3)
    begun = [sessions.begin(each, 0.0) for each in (ANN, ANN, BEN)]
    with pytest.raises(Full) as refused:
        sessions.begin(Identity("c", "eve"), 1.0)
    assert refused.value.status == 503
    assert all(is_in(sessions, each, 2.0) for each in begun)
    assert is_in(sessions, sessions.begin(ANN, 3.0), 3.0), "who is in may come once more"


def test_pages_are_counted_while_they_are_open_and_each_reader_has_a_share() -> None:
    pages = OpenPages(of_one=2, over_all=3)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(pages.hold(ANN))
        with pytest.raises(Full, match="2 pages of this console are open in your browsers"), pages.hold(ANN):
            pass
        with pages.hold(BEN):
            assert pages.count == 3
            with pytest.raises(Full, match="3 pages of this console are open, "), pages.hold(Identity("c", "eve")):
                pass
    assert pages.count == 0 and not pages._of, "nobody is remembered who has left"


async def test_a_page_too_many_is_refused_with_the_reason_and_another_reader_notices_nothing() -> None:
    pages = OpenPages(of_one=2, over_all=9)
    async with serve(FakeTokenLogin(), open_pages=pages) as url, reading(url) as ann, reading(url) as ben:
        await sign_in(ann, "ann")
        await sign_in(ben, "ben")
        async with AsyncExitStack() as opened:
            for _ in range(2):
                stream = await opened.enter_async_context(ann.get("/live"))
                assert (await stream.content.readline()).startswith(b"id: ")
            async with ann.get("/live") as refused:
                assert refused.status == 429 and "close some of them" in await refused.text()
            async with ann.get("/") as answer, ben.get("/live") as stream:
                assert answer.status == 200 and stream.status == 200
        await until(lambda: pages.count == 0)
        async with ann.get("/live") as stream:
            assert stream.status == 200, "there is room again"


async def test_a_newcomer_is_told_that_there_is_no_room_and_their_token_is_forgotten() -> None:
    token_login = FakeTokenLogin()
    async with (
        serve(token_login, sessions=Sessions(of_one=2, over_all=1)) as url,
        reading(url) as ann,
        reading(url) as ben,
    ):
        assert (await sign_in(ann, "ann")).status == 303
        refused = await sign_in(ben, "ben", "/queue")
        text = await refused.text()
        assert refused.status == 503 and "no room for another one" in text and not refused.cookies
        assert 'name="next" value="/queue"' in text, "what was asked for is not forgotten"
        assert token_login.inside == {ANN}
        async with ann.get("/") as answer:
            assert answer.status == 200


async def test_the_reader_whose_session_made_room_is_forgotten_with_it() -> None:
    token_login = FakeTokenLogin()
    async with serve(token_login, sessions=Sessions(of_one=1)) as url, reading(url) as first, reading(url) as second:
        await sign_in(first, "ann")
        await sign_in(second, "ann")
        assert token_login.inside == {ANN}, "who signs in again is not let go"
        async with first.get("/") as answer:
            assert answer.status == 401
        async with second.get("/") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("inside", [True, False])
async def test_a_form_of_too_many_fields_is_told_so_and_one_that_is_too_large_too(tmp_path: Path, inside: bool) -> None:
    sent = {"Content-Type": "application/x-www-form-urlencoded"} | HERE
    many, large = urlencode({f"f{each}": "x" for each in range(MOST_FIELDS + 1)}), "text=" + "x" * 2**21
    async with serve_console(tmp_path) as served, reading(served.url) as nobody:
        session = served.session if inside else nobody
        for body, said in (
            (many, "this form has more than 1000 fields"),
            (large, "more than the console takes: 2 MiB"),
        ):
            async with session.post("/new", data=body, headers=sent) as answer:
                assert answer.status == 413 and said in await answer.text()
        async with session.post(
            "/new", data=urlencode({f"f{each}": "" for each in range(999)}), headers=sent
        ) as answer:
            assert answer.status == (200 if inside else 401)
