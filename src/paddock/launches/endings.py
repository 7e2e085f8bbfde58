"""As what a shell surely ends, where that is not the program that trains: `| tee log`, `echo done`. Pure.

A shell ends as its last statement. What may look at the end of a program before (`set -e`, `$?`, `trap`, `exit 1`)
makes it unsure, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def find_hiding(source: Source, statements: Sequence[Statement], options: str) -> Hiding | None:
    """`statements`: those of a whole text, as far as it was run; `options`: those of its shell, as typed."""
    ran = [each for each in statements if each.node.type not in ("comment", "function_definition")]
    if ran and source.of(ran[-1].node).strip() == "exit":  # as what stands before
        ran.pop()
    first = next((each for each in ran if _TRAINS.search(source.of(each.node))), None)
    if first is None:
        return None
    last = source.of(ran[-1].node).strip()
    whole = f"set {options}\n{source.of(source.root)}"
    behind = source.text(first.node.start_byte, ran[-1].node.end_byte)
    is_sure = _SUCCEEDS.fullmatch(last) is not None and _JUDGES.search(behind) is None
    if is_sure and not _ERREXIT.search(whole):
        return Hiding(first.begun, ran[-1].ended, last if len(last) <= _SHOWN else f"{last[:_SHOWN]}…")
    if _PIPEFAIL.search(whole):
        return None
    return Hiding(first.begun if is_sure else ran[-1].begun, ran[-1].ended)
