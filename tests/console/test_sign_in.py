"""Who comes in, where to, and that nothing is lost when a session is over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiohttp import ClientSession
from yarl import URL

from paddock.app.consoles.links import Link, forward, has_display, make_link, read_key
from paddock.app.home import Home
from paddock.cli.follow.consoles import explain_link
from paddock.console.addresses import read_next
from paddock.console.tickets import read_ticket
from paddock.words.phrases import render
from support.consoles import serve_console
from support.readers import Page, Reader, reading

HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        ("/jobs/default/paddlejobs/mnist?at=1#line=3", "/jobs/default/paddlejobs/mnist?at=1#line=3"),
        ("", "/"),
        ("//evil.example/x", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
        ("/sign-in?token=old", "/"),
        ("/s/OLD-place_1/jobs/x?at=1", "/jobs/x?at=1"),
        ("/s/OLD?theme=dark", "/"),
        ("/s/OLD", "/"),
        ("/s/OLD//evil.example", "/"),
        ("/s/OLD/s/OTHER/x", "/"),
        ("/s/OLD/sign-out", "/"),
    ],
)
def test_a_sign_in_goes_on_within_this_console_alone(asked: str, address: str) -> None:
    assert read_next(asked) == address


async def test_a_link_signs_in_once_and_goes_on_to_where_the_reader_wanted(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, reading(served.url) as other:
        wanted = f"{served.sign_in}&next=/new"
        assert (await other.enter(wanted)).following == "/new"
        async with other.client.get(wanted, allow_redirects=False) as answer:
            assert answer.status == 401 and "was used already" in await answer.text()
            assert not answer.cookies
        async with other.get("/new") as answer:
            assert answer.status == 200


async def test_a_page_of_a_laptop_has_a_button_that_signs_out(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, reading(served.url) as reader:
        await reader.enter(served.sign_in)
        async with reader.get("/") as answer:
            (address,) = re.findall(r'<form class="reader" method="post" action="([^"]+)"', await answer.text())
        async with reader.post(address, headers=HERE, allow_redirects=False) as answer:
            assert answer.status == 303
        async with reader.get("/") as answer:
            page = await answer.text()
            assert answer.status == 401 and "Sign out" not in page


async def test_a_link_that_is_previewed_still_signs_in(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, ClientSession() as other:
        async with other.head(served.sign_in) as answer:
            assert answer.status == 200 and not answer.cookies
        async with other.get(served.sign_in, allow_redirects=False) as answer:
            assert answer.status == 303


async def test_what_was_typed_is_shown_again_where_the_session_is_over(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, ClientSession(served.url) as nobody:
        typed = {"text": "kind: PaddleJob\n# </textarea><script>\n", "do": "submit",
                 "was:name": "mine", "f:name": "other-name", "was:ps": "5", "f:ps": "5"}  # fmt: skip
        async with nobody.post("/new?from=x", data=typed, headers=HERE) as answer:
            page = await answer.text()
            assert answer.status == 401
        assert "not signed in, or not any more: `paddock console`" in page
        assert "kind: PaddleJob\n# &lt;/textarea&gt;&lt;script&gt;\n</textarea>" in page
        assert "f:name" in page and "other-name" in page and "f:ps" not in page, "what is not in the text yet"
        assert "<form" not in page, "the session that it would be sent to is another"
        async with nobody.get("/") as answer:
            assert answer.status == 401 and "not signed in, or not any more" in await answer.text()


@pytest.mark.parametrize(
    "address",
    [
        "/jobs/a%2F..%2Fb/paddlejobs.batch.paddlepaddle.org/demo",
        "/jobs/default/paddlejobs.batch.paddlepaddle.org/x%2F..%2F..%2Fsecrets%2Fs/manifest",
        "/jobs/default/paddlejobs.batch.paddlepaddle.org/%2E%2E%2Fx/logs",
        "/static/0/..%2Fserver.py",
        "/static/0/%2E%2E%2Fserver.py",
        "/static/0/a%00",
    ],
)
async def test_no_name_of_an_address_is_a_path(tmp_path: Path, address: str) -> None:
    async with serve_console(tmp_path) as served, served.session.get(URL(address, encoded=True)) as answer:
        assert answer.status == 404 and "there is no such page" in await answer.text()


async def test_who_signs_out_is_out_with_each_copy_of_the_cookie(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served:
        cookies = {each.key: each.value for each in served.session.cookie_jar}
        async with ClientSession(served.url, cookies=cookies, response_class=Page) as copy:
            copied = Reader(copy, served.session.root)
            async with copied.get("/") as answer:
                assert answer.status == 200
            async with served.session.post("/sign-out", headers=HERE) as answer:
                assert answer.status == 200 and "sign in with the link" in await answer.text()
            async with copied.get("/") as answer:
                assert answer.status == 401


def test_a_link_is_made_without_the_console_and_names_its_page(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    link = make_link(home, "http://127.128.0.1:8000", 1000.0, "/jobs/default/paddlejobs/a").address
    address, _, query = link.partition("?token=")
    token, _, following = query.partition("&next=")
    assert (address, following) == ("http://127.128.0.1:8000/sign-in", "/jobs/default/paddlejobs/a")
    assert read_ticket(token, "link", read_key(home), 1299.0) and not read_ticket(token, "link", read_key(home), 1300.0)
    assert make_link(home, "http://h", 1000.0).address.count("next") == 0


def test_a_browser_is_opened_where_somebody_sees_it() -> None:
    assert has_display({"DISPLAY": ":0"}, "linux") and has_display({"WAYLAND_DISPLAY": "w"}, "linux")
    assert has_display({}, "darwin") and not has_display({"DISPLAY": ""}, "linux")


def test_a_console_at_the_other_end_of_ssh_is_reached_by_a_forwarded_port() -> None:
    link = Link("http://127.128.0.1:8000/sign-in?token=t", "paddock-1a2b3c4d.localhost")
    assert forward(link) == ("8000:127.128.0.1:8000", "http://paddock-1a2b3c4d.localhost:8000/sign-in?token=t")
    far = "\n".join(map(render, explain_link(link, far=True)))
    assert "ssh -L 8000:127.128.0.1:8000 HOST" in far and "paddock-1a2b3c4d.localhost:8000/sign-in?token=t" in far
    assert "does not find paddock-1a2b3c4d.localhost, write 127.0.0.1 in its place" in far
    assert "localhost" not in "".join(map(render, explain_link(link, far=False)))


def test_a_console_has_the_same_name_as_long_as_its_home_and_no_other_one_has_it(tmp_path: Path) -> None:
    names = [make_link(Home(tmp_path / each, tmp_path), "http://h", 1000.0).host for each in ("a", "a", "b")]
    assert names[0] == names[1] != names[2]
    assert re.fullmatch(r"paddock-[0-9a-f]{8}\.localhost", names[0])
