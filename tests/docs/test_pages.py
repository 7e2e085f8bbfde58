"""Every page of the documentation: its links lead somewhere, its commands exist, both languages say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from manual.markup import find_anchors, find_headings, find_links
from manual.pages import CHINESE, find_base, list_pages, resolve

from docs.calls import resolve as resolve_call
from docs.page import read_calls
from paddock.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[2]
DOCS = {
    str(path.relative_to(ROOT / "docs")): path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")
}
BESIDE = ("README.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = {
    **{f"docs/{path}": text for path, text in DOCS.items()},
    **{name: (ROOT / name).read_text() for name in BESIDE},
}
PAIRS = [base for base in list_pages(PAGES) if f"{base}{CHINESE}" in PAGES]

PLACEHOLDERS = frozenset({"VERB", "…", "..."})
"""In the place of a verb: the page speaks of all."""


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def list_faults(path: str, text: str) -> Iterator[str]:
    for link in find_links(text):
        target = resolve(path, link.path, {})
        place = f"{path}:{link.line}: {link.target}"
        if link.is_outside:
            if not link.target.startswith("https://"):
                yield f"{place}: not https"
        elif not (ROOT / target).exists():
            yield f"{place}: there is no such file"
        elif link.anchor and link.anchor not in find_anchors(text if target == path else read(target)):
            yield f"{place}: the page has no such heading"


@pytest.mark.parametrize("path", sorted(PAGES))
def test_every_link_leads_to_a_file_and_a_heading(path: str) -> None:
    assert list(list_faults(path, PAGES[path])) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = (
        "# A\n[a](#a) [b](#b) [c](none.md) [d](README.md#none)\n\n    [e](none.md)\n\n`[f](none.md)` [g](http://x.y)\n"
    )
    assert [fault.partition(": ")[2] for fault in list_faults("README.md", text)] == [
        "#b: the page has no such heading",
        "none.md: there is no such file",
        "README.md#none: the page has no such heading",
        "http://x.y: not https",
    ]


def list_typed(text: str) -> Iterator[str]:
    """What a page shows as typed: lines of commands in blocks, and code within a sentence that begins with paddock."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield from re.sub(r"\s*\\\n\s*", " ", block).splitlines()
    yield from (
        line.strip() for line in re.findall(r"^ {4,}(?:\$ )?((?:[A-Z_]+=\S+ )?paddock .*)$", text, re.MULTILINE)
    )
    spans = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (" ".join(span.split()) for span in re.findall(r"(?<!`)`(paddock [^`]+)`(?!`)", spans))


def read_typed(line: str) -> list[list[str]]:
    """The calls of a line, without the words behind two spaces that say what it does, and without …"""
    said = re.sub(r"\s{2,}\S.*$|\s+#\s.*$", "", line.strip())
    try:
        return [[word for word in call if word != "…"] for call in read_calls(said)]
    except ValueError:  # a quote that is not closed, as in a sentence that is cut
        return []


TYPED = sorted({(path, line) for path, text in PAGES.items() for line in list_typed(text)})
NOT_COMMANDS = {
    "ps": "a word of another tool, which is answered with the right one",
    "stop": "a word of another tool, which is answered with the right one",
}


def find_wrong(line: str) -> Iterator[str]:
    """The calls of a line that Paddock would refuse, with its reason. A sentence may name an option without its value,
    as the last word."""
    for call in read_typed(line):
        if not call or call[0] in {*PLACEHOLDERS, *NOT_COMMANDS, "help"} or "--help" in call:
            continue
        try:
            resolve_call(call)
        except click.UsageError as error:
            if not (isinstance(error, click.BadOptionUsage) and error.option_name == call[-1]):
                yield f"paddock {' '.join(call)}: {error.format_message()}"


def test_every_command_of_every_page_exists() -> None:
    assert len(TYPED) > 400
    assert [(path, fault) for path, line in TYPED for fault in find_wrong(line)] == []


@pytest.mark.parametrize(
    "line",
    ["paddock rum x", "paddock run --rnak 0 x", "A=1 paddock env lst", "cd x && paddock get --no-such  a comment"],
)
def test_a_command_that_there_is_not_is_found(line: str) -> None:
    assert list(find_wrong(line))


def test_what_is_no_command_is_still_none() -> None:
    assert NOT_COMMANDS.keys() & VERBS.keys() == set()


def outline(text: str) -> tuple[list[int], list[str], list[int]]:
    """What is the same in each language: levels of headings, commands in blocks without comments, columns of each row.
    A drawing has words of its language."""
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    fenced = [line for language, block in fence.findall(text) if language == "sh" for line in block.splitlines()]
    indented = re.findall(r"^(?: {4}| {6})(\S.*)$", fence.sub("", text), re.MULTILINE)
    commands = [re.sub(r"\s{2,}\S.*$|\s+#.*$", "", line).strip() for line in [*fenced, *indented]]
    levels, rows = [level for level, _ in find_headings(text)], re.findall(r"^\|.*", text, re.MULTILINE)
    return levels, [line for line in commands if line and "─" not in line], [row.count("|") for row in rows]


@pytest.mark.parametrize("base", PAIRS)
def test_both_languages_have_the_same_headings_commands_and_rows(base: str) -> None:
    english, chinese = outline(PAGES[f"{base}.md"]), outline(PAGES[f"{base}{CHINESE}"])
    assert chinese == english


@pytest.mark.parametrize("base", PAIRS)
def test_each_page_of_two_languages_links_to_the_other(base: str) -> None:
    for path, other in ((f"{base}.md", f"{base}{CHINESE}"), (f"{base}{CHINESE}", f"{base}.md")):
        targets = {resolve(path, link.path, {}) for link in find_links(PAGES[path]) if link.path}
        assert other in targets, path


@pytest.mark.parametrize("path", sorted(path for path in PAGES if path.endswith(CHINESE)))
def test_a_chinese_page_leads_to_chinese_pages_where_there_are_some(path: str) -> None:
    """But for the link to its own English."""
    targets = {resolve(path, link.path, {}) for link in find_links(PAGES[path]) if link.path.endswith(".md")}
    english = {target for target in targets if find_base(target) in PAIRS and not target.endswith(CHINESE)}
    assert english - {f"{find_base(path)}.md"} == set()


def test_every_page_is_in_the_index_or_in_that_of_its_folder() -> None:
    """`make reference` writes the index; a page without a section comes last there."""
    for end in (".md", CHINESE):
        reached, waiting = set(), [f"README{end}"]
        while waiting:
            path = waiting.pop()
            reached.add(find_base(path))
            targets = (resolve(path, link.path, DOCS) for link in find_links(DOCS[path]) if link.path)
            indexes = (target for target in targets if target in DOCS and find_base(target) not in reached)
            for target in indexes:
                reached.add(find_base(target))
                if find_base(target).endswith("README"):
                    waiting.append(target)
        assert set(list_pages(DOCS)) - reached == set()
