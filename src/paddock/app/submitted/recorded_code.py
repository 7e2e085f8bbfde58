"""Which code a job begins with: git's commit and what differs from it, else the files of the directory. Read when a job
is submitted, within one budget of files, bytes and time; what cannot be read in it is not known, and never an error.

git is asked without what a repository may name for it to start (`core.fsmonitor`, hooks, filters of its files), without
its lock, and for the directory alone, whatever `GIT_DIR` says.
"""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from paddock.kube.code_annotation import MOST_FILES, Code

_SECONDS = 2.0
"""That git may take for one answer, and the reading of files for all of them."""
_MOST_SEEN = 2_000
"""Entries of directories without git that are looked at, and files that are read."""
_MOST_BYTES = 32 << 20
"""Of all files together."""
_LARGEST = 1 << 20
"""Bytes of a file that are read."""
_DIGITS, _COMMIT = 6, 12
_SUFFIXES = frozenset({".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini"})
"""Of what a program is made of; a program writes JSON and texts, too."""
_NOT_CODE = frozenset({
    "node_modules", "__pycache__", "venv", "site-packages", "wandb", "lightning_logs", "runs", "log", "logs", "data",
    "datasets", "checkpoints", "outputs",
})  # fmt: skip
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false")
_FILTER = "filter."


@dataclass(slots=True)
class _Budget:
    """What the reading of one directory may still cost."""

    files: int = _MOST_SEEN
    bytes: int = _MOST_BYTES
    deadline: float = field(default_factory=lambda: time.monotonic() + _SECONDS)

    @property
    def is_spent(self) -> bool:
        return self.files <= 0 or self.bytes <= 0 or time.monotonic() > self.deadline


def read_code_of(directory: Path) -> Code:
    """Empty where nothing is known: a home directory, `/`, one that cannot be read, a git that does not answer."""
    if directory in (Path("/"), Path(os.path.expanduser("~"))):  # noqa: PTH111 - no error where nobody knows it
        return Code()
    commit = _ask_git(directory, "rev-parse", "HEAD")
    if commit is None:
        return _build(directory, sorted(_list_files(directory)), "")
    names = _list_changed(directory)
    return Code() if names is None else _build(directory, names, commit.strip()[:_COMMIT])


def _list_changed(directory: Path) -> list[str] | None:
    """The files that differ from the commit, by their paths in the directory; None where git does not tell them."""
    # Each entry is `XY NAME`, ended by NUL.
    status = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
    without = (f":(exclude,glob)**/{name}/**" for name in sorted(_NOT_CODE))
    said = _ask_git(directory, *_without_filters(directory), *status, "--", ".", *without)
    prefix = _ask_git(directory, "rev-parse", "--show-prefix")
    if said is None or prefix is None:
        return None
    names = (entry[3:].removeprefix(prefix.rstrip("\n")) for entry in said.split("\0") if len(entry) > 3)
    return sorted(name for name in names if Path(name).suffix in _SUFFIXES)


def _without_filters(directory: Path) -> list[str]:
    """Options by which git starts no program for the content of a file (git-lfs is one)."""
    said = _ask_git(directory, "config", "--name-only", "-z", "--get-regexp", r"^filter\.") or ""
    kept = {each.rpartition(".")[0] for each in said.split("\0") if each.startswith(_FILTER)}
    return [word for name in sorted(kept) for key in ("clean", "process") for word in ("-c", f"{name}.{key}=")]


def _ask_git(directory: Path, *words: str) -> str | None:
    """What git says; None where it fails, takes too long or is not there."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    options = [*words]
    own: Sequence[str] = ()
    if options[:1] == ["-c"]:  # before the verb
        place = next(index for index, word in enumerate(options) if word == "status")
        own, options = options[:place], options[place:]
    try:
        ended = subprocess.run(
            [*_GIT, *own, "-C", str(directory), *options],
            capture_output=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else None


def _list_files(directory: Path) -> Iterator[str]:
    """The program's files below a directory, by their relative paths: the first of so many entries."""
    seen = 0
    for where, folders, files in os.walk(directory):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _NOT_CODE)
        seen += len(folders)
        for name in sorted(files):
            seen += 1
            if seen > _MOST_SEEN:
                return
            if Path(name).suffix in _SUFFIXES:
                yield os.path.relpath(os.path.join(where, name), directory)  # noqa: PTH118 - no Path for 2,000 names


def _build(directory: Path, names: list[str], commit: str) -> Code:
    """Empty where the files cost more than the budget: what is half read would be told as a change, or as none."""
    budget = _Budget()
    digests = {name: _read_digest(directory / name, budget) for name in names[:_MOST_SEEN]}
    if budget.is_spent or len(names) > _MOST_SEEN:
        return Code()
    known = {_as_text(name): digest for name, digest in digests.items() if digest}
    shown = dict(list(known.items())[:MOST_FILES])
    rest = {name: digest for name, digest in known.items() if name not in shown}
    whole = sha256("\n".join(f"{name} {digest}" for name, digest in rest.items()).encode()).hexdigest()[:_DIGITS]
    return Code(commit, shown, len(rest), whole if rest else "")


def _as_text(name: str) -> str:
    return name.encode(errors="replace").decode()


def _read_digest(path: Path, budget: _Budget) -> str:
    """`-` for a file that is gone; empty for what is no regular file."""
    if budget.is_spent:
        return ""
    budget.files -= 1
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return "-"
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        content = os.read(file, _LARGEST)
        budget.bytes -= len(content)
        return sha256(content).hexdigest()[:_DIGITS]
    except OSError:
        return ""
    finally:
        os.close(file)
