"""What a message hides of the values of Secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hidden_values import Hidden, read_hidden

PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nab=\n"


def configs(**values: str) -> Configs:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return Configs("default", secrets={"key": {"data": data}}, config_maps={"key": {"data": {"A": "plain"}}})


def pod(**main: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", **main}]}}


def by_key(key: str) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {"secretKeyRef": {"name": "key", "key": key}}}


@pytest.mark.parametrize(
    ("main", "values", "expected"),
    [
        ({"env": [by_key("A")]}, {"A": "tok-123", "B": "other"}, {"tok-123"}),
        ({"envFrom": [{"secretRef": {"name": "key"}}]}, {"A": "tok-123", "B": "other"}, {"tok-123", "other"}),
        ({"envFrom": [{"configMapRef": {"name": "key"}}], "env": [{"name": "V", "value": "x"}]}, {"A": "1234"}, set()),
        ({"env": [by_key("A"), by_key("B"), by_key("missing")]}, {"A": "abc", "B": "abcd"}, {"abcd"}),
        ({"env": [by_key("A")]}, {"A": "tok-123\n"}, {"tok-123", "tok-123\n"}),
        ({"env": [by_key("A")]}, {"A": PEM}, {PEM, PEM.strip(), "-----BEGIN KEY-----", "MIIEvQIBADANBg"}),
        ({"env": [by_key("A")]}, {"A": "    \n"}, set()),
        ({"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "gone", "key": "A"}}}]}, {"A": "1234"}, set()),
    ],
)  # fmt: skip
def test_the_values_of_variables_that_come_from_secrets(
    main: dict[str, Any], values: dict[str, str], expected: set[str]
) -> None:
    assert read_hidden(pod(**main), configs(**values)) == expected


def test_the_longer_of_two_values_is_hidden_as_a_whole() -> None:
    assert Hidden(frozenset({"pass", "password1"})).apply("password1, pass, é") == "***, ***, é"


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("401 for tok-123", 7, "***"),
        ("401 for tok-123", 3, "***"),
        ("tok-123 failed", 7, " failed"),
        ("tok-123 failed", 8, "*** failed"),
        ("tok-123 tok-123", 8, " ***"),
        ("nothing", 3, "ing"),
    ],
)
def test_a_cut_leaves_no_part_of_a_value(text: str, size: int, expected: str) -> None:
    assert Hidden(frozenset({"tok-123"})).read_tail(text.encode(), size).decode() == expected


def test_without_secrets_a_text_stays_as_it_is() -> None:
    assert Hidden().apply("a\udcffb") == "a\udcffb"
    assert (Hidden().longest, Hidden(frozenset({"é" * 4})).longest) == (0, 8)
