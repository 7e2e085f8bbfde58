"""Several clusters in one console: one list, and the pages of each below its own address."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from browser.places import list_addresses
from console.test_html import check
from console.test_pages import text_of
from console.test_queue_page import build_tenants
from paddock.console.addresses import address_of_cluster, put_page_below
from paddock.console.backend import Backend
from paddock.console.fleet import build_fleet
from paddock.console.screens.clusters import label_clusters, tell_cluster
from paddock.console.server import Console
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Get, Patch, T
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Manifest, Resource, name_of
from support.consoles import sort_objects
from support.demo import NOW, serve_demo
from support.places import Remembered
from support.readers import Reader, reading
from support.written import build_written_job

ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
HERE = {"Sec-Fetch-Site": "same-origin"}
JOB = "/jobs/default/paddlejobs.batch.paddlepaddle.org"


class Kept(Remembered):
    """Each object can be read alone, too; whatever is patched is suspended."""

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Get):
            return next(each for each in self._objects[call.resource] if name_of(each) == call.name)  # type: ignore[return-value]
        answer = await super().send(call)
        return {"spec": {"runPolicy": {"suspend": True}}} if isinstance(call, Patch) else answer  # type: ignore[return-value]


class Refusing(Api):
    """Answers nothing but this."""

    def __init__(self, error: ApiError) -> None:
        self._error = error

    async def send(self, call: Call[T]) -> T:
        raise self._error

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise self._error
        yield


@dataclass(slots=True)
class Cluster:
    """`silent_since`: as of its client."""

    api: Api
    silent_since: float | None = None

    def backend(self, name: str) -> Backend:
        return Backend(
            name, False, lambda _: self.api, options=f" --context {name}", silent_since=lambda _: self.silent_since
        )


@dataclass(slots=True)
class Served:
    session: Reader
    url: str
    fleet: Console
    clusters: Mapping[str, Cluster] = field(default_factory=dict)

    @property
    def sign_in(self) -> str:
        """A link that works once."""
        return self.url + self.fleet.make_link(time.time())

    async def read(self, address: str, status: int = 200) -> str:
        async with self.session.get(address) as answer:
            assert answer.status == status, (address, answer.status)
            return await answer.text()


@asynccontextmanager
async def serve_backends(backends: Mapping[str, Backend]) -> AsyncIterator[Served]:
    fleet = build_fleet(backends, b"k" * 32, clock=lambda: NOW)
    runner = web.AppRunner(fleet.application, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with reading(url) as session:
            await session.enter(fleet.make_link(time.time()))
            yield Served(session, url, fleet)
    finally:
        await fleet.close()
        await runner.cleanup()


@asynccontextmanager
async def serve_fleet(**jobs: Sequence[Manifest] | ApiError) -> AsyncIterator[Served]:
    clusters = {
        name: Cluster(Refusing(each) if isinstance(each, ApiError) else Kept(sort_objects(each)))
        for name, each in jobs.items()
    }
    async with serve_backends({name: each.backend(name) for name, each in clusters.items()}) as served:
        served.clusters = clusters
        yield served


@pytest.mark.parametrize(
    ("context", "address"),
    [
        ("prod", "/c/prod"),
        (ARN, "/c/arn:aws:eks:eu-west-1:123456789012:cluster~2Fprod"),
        ("me@prod", "/c/me@prod"),
        ("a~2Fb", "/c/a~7E2Fb"),
        ("..", "/c/~2E~2E"),
        ("a b?#%", "/c/a~20b~3F~23~25"),
        ("集群", "/c/~E9~9B~86~E7~BE~A4"),
    ],
)
def test_any_context_is_one_plain_part_of_an_address(context: str, address: str) -> None:
    assert address_of_cluster(context) == address


def test_links_and_forms_of_a_page_are_put_below_its_session_and_cluster_and_nothing_else_is() -> None:
    page = (
        '<a href="/">x</a><a href="/jobs/a?b=1">x</a><form action="/new"><p data-address="/jobs/a/logs">'
        '<a href="?q=1">x</a><a href="/static/1/a.css"><a href="/c/other/"><a href="//x"><a href="https://x/">'
        "&lt;a href=&#34;/jobs/x&#34;&gt; href='/'"
    )
    assert put_page_below("", page) == page
    within = page.replace('"/', '"/s/P/').replace('"/s/P//x', '"//x').replace('"/s/P/static', '"/static')
    assert put_page_below("/s/P", page) == within
    assert put_page_below("/s/P", within) == within
    page = page.replace("/c/other", "/sign-in")
    assert put_page_below("/c/p", page) == page.replace('href="/"', 'href="/c/p/"').replace(
        '"/jobs', '"/c/p/jobs'
    ).replace('"/new', '"/c/p/new')


async def test_one_list_shows_the_jobs_of_each_cluster_with_its_name_and_its_address() -> None:
    cause = {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 1}}
    failed = build_written_job("same", phase="Failed", cause=cause)
    async with serve_fleet(prod=[failed], laptop=[build_written_job("same", phase="Running")]) as served:
        page = await served.read("/")
        assert f'href="/c/prod{JOB}/same"' in page and f'href="/c/laptop{JOB}/same/logs"' in page
        said = text_of(page)
        assert "All 2 Failed 1 Running 1" in said and "All clusters 2 prod 1 laptop 1" in said
        assert "/same --context prod" in page, "its command reaches its cluster"
        assert page.index("/c/prod/jobs") < page.index("/c/laptop/jobs"), "trouble comes first"
        only = text_of(await served.read("/?cluster=laptop"))
        assert "worker-1 ended" not in only and "All clusters 2" in only and "All 1" in only


@pytest.mark.parametrize(
    ("contexts", "labels"),
    [
        ((ARN, "laptop"), ["prod", "laptop"]),
        ((ARN, "prod"), [ARN, "prod"]),
        (("a/x", "b/x", "c/"), ["a/x", "b/x", "c/"]),
    ],
)
def test_a_long_context_is_shown_by_its_end_where_no_other_has_it(
    contexts: Sequence[str], labels: Sequence[str]
) -> None:
    assert [*label_clusters(contexts).values()] == labels


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_pages_of_all_clusters_are_html(language: str) -> None:
    job = build_written_job("<b>", phase="Running", mode="PS")
    async with serve_fleet(prod=[job, build_written_job("b")], laptop=[job]) as served:
        for address in ("/", "/?cluster=prod&q=x", "/new", "/help"):
            mark = "&" if "?" in address else "?"
            assert not check(address, await served.read(f"{address}{mark}lang={language}"))


async def test_a_cluster_that_falls_silent_keeps_its_rows_and_the_others_go_on() -> None:
    jobs = {"prod": [build_written_job("a", phase="Running")], "laptop": [build_written_job("b", phase="Running")]}
    async with serve_fleet(**jobs) as served:
        assert "has not answered" not in text_of(await served.read("/"))
        served.clusters["prod"].silent_since = NOW - 61
        assert "prod no answer laptop" in text_of(await served.read("/new"))
        page = await served.read("/")
        assert "prod has not answered for 61s: its jobs are shown as they were then" in text_of(page)
        assert len(re.findall(r'<tr id="[^"]*" data-row class="old">', page)) == 1
        assert "/c/laptop" + JOB + "/b" in page
        assert "API has not answered for 61s" in text_of(await served.read(f"/c/prod{JOB}/a"))
        assert "has not answered" not in text_of(await served.read(f"/c/laptop{JOB}/b"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unauthorized("expired"), "prod answers: expired"),
        (Forbidden("no"), "prod: you may not look into all of its namespaces"),
        (NotFound("none"), "prod has no kind of training job"),
    ],
)
async def test_what_one_cluster_refuses_hides_nothing_of_another(error: ApiError, said: str) -> None:
    async with serve_fleet(prod=error, laptop=[build_written_job("b", phase="Running")]) as served:
        text = text_of(await served.read("/"))
        assert said in text and " b " in text


class Slow(Remembered):
    """Its nodes and pods do not come."""

    async def send(self, call: Call[T]) -> T:
        await asyncio.Event().wait()
        return await super().send(call)


@pytest.mark.parametrize(
    ("api", "said"),
    [(Remembered, "needs 6 CPUs; 2 are free; secret (other) holds 6"), (Slow, "no node has enough CPUs free")],
)
async def test_who_holds_the_room_is_said_as_in_the_list_of_the_cluster_and_a_slow_one_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, api: type[Remembered], said: str
) -> None:
    monkeypatch.setattr("paddock.console.screens.clusters.ROOM_SECONDS", 0.1 if api is Slow else 60.0)
    prod = api(build_tenants())
    async with serve_backends({"prod": Backend("prod", False, lambda _: prod)}) as served:
        page = text_of(await served.read("/"))
        assert said in page
        assert api is Slow or said in text_of(await served.read("/c/prod/"))


async def test_a_namespace_that_one_may_not_look_into_is_named_and_not_asked_for_again() -> None:
    async with serve_fleet(prod=Forbidden("no"), laptop=[build_written_job("b")]) as served:
        text = text_of(await served.read("/?namespace=team"))
        assert "prod: you may not look into its namespace team" in text and "name one in the filter" not in text


async def test_of_a_silent_cluster_nobody_says_that_it_has_no_job_that_fits() -> None:
    async with serve_fleet(prod=[], laptop=[build_written_job("b")]) as served:
        assert "No job fits" in text_of(await served.read("/?cluster=prod"))
        served.clusters["prod"].silent_since = NOW - 61
        page = text_of(await served.read("/?cluster=prod"))
        assert "No job fits" not in page and "prod has not answered for 61s" in page


def test_a_cluster_that_has_never_answered_says_so() -> None:
    (said,) = tell_cluster("prod", {}, 6, None, is_known=False)
    assert str(said) == "prod has not answered yet: its jobs come when it does"
    (said,) = tell_cluster("prod", {}, 6, 125.0, is_known=False)
    assert str(said) == "prod has not answered for 2m5s, so nothing is known of its jobs"


async def test_an_action_goes_to_its_cluster_and_comes_back_to_its_page() -> None:
    async with serve_fleet(prod=[build_written_job("a")], laptop=[build_written_job("a")]) as served:
        address = f"/c/prod{JOB}/a/suspend"
        async with served.session.post(address, headers=HERE, allow_redirects=False) as answer:
            said = await answer.text()
        prod, laptop = (served.clusters[name].api for name in ("prod", "laptop"))
        assert isinstance(prod, Remembered) and isinstance(laptop, Remembered)
        assert (answer.status, answer.following) == (303, f"/c/prod{JOB}/a"), said
        assert prod.calls and not laptop.calls


async def test_who_is_not_signed_in_or_comes_from_elsewhere_gets_nothing_of_any_cluster() -> None:
    async with serve_fleet(prod=[build_written_job("secret")]) as served, ClientSession(served.url) as stranger:
        for address in ("/", "/c/prod/", f"/c/prod{JOB}/secret", "/c/prod/live", "/c/prod"):
            for place in ("", served.session.root):
                async with stranger.get(place + address) as answer:
                    assert answer.status == 401 and "secret" not in (await answer.text()).replace(address, "")
        async with served.session.post(f"/c/prod{JOB}/secret/suspend", headers={"Origin": "http://evil"}) as answer:
            assert answer.status == 403
        async with served.session.get("/c/prod/", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 421
        await served.read("/c/other/", 404)
        await served.read("/c/prod/sign-in", 404)


async def test_a_context_with_a_slash_has_its_pages() -> None:
    api = Remembered(sort_objects([build_written_job("a", phase="Running")]))
    async with serve_backends({ARN: Cluster(api).backend(ARN)}) as served:
        root = address_of_cluster(ARN)
        assert f'href="{root}{JOB}/a"' in await served.read("/")
        page = await served.read(f"{root}{JOB}/a")
        assert f'href="{root}{JOB}/a/logs"' in page and f'connect="{root}/live{JOB}/a?' in page
        assert f'href="{root}/new"' in await served.read("/new")
        assert "/c/" in page and f'href="{root}/"' in await served.read(root)
        async with served.session.get("/c/", allow_redirects=False) as answer:
            assert answer.following == "/"
        async with served.session.get(f"{root}/live{JOB}/a") as stream:
            assert (await stream.content.readline()).startswith(b"id: ")


async def test_every_link_of_each_screen_stays_in_its_cluster(tmp_path: Path) -> None:
    async with serve_demo(tmp_path) as demo, serve_backends({"a": demo.console.backend}) as served:
        for name, place in list_addresses().items():
            if name == "sign-in":
                continue
            page = await served.read(f"/c/a{place}", 404 if name == "missing" else 200)
            links = re.findall(r'="(/[^"]*)"', re.sub(r' data-copy="[^"]*"', "", page))  # a path of the machine
            outside = {
                each
                for each in links
                if not each.startswith(("/c/a/", "/static/")) and each not in ("/c/", "/sign-out")
            }
            ids = set(re.findall(r' id="(/[^"]*)"', page))
            assert outside <= ids, (name, outside - ids)
            assert not re.findall(r'="/c/a/c/', page), name
