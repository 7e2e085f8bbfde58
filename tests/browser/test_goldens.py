"""What a screen reader has of each page: its tree of accessibility, as a golden in each language.

pytest tests/browser/test_goldens.py --rewrite-goldens
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from browser.places import enter, list_addresses, locate
from paddock.console.addresses import SESSIONS
from support.demo import NOW, Demo

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser
_RANDOM = (
    # YAML quotes one that begins as a number does.
    (re.compile(r'(?:\\")?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}(?:\\")?'), "UID"),
    (re.compile(r"resourceVersion: \S+"), "resourceVersion: N"),
    (re.compile(r"(paddock \d+\.\d+\.\d+)\+g[0-9a-f]{8}"), r"\1"),
    (re.compile(r"(outputs/default/gpt-moe-|run=)[0-9a-f]{8}\b"), r"\1MARK"),
    (re.compile(f"{SESSIONS}[A-Za-z0-9_-]{{22}}"), ""),
)


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_each_page_is_read_as_its_golden_says(
    demo: Demo, page: Page, match_golden: Callable[[str, str], None], language: str
) -> None:
    await page.clock.set_fixed_time(NOW)
    url = await enter(page, demo)
    await page.goto(f"{url}/?lang={language}")
    differing = []
    for name, place in list_addresses().items():
        await page.goto(locate(url, place))
        try:
            match_golden(f"{name}.{language}.yaml", write(await read(page), demo))
        except AssertionError as error:  # all pages are compared, and all goldens written, at once
            differing.append(f"{name}: {error}")
    assert not differing, "\n".join(differing)


async def read(page: Page) -> str:
    """The tree when it no longer changes: a script draws those rows of a log that are in view, and the best numbers of
    runs are read behind their page."""
    tree = ""
    await page.locator("#reading:not(:empty)").wait_for(state="detached")
    while tree != (tree := await page.locator("body").aria_snapshot()):
        await page.wait_for_timeout(300 if await page.locator(".view").count() else 0)
    return tree


def write(tree: str, demo: Demo) -> str:
    """The tree without what differs each time."""
    for pattern, word in _RANDOM:
        tree = pattern.sub(word, tree)
    return tree.replace(str(demo.home.root), "HOME").replace(demo.url, "URL") + "\n"
