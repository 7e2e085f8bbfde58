"""A page of the console as text: what a reader sees of its main part, and where links and buttons lead."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_INSIDE = frozenset(
    {"a", "b", "code", "em", "i", "img", "input", "select", "small", "span", "strong", "time", "td", "th"}
)
"""What stands in a line with what is around it; all else begins one."""
_CELLS = frozenset({"td", "th"})
_SILENT = frozenset({"script", "style", "svg", "head", "template"})
_SAID = ("title", "aria-label", "data-copy", "placeholder", "alt")
"""Attributes that a reader gets to know."""
_LED = ("href", "action", "formaction", "src")


_NESTED = frozenset({"div", "details", "nav"})
_FRAME = frozenset({"tab-row"})
"""Classes of what stands on every page of a job alike."""


def _is_frame(attrs: list[tuple[str, str | None]]) -> bool:
    return not _FRAME.isdisjoint((dict(attrs).get("class") or "").split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._silent = 0
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT or (self._silent and tag in _NESTED) or _is_frame(attrs):
            self._silent += 1
        if self._silent:
            return
        self._pre += tag == "pre"
        self.parts.append(" | " if tag in _CELLS else "" if tag in _INSIDE else "\n")
        given = dict(attrs)
        told = [f"{name}={given[name]}" for name in (*_SAID, *_LED) if given.get(name)]
        if "data-copy" in given:
            told = [f"copies {given['data-copy']}"]
        if tag in ("input", "select", "textarea"):
            told += [
                f"{name}={given[name] or 'yes'}"
                for name in ("type", "name", "value", "checked", "disabled")
                if name in given
            ]
        if told:
            self.parts.append(f" <{tag} {' '.join(told)}> ")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            self._silent -= tag in _SILENT or tag in _NESTED
            return
        self._pre -= tag == "pre"
        if tag not in _INSIDE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data if self._pre else re.sub(r"\s+", " ", data))


def show_page(html: str) -> str:
    """The lines of `<main>`; of the whole page where it has none."""
    begin = html.find("<main")
    end = html.find("</main>")
    reader = _Text()
    reader.feed(html[begin:end] if 0 <= begin < end else html)
    reader.close()
    lines = ("".join(reader.parts)).split("\n")
    return "\n".join(line for each in lines if (line := re.sub(r" +", " ", each).strip()))
