"""Typed access to an unchecked manifest: every invalid value becomes a `Problem`, none raises.

A `Fields` is one mapping of the manifest with its path. All mappings of one manifest share the problems found, so the
user gets all of them at once. A getter returns the default if it found a problem. The sentences of problems are built
in `words.sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from paddock.kube.nearness import nearest
from paddock.kube.quantities import read_quantity
from paddock.kube.validation.field_errors import Code
from paddock.kube.validation.names import DNS_LABEL
from paddock.words.phrases import NOTHING, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import either, join_path, missing, told, wrong

Choice = TypeVar("Choice", bound=StrEnum)

_LABEL_ALLOWED = phrase("a name of at most 63 of a-z 0-9 -, beginning and ending with a letter or digit")


Found: TypeAlias = dict[tuple[str, str], Problem]
"""Problems in the order in which they were found, by path and message: one is looked for at each value of a manifest,
which may have thousands that are wrong."""


class Fields:
    def __init__(self, value: Any, path: str, problems: Found) -> None:
        self.path = path
        self.problems = problems
        self.value: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        self.readable = value is None or isinstance(value, Mapping)
        if not self.readable:
            self.add(wrong(path, value, phrase("a mapping"), code=Code.WRONG_TYPE))

    def add(self, problem: Problem) -> None:
        """Adds a problem, once even if two places read the same field."""
        self.problems.setdefault((problem.path, problem.message), problem)

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def path_of(self, key: str | int) -> str:
        return join_path(self.path, key)

    def refuse(
        self,
        key: str,
        allowed: Phrase | str,
        suggestion: str = "",
        *,
        advice: Phrase = NOTHING,
        code: Code = Code.INVALID,
    ) -> None:
        """Adds a problem: the value at `key` is not allowed, or missing. Nothing is missing in a value that is no
        mapping, as that has its own problem."""
        found = self.value.get(key)
        path = self.path_of(key)
        if self.readable:
            self.add(
                missing(path, allowed)
                if found is None
                else wrong(path, found, allowed, suggestion, advice=advice, code=code)
            )

    def warn(self, key: str, said: Phrase | str) -> None:
        self.add(told(self.path_of(key), said, self.value.get(key), severity="warning"))

    def child(self, key: str) -> Fields:
        """The mapping at `key`; an empty one if it is absent."""
        return Fields(self.value.get(key), self.path_of(key), self.problems)

    def children(self, key: str) -> list[Fields]:
        """The mappings of the list at `key`."""
        found = self.value.get(key)
        advice = NOTHING
        if isinstance(found, Mapping) and found and key == "env":
            advice = phrase('; write each as "- name: {name}" and, below it, "value: ..."', name=str(next(iter(found))))
        elif isinstance(found, Mapping):
            advice = phrase('; write "- " before its first field and indent the others by two')
        items = self._list(key, phrase("a list of mappings"), advice)
        return [Fields(item, path, self.problems) for path, item in items]

    def whole(self, key: str, low: int, high: int) -> int | None:
        """A whole number; 2.0 counts as one, true does not."""
        found = self.value.get(key)
        if found is None:
            return None
        number = int(found) if isinstance(found, float) and found.is_integer() else found
        if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
            return number
        self.refuse(key, phrase("a whole number from {low} to {high}", low=low, high=high), advice=_plainly(found))
        return None

    def flag(self, key: str) -> bool:
        found = self.value.get(key)
        if not isinstance(found, bool | None):
            self.refuse(key, phrase("true or false"), code=Code.WRONG_TYPE)
        return found is True

    def text(self, key: str, default: str = "") -> str:
        found = self.value.get(key)
        if not isinstance(found, str | None):
            self.refuse(key, TEXT, advice=in_quotes(found), code=Code.WRONG_TYPE)
        return found if isinstance(found, str) else default

    def label(self, key: str) -> str:
        """A required name of a part of a pod (RFC 1123 label)."""
        found = self.value.get(key)
        if not isinstance(found, str) or not DNS_LABEL.allows(found):
            self.refuse(key, _LABEL_ALLOWED, nearest_label(found), code=Code.INVALID_DNS_LABEL)
            return ""
        return found

    def choice(self, key: str, choices: type[Choice], default: Choice) -> Choice:
        """One of the choices; an empty text means the default, as in Kubernetes."""
        found = self.value.get(key)
        if found is None or found == "":
            return default
        if isinstance(found, str) and found in list(choices):
            return choices(found)
        near = nearest(found, choices) if isinstance(found, str) else ""
        self.refuse(key, either(choices), near, code=Code.NOT_SUPPORTED)
        return default

    def check_texts(self, key: str) -> None:
        """A list of texts: arguments of a program."""
        found = self.value.get(key)
        advice = phrase("; write {words}", words=_as_list(found)) if isinstance(found, str) and found else NOTHING
        for path, item in self._list(key, phrase("a list of texts"), advice):
            self._check_text(path, item)

    def texts(self, key: str) -> dict[str, str]:
        """A mapping of texts: labels, annotations. A null is an empty text, as Kubernetes decodes it."""
        found = self.child(key)
        values = {name: "" if value is None else value for name, value in found.value.items()}
        for name, value in values.items():
            self._check_text(found.path_of(name), value)
        return {name: value for name, value in values.items() if isinstance(value, str)}

    def quantities(self, key: str) -> dict[str, Any]:
        """A mapping of amounts: requests, limits."""
        found = self.child(key)
        for name, value in found.value.items():
            if not is_quantity(value):
                allowed = phrase('an amount like 2, "500m" or "1Gi"')
                path = found.path_of(name)
                self.add(
                    missing(path, allowed) if value is None else wrong(path, value, allowed, nearest_amount(value))
                )
        return {name: value for name, value in found.value.items() if is_quantity(value)}

    def _list(self, key: str, allowed: Phrase, advice: Phrase = NOTHING) -> list[tuple[str, Any]]:
        found = self.value.get(key)
        if not isinstance(found, list | None):
            self.refuse(key, allowed, advice=advice, code=Code.WRONG_TYPE)
        items = found if isinstance(found, list) else []
        return [(join_path(self.path_of(key), index), item) for index, item in enumerate(items)]

    def _check_text(self, path: str, value: Any) -> None:
        if not isinstance(value, str):
            self.add(
                missing(path, TEXT)
                if value is None
                else wrong(path, value, TEXT, advice=in_quotes(value), code=Code.WRONG_TYPE)
            )


TEXT = phrase("text")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("core", "cores", "cpu", "cpus", "c"), ""),
    **{
        unit: f"{letter.upper()}i" for letter in "kmgtp" for unit in (f"{letter}ib", f"{letter}b", f"{letter}i", letter)
    },
}


def nearest_label(value: Any) -> str:
    """`resnet-50` for `ResNet_50`; empty if the result is not a valid name either."""
    name = re.sub(r"[\s_.]+", "-", value.strip().lower()) if isinstance(value, str) else ""
    return name if DNS_LABEL.allows(name) else ""


def in_quotes(value: Any) -> Phrase:
    """Advice for a number or boolean where text is required."""
    if isinstance(value, bool):
        word = '"true"' if value else '"false"'
        return phrase("; write {text} (on, off, yes and no mean true and false, too, unless in quotes)", text=word)
    return phrase("; write {text}", text=f'"{value}"') if isinstance(value, int | float) else NOTHING


def _plainly(value: Any) -> Phrase:
    """Advice for a number in quotes, or in the full-width digits of a Chinese keyboard."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return phrase("; write {number}, without quotes", number=int(value))
    return NOTHING


def _as_list(line: str) -> str:
    return "[" + ", ".join(f'"{word}"' for word in line.split()[:8]) + ("]" if len(line.split()) <= 8 else ", …]")


def nearest_amount(value: Any) -> str:
    """`1Gi` for `1 GB`, `2` for `2 cores`."""
    match = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    unit = _UNITS.get(match[2].casefold()) if match else None
    return "" if match is None or unit is None else f"{match[1]}{unit}"


def is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return _holds(lambda: read_quantity(value) >= 0)


def _holds(test: Callable[[], bool]) -> bool:
    try:
        return test()
    except ValueError:
        return False
