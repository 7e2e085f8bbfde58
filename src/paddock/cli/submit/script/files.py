"""Checks a typed command against the files of this machine, before anything is created.

The script must be there, be a file and be Python; the program must exist. A program that Paddock cannot run is refused
with the reason, and what works differently in a pod is said.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.app.submitted.nearby import find_nearby
from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.named_files import find_scripts
from paddock.cli.submit.script.sources import read_file
from paddock.cli.submit.script.typed_command import name_python
from paddock.kube.nearness import nearest
from paddock.launches.launch import Launch
from paddock.launches.launchers import BY_PROGRAM
from paddock.launches.programs import Kind, Program, is_python
from paddock.launches.reading import OTHER_SHELLS, decode_script, find_main, read_typed
from paddock.preflight.command_words import explain_file
from paddock.preflight.scripts import check_encoding
from paddock.preflight.scripts import check_script as check_text
from paddock.script.source import LARGEST, Source
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import NOTHING, Phrase, phrase

Notify = Callable[[Phrase], None]

_OF_SHELLS = frozenset({"time", "exec", "command", "eval"})
"""Words of bash itself that start a program; some machines have a program of the name too."""
_OF_ENVIRONMENTS = (*sorted(BY_PROGRAM), "pip", "pip3", "coverage")
"""Programs of environments that this machine need not have."""
_USUAL = ("python", "python3", "bash", "sh", "fleetrun", "torchrun", "pip", "pip3")
_MOST_FILES = 3000
_TEMPORARY = Path("/tmp")  # noqa: S108 - in its place a pod has its own


@dataclass(frozen=True, slots=True)
class Machine:
    """What a typed command finds where it would run."""

    directory: Path
    """Where the programs start, absolute."""
    search: str | None
    """PATH; None where the command is not run on this machine or its environment brings programs of its own."""
    own_tmp: bool = False
    """Pods have a /tmp of their own."""
    shown: tuple[Path, ...] = ()
    """What pods see of the /tmp of this machine, where they have their own."""
    may_lack: bool = False
    """A program that is not here is said, and not refused: it may be in the image."""
    read: Callable[[Path], Source] = read_file
    """What a look into a file tells."""


def check_script(words: Sequence[str], machine: Machine, *, servers: bool, notify: Notify) -> None:
    """Raises `UserError` for a command that cannot run; `notify` gets what is different in a pod."""
    launch = find_main(read_typed(words))
    program = launch.program
    if launch.elsewhere:
        _check_program(words, machine)
        return
    if program.kind is Kind.STDIN and launch.command.stdin is None:
        raise UserError(
            phrase(
                "{command} reads its program from standard input, and a pod has none: name a file, as in "
                "`python train.py`",
                command=words[0],
            )
        )
    if program.script and launch.command.directory is None:
        if machine.may_lack and not _exists(machine.directory / program.script):
            notify(phrase("warning: {said}", said=explain_missing(program.script, machine.directory)))
            return
        _check_file(launch, machine)
        _check_source(program, machine, servers=servers, notify=notify)
        _check_shell_script(program, machine, notify)
    if launch.wrappers or (program.kind is Kind.PROGRAM and not program.script):
        try:
            _check_program(words, machine)
        except UserError as error:
            if not machine.may_lack:
                raise
            notify(phrase("warning: {said}", said=error.said[0]))


def _exists(path: Path) -> bool:
    """False also for what can be no name of a file, such as one of 300 letters."""
    return os.path.exists(path)  # noqa: PTH110 - which raises no error


def _check_file(launch: Launch, machine: Machine) -> None:
    program = launch.program
    script, path = program.script, machine.directory / program.script
    if path.is_dir():
        if program.python and (path / "__main__.py").is_file():
            return
        raise UserError(phrase("{script} is a directory: name the file in it that is the program", script=script))
    try:
        exists = path.exists()
    except OSError as error:
        raise UserError(phrase("{path} cannot be read: {why}", path=script, why=explain_unreadable(error))) from error
    if not exists:
        raise UserError(explain_file(launch) or explain_missing(script, machine.directory))
    # `../train.py` begins with the directory and lies beside it.
    place = Path(os.path.normpath(path))
    is_shown = any(place.is_relative_to(each) for each in (machine.directory, *machine.shown))
    if machine.own_tmp and _TEMPORARY in place.parents and not is_shown:
        raise UserError(
            phrase(
                "{script}: a pod has a /tmp of its own and does not see this one; --workdir {directory} shows it that "
                "directory",
                script=script, directory=str(place.parent),
            )
        )  # fmt: skip
    if not path.is_file():
        raise UserError(phrase("{script} is no file", script=script))
    if not os.access(path, os.R_OK):
        raise UserError(phrase("{path} cannot be read: {why}", path=script, why=phrase("Permission denied")))
    if program.kind is Kind.PROGRAM and launch.launcher is None and not os.access(path, os.X_OK):
        raise UserError(_explain_not_executable(script, path))


def _explain_not_executable(script: str, path: Path) -> Phrase:
    """A file without a line `#!` would be run by a shell, whatever it is."""
    command = f"{name_python() if script.endswith('.py') else 'bash'} {script}"
    with path.open("rb") as file:
        if file.read(2) != b"#!":
            return phrase("{script} is not executable, and has no first line `#!`: `{command}`",
                          script=script, command=command)  # fmt: skip
    return phrase("{script} is not executable: `chmod +x {script}`, or `{command}`", script=script, command=command)


def _check_source(program: Program, machine: Machine, *, servers: bool, notify: Notify) -> None:
    path = machine.directory / program.script
    if not program.script.endswith(".py") or not path.is_file():
        return
    source = machine.read(path)
    if source.problem:
        said = phrase(
            "{script}:{line}: {problem}{text}", script=program.script, line=source.line, problem=source.problem,
            text=phrase(": {text}", text=source.text) if source.text else NOTHING,
        )  # fmt: skip
        if not _is_of_another_python(program.python):
            raise UserError(said)
        notify(phrase("warning: {said}", said=said))
    for said in explain_differences(program.script, source, servers=servers):
        notify(said)


def _check_shell_script(program: Program, machine: Machine, notify: Notify) -> None:
    """What `paddock validate` says of the script too. Raises `UserError` for what no shell reads."""
    path = machine.directory / program.script
    if not (program.shell_name or program.script.endswith((".sh", ".bash"))) or not path.is_file():
        return
    with path.open("rb") as stream:
        data = stream.read(LARGEST)
    read = check_text(
        decode_script(data), find_scripts([machine.directory]), name=program.script, start=str(machine.directory)
    )
    encoding = check_encoding(data)
    for each in (*encoding, *read.problems):
        said = phrase("{script}: {said}", script=f"{program.script}:{each.line}", said=each.said or each.message)
        if each in encoding and each.severity == "error":
            raise UserError(said)
        notify(phrase("warning: {said}", said=said))  # a line that is wrong may stand where the script never comes


def explain_differences(
    script: str, source: Source, *, servers: bool, heter: bool = False, serves: bool = True
) -> Iterator[Phrase]:
    """What a pod does otherwise than a shell, or a framework otherwise than expected. `servers`, `heter`: whether the
    job has such ranks; `serves`: whether they run this script. Pure."""
    if source.reads_stdin:
        yield phrase(
            "warning: {script} reads standard input, and a pod has none: there it is empty (give values as arguments, "
            "--env or files)",
            script=script,
        )
    if servers and serves and source.trainer_id:
        yield phrase(
            "warning: {script}:{line} reads PADDLE_TRAINER_ID, which parameter servers do not have: one that comes "
            "there ends by a KeyError or TypeError; read it in workers alone (fleet.worker_index(); a server has "
            "fleet.server_index())",
            script=script, line=source.trainer_id,
        )  # fmt: skip
    if servers and source.second_stage and not heter:
        yield phrase(
            'warning: {script} marks layers by device_guard("{device}"), and the job has no heter ranks to compute '
            "them: the workers do",
            script=script, device=source.second_stage,
        )  # fmt: skip


def _is_of_another_python(word: str) -> bool:
    named = re.search(r"(\d+)\.(\d+)t?$", word)
    return named is not None and (int(named[1]), int(named[2])) != sys.version_info[:2]


def explain_missing(script: str, directory: Path) -> Phrase:
    """The sentence about a script that is not there, with the nearest name or the directory near by that has it."""
    path = directory / script
    near = nearest(path.name, _list_files(path.parent), least=0.7)
    if near:
        found = os.path.join(os.path.dirname(script), near)  # noqa: PTH118,PTH120 - as typed, not normalised
        hint = phrase("; did you mean {suggestion}?", suggestion=found)
    elif where := find_nearby(directory, script):
        hint = phrase("; {directory} has it: `--workdir {directory}`", directory=shlex.quote(where))
    else:
        hint = NOTHING
    if path == Path(script):
        return phrase("there is no file {script} on this machine{hint}", script=script, hint=hint)
    return phrase("{script} is not in {directory}{hint}", script=script, directory=str(directory), hint=hint)


def _list_files(directory: Path) -> list[str]:
    return [entry.name for entry in _scan(directory) if not entry.is_dir()]


def _scan(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return [entry for entry, _ in zip(entries, range(_MOST_FILES), strict=False)]
    except OSError:
        return []


def _check_program(words: Sequence[str], machine: Machine) -> None:
    """A program that is looked for in PATH."""
    word = words[0]
    here = machine.directory / word
    if machine.search is None or word in _OF_ENVIRONMENTS or is_python(word) or shutil.which(word, path=machine.search):
        return
    if here.is_file():
        command = (
            f"{name_python()} {word}"
            if word.endswith(".py")
            else f"bash {word}"
            if word.endswith(".sh")
            else f"./{word}"
        )
        raise UserError(
            phrase("{word} is a file of {directory} and no program of PATH: `{command}`", word=word,
                   directory=str(machine.directory), command=command)
        )  # fmt: skip
    if word in _OF_SHELLS:
        command = f"bash -c {shlex.quote(shlex.join(words))}"
        raise UserError(
            phrase("{word} is a word of the shell, and there is no program of this name in PATH: `{command}`",
                   word=word, command=command)
        )  # fmt: skip
    # late: the readers of other tools' files, of which a program that is there needs none
    from paddock.cli.submit.script.foreign_files import explain_other_command

    if lines := explain_other_command(words):
        raise UserError(*lines)
    near = "" if word in OTHER_SHELLS else nearest(word, _USUAL)
    hint = phrase("; did you mean {suggestion}?", suggestion=near) if near else NOTHING
    raise UserError(phrase("there is no program {word} in PATH{hint}", word=word or "''", hint=hint))
