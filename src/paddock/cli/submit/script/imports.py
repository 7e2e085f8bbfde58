"""What a program imports: its own file, that of `python -m` or what a shell script starts, and the modules beside it,
as `train.py` often leaves the framework to a `model.py`. Reads files and runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from paddock.script.hiding import NAMES
from paddock.script.kinds import find_modules
from paddock.script.program import Program
from paddock.script.source import LARGEST, Source, read_source

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
    if program.script.endswith(".sh"):
        return _follow(directory, _read_shell(path, directory))
    if program.python and _is_file(path / "__main__.py"):
        return _follow(path, [read_file(path / "__main__.py")])
    return _follow(path.parent, [read_file(path)]) if program.script.endswith(".py") else frozenset()


def find_hiding(program: Program, directory: Path) -> dict[str, str]:
    """Modules of `script.hiding.NAMES` -> their files in the directory where Python looks first, as typed."""
    place = _find_first_place(program, directory)
    try:
        names = {each.stem for each in place.iterdir()} if place is not None else set[str]()
    except OSError:
        names = set()
    typed = os.path.dirname(program.script) if program.script.endswith(".py") else program.script  # noqa: PTH120
    found = {}
    for module in sorted(NAMES & names):
        for file in (f"{module}.py", f"{module}/__init__.py"):
            if _is_file(directory / typed / file):
                found[module] = os.path.join(typed, file.removesuffix("__init__.py"))  # noqa: PTH118 - as typed
    return found


def _find_first_place(program: Program, directory: Path) -> Path | None:
    """None where it is not known, and with Python's options -P and -I, by which it does not look there."""
    if any(flag[:1] == "-" and flag[:2] not in ("--", "-W", "-X") and {"I", "P"} & set(flag) for flag in program.flags):
        return None
    if program.code or program.module:
        return directory
    path = directory / program.script
    if program.script.endswith(".py"):
        return path.parent
    return path if program.python and program.script else None


def _read_shell(path: Path, directory: Path) -> Iterator[Source]:
    """The launchers and the Python files that a shell script names, each a word of its own."""
    try:
        words = path.read_bytes()[:LARGEST].decode(errors="replace").split()
    except OSError:
        return
    for word in words:
        if modules := find_modules(word):
            yield Source(imports=modules)
        elif word.endswith(".py") and _is_file(directory / word):
            yield read_file(directory / word)


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
    for path in (place.parent / f"{place.name}.py", place / "__init__.py", place / "__main__.py"):
        if _is_file(path):
            yield path


def _is_file(path: Path) -> bool:
    """False also for what can be no name of a file, such as one of 300 letters."""
    return os.path.isfile(path)  # noqa: PTH113 - which raises no error


def read_file(path: Path) -> Source:
    """What a look into this file tells. Nothing is known of a file that cannot be read."""
    try:
        with path.open("rb") as stream:
            return read_source(stream.read(LARGEST + 1))
    except OSError:
        return Source()
