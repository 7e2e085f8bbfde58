"""The packages that a user names beside a program: in the file of -r, else in the requirements.txt that lies there.

Both are installed, and tell which framework trains where the program does not (`make train`). A pyproject.toml tells it
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paddock.cli.output.paths import shorten_path
from paddock.cli.submit.named_files import is_file, read_named
from paddock.environments.project_files import list_named
from paddock.environments.requirement_files import read_requirements
from paddock.environments.requirements import requirement_name
from paddock.script.libraries import find_module
from paddock.script.source import LARGEST
from paddock.words.phrases import Phrase, phrase

FILE = "requirements.txt"


def find_beside(script: str, directory: Path) -> Path | None:
    """The requirements.txt of a program: that beside its file, else that of the directory in which it starts; None
    where there is none, and where the nearer one names nothing. `script`: as typed; empty for none."""
    places = ((directory / script).parent, directory) if script else (directory,)
    file = next((place / FILE for place in places if is_file(place / FILE)), None)
    return None if file is None or read_requirements(str(file)).is_empty else file


def explain_refused(file: Path) -> Phrase | None:
    """What is said of a requirements.txt that nobody named and that uv does not take: the job goes on without it."""
    shown = shorten_path(str(file))
    for why in read_requirements(shown).problems:
        said = phrase("the packages of {file} are not installed for it: {why}", file=shown, why=why)
        return phrase("warning: {said}", said=said)
    return None


def read_named_modules(requirements: Path | None, directory: Path | None) -> frozenset[str]:
    """The modules of the packages of `requirements`, and of the pyproject.toml of `directory`. A file that cannot be
    read tells nothing: whoever installs it says why."""
    project = directory / "pyproject.toml" if directory else None
    named = [*(_list(requirements) if requirements else ()), *(_list(project) if project else ())]
    return frozenset(find_module(requirement_name(each)) for each in named)


def _list(path: Path) -> Iterator[str]:
    if path.suffix == ".toml":
        return list_named((read_named(path, LARGEST) or b"").decode(errors="replace"))
    return iter(read_requirements(str(path)).packages)
