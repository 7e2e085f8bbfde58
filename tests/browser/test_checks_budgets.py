"""What the first page costs: check 25, in requests and bytes. `make bench` measures its seconds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from browser.places import enter
from support.demo import Demo, address, write_many

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser
KILO = 1000


@dataclass
class Cost:
    """Of one page, as the browser counts it: headers and bodies on the wire, without the live stream."""

    requests: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.sizes.values())

    @property
    def icons(self) -> int:
        """Of the tab, beside the one in the head: a browser loads them when it likes."""
        return sum(size for url, size in self.sizes.items() if "/paddock-" in url)

    @property
    def scripts(self) -> int:
        return sum(size for url, size in self.sizes.items() if ".js" in url)


async def measure(page: Page, address: str) -> Cost:
    """With an empty cache."""
    cost, urls, changed = Cost(), {}, asyncio.Event()
    session = await page.context.new_cdp_session(page)
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def sent(event: dict[str, Any]) -> None:
        urls[event["requestId"]] = event["request"]["url"]
        cost.requests.append(event["request"]["url"])

    def ended(event: dict[str, Any]) -> None:
        if event["requestId"] in urls:  # one of the page before
            cost.sizes[urls[event["requestId"]]] = int(event["encodedDataLength"])
            changed.set()

    session.on("Network.requestWillBeSent", sent)
    session.on("Network.loadingFinished", ended)
    await page.goto(address, wait_until="load")
    while not set(_list_loaded(cost)) <= set(cost.sizes):
        changed.clear()
        await changed.wait()
    await session.detach()
    return cost


def _list_loaded(cost: Cost) -> list[str]:
    """Without the live stream, which does not end, and the icon, which a browser loads when it likes."""
    return [url for url in cost.requests if "/live" not in url and not url.endswith(".svg")]


async def test_the_list_of_a_thousand_jobs_is_light(demo: Demo, page: Page) -> None:
    """Check 25: at most 8 requests beside the live stream, 40 KB, of which 25 KB are scripts; 100 rows on a page."""
    await write_many(demo.api, 1000)
    url = await enter(page, demo)
    cost = await measure(page, f"{url}/")
    loaded = _list_loaded(cost)
    assert len(loaded) <= 8, loaded
    assert cost.scripts <= 25 * KILO, cost.sizes
    assert cost.total - cost.icons <= 40 * KILO, cost.sizes
    assert await page.locator("tbody tr").count() == 100


async def test_a_chart_costs_its_library_and_no_more(demo: Demo, page: Page) -> None:
    """Check 25: scripts of 20 KB, and 32 with a chart: its library has 22.5, what draws with it and its toolbar 8."""
    url = await enter(page, demo)
    cost = await measure(page, f"{url}{address('resnet50')}/charts")
    assert cost.scripts <= 52 * KILO, {url: size for url, size in cost.sizes.items() if ".js" in url}


async def test_an_idle_page_asks_for_nothing(demo: Demo, page: Page) -> None:
    """Check 25: an idle tab makes no request but its one stream, in ten minutes of its own clock."""
    await page.clock.install()
    async with page.expect_event("console", lambda said: said.text == "connected"):
        await page.add_init_script("addEventListener('htmx:sse:after:connection', () => console.log('connected'))")
        url = await enter(page, demo)
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    await page.clock.run_for(600_000)
    await page.evaluate("() => fetch('help').then((answer) => answer.text())")
    assert [url for url in asked if not url.endswith(".svg")] == [f"{url}/help"], "what was asked for before this one"
