"""One job's page with its log of 100,000 lines, beside Ray's: the same lines, the same Chromium, taken in turns, each
time with an empty cache.

Ray is measured where its program is: `RAY=/path/of/ray python -m benchmarks dashboards`, or `ray` on the PATH. Its
parts listen on all addresses of a machine, so it has a network of its own in which there is loopback alone, and so has
the browser that reads it (`unshare`, `nsenter`, `ip`).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.clusters import Cluster, open_directory
from benchmarks.figures import Figure
from paddock.app.consoles.links import make_link
from paddock.app.home import Home

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

LINES, TURNS = 100_000, 5
_PROGRAM = f"for each in range({LINES}): print('epoch', each // 1000, 'step', each, 'loss', round(9 / (each + 1), 4))"
_LINE = re.compile(r"epoch \d+ step \d+ loss")
_RAY = "http://127.0.0.1:8265"
_START = f"""
ip link set lo up && "$0" start --head --node-ip-address 127.0.0.1 --dashboard-host 127.0.0.1 --dashboard-port 8265 \
  --temp-dir "$1" --num-cpus 2 --object-store-memory 100000000 --disable-usage-stats > "$1/start.log" 2>&1 &&
"$0" job submit --address {_RAY} --submission-id log -- python3 -c "$2" > "$1/submit.log" 2>&1 && echo ready
exec sleep infinity
"""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_NEEDED = ("unshare", "nsenter", "ip")
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


@dataclass
class _Seen:
    """`paint`: seconds to the first content; `line`: to a line of the log. Without streams that do not end."""

    paint: float = 0
    line: float = 0
    requests: int = 0
    bytes: float = 0

    def ask(self, event: Mapping[str, Mapping[str, str]]) -> None:
        address = event["request"]["url"]
        self.requests += address.startswith("http") and "/live" not in address

    def count(self, event: Mapping[str, float]) -> None:
        self.bytes += event["encodedDataLength"]


def measure() -> Sequence[Figure]:
    program = os.environ.get("RAY") or shutil.which("ray")
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    missing = [each for each in _NEEDED if shutil.which(each) is None]
    if program is None or browser is None or missing:
        why = "Ray is not installed" if program is None else f"{', '.join(missing) or 'chromium'} is not installed"
        return [Figure("one job's page with its log, beside Ray's", "", f"left out: {why}", "", "told")]
    with open_directory() as cluster, _start_ray(program, browser) as inside:
        cluster.paddock("run", "--name", "log", "--", "python3", "-c", _PROGRAM)
        ours, rays = asyncio.run(_measure(cluster, browser, inside))
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    return list(_tell(ours, rays, f"Ray {version.rpartition(' ')[2]}"))


def _tell(ours: Sequence[_Seen], rays: Sequence[_Seen], version: str) -> Iterator[Figure]:
    for name, what in (("paint", "first contentful paint"), ("line", "to a line of the log")):
        one, other = (statistics.median(getattr(each, name) for each in seen) for seen in (ours, rays))
        begin = f"one job's page with its log of {LINES:,} lines: " if name == "paint" else "… "
        yield Figure(
            f"{begin}{what}", f"{one * 1000:.0f} ms", f"{version}: {other * 1000:.0f} ms", f"{one / other:.2f} times",
            "told",
        )  # fmt: skip
    told = (f"{seen[-1].requests} / {seen[-1].bytes / 1000:.0f} KB" for seen in (ours, rays))
    yield Figure("… requests / bytes on the wire", next(told), f"{version}: {next(told)}", "", "told")


@contextmanager
def _start_ray(program: str, browser: str) -> Iterator[str]:
    """Ray with a job that has ended -> a browser in its network."""
    options = [] if os.geteuid() == 0 else ["--map-root-user"]
    directory = Path(tempfile.mkdtemp(prefix="ray-"))
    command = ["unshare", *options, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    process = subprocess.Popen(
        [*command, "sh", "-c", _START, program, str(directory), _PROGRAM], stdout=subprocess.PIPE, text=True
    )
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise SystemExit(f"Ray did not start, see {directory}")
        enter = ["nsenter", "--target", str(process.pid), *(["--user", "--preserve-credentials"] if options else [])]
        inside = directory / "browser"
        inside.write_text(f'#!/bin/sh\nexec {" ".join(enter)} --net {browser} "$@"\n')
        inside.chmod(0o755)
        yield str(inside)
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        process.kill()
        process.wait()


async def _measure(cluster: Cluster, program: str, inside: str) -> tuple[list[_Seen], list[_Seen]]:
    from playwright.async_api import async_playwright

    home = Home(cluster.home, Path())
    url = str(json.loads(home.record.read_text())["console"])
    async with async_playwright() as playwright:
        launch = playwright.chromium.launch
        own = await launch(executable_path=program, args=["--no-sandbox"])
        other = await launch(executable_path=inside, args=["--no-sandbox"])
        context = await _open(own)
        first = await context.new_page()
        await first.goto(make_link(home, url, time.time()).address)
        page, cookies = f"{first.url}jobs/default/paddlejobs.batch.paddlepaddle.org/log/logs", await context.cookies()
        looks = []
        for _ in range(TURNS + 1):  # the first starts what a browser starts once
            signed_in = await _open(own)
            await signed_in.add_cookies(cookies)  # type: ignore[arg-type]
            looks.append((await _see(signed_in, page), await _see(await _open(other), f"{_RAY}/#/jobs/log")))
        await own.close()
        await other.close()
    return [look[0] for look in looks[1:]], [look[1] for look in looks[1:]]


async def _open(browser: Browser) -> BrowserContext:
    return await browser.new_context(viewport={"width": 1280, "height": 800})


async def _see(context: BrowserContext, address: str) -> _Seen:
    page, seen = await context.new_page(), _Seen()
    network = await context.new_cdp_session(page)
    await network.send("Network.enable")
    network.on("Network.requestWillBeSent", seen.ask)
    network.on("Network.loadingFinished", seen.count)
    begun = time.perf_counter()
    await page.goto(address, wait_until="commit")
    await page.get_by_text(_LINE).first.wait_for()
    seen.line = time.perf_counter() - begun
    painted = await page.wait_for_function(_PAINT)
    seen.paint = await painted.json_value() / 1000
    await page.wait_for_timeout(1000)  # what a page asks for after that
    await context.close()
    return seen
