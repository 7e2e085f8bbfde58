"""As what a shell surely ends, where that is not the program that trains: `| tee log`, `echo done`. Pure.

A shell ends as its last statement. What may look at the end of a program before (`set -e`, `$?`, `trap`, `exit 1`)
makes it unsure, and nothing is said: also a function, or a file that is read by `source`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.launches.grammar import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_PROGRAM = r"(python|\.py\b|\.sh\b|run\b|launch|accelerate|deepspeed)"
_TRAINS = re.compile(_PROGRAM)
"""What a statement has that may train."""
_SUCCEEDS = re.compile(r"(echo|printf|date)\b(?![^\n]*(\$\(|`))[^\n;&|]*|:|true|wait|exit +0")
"""Whole statements that end with 0, whatever was before."""
_ERREXIT = re.compile(r"\bset [^\n;&|]*-\w*e|errexit|\btrap\b|^#![^\n]* -\w*e", re.MULTILINE)
_JUDGES = re.compile(
    r"\b(return|exec)\b|\bexit\b(?! *(0\b|$))|\$\{?\?|PIPESTATUS|pipestatus"
    rf"|\b(if|while|until)\b[^\n;]*{_PROGRAM}|{_PROGRAM}[^\n]*(&&|\|\|)",
    re.MULTILINE,
)
"""What may look at the end of a program."""
_PIPEFAIL = re.compile(r"pipefail|PIPESTATUS|pipestatus|\btrap\b")
_ENDS = re.compile(r"\b(exit|return)\b|\|\|")
"""What a function has that may end the shell, or itself, where the program failed."""
_CALLED = re.compile(r"[^\s;&|(){}\"'`$]+")
UNKNOWN = "set -e -o pipefail"
"""What a file may do that is read by `source` and not known."""
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a text by itself, and the places of its commands among all."""

    node: Node
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class Hiding:
    """The commands at these places do not make the end of their shell."""

    begun: int
    ended: int
    by: str = ""
    """The statement as which the shell ends; empty where each ends as what it is piped into."""


def find_hiding(
    source: Source, statements: Sequence[Statement], options: str, sourced: Sequence[str], functions: Mapping[str, str]
) -> Hiding | None:
    """`statements`: those of a whole text, as far as it was run; `options`: those of its shell, as typed; `sourced`:
    the texts of files that it reads by `source`; `functions`: the bodies by their names."""
    ran = [each for each in statements if each.node.type not in ("comment", "function_definition")]
    if ran and source.of(ran[-1].node).strip() == "exit":  # as what stands before
        ran.pop()
    first = next((each for each in ran if _TRAINS.search(source.of(each.node))), None)
    if first is None:
        return None
    last = source.of(ran[-1].node).strip()
    whole = "\n".join([f"set {options}", *sourced, source.of(source.root)])
    behind = source.text(first.node.start_byte, ran[-1].node.end_byte)
    is_sure = _SUCCEEDS.fullmatch(last) is not None and _JUDGES.search(behind) is None
    is_sure = is_sure and not _may_end_early(behind, functions)
    if is_sure and not _ERREXIT.search(whole):
        return Hiding(first.begun, ran[-1].ended, last if len(last) <= _SHOWN else f"{last[:_SHOWN]}…")
    if _PIPEFAIL.search(whole):
        return None
    return Hiding(first.begun if is_sure else ran[-1].begun, ran[-1].ended)


def _may_end_early(text: str, functions: Mapping[str, str]) -> bool:
    """Whether a function that the text calls, or that another function may call, has a say."""
    called = {name for each in (text, *functions.values()) for name in _CALLED.findall(each)}
    return any(name in called and _ENDS.search(body) for name, body in functions.items())
