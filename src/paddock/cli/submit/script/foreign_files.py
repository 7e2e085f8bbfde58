"""`paddock init --from FILE`: a file of another tool becomes words and options of a typed command.

The file is read in `script.foreign`; here, what it says is seen against this machine: files, directories, variables.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.named_files import find_scripts, list_places
from paddock.cli.submit.script.imports import read_contents
from paddock.cli.submit.script.sources import Sources
from paddock.launches.reading import decode_script, find_main, find_other_shell, read_typed
from paddock.manifests.pasted import recognise
from paddock.script.foreign.job import Foreign, Left, NoProgram, Place
from paddock.script.foreign.ranks import add_ranks, explain_no_gpus, explain_no_ranks, explain_places
from paddock.script.foreign.tools import LARGEST, find_tool, read_foreign
from paddock.script.kinds import NONE, SCRIPT_KINDS, choose_framework
from paddock.script.names import build_name
from paddock.submission.other_files import explain_no_script, explain_other_shell
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

Notify = Callable[[Phrase], None]
_TYPE_IT = phrase("`paddock init -- python train.py` writes the job of a program")
_EXAMPLE = ("python", "train.py")
_OPTIONS = ("name", "workers", "servers", "gpus", "restarts", "image", "framework", "requirements")
"""Of `cli.submit.script.options`, as a file of another tool may say them."""
_SUBMITTERS = {
    "sbatch": (".sh", ".sbatch", ".slurm", ".bash", ".job"), "qsub": (".sh", ".pbs", ".bash", ".job"),
    "sky": (".yaml", ".yml"), "dstack": (".yaml", ".yml"),
}  # fmt: skip
"""Programs of other tools that submit a file, and how such a file ends."""


def take_foreign(
    source: str,
    typed: dict[str, Any],
    workdir: str | None,
    environ: Mapping[str, str],
    notify: Notify,
    *,
    local: bool,
    sources: Sources,
) -> tuple[tuple[str, ...], str | None]:
    """The program of a file, and its directory (None: this one); all else that it says is put into `typed`, where the
    user has not said it. `local`: whether the job is for this machine; `sources`: read the files of the program. Raises
    `UserError`."""
    text = _read(source)
    if find_tool(source, text) is None and (other := explain_no_script(source, text)):
        raise UserError(*_explain_other(source, other))
    try:
        foreign = read_foreign(text, Place(source, str(Path.cwd()), find_scripts(list_places(source))))
    except NoProgram as error:
        raise UserError(*_explain_none(source, text, error.left, error.starts)) from None
    left = list(foreign.left)
    directory = _take_directory(foreign, workdir, left)
    foreign = show_relative(foreign, Path(directory or "").resolve())
    framework = _take_framework(foreign, Path(directory or ""), typed, sources)
    words = add_ranks(foreign.words, foreign.processes, framework)
    if said := explain_no_ranks(foreign.words, words, foreign.processes):
        left.append(Left(foreign.line, said))
    left += [Left(foreign.line, said) for said in explain_places(words, foreign.starter, framework)]
    words = (*_take_runner(foreign, left, local=local), *words)
    _take_packages(foreign, Path(directory or ""), typed, left, local=local)
    _take_variables(foreign, typed, environ, left)
    for name, value in _list_options(foreign, typed):
        if not typed.get(name):
            typed[name] = value
    is_open = not typed.get("gpus") and not foreign.has_others
    if is_open and (said := explain_no_gpus(words, typed.get("workers") or 1)):
        left.append(Left(foreign.line, said))
    command = shlex.join(["paddock", "run", *_write_options(typed, directory), "--", *words])
    notify(phrase("{file}:{line}: {command}", file=source, line=foreign.line, command=command))
    for each in sorted(left, key=lambda one: one.line):
        notify(explain_left(source, each))
    return words, directory


def explain_other_command(words: Sequence[str]) -> list[Phrase]:
    """What to type in place of a command that hands a job to another tool: lines; none for any other command."""
    tool, file = posixpath.basename(words[0]), _find_handed(words)
    if tool == "arena":
        return _explain_arena(words)
    if not file or tool not in _SUBMITTERS:
        return []
    command = shlex.join(["paddock", "init", "--from", file])
    return [
        phrase(
            "{tool} hands a job to another system, and is not in PATH: `{command}` writes the job of {file}, and "
            "`paddock run job.yaml` trains it",
            tool=tool, command=command, file=file,
        )
    ]  # fmt: skip


def _find_handed(words: Sequence[str]) -> str:
    """The file that the command names, by its ending."""
    ends = _SUBMITTERS.get(posixpath.basename(words[0]), ())
    return next((each for each in words[1:] if each.endswith(ends) and not each.startswith("-")), "") if ends else ""


def _explain_arena(words: Sequence[str]) -> list[Phrase]:
    try:
        foreign = read_foreign(shlex.join(words))
    except NoProgram:
        return []
    typed = dict(_list_options(foreign, {})) | {"env": [f"{name}={value}" for name, value in foreign.variables]}
    if foreign.framework:
        typed["framework"] = foreign.framework
    made = add_ranks(foreign.words, foreign.processes, foreign.framework)
    command = shlex.join(["paddock", "run", *_write_options(typed, None), "--", *foreign.runner, *made])
    return [
        *(each.said for each in foreign.left),
        phrase("arena is not in PATH: `{command}` is its job", command=command),
    ]


def explain_left(source: str, left: Left) -> Phrase:
    if left.line:
        return phrase("{file}:{line}: {said}", file=source, line=left.line, said=left.said)
    return phrase("{file}: {said}", file=source, said=left.said)


def _explain_other(source: str, said: Phrase) -> Iterator[Phrase]:
    """What a file is, and where that does not say what makes a job of it, this too."""
    yield phrase("{file}: {said}", file=source, said=said)
    if "`paddock " not in said.text:
        yield _TYPE_IT


def _explain_none(source: str, text: str, left: tuple[Left, ...], starts: Sequence[str]) -> Iterator[Phrase]:
    """`starts`: a command that trains, as words; empty where none is known."""
    found = recognise(text) if find_tool(source, text) is None else None
    if found is not None and found.problem.said is not None:
        yield from _explain_other(source, found.problem.said)
        return
    yield from (explain_left(source, each) for each in left)
    if starts:
        words = starts if shutil.which(starts[0]) else _EXAMPLE  # what is not here, init refuses
        command = shlex.join(["paddock", "init", "--", *words])
        yield phrase(
            "{file}: no job is made of it: type the program that trains: `{command}`", file=source, command=command
        )
    elif find_tool(source, text) is not None or not left:
        yield phrase(
            "{file}: no command in it starts a program of Python, paddle.distributed.launch or torchrun; type the "
            "program: paddock init -- python train.py",
            file=source,
        )


def _read(source: str) -> str:
    """At most a letter more than `LARGEST`. Raises `UserError`."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(source).open("rb") as stream:
                data = stream.read(LARGEST + 1)
    except OSError as error:
        raise UserError(phrase("{file}: {why}", file=source, why=explain_unreadable(error))) from error
    if len(data) > LARGEST:
        raise UserError(phrase("{file}: larger than {most} KiB: this is no script", file=source, most=LARGEST >> 10))
    text = decode_script(data)
    if shell := find_other_shell(source, text):
        raise UserError(phrase("{file}: {said}", file=source, said=explain_other_shell(shell)))
    if "\0" in text:
        said = phrase("a zero byte stands in it: this is no text file, or a damaged one")
        raise UserError(phrase("{file}: {said}", file=source, said=said))
    return text


def _take_runner(foreign: Foreign, left: list[Left], *, local: bool) -> tuple[str, ...]:
    """`uv run`, where this machine has it; an image may have it."""
    runner = foreign.runner
    if not runner or not local or shutil.which(runner[0]):
        return runner
    said = phrase(
        "`{command}` is left out: there is no program {program} in PATH; packages come by a file of -r",
        command=shlex.join(runner), program=runner[0],
    )  # fmt: skip
    left.append(Left(foreign.line, said))
    return ()


def _take_directory(foreign: Foreign, workdir: str | None, left: list[Left]) -> str | None:
    """The directory in which the program starts; None for this one."""
    if workdir is not None or not foreign.workdir:
        return workdir
    place = Path(os.path.expanduser(foreign.workdir))  # noqa: PTH111 - a text of a file
    if not place.is_dir():
        said = phrase("{directory} is no directory of this machine: --workdir names another one", directory=str(place))
        left.append(Left(0, said))
        return None
    return None if place.resolve() == Path.cwd() else str(place)


def show_relative(foreign: Foreign, directory: Path) -> Foreign:
    """Paths below the directory in which the job starts as they are seen from there: a manifest is for others too. A
    script that asks where it stands gets absolute ones."""
    inside = re.compile(rf"(?:(?<=[=:,])|^){re.escape(str(directory))}(?:/|(?=:|,|$))")

    def show(text: str) -> str:
        return inside.sub("", text) or ("." if inside.search(text) else text)

    variables = tuple((name, show(value)) for name, value in foreign.variables)
    return replace(foreign, words=tuple(map(show, foreign.words)), variables=variables)


def _take_framework(foreign: Foreign, directory: Path, typed: dict[str, Any], sources: Sources) -> str:
    """The framework of the job: what launcher and imports tell; else what the file says, then its image, typed as an
    option; empty where nothing tells."""
    if typed.get("framework"):
        return str(typed["framework"])
    launch = find_main(read_typed(foreign.words))
    choice = choose_framework(launch, read_contents(foreign.words, directory.resolve(), sources=sources))
    if choice.doubt is None and choice.framework != NONE.framework:
        return choice.framework
    image = typed.get("image") or foreign.image
    named = foreign.framework or next((each for each in SCRIPT_KINDS if each in image.lower()), "")
    if named and (choice.doubt is not None or foreign.framework):
        typed["framework"] = named
        return named
    return "" if choice.doubt is not None else choice.framework


def _take_packages(foreign: Foreign, directory: Path, typed: dict[str, Any], left: list[Left], *, local: bool) -> None:
    """The file of `pip install -r`, where it is here; other packages are listed with what brings them."""
    places = [str(each) for each in (Path(foreign.requirements), directory / foreign.requirements)]
    file = next((each for each in places if Path(each).is_file()), "")
    if foreign.requirements and not typed.get("requirements"):
        if local and file:
            typed["requirements"] = file
        elif local:
            said = phrase("-r {file} is left out: there is no such file here", file=places[-1])
            left.append(Left(0, said))
        else:
            said = phrase("-r {file} is left out: on a cluster the image has the packages", file=places[-1])
            left.append(Left(0, said))
    names = shlex.join(foreign.packages)
    if names and typed.get("requirements"):
        named = str(typed["requirements"])
        said = phrase("pip install {packages} is left out: {file} is to name them", packages=names, file=named)
        left.append(Left(0, said))
    elif names:
        said = phrase(
            "pip install {packages} is left out: `printf '%s\\n' {packages} > requirements.txt`, then add "
            "-r requirements.txt",
            packages=names,
        )
        left.append(Left(0, said))


def _take_variables(foreign: Foreign, typed: dict[str, Any], environ: Mapping[str, str], left: list[Left]) -> None:
    """Variables, and secrets that this shell has; what the user has typed counts more."""
    given = {each.partition("=")[0] for each in typed.get("env", ())}
    kept = [f"{name}={value}" for name, value in dict(foreign.variables).items() if name not in given]
    typed["env"] = (*kept, *typed.get("env", ()))
    for name in foreign.secrets:
        if name in environ:
            typed["secrets"] = (*typed.get("secrets", ()), name)
        elif name not in given:
            said = phrase("{name} has no value here: `export {name}=…`, then add --secret {name}", name=name)
            left.append(Left(0, said))


def _list_options(foreign: Foreign, typed: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if foreign.workers > 1 or (foreign.workers and (foreign.servers or typed.get("servers"))):
        yield "workers", foreign.workers
    numbers = {"servers": foreign.servers, "gpus": foreign.gpus, "restarts": foreign.restarts}
    texts = {"image": foreign.image, "name": build_name(foreign.name) if foreign.name else ""}
    yield from ((name, value) for name, value in (numbers | texts).items() if value)


def _write_options(typed: Mapping[str, Any], directory: str | None) -> Iterator[str]:
    """The options as they would be typed."""
    flags = {"servers": "--ps", "requirements": "-r"}
    for name in _OPTIONS:
        if typed.get(name) is not None:
            yield from (flags.get(name, f"--{name}"), str(typed[name]))
    for name, flag in (("env", "--env"), ("env_files", "--env-file"), ("secrets", "--secret"), ("data", "--data")):
        for each in typed.get(name, ()):
            yield from (flag, each)
    if directory is not None:
        yield from ("--workdir", directory)
