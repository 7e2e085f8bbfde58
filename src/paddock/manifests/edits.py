"""A value of a manifest's text, set or taken out, with every other byte of the text as it was. Pure.

For forms beside a text: a field that is changed in the form is changed in the text, where its comments, its order and
its quotes stay. The text is composed as `manifests.documents` composes it; only marks are used, and
nothing is dumped but the new value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from paddock.manifests.documents import compose_nodes, read_documents
from paddock.manifests.yaml_nodes import is_empty
from paddock.words.phrases import Phrase, phrase

Step = str | int
Path = Sequence[Step]
"""`("spec", "worker", "replicas")`; a number is the place in a list, at most its length: then the value is added."""

_PLAIN = re.compile(r"[^\W\d][\w ./:+-]*|/[\w ./:+-]*")
"""What begins as no number does, of which YAML has many forms; names, images, paths and words are among these."""


_WHITE = " \t\r\n"
"""YAML's white space: other spaces of Unicode, such as a no-break space, are text."""


class CannotEdit(Exception):
    """The text cannot be edited at that place; the phrase says why. The user edits the text."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class _Found:
    """The deepest node of a path that exists."""

    node: yaml.Node
    key: yaml.Node | None
    parent: yaml.CollectionNode | None
    """The collection that holds it."""
    rest: tuple[Step, ...]
    """What is missing below."""


def set_value(text: str, path: Path, value: Any, document: int = 0) -> str:
    """The text with `value` at `path` of one of its documents (from 0). What is missing on the way is made. Raises
    `CannotEdit`."""
    found = _find(_root(text, document), tuple(path))
    if found.rest:
        return _add(text, found, value)
    if found.parent is None:
        raise CannotEdit(phrase("the whole document cannot be replaced"))
    return _replace(text, found, value)


def insert_item(text: str, path: Path, value: Any, document: int = 0) -> str:
    """The text with `value` as an item of a list, before the one whose place ends `path`: not before the first. Raises
    `CannotEdit`."""
    *above, place = path
    found = _find(_root(text, document), tuple(above))
    node = found.node
    if found.rest or not isinstance(node, yaml.SequenceNode) or not isinstance(place, int) or place < 1:
        raise CannotEdit(phrase("the text has another kind of value there: edit the text"))
    if node.flow_style:
        end = _end(node.value[place - 1], text)
        return f"{text[:end]}, {_flow(value)}{text[end:]}"
    column = node.start_mark.column
    return _insert_line(text, _end(node.value[place - 1], text), " " * column + "-" + _item(value, column))


def remove_value(text: str, path: Path, document: int = 0) -> str:
    """The text without the field at `path`, its comment on the same line included; as it is where there is none."""
    found = _find(_root(text, document), tuple(path))
    if found.rest:
        return text
    if found.parent is None:
        raise CannotEdit(phrase("the whole document cannot be removed"))
    if len(found.parent.value) == 1 or found.parent.flow_style:
        return _remove_within(text, found)
    own = _own_start(text, found)
    if text[_line_start(text, own) : own].strip(_WHITE):  # behind the dash of an outer list: the next one comes there
        return text[:own] + text[_own_start(text, _sibling(found)) :]
    return text[: _line_start(text, own)] + text[_line_end(text, _end(found.node, text)) :]


def write_document(manifest: Mapping[str, Any]) -> str:
    """A manifest as the text that this module edits: blocks, in the order of its fields, texts of several lines as
    such."""
    return _block(dict(manifest), 0) + "\n"


def _own_start(text: str, found: _Found) -> int:
    """Where its key begins, or its dash."""
    if found.key is not None:
        return int(found.key.start_mark.index)
    return text.rindex("-", 0, found.node.start_mark.index)


def _sibling(found: _Found) -> _Found:
    """The second of its parent."""
    second = found.parent.value[1] if found.parent is not None else None
    key, node = second if isinstance(second, tuple) else (None, second)
    return _Found(node, key, found.parent, ())


def _root(text: str, document: int) -> yaml.Node:
    nodes = compose_nodes(text)
    if document >= len(nodes):
        raise CannotEdit(phrase("the text cannot be read: mend it first"))
    return nodes[document]


def _find(root: yaml.Node, path: tuple[Step, ...]) -> _Found:
    node: yaml.Node = root
    key: yaml.Node | None = None
    parent: yaml.CollectionNode | None = None
    seen = {id(root)}
    for place, step in enumerate(path):
        at = _child(node, step)
        if at is None or not isinstance(node, yaml.CollectionNode):
            return _Found(node, key, parent, path[place:])
        key, child = at
        # A node that an alias stands for begins where its anchor is.
        if child.start_mark.index < node.start_mark.index or id(child) in seen or _is_alias(child, node):
            raise CannotEdit(phrase("this field is shared with another one by an anchor: edit the text"))
        seen.add(id(child))
        parent, node = node, child
    return _Found(node, key, parent, ())


def _child(node: yaml.Node, step: Step) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in reversed(node.value) if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None


def _is_alias(child: yaml.Node, node: yaml.Node) -> bool:
    return not node.start_mark.index <= child.start_mark.index <= node.end_mark.index


def _replace(text: str, found: _Found, value: Any) -> str:
    node = found.node
    begin, end = node.start_mark.index, _end(node, text)
    flow = bool(found.parent is not None and found.parent.flow_style)
    column = _column(text, found)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        # A block begins on a line of its own.
        begin = _after_colon(text, found)
        return text[:begin] + _after(value, column, flow) + text[end:]
    if is_empty(node) and node.start_mark.index == node.end_mark.index:
        begin = end = _after_colon(text, found)
        return text[:begin] + _after(value, column, flow) + text[end:]
    written = _after(value, column, flow)
    return (
        text[:begin] + written.removeprefix(" ") + text[end:]
        if written.startswith(" ")
        else (text[: _after_colon(text, found)] + written + text[end:])
    )


def _add(text: str, found: _Found, value: Any) -> str:
    """Makes what is missing in the deepest node that exists."""
    step, *below = found.rest
    for each in reversed(below):
        value = {each: value} if isinstance(each, str) else [value]
    node = found.node
    fits = (
        isinstance(node, yaml.MappingNode)
        if isinstance(step, str)
        else isinstance(node, yaml.SequenceNode) and not step
    )
    if is_empty(node) or (fits and not node.value):
        if found.parent is None:
            raise CannotEdit(phrase("the text has no manifest: begin with one"))
        return _replace(text, found, {step: value} if isinstance(step, str) else [value])
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        return (
            _add_in_flow(text, node, f"{_key(step)}: {_flow(value)}")
            if node.flow_style
            else _add_key(text, node, step, value)
        )
    if isinstance(node, yaml.SequenceNode) and step == len(node.value):
        return _add_in_flow(text, node, _flow(value)) if node.flow_style else _add_item(text, node, value)
    raise CannotEdit(phrase("the text has another kind of value there: edit the text"))


def _add_key(text: str, node: yaml.MappingNode, name: str, value: Any) -> str:
    column = node.value[0][0].start_mark.column
    return _insert_line(text, _end(node, text), " " * column + _key(name) + ":" + _after(value, column, False))


def _add_item(text: str, node: yaml.SequenceNode, value: Any) -> str:
    column = node.start_mark.column
    return _insert_line(text, _end(node, text), " " * column + "-" + _item(value, column))


def _add_in_flow(text: str, node: yaml.CollectionNode, written: str) -> str:
    end = _end(node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1], text)
    return f"{text[:end]}, {written}{text[end:]}"


def _insert_line(text: str, place: int, line: str) -> str:
    """After the line of `place`: a comment at its end stays there."""
    end = _line_end(text, place)
    newline = "" if end == 0 or text[end - 1] == "\n" else "\n"
    return text[:end] + newline + line + "\n" + text[end:]


def _remove_within(text: str, found: _Found) -> str:
    """The last field of its parent goes with it: `{}` or `[]` stands there; in flow style, its comma goes too."""
    parent = found.parent
    if parent is None:
        return text
    if len(parent.value) == 1:
        empty = "{}" if isinstance(parent, yaml.MappingNode) else "[]"
        begin = parent.start_mark.index
        if not parent.flow_style:
            begin = len(text[:begin].rstrip(_WHITE))
            empty = " " + empty if begin else empty
        return text[:begin] + empty + text[_end(parent, text) :]
    begin, end = (found.key or found.node).start_mark.index, _end(found.node, text)
    after = text[end:].lstrip(_WHITE)
    if after.startswith(","):
        return text[:begin] + after[1:].lstrip(_WHITE)
    return text[: text.rindex(",", 0, begin)] + text[end:]


def _column(text: str, found: _Found) -> int:
    """The column of the key, or of the item, under which a block is indented."""
    if found.key is not None:
        return int(found.key.start_mark.column)
    return int(found.parent.start_mark.column) if found.parent is not None else 0


def _after_colon(text: str, found: _Found) -> int:
    """Just behind `key:`, or behind the dash of an item."""
    if found.key is not None:
        return text.index(":", _end(found.key, text)) + 1
    return _own_start(text, found) + 1


def _end(node: yaml.Node, text: str) -> int:
    """Where a node's own text ends. A block collection's mark is at the next token, behind comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        if isinstance(node, yaml.SequenceNode):
            return max(_end(last, text), node.start_mark.index)
        key, value = last
        if value.start_mark.index < key.start_mark.index or (is_empty(value) and _is_bare(value)):
            return _line_content_end(text, _end(key, text))
        return _end(value, text)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return len(text[: node.end_mark.index].rstrip(_WHITE))
    return int(node.end_mark.index)


def _is_bare(node: yaml.Node) -> bool:
    return bool(node.start_mark.index == node.end_mark.index)


def _line_content_end(text: str, place: int) -> int:
    """The end of `key:` or `key: *alias`, without a comment."""
    line = text[place : _line_end(text, place)].split(" #")[0]
    return place + len(line.rstrip(_WHITE))


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line_end(text: str, place: int) -> int:
    """Behind the newline of this line, or the end of the text."""
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _after(value: Any, column: int, flow: bool) -> str:
    """What comes behind `key:`."""
    if isinstance(value, dict | list) and value and not flow:
        return "\n" + _block(value, column + 2)
    if isinstance(value, str) and "\n" in value and not flow and _fits_block(value):
        return _literal(value, column + 2)
    return " " + _flow(value)


def _block(value: Any, column: int) -> str:
    """A collection that is not empty, from its first line's indentation to the end of its last line."""
    indent = " " * column
    if isinstance(value, dict):
        return "\n".join(f"{indent}{_key(name)}:{_after(each, column, False)}" for name, each in value.items())
    return "\n".join(f"{indent}-{_item(each, column)}" for each in value)


def _item(value: Any, column: int) -> str:
    """What comes behind a dash."""
    if isinstance(value, dict | list) and value:
        return " " + _block(value, column + 2)[column + 2 :]
    return _after(value, column, False)


def _fits_block(value: str) -> bool:
    """Whether a literal block says exactly this."""
    printable = all(sign == "\n" or sign == "\t" or sign.isprintable() for sign in value)
    return printable and not value.startswith((" ", "\n", "\t")) and bool(value.strip()) and "\t\n" not in value


def _literal(value: str, column: int) -> str:
    body = value.rstrip("\n")
    kept = len(value) - len(body)
    chomp = {0: "-", 1: ""}.get(kept, "+")
    lines = [" " * column + line if line else "" for line in body.split("\n")] + [""] * max(0, kept - 1)
    return f" |{chomp}\n" + "\n".join(lines)


def _flow(value: Any) -> str:
    """On one line."""
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)}: {_flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return _scalar(name)


def _scalar(value: str) -> str:
    """Plain where that is read as the same text, as `manifests.yaml_nodes` reads it; else in quotes."""
    plain = _PLAIN.fullmatch(value) and read_documents(f"a: {value}")[0].manifest == {"a": value}
    return value if plain else json.dumps(value, ensure_ascii=False)
