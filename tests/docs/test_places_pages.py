"""The pages of docs/places: both languages say the same, and what they show can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paddock.places.registry import PLACES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "places"
NAMES = sorted(page.stem for page in FOLDER.glob("*.md") if not page.stem.endswith(".zh-CN"))
PLACES_IN_INDEX = re.compile(r"^\| \[.+?\]\((.+?)\.md\) \| (.+?) \|", re.MULTILINE)


def read(name: str, end: str = ".md") -> str:
    return (FOLDER / f"{name}{end}").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_dates_and_names_of_code(name: str) -> None:
    english, chinese = (
        set(re.findall(r"`[^`]+`|20\d\d-\d\d(?:-\d\d)?", read(name, end))) for end in (".md", ".zh-CN.md")
    )
    assert chinese == english


def test_no_page_is_of_one_language_alone() -> None:
    assert sorted(page.name.removesuffix(".zh-CN.md") for page in FOLDER.glob("*.zh-CN.md")) == NAMES


@pytest.mark.parametrize("end", [".md", ".zh-CN.md"])
def test_the_index_has_each_page_and_each_place_of_render(end: str) -> None:
    """A place that `paddock render` gains has to be told by its row."""
    rows = {page.removesuffix(".zh-CN"): to for page, to in PLACES_IN_INDEX.findall(read("README", end))}
    assert sorted(rows) == [name for name in NAMES if name != "README"]
    assert {name for to in rows.values() for name in re.findall("`([^`]+)`", to)} == set(PLACES)


@pytest.mark.parametrize("place", PLACES.values(), ids=lambda place: place.name)
def test_each_place_of_render_has_its_page(place: object) -> None:
    assert getattr(place, "page", "") in NAMES


@pytest.mark.parametrize(("readme", "index"), [("README.md", "README.md"), ("README.zh-CN.md", "README.zh-CN.md")])
def test_the_index_is_listed_where_a_reader_looks(readme: str, index: str) -> None:
    assert f"(docs/places/{index})" in (ROOT / readme).read_text(encoding="utf-8")
