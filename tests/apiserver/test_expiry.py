"""Events expire one hour after they last occurred; nothing else expires, and without events there is no timer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from apiserver.embedded import config_map, is_gone
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.storage.expiry import EVENT_TTL, Expiry, read_last_seen
from paddock.kube.meta import CONFIG_MAPS, EVENTS, Manifest
from paddock.kube.times import format_time
from support.waiting import until

NOW = 1_800_000_000.0


def _event(name: str = "e", **fields: Any) -> Manifest:
    involved = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, **involved, **fields}


SEEN: dict[str, tuple[dict[str, Any], float]] = {
    # fields of the event, how long ago it last happened
    "when it was made": ({}, 500),
    "its last time": ({"lastTimestamp": format_time(NOW - 20)}, 20),
    "its series": ({"series": {"lastObservedTime": format_time(NOW - 10)}, "lastTimestamp": None}, 10),
    "a time that is to come does not count": ({"lastTimestamp": format_time(NOW + 9_999)}, 500),
    "a time that is none does not count": ({"lastTimestamp": "yesterday"}, 500),
    "an older time does not count": ({"eventTime": format_time(NOW - 9_999)}, 500),
}


@pytest.mark.parametrize("case", SEEN)
def test_when_an_event_last_occurred(case: str) -> None:
    fields, age = SEEN[case]
    event = _event(**fields)
    event["metadata"]["creationTimestamp"] = format_time(NOW - 500)
    assert read_last_seen(event, NOW) == NOW - age


async def test_a_sweep_deletes_old_events_and_returns_when_the_next_is_due(tmp_path: Path) -> None:
    now = [time.time()]
    api = await LocalApi.open(tmp_path, clock=lambda: now[0])
    expiry = Expiry(api.objects.store, lambda: now[0])
    assert await expiry.sweep() is None
    for name in ("old", "again"):
        await api.create(EVENTS, _event(name), namespace="default")
    await api.create(CONFIG_MAPS, config_map("kept"), namespace="default")
    now[0] += EVENT_TTL - 100
    await api.patch(EVENTS, "default", "again", {"lastTimestamp": format_time(now[0])})
    assert await expiry.sweep() == pytest.approx(100, abs=1)
    now[0] += 101
    assert await expiry.sweep() == pytest.approx(EVENT_TTL - 101, abs=1)
    assert [event["metadata"]["name"] for event in (await api.list(EVENTS)).items] == ["again"]
    assert await api.get(CONFIG_MAPS, "default", "kept")
    await api.close()


async def test_a_sweep_handles_more_events_than_one_batch(tmp_path: Path) -> None:
    now = [time.time()]
    api = await LocalApi.open(tmp_path, clock=lambda: now[0])
    for position in range(7):
        await api.create(EVENTS, _event(f"e{position}"), namespace="default")
    now[0] += EVENT_TTL + 1
    assert await Expiry(api.objects.store, lambda: now[0], batch=3).sweep() is None
    assert (await api.list(EVENTS)).items == []
    await api.close()


async def test_a_cluster_sweeps_when_it_starts(tmp_path: Path) -> None:
    now = [time.time()]
    api = await LocalApi.open(tmp_path, clock=lambda: now[0])
    await api.create(EVENTS, _event(), namespace="default")
    await api.close()
    now[0] += EVENT_TTL + 1
    again = await LocalApi.open(tmp_path, clock=lambda: now[0])
    await until(lambda: is_gone(again, EVENTS, "e"))
    await again.close()
