"""Nulls and amounts without quotes, as a real API server decodes them; the embedded one does alike."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.kube.errors import ApiError, BadRequest, Invalid
from paddock.kube.meta import PODS, Manifest
from support.decoding import ABSENT, NUMBERS_OF_A_POD, OF_A_JOB, OF_A_POD, REFUSED, build_manifest, put
from support.operator_seam import JOBS
from support.worlds import World


def find(manifest: Manifest, path: str) -> Any:
    place: Any = manifest
    for step in path.split("."):
        place = place[int(step)] if step.isdecimal() else place.get(step, ABSENT)
        if place is ABSENT:
            break
    return place


async def answer(world: World, kind: str, path: str, value: Any) -> Any:
    """What the server stores at the path, or that it refuses the object; nothing is created."""
    manifest = build_manifest(kind, world.namespace)
    put(manifest, path, value)
    try:
        stored = await world.api.create(PODS if kind == "Pod" else JOBS, manifest, dry_run=True)
    except (Invalid, BadRequest):
        return REFUSED
    except ApiError as error:
        pytest.fail(f"{path}: {error.message}")
    return find(stored, path)


async def test_a_job_s_nulls_and_amounts_are_those_of_kubernetes(world: World) -> None:
    found = [(path, value, await answer(world, "PaddleJob", path, value)) for path, value, _ in OF_A_JOB]
    assert found == OF_A_JOB


async def test_a_pod_s_nulls_and_amounts_are_those_of_kubernetes(world: World) -> None:
    found = [(path, value, await answer(world, "Pod", path, value)) for path, value, _ in OF_A_POD]
    assert found == OF_A_POD


async def test_an_amount_of_a_pod_may_be_any_number(world: World) -> None:
    path = "spec.containers.0.resources"
    found = [await answer(world, "Pod", path, {"limits": {name: number}}) for name, number, _ in NUMBERS_OF_A_POD]
    assert [each["limits"] for each in found] == [{name: text} for name, _, text in NUMBERS_OF_A_POD]
