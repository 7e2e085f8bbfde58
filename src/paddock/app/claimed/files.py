"""What the program in the pod answers, as values: runs and files. Pure, and of a program that is not trusted: a claim
belongs to whoever may write into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.words.phrases import Phrase, phrase

MOST_FILES = 100_000
"""Files of a run that are listed; of more it is said."""
MOST_RUNS = 10_000
"""Runs of a job that are listed, as the program in the pod counts them."""
LONGEST_LINE = 1 << 20
"""Bytes of a line of an answer."""
MARK = ".paddock-run.json"
"""In a directory into which a run was fetched: which run that is."""
PART = ".paddock-part"
"""The end of the name of a file that is not whole yet."""
_LONGEST_PATH = 4096
"""Linux, PATH_MAX."""
_LONGEST_WORD = 253
"""Characters of a UID, of a kind and of a time that are kept."""
_FURTHEST = 2.0**40
"""Seconds from 1970: a time that is further away is none that a file here can have."""


class BadAnswer(Exception):
    """The program in the pod says what it cannot say."""


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that has a directory in the claim."""

    uid: str
    number: int
    """0 where nobody has counted it: its image has no Python."""
    started: str
    """When its job was created, RFC 3339; empty where it is not known."""
    written: float
    kind: str = ""
    """`PaddleJob.batch.paddlepaddle.org`"""


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    path: str
    """Relative to the directory of the run; may hold lone surrogates, for bytes that are no UTF-8."""
    size: int
    time: float
    """Of its last change, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Listing:
    files: Sequence[ClaimedFile]
    others: int = 0
    """Links, sockets and devices, which are not listed."""
    more: bool = False
    """There are more files than `MOST_FILES`."""

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.files)


def read_line(line: bytes) -> dict[str, Any]:
    """Raises `BadAnswer`."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise BadAnswer(line[:200].decode(errors="replace")) from None
    if not isinstance(found, dict):
        raise BadAnswer(line[:200].decode(errors="replace"))
    return found


def read_time(facts: dict[str, Any], name: str) -> float:
    """Seconds since 1970. Raises `BadAnswer` for what is no time of a file."""
    found = facts.get(name)
    if not isinstance(found, int | float) or not -_FURTHEST < found < _FURTHEST:  # nor is NaN
        raise BadAnswer(str(facts)[:200])
    return float(found)


def read_run(facts: dict[str, Any]) -> ClaimedRun:
    """Raises `BadAnswer`."""
    record = facts.get("record") if isinstance(facts.get("record"), dict) else {}
    assert isinstance(record, dict)
    uid, written = facts.get("uid"), read_time(facts, "written")
    if not isinstance(uid, str) or len(uid) > _LONGEST_WORD:
        raise BadAnswer(str(facts)[:200])
    number, started, kind = record.get("run"), record.get("started"), record.get("kind")
    return ClaimedRun(
        uid,
        number if isinstance(number, int) and number > 0 else 0,
        started[:_LONGEST_WORD] if isinstance(started, str) else "",
        written,
        kind[:_LONGEST_WORD] if isinstance(kind, str) else "",
    )


def read_file(facts: dict[str, Any], below: str) -> ClaimedFile:
    """`below`: the directory of the run, as the answer has it. Raises `BadAnswer`."""
    path, size, time = facts.get("path"), facts.get("size"), read_time(facts, "time")
    if not isinstance(path, str) or len(path) > _LONGEST_PATH or not isinstance(size, int) or size < 0:
        raise BadAnswer(str(facts)[:200])
    return ClaimedFile(path.removeprefix(f"{below}/") if below else path, size, time)


def sort_runs(runs: Iterable[ClaimedRun]) -> list[ClaimedRun]:
    """The oldest first. By what was recorded when a run began: the time of a directory is of what was written last."""
    return sorted(runs, key=lambda each: (each.number or 0, each.started, each.written))


def show_path(path: str) -> str:
    """As text that any stream takes: bytes that are no UTF-8 as `\\xff`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def explain_path(path: str) -> Phrase | None:
    """Why a file of this name is written nowhere; None for a name that stays below the directory."""
    parts = path.split("/")
    if not path or len(path) > _LONGEST_PATH or "\0" in path:
        return phrase("{file} is no name of a file here", file=repr(show_path(path[:200])))
    if path == MARK or parts[-1].endswith(PART):
        return phrase("{file} has a name that this command itself uses: it is left out", file=repr(show_path(path)))
    if path.startswith("/") or any(each in ("", ".", "..") for each in parts):
        return phrase("{file} would lie outside of the directory", file=repr(show_path(path)))
    return None
