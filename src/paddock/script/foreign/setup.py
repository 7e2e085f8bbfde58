"""What stands around the command of a job: packages that are installed, and commands that do something else. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.launches.launch import Launch
from paddock.launches.programs import Kind
from paddock.launches.words import Word, show_words
from paddock.launches.wrappers import SPECS
from paddock.script.foreign.carried import cut
from paddock.script.foreign.elsewhere import UNKNOWN, say
from paddock.script.foreign.job import Left
from paddock.script.foreign.started import explain_started, find_started
from paddock.script.libraries import MODULES, find_module
from paddock.words.phrases import Phrase, phrase

_MOST_TOLD = 12
"""Commands that are named one by one."""
_SILENT = frozenset({
    "head", "tail", "cut", "awk", "gawk", "sed", "grep", "egrep", "scontrol", "hostname", "tr", "wc", "sort",
    "uniq", "seq", "shuf", "ip", "ifconfig", "cat", "dirname", "basename", "readlink", "realpath", "pwd",
    "date", "whoami", "nproc", "ls", "nvidia-smi", "which", "type", "test", "[", "[[", "env", "printenv",
    "ulimit", "uname", "id", "df", "free", "lscpu", "mkdir", "touch", "tee", "xargs", "getopts", "getopt",
    "clear", "squeue", "sinfo", "ping", "nc", "expr", "bc", "let", "true", "false", "tput", "sleep",
})  # fmt: skip
"""Programs that only look, print or make a directory."""
_VALUES = frozenset({
    "-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links",
    "-t", "--target", "--trusted-host", "--proxy", "--timeout", "--retries", "--cache-dir", "--prefix",
    "--root", "--python", "--platform", "--progress-bar", "-e", "--editable",
})  # fmt: skip
"""Options of pip whose value is the next word."""
_PACKAGES = frozenset(each.name for each in SPECS if each.manages) | {
    "module", "ml", "spack", "virtualenv", "apt", "apt-get", "yum", "dnf", "apk", "npm", "brew",
}  # fmt: skip
"""Programs that bring packages or choose among them."""
_BROUGHT = frozenset({"torch", "paddle"})
"""Modules of packages that each environment of their framework has."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_ONE_VERSION = r"[=<>!~]{1,3}[\w.*+-]+"
_REQUIREMENT = re.compile(rf"[A-Za-z0-9][\w.-]*(\[[\w.,-]*\])?({_ONE_VERSION}(,{_ONE_VERSION})*)?")
"""`ray[default]==2.12.0`, whose brackets are a pattern of files for a shell, and are typed all the same."""
_VERSION = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]*\])?[=<>!~]{1,3}")
_PROGRAMS = frozenset({Kind.SCRIPT, Kind.MODULE, Kind.CODE, Kind.UNKNOWN})
_NO_JOBS = frozenset({"pip", "venv", "ensurepip", "virtualenv", "http.server", "json.tool"})
"""Modules of `python -m` that train nothing."""
_USING = frozenset({
    "test", "tests", "eval", "evaluate", "evaluation", "infer", "inference", "predict", "prediction", "export",
})  # fmt: skip
"""Words in the name of a program that uses what another one has trained."""
_PREPARING = frozenset({"download", "prepare", "preprocess"})
"""Words in the name of a program that makes what another one trains with."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What is done before a program starts."""

    requirements: str = ""
    """The first file of `pip install -r`."""
    packages: tuple[str, ...] = ()
    framework: str = ""
    """That of which a package is installed; empty without one."""
    left: tuple[Left, ...] = ()


def read_setup(before: Sequence[Launch], chosen: Launch, behind: Sequence[Launch]) -> Setup:
    """The commands of a file around the one that is the job, `chosen`."""
    files: list[str] = []
    packages: list[str] = []
    left: list[Left] = []
    others: list[Left] = []
    for place, launch in enumerate((*before, *behind)):
        words = _find_install(launch)
        if words is not None:
            _read_install(launch.line, words, files, packages, left)
        elif not is_silent(launch):
            others.append(Left(launch.line, _explain(launch, chosen, is_behind=place >= len(before))))
    modules = {find_module(match[0].lower()) for each in packages if (match := _NAME.match(each))}
    framework = next((name for name, each in MODULES.items() if not each.own.isdisjoint(modules)), "")
    one = phrase("-r {file}: `paddock run` takes one such file: join them").text
    left += [Left(0, phrase(one, file=file)) for file in files[1:]]
    if len(others) > _MOST_TOLD:
        more = Left(
            others[_MOST_TOLD].line, phrase("{count} more commands are left out", count=len(others) - _MOST_TOLD)
        )
        others = [*others[:_MOST_TOLD], more]
    kept = tuple(dict.fromkeys(each for each in packages if find_module(each.lower()) not in _BROUGHT))
    return Setup(files[0] if files else "", kept, framework, (*left, *others))


def _find_install(launch: Launch) -> tuple[Word, ...] | None:
    """The words behind `pip install`, `python -m pip install` and `uv pip install`; None for another command."""
    words = launch.arguments
    name = posixpath.basename(launch.program.word.text or "")
    if name == "uv" and words and words[0].text == "pip":
        words = words[1:]
    elif not (re.fullmatch(r"pip[\d.]*", name) or launch.program.module == "pip"):
        return None
    return words[1:] if words and words[0].text == "install" else None


def _read_install(line: int, words: Sequence[Word], files: list[str], packages: list[str], left: list[Left]) -> None:
    rest = iter(words)
    for word in rest:
        typed = word.usual or word.typed
        option, equals, joined = typed.partition("=")
        if not typed.startswith("-"):
            if word.usual is None and not _REQUIREMENT.fullmatch(typed):
                left.append(Left(line, _explain_package(typed)))
            elif re.match(r"[./]|\w+\+|https?:", typed):
                left.append(
                    Left(line, phrase("`pip install {package}` is left out: no package of an index", package=typed))
                )
            else:
                packages.append(typed)
            continue
        if option not in _VALUES:
            continue
        following = None if equals else next(rest, None)
        value = joined if equals else (following.usual or following.typed if following is not None else "")
        if option in ("-r", "--requirement"):
            files.append(value)
        elif option not in ("--timeout", "--retries", "--progress-bar", "--cache-dir"):
            said = phrase("`{option} {value}` is left out: write it into the file of -r", option=option, value=value)
            left.append(Left(line, said))


def _explain_package(typed: str) -> Phrase:
    """Why a package is left out of which a shell fills in a part."""
    if _VERSION.match(typed):
        return phrase("`pip install {package}` is left out: its version does not stand here", package=typed)
    return say(UNKNOWN, f"`pip install {typed}`")


def is_silent(launch: Launch) -> bool:
    """Whether it only looks, prints or makes a directory, also on other machines: `srun hostname`."""
    name = posixpath.basename(launch.program.word.text or "")
    return not launch.command.words or (name in _SILENT and not find_started(launch))


def brings_packages(launch: Launch) -> bool:
    """Whether it is pip, apt, conda or another program that brings packages, also behind srun."""
    name = posixpath.basename(launch.program.word.text or "")
    own = name in _PACKAGES or launch.program.module in ("venv", "virtualenv")
    return own or _find_install(launch) is not None or re.fullmatch(r"pip[\d.]*", name) is not None


def is_program(launch: Launch) -> bool:
    """Whether it may train: a program of Python, or a script."""
    program = launch.program
    if program.kind is Kind.PROGRAM:
        return (program.word.usual or "").endswith((".py", ".sh"))
    return program.kind in _PROGRAMS and _NO_JOBS.isdisjoint((program.module, program.module.partition(".")[0]))


def is_beside(launch: Launch) -> bool:
    """Whether a program by its name prepares a training, or uses what it has made: `tools/eval.py`, `export_model.py`.
    A name with the word train in it may do both."""
    return uses_result(launch) or _has_word(launch, _PREPARING)


def uses_result(launch: Launch) -> bool:
    """Whether a program by its name uses what a training has made."""
    return _has_word(launch, _USING)


def _has_word(launch: Launch, words: frozenset[str]) -> bool:
    program = launch.program
    name = program.module.rpartition(".")[2] or posixpath.splitext(posixpath.basename(program.script))[0]
    return "train" not in name and not words.isdisjoint(re.split(r"[_-]", name.lower()))


def _explain(launch: Launch, chosen: Launch, *, is_behind: bool) -> Phrase:
    """Why a command is left out."""
    command = cut(show_words(launch.command.words))
    if started := find_started(launch):
        return explain_started(launch, started)
    name = posixpath.basename(launch.program.word.text or "")
    if brings_packages(launch):
        return phrase("`{command}` is left out: packages come by a file of -r, or with the image", command=command)
    is_same = bool(name) and launch.program.word.typed == chosen.program.word.typed
    if is_same and _type_arguments(launch) == _type_arguments(chosen):
        return phrase(
            "`{command}` is left out: it starts the same program on fewer machines, or on as many", command=command
        )
    if is_behind and uses_result(launch) and not is_beside(chosen):
        return phrase(
            "`{command}` is left out: by its name it uses what the job has trained; do it after the job",
            command=command,
        )  # fmt: skip
    if is_same or (launch.launcher is not None and launch.launcher.family):
        return phrase("`{command}` is another training, which is not in this job: write its own", command=command)
    if is_behind and (launch.launcher is not None or is_program(launch)):
        return phrase("`{command}` is another program, and is not in this job", command=command)
    if is_behind:
        return phrase("`{command}` is left out: do it after the job", command=command)
    return phrase("`{command}` is left out: do it before the job", command=command)


def _type_arguments(launch: Launch) -> list[str]:
    return [word.typed for word in launch.arguments]
