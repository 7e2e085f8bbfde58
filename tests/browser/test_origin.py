"""What a browser that is signed in sends to another server at the console's address: no cookie, and no place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from browser.places import enter
from console.test_origin import ASKED, beside, replay
from console.test_token_sign_in import FakeTokenLogin, serve
from support.consoles import PADDLE, serve_console

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser
_FETCH = """address => fetch(address, {credentials: "include", mode: "no-cors"}).then(() => 0)"""
_READ = """address => fetch(address, {credentials: "include"}).then(answer => answer.text(), error => error.name)"""


async def test_a_browser_that_is_signed_in_sends_no_cookie_to_another_port(page: Page, tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served, beside("127.0.0.1") as (thief, port):
        url, other = await enter(page, served), f"http://127.0.0.1:{port}"
        await page.evaluate(
            "address => { const link = document.createElement('a'); link.href = address; document.body.append(link); "
            "link.click(); }",
            f"{other}/tensorboard",
        )
        await page.wait_for_url(f"{other}/tensorboard")
        for path in ASKED:
            await page.goto(other + path)
            await page.evaluate(_FETCH, f"{other}{path}?again")
        assert len(thief.got) >= 2 * len(ASKED) + 1 and thief.cookies == []
        assert urlsplit(url).path not in str(thief.got), "no Referer tells the place"
        assert await page.evaluate(_READ, f"{served.url}/") == "TypeError", "its scripts read nothing of the console"
        await replay(thief, served.url)
        await page.goto(url)
        assert await page.get_by_role("heading", level=1).count() == 1
        assert page.url.rstrip("/") == url, "the reader is still signed in"


async def test_a_link_to_a_line_of_a_log_keeps_the_line_over_the_sign_in(page: Page) -> None:
    async with serve(FakeTokenLogin()) as url:
        await page.goto(f"{url}/jobs/default/{PADDLE.qualified}/anns/logs?at=1#rank=worker-1&line=5120")
        await page.get_by_label("A token of the cluster").fill("ann")
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/s/**")
        assert page.url.endswith("/anns/logs?at=1#rank=worker-1&line=5120")
