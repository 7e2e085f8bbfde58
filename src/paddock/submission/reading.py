"""The text of a manifest file -> its documents as they are sent, and every problem of it: the one reader of all that
submit, check, explain or render a manifest. Pure: `cli.submit.manifest_files` reads files, `console.forms` has a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paddock.kube.meta import Key, Resource
from paddock.launches.reading import ReadFile, decode_script, is_script
from paddock.manifests.bounds import Bounds
from paddock.preflight import Document, check_together, find_api, read_bytes, read_documents
from paddock.preflight.datasets import examine_document
from paddock.preflight.scripts import check_encoding, check_named_scripts, check_script
from paddock.submission.documents import Checked, is_known, place_document
from paddock.submission.other_files import explain_other_file, find_batch
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


@dataclass(frozen=True, slots=True)
class Reading:
    """One file."""

    file: str
    """As it is printed: `stdin`, a path; empty for a text of the console."""
    documents: tuple[Document, ...] = ()
    """As they are written."""
    problems: tuple[Problem, ...] = ()
    """Errors and warnings, in the order of the lines."""
    placed: tuple[Checked, ...] = ()
    """The documents without errors, as they are sent; without those of kinds that nobody here knows."""
    launches: int | None = None
    """Commands that start a launcher, of a shell script; None for manifests."""

    @property
    def wrong(self) -> bool:
        """Whether a problem is an error: then none of the documents may be sent."""
        return any(problem.severity == "error" for problem in self.problems)


def read_manifests(file: str, data: bytes, namespace: str, read_file: ReadFile | None = None) -> Reading:
    """A file of manifests. `namespace`: of documents that name none; `read_file`: the text of a script that a command
    names, where it is on this machine. Never raises."""
    documents = read_bytes(data)
    if other := explain_other_file(file, decode_script(data), documents):
        return Reading(file, documents, (other,))
    return _read(file, documents, namespace, read_file)


def read_text(text: str, namespace: str, bounds: Bounds) -> Reading:
    """A text of manifests within `bounds`. Never raises."""
    documents = read_documents(text, bounds)
    if other := explain_other_file("", text, documents):
        return Reading("", documents, (other,))
    return _read("", documents, namespace)


def read_script(file: str, data: bytes, read_file: ReadFile | None = None, start: str = "") -> Reading | None:
    """A shell script, whose commands of launchers are checked; None for a file that is none. `read_file`: the text of
    another script that it runs; `start`: the directory from which `file` is seen, empty where it is no path."""
    text = decode_script(data)
    if not is_script(file, text) or "\0" in text:
        return None
    read = check_script(text, read_file, name=file if start else "", start=start)
    said = find_batch(file, text)
    batch = (told("", said, severity="warning", line=1, column=1),) if said else ()
    return Reading(file, problems=(*check_encoding(data), *batch, *read.problems), launches=read.launches)


def _read(file: str, documents: Sequence[Document], namespace: str, read_file: ReadFile | None = None) -> Reading:
    problems: list[Problem] = []
    placed: list[Checked] = []
    beside = any(find_api(document) for document in documents)
    for document, twice in zip(documents, check_together(documents, namespace), strict=True):
        examined = examine_document(document, beside=beside)
        scripts = list(check_named_scripts(document, read_file)) if read_file is not None else []
        own = (*examined.problems, *scripts, *([twice] if twice else ()))
        problems += own
        if not any(each.severity == "error" for each in own) and is_known(document.manifest):
            placed.append(place_document(file, document, namespace, examined.job))
    ordered = sorted(problems, key=lambda each: (each.line or 0, each.column or 0))
    return Reading(file, tuple(documents), tuple(ordered), tuple(placed))


def find_repeated(readings: Sequence[Reading]) -> Iterator[tuple[str, Problem]]:
    """Objects of a file that stand in an earlier one too, each with its file. Within a file they are its problems."""
    seen: dict[tuple[Resource, Key], Checked] = {}
    for reading in readings:
        for each in reading.placed:
            first = seen.get((each.resource, each.key))
            if first is not None and each.key.name:
                place = f"{first.file}:{first.document.line_of('metadata.name')}"
                said = phrase("a {kind} of this name stands in {place} already", kind=each.resource.kind, place=place)
                yield each.file, told("metadata.name", said, line=each.document.line_of("metadata.name"))
        for each in reading.placed:
            seen.setdefault((each.resource, each.key), each)
