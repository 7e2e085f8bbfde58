"""What a file of another tool means, as a value: all readers of this folder give it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paddock.launches.reading import ReadFile
from paddock.words.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file lies, as far as that is known."""

    name: str = ""
    """Its path, as typed."""
    start: str = ""
    """The absolute path of the directory in which it would be started."""
    read_file: ReadFile | None = None
    """The text of another script, by its path as the file names it."""


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Left:
    """What is not carried, or not as it was written."""

    line: int
    """Where it stands, from 1; 0 where that is not known."""
    said: Phrase


@dataclass(frozen=True, slots=True)
class Foreign:
    """A job of another tool."""

    line: int
    """Where its command stands, from 1."""
    words: tuple[str, ...]
    """To be typed behind `--`."""
    workers: int = 0
    """0 where nothing says how many."""
    servers: int = 0
    """Parameter servers; 0 without them."""
    gpus: int = 0
    """Of each worker; 0 where nothing says how many."""
    has_others: bool = False
    """Whether it asks for devices of another vendor than NVIDIA, which `gpus` does not count."""
    processes: int = 0
    """Ranks in each worker that the tool itself starts, as srun does; 0 where it does not."""
    starter: str = ""
    """What starts each rank there, where no launcher does: `srun`, `mpirun`."""
    image: str = ""
    name: str = ""
    framework: str = ""
    """A key of `script.kinds.SCRIPT_KINDS` where the launcher, the packages or the image tell it."""
    restarts: int = 0
    workdir: str = ""
    """Where the program starts, as written: of the machine that the file was written for."""
    requirements: str = ""
    """The file that `pip install -r` names."""
    packages: tuple[str, ...] = ()
    """Those that `pip install` names."""
    variables: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    """Names of variables whose values stand in no file."""
    runner: tuple[str, ...] = ()
    """What stands before the words and chooses their environment: `uv run`, `conda run -n env`."""
    left: tuple[Left, ...] = ()


class NoProgram(Exception):
    """A file in which no program is found that a job could be made of; `left` says why.
    `starts`: the words of a command that may train, to be typed; empty where none does."""

    def __init__(self, left: Iterable[Left] = (), starts: Sequence[str] = ()) -> None:
        super().__init__("no program")
        self.left = tuple(left)
        self.starts = tuple(starts)
