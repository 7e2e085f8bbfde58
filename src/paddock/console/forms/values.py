"""What stands in an input of the form, and the value of the manifest that it means. Pure.

Each form of value is a pair of functions: `parse(show(value))` means what `value` means, for every value that `show`
takes; for others it returns None, and the field is left to the text.

A start command is words as in a shell: `bash`, `python -u train.py`. So are arguments, but that several lines are one
argument, as in the form of seed 004: a script pasted behind `bash` or `python -c` is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paddock.console.forms.storage import parse_claims
from paddock.manifests.edits import CannotEdit
from paddock.words.phrases import phrase

_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Form:
    """How a value is typed."""

    input: str
    """`text`, `number`, `choice` (of `options`), `words` (a few lines), `script` (many)."""
    show: Callable[[Any], str | None]
    parse: Callable[[str], Any]
    """Gives None for an empty input: the field is removed. It raises `CannotEdit`."""
    options: tuple[str, ...] = ()
    """Those of a choice."""


def show_text(value: Any) -> str | None:
    if value is None:
        return ""
    is_shown = isinstance(value, str) and value and value == clean(value) and not {"\n", "\r"} & set(value)
    return str(value) if is_shown else None


def parse_text(text: str) -> str | None:
    return clean(text) or None


def clean(text: str) -> str:
    return text.strip()


def show_amount(value: Any) -> str | None:
    """A whole number, or a quantity (`500m`, `2Gi`)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else show_text(value)


def parse_amount(text: str) -> str | int | None:
    cleaned = clean(text)
    return int(cleaned) if _WHOLE.fullmatch(cleaned) else cleaned or None


def show_words(value: Any) -> str | None:
    if value is None:
        return ""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        return None
    return _if_same(shlex.join(value), value, parse_words)


def parse_words(text: str) -> list[str] | None:
    try:
        return shlex.split(text) or None
    except ValueError:
        raise CannotEdit(phrase("a quote is not closed")) from None


def show_arguments(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and "\n" in value[0]:
        return _if_same(value[0], value, parse_arguments)
    shown = show_words(value)
    return None if shown is not None and "\n" in shown else shown


def parse_arguments(text: str) -> list[str] | None:
    """Several lines are one argument."""
    if "\n" in text.rstrip("\n"):
        return [text]
    return parse_words(text)


def show_variables(value: Any) -> str | None:
    """A line `NAME=value` for each; only lists in which every value is one line of text."""
    if value is None:
        return ""
    if not isinstance(value, list) or not value:
        return None
    lines = []
    for each in value:
        is_plain = isinstance(each, Mapping) and set(each) == {"name", "value"}
        if not is_plain or not all(isinstance(part, str) for part in each.values()):
            return None
        lines.append(f"{each['name']}={each['value']}")
    return _if_same("\n".join(lines), value, parse_variables)


def parse_variables(text: str) -> list[dict[str, str]] | None:
    return [{"name": name, "value": value} for _, name, value in _read_pairs(text)] or None


def _read_pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """The number of each line `NAME=value`, the name and the value. Raises `CannotEdit`."""
    for number, line in enumerate(text.split("\n"), 1):
        name, equals, value = line.partition("=")
        if not line.strip():
            continue
        if not equals or not name.strip():
            raise CannotEdit(phrase("line {line}: NAME=value is wanted", line=number))
        yield number, name.strip(), value


def show_labels(value: Any) -> str | None:
    """A line `name=value` for each."""
    if value is None:
        return ""
    if not isinstance(value, Mapping) or not value or not all(isinstance(each, str) for each in value.values()):
        return None
    return _if_same("\n".join(f"{name}={each}" for name, each in value.items()), value, parse_labels)


def parse_labels(text: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for number, name, value in _read_pairs(text):
        if name in found:
            raise CannotEdit(phrase("line {line}: {name} stands twice", line=number, name=name))
        found[name] = value.strip()
    return found or None


def _if_same(shown: str, value: Any, parse: Callable[[str], Any]) -> str | None:
    """`shown` if it means exactly `value`; an input of a browser knows no other end of line than \\n."""
    try:
        return shown if "\r" not in shown and parse(shown) == value else None
    except CannotEdit:
        return None


TEXT = Form("text", show_text, parse_text)
AMOUNT = Form("text", show_amount, parse_amount)
NUMBER = Form("number", show_amount, parse_amount)
WORDS = Form("words", show_words, parse_words)
ARGUMENTS = Form("script", show_arguments, parse_arguments)
VARIABLES = Form("words", show_variables, parse_variables)
LABELS = Form("words", show_labels, parse_labels)
CLAIMS = Form("words", lambda _: None, parse_claims)
SHARED_MEMORY = Form("text", lambda _: None, parse_amount)
"""These two are in two lists of the manifest each: `storage` reads and writes them."""


def choose(*options: str) -> Form:
    return Form("choice", show_text, parse_text, options)
