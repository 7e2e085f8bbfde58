"""Which build of Paddock this is: its release, and the commit that tells two of one release apart.

Images, labels and generated files name the release (`paddock.version`); what two programs tell each other, and people,
names the build.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from paddock.version import __version__

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHOWN = 8
"""Digits of a commit that are shown."""


def read_commit(package: Path) -> str:
    """The commit of the clone that this package lies in, or that its wheel was built from; empty where none is known.
    The files of git are read, which takes a few system calls, and git is not run."""
    with suppress(OSError, ValueError):
        if (package / "COMMIT").is_file():
            return _check((package / "COMMIT").read_text())
        if package.parent.name == "src":
            return _check(_read_head(package.parents[1] / ".git"))
    return ""


def _read_head(git: Path) -> str:
    if git.is_file():  # a worktree, whose branches lie with those of its repository
        git = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head
    name, common = head.removeprefix("ref: "), git
    if (git / "commondir").is_file():
        common = git / (git / "commondir").read_text().strip()
    if (common / name).is_file():
        return (common / name).read_text()
    packed = (line.partition(" ") for line in (common / "packed-refs").read_text().splitlines())
    return next((commit for commit, _, ref in packed if ref == name), "")


def _check(text: str) -> str:
    """Raises ValueError for what is no commit."""
    if not _COMMIT.fullmatch(text.strip()):
        raise ValueError(text)
    return text.strip()


def describe_version(commit: str) -> str:
    """`0.1.0+g51637969`; the release alone where no commit is known. Pure."""
    return f"{__version__}+g{commit[:_SHOWN]}" if commit else __version__


BUILD = describe_version(read_commit(Path(__file__).parent))
