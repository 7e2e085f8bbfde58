"""The console in a real browser, on a laptop's cluster: the list of 1,000 jobs (suspended, so no pods are about), a log
of 1,000,000 lines and a chart of 100,000 points, both printed by jobs.

Beside the list stands a script of the same server, which is a file; beside an idle page the cluster without one.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from aiohttp import ClientSession, CookieJar, StreamReader

from benchmarks.clusters import Cluster, open_directory
from benchmarks.figures import Figure
from paddock.app.consoles.links import make_link
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.console.pages import address_of
from paddock.kube.meta import Manifest, Resource, name_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

JOBS, LINES, POINTS, TABS = 1_000, 1_000_000, 100_000, 20
LOOKS, PAINTS, CHANGES = 40, 7, 20
IDLE_SECONDS = 20.0
PADDLE_JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")
_LOG = "/jobs/default/paddlejobs.batch.paddlepaddle.org/log"
_CURVE = "/jobs/default/paddlejobs.batch.paddlepaddle.org/curve"
_PROGRAMS = {
    "log": f"for each in range({LINES}): print('this is line', each, 'of a log, as long as lines usually are')",
    "curve": f"for each in range({POINTS}): print('step', each, 'loss:', round(9 / (each + 1) + each % 7 / 100, 4))",
}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_EMPTY = "data:text/html,<title>empty</title><p>empty"
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"

_HIDE = """() => {
  Object.defineProperty(document, "visibilityState", {value: "hidden"});
  Object.defineProperty(document, "hidden", {value: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""As a browser does with a tab that another one covers; without a screen it does not."""


def measure() -> Sequence[Figure]:
    with open_directory() as cluster:
        cluster.paddock("up")
        return asyncio.run(_measure(cluster))


async def _measure(cluster: Cluster) -> list[Figure]:
    async with Client(read_config(str(cluster.home / "api" / "kubeconfig"))) as client:
        for name, program in _PROGRAMS.items():
            await client.create(PADDLE_JOBS, _build_job(name, program))
        await _wait(client, set(_PROGRAMS), "Completed")
        before = await _rest(cluster)
        await _fill(client)
        filled = await _rest(cluster)
        console = _Console(cluster)
        figures = [*await _measure_server(console, client, before, filled)]
        async with _open_browser() as browser:
            if browser is None:
                return figures
            return [*figures, *await _measure_browser(console, client, browser)]


class _Console:
    """The console of a cluster that is up."""

    def __init__(self, cluster: Cluster) -> None:
        self.home = Home(cluster.home, Path())
        self.url = str(json.loads(self.home.record.read_text())["console"])
        self.process = psutil.Process(cluster.pid)

    def link(self) -> str:
        return make_link(self.home, self.url, time.time()).address


async def _rest(cluster: Cluster) -> float:
    """MiB that it holds, once it rests."""
    await asyncio.sleep(2)
    return psutil.Process(cluster.pid).memory_info().rss / 2**20


async def _measure_server(console: _Console, client: Client, before: float, filled: float) -> list[Figure]:
    async with ClientSession(console.url, cookie_jar=CookieJar(unsafe=True)) as session:
        root = await _enter(session, console)
        script, log = address_of("htmx.min.js"), f"{root}{_LOG}/logs"
        looks = [(await _get(session, f"{root}/"), await _get(session, script)) for _ in range(LOOKS + 3)][3:]
        after = console.process.memory_info().rss / 2**20
        end = await _get(session, f"{log}/lines?rank=worker-0&from=-50&n=50")
        find = await _get(session, f"{log}/find?rank=worker-0&q=line+{LINES - 1}&from=1")
        find_all = await _get(session, f"{log}/find?rank=worker-0&q=not+there&from=1")
    changes = await _weigh_changes(console, client)
    page, plain = ([look[place] for look in looks] for place in (0, 1))
    p95 = _percentile(page, 95)
    return [
        Figure(
            f"the list of {JOBS} jobs, first byte to last, p50 / p95", f"{_ms(statistics.median(page))} / {_ms(p95)}",
            f"a script of the same server {_ms(statistics.median(plain))}",
            f"{statistics.median(page) / statistics.median(plain):.0f} times", "p95 50 ms", p95 <= 0.05,
        ),
        Figure(
            f"resident for the console, {JOBS} jobs", f"+{after - filled:.0f} MiB",
            f"the jobs themselves +{filled - before:.0f} MiB", "", "+15 MB", (after - filled) * 2**20 <= 15e6,
        ),
        Figure(
            "a change of one job, on the wire of an open list", f"{statistics.median(changes):,.0f} bytes", "", "",
            "4 KB", statistics.median(changes) <= 4e3,
        ),
        Figure(
            f"a log of {LINES:,} lines: its last lines, index and all", _ms(end), "", "", "1 s", end <= 1,
        ),
        Figure(
            "… found in its last line / in no line", f"{_ms(find)} / {_ms(find_all)}", "", "", "told",
        ),
    ]  # fmt: skip


async def _weigh_changes(console: _Console, client: Client) -> list[int]:
    """Bytes of the open list's stream for each of a few labels that are written to one job, as a browser gets them."""
    headers, costs = {"Accept-Encoding": "gzip"}, []
    jar = CookieJar(unsafe=True)
    async with ClientSession(console.url, cookie_jar=jar, auto_decompress=False, headers=headers) as session:
        root = await _enter(session, console)
        async with session.get(f"{root}/live?columns=name,owner") as stream:
            await _drain(stream.content)
            for number in range(CHANGES):
                owner = {"metadata": {"annotations": {"paddock.dev/owner": f"owner-{number}"}}}
                await client.patch(PADDLE_JOBS, "default", f"job-{JOBS - 1:04}", owner)
                costs.append(await _drain(stream.content))
    return costs


async def _drain(content: StreamReader) -> int:
    """Bytes that come until nothing has come for a second."""
    found = 0
    while True:
        try:
            async with asyncio.timeout(1):
                found += len(await content.readany())
        except TimeoutError:
            return found


async def _measure_browser(console: _Console, client: Client, browser: Browser) -> list[Figure]:
    looks = [(await _see_page(console, browser, "/"), await _see_page(console, browser, _EMPTY)) for _ in range(PAINTS)]
    paints, plain = ([look[place].paint for look in looks] for place in (0, 1))
    over = statistics.median(paints) - statistics.median(plain)
    seen = looks[-1][0]
    page, url = await _sign_in(console, browser)
    await page.goto(f"{url}/")
    delays = [await _see_change(client, page, f"seen-{number}") for number in range(CHANGES)]
    busy = await _measure_cpu(console)
    end, points = await _see_end(page, url), await _see_curve(page, url)
    await page.goto("about:blank")
    idle = await _measure_cpu(console)
    tabs = await _open_tabs(url, page)
    return [
        Figure(
            "… in Chromium with an empty cache: first contentful paint", _range(paints),
            f"an empty page of no server {_range(plain)}", f"+{_ms(over)}", "200 ms over an empty page", over <= 0.2,
        ),
        Figure(
            "… requests / bytes on the wire", f"{seen.requests} / {seen.bytes / 1000:.0f} KB", "", "", "10 / 41 KB",
            seen.requests <= 10 and seen.bytes <= 41e3,
        ),
        Figure(
            "a new job's answer from the API to its row, p50 / p95",
            f"{_ms(statistics.median(delays))} / {_ms(_percentile(delays, 95))}", "", "", "500 ms",
            _percentile(delays, 95) <= 0.5,
        ),
        Figure(
            "CPU of the cluster while somebody looks at the list", f"{busy:.1f} %", f"while nobody does {idle:.1f} %",
            f"{busy - idle:+.1f} %", "+0.5 %", busy - idle <= 0.5,
        ),
        Figure(f"a log of {LINES:,} lines: from the address of its last line to it", _ms(end), "", "", "1 s", end <= 1),
        Figure(f"a chart of {POINTS:,} points: from its address to a drawn curve", _ms(points), "", "", "told"),
        Figure(f"the {TABS + 1}st tab, {TABS} being open, to its list", _ms(tabs), "", "", "told"),
    ]  # fmt: skip


@dataclass
class _Seen:
    """A page with an empty cache, without its stream of changes, which does not end. `paint` in seconds."""

    requests: int = 0
    bytes: float = 0
    paint: float = 0

    def count(self, event: Mapping[str, float]) -> None:
        self.bytes += event["encodedDataLength"]

    def ask(self, event: Mapping[str, Mapping[str, str]]) -> None:
        self.requests += "/live" not in event["request"]["url"]


async def _see_page(console: _Console, browser: Browser, address: str) -> _Seen:
    (page, url), seen = await _sign_in(console, browser), _Seen()
    network = await page.context.new_cdp_session(page)
    await network.send("Network.enable")
    network.on("Network.requestWillBeSent", seen.ask)
    network.on("Network.loadingFinished", seen.count)
    await page.goto(_EMPTY if address == _EMPTY else url + address, wait_until="load")
    painted = await page.wait_for_function(_PAINT)
    seen.paint = await painted.json_value() / 1000
    await page.context.close()
    return seen


async def _see_change(client: Client, page: Page, name: str) -> float:
    """Seconds from the API's answer to the row."""
    await page.evaluate(
        """(name) => { window.seen = new Promise((done) => new MutationObserver((_, it) => {
             if ([...document.querySelectorAll("tbody th a")].some((each) => each.textContent === name))
               { it.disconnect(); done(Date.now() / 1000); }
           }).observe(document.getElementById("main"), {subtree: true, childList: true, characterData: true})); }""",
        name,
    )
    await client.create(PADDLE_JOBS, _build_job(name, suspend=True))
    answered = time.time()
    seen: float = await page.evaluate("() => window.seen")
    return seen - answered


async def _measure_cpu(console: _Console) -> float:
    """Per cent of one core."""
    await asyncio.sleep(3)
    begun = console.process.cpu_times()
    await asyncio.sleep(IDLE_SECONDS)
    ended = console.process.cpu_times()
    return (ended.user + ended.system - begun.user - begun.system) / IDLE_SECONDS * 100


async def _see_end(page: Page, url: str) -> float:
    begun = time.perf_counter()
    await page.goto(f"{url}{_LOG}/logs#rank=worker-0&line={LINES}")
    await page.get_by_text(f"this is line {LINES - 1} of").first.wait_for()
    return time.perf_counter() - begun


async def _see_curve(page: Page, url: str) -> float:
    begun = time.perf_counter()
    await page.goto(f"{url}{_CURVE}/charts")
    await page.locator("#plot-loss canvas").first.wait_for()
    return time.perf_counter() - begun


async def _open_tabs(url: str, page: Page) -> float:
    for _ in range(TABS):
        tab = await page.context.new_page()
        await tab.goto(f"{url}/")
        await tab.evaluate(_HIDE)
    begun = time.perf_counter()
    last = await page.context.new_page()
    await last.goto(f"{url}/")
    await last.locator("tbody tr").first.wait_for()
    return time.perf_counter() - begun


async def _sign_in(console: _Console, browser: Browser) -> tuple[Page, str]:
    """In a context of its own, with an empty cache, and where its session has its pages. It was signed in elsewhere, so
    that the browser has loaded nothing yet."""
    page = await (await browser.new_context(viewport={"width": 1280, "height": 800})).new_page()
    async with ClientSession(console.url, cookie_jar=CookieJar(unsafe=True)) as session:
        url = console.url + await _enter(session, console)
        cookies = [{"name": each.key, "value": each.value, "url": f"{url}/"} for each in session.cookie_jar]
    await page.context.add_cookies(cookies)  # type: ignore[arg-type]
    return page, url


async def _enter(session: ClientSession, console: _Console) -> str:
    """The path of the session's pages."""
    async with session.get(console.link()) as answer:
        return answer.url.path.rstrip("/")


@asynccontextmanager
async def _open_browser() -> AsyncIterator[Browser | None]:
    """None where there is none."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        yield None
        return
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


async def _get(session: ClientSession, address: str) -> float:
    """Seconds."""
    begun = time.perf_counter()
    async with session.get(address) as answer:
        await answer.read()
        if answer.status != 200:
            raise SystemExit(f"{address.partition('?')[0]} was answered with {answer.status}")
    return time.perf_counter() - begun


async def _fill(client: Client) -> None:
    names = [f"job-{number:04}" for number in range(JOBS)]
    for begin in range(0, JOBS, 50):
        await asyncio.gather(
            *(client.create(PADDLE_JOBS, _build_job(name, suspend=True)) for name in names[begin : begin + 50])
        )
    await _wait(client, set(names), "Suspended")


async def _wait(client: Client, waiting: set[str], phase: str) -> None:
    async for event in client.follow(PADDLE_JOBS, "default"):
        if (event.object.get("status") or {}).get("phase") == phase:
            waiting.discard(name_of(event.object))
        if not waiting:
            return


def _build_job(name: str, program: str = "pass", *, suspend: bool = False) -> Manifest:
    container = {"name": "main", "image": "python:3", "command": ["python3", "-c", program]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": PADDLE_JOBS.api_version,
        "kind": PADDLE_JOBS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runPolicy": {"suspend": suspend}, "worker": worker},
    }


def _percentile(durations: Sequence[float], percent: int) -> float:
    return sorted(durations)[min(len(durations) - 1, len(durations) * percent // 100)]


def _ms(duration: float) -> str:
    return f"{duration * 1000:.0f} ms"


def _range(durations: Sequence[float]) -> str:
    return f"{_ms(statistics.median(durations))} ({_ms(min(durations))} to {_ms(max(durations))})"
