"""A run.sh, or a docker command, that starts a program -> the job that it means. Pure.

Of several commands with a launcher the one with the most machines counts: a script often has one for a single machine
beside it. Without any, it is the last program of Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paddock.launches.launch import Launch
from paddock.launches.programs import Kind
from paddock.launches.reading import Reading, read_script
from paddock.launches.shell import Unread
from paddock.launches.words import build_word
from paddock.script.foreign.carried import cut
from paddock.script.foreign.hostfiles import find_hostfiles
from paddock.script.foreign.job import NOWHERE, Foreign, Left, NoProgram, Place
from paddock.script.foreign.launched import Tasks, read_launch
from paddock.script.foreign.setup import MOST_TOLD, read_setup
from paddock.words.phrases import Phrase, phrase

_PROGRAMS = frozenset({Kind.SCRIPT, Kind.MODULE, Kind.CODE, Kind.UNKNOWN})
_MOST_READ = 20
"""Commands that are read as jobs: each is read with all variables that the script has set."""
_NO_JOBS = frozenset({"pip", "venv", "ensurepip", "virtualenv", "http.server", "json.tool"})
"""Modules of `python -m` that train nothing."""


def read_shell(text: str, place: Place = NOWHERE) -> Foreign:
    """The job of a script. Raises `NoProgram`."""
    return choose(read_text(text, place))


def read_text(text: str, place: Place, *, variables: Mapping[str, str] | None = None, line: int = 1) -> Reading:
    """The commands of a script, or of a text that stands in another file. `line`: its first, there; `variables`: what
    is set for it."""
    given = {name: build_word(value) for name, value in (variables or {}).items()}
    return read_script(
        text, read_file=place.read_file, name=place.name, start=place.start, variables=given, line=line
    )  # fmt: skip


def choose(reading: Reading, tasks: Tasks = Tasks(), around: Sequence[Launch] = ()) -> Foreign:  # noqa: B008
    """The job among the commands of a reading. `tasks`: of its batch job; `around`: commands that stand elsewhere, and
    set up what it needs. Raises `NoProgram`."""
    distributed = [each for each in reading.launches if _is_distributed(each)]
    files = find_hostfiles(reading.launches)
    found = [(each, made) for each in distributed[:_MOST_READ] if (made := read_launch(each, tasks, files)) is not None]
    found.sort(key=lambda pair: -(pair[1].workers + pair[1].servers))
    if not found:
        programs = [each for each in reading.launches if _is_program(each)]
        found = [
            (each, made) for each in programs[: -_MOST_READ - 1 : -1] if (made := read_launch(each, tasks)) is not None
        ]
    unread = [Left(each.line, _explain_unread(each)) for each in reading.unread]
    if not reading.whole:
        unread.append(Left(0, phrase("the text is too long: its end is not read")))
    if not found:
        unknown = [each for each in reading.launches if _is_distributed(each) or _is_program(each)]
        raise NoProgram([*(_explain_unknown(each) for each in unknown), *unread])
    launch, made = found[0]
    others = [each for each in distributed if each is not launch] if launch in distributed else []
    apart = {id(each) for each in (launch, *others)}
    rest = [each for each in reading.launches if id(each) not in apart]
    setup = read_setup([*around, *rest])
    said = phrase("left out: it is for fewer machines, or the same")
    left = (*made.left, *(Left(each.line, said) for each in others[:MOST_TOLD]), *setup.left, *unread)
    return replace(
        made,
        requirements=setup.requirements,
        packages=setup.packages,
        framework=made.framework or setup.framework,
        left=left,
    )


def _is_distributed(launch: Launch) -> bool:
    """Whether ranks are started: by a launcher, or by tasks of a batch system."""
    return launch.launcher is not None or any(each.spec.name in ("srun", "mpirun") for each in launch.wrappers)


def _is_program(launch: Launch) -> bool:
    program = launch.program
    if program.kind is Kind.PROGRAM:
        return (program.word.usual or "").endswith((".py", ".sh"))
    return (
        program.kind in _PROGRAMS
        and program.module.partition(".")[0] not in _NO_JOBS
        and program.module not in _NO_JOBS
    )


def _explain_unknown(launch: Launch) -> Left:
    typed = launch.program.word.typed
    said = phrase("the program is {typed}, which a shell fills in: write its name in its place", typed=typed)
    return Left(launch.line, said if typed else phrase("no program stands behind the launcher"))


def _explain_unread(unread: Unread) -> Phrase:
    if unread.is_file:
        return phrase("`{text}` is not read: there is no such file here", text=cut(unread.text))
    return phrase("`{text}` is not read: a quote or a bracket may not be closed", text=cut(unread.text))
