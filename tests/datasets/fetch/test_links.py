"""Where links lead, inside a dataset alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.datasets.fetch.links import find_end


@pytest.mark.parametrize(
    ("links", "end"),
    [
        ({"a": "b"}, "b"),
        ({"a": "./b/../c"}, "c"),
        ({"x/a": "../b"}, "b"),
        ({"x/a": ".."}, ""),
        ({"a": "."}, ""),
        ({"a": "b", "b": "c/d"}, "c/d"),
        ({"a": "b/c", "b": "x/y"}, "x/y/c"),
        ({"a": "b/../c", "b": "x/y"}, "x/c"),
        ({"a": "b", "b": ".paddock/files"}, ".paddock/files"),
        ({"a": "nowhere/at/all"}, "nowhere/at/all"),
        ({"a": ".."}, None),
        ({"a": "../data/etc/passwd"}, None),
        ({"a": "b/../../c"}, None),
        ({"x/a": "../../x/b"}, None),
        ({"a": "/etc/passwd"}, None),
        ({"a": "b", "b": "/etc/passwd"}, None),
        ({"a": "b/c", "b": ".."}, None),
        ({"a": "b/../../c", "b": "x/y"}, "c"),
    ],
)
def test_a_link_is_followed_to_its_end(links: dict[str, str], end: str | None) -> None:
    name = "x/a" if "x/a" in links else "a"
    assert find_end(name, links) == end


def test_links_in_a_circle_have_an_end() -> None:
    assert find_end("a", {"a": "b", "b": "a"}) in ("a", "b")
    assert find_end("a", {"a": "a/a"}) is not None


_names = st.sampled_from(["a", "b", "x/a", "x/b", "x/y/a"])
_texts = st.lists(st.sampled_from(["a", "b", "x", "y", "..", ".", ""]), min_size=1, max_size=5).map("/".join)


@given(st.dictionaries(_names, _texts.filter(lambda text: text.strip("/") != ""), min_size=1))
def test_what_leads_nowhere_out_leads_nowhere_out_on_a_disk(links: dict[str, str]) -> None:
    """Whatever the directory is called in which the dataset lies, its kernel finds no other end."""
    links = {name: text for name, text in links.items() if not text.startswith("/")}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "a"
        (root / "x/y").mkdir(parents=True)
        for name, text in links.items():
            (root / name).symlink_to(text)
        for name in links:
            try:
                real = os.path.realpath(root / name, strict=True)
            except OSError:
                continue
            end = find_end(name, links)
            assert end is None or Path(real) == root / end
