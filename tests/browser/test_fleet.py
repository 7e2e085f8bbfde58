"""The list of several clusters, one of which is silent: accessible, and read as its goldens say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.places import enter, locate
from browser.test_goldens import write
from browser.test_screens import AXE, SETTLED, tell
from console.test_fleet import ARN, Served, serve_backends
from support.demo import NOW, Demo, serve_demo

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser

PLACES = {"fleet": "/", "fleet-choice": "/new"}


async def open_fleet(page: Page, served: Served, language: str) -> str:
    url = await enter(page, served)
    await page.goto(f"{url}/?lang={language}")
    return url


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_list_of_several_clusters_is_accessible_and_read_as_its_goldens_say(
    demo: Demo, tmp_path: Path, page: Page, match_golden: Callable[[str, str], None], language: str
) -> None:
    """Check 23."""
    await page.clock.set_fixed_time(NOW)
    differing, found = [], []
    async with serve_demo(tmp_path / "other") as other:
        silent = replace(other.console.backend, silent_since=lambda _: NOW - 61)
        async with serve_backends({"paddock": demo.console.backend, ARN: silent}) as served:
            url = await open_fleet(page, served, language)
            for name, place in PLACES.items():
                for theme in ("light", "dark"):
                    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
                    await page.goto(locate(url, place))
                    await page.wait_for_function(SETTLED)
                    await page.evaluate(AXE.read_text())
                    done = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
                    found += tell(f"{name}, {theme}", done["violations"])
                try:
                    tree = await page.locator("body").aria_snapshot()
                    match_golden(f"{name}.{language}.yaml", write(tree, demo).replace(served.url, "URL"))
                except AssertionError as error:
                    differing.append(f"{name}: {error}")
    assert not found and not differing, "\n".join(found + differing)


async def test_jobs_that_are_chosen_in_one_cluster_are_not_chosen_in_another(
    demo: Demo, tmp_path: Path, page: Page
) -> None:
    async with serve_demo(tmp_path / "other") as other:
        backends = {"here": demo.console.backend, "there": other.console.backend}
        async with serve_backends(backends) as served:
            url = await enter(page, served)
            await page.goto(f"{url}/c/here/")
            await page.locator(".pick input[name]").first.check()
            await page.locator("#chosen").wait_for()
            await page.goto(f"{url}/c/there/")
            await page.wait_for_function(SETTLED)
            assert await page.locator(".pick input[name]").count() and await page.locator("#chosen").is_hidden()
            await page.goto(f"{url}/c/here/")
            await page.locator("#chosen").wait_for()
