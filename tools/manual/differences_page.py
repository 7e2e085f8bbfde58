"""docs/differences.md: the differences of `manual.differences`, as tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from manual.differences import DIFFERENCES, Difference, Sort
from manual.reference.markdown import join, prose, table
from manual.reference.reader import Reader

TITLE = "The API of a laptop and that of Kubernetes"
HEAD = (
    "On a laptop Paddock serves a small Kubernetes API of its own. A corpus of requests is sent to it and to a real "
    "kube-apiserver (`tests/apiserver/conformance`), and the answers are compared: statuses, objects, the fields "
    "and reasons "
    "of errors, warnings, events. These are all the differences that are known. A test fails at one that is not "
    "here, and at "
    "one that is here and is gone."
)
RECORDED = (
    "The answers of the real server are those of Kubernetes 1.20, which the tests build. Where a newer release "
    "has another "
    "rule, that rule is served, and its release is told."
)
WORDS = (
    "The sentences of errors are often Paddock's own, as they say more: which field, what was found, what is "
    "allowed, the "
    "nearest right name. Reasons, codes and fields are Kubernetes'. `goldens/own_words.json` beside the corpus "
    "has each."
)
SECTIONS: Mapping[Sort, str] = {
    Sort.WANTED: "Wanted",
    Sort.NEWER: "Rules of newer releases",
    Sort.NOT_DONE: "Not done",
}


def build_differences_page(reader: Reader) -> str:
    """The page in the reader's language."""
    head = [reader.say(text) for text in (HEAD, RECORDED, WORDS)]
    return join([f"# {reader.say(TITLE)}", *head, *_build_sections(reader)])


def _build_sections(reader: Reader) -> Iterator[str]:
    for sort, caption in SECTIONS.items():
        yield f"## {reader.say(caption)}"
        columns = ("On the laptop", "In Kubernetes", "Why", *(("Since",) if sort is Sort.NEWER else ()))
        rows = [_build_row(each, reader) for each in _merge(sort)]
        yield table([reader.say(name) for name in columns], rows)


def _build_row(difference: Difference, reader: Reader) -> list[str]:
    told = [prose(reader.say(text)) for text in (difference.here, difference.there, difference.why)]
    return [*told, difference.since] if difference.sort is Sort.NEWER else told


def _merge(sort: Sort) -> Iterator[Difference]:
    """One of those that are told alike and differ in their parts."""
    told: dict[tuple[str, str], Difference] = {}
    for each in DIFFERENCES:
        if each.sort is sort:
            told.setdefault((each.here, each.there), each)
    return iter(told.values())
