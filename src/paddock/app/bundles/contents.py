"""What a bundle has: values, and how much there may be of each. Pure.

    README.txt             for a person: what is inside, what was cut and hidden
    bundle.json            `Head`
    objects/NAME.json      an `Answer` for each kind that was asked for
    history.json           the records of the runs of this name (`history.records`)
    documents.json         documents of the API by their path: the stacks of the local cluster's pods; and the sets of
                           packages of the runs
    logs/NAME.log          what a rank printed, as its `LogEntry` in bundle.json says

It is the copy of a server and of a machine's history, as far as `paddock explain` and `paddock doctor` ask for it. Both
read it through `app.bundles.client` and `app.bundles.kept` and know nothing of it, so they say what they would have
said then and there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from paddock.history.records import RunRecord
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment
from paddock.words.shortage import Shortage

FORMAT = 1
FIRST_BYTES, LAST_BYTES = 64 << 10, 256 << 10
"""Of the beginning and of the end of each log."""
MOST_WHOLE = 64
"""Logs of which that much is kept; of others the last `LEAST_BYTES`."""
LEAST_BYTES = 16 << 10
LOG_BYTES = 24 << 20
"""Of all logs together."""
OBJECT_BYTES = 6 << 20
"""Of all objects together, without the logs; and as much of the history and of the stacks together."""
MOST_LOGS = MOST_WHOLE + (LOG_BYTES - MOST_WHOLE * (FIRST_BYTES + LAST_BYTES)) // LEAST_BYTES
"""Logs for which there is room then."""
MOST_MARKS = 4096


class LogEntry(msgspec.Struct, frozen=True):
    """The log of a rank. Its file has the first `first` bytes of what is kept, then a line that tells of the gap, then
    the last `last` bytes."""

    file: str
    pod: str
    job_uid: str
    role: str
    index: int
    attempt: int
    size: int
    """In bytes; of one with a gap that an API's server gave, what is kept of it."""
    pod_uid: str = ""
    first: int = 0
    last: int = 0
    """Bytes."""
    left_out: int | None = None
    """Bytes between the two parts, 0 where nobody knows how many; None without a gap."""
    modified: Moment = 0.0
    """When it was printed into last."""
    stamped: bool = False
    """It came from an API, with a time before each line; else from a file."""
    marks: tuple[tuple[int, Moment], ...] = ()
    """When its end was printed: see `kube.log_marks`."""


class JobName(msgspec.Struct, frozen=True):
    """The job of a bundle."""

    namespace: str
    name: str
    kind: str = ""
    api_version: str = ""
    uid: str = ""


class Place(msgspec.Struct, frozen=True):
    """Where the job was."""

    local: bool = True
    context: str = ""
    kubeconfig: str = ""
    """As typed, for the commands that are advised."""
    namespace: str = "default"
    """The default one of the context."""


class Room(msgspec.Struct, frozen=True):
    """What the nodes and pods of a cluster showed of the room that the job waited for (`views.rooms`). The pods of
    others are no part of a bundle, so it has what was computed of them."""

    shortage: dict[str, Any] | None = None
    """A `Shortage`; its fractions are text."""
    unseen: str = ""
    """The right that the reader lacked: `list nodes`."""


_AMOUNT = re.compile(r"\d{1,30}(?:/\d{1,30})?")


def write_shortage(shortage: Shortage) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(shortage, enc_hook=str)
    return found


def read_shortage(document: Mapping[str, Any]) -> Shortage:
    """Raises `msgspec.ValidationError` for what is none: a stranger may have written it."""

    def read(kind: type, value: object) -> Fraction:
        if kind is not Fraction or not isinstance(value, str) or not _AMOUNT.fullmatch(value):
            raise ValueError("not an amount")
        return Fraction(value)

    return msgspec.convert(document, Shortage, dec_hook=read)


class Head(msgspec.Struct, frozen=True):
    """`bundle.json`."""

    format: int
    paddock: str
    """Its version."""
    made: Moment
    job: JobName
    place: Place = Place()
    machine: Mapping[str, str] = {}
    """Names and versions of the machine on which the bundle was made."""
    logs: tuple[LogEntry, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences in English: what was cut, hidden, and what could not be read."""
    room: Room | None = None
    """None on a laptop, and where the job did not wait for room."""


class Answer(msgspec.Struct):
    """What an API answered about one kind."""

    api_version: str
    plural: str
    items: list[dict[str, Any]] = []
    code: int = 0
    """Of the error of a list; 0 without one."""
    reason: str = ""
    message: str = ""
    absent: dict[str, int] = {}
    """The codes of the errors of single objects, by `NAMESPACE/NAME`."""


@dataclass(slots=True)
class Bundle:
    """A bundle in memory."""

    head: Head
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    """By apiVersion and plural."""
    runs: tuple[RunRecord, ...] = ()
    documents: Mapping[str, Any] = field(default_factory=dict)
    """By their path."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """By the file of a `LogEntry`: the first and the last bytes that are kept of it, together."""

    def find(self, resource: Resource) -> Answer | None:
        """None for a kind that was not asked for."""
        return self.answers.get((resource.api_version, resource.plural))

    def read_log(self, entry: LogEntry) -> tuple[bytes, bytes]:
        """The beginning and the end of a log; the end is empty where nothing lies between them."""
        text = self.logs.get(entry.file, b"")
        if entry.left_out is None:
            return text, b""
        return text[: entry.first], text[entry.first :]


def packages_path(digest: str) -> str:
    """Where the set of packages of a run is among the documents."""
    return f"packages/{digest}"


def keep_some(items: list[Manifest], most: int) -> list[Manifest]:
    """The first of them that take at most so many bytes together."""
    kept, size = list[Manifest](), 0
    for each in items:
        size += len(msgspec.json.encode(each))
        if size > most:
            break
        kept.append(each)
    return kept


def cut_log(text: bytes, first: int, last: int) -> tuple[bytes, bytes, int]:
    """The whole lines of the beginning and of the end of a log, and how many bytes lie between; 0 where it is not cut.
    A part without a whole line, as a bar that is drawn over for hours, is cut at its byte."""
    if len(text) <= first + last:
        return text, b"", 0
    begin, end = text[:first], text[len(text) - last :]
    begin = begin[: begin.rfind(b"\n") + 1] or begin
    whole = end.partition(b"\n")[2]
    end = whole or end
    return begin, end, len(text) - len(begin) - len(end)
