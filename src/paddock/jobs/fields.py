"""Typed reading of a manifest that may hold anything: every wrong value becomes a Problem, none an exception.

A `Fields` is one mapping of the manifest together with its path; all parts of one manifest share one list of problems,
so that the user hears of all of them at once. A reader returns the default where it found a problem. What a problem
says is in `jobs.text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from paddock.jobs.model import Problem
from paddock.jobs.text import either, join_path, missing, nearest, quote, wrong
from paddock.kube.quantities import read_quantity

Choice = TypeVar("Choice", bound=StrEnum)

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Fields:
    def __init__(self, value: Any, path: str, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems
        self.value: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        self.readable = value is None or isinstance(value, Mapping)
        if not self.readable:
            self.add(wrong(path, value, "a mapping"))

    def add(self, problem: Problem) -> None:
        """Once, though a part may be read in two places."""
        if problem not in self.problems:
            self.problems.append(problem)

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def path_of(self, key: str | int) -> str:
        return join_path(self.path, key)

    def refuse(self, key: str, allowed: str, suggestion: str = "") -> None:
        """What is there is not allowed, or something must be. Nothing is missing in what is no mapping at all."""
        found = self.value.get(key)
        path = self.path_of(key)
        if self.readable:
            self.add(missing(path, allowed) if found is None else wrong(path, found, allowed, suggestion))

    def warn(self, key: str, message: str) -> None:
        self.add(Problem(self.path_of(key), message, quote(self.value.get(key)), severity="warning"))

    def child(self, key: str) -> Fields:
        """The mapping at `key`, empty where there is none."""
        return Fields(self.value.get(key), self.path_of(key), self.problems)

    def children(self, key: str) -> list[Fields]:
        """The mappings of the list at `key`."""
        return [Fields(item, path, self.problems) for path, item in self._list(key, "a list of mappings")]

    def whole(self, key: str, low: int, high: int) -> int | None:
        """A whole number; JSON's 2.0 is one, true is none."""
        found = self.value.get(key)
        if found is None:
            return None
        number = int(found) if isinstance(found, float) and found.is_integer() else found
        if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
            return number
        self.refuse(key, f"a whole number from {low} to {high}")
        return None

    def flag(self, key: str) -> bool:
        found = self.value.get(key)
        if not isinstance(found, bool | None):
            self.refuse(key, "true or false")
        return found is True

    def text(self, key: str, default: str = "") -> str:
        found = self.value.get(key)
        if not isinstance(found, str | None):
            self.refuse(key, _TEXT)
        return found if isinstance(found, str) else default

    def label(self, key: str) -> str:
        """A name as Kubernetes gives them to parts of a pod (RFC 1123 label); it must be there."""
        found = self.value.get(key)
        if not isinstance(found, str) or not _LABEL.fullmatch(found):
            self.refuse(key, "a name of at most 63 of a-z 0-9 -, beginning and ending with a letter or digit")
            return ""
        return found

    def choice(self, key: str, choices: type[Choice], default: Choice) -> Choice:
        """One of the choices; empty text is the default, as everywhere in Kubernetes."""
        found = self.value.get(key)
        if found is None or found == "":
            return default
        if isinstance(found, str) and found in list(choices):
            return choices(found)
        near = nearest(found, choices) if isinstance(found, str) else ""
        self.refuse(key, either(choices), near)
        return default

    def check_texts(self, key: str) -> None:
        """A list of texts: arguments of a program."""
        for path, item in self._list(key, "a list of texts"):
            self._check(path, item, isinstance(item, str), _TEXT)

    def texts(self, key: str) -> dict[str, str]:
        """A mapping of texts: labels, annotations."""
        found = self.child(key)
        for name, value in found.value.items():
            self._check(found.path_of(name), value, isinstance(value, str), _TEXT)
        return {name: value for name, value in found.value.items() if isinstance(value, str)}

    def quantities(self, key: str) -> dict[str, Any]:
        """A mapping of amounts: requests, limits."""
        found = self.child(key)
        for name, value in found.value.items():
            self._check(found.path_of(name), value, is_quantity(value), 'an amount like 2, "500m" or "1Gi"')
        return {name: value for name, value in found.value.items() if is_quantity(value)}

    def _list(self, key: str, allowed: str) -> list[tuple[str, Any]]:
        found = self.value.get(key)
        if not isinstance(found, list | None):
            self.refuse(key, allowed)
        items = found if isinstance(found, list) else []
        return [(join_path(self.path_of(key), index), item) for index, item in enumerate(items)]

    def _check(self, path: str, value: Any, right: bool, allowed: str) -> None:
        if not right:
            self.add(missing(path, allowed) if value is None else wrong(path, value, allowed))


_TEXT = "text (a number or a word like true or on needs quotes)"


def is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return _holds(lambda: read_quantity(value) >= 0)


def _holds(test: Callable[[], bool]) -> bool:
    try:
        return test()
    except ValueError:
        return False
