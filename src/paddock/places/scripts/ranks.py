"""The part of a machine's script that is the job's own: machines, ranks, their environments and commands. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence

from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.jobs.reading.scripts import find_script
from paddock.jobs.text.phrases import phrase
from paddock.places.hosts import Host
from paddock.places.launchers import find_launch
from paddock.places.programs import RankProgram, Variable
from paddock.places.rendering import MARK, Request, Unplaceable
from paddock.places.shell import STRAY, comment, quote
from paddock.version import __version__

PACKAGES = {
    "paddle": ("paddlepaddle", "paddlepaddle-gpu", "paddlepaddle-xpu", "paddlepaddle-dcu", "paddlepaddle-npu"),
    "pytorch": ("torch",),
}
"""Framework -> names of its distributions, of which a machine has one."""

_INTERFACE = "GLOO_SOCKET_IFNAME"
_ADDRESS = "POD_IP"
_UNBUFFERED = "PYTHONUNBUFFERED"
_LOGS = "PADDLE_LOG_DIR"
_GLOO = "PADDLE_GLOO_HTTP_ENDPOINT"


def build_script(request: Request, host: Host, name: str, engine: str, parts: Sequence[str], *, what: str) -> str:
    """The script of one machine. `name`: the job's, in names of files. `engine`: variables of the place. `parts`: the
    constant parts, in their order. `what`: of the head, such as "machine 1 of 2"."""
    from paddock.places.scripts.parts import ADDRESSES, CHECKS, COMMANDS

    head = build_head(request, host, name, what)
    data = build_data(request, host, name)
    ranks = "\n".join(build_rank(request, program) for program in request.programs)
    return "".join((head, data, engine, ranks, build_load(request.programs), ADDRESSES, CHECKS, *parts, COMMANDS))


def build_head(request: Request, host: Host, name: str, what: str) -> str:
    """What the file is, and how it is used."""
    said = (
        f"{what}, {host.name}: {MARK} of paddock {__version__} from {request.file}, job {name}. "
        "Its commands: --help. Do not edit it, render it again."
    )
    return f"#!/usr/bin/env bash\n{comment(said)}set -euo pipefail\n"


def build_data(request: Request, host: Host, name: str) -> str:
    """The machines and the ranks."""
    hosts = " ".join(quote(each.name) for each in request.hosts)
    ranks = " ".join(quote(str(each.rank)) for each in request.programs)
    lines = [
        "",
        'self=$(realpath -- "${BASH_SOURCE[0]}")',
        "me=${self##*/}",
        f"job={quote(name)}",
        f"hosts=({hosts})",
        f"machine={host.index}",
        f"ranks=({ranks})",
        'directory=${PADDOCK_DIRECTORY:-$(dirname -- "$self")}',
        f"packages=({' '.join(PACKAGES.get(request.job.framework, ()))})",
        "",
        "# Variables by which launchers find their peers: one that is left in a shell changes a run without a word.",
        "stray=(",
        *(f"    {' '.join(STRAY[start : start + 4])}" for start in range(0, len(STRAY), 4)),
        ")",
        "",
        "",
    ]
    return "\n".join(lines)


def build_load(programs: Iterable[RankProgram]) -> str:
    """`load RANK` sets what a rank is; `find_machine RANK` says which machine runs it."""
    machines = "\n".join(f"    {quote(str(each.rank))}) echo {each.host.index} ;;" for each in programs)
    return f"""
# ---- what a rank is

find_machine() {{
    case $1 in
{machines}
    *) echo none ;;
    esac
}}

# Sets what the function of a rank says, and `unset`, the options of env that remove stray variables.
load() {{
    local name
    "rank_${{1//-/_}}"
    unset=()
    for name in "${{stray[@]}}"; do
        unset+=("-u" "$name")
    done
}}
"""


def build_rank(request: Request, program: RankProgram) -> str:
    """The function of one rank."""
    variables = complete(request, program)
    known = [each for each in variables if each.value is not None]
    lines = [
        f"# {program.rank}, rank {program.number} of {len(request.programs)}, on {program.host.name}",
        f"{_function(program)}() {{",
        *_array("environment", [_assign(each, program) for each in known]),
        *_array("command", fold_words(program)),
        f"    listens=({' '.join(map(str, find_ports(program)))})",
        *_array("asked", [quote(f"{each.name}={each.source}") for each in program.asked]),
        *_array("unshown", [quote(each.name) for each in known if each.hidden or each.value == f"\0{_LOGS}"]),
        f"    script={quote(find_program(program))}",
        f"    start_in={_start_in(program)}",
        "}",
        "",
    ]
    return "\n".join(lines)


def complete(request: Request, program: RankProgram) -> list[Variable]:
    """The variables of a rank, with those that only a machine needs: its address and interface, and logs of its own."""
    ours = [
        Variable(_ADDRESS, program.host.mark),
        Variable(_INTERFACE, None),
        Variable(_UNBUFFERED, "1"),
    ]
    said = {each.name for each in program.variables}
    logs = [each["name"] for each in FRAMEWORKS[request.job.framework].build_log_environment("")]
    return [
        *program.variables,
        *(each for each in ours if each.name not in said and each.value is not None),
        *(Variable(name, f"\0{name}") for name in (_INTERFACE, *logs) if name not in said),
    ]


def _function(program: RankProgram) -> str:
    return f"rank_{program.rank.role}_{program.rank.index}"


def _assign(variable: Variable, program: RankProgram) -> str:
    """`NAME=value`, one quoted word. What only the machine knows is a variable of the script."""
    value = variable.value or ""
    if value == f"\0{_INTERFACE}":
        return f'{_INTERFACE}="$interface"'
    if value.startswith("\0"):
        return f'{value[1:]}="$directory/paddock-$job/{program.rank}-launcher"'
    return quote(f"{variable.name}={value}")


def _start_in(program: RankProgram) -> str:
    return '"$directory"' if not program.directory else '"${PADDOCK_DIRECTORY:-' + _braced(program.directory) + '}"'


def _braced(path: str) -> str:
    """A path between double quotes, within braces."""
    return "".join(f"\\{sign}" if sign in '\\"$`}' else sign for sign in path)


def _array(name: str, words: Sequence[str]) -> list[str]:
    if not words:
        return [f"    {name}=()"]
    return [f"    {name}=(", *(f"        {word}" for word in words), "    )"]


def fold_words(program: RankProgram, quoted: Callable[[str], str] = quote) -> list[str]:
    """The command in lines that a reader takes in: the launcher with its options, then the script with its own."""
    launch = find_launch(program.words)
    if launch is None:
        return [" ".join(map(quoted, program.words))]
    options = " ".join(quoted(word) for option in launch.options for word in option if word is not None)
    lines = (" ".join(map(quoted, launch.before)), options, " ".join(map(quoted, launch.rest)))
    return [line for line in lines if line]


def find_ports(program: RankProgram) -> list[int]:
    """The ports that a rank listens at and that are known before it starts."""
    values = {each.name: each.value for each in program.variables}
    if program.launched or "PADDLE_MASTER" in values or "MASTER_ADDR" in values:
        return [program.port] if program.number == 0 else []
    if "PADDLE_PORT" not in values:
        return []
    store = str(values.get(_GLOO) or "")
    host, _, port = store.rpartition(":")
    is_store = program.serves and program.rank.index == 0 and host == program.host.mark
    return [program.port, *([int(port)] if is_store else [])]


def find_program(program: RankProgram) -> str:
    """The file that the command starts, relative to where it starts or absolute; empty where that is not known."""
    found = find_script({"command": list(program.words)})
    if found:
        return found
    return next((word for word in program.words if posixpath.isabs(word) and word.endswith((".py", ".sh"))), "")


def refuse_unknown(programs: Iterable[RankProgram]) -> None:
    """Raises `Unplaceable` where a rank's environment has variables whose names are not in the file."""
    sources = tuple(dict.fromkeys(source for each in programs for source in each.unknown))
    if sources:
        raise Unplaceable(
            *(
                phrase(
                    "envFrom takes all keys of {source}, which is not in the file: add it to the file as another "
                    "document, or name the variables in env",
                    source=source,
                )
                for source in sources
            )
        )
