"""Names of a source that become files, and those that do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.names import Order, Patterns, check_name, find_clash, find_problem
from paddock.datasets.fetch.target import Target

BAD = {
    "": "no name",
    "/etc/passwd": 'begins with "/"',
    "../x": 'a part ".."',
    "a/../../x": 'a part ".."',
    "a/..": 'a part ".."',
    "..": 'a part ".."',
    ".": 'a part "."',
    "a/./b": 'a part "."',
    "a//b": 'a part ""',
    "a/": 'a part ""',
    "a\0b": "a control character",
    "a\nb": "a control character",
    "a\x7f": "a control character",
    "a\x9b31m": "a control character",
    "a\udcff": "no text in UTF-8",
    "x" * 256: "256 bytes, and 255 are allowed",
    "好" * 86: "258 bytes, and 255 are allowed",
    "/".join(["x" * 200] * 20): "4019 bytes, and 3000 are allowed",
    ".paddock": "Paddock's own directory",
    ".paddock/files": "Paddock's own directory",
}


@pytest.mark.parametrize(("name", "words"), BAD.items(), ids=[repr(each)[:20] for each in BAD])
def test_a_name_that_is_refused_is_told(name: str, words: str) -> None:
    with pytest.raises(FetchError) as problem:
        check_name(name)
    assert words in problem.value.message
    assert problem.value.message.isprintable()


@pytest.mark.parametrize(
    "name", ["a", "a/b", "..a", "a..", "...", "a b", "好", "x" * 255, "-rf", "a/.paddock", "%2e%2e"]
)
def test_a_name_that_is_odd_is_taken(name: str) -> None:
    check_name(name)


PART = st.sampled_from(["a", "b", "..", ".", "", ".paddock", "a\n", "\0", "好", "x" * 255, "x" * 256]) | st.text(
    max_size=5
)


@given(st.lists(PART, max_size=4).map("/".join))
def test_no_name_that_is_taken_leads_out(name: str) -> None:
    if find_problem(name):
        return
    path = os.path.normpath(f"/data/words/{name}")
    assert path == f"/data/words/{name}" and os.fsencode(path)
    assert not path.startswith("/data/words/.paddock")


@given(name=st.lists(PART, min_size=1, max_size=4).map("/".join))
def test_each_name_that_is_taken_can_be_written(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    if find_problem(name):
        return
    directory = tmp_path_factory.mktemp("names")
    target = Target(str(directory))
    target.write(name, b"x", "one")
    target.close()
    assert (directory / name).read_bytes() == b"x"
    assert [
        each for each in directory.rglob("*") if each.is_file() and ".paddock" not in str(each)
    ] or "paddock" in name


NAME = st.lists(st.sampled_from(["a", "b", "a!", "a-b", "a.b", "a0"]), min_size=1, max_size=3).map("/".join)


@given(st.sets(NAME))
def test_a_file_that_is_a_directory_of_another_is_found(names: set[str]) -> None:
    clashes = {(one, other) for one in names for other in names if other.startswith(f"{one}/")}
    order = Order()
    found = {(order.add(name), name) for name in sorted(names, key=str.encode)}
    assert order.ordered
    assert {each for each in found if each[0]} <= clashes
    assert any(clash for clash, _ in found) == (find_clash(names) in clashes) == bool(clashes)


def test_names_in_another_order_are_noticed() -> None:
    order = Order()
    assert [order.add(name) for name in ("a", "b", "a/b")] == ["", "", ""]
    assert not order.ordered
    assert find_clash(["a/b", "b", "a"]) == ("a", "a/b")


def test_names_in_order_take_no_memory() -> None:
    order = Order()
    for number in range(100_000):
        assert order.add(f"train/{number:06}/image.jpg") == ""
    assert len(order._stack) == 1 and order.ordered


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        ((), (), "a.txt b.parquet t/c.parquet t/u/d.txt"),
        (("*.parquet",), (), "b.parquet t/c.parquet"),
        (("t/*",), (), "t/c.parquet t/u/d.txt"),
        (("t/",), (), "t/c.parquet t/u/d.txt"),
        (("**/*.txt",), (), "a.txt t/u/d.txt"),
        (("t/**",), ("*.txt",), "t/c.parquet"),
        ((), ("t/",), "a.txt b.parquet"),
        (("*.TXT",), (), ""),
        (("[ab].*", "t/u/?.txt"), (), "a.txt b.parquet t/u/d.txt"),
    ],
)
def test_patterns(include: tuple[str, ...], exclude: tuple[str, ...], wanted: str) -> None:
    patterns = Patterns(include, exclude)
    names = ("a.txt", "b.parquet", "t/c.parquet", "t/u/d.txt")
    assert " ".join(each for each in names if patterns.wants(each)) == wanted


def test_a_path_of_the_target_may_be_a_link_itself(tmp_path: Path) -> None:
    """A home on another disk: what leads to the dataset is the user's, what is in it is not."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    target = Target(str(tmp_path / "home/words"))
    target.write("a", b"x", "one")
    target.close()
    assert (tmp_path / "disk/words/a").read_bytes() == b"x"
