"""Who has thousands of Datasets waits for their own requests, and nobody else does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from paddock.datasets import request_shares
from paddock.datasets.fetch_jobs import CLAIM_ANNOTATION
from paddock.datasets.request_shares import AT_ONCE, LOGS_AT_ONCE, OF_ONE, SharedRequests, keep_read
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, T
from paddock.kube.datasets import LABEL, read_mounted
from paddock.kube.errors import NotFound
from paddock.kube.meta import CLAIMS, Manifest, Resource, name_of


class Slow(Api):
    """It answers when the test lets it, and knows nothing. `there`: by namespace, the requests on their way."""

    def __init__(self) -> None:
        self.there: list[str] = []
        self.most = 0
        self.open = asyncio.Event()

    async def send(self, call: Call[T]) -> T:
        await self.hold(call.namespace)
        raise NotFound("nothing is here")

    async def hold(self, namespace: str) -> None:
        self.there.append(namespace)
        self.most = max(self.most, len(self.there))
        try:
            await self.open.wait()
        finally:
            self.there.remove(namespace)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise NotImplementedError


async def turns() -> None:
    """All that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def ask(api: Api, namespace: str) -> None:
    with pytest.raises(NotFound):
        await api.get(CLAIMS, namespace, "x")


async def test_of_a_namespace_few_requests_are_on_their_way_and_those_of_others_go_at_once() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(ask(shared, "many")) for _ in range(4000)]
    await turns()
    assert slow.there == ["many"] * OF_ONE
    asking.append(asyncio.create_task(ask(shared, "few")))
    await turns()
    assert slow.there.count("few") == 1
    slow.open.set()
    await asyncio.gather(*asking)
    assert slow.most == OF_ONE + 1


async def test_many_namespaces_take_turns() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(ask(shared, f"n{number % 50}")) for number in range(1000)]
    await turns()
    assert len(slow.there) == AT_ONCE
    slow.open.set()
    await asyncio.gather(*asking)
    assert (slow.most, slow.there) == (AT_ONCE, [])


async def test_a_namespace_waits_for_one_request_of_each_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many each of them has waiting."""
    monkeypatch.setattr(request_shares, "AT_ONCE", 1)
    begun = list[str]()

    class Noted(Slow):
        async def send(self, call: Call[T]) -> T:
            begun.append(call.namespace)
            return await super().send(call)

    slow = Noted()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(ask(shared, f"n{number % 5}")) for number in range(40)]
    await turns()
    asking.append(asyncio.create_task(ask(shared, "few")))
    await turns()
    slow.open.set()
    await asyncio.gather(*asking)
    assert begun.index("few") <= 6 and begun[:5] == [f"n{number}" for number in range(5)]


async def read_many(slow: Slow, shared: SharedRequests) -> list[asyncio.Task[bytes]]:
    """Logs that do not come: many of each of many namespaces."""

    async def read_log(namespace: str, pod: str) -> bytes:
        await slow.hold(namespace)
        return pod.encode()

    read = shared.share_logs(read_log)
    reading = [asyncio.create_task(read(f"n{number % 20}", f"p{number}")) for number in range(80)]
    await turns()
    return reading


async def test_of_logs_that_are_slow_a_namespace_reads_one_and_all_read_few() -> None:
    slow = Slow()
    reading = await read_many(slow, SharedRequests(slow))
    assert slow.there == [f"n{number}" for number in range(LOGS_AT_ONCE)]
    slow.open.set()
    assert await asyncio.gather(*reading) == [f"p{number}".encode() for number in range(80)]
    assert slow.most == LOGS_AT_ONCE


async def test_no_request_waits_for_logs_that_are_slow() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    reading = await read_many(slow, shared)
    there = len(slow.there)
    asking = [asyncio.create_task(ask(shared, "n0")) for _ in range(OF_ONE)]
    asking += [asyncio.create_task(ask(shared, "few")) for _ in range(OF_ONE)]
    await turns()
    assert slow.there[there:] == ["n0"] * OF_ONE + ["few"] * OF_ONE
    slow.open.set()
    await asyncio.gather(*reading, *asking)


async def test_a_turn_is_given_back_by_who_does_not_wait_any_more() -> None:
    slow = Slow()
    shared = SharedRequests(slow)
    asking = [asyncio.create_task(shared.get(CLAIMS, "many", "x")) for _ in range(10)]
    await turns()
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    again = asyncio.create_task(ask(shared, "many"))
    await turns()
    assert slow.there == ["many"]
    slow.open.set()
    await again


LARGE = "x" * 1_000_000


def build_large(**fields: Any) -> Manifest:
    """An object whose author has put a megabyte wherever he may."""
    owner = {"apiVersion": "v1", "kind": "Dataset", "name": LARGE, "uid": "u", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Any",
        "metadata": {
            "name": "n",
            "namespace": "many",
            "uid": "u",
            "labels": {LABEL: "words", "other": LARGE},
            "annotations": {CLAIM_ANNOTATION: LARGE, "other": LARGE},
            "managedFields": [{"fieldsV1": {LARGE: {}}}],
            "finalizers": [LARGE],
            "ownerReferences": [owner],
        },
        **fields,
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"spec": {"template": LARGE, "podFailurePolicy": {"rules": [LARGE]}}},
        {"spec": {"storageClassName": LARGE, "volumes": [{"persistentVolumeClaim": {"claimName": "c" * 253}}] * 5000}},
        {"message": LARGE, "reason": LARGE, "type": "Warning", "note": LARGE},
        {"spec": None, "data": LARGE},
    ],
    ids=["a job", "a pod", "an event", "nothing"],
)
def test_of_an_object_that_is_listed_a_few_kilobytes_are_held(fields: Manifest) -> None:
    assert len(json.dumps(keep_read(build_large(**fields)))) < 40_000


def test_what_is_read_of_a_pod_is_kept() -> None:
    volumes = [{"name": "x", "emptyDir": {}}, {"name": "y", "persistentVolumeClaim": {"claimName": "dataset-words"}}]
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"volumes": volumes}, "status": {"phase": "Running"}}
    kept = keep_read(pod)
    assert (read_mounted(kept), name_of(kept)) == (read_mounted(pod), "p") == ({"dataset-words"}, "p")


async def test_who_lists_keeps_no_more_than_is_read() -> None:
    asked = list[Call[Any]]()

    class Asked(Slow):
        async def send(self, call: Call[T]) -> T:
            asked.append(call)
            raise NotFound("nothing is here")

    with pytest.raises(NotFound):
        await SharedRequests(Asked()).list(CLAIMS, "n", labels="a=b")
    assert asked == [List(CLAIMS, "n", labels="a=b", keep=keep_read)]
