"""A browser signs in by an OpenID Connect provider, which is another site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.oidc_console import Cluster, serving
from support.oidc_provider import providing

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser]


async def test_a_browser_comes_back_from_the_provider_with_its_session_and_to_the_line_that_it_was_asked_for(
    browser: Browser, tmp_path: Path
) -> None:
    async with providing(tmp_path) as provider, serving(Cluster(), provider) as url:
        context = await browser.new_context(ignore_https_errors=True, locale="en-US")
        context.set_default_timeout(60_000)
        said: list[str] = []
        context.on("console", lambda line: said.append(line.text))
        page = await context.new_page()
        await page.goto(f"{url}/queue?x=1#line-3")
        await page.get_by_role("link", name="Sign in with").click()
        await page.wait_for_url("**/s/**")
        assert page.url.endswith("/queue?x=1#line-3")
        await page.get_by_role("heading", level=1).wait_for()
        (cookie,) = await context.cookies()
        assert (cookie["name"], cookie["sameSite"]) == ("paddock-session", "Strict"), "that of the sign-in is gone"
        await page.go_back()
        assert "code=" not in page.url, "the way by the provider is not in the history"
        assert not [line for line in said if "Content Security Policy" in line]
        await context.close()
