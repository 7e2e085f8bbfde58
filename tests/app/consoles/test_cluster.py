"""The console of a cluster whose API is not there at the start, or goes and comes again; and where it listens."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from yarl import URL

from paddock.app.consoles.cluster import Options, Shown, run_readers, serve_user
from paddock.app.consoles.fleets import Member, serve_fleet
from paddock.app.consoles.links import Link
from paddock.app.consoles.rights import REVIEWS
from paddock.app.health import Address, CannotServe
from paddock.app.home import Home
from paddock.client.kubeconfig import Config
from paddock.console.addresses import address_of_job
from support.consoles import PADDLE
from support.loopback import own_address
from support.readers import Reader, reading

SHOWN = Shown("prod", " --context prod")
HERE = {"Sec-Fetch-Site": "same-origin"}


class Kubernetes:
    """A server of PaddleJobs with these names, which can be stopped and started again."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.rules: list[dict[str, list[str]]] = []
        with socket.socket() as free:
            free.bind((own_address(), 0))
            self.port = int(free.getsockname()[1])
        self._runner: web.AppRunner | None = None

    @property
    def config(self) -> Config:
        return Config(server=f"http://{own_address()}:{self.port}", context="prod", namespace="team-a")

    async def start(self) -> None:
        application = web.Application()
        application.router.add_get(PADDLE.path(), self._serve)
        application.router.add_post(REVIEWS.path(), self._review)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, own_address(), self.port).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            answer = web.StreamResponse()
            await answer.prepare(request)
            for each in self._list()[int(request.query["resourceVersion"]) :]:
                await answer.write(json.dumps({"type": "ADDED", "object": each}).encode() + b"\n")
            await asyncio.Event().wait()
        items = self._list()
        listed: dict[str, Any] = {"metadata": {"resourceVersion": str(len(items))}, "items": items}
        return web.json_response({"apiVersion": PADDLE.api_version, "kind": "PaddleJobList", **listed})

    async def _review(self, request: web.Request) -> web.Response:
        if not self.rules:
            raise web.HTTPNotFound
        return web.json_response({"status": {"resourceRules": self.rules, "incomplete": False}}, status=201)

    def _list(self) -> list[dict[str, Any]]:
        """The version of each is its place."""
        kind = {"apiVersion": PADDLE.api_version, "kind": PADDLE.kind}
        return [
            {**kind, "metadata": {"name": name, "namespace": "team-a", "uid": name, "resourceVersion": str(place)}}
            for place, name in enumerate(self.names, 1)
        ]


@asynccontextmanager
async def user(config: Config, directory: Path) -> AsyncIterator[Reader]:
    """A browser that has signed in at the console of this kubeconfig's user."""
    links: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
    home = Home(directory, directory)
    serving = asyncio.create_task(
        serve_user(config, SHOWN, None, 0, lambda make: links.set_result(make("/help")), home)
    )
    try:
        link = URL((await links).address)
        async with reading(link.origin()) as session:
            assert (await session.enter(str(link))).following == "/help"
            yield session
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_an_api_that_is_down_at_the_start_is_said_and_asked_again(tmp_path: Path) -> None:
    kubernetes = Kubernetes("mnist")
    async with user(kubernetes.config, tmp_path) as session:
        async with session.get("/") as answer:
            assert answer.status == 503
            assert answer.headers["Refresh"] == "5"
            text = await answer.text()
        assert "does not answer, so nothing is known yet" in text
        assert "what is shown is of" not in text, "nothing is shown"
        await kubernetes.start()
        try:
            async with asyncio.timeout(180), session.get("/live") as stream:
                await _read_until(stream, "mnist")
        finally:
            await kubernetes.stop()


async def test_who_may_not_read_logs_is_told_so_and_not_that_nothing_was_printed(tmp_path: Path) -> None:
    kubernetes = Kubernetes("mnist")
    kubernetes.rules = [{"apiGroups": ["*"], "resources": [PADDLE.plural, "pods"], "verbs": ["get", "list", "watch"]}]
    await kubernetes.start()
    try:
        logs = f"{address_of_job(PADDLE, 'team-a', 'mnist')}/logs"
        async with user(kubernetes.config, tmp_path) as session, session.get(logs) as answer:
            text = await answer.text()
        assert "you may not read the logs of pods in team-a (get pods/log)" in text
    finally:
        await kubernetes.stop()


async def test_a_page_keeps_what_it_shows_while_the_api_is_down_and_catches_up(tmp_path: Path) -> None:
    kubernetes = Kubernetes("mnist")
    await kubernetes.start()
    try:
        async with user(kubernetes.config, tmp_path) as session, asyncio.timeout(180), session.get("/live") as stream:
            assert "has not answered" not in await _read_until(stream, "mnist")
            await kubernetes.stop()
            assert "mnist" in await _read_until(stream, "has not answered")
            kubernetes.names.append("resnet")
            await kubernetes.start()
            shown = await _read_until(stream, "resnet")
            while "has not answered" in shown:
                shown = await _read_until(stream, "resnet")
            assert "mnist" in shown
    finally:
        await kubernetes.stop()


async def test_several_clusters_are_one_list_and_one_that_is_down_hides_no_other(tmp_path: Path) -> None:
    up, down = Kubernetes("mnist"), Kubernetes("resnet")
    await up.start()
    links: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
    members = [Member("up", up.config, Shown("up", " --context up")), Member("down", down.config, SHOWN)]
    home = Home(tmp_path, tmp_path)
    serving = asyncio.create_task(
        serve_fleet(members, 0, lambda make: links.set_result(make("/")), home, lambda _: None)
    )
    try:
        link = (await links).address
        async with asyncio.timeout(180), reading(URL(link).origin()) as session:
            await session.enter(link)
            async with session.get("/") as answer:
                page = await answer.text()
            assert "/c/up/jobs/team-a/" in page and "down has not answered" in page
            async with session.get("/c/up/") as answer:
                assert "mnist" in await answer.text()
            async with session.get("/live") as stream:
                await down.start()
                shown = await _read_until(stream, "resnet")
                assert "/c/down/jobs/team-a/" in shown and "mnist" in shown
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await up.stop()
        await down.stop()


async def _read_until(stream: Any, text: str) -> str:
    """The first page that has it."""
    page: list[str] = []
    async for line in stream.content:
        if line.startswith(b"data: "):
            page.append(line.decode()[6:])
        elif not line.strip():
            if text in "".join(page):
                return "".join(page)
            page.clear()
    raise AssertionError("the stream has ended")


async def test_a_wrong_certificate_and_a_taken_port_are_said(tmp_path: Path) -> None:
    home, stop = Home(tmp_path, tmp_path), asyncio.Event()
    config = Config(server="https://127.0.0.1:1")
    missing = Options(Address("127.0.0.1", 0), certificate=tmp_path / "none.pem", key=tmp_path / "none.key")
    with pytest.raises(CannotServe, match=r"--tls-cert: cannot use .*none\.pem: No such file or directory"):
        await run_readers(config, SHOWN, missing, home, stop)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = Options(Address("127.0.0.1", taken.getsockname()[1]))
        with pytest.raises(CannotServe, match="Choose another address with --bind-address"):
            await run_readers(config, SHOWN, options, home, stop)


async def test_a_console_in_a_pod_needs_no_api_to_start(tmp_path: Path) -> None:
    stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    home, options = Home(tmp_path, tmp_path), Options(Address("127.0.0.1", 0))
    config = Config(server="https://127.0.0.1:1", ca=None, insecure=True)
    task = asyncio.create_task(run_readers(config, SHOWN, options, home, stop, started.set_result))
    url = f"http://{await started}"
    async with ClientSession(url) as session:
        async with session.get("/healthz") as answer:
            assert answer.status == 200
        async with session.post("/sign-in", data={"token": "some.token"}, headers=HERE) as answer:
            text = await answer.text()
        assert answer.status == 401
        assert "API does not say whose token this is" in text
        assert "some.token" not in text
    stop.set()
    await task
    assert json.dumps(sorted(each.name for each in tmp_path.rglob("*") if each.is_file())) == "[]", "nothing is written"
