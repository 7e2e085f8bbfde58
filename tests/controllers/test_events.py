"""Events are counted, limited in rate, and written in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from paddock.controllers.events import Allowance, EventRecorder, EventSink, build_event
from paddock.kube.api import Api
from paddock.kube.errors import NotFound, Unavailable
from paddock.kube.meta import EVENTS, Manifest
from paddock.kube.validation.names import DNS_SUBDOMAIN
from support.operator_seam import Request, Seam, build_job, open_cluster
from support.waiting import until

JOB = build_job() | {"metadata": {"name": "demo", "namespace": "default", "uid": "u", "resourceVersion": "5"}}
Note = tuple[str, str, str]
"""Reason, message, type."""

NOTE: Note = ("Restarting", "worker-1 exited with 1", "Warning")


def event_of(about: Manifest, note: Note, now: float) -> Manifest:
    reason, message, type = note
    return build_event(about, reason, message, now, component="tester", type=type)


def test_an_event_has_its_job_and_times() -> None:
    event = event_of(JOB, NOTE, 0.0)
    assert event["involvedObject"] == {
        "apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "namespace": "default", "name": "demo",
        "uid": "u", "resourceVersion": "5",
    }  # fmt: skip
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Restarting", "worker-1 exited with 1")
    assert event["firstTimestamp"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("name", ["x" * 253, "x" * 199 + "-" + "y" * 50, "x" * 199 + "." + "y" * 50])
def test_an_event_of_a_job_with_a_long_name_has_a_legal_one(name: str) -> None:
    event = event_of(JOB | {"metadata": {"name": name, "namespace": "default"}}, NOTE, 0.0)
    assert DNS_SUBDOMAIN.allows(event["metadata"]["name"])


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (("Restarting", "worker-1 exited with 1", "Warning"), True),
        (("Restarting", "worker-0 exited with 1", "Warning"), False),
        (("Failed", "worker-1 exited with 1", "Warning"), False),
    ],
)
def test_the_same_content_has_the_same_name_at_any_time(other: Note, same: bool) -> None:
    names = {event_of(JOB, note, now)["metadata"]["name"] for note, now in ((NOTE, 0.0), (other, 99.0))}
    assert (len(names) == 1) is same


def test_an_object_may_have_a_burst_of_events_and_then_one_at_a_time() -> None:
    allowance, spent = Allowance(), 0
    while following := allowance.spend(0.0):
        allowance, spent = following, spent + 1
    assert spent == 25
    assert allowance.spend(19.0) is None
    assert allowance.spend(20.0) is not None


async def published(api: Api, *rounds: list[Note]) -> list[Manifest]:
    """Each round in a new process, as after a restart."""
    for notes in rounds:
        events = EventRecorder(api, lambda: 1000.0, "tester")
        sending = asyncio.create_task(events.run())
        for note in notes:
            events.publish(JOB, *note)
        await events.flush(5.0)
        sending.cancel()
    return (await api.list(EVENTS)).items


@pytest.mark.parametrize(
    ("rounds", "counts"), [([[NOTE]], [1]), ([[NOTE, NOTE, NOTE]], [3]), ([[NOTE, NOTE], [NOTE]], [3])]
)
async def test_a_repeated_event_increments_its_count_across_restarts(
    tmp_path: Path, rounds: list[list[Note]], counts: list[int]
) -> None:
    async with open_cluster(tmp_path) as api:
        assert [event["count"] for event in await published(api, *rounds)] == counts


async def test_an_event_that_has_expired_is_recreated(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api:
        events = EventRecorder(api, lambda: 1000.0, "tester")
        sending = asyncio.create_task(events.run())
        events.publish(JOB, *NOTE)
        await events.flush(5.0)
        (event,) = (await api.list(EVENTS)).items
        await api.delete(EVENTS, "default", event["metadata"]["name"])
        events.publish(JOB, *NOTE)
        await events.flush(5.0)
        sending.cancel()
        with pytest.raises(NotFound):
            await api.get(EVENTS, "default", "no such event")
        assert [found["count"] for found in (await api.list(EVENTS)).items] == [1]


async def test_a_lost_event_does_not_stop_the_next(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api:
        seam, lost = Seam(api), list[Request]()

        async def lose_one(request: Request) -> None:
            if not lost:
                lost.append(request)
                raise Unavailable("away")

        seam.before = lose_one
        events = EventRecorder(seam, lambda: 1000.0, "tester")
        sending = asyncio.create_task(events.run())
        events.publish(JOB, *NOTE)
        events.publish(JOB, *("Completed", "2 of 2 workers succeeded", "Normal"))

        async def told() -> bool:
            return [event["reason"] for event in (await api.list(EVENTS)).items] == ["Completed"]

        await until(told)
        sending.cancel()


@pytest.mark.parametrize(("counts", "count"), [(True, 3), (False, 1)])
async def test_a_sink_increments_the_count_of_a_repeated_event_or_leaves_it(
    tmp_path: Path, counts: bool, count: int
) -> None:
    async with open_cluster(tmp_path) as api:
        for _ in range(3):  # each time from a process that remembers nothing
            await EventSink(api, counts=counts).write_all([event_of(JOB, NOTE, 1000.0)])
        assert [event["count"] for event in (await api.list(EVENTS)).items] == [count]
