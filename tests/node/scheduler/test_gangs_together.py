"""Gangs that each fit alone, submitted at once: in every order of their objects all of them run, one after the other,
and none holds part of the machine while it waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from node.cluster_objects import group, node, pod
from paddock.kube.meta import Manifest, name_of
from paddock.node.scheduler.placement import Bind, plan_placement


@dataclass(frozen=True, slots=True)
class Gang:
    name: str
    size: int
    least: int
    cpu: int
    volcano: bool = False

    def pods(self) -> list[str]:
        return [f"{self.name}-{index}" for index in range(self.size)]

    def make(self, name: str, at: float) -> Manifest:
        link = {"volcano": self.name} if self.volcano else {"gang": self.name}
        return pod(name, at=at, requests={"cpu": str(self.cpu)}, **link)


@dataclass(slots=True)
class Machine:
    """What exists, and the scheduler's plan after each change, acted on as the scheduler does."""

    gangs: tuple[Gang, ...]
    nodes: list[Manifest]
    pods: dict[str, Manifest] = field(default_factory=dict)
    groups: list[Manifest] = field(default_factory=list)
    clock: float = 0.0

    def add(self, name: str) -> None:
        """The PodGroup of this name, or the pod."""
        self.clock += 1
        gang = next(each for each in self.gangs if name.partition("-")[0] == each.name)
        if name == gang.name:
            self.groups.append(group(name, gang.least, volcano=gang.volcano, at=self.clock))
        else:
            self.pods[name] = gang.make(name, self.clock)
        self.place()

    def place(self) -> None:
        for decision in plan_placement(self.pods.values(), self.nodes, self.groups, now=self.clock):
            if isinstance(decision, Bind):
                bound = self.pods[decision.name]
                bound["spec"]["nodeName"] = decision.node
                bound["status"]["phase"] = "Running"
        for gang in self.gangs:
            held = self.count(gang, "Running")
            done = self.count(gang, "Succeeded")
            assert held == 0 or held + done >= gang.least, f"{gang} holds a part of the machine: {held}"

    def count(self, gang: Gang, phase: str) -> int:
        mine = (self.pods[name] for name in gang.pods() if name in self.pods)
        return sum(each["status"]["phase"] == phase for each in mine)

    def finish_one(self) -> bool:
        """The pods of a gang that runs end together; whether one did."""
        for gang in self.gangs:
            if self.count(gang, "Running"):
                for name in gang.pods():
                    if self.pods[name]["status"]["phase"] == "Running":
                        self.pods[name]["status"]["phase"] = "Succeeded"
                self.place()
                return True
        return False

    def is_done(self) -> bool:
        return all(self.count(gang, "Succeeded") == gang.size for gang in self.gangs)


def submit(gangs: tuple[Gang, ...], nodes: list[Manifest], order: list[str]) -> None:
    machine = Machine(gangs, nodes)
    for name in order:
        machine.add(name)
    while machine.finish_one():
        pass
    assert machine.is_done(), {name_of(each): each["status"]["phase"] for each in machine.pods.values()}


def fits_alone(gang: Gang, nodes: list[Manifest]) -> bool:
    pods = [gang.make(name, 0) for name in gang.pods()]
    return len([each for each in plan_placement(pods, nodes, [group(gang.name, gang.size, volcano=gang.volcano)])
                if isinstance(each, Bind)]) == gang.size  # fmt: skip


@pytest.mark.slow
def test_two_gangs_of_the_whole_machine_in_all_720_orders_of_their_objects() -> None:
    """Two PodGroups of two pods each: a gang needs four of six cores, so half of the second fits beside the first."""
    gangs = (Gang("a", 2, 2, 2), Gang("b", 2, 2, 2))
    for order in permutations(("a", "b", *gangs[0].pods(), *gangs[1].pods())):
        submit(gangs, [node(cpu="6")], list(order))


@st.composite
def gangs(draw: st.DrawFn) -> tuple[Gang, ...]:
    found = []
    for name in ("a", "b", "c")[: draw(st.integers(2, 3))]:
        size = draw(st.integers(1, 5))
        least = draw(st.one_of(st.just(size), st.integers(1, size)))
        found.append(Gang(name, size, least, draw(st.integers(1, 4)), draw(st.booleans())))
    return tuple(found)


@given(gangs(), st.lists(st.integers(1, 8), min_size=1, max_size=3), st.data())
def test_gangs_that_fit_alone_all_finish_and_none_holds_a_part_while_it_waits(
    gangs: tuple[Gang, ...], cores: list[int], data: st.DataObject
) -> None:
    nodes = [node(f"node-{number}", cpu=str(count)) for number, count in enumerate(cores)]
    assume(all(fits_alone(gang, nodes) for gang in gangs))
    objects = [name for gang in gangs for name in (gang.name, *gang.pods())]
    submit(gangs, nodes, data.draw(st.permutations(objects)))
