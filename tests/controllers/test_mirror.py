"""A mirror: objects as parsed by a reader, and which events change them."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from paddock.controllers.mirror import Mirror
from paddock.kube.api import Event
from paddock.kube.meta import Key, Manifest

Type = Literal["ADDED", "MODIFIED", "DELETED"]


def config(name: str, size: object = 1, uid: str = "u", namespace: str = "n") -> Manifest:
    return {"metadata": {"namespace": namespace, "name": name, "uid": uid}, "size": size}


def read_size(manifest: Manifest) -> int:
    return int(manifest["size"])


def mirror_of(*steps: tuple[Type, Manifest]) -> tuple[Mirror[int], list[tuple[int | None, int | None]]]:
    """The mirror, and the value before and after each event that mattered."""
    mirror = Mirror(read_size)
    changes = [mirror.take(Event(type, manifest)) for type, manifest in steps]
    return mirror, [(change.before, change.now) for change in changes if change.matters]


CASES: dict[str, tuple[list[tuple[Type, Manifest]], dict[str, int], list[Any]]] = {
    "it comes": ([("ADDED", config("a"))], {"a": 1}, [(None, 1)]),
    "it changes": ([("ADDED", config("a")), ("MODIFIED", config("a", 2))], {"a": 2}, [(None, 1), (1, 2)]),
    "a change that nobody reads": ([("ADDED", config("a")), ("MODIFIED", config("a"))], {"a": 1}, [(None, 1)]),
    "it goes": ([("ADDED", config("a")), ("DELETED", config("a"))], {}, [(None, 1), (1, None)]),
    "an unknown one goes": ([("DELETED", config("a"))], {}, []),
    "its name is another object's by now": (
        [("ADDED", config("a")), ("ADDED", config("a", 2, uid="v")), ("DELETED", config("a"))],
        {"a": 2},
        [(None, 1), (1, 2)],
    ),
    "one that nobody understands stops no other": (
        [("ADDED", config("a", "?")), ("ADDED", config("b"))],
        {"b": 1},
        [(None, 1)],
    ),
    "it cannot be read any more, and then again": (
        [("ADDED", config("a")), ("MODIFIED", config("a", "?")), ("MODIFIED", config("a", 3))],
        {"a": 3},
        [(None, 1), (1, None), (None, 3)],
    ),
    "it goes after it could not be read": ([("ADDED", config("a", "?")), ("DELETED", config("a", "?"))], {}, []),
}


@pytest.mark.parametrize(("steps", "there", "changes"), CASES.values(), ids=CASES)
def test_the_objects_and_the_changes_that_matter(
    steps: list[tuple[Type, Manifest]], there: dict[str, int], changes: list[Any]
) -> None:
    mirror, mattered = mirror_of(*steps)
    assert {key.name: size for key, size in mirror.objects.items()} == there
    assert dict(mirror.inside("n")) == there
    assert mattered == changes


def test_a_change_has_the_reason_why_an_object_was_left_out() -> None:
    change = Mirror(read_size).take(Event("ADDED", config("a", "?")))
    assert (change.key, isinstance(change.problem, ValueError)) == (Key("n", "a"), True)


def test_objects_are_found_by_their_namespace() -> None:
    mirror, _ = mirror_of(("ADDED", config("a")), ("ADDED", config("a", 2, namespace="m")))
    assert (dict(mirror.inside("n")), dict(mirror.inside("m")), dict(mirror.inside("x"))) == ({"a": 1}, {"a": 2}, {})


def test_an_assumed_value_stays_until_the_next_event() -> None:
    mirror, _ = mirror_of(("ADDED", config("a")))
    mirror.assume(Key("n", "a"), 7)
    assert (mirror.objects[Key("n", "a")], mirror.inside("n")["a"]) == (7, 7)
    change = mirror.take(Event("MODIFIED", config("a", 2)))
    assert (change.before, change.now) == (7, 2)


def test_a_kind_that_is_not_served_any_more_has_no_objects() -> None:
    mirror, _ = mirror_of(("ADDED", config("a")), ("ADDED", config("b", 2)))
    assert [(change.key.name, change.before, change.now) for change in mirror.clear()] == [
        ("a", 1, None),
        ("b", 2, None),
    ]
    assert (dict(mirror.objects), dict(mirror.inside("n"))) == ({}, {})
