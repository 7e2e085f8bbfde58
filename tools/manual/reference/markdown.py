"""Markdown as the pages of the reference use it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"(?<!`)([*<>|\[\]])")
_OPTION = re.compile(r"(?<![\w`/-])(--[a-z][a-z-]*[a-z])(?![\w`=-])")


def code(text: str) -> str:
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def cell(text: str) -> str:
    """A text for a row of a table: one line, whose bars are no borders."""
    return " ".join(text.split()).replace("|", "\\|")


def prose(text: str) -> str:
    """A text of the code as Markdown: signs that Markdown reads are escaped, and options are code. What stands between
    backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _OPTION.sub(r"`\1`", _escape(part)) for part in parts)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are Markdown already."""
    lines = [f"| {' | '.join(map(_border, each))} |" for each in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))


def _border(text: str) -> str:
    """`text` as a cell. A bar that `prose` has escaped already is left."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def join(parts: Iterable[str]) -> str:
    """Blocks with an empty line between them, as a whole file."""
    return "\n\n".join(part for part in parts if part) + "\n"
