"""Which word of a command is the program: the options of Python and of shells. Pure.

Python's options are those of Python 3.14 (`python --help`): `-c`, `-m`, `-W`, `-X` and `--check-hash-based-pycs` take a
value, the first two end the options. One word may have several: `-uB`, `-um train`, `-Wignore`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from paddock.launches.words import NOTHING, Word, build_word

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_PYTHON = re.compile(r"(?:i?python|pypy)(\d+(\.\d+)*)?t?")
_PYTHON_VALUES = frozenset({"--check-hash-based-pycs"})
_SHELL_VALUES = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_ASKS = frozenset({"-h", "--help", "-V", "--version", "-VV", "--help-all", "--help-env", "--help-xoptions"})


class Kind(StrEnum):
    """What a program is."""

    SCRIPT = "script"
    """A file that an interpreter reads."""
    MODULE = "module"
    CODE = "code"
    """A text in the command, or its standard input."""
    SHELL = "shell"
    """A text in the command for a shell."""
    STDIN = "stdin"
    """An interpreter without a program: it reads its standard input."""
    PROGRAM = "program"
    """A program by itself: a path, or a name that is looked up."""
    UNKNOWN = "unknown"
    """The word that would say it is filled in later."""
    NONE = "none"
    """There is none: `python --version`, a launcher with options alone."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a command starts, behind its wrappers and its launcher."""

    kind: Kind = Kind.NONE
    word: Word = NOTHING
    """The file, the module, the text or the program."""
    python: str = ""
    """The interpreter as typed; empty without one, also where a launcher starts the file."""
    flags: tuple[str, ...] = ()
    """The words between the interpreter and the program."""
    shell_name: str = ""
    """The shell that reads it; empty without one."""
    length: int = 0
    """How many words say it, from the first."""

    @property
    def script(self) -> str:
        """The path of the file, as typed; empty where it is none, or not known."""
        if self.kind is Kind.SCRIPT or (self.kind is Kind.PROGRAM and "/" in self.word.beginning):
            return self.word.text or ""
        return ""

    @property
    def module(self) -> str:
        return (self.word.text or "") if self.kind is Kind.MODULE else ""

    @property
    def name(self) -> str:
        """What a job of it is called: the file's name without its ending, the module's last part, or the program."""
        if self.kind in (Kind.CODE, Kind.SHELL, Kind.STDIN, Kind.NONE):
            return posixpath.basename(self.python or self.shell_name)
        text = self.word.usual or ""
        if self.kind is Kind.MODULE:
            return text.rpartition(".")[2]
        base = posixpath.basename(text.rstrip("/"))
        return base.rpartition(".")[0] or base


def is_python(word: str) -> bool:
    """`python`, `python3`, `/usr/bin/python3.12`."""
    return _PYTHON.fullmatch(posixpath.basename(word)) is not None


def is_shell(word: str) -> bool:
    return posixpath.basename(word) in SHELLS


def read_program(words: Sequence[Word]) -> Program:
    """The program of a command without wrappers and launchers. `words` has at least one word."""
    first = words[0].text
    # `${PYTHON:-python} train.py` is a Python program, whichever interpreter it names
    name = words[0].program
    if is_python(name):
        return _read_python(words)
    if is_shell(name):
        return _read_shell(words)
    return Program(Kind.UNKNOWN if first is None else Kind.PROGRAM, words[0], length=1)


def _read_python(words: Sequence[Word]) -> Program:
    python, place = words[0].program, 1
    while place < len(words):
        word, typed = words[place], words[place].typed
        if word.text is None and not word.beginning.startswith("-"):
            return Program(Kind.UNKNOWN, word, python, _list_flags(words, place), length=place + 1)
        if typed == "-":
            return Program(Kind.STDIN, python=python, flags=_list_flags(words, place), length=place + 1)
        if not typed.startswith("-"):
            return Program(Kind.SCRIPT, word, python, _list_flags(words, place), length=place + 1)
        letter, value = split_option(typed)
        if letter in ("c", "m"):
            behind = words[place + 1] if place + 1 < len(words) else Word()
            named = build_word(value, words[place].line) if value else behind
            kind = Kind.MODULE if letter == "m" else Kind.CODE
            return Program(kind, named, python, _list_flags(words, place), length=place + (1 if value else 2))
        place += 2 if (letter and not value) or typed in _PYTHON_VALUES else 1
    flags = _list_flags(words, len(words))
    kind = Kind.STDIN if _ASKS.isdisjoint(flags) else Kind.NONE
    return Program(kind, python=python, flags=flags, length=len(words))


def _list_flags(words: Sequence[Word], place: int) -> tuple[str, ...]:
    return tuple(word.typed for word in words[1:place])


def split_option(word: str) -> tuple[str, str]:
    """The letter of one of Python's options that takes a value, and the value where the word has it: `-um` -> m and
    nothing, `-Wd` -> W and d."""
    if word.startswith("--"):
        return "", ""
    for place, letter in enumerate(word[1:], 1):
        if letter in "cmWX":
            return letter, word[place + 1 :]
    return "", ""


def _read_shell(words: Sequence[Word]) -> Program:
    shell, place = words[0].program, 1
    while place < len(words):
        typed = words[place].typed
        if words[place].text is None and not typed.startswith(("-", "+")):
            return Program(Kind.UNKNOWN, words[place], shell_name=shell, length=place + 1)
        if typed == "--":
            behind = words[place + 1] if place + 1 < len(words) else NOTHING
            kind = Kind.SCRIPT if behind.pieces else Kind.STDIN
            return Program(kind, behind, shell_name=shell, length=place + 2)
        if typed == "-" or (typed.startswith("-") and not typed.startswith("--") and "s" in typed):
            return Program(Kind.STDIN, shell_name=shell, length=place + 1)
        if not typed.startswith(("-", "+")):
            return Program(Kind.SCRIPT, words[place], shell_name=shell, length=place + 1)
        if not typed.startswith("--") and "c" in typed:
            return _read_text(words, shell, place + 1)
        place += 2 if typed in _SHELL_VALUES or re.fullmatch(r"[-+]\w*[oO]", typed) else 1
    return Program(Kind.STDIN, shell_name=shell, length=len(words))


def _read_text(words: Sequence[Word], shell: str, place: int) -> Program:
    """Options may stand between `-c` and the text."""
    while place < len(words) and words[place].typed.startswith(("-", "+")):
        place += 2 if words[place].typed in _SHELL_VALUES else 1
    text = words[place] if place < len(words) else Word()
    return Program(Kind.SHELL, text, shell_name=shell, length=place + 1)
