"""Text -> manifests, parsed as kubectl parses YAML, with the position of every value.

kubectl reads YAML 1.1 as Go's yaml.v2 does: plain `on`, `y` and `No` are booleans, `017` is 15, `08` is 8, `1e3` is
1000, and `1:30`, dates and `=` stay text. PyYAML's resolvers differ, so only its composer is used, and scalars are
converted by the table below, which was measured with kubectl. Two rules are stricter than kubectl's: duplicate keys and
aliases that expand to very many values are errors.

No function here raises: a text that cannot be parsed is a `Document` with problems. Manifests are checked in
`jobs.preflight`.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from paddock.jobs.reading.inside import Inside, find_in_text, is_copy, is_training
from paddock.jobs.reading.pasted import recognise, recognise_bytes
from paddock.jobs.reading.yaml_errors import explain_yaml, recover_yaml
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.jobs.text.problems import Problem
from paddock.jobs.text.sentences import join_path, quoted, told, wrong
from paddock.kube.meta import Manifest

T = TypeVar("T")

MOST_ALIASED_VALUES = 10_000
"""The limit of values that all aliases of one document expand to."""

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", re.ASCII)
_INTEGERS = (
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)"), 10),
)


class Place(NamedTuple):
    """The position of a field in its text, from 1: line and column of its name, and the column of its value if that is
    in the same line, else the name's."""

    line: int
    column: int
    value_column: int


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest of a text. `places`: the position of each path (`spec.worker.replicas`); `line`: its first line.

    With `problems`, `manifest` has the readable part, if any. `inside`: training jobs embedded in its fields.
    """

    manifest: Manifest = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    line: int = 1
    problems: tuple[Problem, ...] = ()
    inside: tuple[Inside, ...] = ()

    def place_of(self, path: str) -> Place:
        """The position of `path`, or of its nearest ancestor that exists."""
        while path and path not in self.places:
            path = re.sub(r"(\.?[^.\[\]]+|\[[^\]]*\]|.)$", "", path)
        return self.places.get(path, Place(self.line, 1, 1))

    def line_of(self, path: str) -> int:
        return self.place_of(path).line


def read_documents(text: str) -> tuple[Document, ...]:
    """At least one document; an empty text gives a document with a problem. A `kind: List` gives its items."""
    text = text.removeprefix("\ufeff")
    found = tuple(each for document in _compose(text) for each in _unwrap(document))
    return found or (_broken(told("", phrase("there is no manifest here: the text is empty"), line=1, column=1)),)


def read_bytes(data: bytes) -> tuple[Document, ...]:
    """The documents of a file. Manifests are UTF-8, as for kubectl; another encoding gives one document with a
    problem."""
    problem = recognise_bytes(data)
    if problem is not None:
        return (_broken(problem),)
    return read_documents(data.decode("utf-8-sig"))


def read_scalar(text: str) -> Any:
    """kubectl's value of an unquoted scalar: None, bool, int, float or the text itself. 1.0 and 1e3 are integers, as
    kubectl converts numbers to JSON in Go."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INFINITE.fullmatch(text):
        return math.nan if "n" in text[-1].lower() else math.copysign(math.inf, -1 if text[0] == "-" else 1)
    if text[0] not in "+-.0123456789":
        return text
    return _read_number(text)


def _read_number(text: str) -> Any:
    plain = text.replace("_", "")
    for form, radix in _INTEGERS:
        if (match := form.fullmatch(plain)) and len(plain) < 70:
            return _as_json(int(match[1] + match[2], radix))
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return text if math.isinf(number) else _as_json(number)
    return text


def _as_json(number: int | float) -> int | float:
    """Whole numbers of 64 bits as integers, all others as floats."""
    whole = isinstance(number, int) or number.is_integer()
    return int(number) if whole and -(2**63) <= number < 2**63 else float(number)


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """PyYAML's composer without its resolver: scalars stay text."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else f"{_TAG}str"
        return f"{_TAG}{'seq' if kind is yaml.SequenceNode else 'map'}"


_MOST_RECOVERIES = 20
"""The number of YAML mistakes after which parsing continues; the user corrects these first."""


def _compose(text: str) -> Iterator[Document]:
    """All documents. A YAML mistake ends its document; the documents after it are still parsed."""
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented by tabs, and a string of JSON holds none
    find = cache(recognise)  # once for a text, which may have thousands of documents that ask
    told_of_json = False  # the warnings concern the whole text, and are given with its first document
    for _ in range(_MOST_RECOVERIES):
        rest = ""
        try:
            for document in _compose_all(text):
                if "apiVersion" not in document.manifest and not document.inside and (found := find(text)):
                    yield _broken(found.problem)
                    rest = found.rest
                    break
                yield document if told_of_json else _with_json(document, text)
                told_of_json = True
        except (yaml.MarkedYAMLError, yaml.reader.ReaderError) as error:
            found = find(text)
            yield _broken(found.problem if found else explain_yaml(error, text))
            rest = found.rest if found else recover_yaml(error, text)
        except RecursionError:
            said = phrase("this is no manifest: it is nested hundreds of levels deep")
            yield _broken(told("", said, line=1, column=1))
        if not rest:
            return
        text = rest


def _compose_all(text: str) -> Iterator[Document]:
    loader = _Loader(text)
    while loader.check_node():
        node = loader.get_node()
        if node is None or _is_empty(node):
            continue
        for index, part in enumerate(_split_joined(node)):
            document = _DocumentReader().document(part)
            if index:
                said = phrase("a second manifest begins here: a line with --- stands between two")
                mark = part.start_mark
                begins = told("apiVersion", said, line=mark.line + 1, column=mark.column + 1)
                document = replace(document, problems=(begins, *document.problems))
            yield document


def _split_joined(node: yaml.Node) -> Iterator[yaml.Node]:
    """Splits a mapping where `---` is missing: at a second apiVersion that follows apiVersion and kind."""
    if not isinstance(node, yaml.MappingNode):
        yield node
        return
    part: list[tuple[yaml.Node, yaml.Node]] = []
    keys: set[Any] = set()
    for key, value in node.value:
        if key.value == "apiVersion" and {"apiVersion", "kind"} <= keys:
            yield yaml.MappingNode(node.tag, part, part[0][0].start_mark, key.start_mark)
            part, keys = [], set()
        part.append((key, value))
        keys |= {key.value} if isinstance(key, yaml.ScalarNode) else set()
    start = part[0][0].start_mark if part and len(part) < len(node.value) else node.start_mark
    yield yaml.MappingNode(node.tag, part, start, node.end_mark)


def _with_json(document: Document, text: str) -> Document:
    """Adds warnings to a text that begins with {, which kubectl parses as JSON: each comma before a closing bracket,
    then the first other JSON error."""
    if not text.lstrip().startswith("{"):
        return document
    commas = [match for match in _LAST_COMMA.finditer(text) if match["end"]]
    plain = text
    warnings = []
    for match in commas:
        said = phrase('"," before "{end}" is not allowed in JSON: kubectl refuses it', end=match["end"])
        warnings.append(_warn(said, text, match.start()))
        plain = f"{plain[: match.start()]} {plain[match.start() + 1 :]}"
    try:
        json.loads(plain)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            said = phrase("a file that begins with {brace} is JSON, and this is none: kubectl refuses it", brace="{")
            warnings.append(_warn(said, text, error.pos))
    return replace(document, problems=(*document.problems, *warnings))


_LAST_COMMA = re.compile(r'"(?:\\.|[^"\\])*+"|,\s*(?P<end>[}\]])', re.DOTALL)
"""A comma before a closing bracket; the first alternative skips quoted texts."""


def _warn(said: Phrase, text: str, position: int) -> Problem:
    before = text[:position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return told("", said, severity="warning", line=line, column=column)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _PLAIN and node.value in _NULL


def _broken(problem: Problem) -> Document:
    return Document(line=problem.line or 1, problems=(problem,))


class _Unreadable(Exception):
    """Stops the parsing of one document; its problem is already in the list."""


class _DocumentReader:
    """Converts the nodes of one document to values, with their positions and problems."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
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
        self.places.setdefault(path, Place(mark.line + 1, mark.column + 1, mark.column + 1))
        return self._value(node, path, aliased=aliased)

    def _mapping(self, node: yaml.MappingNode, path: str, aliased: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag == _PLAIN and key_node.value == "<<":
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
            if not (key in result and result[key] is None and _is_empty(value_node)):
                self.places[here] = _place(key_node, value_node)
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
        value = _read_tagged(node.tag, node.value)
        if value is _NOT_OF_TAG or (isinstance(value, float) and not math.isfinite(value)):
            kind = phrase("a number in JSON") if value is not _NOT_OF_TAG else node.tag.replace(_TAG, "!!")
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


def _place(key: yaml.Node, value: yaml.Node) -> Place:
    line, column = key.start_mark.line, key.start_mark.column
    same = isinstance(value, yaml.ScalarNode) and value.start_mark.line == line
    return Place(line + 1, column + 1, (value.start_mark.column if same else column) + 1)


_NOT_OF_TAG = object()


def _read_tagged(tag: str, text: str) -> Any:
    """The value of a tagged scalar (`!!int "5"`); an unknown tag means text, as with kubectl."""
    if tag == _PLAIN:
        return read_scalar(text)
    name = tag.removeprefix(_TAG)
    if name == "binary":
        try:
            return base64.b64decode(text).decode()
        except (binascii.Error, ValueError):
            return _NOT_OF_TAG
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(name)
    if wanted is None:
        return text
    value = read_scalar(text)
    if wanted is float and type(value) is int:
        return value
    return value if type(value) is wanted else _NOT_OF_TAG


def _unwrap(document: Document) -> Iterator[Document]:
    items = document.manifest.get("items")
    if not str(document.manifest.get("kind")).endswith("List") or not isinstance(items, list):
        yield document
        return
    places = _group_by_item((path, (path, place)) for path, place in document.places.items())
    problems = _group_by_item((each.path, each) for each in document.problems)
    inside = _group_by_item((each.path, each) for each in document.inside)
    # problems outside of all items go to the first
    outside = tuple(each for each in document.problems if not each.path.startswith("items["))
    for index, item in enumerate(items):
        prefix = f"items[{index}]"
        cut = len(prefix) + 1
        line = document.line_of(prefix)
        if isinstance(item, dict):
            own = tuple(replace(each, path=each.path[cut:]) for each in problems.get(prefix, ()))
            part = Document(
                item,
                {path[cut:]: place for path, place in places.get(prefix, ())},
                line,
                own + (outside if index == 0 else ()),
                tuple(each._replace(path=each.path[cut:]) for each in inside.get(prefix, ())),
            )
            yield from _unwrap(part)
        else:
            problem = wrong(prefix, item, phrase("a manifest"))
            yield _broken(replace(problem, line=line, column=document.place_of(prefix).column))


def _group_by_item(pairs: Iterable[tuple[str, T]]) -> Mapping[str, Sequence[T]]:
    """The values by the list's item that their path lies in (`items[3]`), in one pass: a list may have thousands."""
    groups: dict[str, list[T]] = {}
    for path, value in pairs:
        item, dot, _ = path.partition("].")
        if dot:
            groups.setdefault(f"{item}]", []).append(value)
    return groups
