"""Whether a shell stays in front of the program that it has started. Pure.

In a container the first process alone gets SIGTERM. A shell that is the first one ignores it, as process 1 without a
handler does, and passes nothing on: the program hears nothing, and is killed with the container. A shell that has
nothing left to do becomes its last program, in bash by itself and in others too; so one stays for sure only where
something follows, or a pipe or a loop is around the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddock.launches.budget import LARGEST_COMMAND
from paddock.launches.containers import read_kept
from paddock.launches.launch import Launch
from paddock.launches.parser import parse
from paddock.launches.programs import Kind, read_program
from paddock.launches.reading import find_main, list_arguments, read_script

if TYPE_CHECKING:
    from tree_sitter import Node

_KNOWN = frozenset({
    ":", "[", "cat", "cp", "date", "echo", "exit", "false", "ls", "mv", "printf", "rm", "rsync", "sleep", "sync",
    "tail", "tee", "test", "touch", "true", "wait",
})  # fmt: skip
"""What stands behind a program that trains, and is none itself."""
_AROUND = frozenset({"pipeline", "if_statement", "while_statement", "for_statement", "c_style_for_statement"})
"""Statements of which a shell waits for the end."""
_PASSES_ON = re.compile(r"\b(?:trap|exec|eval|source)\b")
"""Words with which a script may do what this module does not follow."""


def find_shielded(container: Mapping[str, Any]) -> Launch | None:
    """The program that trains and never hears of the container's end, as a shell of its command stays in front of it.
    None for any other, and where that is not known: a script in a file, a `trap`, functions."""
    words = list_arguments(container)
    program = read_program(words) if words else None
    text = (program.word.text or "") if program is not None and program.kind is Kind.SHELL else ""
    reading = read_kept(container) if text and len(text) <= LARGEST_COMMAND else None
    if reading is None or not reading.whole or reading.unread or _PASSES_ON.search(text):
        return None
    main = find_main(reading)
    if main.elsewhere or not (main.launcher is not None or main.program.python):
        return None
    root = parse(text.encode())
    if root is None or root.has_error or any(each.type == "function_definition" for each in root.named_children):
        return None
    return main if _goes_on(_find_last(root), main) else None


def _find_last(node: Node) -> Node:
    """The statement that a shell runs last: the right side of `a && b`, and `a` of `a > log`."""
    while node.type in ("program", "list", "redirected_statement"):
        inner = [each for each in node.named_children if each.type != "comment"]
        if not inner:
            return node
        node = inner[0 if node.type == "redirected_statement" else -1]
    return node


def _goes_on(last: Node, main: Launch) -> bool:
    text = (last.text or b"").decode(errors="replace")
    typed = [word.typed for word in main.command.words]
    if any([word.typed for word in each.command.words] == typed for each in read_script(text).launches):
        return last.type in _AROUND
    return last.type == "command" and text.split(maxsplit=1)[0] in _KNOWN
