"""The machine's own Chromium, for tests that look at the console as a reader does; skipped, with the reason, without
it.

Two places to look at: `demo`, written down and always the same (`support.demo`), and `cluster`, a real embedded cluster
with the real command line, whose jobs run.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e.commands import Cluster, open_cluster
from support.demo import Demo, serve_demo
from support.programs import lack

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 60_000.0
"""For what takes a second on a fast machine that does nothing else."""
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    driver = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None) or lack("chromium", "is not installed")
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(driver.async_playwright())
        opened = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        stack.push_async_callback(opened.close)
        yield opened


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A fresh page, in a context of its own. At the end no script may have failed, nothing hurt the content security
    policy, and nothing been asked of another host."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-US", timezone_id="UTC")
    context.set_default_timeout(WAIT_MS)
    wrong: list[str] = []
    await context.add_init_script(_WATCH)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    context.on("request", lambda sent: None if sent.url.startswith("http://127.") else wrong.append(sent.url))
    yield await context.new_page()
    await context.close()
    assert wrong == []


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    async with serve_demo(tmp_path) as served:
        yield served


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages show times of day in the console's zone."""
    with monkeypatch.context() as environment:
        environment.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with open_cluster("none") as opened:
        yield opened
