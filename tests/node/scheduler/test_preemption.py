"""Who is ended so that a gang of a higher priority has room: a table, then properties, then the scheduler itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import group, node, pod
from node.scheduler.test_scheduler import api, running  # noqa: F401 - a fixture
from paddock.apiserver.objects.in_process import LocalApi
from paddock.kube.errors import NotFound
from paddock.kube.meta import EVENTS, NODES, PODS, PRIORITY_CLASSES, Manifest
from paddock.node.scheduler.placement import Bind, Evict, Priorities, Wait, plan_placement
from support.waiting import until

CLASSES = Priorities({"urgent": 1000, "patient": 1000, "batch": -5}, frozenset({"patient"}))


def job(name: str, count: int, cpu: str, *, at: float = 0, placed: bool = True, **more: Any) -> list[Manifest]:
    return [
        pod(
            f"{name}-{index}", at=at, owner=name, requests={"cpu": cpu},
            **({"node": "laptop", "phase": "Running"} if placed else {}), **more,
        )
        for index in range(count)
    ]  # fmt: skip


def urgent(count: int = 1, cpu: str = "2", class_: str = "urgent", **more: Any) -> list[Manifest]:
    return job("hot", count, cpu, at=100, placed=False, priorityClassName=class_, **more)


OLD, YOUNG = job("old", 2, "1", at=1), job("young", 2, "1", at=2)
ROWS: list[tuple[str, Sequence[Manifest], Sequence[Manifest], str]] = [
    ("the youngest of one priority, whole", [*OLD, *YOUNG], urgent(), "young-0 young-1"),
    ("no more than are needed", [*OLD, *YOUNG], urgent(cpu="1"), "young-0 young-1"),
    ("all, where all are needed", [*OLD, *YOUNG], urgent(cpu="4"), "old-0 old-1 young-0 young-1"),
    ("the lowest priority before the youngest",
     [*job("old", 2, "1", at=1, priorityClassName="batch"), *YOUNG], urgent(), "old-0 old-1"),
    ("one that does not help is spared",
     [*job("big", 1, "3", at=1), *job("small", 1, "1", at=2)], urgent(cpu="3"), "big-0"),
    ("nobody where there is room", OLD, urgent(), ""),
    ("nobody of its own priority", [*job("a", 4, "1", priorityClassName="urgent")], urgent(), ""),
    ("nobody where it would not fit then", [*OLD, *YOUNG], urgent(cpu="5"), ""),
    ("nobody for one that has patience", [*OLD, *YOUNG], urgent(class_="patient"), ""),
    ("nobody for a pod that says so", [*OLD, *YOUNG], urgent(preemptionPolicy="Never"), ""),
    ("nobody without a class", [*OLD, *YOUNG], urgent(class_=""), ""),
    ("nobody more while they end", [*OLD, *job("young", 2, "1", at=2, deleting=True)], urgent(), ""),
    ("nobody while another job's pods end",
     [*OLD, *job("done", 2, "1", at=2, deleting=True, priorityClassName="urgent")], urgent(), ""),
    ("those that no node could hold are not looked at",
     [*OLD, *YOUNG],
     [*(each for n in range(9) for each in job(f"huge{n}", 1, "9", at=90, placed=False, priorityClassName="urgent")),
      *urgent()], "young-0 young-1"),
    ("a gang needs room for its minimum", [*OLD, *YOUNG], urgent(2, "1", gang="hot"), "young-0 young-1"),
    ("a gang that is not whole yet waits", [*OLD, *YOUNG], urgent(1, "1", gang="hot"), ""),
    ("a gang that only grows ends nobody",
     [*job("young", 2, "1", at=2), *job("hot", 2, "1", gang="hot", priorityClassName="urgent")],
     [*job("more", 1, "1", at=100, placed=False, gang="hot", priorityClassName="urgent")], ""),
    ("pods of nobody end as their gang",
     [pod(f"p{index}", node="laptop", phase="Running", requests={"cpu": "2"}, gang="low") for index in range(2)],
     urgent(), "p0 p1"),
    ("a spare pod ends nobody", [*OLD, *YOUNG], urgent(spare=True), ""),
]  # fmt: skip


@pytest.mark.parametrize(("there", "comes", "ended"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_who_makes_room(there: Sequence[Manifest], comes: Sequence[Manifest], ended: str) -> None:
    groups = [group("hot", minimum=2), group("low", minimum=2)]
    decisions = plan_placement([*there, *comes], [node()], groups, priorities=CLASSES)
    assert " ".join(sorted(each.name for each in decisions if isinstance(each, Evict))) == ended


def test_nobody_takes_the_room_that_is_made() -> None:
    low = job("low", 1, "1", placed=False)
    there = [*OLD, *job("young", 1, "1", at=2, deleting=True)]
    decisions = plan_placement([*there, *urgent(), *low], [node()], priorities=CLASSES)
    waits = {each.name: each.message for each in decisions if isinstance(each, Wait)}
    assert not [each for each in decisions if isinstance(each, Bind | Evict)]
    assert (
        waits["low-0"]
        == 'held back for the pod "default/hot-0", which has waited longer and lacks cpu (1 cpu is free and kept)'
    )


JOBS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["500m", "1", "2"]), st.sampled_from(["", "batch", "urgent"]),
              st.booleans(), st.booleans()),
    max_size=6,
)  # fmt: skip


@given(JOBS, st.sampled_from(["1", "2", "4"]))
def test_what_is_ended_is_whole_lower_and_makes_room(jobs: list[tuple[int, str, str, bool, bool]], cpu: str) -> None:
    there = [
        each
        for index, (count, asked, class_, leaving, placed) in enumerate(jobs)
        for each in job(f"j{index}", count, asked, at=index, placed=placed, deleting=leaving and placed,
                        priorityClassName=class_)
    ]  # fmt: skip
    pods = [*there, *urgent(cpu=cpu)]
    decisions = plan_placement(pods, [node()], priorities=CLASSES)
    ended = {each.name for each in decisions if isinstance(each, Evict)}
    owners = {name.rpartition("-")[0] for name in ended}
    of_owners = {each["metadata"]["name"] for each in there
                 if each["metadata"]["name"].rpartition("-")[0] in owners and each["spec"].get("nodeName")}  # fmt: skip
    assert ended == of_owners, "whole"
    assert all(jobs[int(owner[1:])][2] != "urgent" for owner in owners), "lower"
    assert not any(each["metadata"].get("deletionTimestamp") for each in there if each["metadata"]["name"] in ended)
    if ended:
        left = [each for each in pods
                if each["metadata"]["name"] not in ended and not each["metadata"].get("deletionTimestamp")]  # fmt: skip
        after = plan_placement(left, [node()], priorities=CLASSES)
        assert any(isinstance(each, Bind) and each.name.startswith(("hot-", "j")) for each in after)


async def test_a_pod_that_makes_room_is_told_why_before_it_ends(api: LocalApi) -> None:  # noqa: F811
    await api.create(NODES, node(cpu="2"))
    await api.create(PRIORITY_CLASSES, {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000,
    })  # fmt: skip
    for name in ("low-0", "low-1"):
        await api.create(PODS, pod(name, requests={"cpu": "1"}))
    async with running(api):
        await until(lambda: is_bound(api, "low-0", "low-1"))
        seen: list[Manifest] = []

        async def ends() -> bool:
            low = await api.get(PODS, "default", "low-0")
            seen.append(low)
            return bool(low["metadata"].get("deletionTimestamp"))

        for name in ("low-0", "low-1"):  # a node has them: they end when it says so
            await api.patch(PODS, "default", name, {"metadata": {"finalizers": ["test.paddock.dev/node"]}})
        await api.create(PODS, pod("hot", requests={"cpu": "2"}, priorityClassName="urgent"))
        await until(ends)
        conditions = {each["type"]: each for each in seen[-1]["status"]["conditions"]}
        assert conditions["DisruptionTarget"]["reason"] == "PreemptionByScheduler"
        assert 'the pod "default/hot"' in conditions["DisruptionTarget"]["message"]
        assert not await is_bound(api, "hot"), "its room is not free yet"
        for name in ("low-0", "low-1"):
            await api.patch(PODS, "default", name, {"metadata": {"finalizers": None}})
            await until(lambda name=name: is_gone(api, name))
        await until(lambda: is_bound(api, "hot"))
        reasons = {each["reason"] for each in (await api.list(EVENTS)).items}
        assert "Preempted" in reasons


async def is_bound(api: LocalApi, *names: str) -> bool:  # noqa: F811
    return all([(await api.get(PODS, "default", name))["spec"].get("nodeName") for name in names])


async def is_gone(api: LocalApi, name: str) -> bool:  # noqa: F811
    try:
        await api.delete(PODS, "default", name, grace=0)
    except NotFound:
        return True
    return False
