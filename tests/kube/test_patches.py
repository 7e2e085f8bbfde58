"""Patches: properties of merge patches, and strategic patches with the results of a real API server."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.errors import ApiError, BadRequest, Invalid, TooLarge
from paddock.kube.patches import (
    MOST_COPIED_BYTES,
    MOST_OPERATIONS,
    apply_patch,
    merge_key,
    merge_patch,
    strategic_patch,
)

_names = st.sampled_from("abcde")
_plain = st.none() | st.booleans() | st.integers(-3, 3) | st.text("xy", max_size=2)
_values: st.SearchStrategy[Any] = st.recursive(
    _plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4), max_leaves=12
)
_objects = st.dictionaries(_names, _values, max_size=4)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch from one object to another."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            patch[key] = _difference(old[key], value)
        elif key not in old or type(old[key]) is not type(value) or old[key] != value:
            patch[key] = value
    return patch


@given(_objects)
def test_an_empty_patch_changes_nothing(target: dict[str, Any]) -> None:
    assert merge_patch(target, {}) == target


@given(_objects, _objects)
def test_a_merge_patch_applied_twice_is_applied_once(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


@given(_objects, _objects)
def test_the_patch_from_one_object_to_another_makes_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    old, new = _without_nulls(old), _without_nulls(new)
    assert merge_patch(old, _difference(old, new)) == new


@given(_objects, _objects, st.sampled_from(["merge", "strategic"]))
def test_a_patch_changes_neither_of_its_arguments(target: dict[str, Any], patch: dict[str, Any], kind: Any) -> None:
    before = deepcopy((target, patch))
    apply_patch(target, patch, kind)
    assert (target, patch) == before


@given(_objects, _objects)
def test_without_keyed_lists_a_strategic_patch_is_a_merge_patch(target: dict[str, Any], patch: dict[str, Any]) -> None:
    assert strategic_patch(target, patch) == merge_patch(target, patch)


_containers = st.lists(
    st.fixed_dictionaries({"name": _names, "image": st.sampled_from(["x", "y"])}), unique_by=lambda c: c["name"]
)


@given(_containers, _containers)
def test_containers_merge_by_name_and_none_is_lost(live: list[Any], patch: list[Any]) -> None:
    patched = strategic_patch({"spec": {"containers": live}}, {"spec": {"containers": patch}})["spec"]["containers"]
    expected = {c["name"]: c for c in live} | {c["name"]: c for c in patch}
    assert {c["name"]: c for c in patched} == expected
    assert len(patched) == len(expected)


def _pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


STRATEGIC: dict[str, tuple[Any, Any, Any]] = {
    "an item with a known key is merged": (
        _pod(containers=[{"name": "a", "image": "1", "tty": True}]),
        _pod(containers=[{"name": "a", "image": "2"}]),
        _pod(containers=[{"name": "a", "image": "2", "tty": True}]),
    ),
    "a new item goes before the live ones": (
        _pod(containers=[{"name": "a"}, {"name": "b"}]),
        _pod(containers=[{"name": "n"}]),
        _pod(containers=[{"name": "n"}, {"name": "a"}, {"name": "b"}]),
    ),
    "$patch: delete takes one item": (
        _pod(containers=[{"name": "a"}, {"name": "b"}]),
        _pod(containers=[{"name": "a", "$patch": "delete"}]),
        _pod(containers=[{"name": "b"}]),
    ),
    "$patch: replace replaces a list": (
        _pod(containers=[{"name": "a"}, {"name": "b"}]),
        _pod(containers=[{"name": "c"}, {"$patch": "replace"}]),
        _pod(containers=[{"name": "c"}]),
    ),
    "$patch: replace replaces an object": (
        _pod(securityContext={"runAsUser": 1, "fsGroup": 2}),
        _pod(securityContext={"$patch": "replace", "runAsUser": 3}),
        _pod(securityContext={"runAsUser": 3}),
    ),
    "$setElementOrder puts the items in order": (
        _pod(containers=[{"name": "a"}, {"name": "b"}]),
        _pod(**{"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}),
        _pod(containers=[{"name": "b"}, {"name": "a"}]),
    ),
    "$setElementOrder with a new item": (
        _pod(containers=[{"name": "a"}, {"name": "b"}]),
        _pod(
            **{
                "$setElementOrder/containers": [{"name": "a"}, {"name": "n"}, {"name": "b"}],
                "containers": [{"name": "n", "image": "i"}],
            }
        ),
        _pod(containers=[{"name": "a"}, {"name": "n", "image": "i"}, {"name": "b"}]),
    ),
    "environment variables merge by name": (
        _pod(containers=[{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}]),
        _pod(containers=[{"name": "a", "env": [{"name": "Y", "value": "3"}]}]),
        _pod(containers=[{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "3"}]}]),
    ),
    "ports of a container merge by containerPort": (
        _pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "w"}]}]),
        _pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "web"}]}]),
        _pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "web"}]}]),
    ),
    "ports of a service merge by port": (
        _pod(ports=[{"port": 80, "targetPort": 1}]),
        _pod(ports=[{"port": 80, "targetPort": 2}]),
        _pod(ports=[{"port": 80, "targetPort": 2}]),
    ),
    "tolerations are replaced whole": (
        _pod(tolerations=[{"key": "a"}]),
        _pod(tolerations=[{"key": "b"}]),
        _pod(tolerations=[{"key": "b"}]),
    ),
    "finalizers merge as a set": (
        {"metadata": {"finalizers": ["a", "b"]}},
        {"metadata": {"finalizers": ["b", "c"]}},
        {"metadata": {"finalizers": ["a", "b", "c"]}},
    ),
    "$deleteFromPrimitiveList takes plain values": (
        {"metadata": {"finalizers": ["a", "b"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
        {"metadata": {"finalizers": ["b"]}},
    ),
    "$retainKeys drops the other fields of a volume": (
        _pod(volumes=[{"name": "v", "emptyDir": {}}]),
        _pod(volumes=[{"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]),
        _pod(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
    ),
    "null deletes a field": (_pod(a=1, b=2), _pod(a=None), _pod(b=2)),
    "conditions merge by type": (
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    ),
}


@pytest.mark.parametrize("case", STRATEGIC)
def test_a_strategic_patch(case: str) -> None:
    live, patch, expected = STRATEGIC[case]
    assert strategic_patch(live, patch) == expected


@pytest.mark.parametrize(
    ("kind", "patch", "error"),
    [
        ("merge", [{"op": "add"}], Invalid),
        ("json", {"spec": {}}, BadRequest),
        ("json", ["x"], BadRequest),
        ("strategic", [1], BadRequest),
        ("strategic", {"$patch": "merge-them"}, BadRequest),
        ("strategic", {"spec": {"containers": [{"image": "no name"}]}}, BadRequest),
        ("json", [{"op": "test", "path": "/spec/a", "value": 2}], Invalid),
        ("json", [{"op": "remove", "path": "/spec/missing"}], Invalid),
        ("json", [{"op": "replace", "path": "/spec/missing/deeper", "value": 1}], Invalid),
        ("json", [{"op": "rename", "path": "/spec/a"}], Invalid),
        ("json", [{"op": "add", "path": "no-slash", "value": 1}], Invalid),
        ("json", [{"op": "add", "value": 1}], Invalid),
        ("json", [{"path": "/spec/a"}], Invalid),
        ("json", [{"op": "replace", "path": "", "value": 5}], Invalid),
    ],
)
def test_an_invalid_patch_is_refused_with_the_apis_error(kind: Any, patch: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply_patch({"spec": {"a": 1}}, patch, kind)


@given(
    st.lists(
        _values
        | st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "move", "copy", "test"]),
                "path": st.sampled_from(["/a", "/b/0", "/c/d", "", "/-", "a"]),
                "from": st.just("/a"),
                "value": _plain,
            }
        ),
        max_size=3,
    ),
    _objects,
)
def test_no_json_patch_raises_anything_but_the_apis_errors(patch: list[Any], target: dict[str, Any]) -> None:
    before = deepcopy(target)
    try:
        apply_patch(target, patch, "json")
    except (BadRequest, Invalid):
        pass
    assert target == before


@given(_objects, _values)
def test_no_strategic_patch_raises_anything_but_the_apis_errors(target: dict[str, Any], items: Any) -> None:
    for field in ("containers", "$setElementOrder/containers", "$retainKeys", "$deleteFromPrimitiveList/finalizers"):
        try:
            apply_patch({"spec": target, "containers": [{"name": 1}]}, {"spec": target, field: items}, "strategic")
            apply_patch({"metadata": {"finalizers": ["a"]}}, {"metadata": {"finalizers": items}}, "strategic")
        except (BadRequest, Invalid):
            pass


def test_a_json_patch_applies() -> None:
    patch = [{"op": "replace", "path": "/spec/a", "value": 2}, {"op": "add", "path": "/spec/l/-", "value": 3}]
    assert apply_patch({"spec": {"a": 1, "l": []}}, patch, "json") == {"spec": {"a": 2, "l": [3]}}


_ADD = {"op": "add", "path": "/a", "value": 1}
_HALF = "x" * (MOST_COPIED_BYTES // 2)
TOO_MUCH: dict[str, tuple[list[Any], type[ApiError], str]] = {
    "copies that each double the object": (
        [{"op": "copy", "from": "", "path": f"/d{i}"} for i in range(30)],
        Invalid,
        "the accumulated size increase of copy is",
    ),
    "copies of one large value": (
        [
            {"op": "add", "path": "/a", "value": _HALF},
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "copy", "from": "/a", "path": "/c"},
        ],
        Invalid,
        f"exceeding the limit {MOST_COPIED_BYTES}",
    ),
    "too many operations": (
        [_ADD] * (MOST_OPERATIONS + 1),
        TooLarge,
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
    ),
    "a copy of nothing": (
        [{"op": "copy", "from": "/none", "path": "/b"}],
        Invalid,
        "our request: copying /none to /b failed: there is no /none",
    ),
    "a copy from nowhere": ([{"op": "copy", "path": "/b"}], Invalid, "does not fit the object"),
    "a copy from a number": ([{"op": "copy", "from": 5, "path": "/b"}], Invalid, "does not fit the object"),
    "an unknown operation": ([{"op": "append", "path": "/a", "value": "x"}], Invalid, "does not fit the object"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_a_json_patch_that_grows_the_object_too_much_is_refused(case: str) -> None:
    patch, error, said = TOO_MUCH[case]
    with pytest.raises(error, match=said):
        apply_patch({"name": "x"}, patch, "json")


@pytest.mark.parametrize(
    ("path", "wanted", "said"),
    [
        ("/a/0", 2, "testing /a/0 failed: found 1, wanted 2"),
        ("/a", "[1]", 'testing /a failed: found [1], wanted "[1]"'),
        ("/b/c", None, "testing /b/c failed: there is nothing"),
        ("/a/-", 1, "testing /a/- failed: there is nothing"),
        ("/c", True, 'testing /c failed: found "中", wanted true'),
    ],
)
def test_a_failed_test_of_a_json_patch_tells_path_and_values_as_json(path: str, wanted: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        apply_patch({"a": [1], "c": "中"}, [{"op": "test", "path": path, "value": wanted}], "json")
    assert str(refused.value).endswith(f"our request: {said}")


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"op": "add", "path": "/nowhere/c", "value": 1}, "adding /nowhere/c failed: there is no /nowhere"),
        ({"op": "remove", "path": "/b/x~1y"}, "removing /b/x~1y failed: there is no /b/x~1y"),
        ({"op": "replace", "path": "/b/c", "value": 1}, "replacing /b/c failed: there is no /b/c"),
        ({"op": "add", "path": "/a/2", "value": 1}, "adding /a/2 failed: there is no /a/2: the list has 1 item"),
        ({"op": "add", "path": "/a/x", "value": 1}, "adding /a/x failed: there is no /a/x: the list has 1 item"),
        ({"op": "remove", "path": "/b/l/0"}, "removing /b/l/0 failed: there is no /b/l/0: the list has 0 items"),
        ({"op": "remove", "path": "/a/-"}, "removing /a/- failed: there is no /a/-: the list has 1 item"),
        ({"op": "add", "path": "/c/d/e", "value": 1}, 'adding /c/d/e failed: found "中" at /c'),
        ({"op": "move", "from": "/x", "path": "/y"}, "moving /x to /y failed: there is no /x"),
        ({"op": "copy", "from": "/c", "path": "/x/y"}, "copying /c to /x/y failed: there is no /x"),
    ],
)
def test_a_json_patch_that_finds_no_place_tells_its_path(operation: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        apply_patch({"a": [1], "b": {"l": []}, "c": "中"}, [operation], "json")
    assert str(refused.value).endswith(f"our request: {said}")


def test_a_json_patch_within_its_limits_applies() -> None:
    assert apply_patch({}, [_ADD] * MOST_OPERATIONS, "json") == {"a": 1}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{i}"} for i in range(100)]
    assert len(apply_patch({"a": "x" * 1_000}, copies, "json")) == 101


def test_a_json_patch_does_not_change_the_object() -> None:
    target: dict[str, Any] = {"a": {"b": [1]}}
    apply_patch(target, [{"op": "add", "path": "/a/b/-", "value": 2}, {"op": "remove", "path": "/a"}], "json")
    assert target == {"a": {"b": [1]}}


def test_a_merge_key_depends_on_the_place_of_the_field() -> None:
    assert merge_key(("spec", "containers", "ports")) == "containerPort"
    assert merge_key(("spec", "ports")) == "port"
    assert merge_key(("spec", "tolerations")) is None
