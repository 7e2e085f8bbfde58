"""Server-side apply: what is merged, taken away and refused, and who owns which field."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.apply_sequences import RECORDED, SEQUENCES, Step, config, tell_owners, tell_wanted
from apiserver.embedded import Http
from paddock.apiserver.http.requests import read_write_options
from paddock.apiserver.objects.field_owners import (
    LAST_APPLIED,
    Manager,
    Shape,
    apply,
    find_above,
    read_fields,
    read_owners,
    show_path,
    track_update,
    with_owners,
)
from paddock.kube.budget import Budget
from paddock.kube.errors import BadRequest, Conflict
from paddock.kube.meta import Manifest

NOW = "2026-11-29T00:00:00Z"
PLURALS = {"ConfigMap": "configmaps", "Pod": "pods", "Service": "services", "ServiceAccount": "serviceaccounts"}


async def write(http: Http, path: str, step: Step) -> tuple[int, Any]:
    kind = "merge-patch+json" if step.patch else "apply-patch+yaml"
    query = f"?fieldManager={step.manager}" + ("&force=true" if step.force else "")
    data, headers = msgspec.json.encode(step.wanted), {"Content-Type": f"application/{kind}"}
    status, said, _ = await http.ask("PATCH", path + query, data=data, headers=headers)
    return status, said


@pytest.mark.parametrize("case", SEQUENCES)
async def test_it_makes_what_a_real_server_made_of_it(case: str, http: Http) -> None:
    """tests/kubernetes/test_apply.py asks a real one again."""
    path = f"/api/v1/namespaces/default/{PLURALS[SEQUENCES[case][0].wanted['kind']]}/x"
    for number, step in enumerate(SEQUENCES[case]):
        status, said = await write(http, path, step)
        fields = sorted(cause["field"] for cause in said["details"]["causes"]) if status == 409 else []
        _, found, _ = await http.ask("GET", path)
        told = [status < 400, fields, tell_wanted(found), tell_owners(found)]
        assert json.loads(json.dumps(told)) == json.loads(RECORDED.read_text())[case][number], f"step {number}"


@pytest.mark.parametrize(
    ("agent", "manager"),
    [("kubectl/v1.33 (linux)", "kubectl"), ("", "unknown"), ("ab\udce9c/1", "abc"), ("a" * 200, "a" * 128)],
)
def test_who_names_no_manager_is_called_by_its_program(agent: str, manager: str) -> None:
    assert read_write_options({}, agent).manager == manager


async def test_an_object_that_nobody_applied_has_no_owners_and_then_those_before(http: Http) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await http.ask("POST", path, config(k="1"))
    _, found, _ = await http.ask("GET", f"{path}/x")
    assert "managedFields" not in found["metadata"]
    status, said = await write(http, f"{path}/x", Step("a", config(k="2")))
    assert status == 409 and '"before-first-apply"' in said["message"]
    await write(http, f"{path}/x", Step("a", config(l="2")))
    _, found, _ = await http.ask("GET", f"{path}/x")
    managers = [each["manager"] for each in found["metadata"]["managedFields"]]
    assert managers == ["a", "before-first-apply"]


@pytest.mark.parametrize(("manager", "status"), [("kubectl", 200), ("other", 409)])
async def test_what_kubectl_applied_by_itself_is_its_own(http: Http, manager: str, status: int) -> None:
    """`kubectl apply`, and then `kubectl apply --server-side` of the same file with another value and a field less."""
    path, was = "/api/v1/namespaces/default/configmaps", config(k="1", l="1")
    was["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(was)}
    await http.ask("POST", path, was)
    got, said = await write(http, f"{path}/x", Step(manager, config(k="2")))
    assert got == status, said
    _, found, _ = await http.ask("GET", f"{path}/x")
    assert found["data"] == ({"k": "2"} if status == 200 else {"k": "1", "l": "1"})


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '{"data": 5}'])
async def test_an_odd_annotation_of_the_last_apply_is_nobody_s(http: Http, text: str) -> None:
    path, was = "/api/v1/namespaces/default/configmaps", config(k="1")
    was["metadata"]["annotations"] = {LAST_APPLIED: text}
    await http.ask("POST", path, was)
    assert (await write(http, f"{path}/x", Step("kubectl", config(k="1"))))[0] == 200


async def test_a_dry_run_stores_nothing_and_an_apply_of_the_same_writes_nothing(http: Http) -> None:
    path, headers = "/api/v1/namespaces/default/configmaps/x", {"Content-Type": "application/apply-patch+yaml"}
    await write(http, path, Step("a", config(k="1")))
    _, before, _ = await http.ask("GET", path)
    data = msgspec.json.encode(config(k="2"))
    status, told, _ = await http.ask("PATCH", f"{path}?fieldManager=a&dryRun=All", data=data, headers=headers)
    assert status == 200 and told["data"] == {"k": "2"}
    await write(http, path, Step("a", config(k="1")))
    _, after, _ = await http.ask("GET", path)
    assert after == before


# The pure part

SCHEMA = {
    "properties": {
        "spec": {
            "properties": {
                "steps": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"properties": {"args": {"type": "array"}}},
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set"},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
            },
        },
    },
}  # fmt: skip
CUSTOM = Shape(custom=True, schema=SCHEMA)


def build(**spec: Any) -> Manifest:
    return {"apiVersion": "example.org/v1", "kind": "W", "metadata": {"name": "w"}, "spec": spec}


def test_the_fields_of_a_custom_kind_are_those_of_its_schema() -> None:
    manifest = build(steps=[{"name": "a", "args": [1]}], tags=["x"], whole={"a": 1}, other={"b": [2]}, none=None)
    found = {show_path(path) for path in read_fields(manifest, CUSTOM, budget=Budget())}
    assert found == {
        '.spec.steps[name="a"]', '.spec.steps[name="a"].name', '.spec.steps[name="a"].args', '.spec.tags[="x"]',
        ".spec.whole", ".spec.other.b", ".spec.none",
    }  # fmt: skip


NOTHING: Manifest = {"apiVersion": "example.org/v1", "kind": "W", "metadata": {"name": "w"}}


def run(*applied: tuple[str, Manifest], shape: Shape = CUSTOM) -> Manifest:
    live: Manifest = {}
    for manager, wanted in applied:
        done = apply(live, wanted, Manager(manager, "Apply"), shape, force=True, now=NOW, budget=Budget())
        live = with_owners(done.manifest, done.owners)
    return live


def test_an_item_stays_as_long_as_somebody_wants_something_in_it() -> None:
    one = build(steps=[{"name": "a", "args": [1]}, {"name": "b"}])
    two = build(steps=[{"name": "a", "run": "x"}])
    assert run(("p", one), ("q", two), ("p", NOTHING))["spec"]["steps"] == [{"name": "a", "run": "x"}]
    assert "steps" not in run(("p", one), ("q", two), ("p", NOTHING), ("q", NOTHING)).get("spec", {})


def test_a_set_has_what_all_of_them_want() -> None:
    assert run(("p", build(tags=["x", "y"])), ("q", build(tags=["y", "z"])), ("p", NOTHING))["spec"]["tags"] == [
        "y",
        "z",
    ]


def test_what_is_replaced_as_a_whole_has_one_owner() -> None:
    live = run(("p", build(whole={"a": 1})))
    with pytest.raises(Conflict, match=r"\.spec\.whole"):
        apply(live, build(whole={"b": 1}), Manager("q", "Apply"), CUSTOM, force=False, now=NOW, budget=Budget())


@pytest.mark.parametrize(
    ("had", "wanted", "conflicts"),
    [("text", {"y": 1}, True), ([1], {"y": 1}, True), ("text", {"y": {"z": 1}}, True), ({}, {"y": 1}, False),
     ({"z": 1}, {"y": 1}, False), ({"y": 1}, {"y": 1}, False)],
)  # fmt: skip
def test_who_puts_an_object_in_the_place_of_a_value_takes_it(had: Any, wanted: Any, conflicts: bool) -> None:
    live, place = run(("p", build(other=had))), build(other=wanted)

    def do(force: bool) -> Manifest:
        done = apply(live, place, Manager("q", "Apply"), CUSTOM, force=force, now=NOW, budget=Budget())
        return with_owners(done.manifest, done.owners)

    if conflicts:
        with pytest.raises(Conflict, match=r'conflict with "p" using example.org/v1: \.spec\.other$'):
            do(force=False)
    taken = do(force=conflicts)
    assert taken["spec"]["other"].items() >= wanted.items()
    assert not conflicts or Manager("p", "Apply") not in read_owners(taken)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (build(steps=[{"name": "a"}] * 2), '.spec.steps: duplicate entries for key [name="a"]'),
        (build(tags=["a", "a"]), '.spec.tags: duplicate entries for key [="a"]'),
    ],
)  # fmt: skip
def test_two_items_of_one_key_cannot_be_wanted(wanted: Manifest, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        run(("a", wanted))
    assert str(refused.value) == said


def test_two_live_items_of_one_key_are_one_once_somebody_applies_it() -> None:
    twice = [{"name": "a", "x": 1}, {"name": "b"}, {"name": "a", "x": 2}, {"name": "c"}, {"name": "c"}]
    wanted = build(steps=[{"name": "a", "y": 1}])
    applied = apply(build(steps=twice), wanted, Manager("a", "Apply"), CUSTOM, force=True, now=NOW, budget=Budget())
    assert applied.manifest["spec"]["steps"] == [
        {"name": "a", "x": 2, "y": 1}, {"name": "b"}, {"name": "c"}, {"name": "c"},
    ]  # fmt: skip


def test_the_depth_of_fields_costs_too_and_what_is_above_them_is_told_once() -> None:
    spent = []
    for depth in (1, 64):
        deep: Any = {str(number): number for number in range(200)}
        for _ in range(depth):
            deep = {"a": deep}
        budget = Budget(10**9)
        fields = read_fields(build(x=deep), CUSTOM, budget=budget)
        spent.append(10**9 - budget.left)
    assert spent[1] > 3 * spent[0]
    above = find_above(fields)
    assert len(above) == 200 + 66 and all(path[:size] in above for path in above for size in range(1, len(path)))


def test_what_nests_without_end_is_refused() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(BadRequest, match="nests too deeply"):
        apply({}, build(x=deep), Manager("p", "Apply"), CUSTOM, force=False, now=NOW, budget=Budget())


VALUES = st.recursive(
    st.one_of(st.integers(0, 2), st.sampled_from("ab"), st.none()),
    lambda inner: st.one_of(st.dictionaries(st.sampled_from("abc"), inner, max_size=3), st.lists(inner, max_size=2)),
    max_leaves=5,
)
STEPS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"run": VALUES}), max_size=2,
                 unique_by=lambda each: each["name"])  # fmt: skip
SPECS = st.fixed_dictionaries({}, optional={"steps": STEPS, "free": VALUES, "whole": st.just({"a": 1})})
WRITES = st.lists(st.tuples(st.sampled_from("pq"), SPECS), min_size=1, max_size=4)


def strip(value: Any) -> Any:
    return {k: strip(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


@given(writes=WRITES)
def test_who_applied_last_has_what_they_want_and_applies_it_again_without_a_change(
    writes: list[tuple[str, Any]],
) -> None:
    live = run(*[(manager, build(**spec)) for manager, spec in writes])
    manager, wanted = Manager(writes[-1][0], "Apply"), build(**writes[-1][1])
    has = read_fields(live, CUSTOM, budget=Budget())
    for path, value in read_fields(strip(wanted), CUSTOM, budget=Budget()).items():
        assert has.get(path, value) == value
    again = apply(live, wanted, manager, CUSTOM, force=False, now="later", budget=Budget())
    assert with_owners(again.manifest, again.owners) == live


@given(writes=WRITES)
def test_a_manager_who_lets_go_of_everything_leaves_what_the_others_want(writes: list[tuple[str, Any]]) -> None:
    steps = [(manager, build(**spec)) for manager, spec in writes]
    live = run(*steps, ("p", NOTHING))
    others = {each: owned for each, owned in read_owners(live).items() if each.name != "p"}
    has = read_fields(live, CUSTOM, budget=Budget())
    assert all(path in has for owned in others.values() for path in owned.fields)
    assert set(has) <= {path for owned in others.values() for path in owned.fields}


@pytest.mark.slow
def test_many_fields_are_let_go_in_one_walk() -> None:
    """What costs more than its size would not end here."""
    many = build(
        free={str(number): 1 for number in range(20_000)}, steps=[{"name": str(n), "run": 1} for n in range(20_000)]
    )
    assert "spec" not in run(("p", many), ("p", NOTHING))


def test_an_update_takes_over_what_it_changes() -> None:
    live = run(("p", build(free={"a": 1, "b": 1})))
    changed = {**live, "spec": {"free": {"a": 2, "c": 3}}}
    found = track_update(live, changed, Manager("u"), CUSTOM, now="later", budget=Budget())
    owners = {each: {show_path(path) for path in owned.fields} for each, owned in read_owners(found).items()}
    assert owners == {Manager("u"): {".spec.free.a", ".spec.free.c"}}
    assert track_update({}, changed, Manager("u"), CUSTOM, now="later", budget=Budget()) == changed
