"""An informer: which changes its handler gets, and that it survives faulty objects, handlers and servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from paddock.controllers.informer import Informer
from paddock.controllers.mirror import Change
from paddock.controllers.reflector import follow_definitions
from paddock.kube.api import Event
from paddock.kube.errors import NotFound
from paddock.kube.meta import CRDS, PODS, Manifest, Resource


class Stream:
    """An API with `follow` only: it delivers the events of the test, and raises its errors."""

    def __init__(self) -> None:
        self.told: dict[str, asyncio.Queue[Event | Exception]] = {}
        self.asked: list[tuple[str, Any]] = []

    def queue(self, resource: Resource) -> asyncio.Queue[Event | Exception]:
        return self.told.setdefault(resource.plural, asyncio.Queue())

    async def follow(self, resource: Resource, *given: Any, **selectors: Any) -> AsyncIterator[Event]:
        self.asked.append((resource.plural, (*given, *selectors.values())))
        queue = self.queue(resource)
        while True:
            item = await queue.get()
            queue.task_done()
            if isinstance(item, Exception):
                raise item
            yield item

    async def tell(self, resource: Resource, *items: Event | Exception) -> None:
        """Returns once these and their consequences have been processed."""
        for item in items:
            self.queue(resource).put_nowait(item)
        async with asyncio.timeout(180):
            await self.queue(resource).join()
        for _ in range(5):
            await asyncio.sleep(0)


def pod(name: str, node: object = "here") -> Manifest:
    return {"metadata": {"namespace": "n", "name": name, "uid": name}, "node": node}


def read_node(manifest: Manifest) -> str:
    node: str = manifest["node"]
    return node.lower()


@asynccontextmanager
async def informing(**options: Any) -> AsyncIterator[tuple[Stream, Informer[str], list[str]]]:
    stream, heard = Stream(), list[str]()

    def note(change: Change[str]) -> None:
        heard.append(f"{change.key.name}: {change.before} -> {change.now}")

    informer = Informer(
        stream,  # type: ignore[arg-type]
        PODS,
        read_node,
        **{"on_change": note, "on_synced": lambda: heard.append("synced"), **options},
    )
    task = asyncio.create_task(informer.run())
    try:
        yield stream, informer, heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


SYNCED = Event("SYNCED", {})


async def test_a_handler_gets_changes_of_the_parsed_value_and_synced_once() -> None:
    async with informing() as (stream, informer, heard):
        await stream.tell(PODS, Event("ADDED", pod("a")))
        assert not informer.synced.is_set()
        same, other = Event("MODIFIED", pod("a", "HERE")), Event("MODIFIED", pod("a", "there"))
        await stream.tell(PODS, SYNCED, same, other, Event("DELETED", pod("a")))
        assert informer.synced.is_set()
        assert heard == ["a: None -> here", "synced", "a: here -> there", "a: there -> None"]


async def test_it_follows_the_given_selection() -> None:
    async with informing(namespace="n", labels="a=b", fields="spec.nodeName=x") as (stream, _, _):
        await stream.tell(PODS, SYNCED)
        assert stream.asked == [("pods", ("n", "a=b", "spec.nodeName=x"))]


async def test_an_object_that_cannot_be_read_is_left_out_with_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with informing() as (stream, informer, heard):
        await stream.tell(PODS, Event("ADDED", pod("a", 1)), Event("ADDED", pod("b")), SYNCED)
        assert list(informer.mirror.objects.values()) == ["here"]
        assert heard == ["b: None -> here", "synced"]
    assert "Pod n/a is left out" in caplog.text


async def test_a_handler_that_fails_does_not_end_the_informer(caplog: pytest.LogCaptureFixture) -> None:
    def fail(change: Change[str]) -> None:
        raise ZeroDivisionError

    async with informing(on_change=fail) as (stream, informer, _):
        await stream.tell(PODS, Event("ADDED", pod("a")), Event("ADDED", pod("b")))
        assert len(informer.mirror.objects) == 2
    assert "pods n/b" in caplog.text


async def test_an_optional_kind_that_is_not_served_is_tried_again_when_a_definition_changes() -> None:
    async with informing(optional=True) as (stream, informer, heard):
        await stream.tell(PODS, Event("ADDED", pod("a")), NotFound("no such kind"))
        assert (informer.synced.is_set(), dict(informer.mirror.objects), len(stream.asked)) == (True, {}, 1)
        definitions = asyncio.create_task(follow_definitions(stream, [informer]))  # type: ignore[arg-type]
        await stream.tell(CRDS, Event("ADDED", {}))
        await stream.tell(PODS, Event("ADDED", pod("b")), SYNCED)
        definitions.cancel()
        assert heard == ["a: None -> here", "a: here -> None", "synced", "b: None -> here"]


async def test_a_required_kind_that_is_not_served_ends_it() -> None:
    stream = Stream()
    informer = Informer(stream, PODS, read_node, lambda change: None)  # type: ignore[arg-type]
    stream.queue(PODS).put_nowait(NotFound("no such kind"))
    with pytest.raises(NotFound):
        await informer.run()
