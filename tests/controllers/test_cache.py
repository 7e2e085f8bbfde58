"""The cache: indexes, and own writes before the watch delivers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from paddock.controllers.cache import Cache
from paddock.kube.api import Event
from paddock.kube.meta import PODS, Key, Manifest
from support.waiting import LoopClock


class Stream:
    """An API with `follow` only: it delivers the events of the test."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()

    async def follow(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        while True:
            yield await self.events.get()
            self.events.task_done()

    async def tell(self, kind: Any, manifest: Manifest | None = None) -> None:
        """Returns once the cache has taken the event."""
        self.events.put_nowait(Event(kind, manifest or {}))
        await self.events.join()


def pod(name: str, owner: str = "o", uid: str = "", **metadata: Any) -> Manifest:
    return {"metadata": {"namespace": "n", "name": name, "uid": uid or f"u-{name}", "labels": {"o": owner}, **metadata}}


def owners(manifest: Manifest) -> list[str]:
    return [manifest["metadata"]["labels"]["o"]]


@asynccontextmanager
async def caching(**options: Any) -> AsyncIterator[tuple[Stream, Cache, list[str]]]:
    stream, heard = Stream(), list[str]()
    cache = Cache(
        stream,  # type: ignore[arg-type]
        PODS,
        **{
            "on_change": lambda manifest: heard.append(f"{manifest['metadata']['name']} of {owners(manifest)[0]}"),
            "indexes": {"owner": owners},
            **options,
        },
    )
    task = asyncio.create_task(cache.run())
    try:
        yield stream, cache, heard
    finally:
        task.cancel()


def names(manifests: list[Manifest]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in manifests]


async def test_objects_are_cached_and_found_by_index() -> None:
    async with caching() as (stream, cache, heard):
        for name, owner in (("a", "x"), ("c", "y"), ("b", "x")):
            await stream.tell("ADDED", pod(name, owner))
        assert not cache.synced.is_set()
        await stream.tell("SYNCED")
        assert cache.synced.is_set()
        assert names(cache.find("owner", "x")) == ["a", "b"]
        await stream.tell("DELETED", pod("a", "x"))
        assert (names(cache.find("owner", "x")), cache.get(Key("n", "a")), len(cache)) == (["b"], None, 2)
        assert heard == ["a of x", "c of y", "b of x", "a of x"]
        assert {value: names(cache.find("owner", value)) for value in cache.values("owner")} == {"x": ["b"], "y": ["c"]}


async def test_a_change_of_owner_is_reported_with_both_owners() -> None:
    async with caching() as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", "x"))
        await stream.tell("MODIFIED", pod("a", "y"))
        assert heard == ["a of x", "a of x", "a of y"]
        assert names(cache.find("owner", "x")) == []


async def test_a_created_object_is_cached_at_once_until_the_watch_replaces_it() -> None:
    async with caching() as (stream, cache, heard):
        cache.assume(pod("a"))
        assert (names(cache.find("owner", "o")), heard) == (["a"], [])
        await stream.tell("DELETED", pod("a"))
        assert cache.get(Key("n", "a")) is None


async def test_an_answer_after_the_deleted_event_does_not_add_the_object_again() -> None:
    async with caching() as (stream, cache, _):
        await stream.tell("ADDED", pod("a"))
        await stream.tell("DELETED", pod("a"))
        cache.assume(pod("a"))
        assert cache.get(Key("n", "a")) is None
        cache.assume(pod("a", uid="another"))
        assert cache.get(Key("n", "a")) is not None


async def test_an_answer_does_not_replace_what_the_watch_delivered() -> None:
    async with caching() as (stream, cache, _):
        await stream.tell("ADDED", pod("a", marked="by the watch"))
        cache.assume(pod("a"))
        assert cache.get(Key("n", "a")) == pod("a", marked="by the watch")


@pytest.mark.parametrize(("uid", "deleting"), [("u-a", True), ("another", False)])
async def test_a_deleted_object_is_marked_at_once(uid: str, deleting: bool) -> None:
    async with caching() as (stream, cache, _):
        await stream.tell("ADDED", pod("a"))
        cache.assume_deleting(Key("n", "a"), uid, "2026-01-01T00:00:00Z")
        found = cache.get(Key("n", "a"))
        assert found is not None
        assert ("deletionTimestamp" in found["metadata"]) is deleting


async def test_an_assumption_that_no_event_confirms_expires_and_is_reported() -> None:
    clock = LoopClock()
    async with caching(assumption_seconds=30) as (stream, cache, heard):
        await stream.tell("ADDED", pod("there"))
        heard.clear()
        cache.assume(pod("ghost"))
        cache.assume_deleting(Key("n", "there"), "u-there", "2026-01-01T00:00:00Z")
        await clock.advance(31)
        assert sorted(heard) == ["ghost of o", "there of o"]
        assert cache.get(Key("n", "ghost")) is None
        assert cache.get(Key("n", "there")) == pod("there")


async def test_the_event_of_an_own_write_is_nothing_new() -> None:
    confirmed: list[str] = []
    note = lambda manifest: confirmed.append(manifest["metadata"]["resourceVersion"])  # noqa: E731
    async with caching(on_confirmed=note) as (stream, cache, heard):
        cache.assume(pod("a", resourceVersion="7"))
        await stream.tell("ADDED", pod("a", resourceVersion="7"))
        assert (heard, confirmed) == ([], ["7"])
        await stream.tell("MODIFIED", pod("a", resourceVersion="8"))
        assert (heard, confirmed) == (["a of o"], ["7"])


async def test_an_own_change_is_cached_at_once_and_an_event_from_before_it_does_not_take_it_back() -> None:
    async with caching() as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", resourceVersion="7"))
        cache.assume(pod("a", resourceVersion="10", marked="by us"))
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="10", marked="by us")
        heard.clear()
        await stream.tell("MODIFIED", pod("a", resourceVersion="9"))
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="10", marked="by us")
        assert heard == []
        await stream.tell("MODIFIED", pod("a", resourceVersion="11"))
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="11")


async def test_an_answer_that_is_older_than_what_the_watch_delivered_changes_nothing() -> None:
    async with caching() as (stream, cache, _):
        await stream.tell("ADDED", pod("a", resourceVersion="12"))
        cache.assume(pod("a", resourceVersion="9"))
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="12")


async def test_versions_that_go_back_are_believed_once_no_own_write_is_awaited() -> None:
    """As after a restore of etcd from a backup."""
    async with caching() as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", resourceVersion="12"))
        await stream.tell("MODIFIED", pod("a", resourceVersion="3"))
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="3")
        assert heard == ["a of o", "a of o"]


async def test_an_own_change_that_no_event_confirms_stays_and_is_reported() -> None:
    clock = LoopClock()
    async with caching(assumption_seconds=30) as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", resourceVersion="7"))
        cache.assume(pod("a", resourceVersion="8"))
        await stream.tell("ADDED", pod("b", resourceVersion="9"))
        heard.clear()
        await clock.advance(31)
        assert heard == ["a of o"]
        assert cache.get(Key("n", "a")) == pod("a", resourceVersion="8")


async def test_an_own_object_stays_while_the_watch_has_told_nothing_as_new() -> None:
    """A server under load tells hundreds of objects a minute late: each would be made, and refused, once more."""
    clock = LoopClock()
    async with caching(assumption_seconds=10) as (stream, cache, heard):
        await stream.tell("ADDED", pod("before", resourceVersion="7"))
        cache.assume(pod("a", resourceVersion="9"))
        await clock.advance(11)
        assert cache.get(Key("n", "a")) is not None
        await stream.tell("ADDED", pod("b", resourceVersion="8"))
        await clock.advance(11)
        assert cache.get(Key("n", "a")) is not None
        await stream.tell("ADDED", pod("c", resourceVersion="10"))  # it was told, and "a" was not
        await clock.advance(11)
        assert cache.get(Key("n", "a")) is None
        assert heard[-1] == "a of o"


async def test_what_the_watch_never_tells_is_believed_for_two_minutes_at_most() -> None:
    """It was gone before a new list, which tells of no end then; and nothing else has changed since."""
    clock = LoopClock()
    async with caching(assumption_seconds=50) as (stream, cache, _):
        await stream.tell("ADDED", pod("before", resourceVersion="7"))
        cache.assume(pod("a", resourceVersion="9"))
        for _ in range(2):
            await clock.advance(50)
            assert cache.get(Key("n", "a")) is not None
        await clock.advance(50)
        assert cache.get(Key("n", "a")) is None


async def test_the_end_of_an_object_that_is_told_late_does_not_take_the_own_one_of_its_name() -> None:
    async with caching() as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", uid="first", resourceVersion="1"))
        cache.assume(pod("a", uid="second", resourceVersion="3"))
        heard.clear()
        await stream.tell("DELETED", pod("a", uid="first", resourceVersion="2"))
        assert heard == ["a of o"]
        assert cache.get(Key("n", "a")) == pod("a", uid="second", resourceVersion="3")


async def test_a_confirmed_assumption_stays() -> None:
    clock = LoopClock()
    async with caching(assumption_seconds=30) as (stream, cache, heard):
        cache.assume(pod("a"))
        await stream.tell("ADDED", pod("a"))
        await clock.advance(31)
        assert heard == ["a of o"]
        assert cache.get(Key("n", "a")) is not None


async def test_cached_objects_are_trimmed() -> None:
    async with caching(trim=lambda manifest: {"metadata": manifest["metadata"]}) as (stream, cache, _):
        await stream.tell("ADDED", {**pod("a"), "data": {"large": "x"}})
        assert cache.get(Key("n", "a")) == pod("a")


async def test_an_object_missing_in_a_list_is_reported_in_its_last_state() -> None:
    async with caching() as (stream, cache, heard):
        await stream.tell("ADDED", pod("a", "x"))
        await stream.tell("DELETED", {"metadata": {"namespace": "n", "name": "a", "uid": "u-a"}})
        assert heard == ["a of x", "a of x"]
        assert cache.get(Key("n", "a")) is None


async def test_a_reader_may_change_what_it_gets() -> None:
    async with caching() as (stream, cache, _):
        await stream.tell("ADDED", pod("a", "x"))
        found = cache.get(Key("n", "a"))
        assert found is not None
        found["metadata"]["labels"].clear()
        assert names(cache.find("owner", "x")) == ["a"]
        assert cache.get(Key("n", "a")) == pod("a", "x")


@pytest.mark.parametrize("broken", ["trim", "index"])
async def test_only_an_object_that_cannot_be_read_is_left_out(broken: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(manifest: Manifest) -> Manifest:
        return {**manifest, "number": int(manifest["metadata"].get("bad", 1))}

    def index(manifest: Manifest) -> list[str]:
        return [str(int(manifest["metadata"].get("bad", 1)))]

    options = {"trim": fail} if broken == "trim" else {"indexes": {"owner": owners, "number": index}}
    async with caching(**options) as (stream, cache, heard):
        for name in ("a", "b"):
            await stream.tell("ADDED", pod(name))
        await stream.tell("MODIFIED", pod("a", bad="²"))
        assert (cache.get(Key("n", "a")), names(cache.find("owner", "o"))) == (None, ["b"]), "it is not there any more"
        await stream.tell("MODIFIED", pod("b"))
        await stream.tell("MODIFIED", pod("a"))  # mended
        await stream.tell("DELETED", pod("b"))
        assert names(cache.find("owner", "o")) == ["a"]
    assert heard == ["a of o", "b of o", "b of o", "a of o", "b of o"]
    assert "pods n/a" in caplog.text


async def test_a_handler_that_fails_does_not_end_the_cache(caplog: pytest.LogCaptureFixture) -> None:
    def fail(manifest: Manifest) -> None:
        raise ZeroDivisionError(manifest["metadata"]["name"])

    async with caching(on_change=fail) as (stream, cache, _):
        await stream.tell("ADDED", pod("a"))
        await stream.tell("DELETED", pod("b"))
        await stream.tell("ADDED", pod("c"))
        assert names(cache.find("owner", "o")) == ["a", "c"]
    assert "pods n/c" in caplog.text
