"""What differs between the manifests of two runs, in few words."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.history.changes import find_changes, shorten


def spec(replicas: int = 2, **container: Any) -> dict[str, Any]:
    made = {"name": "paddle", "image": "paddle:3", **container}
    return {"worker": {"replicas": replicas, "template": {"spec": {"containers": [made]}}}}


IN = "spec.worker.template.spec.containers[paddle]"


def from_secret(name: str) -> dict[str, Any]:
    return {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (spec(), spec(), []),
        (spec(2), spec(4), ["spec.worker.replicas: 2 → 4"]),
        (spec(image="a:1"), spec(image="a:2"), [f"{IN}.image: a:1 → a:2"]),
        (spec(args=["--lr", "0.1"]), spec(args=["--lr", "0.2"]), ["args: --lr 0.1 → 0.2"]),
        (spec(args=["--lr=0.1"]), spec(args=["--lr=0.2"]), ["args: --lr=0.1 → --lr=0.2"]),
        (spec(args=["a"]), spec(args=["a", "--new", "1"]), ["args: + --new 1"]),
        (spec(args=["a", "--old", "1"]), spec(args=["a"]), ["args: − --old 1"]),
        (spec(args=["x", "1", "y", "2"]), spec(args=["x", "3", "y", "4"]), ["args: 1 → 3", "args: 2 → 4"]),
        (spec(command=["sh", "a\nb"]), spec(command=["sh", "a\nc"]), ["command: a b → a c"]),
        (spec(args=["x", " "]), spec(args=["x", ""]), ['args: "" → ""']),
        (spec(env=[{"name": "LR", "value": "1"}]), spec(env=[{"name": "LR", "value": "2"}]), ["env LR: 1 → 2"]),
        (
            spec(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            spec(env=[{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]),
            ["env C: + 3", "env A: − 1"],
        ),
        ({}, {"restarts": 3}, ["spec.restarts: + 3"]),
        ({"restarts": 3}, {}, ["spec.restarts: − 3"]),
        ({"a": None}, {"a": 0}, ["spec.a: null → 0"]),
        ({"a": True}, {"a": 1}, ["spec.a: true → 1"]),
        ({"list": [1, 2]}, {"list": [1, 3, 4]}, ["spec.list[1]: 2 → 3", "spec.list[2]: + 4"]),
        ({"text": "a" * 50}, {"text": "b"}, [f"spec.text: {'a' * 39}… → b"]),
        (
            {"x": "python train.py --epochs 30 --batch-size 128 --lr 0.1"},
            {"x": "python train.py --epochs 30 --batch-size 128 --lr 0.2 --amp"},
            ["spec.x: …28 --lr 0.1 → …28 --lr 0.2 --amp"],
        ),
        ({"a": {"b": 1}}, {"a": [1]}, ['spec.a: {"b": 1} → [1]']),
    ],
)  # fmt: skip
def test_each_difference_is_one_text(before: dict[str, Any], now: dict[str, Any], changes: list[str]) -> None:
    assert find_changes(before, now) == changes


def test_a_value_from_another_secret_shows_its_source_and_no_value() -> None:
    (change,) = find_changes(spec(env=[from_secret("a")]), spec(env=[from_secret("b")]))
    assert change == 'env KEY: …{"name": "a", "key": "k"}}} → …{"name": "b", "key": "k"}}}'


def test_a_line_has_the_first_changes() -> None:
    assert shorten(["a", "b"]) == "a; b"
    assert shorten(["a", "b", "c", "d"]) == "a; b; c; …"
