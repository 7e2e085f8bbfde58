"""What a program imports: its own file, that of `python -m` or what a shell script starts, and the modules beside it,
as `train.py` often leaves the framework to a `model.py`. Reads files and runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from paddock.launches.launch import Launch
from paddock.launches.programs import Kind, Program
from paddock.launches.reading import read_typed
from paddock.script.hiding import NAMES
from paddock.script.kinds import SCRIPT_KINDS
from paddock.script.source import LARGEST, Source, read_source

MOST_FILES = 40
"""Files that are read of one program."""


def find_imports(words: Sequence[str], directory: Path) -> frozenset[str]:
    """The first parts of all modules that the programs of a command import, those of shell scripts too. `directory`:
    where the command starts."""
    reading = read_typed(words, lambda path: read_text(directory / path))
    return frozenset().union(*(_find_imports(launch, directory) for launch in reading.launches))


def _find_imports(launch: Launch, directory: Path) -> frozenset[str]:
    program = launch.program
    launched = SCRIPT_KINDS.get(launch.launcher.family) if launch.launcher is not None else None
    known = launched.modules if launched is not None else frozenset[str]()
    if launch.elsewhere or launch.command.directory is not None:
        return known
    if program.kind is Kind.CODE:
        return known | _follow(directory, [read_source((program.word.text or "").encode(errors="replace"))])
    if program.module:
        return known | _follow(directory, map(read_file, _find_module(directory, program.module)))
    path = directory / program.script
    if program.python and program.script and _is_file(path / "__main__.py"):
        return known | _follow(path, [read_file(path / "__main__.py")])
    return known | (_follow(path.parent, [read_file(path)]) if program.script.endswith(".py") else frozenset())


def read_text(path: Path) -> str | None:
    """The text of a shell script; None where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST).decode(errors="replace")
    except OSError:
        return None


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
    if program.kind in (Kind.CODE, Kind.MODULE):
        return directory
    path = directory / program.script
    if program.script.endswith(".py"):
        return path.parent
    return path if program.python and program.script else None


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
