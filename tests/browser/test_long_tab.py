"""Tabs that are left open for a day while their job restarts again and again: each has one stream, follows to the last
attempt, and holds no more than at its begin. The clock of the browser is pretended, the restarts are real ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from browser.test_checks_cluster import JOBS, STORED, become, sign_in
from e2e.commands import Cluster
from e2e.manifests import build_light_job

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Request

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

RESTARTS, WARM = 50, 15
"""A page shows the last ten attempts: it has grown to its size before `WARM`."""
HOURS = 24
TRAINS = "echo this is attempt $PADDOCK_ATTEMPT; trap exit TERM; while :; do sleep 0.2; done"


@dataclass
class Tab:
    """One tab, and what it asks for that has no end."""

    page: Page
    session: CDPSession
    open: set[Request] = field(default_factory=set)

    def watch(self) -> None:
        self.page.on("request", lambda sent: self.open.add(sent) if "/live" in sent.url else None)
        self.page.on("requestfinished", lambda sent: self.open.discard(sent))
        self.page.on("requestfailed", lambda sent: self.open.discard(sent))

    async def measure(self) -> tuple[int, int]:
        """(nodes, bytes of the heap) after a garbage collection."""
        await self.session.send("HeapProfiler.collectGarbage")
        found = await self.session.send("Performance.getMetrics")
        values = {each["name"]: int(each["value"]) for each in found["metrics"]}
        return values["Nodes"], values["JSHeapUsedSize"]


async def open_tab(page: Page, address: str) -> Tab:
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    tab = Tab(page, session)
    tab.watch()
    await page.clock.install()
    await page.goto(address)
    return tab


async def restart(cluster: Cluster, name: str, attempt: int) -> None:
    """Each resume begins a new attempt, and at once: a failed one would wait up to five minutes."""
    await become(f"attempt {attempt} runs", lambda: cluster.phase(name) == "Running")
    for suspended, phase in ((True, "Suspended"), (False, "Running")):
        changes = {"spec": {"runPolicy": {"suspend": suspended}}}
        await asyncio.to_thread(cluster.patch, f"{STORED}/{name}", changes)
        await become(f"it is {phase}", lambda phase=phase: cluster.phase(name) == phase)  # type: ignore[misc]


async def test_a_tab_of_a_day_with_fifty_restarts_has_one_stream_and_does_not_grow(
    cluster: Cluster, page: Page
) -> None:
    url = await sign_in(page, cluster)
    await asyncio.to_thread(cluster.create, STORED, build_light_job("restless", TRAINS))
    await become("it runs", lambda: cluster.phase("restless") == "Running")
    places = {
        "list": "/",
        "job": f"{JOBS}/restless",
        "logs": f"{JOBS}/restless/logs",
        "charts": f"{JOBS}/restless/charts",
    }
    tabs = {name: await open_tab(await page.context.new_page(), url + place) for name, place in places.items()}
    warm: dict[str, tuple[int, int]] = {}
    for attempt in range(RESTARTS):
        await restart(cluster, "restless", attempt)
        for tab in tabs.values():
            await tab.page.clock.fast_forward(HOURS * 3_600_000 // RESTARTS)
        if attempt == WARM:
            warm = {name: await tab.measure() for name, tab in tabs.items()}
    last = tabs["logs"].page.locator(".row", has_text=f"this is attempt {RESTARTS}")
    for _ in range(600):  # the pretended clock moves on only when it is told to
        if await last.count():
            break
        await tabs["logs"].page.clock.run_for(1_000)
    assert await last.first.is_visible()
    await tabs["job"].page.locator(f"#attempt-{RESTARTS}").wait_for()
    for name, tab in tabs.items():
        nodes, heap = await tab.measure()
        assert len(tab.open) <= 1, (name, [each.url for each in tab.open])
        # A chart has a flag for each restart.
        assert nodes < warm[name][0] * 1.2 + 20 * (RESTARTS - WARM), (name, warm[name], nodes)
        assert heap < warm[name][1] * 1.3 + 2_000_000, (name, warm[name], heap)
    await asyncio.to_thread(cluster.delete, f"{STORED}/restless")
