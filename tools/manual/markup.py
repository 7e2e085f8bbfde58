"""Links and headings of a page of Markdown, as a plain web view of the repository reads them. Pure.

What stands in a fenced block, in an indented one or between backticks is no link and no heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_CODE = re.compile(
    r"^```.*?^```[^\n]*$|(?<=\n\n)(?: {4}[^\n]*\n?)+|(`+)(?!`).+?(?<!`)\1(?!`)", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.+?)\s*$", re.MULTILINE)
_HIDDEN = "\x00"


@dataclass(frozen=True, slots=True)
class Link:
    """`[label](target)`, or a picture. `line`: of the page, from 1."""

    label: str
    target: str
    line: int
    is_picture: bool = False

    @property
    def is_outside(self) -> bool:
        return "://" in self.target or self.target.startswith("mailto:")

    @property
    def path(self) -> str:
        return self.target.partition("#")[0]

    @property
    def anchor(self) -> str:
        return self.target.partition("#")[2]


def find_links(text: str) -> Iterator[Link]:
    """The links of a page, in its order; also around code, as in `[`get`](x.md)`."""
    hidden = _hide(text)
    for match in _LINK.finditer(hidden):
        label = text[match.start(2) : match.end(2)]
        yield Link(label, match[3], hidden.count("\n", 0, match.start()) + 1, bool(match[1]))


def change_links(text: str, change: Callable[[Link], str]) -> str:
    """The page with each link replaced by what `change` says."""
    parts, last, hidden = [], 0, _hide(text)
    for match, link in zip(_LINK.finditer(hidden), find_links(text), strict=True):
        parts += [text[last : match.start()], change(link)]
        last = match.end()
    return "".join([*parts, text[last:]])


def change_prose(text: str, change: Callable[[str], str]) -> str:
    """The page with what is no code replaced by what `change` says."""
    parts, last = [], 0
    for match in _CODE.finditer(text):
        parts += [change(text[last : match.start()]), match[0]]
        last = match.end()
    return "".join([*parts, change(text[last:])])


def find_headings(text: str) -> Iterator[tuple[int, str]]:
    """Level and text of each heading."""
    hidden = _hide(text, spans=False)
    for match in _HEADING.finditer(hidden):
        yield len(match[1]), match[2]


def find_anchors(text: str) -> list[str]:
    """What `#…` may name, in the order of the headings."""
    seen: dict[str, int] = {}
    anchors = []
    for _, heading in find_headings(text):
        slug = make_slug(heading)
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        anchors.append(f"{slug}-{number}" if number else slug)
    return anchors


def make_slug(heading: str) -> str:
    """As web views of repositories and MyST make it: small letters, no punctuation, a dash for each space."""
    plain = _LINK.sub(r"\2", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def read_title(text: str) -> str:
    return next((heading for level, heading in find_headings(text) if level == 1), "")


def _hide(text: str, *, spans: bool = True) -> str:
    """The page of the same length, without its code. `spans`: also what stands between backticks in a line."""

    def hide(match: re.Match[str]) -> str:
        if match[1] and not spans:
            return match[0]
        return re.sub(r"[^\n]", _HIDDEN, match[0])

    return _CODE.sub(hide, text)
