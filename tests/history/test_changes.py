"""What differs between the manifests of two runs, in few words."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.history.changes import find_changes, shorten


def spec(replicas: int = 2, **container: Any) -> dict[str, Any]:
    made = {"name": "paddle", "image": "paddle:3", **container}
    return {"worker": {"replicas": replicas, "template": {"spec": {"containers": [made]}}}}


def from_secret(name: str) -> dict[str, Any]:
    return {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}


def gang(*commands: str, image: str = "a") -> dict[str, Any]:
    """A master, and workers, with a command each."""
    roles = zip(("Master", "Worker"), commands, strict=False)
    return {
        "replicaSpecs": {
            role: {"template": {"spec": {"containers": [{"name": "c", "image": image, "command": command.split()}]}}}
            for role, command in roles
        }
    }


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (spec(), spec(), []),
        (spec(2), spec(4), ["worker.replicas: 2 → 4"]),
        (spec(image="a:1"), spec(image="a:2"), ["image: a:1 → a:2"]),
        (spec(args=["--lr", "0.1"]), spec(args=["--lr", "0.2"]), ["lr 0.1 → 0.2"]),
        (spec(args=["--lr=0.1"]), spec(args=["--lr=0.2"]), ["lr 0.1 → 0.2"]),
        (spec(args=["--lr=0.1"]), spec(args=["--lr", "0.1"]), []),
        (spec(args=["a"]), spec(args=["a", "--new", "1"]), ["+ new 1"]),
        (spec(args=["a", "--old", "1"]), spec(args=["a"]), ["− old 1"]),
        (spec(args=["a"]), spec(args=["a", "--crash"]), ["+ crash"]),
        (spec(args=["x", "1", "y", "2"]), spec(args=["x", "3", "y", "4"]), ["command: 1 → 3", "command: 2 → 4"]),
        (spec(command=["sh", "a\nb"]), spec(command=["sh", "a\nc"]), ["command: b → c"]),
        (spec(args=["x", "--y="]), spec(args=["x", "--y=1"]), ['y "" → 1']),
        (spec(env=[{"name": "LR", "value": "1"}]), spec(env=[{"name": "LR", "value": "2"}]), ["env LR: 1 → 2"]),
        (
            spec(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            spec(env=[{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]),
            ["env C: + 3", "env A: − 1"],
        ),
        (gang("t --lr 1", "t --lr 1"), gang("t --lr 2", "t --lr 2"), ["lr 1 → 2"]),
        (gang("t --lr 1"), gang("t --lr 2", "t --lr 2"), ["lr 1 → 2"]),
        (gang("t --lr 1", "t --lr 1"), gang("t --lr 1", "t --lr 2"), ["Worker: lr 1 → 2"]),
        (gang("t", "t"), gang("t", "t --crash"), ["+ crash"]),
        (gang("t --lr 1", "s --lr 9"), gang("t --lr 2", "s --lr 9"), ["Master: lr 1 → 2"]),
        (gang("t", "t", image="a"), gang("t", "t", image="b"), ["image: a → b"]),
        ({}, {"restarts": 3}, ["restarts: + 3"]),
        ({"restarts": 3}, {}, ["restarts: − 3"]),
        ({"a": None}, {"a": 0}, ["a: null → 0"]),
        ({"list": [1, 2]}, {"list": [1, 3, 4]}, ["list: 1 2 → 1 3 4"]),
        ({"list": [{"a": 1}]}, {"list": [{"a": 2}]}, ["list[0].a: 1 → 2"]),
        ({"text": "a" * 50}, {"text": "b"}, [f"text: {'a' * 39}… → b"]),
        (
            {"x": "python train.py --epochs 30 --batch-size 128 --lr 0.1"},
            {"x": "python train.py --epochs 30 --batch-size 128 --lr 0.2 --amp"},
            ["x: …28 --lr 0.1 → …28 --lr 0.2 --amp"],
        ),
    ],
)  # fmt: skip
def test_each_difference_is_one_text(before: dict[str, Any], now: dict[str, Any], changes: list[str]) -> None:
    assert find_changes(before, now) == changes


def test_a_value_from_another_secret_shows_its_source_and_no_value() -> None:
    (change,) = find_changes(spec(env=[from_secret("a")]), spec(env=[from_secret("b")]))
    assert change == "env KEY secretKeyRef.name: a → b"


def test_a_line_has_the_first_changes() -> None:
    assert shorten(["a", "b"]) == "a; b"
    assert shorten(["a", "b", "c", "d"]) == "a; b; c; …"
