"""A watch that is blind is noticed: one that is silent is begun again where it stood, one that is refused is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from client.test_client import Sleeps, line, page, pod, refusal, scripted
from client.tls_server import serve
from paddock.apiserver.http.streams import BOOKMARK_SECONDS
from paddock.client.client import SILENCE_SECONDS, Client
from paddock.client.requests import build_watch
from paddock.client.watches import Watch, Watches
from paddock.kube.calls import List
from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.kube.meta import PODS
from support.waiting import until


def test_two_bookmarks_may_be_missed_and_no_more() -> None:
    """A server sends one a minute, to who asks; so does that of a laptop."""
    assert build_watch(List(PODS), "5", seconds=1).query["allowWatchBookmarks"] == "true"
    assert BOOKMARK_SECONDS <= 60
    assert 2 * BOOKMARK_SECONDS < SILENCE_SECONDS < 3 * 60


async def test_a_watch_that_is_silent_goes_on_elsewhere_where_it_stood(tmp_path: Path) -> None:
    """As where an API server dies without a word. The two silent ones are quiet, and the last a server's that lives."""
    handler, seen = scripted(
        page(pod("a"), version=5), [None], [line("BOOKMARK", pod("", 9)), None], [line("ADDED", pod("b", 10)), None]
    )
    told = []
    async with serve(handler, tmp_path) as config, Client(config, silence=0.3, sleep=Sleeps()) as client:
        async with asyncio.timeout(60):
            async for event in client.follow(PODS):
                told.append((event.type, event.object.get("metadata", {}).get("name", "")))
                if len(told) == 3:
                    break
    assert told == [("ADDED", "a"), ("SYNCED", ""), ("ADDED", "b")]
    assert [request.query.get("resourceVersion", "") for request in seen] == ["", "5", "5", "9"], "nothing is listed"


class Told:
    """What was refused, and granted again."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[type[ApiError] | None] = []
        self.watches = Watches(on_refusal=self.take, clock=lambda: self.now)

    def take(self, watch: Watch, error: ApiError | None) -> None:
        self.told.append(error and type(error))


@pytest.mark.parametrize(("code", "reason", "error"), [(403, "Forbidden", Forbidden), (401, "", Unauthorized)])
async def test_a_watch_that_is_refused_after_it_was_granted_is_told_until_it_is_granted_again(
    tmp_path: Path, code: int, reason: str, error: type[ApiError]
) -> None:
    no, told = refusal(code, reason), Told()
    granted, goes_on = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        if len(told.told) == 2:
            told.now += 90.0
            goes_on.set()
            await granted.wait()

    handler, _ = scripted(page(version=5), [line("ADDED", pod("a", 6))], no, refusal(code, reason), [None])
    async with serve(handler, tmp_path) as config, Client(config, sleep=sleep, watches=told.watches) as client:
        following = asyncio.create_task(_follow(client))
        await asyncio.wait_for(goes_on.wait(), 60)
        assert told.told == [error, error]
        (watch,) = told.watches.refused(60.0)
        assert (watch.resource, watch.why) == (PODS, "no")
        assert told.watches.refused(91.0) == []
        assert told.watches.silence() == 90.0
        granted.set()
        await until(lambda: not told.watches.refused())
        assert told.told == [error, error, None], "at the answer, before anything has changed"
        assert told.watches.silence() == 0.0
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    told.now += 1000
    assert told.watches.silence() == 0.0, "nothing is watched any more"


async def _follow(client: Client) -> None:
    async for _ in client.follow(PODS):
        pass
