"""GPUs that pods share: which pod gets which, and that no GPU is ever divided in two ways. Tables, then properties."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import group, node, pod
from paddock.kube.gpu_shares import (
    GPU,
    GPUS_ANNOTATION,
    MOST_SHARES,
    SHARE_ANNOTATION,
    read_indices,
    read_shares,
    write_indices,
)
from paddock.kube.meta import Manifest, name_of
from paddock.node.scheduler.placement import Bind, Decision, Evict, Wait, plan_placement


def laptop(*indices: int) -> Manifest:
    """A node of Paddock with these GPUs."""
    made = node(gpus=len(indices))
    made["metadata"]["annotations"] = {GPUS_ANNOTATION: write_indices(indices)}
    return made


def rank(
    name: str, shares: object = "", *, gpus: int = 1, held: tuple[int, ...] | None = None, **more: Any
) -> Manifest:
    """A pod that asks for a GPU. `held`: it runs on the laptop with these GPUs; empty for one whose are unknown."""
    made = pod(name, limits={GPU: str(gpus)}, **more)
    annotations = made["metadata"].setdefault("annotations", {})
    if shares != "":
        annotations[SHARE_ANNOTATION] = str(shares)
    if held is not None:
        made["spec"]["nodeName"], made["status"]["phase"] = "laptop", "Running"
        annotations |= {GPUS_ANNOTATION: write_indices(held)} if held else {}
    return made


def given_gpus(decisions: tuple[Decision, ...]) -> dict[str, tuple[int, ...]]:
    return {each.name: each.gpus for each in decisions if isinstance(each, Bind)}


def waits(decisions: tuple[Decision, ...]) -> dict[str, str]:
    return {each.name: each.message for each in decisions if isinstance(each, Wait)}


@pytest.mark.parametrize(
    ("indices", "there", "new", "gets"),
    [
        ((0,), [], [rank("a"), rank("b")], {"a": (0,)}),
        ((2, 5), [], [rank("a", gpus=2)], {"a": (2, 5)}),
        ((0, 1), [rank("x", held=(0,))], [rank("a")], {"a": (1,)}),
        # shares
        ((0,), [], [rank(each, 2) for each in "abc"], {"a": (0,), "b": (0,)}),
        ((0, 1), [], [rank(each, 2) for each in "abc"], {"a": (0,), "b": (0,), "c": (1,)}),
        # the fullest that is shared so already, then a whole one
        ((0, 1), [rank("x", 4, held=(1,))], [rank("a", 4)], {"a": (1,)}),
        (
            (0, 1), [rank("x", 4, held=(0,)), rank("y", 4, held=(1,)), rank("z", 4, held=(1,))], [rank("a", 4)],
            {"a": (1,)},
        ),
        # never beside a pod that divides it otherwise, or not at all
        ((0,), [rank("x", 4, held=(0,))], [rank("a", 2)], {}),
        ((0,), [rank("x", held=(0,))], [rank("a", 4)], {}),
        ((0,), [rank("x", 4, held=(0,))], [rank("a")], {}),
        ((0, 1), [rank("x", 4, held=(0,))], [rank("a", gpus=2)], {}),
        # what a number of shares is
        ((0,), [], [rank("a", "x"), rank("b", "x")], {"a": (0,)}),
        ((0,), [], [rank("a", 1), rank("b", 1)], {"a": (0,)}),
        ((0,), [], [rank("a", MOST_SHARES + 1), rank("b", MOST_SHARES + 1)], {"a": (0,)}),
        # several GPUs are never shared
        ((0, 1), [], [rank("a", 4, gpus=2), rank("b", 4, gpus=2)], {"a": (0, 1)}),
        # one that was bound without a choice has the lowest free one
        ((0, 1), [rank("x", held=())], [rank("a", 4)], {"a": (1,)}),
        ((0,), [rank("x", 4, held=())], [rank("a", 4)], {}),
        ((0, 1), [rank("x", held=(7,))], [rank("a"), rank("b")], {"a": (1,)}),
    ],
)  # fmt: skip
def test_which_pod_gets_which_gpu(
    indices: tuple[int, ...], there: list[Manifest], new: list[Manifest], gets: dict[str, tuple[int, ...]]
) -> None:
    assert given_gpus(plan_placement([*there, *new], [laptop(*indices)])) == gets


def test_on_a_node_that_does_not_say_which_gpus_it_has_each_pod_takes_a_whole_one() -> None:
    decisions = plan_placement([rank("a", 4), rank("b", 4)], [node(gpus=1)])
    assert given_gpus(decisions) == {"a": ()}
    assert "Insufficient nvidia.com/gpu (needs 1, 0 of 1 free)" in waits(decisions)["b"]


@pytest.mark.parametrize(
    ("there", "new", "said"),
    [
        ([rank("x", held=(0,))], rank("a", 4), "needs 1/4, 0 of 1 free"),
        ([rank("x", 2, held=(0,)), rank("y", 2, held=(0,))], rank("a", 2), "needs 1/2, 0 of 1 free"),
        ([rank("x", 2, held=(0,))], rank("a", 4), "needs 1/4, 0 of 1 free"),
        ([rank("x", 4, held=(0,))], rank("a"), "needs 1, 0 of 1 free"),
    ],
)
def test_a_pod_that_waits_is_told_its_share(there: list[Manifest], new: Manifest, said: str) -> None:
    message = waits(plan_placement([*there, new], [laptop(0)]))["a"]
    assert message.startswith(f"0/1 nodes are available: 1 Insufficient nvidia.com/gpu ({said})."), message


def test_a_gang_is_told_what_its_shares_make_together() -> None:
    pods = [rank("x", 4, held=(0,)), *(rank(each, 4, gang="train") for each in "abcd")]
    decisions = plan_placement(pods, [laptop(0)], [group(minimum=4)])
    assert given_gpus(decisions) == {}
    assert "4 pods are needed at once, 3 fit: " in waits(decisions)["a"]
    assert "Insufficient nvidia.com/gpu (needs 4 x 1/4, 3/4 of 1 free)" in waits(decisions)["a"]


@pytest.mark.parametrize(("text", "shares"), [
    ("2", 2), ("64", 64), ("04", 4), ("0", 0), ("1", 0), ("-1", 0), ("65", 0), ("1000", 0), ("x", 0), ("", 0),
    ("2.5", 0), ("٤", 0), (4, 0), (None, 0), ("9" * 5000, 0),
])  # fmt: skip
def test_a_number_of_shares(text: object, shares: int) -> None:
    assert read_shares(text) == shares


PODS = st.lists(
    st.tuples(
        st.sampled_from(["2", "2", "3", "", "x"]), st.sampled_from([1, 1, 1, 2]),
        st.sampled_from(["new", "new", "unchosen"]), st.sampled_from(["", "", "train"]), st.integers(0, 2),
    ),
    max_size=12,
)  # fmt: skip
SIZES = st.integers(0, 4)


def build(described: list[tuple[str, int, str, str, int]]) -> list[Manifest]:
    return [
        rank(f"p{number}", shares, gpus=gpus, held=() if state == "unchosen" and gang == "" else None, gang=gang,
             priority=priority, owner=gang)
        for number, (shares, gpus, state, gang, priority) in enumerate(described)
    ]  # fmt: skip


def apply(pods: list[Manifest], decisions: tuple[Decision, ...]) -> list[Manifest]:
    """The pods after the plan; those that were ended are gone."""
    ended = {each.name for each in decisions if isinstance(each, Evict)}
    binds = {each.name: each for each in decisions if isinstance(each, Bind)}
    result = []
    for each in pods:
        name = name_of(each)
        if name in ended:
            continue
        if (bind := binds.get(name)) is not None:
            own = {**each["metadata"]["annotations"], GPUS_ANNOTATION: write_indices(bind.gpus)}
            each = {
                **each,
                "metadata": {**each["metadata"], "annotations": own},
                "spec": {**each["spec"], "nodeName": bind.node},
                "status": {"phase": "Running"},
            }
        result.append(each)
    return result


def check(pods: list[Manifest], gpus: int) -> None:
    """No GPU has more pods than shares, or pods that divide it otherwise; those whose GPUs are unknown fit too."""
    held: dict[str, list[str]] = defaultdict(list)
    unknown = 0
    for each in pods:
        count = int(each["spec"]["containers"][0]["resources"]["limits"][GPU])
        chosen = each["metadata"]["annotations"].get(GPUS_ANNOTATION, "")
        if not each["spec"].get("nodeName"):
            continue
        if not chosen:
            unknown += count
            continue
        assert len(chosen.split(",")) == count
        shares = each["metadata"]["annotations"].get(SHARE_ANNOTATION, "") if count == 1 else ""
        for index in chosen.split(","):
            assert 0 <= int(index) < gpus
            held[index].append(shares if shares.isdecimal() else "1")
    for pods_of_it in held.values():
        assert len(set(pods_of_it)) == 1 and len(pods_of_it) <= int(pods_of_it[0]), held
    assert not held or unknown + len(held) <= gpus


@given(SIZES, PODS, PODS, st.data())
def test_no_gpu_is_divided_in_two_ways_or_among_too_many(
    gpus: int, first: list[Any], second: list[Any], data: st.DataObject
) -> None:
    """Pods come, some end, and others come."""
    groups = [group(minimum=2)]
    machine = laptop(*range(gpus)) if gpus else node()
    pods = build(first)
    for round_ in range(3):
        pods = apply(pods, plan_placement(pods, [machine], groups))
        check(pods, gpus)
        left = [each for each in pods if data.draw(st.booleans()) or not each["spec"].get("nodeName")]
        new = build(second) if round_ == 0 else []
        pods = left + [{**each, "metadata": {**each["metadata"], "name": f"q{name_of(each)}",
                                             "uid": f"q-{each['metadata']['uid']}"}} for each in new
                       if not each["spec"].get("nodeName")]  # fmt: skip


@given(st.integers(1, 3), PODS)
def test_planned_twice_nothing_changes(gpus: int, described: list[Any]) -> None:
    pods, machine, groups = build(described), laptop(*range(gpus)), [group(minimum=2)]
    first = plan_placement(pods, [machine], groups)
    if any(isinstance(each, Evict) for each in first):
        return
    second = plan_placement(apply(pods, first), [machine], groups)
    assert given_gpus(second) == {}
    assert waits(second) == waits(first)


@pytest.mark.parametrize(("text", "indices"), [("0,1", (0, 1)), ("0,0", ()), ("", ()), ("a", ()), ("0,", ())])
def test_indices_are_read_once_each_or_not_at_all(text: str, indices: tuple[int, ...]) -> None:
    assert read_indices({"metadata": {"annotations": {GPUS_ANNOTATION: text}}}) == indices
