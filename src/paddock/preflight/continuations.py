"""Commands of several lines in the text of a shell that end before their last line. Pure.

A backslash joins two lines where it is the last letter of the first one. Before a blank it makes that a part of a word,
in a comment it is a letter of the comment; and a comment or an empty line behind it ends the command (bash(1), QUOTING
and COMMENTS). What follows is a command of its own then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from paddock.launches.budget import Budget, Spent
from paddock.launches.grammar import Source
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from tree_sitter import Node

_BEFORE_BLANKS = re.compile(rb"(?<!\\)(?:\\\\)*(\\)(?:(?:[ \t]|\xc2\xa0|\xe3\x80\x80)+$|[ \t]{2,}#|(?<=[ \t]\\)[ \t]#)")
"""Its backslash stands before the blanks at the end of a line, or before a comment; `a\\ #b` is a word.
Blanks are also those of web pages (U+00A0) and of Chinese keyboards (U+3000)."""
_LAST = re.compile(rb"(?<!\\)(?:\\\\)*(\\)$")
_TEXTS = frozenset({
    "string", "raw_string", "ansi_c_string", "translated_string", "heredoc_body", "comment", "regex", "array", "ERROR",
})  # fmt: skip
"""Nodes in which a backslash is a letter, or the end of a line ends no command."""
_COMMANDS = frozenset({"command_substitution", "process_substitution"})
"""Nodes in a text that are commands again."""
_MOST_ROWS = 500
_MOST_LEVELS = 200
"""Of nodes around a backslash."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Where a command ends before its last line. Lines are from 1."""

    line: int
    """The one to be changed."""
    first: int
    """The one in which the command begins."""
    following: int
    """The one in which the next command begins; one behind the last line where there is none."""
    said: Phrase


def find_endings(text: str) -> Iterator[Ending]:
    """In the order of their lines. None for a text that is too long to be read, and where the grammar finds an error.
    Of comments and empty lines, only those behind which an option or a line with more blanks before it stands: others
    end a command that has ended."""
    plain = text.replace("\r\n", "\n")
    lines = plain.encode("utf-8", "replace").split(b"\n")
    rows = list(islice((row for row in range(len(lines)) if _may_end(lines, row)), _MOST_ROWS))
    if not rows:
        return
    try:
        source = Source(plain, 0, Budget())
    except Spent:
        return
    all_first, all_following = _list_first(lines), _list_following(lines)
    for row in rows:
        first, following = all_first[row], all_following[row]
        if (found := _explain(source.root, lines, row, first, following)) is not None:
            line, said = found
            yield Ending(line + 1, first + 1, following + 1, said)


def _may_end(lines: Sequence[bytes], row: int) -> bool:
    line = lines[row]
    if b"\\" not in line:
        return False
    following = lines[row + 1].strip() if row + 1 < len(lines) else b"-"
    is_last = line.endswith(b"\\") and (b"#" in line or not following or following.startswith(b"#"))
    return is_last or _BEFORE_BLANKS.search(line) is not None


def _explain(root: Node, lines: Sequence[bytes], row: int, first: int, following: int) -> tuple[int, Phrase] | None:
    """The row to be changed, and what is wrong there."""
    belongs = _belongs(lines, first, following)
    if (blank := _BEFORE_BLANKS.search(lines[row])) is not None:
        stands_alone = lines[row][: blank.start(1)][-1:] in (b" ", b"\t", b"")
        if not _is_code(_list_around(root, row, blank.start(1))) or not (belongs or stands_alone):
            return None
        return row, _explain_blank(row + 1, goes_on=following == row + 1, has_comment=blank[0].endswith(b"#"))
    last = _LAST.search(lines[row])
    if last is None or not belongs:
        return None
    around = _list_around(root, row, last.start(1))
    if around[-1].type == "comment" and lines[row][: around[-1].start_point.column].strip():
        return row, phrase(
            "the backslash in line {line} stands in a comment: the command ends there, and what follows is another "
            "one; put the comment above the command, or leave it out",
            line=row + 1,
        )  # fmt: skip
    if following == row + 1 or not _is_code(around):
        return None
    if lines[row + 1].strip():
        return row + 1, phrase(
            "the comment in line {line} ends the command that begins in line {first}, and what follows is another one; "
            "put the comment above the command, or leave it out",
            line=row + 2, first=first + 1,
        )  # fmt: skip
    return row + 1, phrase(
        "line {line} is empty, and ends the command that begins in line {first}: what follows is another one; leave "
        "the line out",
        line=row + 2, first=first + 1,
    )  # fmt: skip


def _explain_blank(line: int, *, goes_on: bool, has_comment: bool) -> Phrase:
    if not goes_on:
        return phrase(
            "the backslash in line {line} is not the last letter of the line: the blank behind it becomes a part of a "
            "word; leave the backslash out",
            line=line,
        )  # fmt: skip
    if has_comment:
        return phrase(
            "the backslash in line {line} is not the last letter of the line: the command ends there, and what follows "
            "is another one; put the comment above the command, or leave it out",
            line=line,
        )  # fmt: skip
    return phrase(
        "the backslash in line {line} is not the last letter of the line: the command ends there, and what follows is "
        "another one; leave out the blanks behind it",
        line=line,
    )  # fmt: skip


def _list_first(lines: Sequence[bytes]) -> list[int]:
    """For each row, the one in which its command begins: rows before it end with a backslash, and are no comment."""
    found: list[int] = []
    for row, line in enumerate(lines):
        before = lines[row - 1] if row else b""
        goes_on = before.endswith(b"\\") and not before.lstrip().startswith(b"#") and _LAST.search(before) is not None
        found.append(found[-1] if goes_on and line.strip() else row)
    return found


def _list_following(lines: Sequence[bytes]) -> list[int]:
    """For each row, the next one with a command, behind comments and empty lines; the end where there is none."""
    found = [len(lines)] * len(lines)
    for row in range(len(lines) - 2, -1, -1):
        line = lines[row + 1].strip()
        found[row] = found[row + 1] if not line or line.startswith(b"#") else row + 1
    return found


def _belongs(lines: Sequence[bytes], first: int, following: int) -> bool:
    """Whether the next command looks like a part of this one: an option, or more blanks before it."""
    if following >= len(lines):
        return False
    return lines[following].lstrip().startswith(b"-") or _indent(lines[following]) > _indent(lines[first])


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _is_code(nodes: Sequence[Node]) -> bool:
    """Whether a place is in a command, and in no text of it. `nodes`: around it, from the outermost."""
    deciding = [node.type for node in nodes if node.type in _TEXTS or node.type in _COMMANDS]
    return not deciding or deciding[-1] in _COMMANDS


def _list_around(root: Node, row: int, column: int) -> list[Node]:
    """The nodes in which a place is, from the outermost. By a cursor: from a node, each parent costs a whole way."""
    cursor, place = root.walk(), (row, column)
    found = [root]
    while len(found) < _MOST_LEVELS and cursor.goto_first_child_for_point(place) is not None:
        node = cursor.node
        if node is None or not node.start_point <= place < node.end_point:
            break
        found.append(node)
    return found
