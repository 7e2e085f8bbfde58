"""Every page, in both languages and both themes: accessible, by axe-core, and within the content security policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.places import enter, list_addresses, locate
from support.demo import Demo

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
SETTLED = "() => document.readyState === 'complete' && document.fonts.status === 'loaded'"


def tell(name: str, violations: list[dict[str, Any]]) -> list[str]:
    """What axe found, as one line for each place in the page."""
    return [
        f"{name}: {each['id']}: {each['help']}: {node['html'][:200]} ({'; '.join(node['target'])}) "
        f"{node.get('failureSummary', '')[:300]!r}"
        for each in violations
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 1280), ("en", 390), ("zh", 2560)])
async def test_axe_finds_nothing_on_any_page(demo: Demo, page: Page, language: str, width: int, theme: str) -> None:
    """Check 23: on a phone, a laptop and a wide screen."""
    await page.set_viewport_size({"width": width, "height": 844})
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    url = await enter(page, demo)
    await page.goto(f"{url}/?lang={language}")
    found: list[str] = []
    for name, place in list_addresses().items():
        await page.goto(locate(url, place))
        await page.wait_for_function(SETTLED)
        assert await page.locator("html").get_attribute("lang") == language
        await page.evaluate(AXE.read_text())  # a <script> would hurt the content security policy
        done = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += tell(name, done["violations"])
    assert not found, "\n".join(found)


async def test_what_users_and_programs_wrote_is_text_and_nothing_hurts_the_policy(demo: Demo, page: Page) -> None:
    """Check 24: a `<script>` in a log line, an environment's value, a message and a cause is inert on every page."""
    url = await enter(page, demo)
    for name, place in list_addresses().items():
        await page.goto(locate(url, place))
        await page.wait_for_function(SETTLED)
        assert "broken" not in await page.title(), name
        assert await page.evaluate("window.violations") == [], name
        own = await page.locator("script").evaluate_all("all => all.map(each => each.getAttribute('src'))")
        assert all(each.startswith("/static/") for each in own), (name, own)
