"""PyYAML's errors as problems for users: what the text has at that position, and what to write."""

from __future__ import annotations

import re

import yaml

from paddock.words.phrases import NOTHING, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_SENTENCES: tuple[tuple[str, Phrase], ...] = (
    (
        r"unknown escape character",
        phrase('in double quotes "\\" begins an escape, and this one is none: write \\\\, or use single quotes'),
    ),
    (
        r"'\\t' that cannot start any token",
        phrase("a tab stands here; YAML is indented by spaces: replace each tab by two of them"),
    ),
    (
        r"mapping values are not allowed",
        phrase(
            "a colon stands here that begins no field: the line may be indented too far, or hang on the line above; a "
            'text with ": " in it needs quotes'
        ),
    ),
    (
        r"could not find expected ':'",
        phrase(
            "a line is neither `name: value` nor a part of the text above it: a colon or its indentation is missing"
        ),
    ),
    (
        r"expected <block end>|expected the node content, but found '<block (end|entry)|"
        r"sequence entries are not allowed",
        phrase("the indentation of this line fits nothing above it: fields of one mapping begin in the same column"),
    ),
    (r"quoted scalar", phrase("a quote that begins in line {line} is never closed")),
    (
        r"expected ',' or '\]'",
        phrase("a list that begins with [ in line {line} is not closed by ], or lacks a comma before this place"),
    ),
    (
        r"expected ',' or '\}'",
        phrase("a mapping that begins with {brace} in line {line} is not closed, or lacks a comma before this place"),
    ),
    (r"found undefined alias", phrase("the alias *{name} is used here, and nothing above is marked &{name}")),
    (
        r"character '[@`%]' that cannot start",
        phrase("no value begins with {character}: put the value into quotes"),
    ),
    (r"but found '<stream end>'", phrase("the text ends in the middle of a value")),
    (
        r"expected '<document start>'",
        phrase("what stands before this line is complete by itself: `---` separates two manifests"),
    ),
)


def explain_yaml(error: yaml.MarkedYAMLError | yaml.reader.ReaderError, text: str) -> Problem:
    """The problem, with its line and column."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        code = f"U+{int(error.character):04X}"
        said = phrase("the character {code} stands here, which no text file holds: remove it", code=code)
        return told("", said, line=line, column=column)
    mark = error.problem_mark or error.context_mark
    if _is_stray(error):
        mark = error.context_mark  # PyYAML notices it a line later
    if mark is not None and (problem := _explain_neighbour(error, text.splitlines(), mark.line, mark.column)):
        return problem
    complaint = f"{error.context or ''} {error.problem or ''}"
    found = next((said for form, said in _SENTENCES if re.search(form, complaint)), None)
    said = found or NOTHING
    if found is None:
        said = phrase("this is not YAML: {complaint}", complaint=" ".join(complaint.split()))
    elif "{" in said.text:
        said = phrase(said.text, **_facts(error, text))
    return told("", said, line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1)


def _is_stray(error: yaml.MarkedYAMLError) -> bool:
    """Whether the error is a line without a colon between fields."""
    return error.context_mark is not None and "could not find expected ':'" in (error.problem or "")


def recover_yaml(error: yaml.MarkedYAMLError | yaml.reader.ReaderError, text: str) -> str:
    """The text to parse next, at its line numbers; "" if there is none.

    A stray line or tabs are removed and the document is parsed again; after any other mistake the next document
    follows.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return ""
    lines = text.splitlines(keepends=True)
    mark = error.context_mark if _is_stray(error) else error.problem_mark or error.context_mark
    if mark is None or mark.line >= len(lines):
        return ""
    if _is_stray(error):
        return _from(lines, _start_of(lines, mark.line), {mark.line: "\n"})
    if "'\\t' that cannot start any token" in (error.problem or ""):
        return _without_tabs(lines, _start_of(lines, mark.line))
    following = (number for number in range(mark.line + 1, len(lines)) if _SEPARATOR.match(lines[number]))
    return _from(lines, next(following, len(lines)), {})


_SEPARATOR = re.compile(r"---(\s|$)")
_TABS = re.compile(r"[ ]*\t[ \t]*")


def _without_tabs(lines: list[str], start: int) -> str:
    """The text with spaces for tabs: of the widths that editors use, the first that gives valid YAML."""
    for width in (2, 4, 8):
        wide = {
            number: match[0].replace("\t", " " * width) + line[match.end() :]
            for number, line in enumerate(lines)
            if (match := _TABS.match(line))
        }
        rest = _from(lines, start, wide)
        try:
            for _ in yaml.parse(rest):
                pass
        except yaml.YAMLError:
            continue
        return rest
    return ""


def _start_of(lines: list[str], line: int) -> int:
    """The first line of the document that contains `line`."""
    return next((number for number in range(line, 0, -1) if _SEPARATOR.match(lines[number])), 0)


def _from(lines: list[str], start: int, replaced: dict[int, str]) -> str:
    """The lines from `start`, after `start` empty lines; "" if they are blank."""
    rest = "".join(replaced.get(number, line) for number, line in enumerate(lines) if number >= start)
    return "\n" * start + rest if rest.strip() else ""


def _facts(error: yaml.MarkedYAMLError, text: str) -> dict[str, str | int]:
    """The arguments of a sentence: the line where a construct began, and the text at the error."""
    mark, start = error.problem_mark, error.context_mark
    character = text.splitlines()[mark.line][mark.column : mark.column + 1] if mark and mark.index < len(text) else ""
    name = re.search(r"alias '([^']*)'", error.problem or "")
    return {
        "line": start.line + 1 if start else 1,
        "character": character,
        "name": name[1] if name else "",
        "brace": "{",
    }


_NO_SPACE = re.compile(r"\s*(?:- )?([A-Za-z][\w-]*):(?=[^\s:/])")
_FIELD = re.compile(r"(\s*)([\w-]+):[ \t]+[^\s#|>&]")


def _explain_neighbour(error: yaml.MarkedYAMLError, lines: list[str], line: int, column: int) -> Problem | None:
    """The problem of a mistake that PyYAML reports a line later, or in the middle of a line; None for others."""
    complaint, here = error.problem or "", lines[line] if line < len(lines) else ""
    above = next((number for number in range(line - 1, -1, -1) if lines[number].strip()), None)
    if "mapping values are not allowed" in complaint and above is not None:
        if match := _NO_SPACE.match(lines[above]):
            said = phrase("no space stands behind the colon: write `{name}: `, then the value", name=match[1])
            return told("", said, line=above + 1, column=match.end())
        match = _FIELD.match(lines[above])
        indentation = len(here) - len(here.lstrip())
        if match and indentation > len(match[1]) and ":" not in here[indentation:column]:
            said = phrase(
                "this line is indented deeper than {name} above it, which has a value already: begin both in one "
                "column",
                name=match[2],
            )
            return told("", said, line=line + 1, column=indentation + 1)
    if complaint.startswith("expected <block end>") and here[:column].strip():
        said = phrase("the value before this is complete: quotes are unpaired here, or in a line above")
        return told("", said, line=line + 1, column=column + 1)
    return None
