"""One composed document of YAML -> its manifest, with the position of every value.

Two rules are stricter than kubectl's: duplicate keys and aliases that expand to very many values are errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import yaml

from paddock.kube.meta import Manifest
from paddock.manifests.inside import Inside, find_in_text, is_copy, is_training
from paddock.manifests.scalars import NOT_OF_TAG, NULL, PLAIN, TAG, read_tagged
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, quoted, told, wrong

_LONGEST_PATH = 1_000
MOST_ALIASED_VALUES = 10_000
"""The limit of values that all aliases of one document expand to."""


class Position(NamedTuple):
    """The position of a field in its text, from 1: line and column of its name, and the column of its value if that is
    in the same line, else the name's."""

    line: int
    column: int
    value_column: int


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest of a text."""

    manifest: Manifest = field(default_factory=dict)
    """With `problems`, the readable part, if any."""
    places: Mapping[str, Position] = field(default_factory=dict)
    """The position of each path (`spec.worker.replicas`)."""
    line: int = 1
    """Its first line."""
    problems: tuple[Problem, ...] = ()
    inside: tuple[Inside, ...] = ()
    """Training jobs embedded in its fields."""

    def position_of(self, path: str) -> Position:
        """The position of `path`, or of its nearest ancestor that exists."""
        if path not in self.places:
            path = path[:_LONGEST_PATH]  # a name may have a million dots
        while path and path not in self.places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get(path, Position(self.line, 1, 1))

    def line_of(self, path: str) -> int:
        return self.position_of(path).line


def is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == PLAIN and node.value in NULL


class _Unreadable(Exception):
    """Stops the parsing of one document; its problem is already in the list."""


class DocumentReader:
    """Converts the nodes of one document to values, with their positions and problems."""

    def __init__(self) -> None:
        self.places: dict[str, Position] = {}
        self.problems: list[Problem] = []
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._aliased = 0
        self._inside: list[Inside] = []

    def document(self, node: yaml.Node) -> Document:
        line = node.start_mark.line + 1
        try:
            value = self._value(node, "", aliased=False)
        except _Unreadable:
            value = {}
        if not isinstance(value, dict):
            allowed = phrase("a mapping with apiVersion and kind")
            self.problems = [replace(wrong("", value, allowed), line=line, column=node.start_mark.column + 1)]
            value = {}
        inside = tuple(sorted(self._inside, key=lambda each: each.line))
        return Document(value, self.places, line, tuple(self.problems), inside)

    def _note(self, path: str, said: Phrase, node: yaml.Node) -> None:
        mark = node.start_mark
        self.problems.append(told(path, said, line=mark.line + 1, column=mark.column + 1))

    def _value(self, node: yaml.Node, path: str, *, aliased: bool) -> Any:
        aliased = aliased or id(node) in self._seen
        self._aliased += aliased
        if self._aliased > MOST_ALIASED_VALUES:
            said = phrase(
                "aliases stand for more than {most} values, which is refused: write out what is needed",
                most=MOST_ALIASED_VALUES,
            )
            self._note(path, said, node)
            raise _Unreadable
        if id(node) in self._open:
            self._note(path, phrase("an alias refers to what it is a part of"), node)
            raise _Unreadable
        self._seen.add(id(node))
        self._open.add(id(node))
        try:
            return self._read(node, path, aliased)
        finally:
            self._open.discard(id(node))

    def _read(self, node: yaml.Node, path: str, aliased: bool) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, aliased)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(each, join_path(path, index), aliased) for index, each in enumerate(node.value)]
        return self._scalar(node, path)

    def _item(self, node: yaml.Node, path: str, aliased: bool) -> Any:
        mark = node.start_mark
        self.places.setdefault(path, Position(mark.line + 1, mark.column + 1, mark.column + 1))
        return self._value(node, path, aliased=aliased)

    def _mapping(self, node: yaml.MappingNode, path: str, aliased: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag == PLAIN and key_node.value == "<<":
                merged = self._merged(value_node, path, aliased) | merged
                continue
            key = self._key(key_node, path)
            here = join_path(path, key)
            line = key_node.start_mark.line + 1
            if key in first:
                self._note(here, phrase("is given twice, first in line {line}", line=first[key]), key_node)
            first.setdefault(key, line)
            # of equal keys the last one's value counts, and its place; where all are empty (in a manifest without any
            # indentation) the fields below the first one are the ones that were its own
            if not (key in result and result[key] is None and is_empty(value_node)):
                self.places[here] = _position(key_node, value_node)
            result[key] = self._value(value_node, here, aliased=aliased)
        result = merged | result
        version, kind = result.get("apiVersion"), result.get("kind")
        # a reference to a job (ownerReferences) has its kind, but neither spec nor metadata
        is_job = is_training(version, kind) and ("spec" in result or "metadata" in result)
        if path and is_job and not is_copy(path):
            self._inside.append(Inside(str(kind), str(version), path, node.start_mark.line + 1))
        return result

    def _merged(self, node: yaml.Node, path: str, aliased: bool) -> dict[str, Any]:
        """The fields that `<<:` merges: of a mapping, or of a list of mappings, in which the first takes precedence."""
        value = self._value(node, path, aliased=aliased)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self._note(path, phrase("<< takes the fields of a mapping, like <<: *name, and there is none"), node)
            raise _Unreadable
        return {key: item for part in reversed(parts) for key, item in part.items()}

    def _key(self, node: yaml.Node, path: str) -> str:
        key = self._scalar(node, path) if isinstance(node, yaml.ScalarNode) else None
        if key is None:
            self._note(path, phrase("a key is nothing, a list or a mapping; a key is text"), node)
            raise _Unreadable
        if isinstance(key, bool):
            return "true" if key else "false"
        return str(key)

    def _scalar(self, node: yaml.Node, path: str) -> Any:
        value = read_tagged(node.tag, node.value)
        if value is NOT_OF_TAG or (isinstance(value, float) and not math.isfinite(value)):
            kind = phrase("a number in JSON") if value is not NOT_OF_TAG else node.tag.replace(TAG, "!!")
            self._note(path, phrase("found {found}, which is not {kind}", found=quoted(node.value), kind=kind), node)
            return None
        if isinstance(value, str) and "apiVersion" in value and not is_copy(path):
            self._note_inside(path, value, node)
        return value

    def _note_inside(self, path: str, text: str, node: yaml.Node) -> None:
        """Records the jobs in a text. In a block scalar (`|`) they begin in the lines below the field."""
        is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        line = node.start_mark.line + (2 if is_block else 1)
        for version, kind, position in find_in_text(text):
            down = text.count("\n", 0, position) if is_block else 0
            self._inside.append(Inside(kind, version, path, line + down, is_text=True))


def _position(key: yaml.Node, value: yaml.Node) -> Position:
    line, column = key.start_mark.line, key.start_mark.column
    same = isinstance(value, yaml.ScalarNode) and value.start_mark.line == line
    return Position(line + 1, column + 1, (value.start_mark.column if same else column) + 1)
