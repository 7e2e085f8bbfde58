"""A run.sh, or a docker command, that starts a program -> the job that it means. Pure.

Of several commands with a launcher one of a framework counts before srun and mpirun alone, and then the one with the
most machines: a script often has one for a single machine beside it. Without any, it is the last program of Python;
`python -c`, and one that by its name prepares or tests, is the job where there is no other. pip and apt are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from paddock.launches.commands import Unread
from paddock.launches.launch import Launch
from paddock.launches.programs import Kind
from paddock.launches.reading import Reading, read_script
from paddock.launches.words import build_word
from paddock.preflight.continuations import find_endings
from paddock.script.foreign.carried import cut
from paddock.script.foreign.draft import NO_TASKS, Tasks
from paddock.script.foreign.hostfiles import Hosts, find_hostfiles
from paddock.script.foreign.job import NOWHERE, Foreign, Left, NoProgram, Place
from paddock.script.foreign.launched import NO_FILES, read_launch
from paddock.script.foreign.servers import Groups, count_groups, find_groups
from paddock.script.foreign.setup import Setup, brings_packages, is_beside, is_program, is_silent, read_setup
from paddock.script.foreign.started import explain_started, find_started, find_typed
from paddock.script.foreign.task_launchers import JSRUN, TASKS
from paddock.words.phrases import Phrase, phrase

_MOST_READ = 20
"""Commands that are read as jobs: each is read with all variables that the script has set."""
_MOST_ENDINGS = 10
"""Commands that end too early, of which one line each is told."""


@dataclass(frozen=True, slots=True)
class Script:
    """A text of commands that was read."""

    reading: Reading
    left: tuple[Left, ...] = ()
    """Lines of commands that end too early."""


def read_shell(text: str, place: Place = NOWHERE) -> Foreign:
    """The job of a script. Raises `NoProgram`."""
    return choose(read_text(text, place))


def read_text(text: str, place: Place, *, variables: Mapping[str, str] | None = None, line: int = 1) -> Script:
    """The commands of a script, or of a text that stands in another file. `line`: its first, there; `variables`: what
    is set for it."""
    given = {name: build_word(value) for name, value in (variables or {}).items()}
    reading = read_script(
        text, read_file=place.read_file, name=place.name, start=place.start, variables=given, line=line
    )  # fmt: skip
    endings = islice(find_endings("\n" * (line - 1) + text), 0 if reading.open_quote else _MOST_ENDINGS)
    return Script(reading, tuple(Left(each.line, each.said) for each in endings))


def choose(script: Script, tasks: Tasks = NO_TASKS, around: Sequence[Launch] = ()) -> Foreign:
    """The job among the commands of a script. `tasks`: of its batch job; `around`: commands that stand elsewhere, and
    set up what it needs. Raises `NoProgram`."""
    reading = script.reading
    groups = _find_groups(reading)
    found = _list_jobs(reading, tasks) if groups is None else _read_jobs([groups.chosen], tasks, NO_FILES)
    unread = [*script.left, *(Left(each.line, _explain_unread(each)) for each in reading.unread)]
    if not reading.whole:
        unread.append(Left(0, phrase("the script is too long, or calls itself too often: what is behind is not read")))
    if not found:
        unknown = [each for each in reading.launches if _is_distributed(each) or is_program(each)]
        named = [(each, name) for each in reading.launches if (name := find_started(each))]
        told = [Left(each.line, explain_started(each, name)) for each, name in named]
        raise NoProgram([*(_explain_unknown(each) for each in unknown), *told, *unread], find_typed(named))
    launch, made = found[0]
    if groups is not None:
        made = count_groups(made, groups)
    apart = (*groups.servers, *groups.workers) if groups is not None else ()
    setup = _read_around(reading, launch, apart, around)
    return replace(
        made,
        requirements=setup.requirements,
        packages=setup.packages,
        framework=made.framework or setup.framework,
        left=tuple(dict.fromkeys((*made.left, *setup.left, *unread))),
    )


def _find_groups(reading: Reading) -> Groups | None:
    """Servers and workers that are started by hand; a launcher beside them counts more than exported variables."""
    found = find_groups([each for each in reading.launches if each.launcher is None and is_program(each)])
    return found if found is None or found.servers or not any(map(_is_distributed, reading.launches)) else None


def _read_around(reading: Reading, launch: Launch, apart: Sequence[Launch], around: Sequence[Launch]) -> Setup:
    """What stands before and behind the command of the job. `apart`: others that the job starts."""
    place = next(index for index, each in enumerate(reading.launches) if each is launch)
    started = {id(each) for each in apart}
    before = [each for each in reading.launches[:place] if id(each) not in started]
    behind = [each for each in reading.launches[place + 1 :] if id(each) not in started]
    return read_setup([*around, *before], launch, behind)


def _list_jobs(reading: Reading, tasks: Tasks) -> list[tuple[Launch, Foreign]]:
    """The commands that may be the job, each with that job; the best first."""
    distributed = [each for each in reading.launches if _is_distributed(each)]
    found = _read_jobs(distributed[:_MOST_READ], tasks, find_hostfiles(reading.launches))
    launched = {each.program.word.typed for each in distributed if _has_framework(each)}
    if trains := [pair for pair in found if _may_train(pair[0]) and not _is_code(pair[0])]:
        # the program of a launcher may also stand behind srun alone, for more machines
        is_other = {id(each): each.program.word.typed not in launched for each, _ in trains}
        return sorted(trains, key=lambda pair: (is_beside(pair[0]), is_other[id(pair[0])], -_count_pods(pair[1])))
    programs = [each for each in reading.launches if is_program(each)]
    programs.sort(key=lambda each: not is_beside(each))
    plain = _read_jobs(programs[: -_MOST_READ - 1 : -1], tasks, NO_FILES)
    return sorted((*found, *plain), key=lambda pair: (not _may_train(pair[0]), _is_code(pair[0])))


def _count_pods(made: Foreign) -> int:
    return made.workers + made.servers


def _read_jobs(launches: Sequence[Launch], tasks: Tasks, files: Mapping[str, Hosts]) -> list[tuple[Launch, Foreign]]:
    return [(each, made) for each in launches if (made := read_launch(each, tasks, files)) is not None]


def _is_distributed(launch: Launch) -> bool:
    """Whether ranks are started: by a launcher, or by tasks of a batch system."""
    has_tasks = any(each.spec.name in (*TASKS, JSRUN) for each in launch.wrappers)
    return (launch.launcher is not None or has_tasks) and not is_silent(launch) and not brings_packages(launch)


def _has_framework(launch: Launch) -> bool:
    """Whether its launcher is one of a framework, such as torchrun: no srun."""
    return launch.launcher is not None and bool(launch.launcher.family)


def _is_code(launch: Launch) -> bool:
    """`python -c …` mostly looks at a machine, or prepares it."""
    return launch.program.kind is Kind.CODE and not _has_framework(launch)


def _may_train(launch: Launch) -> bool:
    """Whether it is surely no `srun tar`."""
    return is_program(launch) or _has_framework(launch)


def _explain_unknown(launch: Launch) -> Left:
    typed = launch.program.word.typed
    said = phrase("the program is {typed}, which a shell fills in: write its name in its place", typed=typed)
    return Left(launch.line, said if typed else phrase("no program stands behind the launcher"))


def _explain_unread(unread: Unread) -> Phrase:
    if unread.is_file:
        return phrase("`{text}` is not read: there is no such file here", text=cut(unread.text))
    if unread.is_filled_in:
        return phrase("`{text}` is not read: a shell fills in which file it is", text=cut(unread.text))
    return phrase("`{text}` is not read: a quote or a bracket may not be closed", text=cut(unread.text))
