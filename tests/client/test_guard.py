"""A request that has to wait asks once more when nothing is left to wait for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from client.test_client import answering, page, pod, refusal
from client.tls_server import serve
from paddock.client.client import Client
from paddock.client.connection import CONNECTIONS
from paddock.kube.calls import Call
from paddock.kube.guard import GuardedApi, NotBegun
from paddock.kube.meta import PODS
from support.waiting import until


class Permission:
    def __init__(self) -> None:
        self.given = True
        self.asked = 0

    def check(self, _: Call[Any]) -> None:
        self.asked += 1
        if not self.given:
            raise NotBegun("not now")


async def test_a_request_that_the_server_puts_off_is_not_sent_again_without_permission(tmp_path: Path) -> None:
    handler, seen = answering(refusal(429, "TooManyRequests", **{"Retry-After": "1"}))
    permission = Permission()

    async def sleep(_: float) -> None:
        permission.given = False

    async with serve(handler, tmp_path) as config, Client(config, sleep=sleep) as client:
        with pytest.raises(NotBegun):
            await GuardedApi(client, permission.check).create(PODS, pod("a"))
    assert len(seen) == 1


async def test_a_request_that_waits_for_a_connection_is_not_sent_without_permission(tmp_path: Path) -> None:
    """All connections are busy; when they are free again this process may begin nothing any more."""
    goes_on = asyncio.Event()
    seen: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        await goes_on.wait()
        return page(version=1)

    permission = Permission()
    async with serve(answer, tmp_path) as config, Client(config) as client:
        api = GuardedApi(client, permission.check)
        asked = [asyncio.create_task(api.list(PODS)) for _ in range(CONNECTIONS + 5)]
        await until(lambda: len(seen) == CONNECTIONS and permission.asked == 2 * CONNECTIONS + 5)
        permission.given = False
        goes_on.set()
        results = await asyncio.gather(*asked, return_exceptions=True)
    assert len(seen) == CONNECTIONS
    assert [type(each) for each in results if isinstance(each, Exception)] == [NotBegun] * 5


async def test_what_is_followed_is_not_asked_about(tmp_path: Path) -> None:
    handler, _ = answering(page(pod("a"), version=1))
    permission = Permission()
    permission.given = False
    async with serve(handler, tmp_path) as config, Client(config) as client:
        api = GuardedApi(client, permission.check)
        async for event in api.follow(PODS):
            assert event.type == "ADDED"
            break
        with pytest.raises(NotBegun):
            await api.get(PODS, "n", "a")
