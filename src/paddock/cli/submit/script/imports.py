"""What a program imports: its own file, or that of `python -m`, and the modules beside it, as `train.py` often leaves
the framework to a `model.py`. Reads files and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from paddock.jobs.script.program import Program
from paddock.jobs.script.source import LARGEST, Source, read_source

MOST_FILES = 40
"""Files that are read of one program."""


def find_imports(program: Program, directory: Path) -> frozenset[str]:
    """The first parts of all modules that are imported. `directory`: where the program starts."""
    if program.code:
        return _follow(directory, [read_source(program.code.encode(errors="replace"))])
    if program.module:
        start = list(_find_module(directory, program.module))
        return _follow(directory, map(read_file, start))
    path = directory / program.script
    return _follow(path.parent, [read_file(path)]) if program.script.endswith(".py") else frozenset()


def _follow(directory: Path, sources: Iterable[Source]) -> frozenset[str]:
    found: set[str] = set()
    seen: set[Path] = set()
    waiting = list(sources)
    while waiting:
        names = waiting.pop().imports - found
        found |= names
        for path in (path for name in sorted(names) for path in _find_module(directory, name)):
            if path not in seen and len(seen) < MOST_FILES:
                seen.add(path)
                waiting.append(read_file(path))
    return frozenset(found)


def _find_module(directory: Path, module: str) -> Iterator[Path]:
    """The files of `pkg.train`: pkg/train.py, or pkg/train/__init__.py and its __main__.py."""
    place = directory.joinpath(*module.split("."))
    for path in (place.with_name(f"{place.name}.py"), place / "__init__.py", place / "__main__.py"):
        if path.is_file():
            yield path


def read_file(path: Path) -> Source:
    """Of a file that cannot be read nothing is known."""
    try:
        with path.open("rb") as stream:
            return read_source(stream.read(LARGEST + 1))
    except OSError:
        return Source()
