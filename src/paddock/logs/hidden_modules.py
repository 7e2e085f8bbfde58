"""A file of the user's own that has the name of a module of Python itself, beside the script: every library that asks
for that module gets the file. Pure.

Python 3.13 says so; an older one says that the module has no such attribute, is no package, or cannot give a name, and
the reader looks for the fault in the library. What is told here is sure: the file is named by the error, stands among
the frames of its traceback, or was found by `cli.follow.hidden_files`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from paddock.words.phrases import Phrase, phrase

_RENAME = re.compile(r"consider renaming '(?P<file>[^']+\.py)' since it has the same name as the standard library")
_NO_PACKAGE = re.compile(r"No module named '(?P<module>\w+)\.[\w.]+'; '(?P=module)' is not a package")
_NO_NAME = re.compile(
    r"cannot import name '\w+' from (?:partially initialized module )?'(?P<module>\w+)' .*\((?P<file>[^()]+\.py)\)"
)
_PART = re.compile(r"partially initialized module '(?P<module>\w+)' has no attribute ")
_NO_ATTRIBUTE = re.compile(r"AttributeError: module '(?P<module>\w+)' has no attribute ")
_FRAME = re.compile(r'^(?:\[rank\d+\]: ?)?  File "(?P<file>.+)", line \d+', re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last):"
_OF_PYTHON = re.compile(r"[/\\](?:python\d[\d.]*t?|site-packages|dist-packages)[/\\]|^<frozen ")
"""Directories in which modules lie that the user has not written."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A module that a file hides."""

    module: str
    file: str
    """Its path as the program knows it; its name alone where the error does not say more."""


def read_hidden(error: str, files: Sequence[str] = ()) -> Hidden | None:
    """`error`: the last line of a traceback; `files`: of its frames, the most recent call last. None where the error
    does not surely come from a module that is hidden."""
    if found := _RENAME.search(error):
        return Hidden(_stem(found["file"]), found["file"])
    if (found := _NO_NAME.search(error)) and _is_own(found["file"], found["module"]):
        return Hidden(found["module"], found["file"])
    found = _NO_PACKAGE.search(error) or _PART.search(error)
    if found is not None and found["module"] in sys.stdlib_module_names:
        return Hidden(found["module"], _find(files, found["module"]) or f"{found['module']}.py")
    if (module := read_doubtful(error)) and (file := _find(files, module)):
        return Hidden(module, file)
    return _read_frames(files)


def read_doubtful(error: str) -> str:
    """The module of Python itself that has no such attribute: it is another version's, or it is hidden by a file that
    no frame shows. Empty for any other error."""
    found = _NO_ATTRIBUTE.search(error)
    return found["module"] if found is not None and found["module"] in sys.stdlib_module_names else ""


def list_files(text: str) -> tuple[str, ...]:
    """The files of the frames of the last traceback of a log, the most recent call last."""
    return tuple(found["file"] for found in _FRAME.finditer(text.rpartition(_TRACEBACK)[2]))


def _read_frames(files: Sequence[str]) -> Hidden | None:
    """A library has asked for a module of Python and got the user's file, whose own code failed."""
    for asked, given in pairwise(files):
        module = _stem(given)
        if _OF_PYTHON.search(asked) and _is_own(given, module):
            return Hidden(module, given)
    return None


def _find(files: Sequence[str], module: str) -> str:
    return next((each for each in reversed(files) if _stem(each) == module and _is_own(each, module)), "")


def _is_own(file: str, module: str) -> bool:
    if not file.endswith(".py") or _stem(file) != module or module not in sys.stdlib_module_names:
        return False
    return not _OF_PYTHON.search(file)


def _stem(file: str) -> str:
    return re.split(r"[/\\]", file)[-1].removesuffix(".py")


def tell_hidden(hidden: Hidden) -> Phrase:
    return phrase(
        "{file} is your own, has the name of Python's module {module}, and is imported in its place: rename it",
        file=hidden.file, module=hidden.module,
    )  # fmt: skip
