"""Events: counted, bounded, in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from operator_seam import Request, Seam, build_job, open_cluster, until
from paddock.apiserver.names import explain_subdomain
from paddock.jobs.model import EventNote
from paddock.kube.api import Api
from paddock.kube.errors import NotFound, Unavailable
from paddock.kube.meta import EVENTS, Manifest
from paddock.operator.events import Allowance, Events, build_event

JOB = build_job() | {"metadata": {"name": "demo", "namespace": "default", "uid": "u", "resourceVersion": "5"}}
NOTE = EventNote("Restarting", "worker-1 exited with 1", "Warning")


def test_an_event_names_its_job_and_says_when() -> None:
    event = build_event(JOB, NOTE, 0.0)
    assert event["involvedObject"] == {
        "apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "namespace": "default", "name": "demo",
        "uid": "u", "resourceVersion": "5",
    }  # fmt: skip
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Restarting", "worker-1 exited with 1")
    assert event["firstTimestamp"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("name", ["x" * 253, "x" * 199 + "-" + "y" * 50, "x" * 199 + "." + "y" * 50])
def test_an_event_of_a_job_with_a_long_name_has_a_legal_one(name: str) -> None:
    event = build_event(JOB | {"metadata": {"name": name, "namespace": "default"}}, NOTE, 0.0)
    assert explain_subdomain(event["metadata"]["name"]) == []


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (EventNote("Restarting", "worker-1 exited with 1", "Warning"), True),
        (EventNote("Restarting", "worker-0 exited with 1", "Warning"), False),
        (EventNote("Failed", "worker-1 exited with 1", "Warning"), False),
    ],
)
def test_the_same_words_have_the_same_name_at_any_time(other: EventNote, same: bool) -> None:
    names = {build_event(JOB, note, now)["metadata"]["name"] for note, now in ((NOTE, 0.0), (other, 99.0))}
    assert (len(names) == 1) is same


def test_a_job_may_say_much_at_once_and_then_little_by_little() -> None:
    allowance, spent = Allowance(), 0
    while following := allowance.spend(0.0):
        allowance, spent = following, spent + 1
    assert spent == 25
    assert allowance.spend(19.0) is None
    assert allowance.spend(20.0) is not None


async def published(api: Api, *rounds: list[EventNote]) -> list[Manifest]:
    """Each round by a process of its own, as after a restart."""
    for notes in rounds:
        events = Events(api, lambda: 1000.0)
        sending = asyncio.create_task(events.run())
        for note in notes:
            events.publish(JOB, note)
        await events.flush(5.0)
        sending.cancel()
    return (await api.list(EVENTS)).items


@pytest.mark.parametrize(
    ("rounds", "counts"), [([[NOTE]], [1]), ([[NOTE, NOTE, NOTE]], [3]), ([[NOTE, NOTE], [NOTE]], [3])]
)
async def test_the_same_words_again_raise_a_count_across_restarts(
    tmp_path: Path, rounds: list[list[EventNote]], counts: list[int]
) -> None:
    async with open_cluster(tmp_path) as api:
        assert [event["count"] for event in await published(api, *rounds)] == counts


async def test_an_event_that_has_expired_meanwhile_is_made_anew(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as api:
        events = Events(api, lambda: 1000.0)
        sending = asyncio.create_task(events.run())
        events.publish(JOB, NOTE)
        await events.flush(5.0)
        (event,) = (await api.list(EVENTS)).items
        await api.delete(EVENTS, "default", event["metadata"]["name"])
        events.publish(JOB, NOTE)
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
        events = Events(seam, lambda: 1000.0)
        sending = asyncio.create_task(events.run())
        events.publish(JOB, NOTE)
        events.publish(JOB, EventNote("Completed", "2 of 2 workers succeeded"))

        async def told() -> bool:
            return [event["reason"] for event in (await api.list(EVENTS)).items] == ["Completed"]

        await until(told)
        sending.cancel()
