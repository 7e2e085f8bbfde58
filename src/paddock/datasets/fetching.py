"""What the controller and the child process that fetches say to each other: one request, then lines. Pure.

controller -> child    a `Request` as JSON, on standard input (laptop) or in PADDOCK_FETCH (a Job's pod, without
                       `secret`, which comes as variables from the Secret itself)
child -> controller    lines of JSON on standard output: any number of `Progress`, then one `Fetched` or `Failed`;
                       the exit code is 0 for `Fetched`, 1 for `Failed`. Other lines are no part of this (libraries
                       print), and are kept in the log
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from paddock.kube.printable import show_line

REQUEST_VARIABLE = "PADDOCK_FETCH"

HUB_PYTHON_VARIABLE = "PADDOCK_HUB_PYTHON"
"""Of the child process: the interpreter that has the library of the hub."""

STATE_DIRECTORY = ".paddock"
"""In the target: what is not complete yet, and what is known of it. Of no interest to who reads the dataset."""

REPORT_SECONDS = 0.5
"""Between two reports of progress within a phase."""


LONGEST_TEXT = 800
"""Characters of a text in a report: a pod's end is kept in a termination message of 4096 bytes, and half a line is no
report (Kubernetes: `terminationMessagePath`)."""


class Fault(StrEnum):
    """Whose fault a failure is, which decides whether it is tried again."""

    NETWORK = "network"
    """The source did not answer or was cut, again and again. It is tried again by itself."""
    MACHINE = "machine"
    """Disk full, not writable, a program or library that is missing. It is tried again by itself, less often."""
    SOURCE = "source"
    """Not found, refused, a checksum that does not agree, a name that leads out of the dataset. The same again until
    the object or the source changes: no retry by itself."""


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a child is to fetch."""

    uri: str  # as in `spec.source.uri` (datasets/sources.py)
    target: str  # the directory to fill, which may hold what an earlier child has fetched
    sha256: str = ""
    revision: str = ""
    endpoint: str = ""
    region: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    secret: dict[str, str] = {}  # the Secret's values by key (`datasets.sources.SECRET_KEYS`)
    round: int = 0
    """A greater one than that of the files that are there: each is compared with the source again."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="progress"):
    """How far a child is."""

    phase: str  # listing, fetching, verifying or retrying
    done: int = 0  # bytes
    total: int = 0  # bytes; 0: not known
    files: int = 0  # whole files
    all_files: int = 0  # whole files that there are
    speed: float = 0.0  # bytes per second over the last seconds; 0 if not known
    reason: str = ""  # of retrying, why


class Fetched(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="fetched"):
    """All is there and verified."""

    size: int
    files: int
    fetched: int = 0
    """Bytes that this child received."""
    revision: str = ""
    """What the source calls this content (a commit, an ETag); empty if nothing does."""
    length_unknown: bool = False
    """The source did not say how long the file is, and nobody gave a checksum, so a cut could not be seen."""
    tags_differ: bool = False
    """An ETag of the bucket looks like an MD5 and is none of the bytes, which came twice alike, so that sizes alone
    were compared."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="failed"):
    """`message`: one complete sentence for the user, without passwords: what was found, and what to do."""

    message: str
    fault: Fault = Fault.SOURCE


Report = Progress | Fetched | Failed
_Said = TypeVar("_Said", bound=Report)

_REPORTS: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def read_report(line: bytes) -> Report | None:
    """The report in a line of the child's output; None for a line of something else."""
    if not line.startswith(b"{"):
        return None
    try:
        return _REPORTS.decode(line)
    except msgspec.DecodeError:
        return None


def build_line(report: Report) -> bytes:
    """One line, with its end. Whatever a text holds, there is a line: what no text of UTF-8 can hold becomes visible,
    and one that is too long is cut."""
    return msgspec.json.encode(change_texts(report, _make_printable)) + b"\n"


def change_texts(report: _Said, change: Callable[[str], str]) -> _Said:
    """The report with each text that a source or a library has a part in."""
    given = {name: getattr(report, name, "") for name in ("reason", "revision", "message")}
    changed: dict[str, Any] = {name: change(text) for name, text in given.items() if text}
    return msgspec.structs.replace(report, **changed) if changed else report


def _make_printable(text: str) -> str:
    line = show_line(text)
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"
