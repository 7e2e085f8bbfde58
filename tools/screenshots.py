"""Draws docs/images/console-*.png, the pictures of the console, from a written place that is always the same.

python tools/screenshots.py [FOLDER]     the six main screens, light and dark, in English and Chinese

Needs Chromium; the pictures that stand in the READMEs are in docs/images, the others are looked at and thrown away.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.async_api import Browser, Page, async_playwright  # noqa: E402

from support.demo import NOW, Demo, address, serve_demo  # noqa: E402

SCREENS = {
    "list": "/",
    "job": address("gpt-moe"),
    "logs": address("gpt-moe") + "/logs",
    "charts": address("resnet50") + "/charts",
    "new": "/new?template=pytorch-distributed",
    "queue": "/queue",
}
KEPT = ("list.light", "job.light", "logs.dark", "charts.light")
"""Those of the READMEs."""
LANGUAGES = {"en": "", "zh": ".zh-CN"}
HIDE = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    node.data = node.data.replace(/\\/tmp\\/\\w+\\/home\\//g, "/home/ann/.paddock/");
}"""
"""The directory of a place that is there while it is drawn."""
SIZE = {"width": 1280, "height": 720}


async def main(folder: Path | None) -> None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with tempfile.TemporaryDirectory() as directory:
            async with serve_demo(Path(directory), hostile=False) as demo:
                for language, mark in LANGUAGES.items():
                    for theme in ("light", "dark"):
                        await draw(browser, demo, language, theme, mark, folder)
        await browser.close()


async def draw(browser: Browser, demo: Demo, language: str, theme: str, mark: str, folder: Path | None) -> None:
    context = await browser.new_context(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page = await context.new_page()
    await page.clock.set_fixed_time(NOW)
    await page.goto(demo.sign_in)
    url = page.url.rstrip("/")
    await page.goto(f"{url}/?lang={language}")
    for name, place in SCREENS.items():
        kept = f"{name}.{theme}" in KEPT
        if folder is None and not kept:
            continue
        await page.goto(url + place)
        await settle(page, name)
        path = (folder or ROOT / "docs/images") / f"console-{name}{'' if folder is None else f'-{theme}'}{mark}.png"
        await page.screenshot(path=path)
        print(f"{path} {path.stat().st_size // 1024} KiB")
    await context.close()


async def settle(page: Page, name: str) -> None:
    """What a screen draws after it was loaded."""
    if name == "logs":
        await page.locator(".row").first.wait_for()
    if name == "charts":
        await page.locator("canvas").first.wait_for()
    await page.wait_for_timeout(500)
    await page.evaluate(HIDE)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
