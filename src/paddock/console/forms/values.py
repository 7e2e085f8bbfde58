"""What stands in an input of the form, and the value of the manifest that it means. Pure.

Each form of value is a pair of functions: `parse(show(value))` means what `value` means, for every value that `show`
takes; for others it returns None, and the field is left to the text.

A start command is words as in a shell: `bash`, `python -u train.py`. So are arguments, but that several lines are one
argument, as in the form of seed 004: a script pasted behind `bash` or `python -c` is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.console.forms.storage import parse_claims
from paddock.jobs.mounts import BadMount, read_mount, write_mounts
from paddock.manifests.edits import CannotEdit
from paddock.words.phrases import Phrase, phrase

_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Column:
    """One input of each line of a table."""

    label: Phrase
    offers: str = ""
    """Which names are offered for it; see `choices.Choices.offer`."""
    options: tuple[tuple[str, Phrase], ...] = ()
    """Those of a choice: what is written, and how it is called."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a value is typed."""

    input: str
    """`text`, `number`, `choice` (of `options`), `words` (a few lines), `script` (many), `table` (of `columns`)."""
    show: Callable[[Any], str | None]
    parse: Callable[[str], Any]
    """Gives None for an empty input: the field is removed. It raises `CannotEdit`."""
    options: tuple[str, ...] = ()
    """Those of a choice."""
    columns: tuple[Column, ...] = ()
    """Of a table: a line of what is shown is a row of it."""
    marks: tuple[str, ...] = ()
    """What stands between two columns in such a line."""

    def split(self, line: str) -> list[str]:
        """The cells of a line."""
        cells = []
        for mark in self.marks:
            cell, _, line = line.partition(mark)
            cells.append(cell)
        return [*cells, line]

    def join(self, cells: Sequence[str]) -> str:
        """The line of these cells; a last one that may be empty leaves its mark out."""
        line = cells[0]
        for mark, cell in zip(self.marks, cells[1:], strict=True):
            line += f"{mark}{cell}" if cell or mark == self.marks[0] else ""
        return line


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
    """A line `NAME=value` for each; only lists in which every value is one line of text. What has its value from
    elsewhere is no line, and stays (`is_plain`)."""
    if value is None:
        return ""
    if not isinstance(value, list) or not value or not all(isinstance(each, Mapping) for each in value):
        return None
    plain = [each for each in value if is_plain(each)]
    if not all(set(each) == {"name", "value"} and all(map(_is_str, each.values())) for each in plain):
        return None
    return _if_same("\n".join(f"{each['name']}={each['value']}" for each in plain), plain or None, parse_variables)


def is_plain(entry: Mapping[str, Any]) -> bool:
    """Whether a variable has a value of its own."""
    return "valueFrom" not in entry


def is_secret(entry: Mapping[str, Any]) -> bool:
    """Whether a variable has its value from a key of a Secret that must be there."""
    source = entry.get("valueFrom")
    reference = source.get("secretKeyRef") if isinstance(source, Mapping) and len(source) == 1 else None
    return set(entry) == {"name", "valueFrom"} and isinstance(reference, Mapping) and set(reference) == {"name", "key"}


def show_secrets(value: Any) -> str | None:
    """A line `NAME=secret/key` for each; other variables are no line, and stay."""
    if value is None:
        return ""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        return None
    secrets = [each for each in value if is_secret(each)]
    lines = []
    for each in secrets:
        reference = each["valueFrom"]["secretKeyRef"]
        if not all(map(_is_str, (each["name"], *reference.values()))):
            return None
        lines.append(f"{each['name']}={reference['name']}/{reference['key']}")
    return _if_same("\n".join(lines), secrets or None, parse_secrets)


def parse_secrets(text: str) -> list[dict[str, Any]] | None:
    """Raises `CannotEdit`."""
    found: list[dict[str, Any]] = []
    for number, name, source in _read_pairs(text):
        secret, _, key = (part.strip() for part in source.partition("/"))
        if not secret or not key:
            raise CannotEdit(phrase("line {line}: {name} needs a Secret and one of its keys", line=number, name=name))
        found.append({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
    return found or None


def _is_str(value: object) -> bool:
    return isinstance(value, str)


DATA = "/data"
"""Where the only Dataset of a job is, if nobody says where."""


def show_datasets(value: Any) -> str | None:
    """A line `NAME:/path` for each Dataset of the annotation."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return None
    try:
        mounts = [read_mount(each) for each in value.split(",") if each.strip()]
    except BadMount:
        return None
    return "\n".join(f"{each.dataset}:{each.path}" for each in mounts) or None


def parse_datasets(text: str) -> str | None:
    """The annotation. Raises `CannotEdit`."""
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip(": \t")]
    mounts = []
    for number, line in lines:
        name, _, path = (part.strip() for part in line.partition(":"))
        if name and not path and len(lines) == 1:
            path = DATA
        try:
            mounts.append(read_mount(f"{name}:{path}"))
        except BadMount as bad:
            raise CannotEdit(phrase("line {line}: {said}", line=number, said=bad.said)) from None
    return write_mounts(mounts) or None


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
VARIABLES = Form(
    "table", show_variables, parse_variables, columns=(Column(phrase("Name")), Column(phrase("Value"))), marks=("=",)
)
SECRETS = Form(
    "table", show_secrets, parse_secrets, marks=("=", "/"),
    columns=(Column(phrase("Name")), Column(phrase("Secret"), "secret"), Column(phrase("Key"), "key")),
)  # fmt: skip
DATASETS = Form(
    "table", show_datasets, parse_datasets, marks=(":",),
    columns=(Column(phrase("Dataset"), "dataset"), Column(phrase("Path"))),
)  # fmt: skip
LABELS = Form(
    "table", show_labels, parse_labels, columns=(Column(phrase("Name")), Column(phrase("Value"))), marks=("=",)
)
_WRITABLE = (("", phrase("read and write")), ("ro", phrase("read only")))
CLAIMS = Form(
    "table", lambda _: None, parse_claims, marks=(":", ":"),
    columns=(Column(phrase("Claim"), "claim"), Column(phrase("Path")), Column(phrase("Access"), options=_WRITABLE)),
)  # fmt: skip
SHARED_MEMORY = Form("text", lambda _: None, parse_amount)
"""These two are in two lists of the manifest each: `storage` reads and writes them."""


def choose(*options: str) -> Form:
    return Form("choice", show_text, parse_text, options)
