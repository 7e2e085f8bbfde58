"""Long work: beside the loop, in pieces, and only where there is room; what it answers is what short work answers."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from typing import Any

import pytest

from apiserver.embedded import WIDGETS, Http, config_map, widget
from paddock.apiserver.http.answers import cut_warnings
from paddock.apiserver.http.room import Room
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.objects.reads import PIECE_OBJECTS
from paddock.apiserver.objects.worker import MOST_STEPS, MOST_WAITING, SMALL_BYTES, SMALL_STEPS, Worker
from paddock.kube.budget import Budget
from paddock.kube.errors import Conflict, TooLarge, TooManyRequests, Unavailable
from paddock.kube.meta import CONFIG_MAPS
from support.waiting import until

CONFIG_MAPS_PATH = "/api/v1/namespaces/default/configmaps"


def _count(steps: int) -> Any:
    def work(budget: Budget) -> tuple[int, float]:
        budget.spend(steps)
        return threading.get_ident(), budget.left

    return work


@pytest.mark.parametrize(
    ("steps", "size", "beside", "left"),
    [
        (SMALL_STEPS, 0, False, 0),
        (SMALL_STEPS + 1, 0, True, MOST_STEPS - SMALL_STEPS - 1),
        (1, SMALL_BYTES + 1, True, MOST_STEPS - 1),
    ],
)
async def test_work_begins_on_the_loop_and_goes_beside_it(steps: int, size: int, beside: bool, left: int) -> None:
    worker = Worker()
    thread, found = await worker.compute(_count(steps), size)
    assert (thread != threading.get_ident(), found) == (beside, left)
    worker.close()


async def test_work_of_too_many_steps_is_refused() -> None:
    worker = Worker()
    with pytest.raises(TooLarge, match=str(MOST_STEPS)):
        await worker.compute(_count(MOST_STEPS + 1), 0)
    worker.close()
    with pytest.raises(Unavailable):
        await worker.run_beside(lambda: None)


async def test_only_so_much_work_waits() -> None:
    worker, go_on = Worker(), threading.Event()
    waiting = [asyncio.ensure_future(worker.run_beside(lambda: go_on.wait(60))) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await worker.run_beside(lambda: None)
    go_on.set()
    assert all(await asyncio.gather(*waiting))
    assert await worker.run_beside(lambda: 1) == 1
    worker.close()


async def test_room_is_given_in_order_and_given_back() -> None:
    room, order = Room(10), []

    async def stay(name: str, size: int, leave: asyncio.Event) -> None:
        async with room.take(size):
            order.append(name)
            await leave.wait()

    leave = {name: asyncio.Event() for name in "abcd"}
    tasks = {
        name: asyncio.create_task(stay(name, size, leave[name]))
        for name, size in (("a", 6), ("b", 6), ("c", 4), ("d", 99))
    }
    await asyncio.sleep(0.01)
    assert order == ["a"], "c would find room, and comes after b"
    tasks["b"].cancel()
    await until(lambda: order == ["a", "c"])
    leave["c"].set()
    leave["a"].set()
    await until(lambda: order == ["a", "c", "d"])  # more than all is all
    with pytest.raises(TooManyRequests):
        async with room.take(1, seconds=0.01):
            pass
    leave["d"].set()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    async with room.take(10, seconds=0):
        pass


@pytest.mark.parametrize(
    ("warnings", "kept"),
    [
        (["a", "b"], ["a", "b"]),
        (["x" * 4_000], ["x" * 4_000]),
        (["x" * 5_000, "y"], ["x" * 256, "y"]),
        (["x" * 300] * 20, ["x" * 256] * 16),
        (["a"] * 5_000, ["a"] * 100),
    ],
)
def test_warnings_fit_into_the_headers(warnings: list[str], kept: list[str]) -> None:
    assert cut_warnings(warnings) == kept


# Answers


async def test_a_large_object_is_written_and_read_as_a_small_one(widgets: LocalApi) -> None:
    large = widget("large", size=1) | {"status": {"x": ["y" * 100] * 2_000}}
    large["metadata"]["namespace"] = "default"
    await widgets.create(WIDGETS, large)
    patched = await widgets.patch(WIDGETS, "default", "large", {"status": large["status"]}, subresource="status")
    assert patched["status"] == large["status"]
    again = await widgets.patch(WIDGETS, "default", "large", {"spec": {"size": 2}})
    assert (again["spec"]["size"], again["metadata"]["generation"], again["status"]) == (2, 2, large["status"])
    same = await widgets.patch(WIDGETS, "default", "large", {"spec": {"size": 2}})
    assert same["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await widgets.patch(WIDGETS, "default", "large", {"metadata": {"resourceVersion": "1"}})


async def test_large_updates_of_one_object_at_once_are_all_made(widgets: LocalApi) -> None:
    large = config_map("busy", namespace="default") | {"data": {"x": "y" * 100_000}}
    await widgets.create(CONFIG_MAPS, large)
    patches = [{"data": {f"k{i}": "v"}} for i in range(4)]
    await asyncio.gather(*(widgets.patch(CONFIG_MAPS, "default", "busy", patch) for patch in patches))
    assert set((await widgets.get(CONFIG_MAPS, "default", "busy"))["data"]) == {"x", "k0", "k1", "k2", "k3"}


async def _fill(api: LocalApi, count: int) -> None:
    await asyncio.gather(*(api.create(CONFIG_MAPS, config_map(f"c{i:04}", namespace="default")) for i in range(count)))


@pytest.mark.parametrize("accept", ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"])
async def test_a_list_in_pieces_is_whole(widgets: LocalApi, http: Http, accept: str) -> None:
    count = 2 * PIECE_OBJECTS + 10
    await _fill(widgets, count)
    field = "rows" if "Table" in accept else "items"
    headers = {"Accept": accept}
    for query, names in (
        ("", [f"c{i:04}" for i in range(count)]),
        ("?limit=700", [f"c{i:04}" for i in range(700)]),
        (f"?fieldSelector=metadata.name!=c{count - 1:04}", [f"c{i:04}" for i in range(count - 1)]),
    ):
        status, body, _ = await http.ask("GET", CONFIG_MAPS_PATH + query, headers=headers)
        found = [each.get("object", each) for each in body[field]]
        assert (status, [each["metadata"]["name"] for each in found]) == (200, names)
        assert body["metadata"].get("remainingItemCount") == (count - 700 if "limit" in query else None)
    token = (await http.ask("GET", f"{CONFIG_MAPS_PATH}?limit=700"))[1]["metadata"]["continue"]
    _, rest, _ = await http.ask("GET", f"{CONFIG_MAPS_PATH}?continue={token}", headers=headers)
    assert len(rest[field]) == count - 700


@pytest.mark.parametrize("seed", range(3))
async def test_a_watch_that_begins_in_pieces_tells_each_change_once(widgets: LocalApi, http: Http, seed: int) -> None:
    """While the current objects are sent, some are changed, deleted and created: before their piece, and after it."""
    chance = random.Random(seed)
    count = 3 * PIECE_OBJECTS
    await _fill(widgets, count)
    told: dict[str, int] = {}
    events = 0

    async def change_some() -> None:
        for turn in range(200):
            name = f"c{chance.randrange(count + 100):04}"
            existing = widgets.objects.store.get("/configmaps", "default", name)
            if existing is None:
                await widgets.create(CONFIG_MAPS, config_map(name, namespace="default"))
            elif chance.random() < 0.3:
                await widgets.delete(CONFIG_MAPS, "default", name)
            else:
                await widgets.patch(CONFIG_MAPS, "default", name, {"data": {"turn": str(turn)}})
        await widgets.create(CONFIG_MAPS, config_map("last", namespace="default"))

    changing = asyncio.create_task(change_some())
    async with http.stream(f"{CONFIG_MAPS_PATH}?watch=true", Accept="application/json") as answer:
        async for line in answer.content:
            event = json.loads(line)
            meta = event["object"]["metadata"]
            name, version = meta["name"], int(meta["resourceVersion"])
            events += 1
            match event["type"]:
                case "ADDED":
                    assert name not in told
                case "MODIFIED":
                    assert told[name] < version
                case "DELETED":
                    assert told.pop(name) < version
            if event["type"] != "DELETED":
                told[name] = version
            if name == "last":
                break
    await changing
    live = (await widgets.list(CONFIG_MAPS, "default")).items
    assert told == {each["metadata"]["name"]: int(each["metadata"]["resourceVersion"]) for each in live}
    assert events > count


async def test_a_collection_of_many_is_deleted_in_parts(widgets: LocalApi, http: Http) -> None:
    await _fill(widgets, PIECE_OBJECTS + 10)
    before = widgets.objects.store.revision
    status, body, _ = await http.ask("DELETE", CONFIG_MAPS_PATH)
    assert (status, len(body["items"])) == (200, PIECE_OBJECTS + 10)
    assert (await widgets.list(CONFIG_MAPS, "default")).items == []
    assert widgets.objects.store.revision == before + PIECE_OBJECTS + 10
