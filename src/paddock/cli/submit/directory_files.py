"""The files of a working directory that are sent to a cluster: their names and sizes, before any file is read.

Left out: files that .gitignore excludes (git's rules: each directory's own file, from the repository's root down; the
deeper one wins), `.git` always, names that begin with a dot unless a .gitignore negates that (`!.config.yaml`), and
`__pycache__`. A link to a target inside the directory is followed; a link that leads outside is an error, as the
manifest does not show what it would send. `cli.submit.directory_map` plans the ConfigMap.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cli.cluster.errors import UserError
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_ENTRIES = 20_000
"""Files and directories: a larger tree is no program, and a walk through it would take long."""

IGNORED, HIDDEN = ".gitignore", "hidden"
_UNCOUNTED = (".git", ".gitignore")
"""Left out without being counted: users expect it."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to send."""

    path: str
    """Relative to the directory, with slashes."""
    size: int
    """In bytes."""
    executable: bool = False
    """By its owner."""
    negated_by_name: bool = False
    """A .gitignore includes it by its name (`!server.key`), so it is sent though it looks like a secret
    (`cli.submit.secret_files`)."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a directory holds."""

    files: tuple[File, ...]
    """Those to send."""
    left_out: Counter[str] = field(default_factory=Counter)
    """The number of files or whole directories by reason (`IGNORED`, `HIDDEN`)."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One file of patterns."""

    spec: GitIgnoreSpec
    below: str = ""
    """Its directory, relative to the sent directory; empty, or it ends with a slash."""
    above: str = ""
    """The path from its directory down to the sent one, if it lies above; empty, or it ends with a slash."""
    negated: tuple[str, ...] = ()
    """Names in its `!` lines."""

    def judge(self, path: str, *, directory: bool) -> bool | None:
        """Whether the path is ignored; None if no pattern matches."""
        full = (self.above + path[len(self.below) :]).rstrip("/")
        return self.spec.check_file(full + ("/" if directory else "")).include


@dataclass(frozen=True, slots=True)
class _Rules:
    """The .gitignore files that apply to a directory, outermost first."""

    rules: tuple[_Rule, ...] = ()

    def below(self, directory: Path, path: str) -> _Rules:
        """These rules and the directory's own .gitignore, if it has one."""
        return self.with_file(directory / IGNORED, below=f"{path}/" if path else "")

    def with_file(self, file: Path, *, below: str = "", above: str = "") -> _Rules:
        from pathspec import GitIgnoreSpec

        if not file.is_file():
            return self
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        names = (line.rstrip().rpartition("/")[2].lstrip("!") for line in lines if line.startswith("!"))
        negated = tuple(name for name in names if name.strip("*?"))
        return _Rules((*self.rules, _Rule(GitIgnoreSpec.from_lines(lines), below, above, negated)))

    def is_negated_by_name(self, path: str) -> bool:
        """Whether a pattern negates the file by name; `!*` or `!/src/` do not count."""
        name = path.rpartition("/")[2]
        named = any(fnmatchcase(name, each) for rule in self.rules for each in rule.negated)
        return named and self._judge(path, directory=False) is False

    def _judge(self, path: str, *, directory: bool) -> bool | None:
        said: bool | None = None
        for rule in self.rules:
            answer = rule.judge(path, directory=directory)
            said = said if answer is None else answer
        return said

    def why_left_out(self, path: str, *, directory: bool) -> str:
        """The reason; empty for a file that is sent."""
        name = path.rpartition("/")[2]
        if name == ".git":
            return HIDDEN
        said = self._judge(path, directory=directory)
        if said is not None:
            return IGNORED if said else ""
        return HIDDEN if name.startswith(".") or (directory and name == "__pycache__") else ""


def _find_repository(root: Path) -> Path:
    """The nearest directory with a .git (a file in a worktree), else `root` itself."""
    return next((each for each in (root, *root.parents) if (each / ".git").exists()), root)


def _read_rules_above(root: Path, repository: Path) -> _Rules:
    """The rules from above `root`: .git/info/exclude and .gitignore files of its parents."""
    way = root.relative_to(repository).as_posix() + "/" if root != repository else ""
    rules = _Rules().with_file(repository / ".git" / "info" / "exclude", above=way)
    while way:
        rules = rules.with_file(root.joinpath(*[".."] * way.count("/")) / IGNORED, above=way)
        way = way.partition("/")[2]
    return rules


def find_files(directory: Path, *, forgiving: bool = False) -> Found:
    """The files to send. Raises `UserError`: a link that leads outside or to nothing, a name that is no UTF-8, an
    unreadable file, a directory that is ignored itself. `forgiving`: what cannot be sent is left out instead."""
    try:
        root = directory.resolve(strict=True)
        left_out: Counter[str] = Counter()
        repository = _find_repository(root)
        above = _read_rules_above(root, repository)
        files = tuple(_Walk(root, left_out, forgiving=forgiving).walk(root, "", above, (root,)))
    except OSError as error:
        raise UserError(
            phrase("{path} cannot be read: {why}", path=str(error.filename), why=explain_unreadable(error))
        ) from error
    if not files and not forgiving and above.why_left_out("", directory=True):
        raise UserError(
            phrase(
                "{directory} is itself left out by a .gitignore above it, in {repository}, so nothing of it is sent; "
                "its own .gitignore may take files back, for example with !*.py",
                directory=str(root), repository=str(repository),
            )
        )  # fmt: skip
    return Found(files, left_out)


class _Walk:
    def __init__(self, root: Path, left_out: Counter[str], *, forgiving: bool = False) -> None:
        self._root, self._left_out, self._seen = root, left_out, 0
        self._forgiving = forgiving

    def walk(self, directory: Path, path: str, rules: _Rules, above: Sequence[Path]) -> Iterator[File]:
        """The files of a directory. `above`: the directory and its parents, to detect circles of links."""
        rules = rules.below(directory, path)
        for entry in sorted(os.scandir(directory), key=lambda each: each.name):
            self._count()
            here = f"{path}/{entry.name}" if path else entry.name
            is_directory = entry.is_dir()
            if why := rules.why_left_out(here, directory=is_directory):
                self._left_out[why] += entry.name not in _UNCOUNTED
                continue
            try:
                target = self._find_target(entry, here, above)
            except UserError:
                if self._forgiving:
                    continue
                raise
            if ".git" in target.relative_to(self._root).parts:  # by a link
                self._left_out[HIDDEN] += 1
                continue
            if is_directory:
                yield from self.walk(target, here, rules, (*above, target))
            elif target.is_file():  # not sockets and pipes
                state = target.stat()
                yield File(here, state.st_size, bool(state.st_mode & 0o100), rules.is_negated_by_name(here))

    def _find_target(self, entry: os.DirEntry[str], path: str, above: Sequence[Path]) -> Path:
        _check_name(path)
        target = self._follow(Path(entry.path), path) if entry.is_symlink() else Path(entry.path)
        if target in above:
            raise UserError(phrase("{path} is a link to a directory that it lies in: remove it", path=path))
        return target

    def _count(self) -> None:
        self._seen += 1
        if self._seen > MOST_ENTRIES:
            raise UserError(
                phrase(
                    "{path} holds more than {most} files: name the directory of the program with --workdir, or list "
                    "the others in its .gitignore",
                    path=str(self._root),
                    most=MOST_ENTRIES,
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
