"""The files of one Dataset on this machine. I/O.

    <root>/<uid>/rounds/<key>/               the files, complete and verified: what pods mount
    <root>/<uid>/rounds/<key>.json           what they are (`Record`), written before the directory has its name
    <root>/<uid>/rounds/<key>.state/         what the child process knew of them, for the next round
    <root>/<uid>/rounds/<key>.fetching/      what is not complete; a child process goes on with it
    <root>/<uid>/fetch.log                   what the child process printed besides its reports

A key names a round of one source, so a new round never touches files that a pod reads: its directory begins as hard
links to the files of the round before, and a file that has changed at the source replaces its link. The round before is
removed when no pod mounts the dataset.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paddock.datasets.definition import Definition
from paddock.datasets.fetching import STATE_DIRECTORY

_READ_ONLY = 0o444


class Record(msgspec.Struct, frozen=True):
    """What is in a complete directory."""

    size: int
    files: int
    revision: str = ""
    finished: str = ""  # when, as Kubernetes writes times
    length_unknown: bool = False  # as in `fetching.Fetched`
    tags_differ: bool = False  # as in `fetching.Fetched`


def build_key(dataset: Definition) -> str:
    """Names one round of one source: `0-3f2a…`."""
    source = [dataset.source.uri, dataset.sha256, dataset.revision, dataset.endpoint]
    content = json.dumps([*source, dataset.include, dataset.exclude])
    return f"{dataset.round}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


class Directory:
    """The directory of one Dataset. `root`: the parent of all."""

    def __init__(self, root: Path, uid: str, key: str) -> None:
        self.whole = root / uid
        self.log = self.whole / "fetch.log"
        self._rounds = self.whole / "rounds"
        self._key = key
        self.final = self._rounds / key
        self.target = self._rounds / f"{key}.fetching"

    def read(self) -> Record | None:
        """What is there, if it is complete; else None."""
        try:
            record = msgspec.json.decode((self._rounds / f"{self._key}.json").read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError):
            return None
        return record if self.final.is_dir() else None

    def prepare(self) -> Path:
        """The directory for the child process: what an earlier one left; in a new round, links to the files before."""
        self._rounds.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.target.exists():
            before = self._find_before()
            if before is not None:
                self._link(before)
            self.target.mkdir(mode=0o755, exist_ok=True)
        return self.target

    def _find_before(self) -> Path | None:
        """The newest complete round."""
        records = sorted(self._rounds.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        return next((path for record in records if (path := record.with_suffix("")).is_dir()), None)

    def _link(self, before: Path) -> None:
        beginning = self._rounds / f"{self._key}.linking"
        shutil.rmtree(beginning, ignore_errors=True)
        # A child process replaces files by a rename and never writes into one, so links are as good as copies.
        shutil.copytree(before, beginning, symlinks=True, copy_function=os.link)
        state = before.with_name(f"{before.name}.state")
        if state.is_dir():
            shutil.copytree(state, beginning / STATE_DIRECTORY)
        beginning.rename(self.target)

    def publish(self, record: Record) -> None:
        """Gives the complete files their name."""
        state = self.target / STATE_DIRECTORY
        kept = self._rounds / f"{self._key}.state"
        if state.is_dir():
            shutil.rmtree(kept, ignore_errors=True)
            state.rename(kept)
        _protect(self.target)
        (self._rounds / f"{self._key}.json").write_bytes(msgspec.json.encode(record))
        if self.final.exists():
            shutil.rmtree(self.final)
        self.target.rename(self.final)

    def prune(self) -> None:
        """Removes what belongs to other rounds. Only while no pod mounts the dataset."""
        for path in list(self._rounds.iterdir()) if self._rounds.is_dir() else ():
            if path.name.partition(".")[0] != self._key:
                _remove(path)

    @property
    def is_pruned(self) -> bool:
        return not any(self._others())

    def _others(self) -> Iterator[Path]:
        if self._rounds.is_dir():
            yield from (path for path in self._rounds.iterdir() if path.name.partition(".")[0] != self._key)

    def remove(self) -> None:
        """Removes all, also what is not complete."""
        _remove(self.whole)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _protect(directory: Path) -> None:
    """A program without a sandbox writes where it likes; the files at least refuse."""
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - a million files: strings are ten times faster
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                # A script of a repository stays one that can be run.
                os.chmod(path, _READ_ONLY | (mode & 0o111))  # noqa: PTH101
