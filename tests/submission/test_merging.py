"""What a file says of an object that is there, and what it leaves to others."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.submission.merging import build_merge, read_content

THERE = {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}, "binaryData": {"z": "3"}}


@pytest.mark.parametrize(
    ("wanted", "patch"),
    [
        ({"data": {"x": "5"}}, {"data": {"x": "5", "y": None}, "binaryData": None}),
        ({"data": {}}, {"data": {"x": None, "y": None}, "binaryData": None}),
        ({"stringData": {"x": "5"}}, {"stringData": {"x": "5"}, "data": None, "binaryData": None}),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "b"}}}),
        ({"immutable": True}, {"immutable": True}),
    ],
)
def test_a_file_without_content_removes_none_that_others_filled_in(wanted: dict[str, Any], patch: object) -> None:
    assert build_merge(read_content(THERE, wanted), wanted) == patch
