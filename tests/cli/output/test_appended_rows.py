"""`paddock get -w`: a row is printed again when something of it but its age has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from paddock.cli.follow.listed import follow_listed
from paddock.cli.output.appended_rows import AppendedRows
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, T
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import Manifest, Resource, name_of

HEADER = ("NAME", "STATUS", "AGE", "WHY")
PADDLE, TORCH = PADDLEPADDLE.resource, KUBEFLOW_PYTORCH.resource


def test_a_change_of_the_age_alone_prints_nothing() -> None:
    rows = AppendedRows()
    assert rows.begin(HEADER, {"a": ("resnet", "Pending", "1s", "waits")}) == [
        "NAME     STATUS    AGE   WHY",
        "resnet   Pending   1s    waits",
    ]
    assert rows.add("a", HEADER, ("resnet", "Pending", "9s", "waits")) == []
    assert rows.add("a", HEADER, ("resnet", "Running", "10s", "")) == ["resnet   Running   10s"]
    assert rows.add("b", HEADER, ("other", "Pending", "1s", "")) == ["other    Pending   1s"]


def test_a_deleted_object_is_told_once_and_may_come_again() -> None:
    rows = AppendedRows()
    rows.begin(HEADER, {"a": ("resnet", "Running", "1s", "")})
    gone = ("resnet", "Running", "2s", "")
    assert rows.remove("a", HEADER, gone, "Deleted") == ["resnet   Deleted   2s"]
    assert rows.remove("a", HEADER, gone, "Deleted") == []
    assert rows.add("c", HEADER, ("resnet", "Pending", "0s", "")) == ["resnet   Pending   0s"]


def test_the_header_comes_with_the_first_row_and_again_where_it_grows() -> None:
    rows = AppendedRows()
    assert rows.begin(HEADER, {}) == []
    assert rows.add("a", HEADER, ("r", "Pending", "1s", ""))[0].startswith("NAME")
    wider = ("NAME", "STATUS", "MASTER", "AGE", "WHY")
    assert [line.split() for line in rows.add("b", wider, ("t", "Running", "1/1", "1s", ""))] == [
        ["NAME", "STATUS", "MASTER", "AGE", "WHY"], ["t", "Running", "1/1", "1s"],
    ]  # fmt: skip


def build(name: str) -> Manifest:
    return {"metadata": {"name": name}}


class Served(Api):
    """It has these events, or this error, for each kind."""

    def __init__(self, events: dict[Resource, list[Event] | ApiError]) -> None:
        self._events = events

    async def send(self, call: Call[T]) -> T:
        raise AssertionError

    async def follow(self, resource: Resource, namespace: str = "", **selectors: str) -> AsyncIterator[Event]:
        found = self._events[resource]
        if isinstance(found, ApiError):
            raise found
        for event in found:
            yield event
            for _ in range(20 if event.type == "SYNCED" else 1):  # the other kind is listed meanwhile
                await asyncio.sleep(0)
        await asyncio.Event().wait()


def listen(api: Api, count: int) -> list[list[str]]:
    async def work() -> list[list[str]]:
        told = []
        async for changes in follow_listed(api, (PADDLE, TORCH), "default", ""):
            told.append([("-" if each.deleted else "") + name_of(each.object) for each in changes])
            if len(told) == count:
                break
        return told

    return asyncio.run(work())


def test_what_is_there_comes_at_once_and_then_each_change() -> None:
    synced = Event("SYNCED", {})
    api = Served({
        PADDLE: [Event("ADDED", build("a")), synced, Event("MODIFIED", build("a")), Event("DELETED", build("a"))],
        TORCH: [Event("ADDED", build("t")), Event("ADDED", build("u")), synced],
    })  # fmt: skip
    first, *later = listen(api, 3)
    assert sorted(first) == ["a", "t", "u"] and later == [["a"], ["-a"]]


def test_what_changes_before_all_kinds_are_listed_is_one_row() -> None:
    synced = Event("SYNCED", {})
    early = [synced, *(Event(kind, build("a")) for kind in ("ADDED", "MODIFIED")), Event("DELETED", build("b"))]
    late = [Event("ADDED", build(f"t{number}")) for number in range(40)]
    assert listen(Served({PADDLE: early, TORCH: [*late, synced]}), 1)[0].count("a") == 1
    assert "-b" not in listen(Served({PADDLE: early, TORCH: [*late, synced]}), 1)[0]


def test_a_kind_that_is_not_there_is_no_error_and_one_that_may_be_listed_is_enough() -> None:
    synced = [Event("ADDED", build("a")), Event("SYNCED", {})]
    assert listen(Served({PADDLE: synced, TORCH: NotFound("no")}), 1) == [["a"]]
    assert listen(Served({PADDLE: synced, TORCH: Forbidden("no")}), 1) == [["a"]]
    with pytest.raises(Forbidden):
        listen(Served({PADDLE: Forbidden("no"), TORCH: Forbidden("no")}), 1)
