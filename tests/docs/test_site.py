"""The site of `make docs`: how a page comes to it; and that in the one that is built every link works offline."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import docs_site
import pytest
from manual.markup import change_links, find_anchors, find_links, make_slug
from manual.site.pairs import cut
from manual.site.stage import join_chinese, list_translated, stage

TEXTS = {
    "README.md": "# All\n\n## Begin\n\n- [A](a.md)\n\n## Places\n\n- [P](places/README.md)\n- [W](web.md)\n",
    "README.zh-CN.md": "# 全部\n\n## 开始\n\n- [甲](a.zh-CN.md)\n\n## 平台\n\n- [P](places/README.md)\n- [W](web.md)\n",
    "a.md": "# A\n\n[中文](a.zh-CN.md) [web](web.md#two-words) ![p](images/p.png)\n\n## One\n",
    "a.zh-CN.md": "# 甲\n\n[English](a.md) [web](web.md#two-words)，第一\n行 [自己](#一)\n\n## 一\n",
    "web.md": "# Web\n\n## Two words\n\n[one](a.md#one) [none](a.md#none) [x](../examples/x.py)\n",
    "places/README.md": "# Places\n\n[ack](ack.md) [up](../a.md) `[no](ack.md)`\n",
    "places/ack.md": "# ACK\n\n[index](README.md) [中](ack.zh-CN.md) [folder](../places/)\n",
    "places/ack.zh-CN.md": "# 阿里云\n\n[英](ack.md)\n",
}
ENGLISH, CHINESE = stage(TEXTS, "en"), stage(TEXTS, "zh")


def test_both_sites_have_every_page_by_one_name() -> None:
    assert set(ENGLISH) == set(CHINESE) == {"index.md", "a.md", "web.md", "places/index.md", "places/ack.md"}
    assert list_translated(TEXTS) == ["index", "a", "places/ack"]


@pytest.mark.parametrize(
    ("site", "page", "has"),
    [
        (ENGLISH, "a.md", '<a href="../zh/a.html">中文</a> [web](web.md#two-words) ![p](images/p.png)'),
        (CHINESE, "a.md", '<a href="../en/a.html">English</a> [web](web.md#two-words)'),
        (ENGLISH, "places/ack.md", '[index](index.md) <a href="../../zh/places/ack.html">中</a> [folder](index.md)'),
        (CHINESE, "places/ack.md", '<a href="../../en/places/ack.html">英</a>'),
        (ENGLISH, "places/index.md", "[ack](ack.md) [up](../a.md) `[no](ack.md)`"),
        (CHINESE, "places/index.md", "[ack](ack.md) [up](../a.md)"),
        (ENGLISH, "web.md", "[one](a.md#one) [none](a.md#none)"),
        (ENGLISH, "web.md", "(https://github.com/paddock/paddock/blob/main/examples/x.py)"),
    ],
)
def test_links_stay_in_the_site_of_their_language_or_lead_to_the_other(
    site: dict[str, str], page: str, has: str
) -> None:
    assert has in site[page]


def test_a_page_without_chinese_is_there_in_english_and_says_so() -> None:
    assert CHINESE["web.md"].startswith("# Web\n\n*本页只有英文。*\n")
    assert "[one](a.md#一) [none](a.md) " in CHINESE["web.md"], "the heading of the same number, or none"


def test_the_index_gives_the_contents_by_section_and_each_folder_its_own() -> None:
    assert "```{toctree}\n:caption: Begin\n:hidden:\n\na\n```" in ENGLISH["index.md"]
    assert "```{toctree}\n:caption: 平台\n:hidden:\n\nplaces/index\nweb\n```" in CHINESE["index.md"]
    assert ENGLISH["places/index.md"].endswith("```{toctree}\n:hidden:\n\nack\n```")


def test_lines_of_chinese_are_joined_and_others_are_not() -> None:
    assert "，第一行 [自己](#一)" in CHINESE["a.md"]
    assert join_chinese("一，\n二 a\nb\n三\n- 四\n\n五") == "一，二 a\nb\n三\n- 四\n\n五"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](b) ![c](d#e)", ["b", "d#e"]),
        ("`[a](b)` and ``[c](d)``", []),
        ("```sh\n[a](b)\n```\n[c](d)", ["d"]),
        ("text\n\n    [a](b)\n\n[c](d)", ["d"]),
        ("[`a`](b) [two\nlines](c) [[x]](y)", ["b", "c", "y"]),
        ("a `tick [b](c)", ["c"]),
    ],
)
def test_links_are_what_is_no_code(text: str, links: list[str]) -> None:
    assert [link.target for link in find_links(text)] == links
    assert change_links(text, lambda link: f"{'!' if link.is_picture else ''}[{link.label}]({link.target})") == text


def test_anchors_are_those_of_a_plain_web_view() -> None:
    text = "# A `b`, c-d!\n```\n# no\n```\n## [Link](x)\n## Link\n## 两 个\n"
    assert find_anchors(text) == ["a-b-c-d", "link", "link-1", "两-个"]
    assert make_slug("`spec.<NAME>` of it_1") == "specname-of-it_1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("参数服务器", ["参数", "数服", "服务", "务器"]),
        ("恢复 job-1，再 run", ["恢复", "job", "1", "再", "run"]),
        ("", []),
    ],
)
def test_chinese_is_searched_by_pairs(text: str, words: list[str]) -> None:
    assert cut(text) == words


# The site that is built


CODE = ("code", "pre", "script", "style")


@dataclass
class Page(HTMLParser):
    """What one HTML file refers to, and what can be referred to in it."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    within: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attrs if value}
        if tag in CODE:
            self.within.append(tag)
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link" and said.get("rel") not in ("canonical", "next", "prev", "index", "search"):
            self.loaded.append(said.get("href", ""))
        elif tag in ("script", "img", "iframe", "source", "video", "object") and (said.get("src") or said.get("data")):
            self.loaded.append(said.get("src") or said["data"])

    def handle_endtag(self, tag: str) -> None:
        if self.within and self.within[-1] == tag:
            self.within.pop()

    def handle_data(self, data: str) -> None:
        if not self.within:
            self.text.append(data)


def read_page(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@pytest.fixture(scope="module")
def site() -> dict[Path, Page]:
    if not docs_site.is_built():
        pytest.skip("`make docs` has not built the site of these pages")
    return {path: read_page(path) for path in docs_site.SITE.rglob("*.html")}


def find_target(link: str, path: Path) -> str:
    """The file that a link of a page names."""
    parts = urlsplit(link)
    return os.path.normpath(path.parent / unquote(parts.path)) if parts.path else str(path)


def list_broken(site: dict[Path, Page]) -> Iterator[str]:
    files = {str(path) for path in docs_site.SITE.rglob("*") if path.is_file()}
    ids = {str(path): page.ids for path, page in site.items()}
    for path, page in site.items():
        for link in {*page.links, *page.loaded} - {"#"}:
            target, anchor = find_target(link, path), unquote(urlsplit(link).fragment)
            is_there = target in files and (not anchor or target not in ids or anchor in ids[target])
            if not urlsplit(link).scheme and not is_there:
                yield f"{path.relative_to(docs_site.SITE)}: {link}"


def test_no_link_of_the_site_is_broken(site: dict[Path, Page]) -> None:
    assert len(site) > 100
    assert list(list_broken(site)) == []


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    outside = {link for page in site.values() for link in page.loaded if urlsplit(link).scheme or link.startswith("//")}
    assert {link for link in outside if not link.startswith("data:")} == set()
    styles = [path.read_text(encoding="utf-8") for path in docs_site.SITE.rglob("*.css")]
    assert len(styles) > 4
    assert [text for text in styles if "@import" in text or "url(http" in text or "url(//" in text] == []


def test_no_markdown_is_left_in_the_text(site: dict[Path, Page]) -> None:
    """As of bold Chinese whose end CommonMark does not see, between a full stop and a letter."""
    texts = {path.name: "".join(page.text) for path, page in site.items()}
    assert sum(map(len, texts.values())) > 300_000
    assert [name for name, text in texts.items() if "**" in text or "](" in text or "```" in text] == []


def test_every_page_links_to_the_other_language_where_it_has_one(site: dict[Path, Page]) -> None:
    pages = list_translated(docs_site.read_texts())
    assert len(pages) > 20
    for code, other in (("en", "zh"), ("zh", "en")):
        for name in pages:
            path = docs_site.SITE / code / f"{name}.html"
            found = {find_target(link, path) for link in site[path].links if other in link}
            assert str(docs_site.SITE / other / f"{name}.html") in found, f"{code}/{name}"


def test_the_chinese_site_is_in_chinese_and_its_search_knows_chinese(site: dict[Path, Page]) -> None:
    page = (docs_site.SITE / "zh/start.html").read_text(encoding="utf-8")
    assert '<html class="no-js" lang="zh-CN"' in page and "搜索" in page
    index = (docs_site.SITE / "zh/searchindex.js").read_text(encoding="utf-8")
    assert "\\u670d\\u52a1" in index or "服务" in index
