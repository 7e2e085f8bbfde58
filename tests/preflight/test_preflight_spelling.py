"""Misspelt names: which are corrected, and that paths are converted back to the user's spelling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.nearness import nearest
from paddock.preflight.spelling import correct_names

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ports": {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "outer": {
            "type": "object",
            "properties": {"volumeMount": {"type": "string"}, "deep": {"properties": {"volumeMounts": {}}}},
        },
        "open": {"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True},
    },
}

MENDED: list[tuple[dict[str, Any], dict[str, Any], list[str], str]] = [
    ({"prots": [{"nubmer": 1}]}, {"ports": [{"number": 1}]}, ["prots", "prots[0].nubmer"], "in lists, too"),
    ({"LABELS": {"ports": "1"}}, {"labels": {"ports": "1"}}, ["LABELS"], "keys of one's own are let be"),
    ({"port": 80}, {"port": 80}, [], "a number is no list, whatever its name"),
    ({"prots": [], "ports": None}, {"prots": [], "ports": None}, [], "the right name is there as well"),
    ({"prots": [], "porst": []}, {"ports": [], "porst": []}, ["prots"], "only one can be meant"),
    ({"outer": {"volumeMounts": "x"}}, {"outer": {"volumeMounts": "x"}}, [], "a right name at the wrong level"),
    ({"open": {"b": 1, "A": 2}}, {"open": {"b": 1, "A": 2}}, [], "any name is right here"),
    ({"zzz": {}}, {"zzz": {}}, [], "nothing is near"),
]


@pytest.mark.parametrize(("given_", "mended", "paths", "why"), MENDED, ids=[each[3] for each in MENDED])
def test_a_name_similar_to_one_field_is_corrected(
    given_: dict[str, Any], mended: dict[str, Any], paths: list[str], why: str
) -> None:
    found, spelling = correct_names(given_, SCHEMA, nearest)
    assert (found, [each.path for each in spelling.problems]) == (mended, paths)


def test_paths_are_converted_back_to_the_users_spelling() -> None:
    _, spelling = correct_names({"prots": [{"nubmer": 1}, {"number": 2}]}, SCHEMA, nearest)
    paths = ["ports", "ports[0].number", "ports[1].number", "ports[10]", "portside", "labels"]
    written = ["prots", "prots[0].nubmer", "prots[1].number", "prots[10]", "portside", "labels"]
    assert [spelling.path_as_written(path) for path in paths] == written


KEYS = st.sampled_from(["ports", "prots", "Ports", "labels", "lables", "outer", "number", "deep", "open", "a/b", ""])
VALUES = st.recursive(
    st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_nothing_is_lost_and_each_corrected_name_is_reported(manifest: dict[str, Any]) -> None:
    mended, spelling = correct_names(manifest, SCHEMA, nearest)
    assert _leaves(mended) == _leaves(manifest)
    assert len(spelling.written) == len(spelling.problems)
    assert set(spelling.written.values()) == {each.path for each in spelling.problems}


def _leaves(value: Any) -> list[Any]:
    """The values in order, with the sizes of their containers."""
    if isinstance(value, dict):
        return [len(value), *(leaf for each in value.values() for leaf in _leaves(each))]
    if isinstance(value, list):
        return [len(value), *(leaf for each in value for leaf in _leaves(each))]
    return [value]
