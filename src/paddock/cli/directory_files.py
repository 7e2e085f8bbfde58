"""Which files of a working directory travel to a cluster: found here, as names and sizes, before one is read.

What stays: what a .gitignore says (each directory's own counts for what is below it, the deeper one wins, as git reads
them), `.git` in any case, names that begin with a dot unless a .gitignore takes them back (`!.config.yaml`), and
`__pycache__`. A link to something inside the directory is followed; one that leads outside is refused, as nobody can
see in the manifest what it would send. What becomes of the files is planned in `cli.directory_map`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cli.errors import UserError
from paddock.jobs.phrases import phrase

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_LOOKED_AT = 20_000
"""Files and directories: more is no directory of a program, and looking on would take long."""

IGNORED, HIDDEN = ".gitignore", "hidden"
_GIT = (".git", ".gitignore")
"""Nobody wonders where these are."""


@dataclass(frozen=True, slots=True)
class File:
    """`path` relative to the directory, with slashes; `size` in bytes."""

    path: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """`left_out`: how many files or whole directories stay, by the reason (`IGNORED`, `HIDDEN`)."""

    files: tuple[File, ...]
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The .gitignore files on the way to a directory, the outermost first, each with its directory's path."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, directory: Path, path: str) -> _Rules:
        """With the directory's own file, if it has one."""
        from pathspec import GitIgnoreSpec

        file = directory / IGNORED
        if not file.is_file():
            return self
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        return _Rules((*self.specs, (f"{path}/" if path else "", GitIgnoreSpec.from_lines(lines))))

    def why_left_out(self, path: str, *, directory: bool) -> str:
        """The reason, empty for what travels."""
        name = path.rpartition("/")[2]
        if name == ".git":
            return HIDDEN
        said: bool | None = None
        for prefix, spec in self.specs:
            answer = spec.check_file(path[len(prefix) :] + ("/" if directory else "")).include
            said = said if answer is None else answer
        if said is not None:
            return IGNORED if said else ""
        return HIDDEN if name.startswith(".") or (directory and name == "__pycache__") else ""


def find_files(directory: Path) -> Found:
    """Raises `UserError`: a link that leads outside or nowhere, a name that is no text, what cannot be read."""
    try:
        root = directory.resolve(strict=True)
        left_out: Counter[str] = Counter()
        files = tuple(_Walk(root, left_out).look(root, "", _Rules(), (root,)))
    except OSError as error:
        raise UserError(
            phrase("{path} cannot be read: {why}", path=str(error.filename), why=error.strerror or "")
        ) from error
    return Found(files, left_out)


class _Walk:
    def __init__(self, root: Path, left_out: Counter[str]) -> None:
        self._root, self._left_out, self._seen = root, left_out, 0

    def look(self, directory: Path, path: str, rules: _Rules, above: Sequence[Path]) -> Iterator[File]:
        """What travels of a directory. `above`: it and those it was come to through, so that links make no circle."""
        rules = rules.below(directory, path)
        for entry in sorted(os.scandir(directory), key=lambda each: each.name):
            self._count()
            here = f"{path}/{entry.name}" if path else entry.name
            is_directory = entry.is_dir()
            if why := rules.why_left_out(here, directory=is_directory):
                self._left_out[why] += entry.name not in _GIT
                continue
            _check_name(here)
            target = self._follow(Path(entry.path), here) if entry.is_symlink() else Path(entry.path)
            if ".git" in target.relative_to(self._root).parts:  # by a link
                self._left_out[HIDDEN] += 1
                continue
            if is_directory:
                if target in above:
                    raise UserError(phrase("{path} is a link to a directory that it lies in: remove it", path=here))
                yield from self.look(target, here, rules, (*above, target))
            elif target.is_file():  # sockets and pipes hold nothing
                state = target.stat()
                yield File(here, state.st_size, bool(state.st_mode & 0o100))

    def _count(self) -> None:
        self._seen += 1
        if self._seen > MOST_LOOKED_AT:
            raise UserError(
                phrase(
                    "{path} holds more than {most} files: name the directory of the program with --workdir, or list "
                    "the others in its .gitignore",
                    path=str(self._root),
                    most=MOST_LOOKED_AT,
                )
            )

    def _follow(self, link: Path, path: str) -> Path:
        target = link.resolve()
        if not target.exists():
            raise UserError(
                phrase(
                    "{path} is a link to {target}, which is not there: remove it or list it in .gitignore",
                    path=path, target=str(link.readlink()),
                )
            )  # fmt: skip
        if not target.is_relative_to(self._root):
            raise UserError(
                phrase(
                    "{path} is a link to {target}, outside of {root}, and only what is inside is sent: copy it here, "
                    "or list it in .gitignore",
                    path=path, target=str(target), root=str(self._root),
                )
            )  # fmt: skip
        return target


def _check_name(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UserError(
            phrase("the name {path} is no UTF-8, as an API wants it: rename the file", path=ascii(path))
        ) from None
