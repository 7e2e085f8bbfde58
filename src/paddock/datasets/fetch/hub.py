"""A repository of Hugging Face or ModelScope: the hub's own library lists it, and its files come by http.

The library runs under the interpreter that PADDOCK_HUB_PYTHON names (`programs/hub.py`), as this process has none. It
only lists: what it would fetch itself could not go on within a file after a kill, and would not be checked.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from paddock.datasets.fetch.answers import Checksum, Download
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.http import fetch_file, open_session
from paddock.datasets.fetch.listing import Entry, Listing
from paddock.datasets.fetch.meter import LISTING, Meter
from paddock.datasets.fetch.names import Patterns, show
from paddock.datasets.fetch.processes import run_program
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.transfers import fetch_all
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.datasets.fetching import HUB_PYTHON_VARIABLE, Fault, Fetched, Request
from paddock.datasets.sources import Kind, Source
from paddock.words.phrases import Phrase, phrase

LIBRARIES: Mapping[Kind, str] = {Kind.HUGGING_FACE: "huggingface_hub", Kind.MODELSCOPE: "modelscope"}
_NAMES: Mapping[Kind, str] = {Kind.HUGGING_FACE: "Hugging Face", Kind.MODELSCOPE: "ModelScope"}
_PROGRAM = Path(__file__).parent / "programs" / "hub.py"


class _Head(msgspec.Struct):
    """A line of the program that is no file."""

    revision: str = ""
    headers: dict[str, str] = {}
    failed: str = ""
    detail: str = ""


class _File(msgspec.Struct, array_like=True):
    """A file of the repository. `sha256` or `blob` says what it has; both may be empty."""

    path: str
    size: Any  # whatever the hub says; `Listing.add` refuses what cannot be one
    sha256: str  # of its content
    blob: str  # git's SHA-1 of it
    url: str


async def fetch(request: Request, source: Source, target: Target, meter: Meter, patience: Patience) -> Fetched:
    """The files of `spec.source.revision`. Raises `FetchError` and OSError."""
    listing = Listing(target.state, Patterns(request.include, request.exclude))
    try:
        head = await _list(request, source, listing, meter, Tries(meter, patience))
        async with open_session() as session:

            async def transfer(entry: Entry) -> None:
                download = _build_download(entry, head, _NAMES[source.kind])
                await fetch_file(session, download, target, meter, patience)

            await fetch_all(listing, target, meter, transfer)
        return Fetched(size=meter.done, files=meter.files, fetched=meter.fetched, revision=head.revision)
    finally:
        listing.close()


def _build_download(entry: Entry, head: _Head, hub: str) -> Download:
    algorithm, _, wanted = entry.identity.partition(":")
    checksum = None
    if algorithm == "sha256":
        checksum = Checksum(algorithm, wanted, hub)
    elif algorithm == "blob":
        checksum = Checksum("sha1", wanted, hub, b"blob %d\0" % entry.size)
    return Download(entry.key, entry.name, checksum, head.headers, entry.identity, entry.size, of_hub=True)


async def _list(request: Request, source: Source, listing: Listing, meter: Meter, tries: Tries) -> _Head:
    meter.enter(LISTING)
    while True:
        listing.clear()
        try:
            head = await _list_once(request, source, listing)
            break
        except TryAgain as problem:
            await tries.wait(problem)
    if not listing.files:
        raise FetchError(_explain_nothing(source, listing.seen))
    listing.seal()
    return head


def _explain_nothing(source: Source, seen: int) -> Phrase:
    if not seen:
        return phrase("{uri} has {count} files: correct spec.source", uri=source.shown, count=seen)
    return phrase(
        "{uri} has {count} files, and spec.source.include and exclude leave none of them: correct spec.source",
        uri=source.shown, count=seen,
    )  # fmt: skip


async def _list_once(request: Request, source: Source, listing: Listing) -> _Head:
    python = os.environ.get(HUB_PYTHON_VARIABLE, "")
    if not python:
        said = phrase(
            "{uri} needs the library {library}: name a Python that has it in the variable {variable}",
            uri=source.shown, library=LIBRARIES[source.kind], variable=HUB_PYTHON_VARIABLE,
        )  # fmt: skip
        raise FetchError(said, Fault.MACHINE)
    asked = {
        "hub": source.kind.value,
        "name": source.place,
        "kind": source.path.removesuffix("s"),
        "revision": request.revision,
        "token": request.secret.get("token", "").strip(),
        "endpoint": request.endpoint,
    }
    heads: list[_Head] = []

    def read(line: bytes) -> None:
        said = _read_line(line)
        if isinstance(said, _Head):
            heads.append(said)
        elif said is not None:
            listing.add(_build_entry(said))

    with tempfile.TemporaryDirectory(prefix="paddock-hub-") as home:
        words = python, str(_PROGRAM)
        ended = await run_program(words, _build_environ(home), given=msgspec.json.encode(asked), read_output=read)
    last = heads[-1] if heads else _Head(failed="library", detail=ended.said.strip().rpartition("\n")[2])
    if last.failed or ended.code != 0:
        raise _explain(last, source, request)
    return heads[0]


def _read_line(line: bytes) -> _Head | _File | None:
    """None for what a library prints."""
    try:
        if line.startswith(b"{"):
            return msgspec.json.decode(line, type=_Head)
        return msgspec.json.decode(line, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _build_entry(file: _File) -> Entry:
    checksum = f"sha256:{file.sha256}" if file.sha256 else f"blob:{file.blob}" if file.blob else f"url:{file.url}"
    return Entry(file.path, file.url, file.size, checksum)


def _build_environ(home: str) -> dict[str, str]:
    """What the library keeps goes into a directory that is gone at the end: no token of this machine, no cache."""
    own: dict[str, Any] = {"HF_HOME": home, "MODELSCOPE_HOME": home, "MODELSCOPE_CACHE": home, "PYTHONUTF8": "1"}
    quiet = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    dropped = ("PADDOCK_", "HF_TOKEN", "MODELSCOPE_API_TOKEN", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, **own, **quiet}


def _explain(head: _Head, source: Source, request: Request) -> Exception:
    detail, where = head.detail[:200], _name_hub(source.kind, request.endpoint)
    match head.failed:
        case "library":
            said = phrase(
                "the Python of {variable} cannot use {library} ({why}): install it there",
                variable=HUB_PYTHON_VARIABLE, library=LIBRARIES[source.kind], why=detail,
            )  # fmt: skip
            return FetchError(said, Fault.MACHINE)
        case "repository":
            return FetchError(_explain_no_repository(source, where))
        case "gated" | "refused":
            said = phrase(
                "{host} refuses {uri}: accept the terms on its page, if it has some, and give a token by a Secret that "
                "spec.source.secretName names",
                host=where, uri=source.place,
            )  # fmt: skip
            return FetchError(said)
        case "revision":
            said = phrase(
                "{uri} at {host} has no revision {name}: correct it",
                uri=source.place, host=where, name=show(request.revision),
            )  # fmt: skip
            return FetchError(said)
    return TryAgain(phrase("{host} cannot list {uri} ({why})", host=where, uri=source.place, why=detail))


def _name_hub(kind: Kind, endpoint: str) -> Phrase | str:
    if not endpoint:
        return _NAMES[kind]
    if kind is Kind.HUGGING_FACE:
        return phrase("Hugging Face at {endpoint}", endpoint=urlsplit(endpoint).netloc)
    return phrase("ModelScope at {endpoint}", endpoint=urlsplit(endpoint).netloc)


def _explain_no_repository(source: Source, where: Phrase | str) -> Phrase:
    address = f"{source.uri.partition('://')[0]}://datasets/"
    if source.path == "datasets":
        return phrase(
            "{host} has no dataset {uri} that anybody may see: correct spec.source.uri (a dataset begins with "
            "{address}), or give a token by spec.source.secretName",
            host=where, uri=source.place, address=address,
        )  # fmt: skip
    return phrase(
        "{host} has no model {uri} that anybody may see: correct spec.source.uri (a dataset begins with {address}), or "
        "give a token by spec.source.secretName",
        host=where, uri=source.place, address=address,
    )  # fmt: skip
