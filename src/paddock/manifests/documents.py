"""Text -> manifests, parsed as kubectl parses YAML, with the position of every value.

No function here raises: a text that cannot be parsed is a `Document` with problems. Manifests are checked in
`preflight`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from paddock.manifests.bounds import Bounds, Meter, TooMuch
from paddock.manifests.pasted import recognise, recognise_bytes
from paddock.manifests.scalars import PLAIN, TAG
from paddock.manifests.yaml_errors import explain_yaml, recover_yaml
from paddock.manifests.yaml_nodes import Document, DocumentReader, is_empty
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told, wrong

T = TypeVar("T")


def read_documents(text: str, bounds: Bounds | None = None) -> tuple[Document, ...]:
    """At least one document; an empty text gives a document with a problem. A `kind: List` gives its items. Where the
    text passes `bounds`, its reading ends with a problem that says so."""
    text = text.removeprefix("\ufeff")
    meter = Meter(bounds) if bounds else None
    found = tuple(each for document in _compose(text, meter) for each in _unwrap(document))
    return found or (_broken(told("", phrase("there is no manifest here: the text is empty"), line=1, column=1)),)


def read_bytes(data: bytes) -> tuple[Document, ...]:
    """The documents of a file. Manifests are UTF-8, as for kubectl; another encoding gives one document with a
    problem."""
    problem = recognise_bytes(data)
    if problem is not None:
        return (_broken(problem),)
    return read_documents(data.decode("utf-8-sig"))


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
            return PLAIN if implicit[0] else f"{TAG}str"
        return f"{TAG}{'seq' if kind is yaml.SequenceNode else 'map'}"


_CParser: Any = getattr(getattr(yaml, "cyaml", None), "CParser", None)
"""libyaml's, which not every build of PyYAML has. Its recursion in C is not used: a deep text would end the process."""


class _Fast(Composer, _CParser or Parser, BaseResolver):  # type: ignore[misc]
    """The same composer on libyaml's parser, which takes an eighth of the time or less. Its mistakes are not told: it
    has other words and places for them."""

    def __init__(self, text: str) -> None:
        _CParser.__init__(self, text)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    resolve = _Loader.resolve


class _Metered(Composer):
    """Before one of the two above."""

    def __init__(self, text: str, meter: Meter) -> None:
        super().__init__(text)  # type: ignore[call-arg]
        self._meter = meter

    def compose_document(self) -> yaml.Node | None:
        self._meter.begin_document(self._mark())
        return super().compose_document()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._meter.enter(self._mark())
        node = super().compose_node(parent, index)
        self._meter.leave()
        return node

    def _mark(self) -> Any:
        event: yaml.Event = self.peek_event()  # type: ignore[attr-defined]
        return event.start_mark


class _MeteredLoader(_Metered, _Loader):
    pass


class _MeteredFast(_Metered, _Fast):
    pass


def count_values(text: str, bounds: Bounds) -> int:
    """As far as the text can be read and is within bounds."""
    meter = Meter(bounds)
    loader = _MeteredLoader(text, meter)
    with suppress(yaml.YAMLError, RecursionError, TooMuch):
        while loader.check_node():
            loader.get_node()
    return meter.values


def compose_nodes(text: str) -> list[yaml.Node]:
    """The nodes of a text's documents, for who needs their marks; none where the text is no YAML."""
    try:
        return [node for node in _nodes(text) if node is not None]
    except (yaml.YAMLError, RecursionError):
        return []


_MOST_RECOVERIES = 20
"""The number of YAML mistakes after which parsing continues; the user corrects these first."""


_MOST_RECOVERED = 32 * 1024
"""Characters of a text with bounds that is read on behind a mistake: to find where, it is parsed several times."""


def _compose(text: str, meter: Meter | None = None) -> Iterator[Document]:
    """All documents. A YAML mistake ends its document; the documents after it are still parsed."""
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented by tabs, and a string of JSON holds none
    find = cache(recognise)  # once for a text, which may have thousands of documents that ask
    told_of_json = False  # the warnings concern the whole text, and are given with its first document
    for _ in range(_MOST_RECOVERIES):
        rest = ""
        try:
            for document in _compose_all(text, meter):
                if "apiVersion" not in document.manifest and not document.inside and (found := find(text)):
                    yield _broken(found.problem)
                    rest = found.rest
                    break
                yield document if told_of_json else _with_json(document, text)
                told_of_json = True
        except (yaml.MarkedYAMLError, yaml.reader.ReaderError) as error:
            found = find(text)
            yield _broken(found.problem if found else explain_yaml(error, text))
            if meter is None or len(text) <= _MOST_RECOVERED:
                rest = found.rest if found else recover_yaml(error, text)
        except TooMuch as error:
            yield _broken(told("", error.said, line=error.mark.line + 1, column=error.mark.column + 1))
        except RecursionError:
            said = phrase("this is no manifest: it is nested hundreds of levels deep")
            yield _broken(told("", said, line=1, column=1))
        if not rest:
            return
        text = rest


def _compose_all(text: str, meter: Meter | None) -> Iterator[Document]:
    for node in _nodes(text, meter):
        if node is None or is_empty(node):
            continue
        for index, part in enumerate(_split_joined(node)):
            document = DocumentReader().document(part)
            if index:
                said = phrase("a second manifest begins here: a line with --- stands between two")
                mark = part.start_mark
                begins = told("apiVersion", said, line=mark.line + 1, column=mark.column + 1)
                document = replace(document, problems=(begins, *document.problems))
            yield document


_READ_ELSEWISE = re.compile(r"[\t\ufeff\ud800-\udfff!?]|[|>][-+0-9]*#|:\s*[,}\]]")
"""Texts with what libyaml takes where PyYAML does not, or to which it gives another value or place: tabs, marks of byte
order, halves of characters, tags, question marks, a comment at the head of a block, keys without value on one line."""


def _nodes(text: str, meter: Meter | None = None) -> Iterator[yaml.Node | None]:
    """A text that has a mistake, or passes its bounds, is read again by the parser that says where."""
    nodes = None if _CParser is None or _READ_ELSEWISE.search(text) else _try_fast(text, meter)
    if nodes is None:
        yield from _get_all(_MeteredLoader(text, meter) if meter else _Loader(text))
        return
    for node, counted in nodes:
        if meter is not None and counted is not None:
            meter.adopt(counted)
        yield node


def _try_fast(text: str, meter: Meter | None) -> list[tuple[yaml.Node | None, Meter | None]] | None:
    """All documents, each with what has been counted by then; None where there is a mistake."""
    tried = copy(meter)
    with suppress(yaml.YAMLError, TooMuch, RecursionError):
        return [(node, copy(tried)) for node in _get_all(_MeteredFast(text, tried) if tried else _Fast(text))]
    return None


def _get_all(loader: Composer) -> Iterator[yaml.Node | None]:
    while loader.check_node():
        yield loader.get_node()


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


def _broken(problem: Problem) -> Document:
    return Document(line=problem.line or 1, problems=(problem,))


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
            yield _broken(replace(problem, line=line, column=document.position_of(prefix).column))


def _group_by_item(pairs: Iterable[tuple[str, T]]) -> Mapping[str, Sequence[T]]:
    """The values by the list's item that their path lies in (`items[3]`), in one pass: a list may have thousands."""
    groups: dict[str, list[T]] = {}
    for path, value in pairs:
        item, dot, _ = path.partition("].")
        if dot:
            groups.setdefault(f"{item}]", []).append(value)
    return groups
