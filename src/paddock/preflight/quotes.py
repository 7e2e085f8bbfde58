"""Full-width quotes of a Chinese keyboard, which YAML parses as a part of the value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, quoted, told

_PAIRS = {"“": "”", "‘": "’", "「": "」", "”": "“"}


def check_quotes(value: Any, path: str = "") -> Iterator[Problem]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from check_quotes(item, join_path(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from check_quotes(item, join_path(path, index))
    elif (
        isinstance(value, str) and value[:1] in _PAIRS and value[-1:] in (*_PAIRS, *_PAIRS.values()) and len(value) > 1
    ):
        said = phrase(
            "found {found}, whose quotes are full-width and a part of the value: write {plain}",
            found=quoted(value),
            plain=f'"{value[1:-1]}"',
        )
        yield told(path, said, value, suggestion=value[1:-1])
