"""A page of the documentation as a test reads it: files to write, commands to run, and what they print. Pure.

    <!-- file: train.py -->        the fenced block below it is this file
    ```sh                          commands, in one shell
    ```text                        what the commands above it print: these lines, in this order; … stands for anything
    <!-- exit: 1 -->               the exit code of the commands below, where it is not 0
    <!-- not run: a reason -->     the commands below need what a test has not

Any other fenced block is for the reader alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MARK = re.compile(r"<!-- (file|exit|not run): (.+?) -->")


@dataclass(frozen=True, slots=True)
class Step:
    """A file to write (`file` is its name) or commands to run. `line`: of the page, where its block begins."""

    line: int
    text: str
    file: str = ""
    exit_code: int = 0
    not_run: str = ""
    prints: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands without their comments, one a line."""
        if self.file:
            return ()
        lines = self.text.replace("\\\n", " ").splitlines()
        return tuple(" ".join(said) for line in lines if (said := _words(line)))


def read_page(text: str) -> tuple[Step, ...]:
    """The steps of a page, in its order. Raises `ValueError` for a fence that is not closed and for a mark or an output
    that belongs to no commands."""
    steps: list[Step] = []
    marks: dict[str, str] = {}
    for line, language, content in _blocks(text):
        if language == "mark":
            name, value = content.split(": ", 1)
            marks[name] = value
        elif language == "text" and not marks and steps and not steps[-1].file and not steps[-1].prints:
            last = steps.pop()
            steps.append(Step(last.line, last.text, "", last.exit_code, last.not_run, tuple(content.splitlines())))
        elif language == "sh" or "file" in marks:
            steps.append(_build_step(line, content, marks))
            marks = {}
    if marks:
        raise ValueError(f"these marks stand before no block: {marks}")
    return tuple(steps)


def _build_step(line: int, content: str, marks: dict[str, str]) -> Step:
    return Step(line, content, marks.get("file", ""), int(marks.get("exit", 0)), marks.get("not run", ""))


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, language and content of each fenced block; a mark has the language `mark`."""
    begun, language, kept = 0, "", []
    for number, line in enumerate(text.splitlines(), 1):
        if begun and line.strip() == "```":
            yield begun, language, "\n".join(kept) + "\n"
            begun = 0
        elif begun:
            kept.append(line)
        elif line.startswith("```"):
            begun, language, kept = number, line[3:].strip(), []
        elif mark := _MARK.search(line):
            yield number, "mark", f"{mark[1]}: {mark[2]}"
    if begun:
        raise ValueError(f"line {begun}: the fence is not closed")


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def read_calls(command: str) -> Iterator[list[str]]:
    """The arguments of each `paddock` in a line of shell, as the shell gives them."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    call: list[str] | None = None
    for word in lexer:
        if word == "paddock":
            call = []
        elif call is not None and set(word) <= set("|&;()<>"):
            yield call
            call = None
        elif call is not None:
            call.append(word)
    if call is not None:
        yield call


def find_missing(expected: Sequence[str], printed: str) -> str:
    """The first expected line that was not printed after the ones before it; empty if all were."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    for each in expected:
        wanted = re.compile(".*".join(re.escape(part) for part in each.rstrip().split("…")))
        if not any(wanted.fullmatch(line) for line in lines):
            return each
    return ""
