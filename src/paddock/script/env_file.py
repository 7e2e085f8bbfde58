"""Reads a file of environment variables (`--env-file`), by the rules that docker compose and dotenv share. Pure.

A line is `NAME=VALUE`, also with `export` before it; blank lines and lines that begin with `#` are skipped. A value
without quotes ends at ` #`; in single quotes it stands as it is; in double quotes a backslash escapes n, r, t, a quote,
a backslash and a dollar. Quoted values may go over several lines. `$NAME` is not replaced: the value is what stands
there.
A problem names the line and the variable, never a value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paddock.words.phrases import Phrase, phrase

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_START = re.compile(r"\s*(?:export\s+)?([^=\s#'\"]+)\s*=[ \t]*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class EnvFile:
    """`problems`: (line, sentence)."""

    values: list[tuple[str, str]] = field(default_factory=list, repr=False)
    problems: list[tuple[int, Phrase]] = field(default_factory=list)


def read_env_file(text: str) -> EnvFile:
    """The variables in their order; a name that occurs twice is there twice, and the last one counts."""
    result = EnvFile()
    # not splitlines(), which ends a line at a form feed and at U+2028 too
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    place = 0
    while place < len(lines):
        place += _read_line(lines, place, result)
    return result


def _read_line(lines: list[str], place: int, result: EnvFile) -> int:
    """The number of lines that were read."""
    line = lines[place]
    if not line.strip() or line.lstrip().startswith("#"):
        return 1
    start = _START.match(line)
    if start is None:
        result.problems.append((place + 1, _NO_VARIABLE))
        return 1
    name, rest = start[1], line[start.end() :]
    if not NAME.fullmatch(name):
        said = phrase("found {found}; a name of letters, digits and _ is wanted before the =", found=repr(name))
        result.problems.append((place + 1, said))
        return 1
    if rest[:1] not in ("'", '"'):
        result.values.append((name, re.split(r"(?:^|\s)#", rest, maxsplit=1)[0].strip()))
        return 1
    return _read_quoted(lines, place, name, rest, result)


def _read_quoted(lines: list[str], place: int, name: str, rest: str, result: EnvFile) -> int:
    quote, text, count = rest[0], rest[1:], 1
    pattern = re.compile(r"((?:[^\"\\]|\\.)*)\"" if quote == '"' else r"([^']*)'", re.DOTALL)
    while (found := pattern.match(text)) is None:
        if place + count == len(lines):
            said = phrase("the value of {name} begins with {quote} and does not end with it", name=name, quote=quote)
            result.problems.append((place + 1, said))
            return count
        text += "\n" + lines[place + count]
        count += 1
    after = text[found.end() :].strip()
    if after and not after.startswith("#"):
        said = phrase("there is more after the closing quote of {name}", name=name)
        result.problems.append((place + 1, said))
    elif quote == '"':
        value = re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], _kept(each[1])), found[1], flags=re.DOTALL)
        result.values.append((name, value))
    else:
        result.values.append((name, found[1]))
    return count


def _kept(letter: str) -> str:
    """What an escape stands for. The backslash of one that is none stays, as in a Windows path."""
    return letter if letter in '"\\$`\n' else f"\\{letter}"


_NO_VARIABLE = phrase("NAME=VALUE is wanted, one in each line; a comment begins with #")
