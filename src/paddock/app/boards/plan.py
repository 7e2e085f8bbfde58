"""What a board shows: which program, and which directories under which names. Pure.

The outputs of a run are the run's own, so they are shown whole, and what is written into them later appears. A working
directory is shared by all runs that were started in it: of it are shown the directories with files that were begun
while the run went on, and none below another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath

from paddock.app.boards.files import EventFile
from paddock.app.boards.tools import TENSORBOARD, TOOLS, VISUALDL, Tool
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase, counted, phrase

_SLACK_SECONDS = 2.0
"""Between the clock of a file system or of a file's name, in whole seconds, and that of a run's record."""
OUTPUTS = "outputs"


@dataclass(frozen=True, slots=True)
class Place:
    """A directory that may have files of a run."""

    root: Path
    files: tuple[EventFile, ...]
    whole: bool
    """It belongs to the run alone."""


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run that is asked for."""

    label: str
    """`train`, or `train:3`."""
    started: Moment
    ended: Moment | None
    """None while it goes on."""
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A board."""

    tool: Tool
    directories: Mapping[str, Path]
    """Directories of this machine by the names of their runs in the board: a path, relative."""
    files: int
    """How many files the program reads there at least."""
    others: int
    """How many the other program would read, and this one does not."""
    without: tuple[str, ...] = ()
    """The labels of runs that have nothing for it."""


def plan_board(runs: Sequence[ShownRun], wanted: Tool | None = None) -> Plan | None:
    """The board of these runs. `wanted`: the program; by default the one with more files, and where both have as many,
    with the newest. None if there is nothing for it."""
    shown = [(run, place, [each for each in place.files if place.whole or is_of(run, each)])
             for run in runs for place in run.places]  # fmt: skip
    files = [each for _, _, found in shown for each in found]
    tool = wanted or choose_tool(files)
    if tool is None or not any(each.tool is tool for each in files):
        return None
    directories = dict[str, Path]()
    for run in runs:
        mine = [(place, [each for each in found if each.tool is tool]) for owner, place, found in shown if owner is run]
        directories |= _name_directories(run.label, [(place, found) for place, found in mine if found])
    most = sum(each.tool is tool for each in files)
    without = tuple(run.label for run in runs if not any(_is_under(name, run.label) for name in directories))
    return Plan(tool, directories, most, len(files) - most, without)


def is_of(run: ShownRun, file: EventFile) -> bool:
    """Whether a file of a shared directory was begun while the run went on."""
    begun = file.modified if file.begun is None else file.begun
    return begun >= run.started - _SLACK_SECONDS and (run.ended is None or begun <= run.ended + _SLACK_SECONDS)


def choose_tool(files: Iterable[EventFile]) -> Tool | None:
    files = list(files)
    counts = Counter(each.tool.name for each in files)
    newest = {name: max(each.modified for each in files if each.tool.name == name) for name in counts}
    best = max(counts, key=lambda name: (counts[name], newest[name]), default=None)
    return TOOLS[best] if best else None


def _name_directories(label: str, places: Sequence[tuple[Place, Sequence[EventFile]]]) -> dict[str, Path]:
    alone = len(places) == 1 and places[0][0].whole
    named = dict[str, Path]()
    for place, files in places:
        if place.whole:
            named[label if alone else f"{label}/{OUTPUTS}"] = place.root
            continue
        for directory in find_tops(each.path.parent for each in files):
            source = place.root / directory
            # Of two places, one may lie in the other.
            if not any(source.is_relative_to(each) for each in named.values()):
                named[_free(label, directory.parts or (source.name,), named)] = source
    return named


def find_tops(directories: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Those that are not below another one, sorted."""
    found = set(directories)
    return sorted(each for each in found if not any(above in found for above in each.parents))


def _free(label: str, parts: Sequence[str], taken: Mapping[str, Path]) -> str:
    """The name of a directory below its run's; with a number in its first part where it would be that of another one,
    or one of them would lie in the other."""
    for number in count(1):
        first = parts[0] if number == 1 else f"{parts[0]}-{number}"
        name = "/".join((label, first, *parts[1:]))
        if not any(_is_under(each, name) or _is_under(name, each) for each in taken):
            return name
    raise AssertionError


def _is_under(name: str, label: str) -> bool:
    return name == label or name.startswith(f"{label}/")


def explain_plan(plan: Plan) -> list[Phrase]:
    """What is said before the board opens: what it shows, and what it does not."""
    said = [
        counted(
            "{tool} over {count} file of {runs}",
            "{tool} over {count} files of {runs}",
            count=plan.files, tool=plan.tool.title, runs=", ".join(_list_labels(plan)),
        )
    ]  # fmt: skip
    if plan.others:
        other = VISUALDL if plan.tool is TENSORBOARD else TENSORBOARD
        said.append(
            counted(
                "there is {count} file of {tool} too: --with {option} shows it",
                "there are {count} files of {tool} too: --with {option} shows them",
                count=plan.others, tool=other.title, option=other.name,
            )
        )  # fmt: skip
    said += [phrase("{job} has no files of {tool}", job=each, tool=plan.tool.title) for each in plan.without]
    return said


def _list_labels(plan: Plan) -> list[str]:
    return list(dict.fromkeys(name.partition("/")[0] for name in plan.directories))


def explain_nothing(runs: Sequence[ShownRun], wanted: Tool | None) -> list[Phrase]:
    """What is looked for, where, and how a program writes it."""
    names = ", ".join(run.label for run in runs)
    places = ", ".join(dict.fromkeys(str(place.root) for run in runs for place in run.places))
    lines = [
        phrase(
            "{runs}: nothing for a board in {places}: no events.out.tfevents.* (TensorBoard), no vdlrecords.*.log "
            "(VisualDL)",
            runs=names, places=places,
        )
        if wanted is None
        else phrase("{runs}: no file of {tool} in {places}", runs=names, tool=wanted.title, places=places)
    ]  # fmt: skip
    if wanted in (None, TENSORBOARD):
        lines.append(
            phrase(
                "a program of PyTorch writes one by {code}",
                code='torch.utils.tensorboard.SummaryWriter(os.environ["PADDOCK_OUTPUT_DIR"])',
            )
        )
    if wanted in (None, VISUALDL):
        lines.append(
            phrase(
                "a program of PaddlePaddle writes one by {code}",
                code='visualdl.LogWriter(os.environ["PADDOCK_OUTPUT_DIR"])',
            )
        )
    other = next((each for each in TOOLS.values() if wanted and each is not wanted), None)
    if other and any(each.tool is other for run in runs for place in run.places for each in place.files
                     if place.whole or is_of(run, each)):  # fmt: skip
        lines.append(phrase("there are files of {tool}: --with {option}", tool=other.title, option=other.name))
    return lines
