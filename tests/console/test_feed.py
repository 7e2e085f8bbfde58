"""What a page looks at: one watch for all who look, kept a while, tried again where it was refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from paddock.console import feed as feeds
from paddock.console.feed import Cache, Feed, Topic
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.api import Api, Event, PodApi
from paddock.kube.calls import Call, T
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import PODS, Resource
from support.waiting import LoopClock

TOPIC = Topic(PODS, "team-a")


class Watched(Api):
    """Refuses the first watches with these errors; then there is one pod."""

    def __init__(self, *errors: ApiError) -> None:
        self._errors = list(errors)
        self.watches = 0
        self.let_go = asyncio.Event()
        self.go_on = asyncio.Event()

    async def send(self, call: Call[T]) -> T:
        raise AssertionError("a feed asks for nothing but watches")

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        self.watches += 1
        if self._errors:
            raise self._errors.pop(0)
        yield Event("ADDED", {"metadata": {"namespace": "team-a", "name": "one"}})
        yield Event("SYNCED", {})
        await self.let_go.wait()
        yield Event("ADDED", {"metadata": {"namespace": "team-a", "name": "two"}})
        await self.go_on.wait()
        yield Event("ADDED", {"metadata": {"namespace": "team-a", "name": "three"}})


class Silent(Api):
    async def send(self, call: Call[T]) -> T:
        raise AssertionError("a feed asks for nothing but watches")

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        await asyncio.Event().wait()
        yield Event("SYNCED", {})


async def test_an_api_that_does_not_answer_delays_the_first_page_alone_and_hides_no_other_cluster() -> None:
    clock, here = LoopClock(), replace(TOPIC, cluster="here")
    feed = Feed(Silent(), {"here": Watched()}, wait=5)
    async with AsyncExitStack() as pages:
        first = asyncio.create_task(pages.enter_async_context(feed.open([TOPIC, here])))
        await clock.advance(0)  # it has begun
        await clock.advance(4.9)
        assert not first.done()
        await clock.advance(0.2)
        assert [each.synced.is_set() for each in first.result().values()] == [False, True]
        assert len(first.result()[here].objects) == 1
        second = asyncio.create_task(pages.enter_async_context(feed.open([TOPIC, here])))
        await clock.advance(0)
        assert len(second.result()[here].objects) == 1
    feed.close()


class Discovered(PodApi, Watched):
    """Also a server with these kinds of one group; None: without the group."""

    def __init__(self, kinds: Sequence[str] | None, *errors: ApiError) -> None:
        Watched.__init__(self, *errors)
        self._kinds = kinds

    async def fetch(self, path: str, query: Mapping[str, str] = {}, *, accept: str = "") -> Any:
        assert path == f"/apis/{PADDLEPADDLE.resource.api_version}"
        if self._kinds is None:
            raise NotFound("the server could not find the requested resource")
        return {"resources": [{"name": each} for each in self._kinds]}

    def stream_log(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a feed reads no logs")


@pytest.mark.parametrize(
    ("kinds", "told"), [(["paddlejobs"], Forbidden), (["others"], NotFound), ([], NotFound), (None, NotFound)]
)
async def test_who_may_not_list_a_kind_that_is_not_there_is_told_that_it_is_not_there(
    kinds: Sequence[str] | None, told: type[ApiError]
) -> None:
    """An API asks for rights first: it answers 403 for what it does not serve."""
    topic = Topic(PADDLEPADDLE.resource, "team-a")
    feed = Feed(Discovered(kinds, Forbidden("no")))
    async with feed.open([topic]) as caches:
        assert type(caches[topic].error) is told
    feed.close()


async def test_pages_of_one_topic_share_a_watch() -> None:
    api = Watched()
    feed = Feed(api)
    async with feed.open([TOPIC]) as first, feed.open([TOPIC]) as second:
        assert first[TOPIC] is second[TOPIC]
        assert len(first[TOPIC].objects) == 1
    async with feed.open([TOPIC]):
        pass
    assert api.watches == 1, "it lingers"
    feed.close()


@pytest.mark.parametrize("error", [Forbidden("no"), NotFound("no")])
async def test_what_was_refused_is_tried_again_without_a_wait(error: ApiError) -> None:
    api = Watched(error)
    feed = Feed(api)
    async with feed.open([TOPIC]) as caches:
        assert caches[TOPIC].error is error
    async with feed.open([TOPIC]) as caches, asyncio.timeout(feeds.SYNC_SECONDS):
        assert caches[TOPIC].error is error, "what was known is shown at once"
        async for _ in feed.changes([TOPIC]):
            break
        assert (caches[TOPIC].error, len(caches[TOPIC].objects)) == (None, 1)
    feed.close()


async def test_who_is_known_again_is_not_refused_by_what_was() -> None:
    feed = Feed(Watched(Unauthorized("expired")))
    async with feed.open([TOPIC]) as caches:
        assert isinstance(caches[TOPIC].error, Unauthorized)
    async with feed.open([TOPIC]) as caches:
        assert caches[TOPIC].error is None
    feed.close()


async def test_a_page_that_saw_a_refusal_ends_no_watch_of_another() -> None:
    api = Watched(Forbidden("no"))
    feed = Feed(api, linger=0.0)
    async with AsyncExitStack() as second:
        async with feed.open([TOPIC]):
            caches = await second.enter_async_context(feed.open([TOPIC]))
            async for _ in feed.changes([TOPIC]):
                break
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        api.let_go.set()
        async for _ in feed.changes([TOPIC]):
            break
        assert len(caches[TOPIC].objects) == 2
    feed.close()


async def test_the_first_change_after_a_quiet_time_is_seen_at_once_and_those_that_follow_together() -> None:
    api = Watched()
    feed = Feed(api, gather=3600)
    async with feed.open([TOPIC]):
        changes = feed.changes([TOPIC])
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        api.let_go.set()
        async with asyncio.timeout(feeds.SYNC_SECONDS):
            await waiting
        api.go_on.set()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(changes), 0.05)
    feed.close()


class Granted(Api):
    """One watch after another, each of what is there then: a right that is taken away ends it. `answers`: the names of
    pods, or None for a refusal; the last one for ever."""

    def __init__(self, *answers: Sequence[str] | None) -> None:
        self._answers = list(answers)
        self.revoked = asyncio.Event()

    async def send(self, call: Call[T]) -> T:
        raise AssertionError("a feed asks for nothing but watches")

    async def follow(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        names = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if names is None:
            raise Forbidden("not any more")
        for name in names:
            yield Event("ADDED", {"metadata": {"namespace": "team-a", "name": name}})
        yield Event("SYNCED", {})
        await self.revoked.wait()
        self.revoked.clear()
        raise Forbidden("not any more")


def names_of(cache: Cache) -> list[str]:
    return [key.name for key in cache.objects]


async def test_what_a_reader_may_not_see_any_more_is_gone_from_open_pages_and_comes_again_with_the_right() -> None:
    clock = LoopClock()
    api = Granted(["one"], None, None, ["one"])
    feed = Feed(api)
    async with feed.open([TOPIC]) as caches:
        cache = caches[TOPIC]
        cache.notes["seen"] = "what a screen made of it"
        api.revoked.set()
        await clock.advance(0)
        assert (names_of(cache), cache.error) == (["one"], None), "a server that has just begun may refuse by mistake"
        await clock.advance(feeds.DOUBT_SECONDS)
        assert (names_of(cache), cache.notes) == ([], {}) and isinstance(cache.error, Forbidden)
        await clock.advance(feeds.AGAIN_SECONDS)
        assert isinstance(cache.error, Forbidden)
        await clock.advance(feeds.AGAIN_SECONDS)
        assert (names_of(cache), cache.error) == (["one"], None)
    feed.close()


async def test_a_refusal_that_was_a_mistake_is_seen_by_nobody_and_what_was_deleted_meanwhile_is_gone() -> None:
    clock = LoopClock()
    api = Granted(["one", "two"], ["two"])
    feed = Feed(api)
    async with feed.open([TOPIC]) as caches:
        assert names_of(caches[TOPIC]) == ["one", "two"]
        api.revoked.set()
        await clock.advance(0)
        await clock.advance(feeds.DOUBT_SECONDS)
        assert (names_of(caches[TOPIC]), caches[TOPIC].error) == (["two"], None)
    feed.close()


@pytest.mark.parametrize("namespace", ["../../../../version?", "team/a", "team a", "TEAM", "\0"])
async def test_a_namespace_that_can_be_none_has_nothing_and_the_api_is_not_asked(namespace: str) -> None:
    """A reader types it into a filter; it would be a part of a path of the API."""
    api = Watched()
    feed, topic = Feed(api), replace(TOPIC, namespace=namespace)
    async with feed.open([topic]) as caches:
        assert caches[topic].synced.is_set()
        assert (caches[topic].error, caches[topic].objects, api.watches) == (None, {}, 0)
    feed.close()
