"""Reads a command line: which word is the script, and what starts it. Nothing is looked up. Pure.

Python's options are those of Python 3.14 (`python --help`): `-c`, `-m`, `-W`, `-X` and `--check-hash-based-pycs` take a
value, the first two end the options. One word may have several: `-uB`, `-um train`, `-Wignore`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.jobs.reading.scripts import LAUNCHER_PROGRAMS, LAUNCHERS, SHELLS

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?t?")
_PYTHON_VALUES = frozenset({"--check-hash-based-pycs"})
_SHELL_VALUES = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})


@dataclass(frozen=True, slots=True)
class Program:
    """What a command line starts."""

    script: str = ""  # the file, as typed; empty if the command names none
    module: str = ""  # of `python -m`
    python: str = ""  # the interpreter as typed; empty without one
    flags: tuple[str, ...] = ()  # the words between the interpreter and the script, or before `-m` and `-c`
    launcher: str = ""  # the program or module that starts the script on several ranks
    code: str = ""  # of `python -c`
    reads_stdin: bool = False  # an interpreter without a program, which reads it from standard input
    executable: bool = False  # the first word is the program itself

    @property
    def name(self) -> str:
        """What a job of it is called: the file's name without its ending, the module's last part, or the program."""
        if self.script:
            base = posixpath.basename(self.script.rstrip("/"))
            return base.rpartition(".")[0] or base
        return self.module.rpartition(".")[2] or posixpath.basename(self.python)


def read_program(words: Sequence[str]) -> Program:
    """`python -u train.py --lr 0.1` -> the script train.py. `words` has at least one word."""
    first = posixpath.basename(words[0])
    if is_python(words[0]):
        return _read_python(words)
    if first in SHELLS:
        return _read_shell(words)
    if first in LAUNCHER_PROGRAMS:
        return Program(find_launched(words[1:]), launcher=first)
    return Program(words[0] if "/" in words[0] else "", executable=True)


def is_python(word: str) -> bool:
    """`python`, `python3`, `/usr/bin/python3.12`; also one named as such by mistake of a later version."""
    return _PYTHON.fullmatch(posixpath.basename(word)) is not None


def find_launched(words: Sequence[str]) -> str:
    """The script that a launcher starts: the first Python file, as no value of a launcher's option is one."""
    return next((word for word in words if word.endswith(".py") and not word.startswith("-")), "")


def _read_python(words: Sequence[str]) -> Program:
    python, index = words[0], 1
    while index < len(words):
        word = words[index]
        flags = tuple(words[1:index])
        if word == "-" or not word.startswith("-"):
            stdin = word == "-"
            return Program("" if stdin else word, python=python, flags=flags, reads_stdin=stdin)
        letter, value = _split_option(word)
        if letter in ("c", "m"):
            rest = words[index + 1 :] if value else words[index + 2 :]
            named = value or (words[index + 1] if index + 1 < len(words) else "")
            return (
                _read_module(python, flags, named, rest)
                if letter == "m"
                else Program(python=python, flags=flags, code=named)
            )
        index += 2 if (letter in ("W", "X") and not value) or word in _PYTHON_VALUES else 1
    asks = {"-h", "--help", "-V", "--version", "-VV", "--help-all", "--help-env", "--help-xoptions"}
    return Program(python=python, flags=tuple(words[1:]), reads_stdin=asks.isdisjoint(words[1:]))


def _split_option(word: str) -> tuple[str, str]:
    """The letter in `word` that takes a value, and the value if the word has it: `-um` -> m, ''; `-Wd` -> W, d."""
    if word.startswith("--"):
        return "", ""
    for place, letter in enumerate(word[1:], 1):
        if letter in "cmWX":
            return letter, word[place + 1 :]
    return "", ""


def _read_module(python: str, flags: tuple[str, ...], module: str, rest: Sequence[str]) -> Program:
    if module in LAUNCHERS:
        return Program(find_launched(rest), python=python, flags=flags, launcher=module)
    return Program(module=module, python=python, flags=flags)


def _read_shell(words: Sequence[str]) -> Program:
    index = 1
    while index < len(words):
        word = words[index]
        if word == "-" or not word.startswith(("-", "+")):
            return Program("" if word == "-" else word, reads_stdin=word == "-")
        if not word.startswith("--") and "c" in word:
            return Program()
        if not word.startswith("--") and "s" in word:
            return Program(reads_stdin=True)
        index += 2 if word in _SHELL_VALUES else 1
    return Program(reads_stdin=True)
