"""A real embedded cluster, its jobs and its commands beside its console: checks of the specification, by number."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from e2e.commands import PADDOCK, Cluster, until
from e2e.manifests import WIDE_AND_DEEP, build_light_job

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.browser
JOBS = "/jobs/default/paddlejobs.batch.paddlepaddle.org"
STORED = "/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs"
WAITS = "trap exit TERM; until [ -e $PADDOCK_OUTPUT_DIR/go ]; do sleep 0.1; done"
"""The first process of a container has no signals but those that it asks for."""


async def sign_in(page: Page, cluster: Cluster) -> str:
    """The console's address; the page has signed in."""
    address, cookies = await asyncio.to_thread(cluster.sign_in)
    await page.context.add_cookies(cookies)
    await page.goto(address)
    return page.url.rstrip("/")


async def become(what: str, look: Callable[[], Any], seconds: float = 90.0) -> None:
    """`until`, while the browser goes on."""
    await asyncio.to_thread(until, what, look, seconds)


def build_waiting(name: str) -> dict[str, Any]:
    """A job that no machine has room for."""
    job = build_light_job(name, "true")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "5000"}}
    return job


def cause_of(cluster: Cluster, name: str) -> str:
    return str(cluster.job(name).get("status", {}).get("cause", {}).get("reason"))


def explain(cluster: Cluster, name: str, language: str) -> str:
    """What the command line prints, on one line, as terminals wrap lines."""
    environment = {**cluster.environment, "LC_ALL": {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}[language], "COLUMNS": "999"}
    command = [*PADDOCK, "explain", name, *cluster.options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90).stdout


async def test_a_link_signs_in_once_and_vanishes_from_the_address(cluster: Cluster, page: Page) -> None:
    """Check 1: token link signs in, vanishes from the address, wrong token says so."""
    used = await asyncio.to_thread(cluster.link)
    await page.goto(used)
    assert re.fullmatch(r"http://127\.[0-9.]+:\d+/s/[\w-]+/", page.url)
    await page.get_by_role("heading", level=1).wait_for()
    url = page.url
    await page.context.clear_cookies()
    origin = url.partition("/s/")[0]
    tried = (f"{origin}/sign-in?token={each}" for each in ("wrong", "%F0%9F%98%80" * 99))
    for wrong in (used, *tried, url, f"{origin}/"):
        answer = await page.goto(wrong)
        assert answer is not None and answer.status == 401, wrong
        assert "paddock console" in await page.locator("main").inner_text()
        assert await page.locator("table").count() == 0


async def paste(cluster: Cluster, page: Page, text: str, name: str) -> None:
    """Check 2: wide_and_deep.yaml pasted, submitted, Completed seen without reload."""
    url = await sign_in(page, cluster)
    await page.goto(f"{url}/new?template=manifest")
    await page.fill("#text", cluster.adapt(text))
    await page.locator("#check .good").first.wait_for()
    await page.locator('button[value="create"]').click()
    await page.wait_for_url(f"**{JOBS}/{name}")
    await page.evaluate("window.loaded = 1")
    await page.locator(".why [data-phase=Completed]").wait_for(timeout=300_000)  # the job's, not that of a pod
    assert await page.evaluate("window.loaded") == 1
    assert cluster.phase(name) == "Completed"


async def test_a_manifest_is_pasted_submitted_and_completes_before_the_readers_eyes(
    cluster: Cluster, page: Page
) -> None:
    await paste(cluster, page, yaml.safe_dump(build_light_job("pasted", "echo trained", workers=2)), "pasted")


@pytest.mark.paddle
async def test_the_documents_manifest_trains_before_the_readers_eyes(cluster: Cluster, page: Page) -> None:
    await paste(cluster, page, WIDE_AND_DEEP.read_text(), "wide-ande-deep")


async def test_a_row_follows_the_api_without_a_reload(cluster: Cluster, page: Page) -> None:
    """Check 3: the row changes at once after the API; `make bench` has the milliseconds."""
    url = await sign_in(page, cluster)
    await page.goto(url)
    await page.evaluate("window.loaded = 1")
    await asyncio.to_thread(cluster.create, STORED, build_light_job("seen", WAITS))
    row = page.locator("tr", has=page.get_by_role("link", name="seen", exact=True))
    await row.locator("[data-phase=Running]").wait_for()
    await asyncio.to_thread(cluster.let_go, "seen")
    await row.locator("[data-phase=Completed]").wait_for()
    await asyncio.to_thread(cluster.delete, f"{STORED}/seen")
    await row.wait_for(state="detached")
    assert await page.evaluate("window.loaded") == 1


async def test_a_waiting_job_says_what_explain_says(cluster: Cluster, page: Page) -> None:
    """Check 7: a waiting job's sentence equals `paddock explain`, zh and en."""
    url = await sign_in(page, cluster)
    await asyncio.to_thread(cluster.create, STORED, build_waiting("greedy"))
    # Its first cause may be that its pod is not there yet.
    await become("its cause", lambda: cause_of(cluster, "greedy") == "WaitingForScheduler")
    for language in ("en", "zh"):
        said = await asyncio.to_thread(explain, cluster, "greedy", language)
        await page.goto(f"{url}{JOBS}/greedy?lang={language}")
        why = page.locator(".why")
        await why.get_by_text("cpu").wait_for()
        sentence = (await why.inner_text()).strip()
        phase = (await why.locator("[data-phase]").inner_text()).strip()
        sentence = sentence.removeprefix(phase).strip()
        assert sentence and sentence in said
        assert re.search("[一-鿿]", sentence) if language == "zh" else not re.search("[一-鿿]", sentence)
    await asyncio.to_thread(cluster.delete, f"{STORED}/greedy")


FAILS = """
seq 1 3000
if [ "$PADDLE_TRAINER_ID" = 1 ]; then
  echo 'Traceback (most recent call last):'; echo '  File "train.py", line 3, in <module>'
  echo 'ValueError: shapes do not match'; exit 1
fi
sleep 1; echo 'RuntimeError: Connection closed by peer [127.0.0.3]:52114'; exit 1
"""


async def test_the_failing_rank_is_first_and_its_error_in_view_also_after_its_pod(cluster: Cluster, page: Page) -> None:
    """Check 8: kill worker-1: its lane first, its error line in view. Check 11: log readable after the pod is
    deleted."""
    url = await sign_in(page, cluster)
    await asyncio.to_thread(cluster.create, STORED, build_light_job("broken", FAILS, workers=3))
    await become("its end", lambda: cluster.phase("broken") == "Failed")
    for step in ("with its pods", "without its pods", "without the job"):
        await page.goto(f"{url}{JOBS}/broken/logs")
        await page.locator(".row", has_text="ValueError: shapes do not match").wait_for()
        assert await page.locator(".row", has_text="ValueError: shapes do not match").is_visible(), step
        assert await page.locator(".ranks [data-rank]").first.get_attribute("data-rank") == "worker-1", step
        if step == "with its pods":
            for rank in await asyncio.to_thread(cluster.pods, "broken"):
                await asyncio.to_thread(cluster.delete, f"/api/v1/namespaces/default/pods/broken-{rank}")
            await become("no pod", lambda: not cluster.pods("broken"))
        elif step == "without its pods":
            await asyncio.to_thread(cluster.delete, f"{STORED}/broken")
            await become("no job", lambda: "broken" not in cluster.paddock("get", "jobs").out)


HIDE = """
() => {
  for (const [name, value] of [["hidden", true], ["visibilityState", "hidden"]])
    Object.defineProperty(document, name, { get: () => value, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
"""What a browser with a screen does to a tab when another one is opened; without a screen all tabs count as seen."""


async def test_the_eleventh_tab_loads(cluster: Cluster, page: Page) -> None:
    """Check 19: 10 tabs open, the 11th loads: a browser has six connections to one host."""
    url = await sign_in(page, cluster)
    await page.evaluate(HIDE)
    for number in range(2, 12):
        tab = await page.context.new_page()
        await tab.goto(url)
        await tab.get_by_role("heading", level=1).wait_for()
        if number < 11:
            await tab.evaluate(HIDE)
    await tab.goto(f"{url}/new")
    await tab.get_by_role("link", name="PaddlePaddle").wait_for()
