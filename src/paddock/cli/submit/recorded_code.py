"""Which code a job begins with: git's commit and what differs from it, else the files of the directory. Read when a job
is submitted, in bounded time; what cannot be read in it is not known, and never an error.

git is asked without what a repository may name for it to start (`core.fsmonitor`, hooks), and without taking its lock.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from paddock.kube.code_annotation import MOST_FILES, Code

_SECONDS = 2.0
"""That git may take for one answer."""
_MOST_SEEN = 2_000
"""Entries of a directory without git that are looked at."""
_LARGEST = 1 << 20
"""Bytes of a file that are read."""
_DIGITS, _COMMIT = 6, 12
_SUFFIXES = frozenset({".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".txt", ".ipynb"})
_NOT_CODE = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "wandb", "lightning_logs", "runs", "log"}
)
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false")


def read_code_of(directory: Path) -> Code:
    """Empty where nothing is known: a home directory, `/`, one that cannot be read."""
    if directory in (Path("/"), Path(os.path.expanduser("~"))):  # noqa: PTH111 - no error where nobody knows it
        return Code()
    commit = _ask_git(directory, "rev-parse", "HEAD").strip()
    if commit:
        # Each entry is `XY NAME`, ended by NUL; the old name of a renamed one is an entry of its own, without XY.
        said = _ask_git(
            directory, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--", "."
        )
        prefix = _ask_git(directory, "rev-parse", "--show-prefix").rstrip("\n")
        names = sorted(entry[3:].removeprefix(prefix) for entry in said.split("\0") if len(entry) > 3)
        return _build(directory, names, commit[:_COMMIT])
    return _build(directory, sorted(_list_files(directory)), "")


def _ask_git(directory: Path, *words: str) -> str:
    """What git says; empty where it fails, takes too long or is not there."""
    try:
        ended = subprocess.run(
            [*_GIT, "-C", str(directory), *words],
            capture_output=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else ""


def _list_files(directory: Path) -> Iterator[str]:
    """The program's files below a directory, by their relative paths."""
    seen = 0
    for where, folders, files in os.walk(directory):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _NOT_CODE)
        for name in sorted(files):
            seen += 1
            if seen > _MOST_SEEN:
                return
            if Path(name).suffix in _SUFFIXES:
                yield os.path.relpath(os.path.join(where, name), directory)  # noqa: PTH118 - no Path for 2,000 names


def _build(directory: Path, names: list[str], commit: str) -> Code:
    shown = {name: digest for name in names[:MOST_FILES] if (digest := _read_digest(directory / name))}
    rest = names[MOST_FILES:]
    whole = sha256()
    for name in rest[:_MOST_SEEN]:
        whole.update(f"{name} {_read_digest(directory / name)}\n".encode(errors="surrogateescape"))
    digest = whole.hexdigest()[:_DIGITS] if rest else ""
    return Code(commit, {_as_text(name): value for name, value in shown.items()}, len(rest), digest)


def _as_text(name: str) -> str:
    return name.encode(errors="replace").decode()


def _read_digest(path: Path) -> str:
    """`-` for a file that is gone; empty for what is no regular file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return "-"
    except OSError:
        return ""
    with os.fdopen(file, "rb") as reader:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        try:
            return sha256(reader.read(_LARGEST)).hexdigest()[:_DIGITS]
        except OSError:
            return ""
