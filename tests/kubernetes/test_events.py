"""Events of both groups: what one form writes the other reads, on a real API server and on the embedded one."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.apiserver.storage.event_forms import NEW_EVENTS
from paddock.kube.errors import ApiError, BadRequest
from paddock.kube.meta import EVENTS, Manifest
from support.worlds import World

pytestmark = pytest.mark.slow


def old_event(world: World, **fields: Any) -> Manifest:
    return {
        "metadata": {"name": "old"}, "reason": "Started", "message": "it started", "type": "Normal", "count": 3,
        "involvedObject": {"kind": "Pod", "namespace": world.namespace, "name": "p"},
        "source": {"component": "kubelet", "host": "laptop"}, "firstTimestamp": "2026-11-29T08:00:00Z", **fields,
    }  # fmt: skip


def new_event(world: World, **fields: Any) -> Manifest:
    return {
        "metadata": {"name": "new"}, "regarding": {"kind": "Pod", "namespace": world.namespace, "name": "q"},
        "note": "it is ready", "eventTime": "2026-11-29T08:00:00.000000Z",
        "reportingController": "example.org/operator", "reportingInstance": "operator-0",
        "action": "Looking", "reason": "Ready", "type": "Normal", **fields,
    }  # fmt: skip


async def test_each_form_shows_what_the_other_wrote(world: World) -> None:
    await world.api.create(EVENTS, old_event(world), namespace=world.namespace)
    await world.api.create(NEW_EVENTS, new_event(world), namespace=world.namespace)
    new = await world.api.get(NEW_EVENTS, world.namespace, "old")
    assert (new["note"], new["regarding"]["name"], new["deprecatedCount"]) == ("it started", "p", 3)
    assert (new["deprecatedSource"], new["deprecatedFirstTimestamp"]) == (
        {"component": "kubelet", "host": "laptop"}, "2026-11-29T08:00:00Z",
    )  # fmt: skip
    old = await world.api.get(EVENTS, world.namespace, "new")
    assert (old["message"], old["involvedObject"]["name"]) == ("it is ready", "q")
    assert old["reportingComponent"] == "example.org/operator"


async def test_each_form_selects_by_its_own_fields(world: World) -> None:
    await world.api.create(NEW_EVENTS, new_event(world), namespace=world.namespace)
    for resource, selector in (
        (EVENTS, "involvedObject.name=q"), (NEW_EVENTS, "regarding.name=q"),
        (EVENTS, "reportingComponent=example.org/operator"), (NEW_EVENTS, "reportingController=example.org/operator"),
    ):  # fmt: skip
        found = await world.api.list(resource, world.namespace, fields=selector)
        assert [each["metadata"]["name"] for each in found.items] == ["new"], selector
    await world.api.create(EVENTS, old_event(world), namespace=world.namespace)
    found = await world.api.list(EVENTS, world.namespace, fields="source=kubelet")
    assert [each["metadata"]["name"] for each in found.items] == ["old"]
    for resource, selector in ((EVENTS, "regarding.name=q"), (NEW_EVENTS, "involvedObject.name=q")):
        with pytest.raises(BadRequest):
            await world.api.list(resource, world.namespace, fields=selector)


_OF_CORE = {"count": "deprecatedCount", "firstTimestamp": "deprecatedFirstTimestamp", "source": "deprecatedSource",
            "message": "note"}  # fmt: skip
"""Kubernetes tells fields that core/v1 names otherwise by those names; the embedded API as they were sent."""


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"eventTime": None}, "eventTime"),
        ({"action": ""}, "action"),
        ({"reason": ""}, "reason"),
        ({"reportingController": ""}, "reportingController"),
        ({"reportingController": "a b"}, "reportingController"),
        ({"reportingInstance": ""}, "reportingInstance"),
        ({"type": ""}, "type"),
        ({"type": "Odd"}, "type"),
        ({"deprecatedCount": 1}, "deprecatedCount"),
        ({"deprecatedFirstTimestamp": "2026-11-29T08:00:00Z"}, "deprecatedFirstTimestamp"),
        ({"deprecatedSource": {"component": "x"}}, "deprecatedSource"),
        ({"note": "x" * 1025}, "note"),
        ({"action": "x" * 129}, "action"),
        ({"series": {"count": 1, "lastObservedTime": "2026-11-29T08:00:00.000000Z"}}, "series.count"),
        ({"series": {"count": 2}}, "series.lastObservedTime"),
    ],
    ids=lambda each: str(each)[:40],
)
async def test_what_a_new_event_may_not_be(world: World, change: Manifest, field: str) -> None:
    with pytest.raises(ApiError) as refused:
        await world.api.create(NEW_EVENTS, new_event(world, **change), namespace=world.namespace)
    assert refused.value.code == 422
    assert {_OF_CORE.get(cause.field, cause.field) for cause in refused.value.causes} == {field}


async def test_what_a_new_event_may_be(world: World) -> None:
    series = {"count": 2, "lastObservedTime": "2026-11-29T08:00:00.000000Z"}
    event = new_event(world, series=series, type="Warning")
    made = await world.api.create(NEW_EVENTS, event, namespace=world.namespace)
    assert made["series"] == series
