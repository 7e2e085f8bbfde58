"""Simple commands in the text of a shell: of a container's `sh -c`, and of a script. Pure.

Only what a reader sees is read: no expansion but of variables that the script itself sets to a text, no functions, no
loops. A command that is built otherwise is not found, and nothing is said of it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.reading.scripts import SHELLS

_BEFORE = re.compile(r"[A-Za-z_]\w*=.*|exec|time|nohup|env|then|do|else|if|!|\{")
_ENDS = ";&|()\n"
_ASSIGNMENT = re.compile(r"\s*(?:export\s+|local\s+|declare\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HERE = re.compile(r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_ARITHMETIC = re.compile(r"\(\(.*?\)\)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SHEBANG = re.compile(r"#!\s*\S*?/?(?:env\s+)?(?:ba|da|z|k)?sh\b")
MOST_JOINED = 200
"""Lines after which a quote that is not closed is an error."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a script."""

    line: int  # where it begins, from 1
    words: tuple[str, ...]
    variables: frozenset[str] = frozenset()  # set before it, by the script or by itself


class OpenQuote(ValueError):
    """A quote of a script is not closed; `line` is where it stands."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: a quote is not closed")
        self.line = line


def is_script(name: str, text: str) -> bool:
    """Whether a file is a shell script: by its name, or by its first line."""
    return name.endswith((".sh", ".bash")) or bool(_SHEBANG.match(text))


def read_commands(container: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The words of the simple commands that a container starts, also in the text of a shell."""
    lists = [container.get(key) or [] for key in ("command", "args")]
    if not all(isinstance(each, list) for each in lists):
        return
    words = tuple(str(word) for each in lists for word in each)
    if len(words) >= 3 and posixpath.basename(words[0]) in SHELLS:
        flags = [place for place, word in enumerate(words[1:-1], 1) if re.fullmatch(r"-[a-z]*c", word)]
        for place in flags[:1]:
            yield from split_commands(words[place + 1])
    elif words:
        yield words


def split_commands(text: str) -> Iterator[tuple[str, ...]]:
    """Without the text of here-documents, which is another program's; none of a text with an open quote."""
    try:
        lines = [_cut_here(line) for _, line in _logical_lines(text)]
        found = [words for line in lines for _, words in _split(line)]
    except ValueError:
        return
    yield from found


def _hide_arithmetic(text: str) -> str:
    """The text with `((…))` covered, as long as before: `<<` is a shift there."""
    return _ARITHMETIC.sub(lambda match: "0" * len(match[0]), text)


def _cut_here(text: str) -> str:
    """A line up to its here-document."""
    found = _HERE.search(_hide_arithmetic(text))
    return text[: found.start()] if found else text


def _split(text: str) -> Iterator[tuple[frozenset[str], tuple[str, ...]]]:
    """Simple commands, each with the names that are assigned before it in the same command."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=_ENDS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    command: list[str] = []
    assigned: set[str] = set()
    for token in (*lexer, ";"):
        if token.strip(_ENDS):
            if command or not _BEFORE.fullmatch(token):
                command.append(token)
            elif "=" in token:
                assigned.add(token.partition("=")[0])
        else:
            yield frozenset(assigned), tuple(command)
            command, assigned = [], set()


def read_script(text: str) -> Iterator[ShellCommand]:
    """The simple commands of a script, with `${NAME}` replaced where the script sets NAME to a text. Raises
    `OpenQuote`."""
    variables: dict[str, str] = {}
    for number, line in _logical_lines(text):
        if match := _ASSIGNMENT.fullmatch(line):
            value = _read_value(match[2])
            if value is not None:
                variables[match[1]] = _expand(value, variables)
                continue
        for assigned, words in _split(_expand(_cut_here(line), variables)):
            known = frozenset(variables) | assigned
            if words[:1] == ("export",):
                variables |= {word.partition("=")[0]: "" for word in words[1:] if "=" in word}
            if words:
                yield ShellCommand(number, words, known)
                yield from (ShellCommand(number, inner, known) for inner in _read_inner(words))


def _read_inner(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The commands of `bash -c "…"`."""
    if posixpath.basename(words[0]) in SHELLS:
        yield from (inner for inner in read_commands({"command": list(words)}) if inner and inner != words)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined where a backslash or an open quote continues them, without comments and here-documents."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole, joined = line, 0
        while whole.endswith("\\") or not _is_closed(whole):
            joined += 1
            following = next(lines, None)
            if following is None and whole.endswith("\\"):
                whole = whole.removesuffix("\\")
                break
            if following is None or joined > MOST_JOINED:
                raise OpenQuote(number)
            whole = whole.removesuffix("\\") + (" " if whole.endswith("\\") else "\n") + following[1]
        yield number, whole
        for end in _HERE.findall(_hide_arithmetic(whole)):
            for _, inside in lines:
                if inside.strip() == end[1]:
                    break


def _is_closed(text: str) -> bool:
    try:
        list(shlex.shlex(_cut_here(text), posix=True, punctuation_chars=_ENDS))
    except ValueError:
        return False
    return True


def _read_value(text: str) -> str | None:
    """The value of an assignment that stands alone on its line; None for `NAME=value command`, and for what a shell
    computes."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return None
    if len(words) > 1 or "$(" in text or "`" in text:
        return None
    return words[0] if words else ""


def _expand(text: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)
