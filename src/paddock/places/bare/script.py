"""The script of one machine: what it is, the job's data as bash, then the parts that are the same in each script. Pure.

All scripts of a job have the data of all ranks, and differ in `index`: the first one prints the commands of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from paddock.launches.containers import find_script
from paddock.places.bare.commands import COMMANDS
from paddock.places.bare.machine import ADDRESSES, CHECKS
from paddock.places.bare.processes import PROCESSES
from paddock.places.hosts import Host
from paddock.places.programs import RankProgram
from paddock.places.rendering import MARK, Request
from paddock.places.shell import STRAY, comment, is_name, join, quote
from paddock.version import __version__

_MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "paddle": ("paddle", "paddlepaddle", *(f"paddlepaddle-{device}" for device in ("gpu", "xpu", "dcu", "npu"))),
    "pytorch": ("torch", "torch"),
    "jax": ("jax", "jax"),
})  # fmt: skip
"""The module of a framework, and the packages that bring it."""

_INDENT = "        "
_WIDTH = 118
_INTERFACE = "GLOO_SOCKET_IFNAME"


@dataclass(frozen=True, slots=True)
class Engine:
    """What runs a rank's program."""

    ending: str
    """The ending of the script's file name."""
    text: str
    """Functions of the engine, in Bash."""
    build_program: Callable[[RankProgram, Request], Sequence[str]]
    """The lines of a rank's function that set `program`, and what else `text` reads of it."""
    file: Callable[[RankProgram], str]
    """The file that must be on the machine for it."""
    directory: Callable[[RankProgram], str]
    kept_out: frozenset[str] = frozenset()
    """Variables that are not set for the program that is started: it passes them on itself."""


def name_script(request: Request, host: Host, ending: str = ".sh") -> str:
    """`resnet-10.0.0.1.sh`"""
    return f"{request.name}-{host.name}{ending}"


def build_script(request: Request, host: Host, ranks: str, engine: Engine | None = None) -> str:
    """The script of one of `request.hosts`. `ranks`: of `build_ranks`, the same in each script. `engine`: None for
    programs of the machine itself."""
    engine = engine or PLAIN
    head = _build_head(request, host, engine)
    parts = (head, _build_data(request, host, engine), ranks, ADDRESSES, CHECKS, engine.text)
    return "".join((*parts, PROCESSES, COMMANDS))


def list_ranks(request: Request, host: Host) -> tuple[RankProgram, ...]:
    """The ranks of a machine, in the order of their start: servers before those who ask them."""
    return tuple(sorted((each for each in request.programs if each.host == host), key=lambda each: not each.serves))


def list_ports(program: RankProgram, request: Request) -> tuple[int, ...]:
    """The ports at which a rank listens from its start on, whoever waits for it: the first rank's, where the others
    meet, and those of parameter servers. A launcher finds the other ones free by itself."""
    meets = program.number == 0 and len(request.programs) > 1
    return (program.port,) if meets or program.serves else ()


def _build_head(request: Request, host: Host, engine: Engine) -> str:
    name = name_script(request, host, engine.ending)
    ranks = ", ".join(str(each.rank) for each in list_ranks(request, host))
    texts = [
        f"{MARK} of Paddock {__version__}, from {request.file}",
        "",
        f"It is for {host.name}, machine {host.index} of {len(request.hosts)} (they count from 0), and runs {ranks} of "
        f"the job {request.name}.",
        "",
        f"    bash {name} check     says what this machine lacks",
        f"    bash {name} start     starts its ranks in the background",
        f"    bash {name} status    says which ones run",
        f"    bash {name} logs -f   shows what they write",
        f"    bash {name} stop      ends them",
        "",
        "Programs start in the directory of the job, if it names one, else in the directory of this script; "
        "PADDOCK_DIRECTORY=… names another one. What they write is in paddock-JOB there. Exit codes: 0 good, 1 a rank "
        "failed, 2 wrong use, or the machine is not fit, 3 not started.",
    ]
    lines = "".join(_comment(text) for text in texts)
    return (
        f"#!/usr/bin/env bash\n{lines}\n"
        "# shellcheck disable=SC2317,SC2329 # functions of ranks are called by names that are put together\n"
        "# shellcheck disable=SC2016,SC2054 # words of the job are meant as they are written\n"
        "set -euo pipefail\n"
    )


def _comment(text: str) -> str:
    return f"# {text}".rstrip() + "\n" if not text or text.startswith(" ") else comment(text)


def _build_data(request: Request, host: Host, engine: Engine) -> str:
    programs = request.programs
    asked = {variable.name for each in programs for variable in each.asked}
    stray = [name for name in STRAY if name not in asked]
    directories = {engine.directory(each) for each in programs}
    directory = directories.pop() if len(directories) == 1 else ""
    module, *packages = ("", "") if request.job.is_plain else _MODULES[request.job.framework]
    return "\n".join((
        "\n# ---- the job ----\n",
        f"job={quote(request.name)}",
        f"hosts=({join(each.name for each in request.hosts)}) # as they were typed; the first one has rank 0",
        f"index={host.index} # of this machine in hosts",
        f"ranks=({join(str(each.rank) for each in list_ranks(request, host))}) # of this machine",
        build_array("all_ranks", [str(each.rank) for each in programs]),
        f"module={quote(module)} # of the framework, and the packages that bring it; empty without one",
        f"packages=({join(packages)})",
        "# Variables by which launchers and frameworks find their peers: left in a shell, they would change the run.",
        build_array("stray", stray),
        "",
        'script_name=${0##*/}',
        'script_directory=$(cd -- "$(dirname -- "$0")" && pwd -P)',
        "if [[ -n ${PADDOCK_DIRECTORY:-} && $PADDOCK_DIRECTORY != /* ]]; then",
        "    PADDOCK_DIRECTORY=$PWD/$PADDOCK_DIRECTORY",
        "fi",
        f"job_directory={quote(directory)} # where the job says that its programs start",
        'logs=${PADDOCK_DIRECTORY:-${job_directory:-$script_directory}}/paddock-$job',
        "",
    ))  # fmt: skip


def build_array(name: str, words: Sequence[str]) -> str:
    return f"{name}=(\n    {_fold([quote(word) for word in words], '    ')}\n)"


def _fold(words: Sequence[str], indent: str) -> str:
    """Quoted words as lines of an array, which continue without a sign at their ends."""
    lines, line = [], ""
    for word in words:
        if line and len(indent) + len(line) + 1 + len(word) > _WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}".lstrip()
    return f"\n{indent}".join([*lines, line])


def build_ranks(request: Request, engine: Engine | None = None) -> str:
    head = (
        "\n# ---- the ranks: where each one runs, its environment, its command ----\n\n"
        "read_rank() {\n"
        '    "rank_${1//-/_}"\n'
        "}\n"
    )
    return head + "".join(_build_rank(each, request, engine or PLAIN) for each in request.programs)


def _build_rank(program: RankProgram, request: Request, engine: Engine) -> str:
    asked = [word for each in program.asked for word in (each.name, each.source)]
    hidden = [each.name for each in program.variables if each.hidden and is_name(each.name)]
    lines = [
        f"rank_{str(program.rank).replace('-', '_')}() {{ # {program.rank} on {program.host.name}",
        f"    host={program.host.index} launched={int(program.launched)} directory={quote(engine.directory(program))}",
        f"    script={quote(engine.file(program))} # the file that must be there",
        f"    ports=({' '.join(map(str, list_ports(program, request)))}) # at which it listens",
        f"    asked=({join(asked)}) # values that the manifest has not, each with its source",
        f"    hidden=({join(hidden)}) # values of Secrets, which `command` does not print",
        "    variables=(",
        *(f"{_INDENT}{line}" for line in build_variables(program, engine.kept_out)),
        "    )",
        *engine.build_program(program, request),
        "}",
    ]
    return "\n" + "\n".join(lines) + "\n"


def build_variables(program: RankProgram, kept_out: frozenset[str] = frozenset()) -> Iterator[str]:
    """The variables of a rank, with those that a bare machine needs beside a pod's: its own address, the interface that
    has it (gloo takes what the host name resolves to otherwise), and output that appears at once in a file."""
    named = {each.name for each in program.variables}
    yield f"POD_IP={quote(program.host.mark)}"
    if _INTERFACE not in named:
        yield f'{_INTERFACE}="$interface"'
    if "PYTHONUNBUFFERED" not in named:
        yield "PYTHONUNBUFFERED=1"
    for each in program.variables:
        if each.value is not None and each.name != "POD_IP" and (each.hidden or each.name not in kept_out):
            yield _build_variable(each.name, each.value)


def _build_variable(name: str, value: str) -> str:
    return f"{name}={quote(value)}" if is_name(name) else quote(f"{name}={value}")


def find_file(words: Sequence[str]) -> str:
    """The script that a command starts, which must be on the machine: `train.py`, `/workspace/train.py`. Empty where
    the command does not tell."""
    named = find_script({"command": list(words)})
    absolute = (word for word in words[1:] if word.startswith("/") and word.endswith((".py", ".sh")))
    return named or next(absolute, "")


def build_command(words: Sequence[str], name: str = "program") -> list[str]:
    """An array of a rank's function, in lines."""
    return [f"    {name}=(", f"{_INDENT}{_fold([quote(word) for word in words], _INDENT)}", "    )"]


PLAIN = Engine(
    ".sh",
    "",
    lambda program, request: build_command(program.words),
    lambda program: find_file(program.words),
    lambda program: program.directory,
)
"""Programs of the machine itself."""
