"""A reader's forms are answered one after the other, those of two readers at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.test_token_sign_in import HERE, FakeTokenLogin, serve, sign_in
from paddock.console.page_context import PageContext
from paddock.console.reader_locks import PerReaderLock, work_to_the_end
from paddock.console.screens import new
from support.readers import Reader, reading
from support.waiting import until


async def test_one_form_of_a_reader_is_answered_at_a_time() -> None:
    locks, done, go = PerReaderLock(), list[str](), asyncio.Event()

    async def answer(reader: str, name: str) -> None:
        async with locks.of(reader):
            done.append(name)
            await go.wait()

    tasks = [asyncio.create_task(answer(*each)) for each in (("a", "1"), ("a", "2"), ("b", "3"))]
    for _ in range(5):
        await asyncio.sleep(0)
    assert done == ["1", "3"]
    go.set()
    await asyncio.gather(*tasks)
    assert done == ["1", "3", "2"]


async def test_a_form_whose_reader_has_gone_keeps_its_turn_until_its_thread_is_over() -> None:
    """A page that asks anew drops the request before, and would have a thread at work for each."""
    locks, go = PerReaderLock(), threading.Event()

    async def answer() -> None:
        async with locks.of("a"):
            await work_to_the_end(go.wait)

    task = asyncio.create_task(answer())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    held = locks.of("a").locked()
    go.set()
    await asyncio.gather(task, return_exceptions=True)
    assert held
    assert task.cancelled()
    assert not locks.of("a").locked()


async def test_logs_and_charts_do_not_wait_for_the_forms_of_many_readers() -> None:
    go = threading.Event()
    forms = [asyncio.create_task(work_to_the_end(go.wait)) for _ in range(50)]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await asyncio.to_thread(bool)  # as they read
    finally:
        go.set()
    assert all(await asyncio.gather(*forms))


async def test_a_reader_who_opens_a_form_many_times_holds_up_neither_other_readers_nor_their_logs() -> None:
    """A page that is left does not end its thread: twelve clones that one reader asked for kept all others waiting for
    minutes, also those who read logs."""
    begun, go = list[str](), threading.Event()

    async def build(page: PageContext) -> Mapping[str, Any]:
        begun.append(page.identity.id)
        if page.query.get("hostile"):
            await work_to_the_end(go.wait)
        else:
            await work_to_the_end(bool)
        return {"types": [{"name": "x", "title": "x", "about": "x"}], "text": "", "again": ""}

    screen = replace(new.SCREEN, build=build, topics=lambda path, query: ())
    async with serve(FakeTokenLogin(), screens=[screen]) as url, reading(url) as ann, reading(url) as ben:
        await sign_in(ann, "ann")
        await sign_in(ben, "ben")
        asked = [asyncio.create_task(_get(ben, "/new?hostile=1")) for _ in range(40)]
        try:
            await until(lambda: "b" in begun)
            assert await _get(ann, "/new") == 200
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            assert await _get(ann, "/new") == 200
            assert begun.count("b") == 1, "the form of one reader was built more than once at a time"
        finally:
            go.set()


async def _get(session: Reader, path: str) -> int:
    async with asyncio.timeout(20), session.get(path, headers=HERE) as answer:
        await answer.read()
        return answer.status
