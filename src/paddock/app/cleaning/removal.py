"""Removes what `app.cleaning.things` has found. One thing that stays keeps none of the others."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from paddock.app.cleaning.things import BEING_BUILT, Thing, explain_user
from paddock.app.cleaning.uses import Needs
from paddock.app.home import Home
from paddock.environments.directories import MARKER, list_paths, locked
from paddock.history.records import remove_record, write_record
from paddock.node.runtime.pod_files import try_to_remove
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Waits until nobody else removes what this home may remove, so that nothing is counted twice. The directories
    themselves are locked: a full disk may have no room for a file."""
    with ExitStack() as stack:
        for directory in (home.cache, home.root):
            with suppress(OSError):
                opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                stack.callback(os.close, opened)
                fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def remove(home: Home, thing: Thing, ask: Callable[[], Needs]) -> Phrase | None:
    """Why it stays, or a part of it; None where it is gone, by whoever. `ask`: what is needed at this moment."""
    try:
        if thing.key:
            return _remove_environment(home, thing, ask)
        problem = _remove_all(thing.paths)
        if thing.record is not None and thing.sort == "history":
            remove_record(home.history, thing.record)
        elif thing.record is not None and not problem:
            with suppress(OSError):  # a full disk; without the note `paddock logs` finds that they are gone
                write_record(home.history, replace(thing.record, logs_pruned=True))
        return problem
    except OSError as error:
        return _explain(Path(error.filename or thing.paths[0]), error)


def _remove_environment(home: Home, thing: Thing, ask: Callable[[], Needs]) -> Phrase | None:
    root = home.cache / "environments"
    with locked(root, thing.key) as held:
        # Others are removed for minutes, in which a job or a program may begin.
        if (why := explain_user(thing.key, ask()) if held else BEING_BUILT) is not None:
            return phrase("{name} stays: {why}", name=thing.name, why=why)
        # First what makes it complete: a removal that ends half-way leaves an unfinished build, which the next one
        # clears away. No link leads to what is removed.
        directory = root / thing.key
        for parent in (directory, directory / "bin"):
            if parent.is_symlink():
                break
            (parent / (MARKER if parent == directory else "python")).unlink(missing_ok=True)
        return _remove_all(list_paths(root, thing.key))


def _remove_all(paths: Iterable[Path]) -> Phrase | None:
    problems = [problem for path in paths if (problem := _remove_path(path)) is not None]
    return problems[0] if problems else None


def _remove_path(path: Path) -> Phrase | None:
    """A link is removed itself, never what it leads to."""
    if path.is_dir() and not path.is_symlink():
        problem = try_to_remove(path)
        return None if problem is None else _explain(path, problem)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return _explain(path, error)
    return None


def _explain(path: Path, error: OSError) -> Phrase:
    return phrase("{path} cannot be removed: {why}", path=str(path), why=explain_unreadable(error))
