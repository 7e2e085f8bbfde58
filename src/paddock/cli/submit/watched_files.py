"""The files that `paddock run --watch` looks at: the script or the manifest, the files that options name, and the
Python files of the directory in which the programs start. Other files there may be written by the job itself, such as
results.yaml: each run would start the next one. What .gitignore leaves out, hidden files and links that lead outside
are left out, as where a directory is sent (`cli.submit.directory_files`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.directory_files import find_files
from paddock.cli.submit.script.named_packages import find_beside
from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.submit.script.requests import find_directory
from paddock.launches.reading import find_main, read_typed
from paddock.words.phrases import phrase

_MISSING = (0, 0)


def refuse_watching(file: str | None, *, detach: bool) -> None:
    """Raises `UserError` where nothing could be watched."""
    if detach:
        raise UserError(phrase("--watch follows the job, and --detach leaves it alone: leave one out"))
    if file == "-":
        raise UserError(phrase("--watch needs a file that can change, and standard input is none"))


def find_watched(
    file: str | None, words: Sequence[str] | None, options: ScriptOptions
) -> Callable[[], dict[str, tuple[int, int]]]:
    """What looks at the files of a manifest or of a typed command, and at those that its options name."""
    directory = find_directory(options.workdir)
    script = find_main(read_typed(words)).program.script if words and file is None else ""
    named = [Path(each) for each in (file, options.requirements_path, *options.env_files) if each]
    if script:
        named.append(directory / script)
    if file is None and options.requirements is None and (beside := find_beside(script, directory)):
        named.append(beside)
    return lambda: read_snapshot(directory, named)


def read_snapshot(directory: Path, named: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Each file with its time of change in nanoseconds and its size. `named`: files that count wherever they lie,
    also while they are not there. A directory that is too large, or cannot be read, counts with those alone."""
    try:
        found = [each.path for each in find_files(directory, forgiving=True).files if each.path.endswith(".py")]
    except UserError:
        found = []
    paths = {path: directory / path for path in found}
    inside = {path.resolve() for path in paths.values()}
    paths |= {os.path.relpath(each, directory): each for each in named if each.resolve() not in inside}
    return {shown: _read_state(path) for shown, path in paths.items()}


def _read_state(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:  # an editor replaces it at this moment
        return _MISSING
    return state.st_mtime_ns, state.st_size
