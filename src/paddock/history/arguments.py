"""The words of a command -> its arguments by their names. Pure.

    python3 train.py --lr 0.1 --amp a.depth=3    {"": "python3 train.py", "lr": "0.1", "amp": "true", "a.depth": "3"}

Nobody but the program knows which of its options takes how many words, so an option has those up to the next one,
behind a number only numbers; what a launcher has before the program takes one at most. A text for a shell is split as a
shell would. Words without an option are left together, as the command. An option that is named twice has both values.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

COMMAND = ""
"""The name of the words that belong to no option."""
SET = "true"
"""The value of an option without one."""
_OPTION = re.compile(r"--?(?![\d.-])([^\s=]+?)(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"[+~]{0,2}([A-Za-z_][\w.@/-]*)=(.*)", re.DOTALL)
_SHORT = re.compile(r"-([A-Za-z])(\d[\d.]*)")
_SHELL = re.compile(r"(?:ba|da|z|k|a)?sh")
_PYTHON = re.compile(r"python[\d.]*")
_TEXT = re.compile(r"-[a-z]*c")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_OPERATOR = re.compile(r"[();<>|&]+")
_LAUNCHER = re.compile(r"distributed|launch|accelerate|deepspeed|horovod|fleet")
_PROGRAMS = (".py", ".sh")
_LONGEST_TEXT = 8 * 2**10
"""Characters of a text for a shell: a longer one is no command that somebody typed, and is one word."""


def read_arguments(words: Sequence[str]) -> dict[str, str]:
    found = dict[str, list[str]]()
    for name, value in _walk(_split(words)):
        found.setdefault(name, []).append(value)
    if found.keys() <= {COMMAND}:
        return {COMMAND: " ".join(words)} if words else {}  # a text without options, as it is written
    return {name: " ".join(values) for name, values in found.items()}


def _split(words: Sequence[str]) -> list[str]:
    """The same, with the words of a text that a shell reads in its place."""
    if len(words) < 3 or not _SHELL.fullmatch(posixpath.basename(words[0])) or not _TEXT.fullmatch(words[1]):
        return list(words)
    return [" ".join(words[:2]), *_split_text(words[2]), *words[3:]]


def _split_text(text: str) -> list[str]:
    if len(text) > _LONGEST_TEXT:
        return [text]
    reader = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return [*reader]
    except ValueError:  # an open quote
        return [text]


def _walk(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each argument with a value, and each word of the command."""
    program = _find_program(words)
    place = _count_first(words)
    yield from ((COMMAND, word) for word in words[:place])
    while place < len(words):
        word, place = words[place], place + 1
        if (assigned := _SHORT.fullmatch(word)) or (assigned := _ASSIGNED.fullmatch(word)):
            yield assigned[1], assigned[2]
        elif (option := _OPTION.fullmatch(word)) is None or (word == "-m" and place <= program):
            yield COMMAND, word
        elif option[2] is not None:
            yield option[1], option[2]
        else:
            values = _take_values(words, place, program)
            yield option[1], " ".join(values) or SET
            place += len(values)


def _count_first(words: Sequence[str]) -> int:
    """How many words are the command in any case: `train`, `python -c TEXT`; none of arguments for what an image
    starts."""
    if len(words) > 2 and words[1] == "-c" and _PYTHON.fullmatch(posixpath.basename(words[0])):
        return 3
    return 0 if not words or words[0].startswith("-") else 1


def _find_program(words: Sequence[str]) -> int:
    """The place of the program that a launcher starts; 0 where the first word is all that is known of it."""
    for place, word in enumerate(words[1:], 1):
        if word.endswith(_PROGRAMS) or (words[place - 1] == "-m" and not _LAUNCHER.search(word)):
            return place
    return 0


def _take_values(words: Sequence[str], begin: int, program: int) -> Sequence[str]:
    """The words of the option before them."""
    end = begin
    while end < len(words) and end != program and _is_value(words[end], "".join(words[end + 1 : end + 2])):
        if end > begin and (end <= program or _is_number(words[begin]) != _is_number(words[end])):
            break
        end += 1
    return words[begin:end]


def _is_value(word: str, following: str) -> bool:
    if word.isdigit() and following[:1] in ("<", ">"):  # `2>&1`
        return False
    return not any(form.fullmatch(word) for form in (_OPERATOR, _OPTION, _ASSIGNED))


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None
