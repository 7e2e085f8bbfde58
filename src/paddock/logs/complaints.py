"""A line of a training program's log -> the error in it. Finds the line that says what went wrong, among thousands.

    traceback        the last line of a Python traceback: `ModuleNotFoundError: No module named 'pandas'`
    enforce          PaddlePaddle's checks: `ValueError: (InvalidArgument) …`, `(External) CUDA error(2)`
    device           CUDA, NCCL and memory of the device
    process group    ranks that did not find each other: `Error initializing process group: …`
    memory           the machine's memory: `std::bad_alloc`, `MemoryError`
    crash            what PaddlePaddle prints of a signal: `FatalError: `Segmentation fault` is detected …`
    arguments        argparse: `train.py: error: unrecognized arguments: --local-rank=0`
    signal           what a shell, C++ or a DataLoader says of a process that ended by one

A program may catch an error, print it and exit with 0: the job "succeeded" and has trained nothing. So an error line
explains a failed job, and a fatal one (`is_fatal`) makes a completed job suspicious. Warnings of libraries do not
count: a wrong reason is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from paddock.logs.tracebacks import FROM, begins_traceback


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error line."""

    kind: str
    text: str
    """The line, cut."""
    is_fatal: bool = False
    """A program that prints it has not trained as intended."""
    line: int | None = None
    """Its number in the log, from 1, where it is known."""


_LONGEST_LINE = 2_000
_LONGEST_TEXT = 300

_ENFORCED = (
    "InvalidArgument|NotFound|OutOfRange|AlreadyExists|ResourceExhausted|PreconditionNotMet|PermissionDenied|"
    "ExecutionTimeout|Unimplemented|Unavailable|Fatal|External"
)
"""PaddlePaddle's error types (phi/core/enforce.h)."""

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form))
    for kind, form in (
        ("process group", r"Error initializing process group: .+|Distributed package doesn't have NCCL built in"),
        ("process group", r"(?:torch\.distributed\.)?Dist\w*Error: .+"),
        ("process group", r".*\bWatchdog caught collective operation timeout: .+"),
        ("device", r"\(External\)\s+\w*(?:CUDA|NCCL|cuDNN|cublas)\w* error.*"),
        ("device", r"CUDA (?:error|out of memory).*|.*\bNCCL (?:error|WARN).*|.*CUDA driver version is insufficient.*"),
        ("device", r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError: .+|ResourceExhaustedError.*"),
        ("device", r"Out of memory error on \w+ \d+\. .+"),
        ("memory", r"MemoryError\b.*|.*\bstd::bad_alloc\b.*"),
        ("crash", r"FatalError: .+"),
        ("enforce", rf"(?:\w+(?:\.\w+)*(?:Error|Exception): )?\((?:{_ENFORCED})\) .+"),
    )
)
_ENDED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form))
    for kind, form in (
        ("arguments", r"(?:[\w./-]+\.py|python[\d.]* -m [\w.]+|torchrun|accelerate|deepspeed): error: .+"),
        ("signal", r"ERROR: Unexpected (?:BUS error|segmentation fault|floating-point exception) encountered in .+"),
        (
            "signal",
            r"(?:[\w./-]+: line \d+: +\d+ )?(?:Segmentation fault|Bus error|Killed|Illegal instruction)"
            r"(?: +\(core dumped\))?(?: {2,}\S.*)?",
        ),
    )
)
"""What ended a process that may be the program's own, or one that it started and whose end it has seen to. An abort is
left out: gloo and NCCL abort a rank whose peer has left, and the peer's log is the one to read."""
_RAISED = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\.\w+)*(?:Error|Exception|Interrupt|Exit|Timeout|Refused))(?::\s.*)?")
"""The last line of a traceback. It is not indented; lines of loggers begin with a time or a level."""

_GROUP = re.compile(r"\| ((?:Base)?ExceptionGroup: .+)")
"""The same of a group of exceptions, whose traceback is drawn with a border."""
_SETTINGS = re.compile(
    r"Error setting device: .+|Error (?:creating|moving|generating)\b.+: .+|Error during training .+: .+"
)
"""What PaddlePaddle's example programs print of an exception that they catch."""

_OF_TORCH = (
    r"\bChildFailedError\b|DistNetworkError: (?:failed to recv|The client socket has)|"
    r"DistStoreError: .*clients joined|Rendezvous(?:Connection|Closed)Error\b|remote process exited|"
    r"\bSignalException: Process \d+ got signal: 15\b"
)
"""What PyTorch 2.13 raises where a peer, or the rank that keeps the store, has gone, and torchrun for its SIGTERM."""

_ECHO = re.compile(
    r"Connection (?:closed|reset) by peer|Broken pipe|ConnectionResetError|EOFError|TIMEOUT self_rank|"
    r"Watchdog caught collective operation timeout|" + _OF_TORCH
)
"""Errors that mostly follow from a peer's end, or a child's: of the errors in one log, not the one to show."""

_LOST_PEER = re.compile(r"Connection (?:closed|reset) by peer|" + _OF_TORCH)
"""Errors that no program raises by itself. `EOFError` and `Broken pipe` are a truncated file's or a filter's as well: a
rank that died of them may be the first that failed."""
LOST_PEER_WORDS = (
    "by peer", "ChildFailedError", "DistNetworkError", "DistStoreError", "Rendezvous", "remote process exited",
    "SignalException",
)  # fmt: skip
"""Each of these errors has one of them: most logs need not be matched against the forms."""


_ASKED_TO_END = "FatalError: `Termination signal` is detected"
"""What PaddlePaddle prints of SIGTERM: a parameter server's ordinary end."""


_WORDS = (
    "Error", "Exception", "Interrupt", "Exit", "Timeout", "Refused", "CUDA", "NCCL", "bad_alloc", "Distributed",
    ": error: ", "ERROR: Unexpected", "Segmentation fault", "Bus error", "Killed", "Illegal instruction",
    "Out of memory error on ",
)  # fmt: skip
"""Each form has one of these or begins with a bracket: most lines of a log need not be matched against the forms."""


_BRACKET = re.compile(r"^\s*\(", re.MULTILINE)


def may_complain(text: str) -> bool:
    """False for lines of which none has an error: most of a log."""
    return any(map(text.__contains__, _WORDS)) or ("(" in text and _BRACKET.search(text) is not None)


MAY_COMPLAIN = re.compile("|".join((*map(re.escape, _WORDS), r"^[ \t]*\(")).encode(), re.MULTILINE)
"""The same for the bytes of a log: what a line must have to be worth reading."""

COMPLAINT_HINTS = (*(word.encode() for word in _WORDS), b"\n(", b"\n ", b"\n\t")
"""One of these texts is in every such line, those of a newline at its beginning: a text is found ten times as fast as a
pattern."""


def read_complaint(line: str) -> Complaint | None:
    """The error in `line`, or None."""
    text = line.strip()
    if not text or len(text) > _LONGEST_LINE or not may_complain(text) or text.startswith(_ASKED_TO_END):
        return None
    for kind, form in _FORMS:
        if form.fullmatch(text):
            return Complaint(kind, cut(text), is_fatal=True)
    if _SETTINGS.fullmatch(text):
        return Complaint("caught", cut(text), is_fatal=True)
    for kind, form in _ENDED:
        if form.fullmatch(text):
            return Complaint(kind, cut(text))
    if line[:1] == text[:1] and _RAISED.fullmatch(text):
        return Complaint("traceback", cut(text))
    if group := _GROUP.fullmatch(text):
        return Complaint("traceback", cut(group[1]))
    return None


def find_complaint(lines: Iterable[str]) -> Complaint | None:
    """The first error that does not follow from a peer's end, or else the first one that does.

    Of chained tracebacks ("During handling of …") the last one ended the program; the first is nearest to the cause. Of
    `raise … from …` it is the outer one, as in `logs.endings`.
    """
    echo: Complaint | None = None
    lines = list(lines)
    if not may_complain("\n".join(lines)):  # a script may print a gigabyte
        return None
    for number, line in enumerate(lines):
        found = read_complaint(line)
        if found is None:
            continue
        if not is_echo(found.text):
            rest = lines[number + 1 :]
            return _find_outer(_find_text(found, rest), rest)
        echo = echo or found
    return echo


def _find_text(found: Complaint, lines: Iterable[str]) -> Complaint:
    """What tells of an error without its own text, below it: PaddlePaddle's summary; else `found`."""
    if is_own(found.text):
        return found
    for line in lines:
        if begins_traceback(line):
            break
        if (told := read_complaint(line)) and is_own(told.text):
            return replace(told, is_fatal=told.is_fatal or found.is_fatal)
    return found


def _find_outer(found: Complaint, lines: Iterable[str]) -> Complaint:
    """The exception that was raised from `found`, whose traceback may follow in `lines`; else `found`."""
    is_outer = False
    for line in lines:
        if line.startswith(FROM):
            is_outer = True
        elif begins_traceback(line) and not is_outer:
            break
        elif is_outer and (outer := read_complaint(line)):
            if is_own(outer.text):
                found = replace(
                    outer, text=name_inner(outer.text, found.text), is_fatal=outer.is_fatal or found.is_fatal
                )
            is_outer = False
    return found


def name_inner(outer: str, inner: str) -> str:
    """`KeyError: 'x' (from ValueError: bad)`; without the inner exception where both do not fit."""
    both = f"{outer} (from {inner})"
    return both if len(both) <= _LONGEST_TEXT else outer


def is_own(error: str) -> bool:
    """Whether it is the process's own error and says something: `RuntimeError:` alone is told by a summary below it,
    and `(ResourceExhausted)` by the line that says of which device."""
    return not is_echo(error) and not error.rstrip().endswith((":", "(ResourceExhausted)"))


def is_echo(error: str) -> bool:
    """Whether an error likely follows from the end of another process: there may be a better one in the same log."""
    return _ECHO.search(error) is not None


def is_lost_peer(error: str) -> bool:
    """Whether an error certainly follows from the end of another process, so that another rank is the root cause."""
    return _LOST_PEER.search(error) is not None


def cut(text: str) -> str:
    """The text in at most 300 characters."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
