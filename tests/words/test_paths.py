"""A path below the user's own directory is written as people write it."""

from __future__ import annotations

import pytest

from paddock.words.paths import shorten_home


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/you", "~"), ("/home/you/", "~"), ("/home/you/proj", "~/proj"), ("/home/young/proj", "/home/young/proj"),
        ("/mnt/a", "/mnt/a"), ("", ""), ("/", "/"),
    ],
)  # fmt: skip
def test_a_path_is_shortened(path: str, shown: str) -> None:
    assert shorten_home(path, "/home/you") == shown
    assert shorten_home(path, "/home/you/") == shown
    assert shorten_home(path, "/") == shorten_home(path, "") == path
