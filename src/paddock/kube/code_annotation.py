"""What the code of a run was, as an annotation of its job, and what of it changed between two runs. Pure.

    {"commit": "3f2a1c90d7be", "files": {"train.py": "9ab23d"}}     a commit, and the files that differ from it
    {"files": {"train.py": "9ab23d", "data.py": "4f1c90"}}          without git: the program's files

A file is told by the first six letters of its SHA-256, or `-` where it is gone. `more` counts files beyond
`MOST_FILES`, told by one digest of all of them (`rest`). `app.submitted.recorded_code` reads it when a job is
submitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

CODE_ANNOTATION = "paddock.dev/code"
"""On a laptop, written when the job is submitted."""
MOST_FILES = 30
_SHOWN = 3
_COMMIT = 7


@dataclass(frozen=True, slots=True)
class Code:
    """The code in one directory."""

    commit: str = ""
    """The first letters of git's; empty without git."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests by their paths, relative to the directory: of the files that differ from the commit, or of all."""
    more: int = 0
    """How many other files there are of this kind."""
    rest: str = ""
    """One digest of them."""

    @property
    def count(self) -> int:
        return len(self.files) + self.more

    @property
    def short(self) -> str:
        """The commit, as git shortens it."""
        return self.commit[:_COMMIT]


def write_code(code: Code) -> str:
    """The annotation's text; empty where nothing is known."""
    if code == Code():
        return ""
    told = {name: value for name in Code.__slots__ if (value := getattr(code, name))}
    return msgspec.json.encode(told).decode()


def read_code(text: str) -> Code | None:
    """None for a text that is not of this form: anybody may write an annotation."""
    try:
        return msgspec.json.decode(text, type=Code) if text else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def explain_code_change(before: Code | None, now: Code | None) -> str:
    """`3f2a1c9 → 9be0d1f`, `train.py, data.py`, both, or nothing. Empty too where one of them is not known, or only one
    has a commit."""
    if before is None or now is None or before == now or bool(before.commit) != bool(now.commit):
        return ""
    files = [name for name in sorted({*before.files, *now.files}) if before.files.get(name) != now.files.get(name)]
    parts = list[str]()
    if before.commit != now.commit:
        parts.append(f"{before.short} → {now.short}")
        # What differs from two commits differs in many ways: the files that are not committed are named.
        files = [name for name in files if name in now.files]
    if files:
        parts.append(", ".join([*files[:_SHOWN], *([f"+{len(files) - _SHOWN}"] if len(files) > _SHOWN else [])]))
    elif before.rest != now.rest:
        parts.append("…")
    return "; ".join(parts)
