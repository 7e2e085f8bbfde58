"""What a command's programs import: its own file, that of `python -m` or what a shell script starts, and the modules
beside it, as `train.py` often leaves the framework to a `model.py`. Reads files and runs nothing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from paddock.cli.submit.named_files import find_scripts, is_file
from paddock.cli.submit.script.sources import Sources, read_notebook
from paddock.launches.launch import Launch
from paddock.launches.programs import Kind, Program
from paddock.launches.reading import read_typed
from paddock.script.behind import find_behind
from paddock.script.contents import Contents
from paddock.script.environ import Uses
from paddock.script.hiding import NAMES
from paddock.script.joining import Steps, judge
from paddock.script.libraries import BRING_NOTHING, COMMANDS, is_alone, is_known, write_plain
from paddock.script.notebook import RUNNERS, SUFFIX
from paddock.script.secrets import hide_secrets
from paddock.script.source import Source, read_source

_SHOWN = 60
"""Letters of a text that is named in a sentence."""


def read_contents(
    words: Sequence[str], directory: Path, requirements: Set[str] = frozenset(), sources: Sources | None = None
) -> Contents:
    """What the programs of a command tell, those of its shell scripts too. `directory`: where the command starts;
    `requirements`: the modules of the packages that the user names; `sources`: those of the command, where they are
    read for other questions, too."""
    reading = read_typed(words, find_scripts([directory]))
    look = _Look(requirements, sources or Sources())
    for launch in reading.launches:
        look.read(launch, directory)
    unread = [*look.unread, *(_cut(each.text) for each in reading.unread), *([] if reading.whole else [words[0]])]
    return Contents(
        imports=frozenset(look.names),
        launches=reading.launches,
        unread=tuple(dict.fromkeys(unread)),
        joins=judge(look.steps),
        alone=not unread and bool(look.steps) and not any(each.speaks for each in look.steps)
        and all(map(is_alone, look.brought)),
        requirements=frozenset(requirements),
        asked=reading.asked | look.asked,
        sets=look.sets,
    )  # fmt: skip


def _cut(text: str) -> str:
    """The beginning of a text that was not read, for a sentence."""
    first = hide_secrets(" ".join(text[:_SHOWN].split()))
    return first if len(text) <= _SHOWN else f"{first}…"


class _Look:
    """What the programs of a command have told so far."""

    def __init__(self, requirements: Set[str], sources: Sources) -> None:
        self._sources = sources
        self._requirements = frozenset(map(write_plain, requirements))
        self.names: set[str] = set()
        self.brought: set[str] = set()
        """Those of them that are no files of the user's."""
        self.unread: list[str] = []
        self.steps: list[Steps] = []
        self.asked: frozenset[str] = frozenset()
        self.sets: frozenset[str] | None = None
        self._uses: list[Uses] = []
        """Of the program that is read."""

    def read(self, launch: Launch, directory: Path) -> None:
        moved = launch.command.directory
        if launch.elsewhere or (moved is not None and moved.text is None):
            self.unread.append(launch.command.words[0].typed)
            return
        directory = directory / (moved.text or "") if moved is not None else directory
        path = launch.environment.get("PYTHONPATH")
        places = [directory / each for each in ((path and path.text) or "").split(":") if each]
        self._uses = []
        self._read_program(launch, directory, places)
        if (behind := find_behind(launch)) is not None and not behind.elsewhere:
            self._read_program(behind, directory, places)
        self._note_variables(launch)

    def _note_variables(self, launch: Launch) -> None:
        """What the program asks for and nobody sets. All files of a program count as one."""
        told = launch.environment.keys() | launch.command.unset | {name for each in self._uses for name in each.sets}
        self.asked |= frozenset(name for each in self._uses for name in each.asked) - told
        if self._uses or launch.launcher is not None or launch.program.python or launch.program.name in COMMANDS:
            self.sets = frozenset(told) if self.sets is None else self.sets & told

    def _read_program(self, launch: Launch, directory: Path, places: Sequence[Path]) -> None:
        program = launch.program
        stdin = launch.command.stdin
        if program.kind is Kind.NONE:
            return
        if _name_tool(program) in RUNNERS:
            self._read_notebooks(launch, directory)
            return
        if program.kind in (Kind.CODE, Kind.STDIN) and program.python:
            text = program.word.text if program.kind is Kind.CODE else (stdin.text if stdin is not None else None)
            source = Source(is_read=False) if text is None else read_source(text.encode(errors="replace"))
            self._follow([(directory, source)], [directory, *places], program.name)
        elif program.module:
            roots = [directory, *places, directory / "src"]  # the last where it is installed with -e
            files = next(filter(None, (find_files(root, program.module) for root in roots)), [])
            found = [(path.parent, self._sources.read(path)) for path in files]
            self._note(program.module.partition(".")[0], is_here=bool(found))
            self._follow(found, roots, program.module)
        elif program.script and not program.shell_name:
            path = directory / program.script
            path = path / "__main__.py" if program.python and is_file(path / "__main__.py") else path
            is_python = program.python or path.suffix == ".py"
            source = self._sources.read(path) if is_python else Source(is_read=False)
            roots = [path.parent, *places, *dict.fromkeys((directory, directory / "src"))]
            self._follow([(path.parent, source)], roots, program.script)
        else:
            self._read_named(program)

    def _read_notebooks(self, launch: Launch, directory: Path) -> None:
        """Those that are named and are here; the one that is written may be there from an earlier run."""
        named = [directory / each.text for each in launch.command.words if each.text and each.text.endswith(SUFFIX)]
        found = [path for path in named if is_file(path)]
        if not found:
            self.unread.append(launch.program.name or launch.command.words[0].typed)
        for path in found:
            # papermill's kernels start where it is called, nbconvert's where the notebook is.
            self._follow([(path.parent, read_notebook(path))], [path.parent, directory], path.name)

    def _read_named(self, program: Program) -> None:
        """A program of which nothing but its name is known."""
        name = program.word.text or ""
        if module := COMMANDS.get(name):
            self.names.add(module)
            self.brought.add(module)
        elif name not in BRING_NOTHING and not name.startswith("-"):  # options of a command that ended too early
            self.unread.append(program.script or program.name or program.word.typed)

    def _note(self, name: str, *, is_here: bool) -> None:
        self.names.add(name)
        if not is_here:
            self.brought.add(name)
        if not is_here and not is_known(name, self._requirements):
            self.unread.append(name)

    def _follow(self, sources: Iterable[tuple[Path, Source]], roots: Sequence[Path], called: str) -> None:
        """Reads what these sources import of the user's own files. `sources`: each with its directory, from which
        relative imports count; `called`: the program."""
        seen: set[Path] = set()
        looked: set[tuple[Path | None, str]] = set()
        waiting = deque((directory, source, called) for directory, source in sources)
        while waiting:  # those that are nearer to the program first
            directory, source, name = waiting.popleft()
            self.steps.append(source.steps)
            self._uses.append(source.uses)
            if not source.is_read:
                self.unread.append(name)
            for module in sorted(source.modules):
                place = (directory if module.startswith(".") else None, module)
                if place not in looked:
                    looked.add(place)
                    new = [path for path in self._find(directory, module, roots) if path not in seen]
                    seen.update(new)
                    waiting += [(path.parent, self._sources.read(path), module) for path in new]

    def _find(self, directory: Path, module: str, roots: Sequence[Path]) -> list[Path]:
        """The files of a module that one in this directory imports."""
        if module.startswith("."):
            return _find_relative(directory, module)
        found = _find_first(roots, module)
        first = module.partition(".")[0]
        self._note(first, is_here=bool(found) or any(_is_directory(root / first) for root in roots))
        return found


def _name_tool(program: Program) -> str:
    """`papermill`, `python -m papermill`; empty of a file of the user's."""
    if program.kind is Kind.MODULE:
        return program.module.partition(".")[0]
    return os.path.basename(program.word.text or "") if program.kind is Kind.PROGRAM else ""  # noqa: PTH119


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
            if is_file(directory / typed / file):
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


def _find_first(roots: Sequence[Path], name: str) -> list[Path]:
    """The files of a module in the first directory that has its first part, as Python looks."""
    first = name.partition(".")[0]
    for root in roots:
        if is_file(root / f"{first}.py") or _is_directory(root / first):
            parts = name.split(".")
            return [path for end in range(1, len(parts) + 1) for path in find_files(root, ".".join(parts[:end]))]
    return []


def _find_relative(directory: Path, name: str) -> list[Path]:
    """`.net`, `..data.reader`, of a file in `directory`."""
    module = name.lstrip(".")
    for _ in range(len(name) - len(module) - 1):
        directory = directory.parent
    parts = module.split(".") if module else []
    return [path for end in range(1, len(parts) + 1) for path in find_files(directory, ".".join(parts[:end]))]


def find_files(directory: Path, module: str) -> list[Path]:
    """The files of `pkg.train`: pkg/train.py, or pkg/train/__init__.py and its __main__.py."""
    place = directory.joinpath(*module.split("."))
    looked = (place.parent / f"{place.name}.py", place / "__init__.py", place / "__main__.py")
    return [path for path in looked if is_file(path)]


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - which raises no error
