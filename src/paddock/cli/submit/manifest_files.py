"""The files of manifests that a command names: read, once, with every problem of all of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import readers_language
from paddock.cli.output.terminal import stderr
from paddock.cli.submit.manifest_directories import explain_directory
from paddock.cli.submit.named_files import find_scripts, list_places
from paddock.preflight import format_problem
from paddock.submission.documents import Checked
from paddock.submission.reading import Reading, find_repeated, read_manifests, read_script
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import counted, phrase
from paddock.words.sentences import told

LARGEST = 8 * 2**20
"""Bytes of a manifest file: more is a wrong file (a checkpoint, a log)."""
_LARGE = phrase("larger than {most} MiB: this is no manifest", most=LARGEST >> 20)


def fetch_reading(file: str, namespace: str) -> Reading:
    """A manifest or a shell script, `-` for standard input; also of a file that cannot be read. `namespace`: of
    documents that name none."""
    shown = _show(file)
    try:
        data = _fetch(file)
    except IsADirectoryError:
        return Reading(shown, problems=(told("", explain_directory(Path(file))),))
    except OSError as error:
        return Reading(shown, problems=(told("", phrase("cannot be read: {why}", why=explain_unreadable(error))),))
    if len(data) > LARGEST:
        return Reading(shown, problems=(told("", _LARGE),))
    start = "" if file == "-" else str(Path.cwd())
    return read_script(shown, data, find_scripts(list_places(file)), start) or _read_manifests(file, data, namespace)


def fetch_checked(files: Sequence[str], namespace: str) -> list[Checked]:
    """The documents of files that are sent together. Raises `UserError` with all problems of all files at once, and at
    once for a file that cannot be read; warnings on stderr."""
    readings = [_fetch_manifests(file, namespace) for file in files]
    found = [(reading.file, each) for reading in readings for each in reading.problems]
    language = readers_language()
    for file, each in found:
        if each.severity != "error":
            stderr().print(format_problem(each, file, language))
    errors = [(file, each) for file, each in found if each.severity == "error"]
    wrong = [format_problem(each, file, language) for file, each in (*errors, *find_repeated(readings))]
    if wrong:
        nothing = counted(
            "{count} problem; nothing was submitted", "{count} problems; nothing was submitted", count=len(wrong)
        )
        raise UserError(*wrong, nothing)
    return [each for reading in readings for each in reading.placed]


def _fetch_manifests(file: str, namespace: str) -> Reading:
    try:
        data = _fetch(file)
    except IsADirectoryError:
        raise UserError(phrase("{option}: {problem}", option=file, problem=explain_directory(Path(file)))) from None
    except OSError as error:
        said = phrase("{file}: {why}; a manifest in YAML or JSON is wanted", file=file, why=explain_unreadable(error))
        raise UserError(said) from error
    if len(data) > LARGEST:
        raise UserError(phrase("{option}: {problem}", option=file, problem=_LARGE))
    return _read_manifests(file, data, namespace)


def _read_manifests(file: str, data: bytes, namespace: str) -> Reading:
    return read_manifests(_show(file), data, namespace, find_scripts(list_places(file)))


def _show(file: str) -> str:
    return "stdin" if file == "-" else file


def _fetch(file: str) -> bytes:
    """At most one byte more than `LARGEST`. Raises OSError."""
    if file == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    with Path(file).open("rb") as stream:
        return stream.read(LARGEST + 1)
