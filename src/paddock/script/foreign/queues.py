"""Batch scripts of PBS, LSF and Grid Engine -> the job that they mean: `#PBS`, `#BSUB`, `#$`, and the command behind
mpirun or jsrun. Pure.

Options are those of qsub(1B) of OpenPBS 23 and of Torque 6 (`-l select=2:ngpus=4` is the first's, `-l
nodes=2:ppn=8:gpus=4` the second's), of bsub(1) of LSF 10.1, and of qsub(1) of Grid Engine 8.9, whose resources have the
names that a site gives them. Read are those that count machines, ranks and GPUs, the name and the directory. The script
itself runs on the first machine alone; mpirun starts ranks on all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from paddock.script.foreign.carried import join_directories, read_number
from paddock.script.foreign.directives import find_directives
from paddock.script.foreign.draft import Tasks
from paddock.script.foreign.elsewhere import LOGS, NO_OPTION, REQUESTS, TIMEOUT, explain_alone, say
from paddock.script.foreign.job import NOWHERE, Foreign, Left, Place
from paddock.script.foreign.shell import choose, read_text
from paddock.words.phrases import Phrase

_PBS, _LSF = re.compile(r"#PBS\s+(-.*)"), re.compile(r"#BSUB\s+(-.*)")
_SGE = re.compile(r"#\$\s+(-[a-zA-Z].*)")
_FLAGS = {
    _PBS: frozenset({"-V", "-I", "-X", "-z", "-h"}),
    _LSF: frozenset({"-I", "-Is", "-Ip", "-N", "-B", "-K", "-H", "-x", "-r", "-rn", "-XF"}),
    _SGE: frozenset({"-cwd", "-V", "-h", "-notify", "-I"}),
}  # fmt: skip
"""Options without a value."""
_GPUS_OF_SGE = frozenset({"gpu", "gpus", "ngpus", "num_gpus", "gpu_card"})
_SAID: Mapping[str, Phrase] = {
    "-o": LOGS, "-e": LOGS, "-j": LOGS, "-oo": LOGS, "-eo": LOGS, "-W": TIMEOUT, "walltime": TIMEOUT, "mem": REQUESTS,
    "pmem": REQUESTS, "vmem": REQUESTS, "-M": REQUESTS, "h_rt": TIMEOUT, "s_rt": TIMEOUT, "h_vmem": REQUESTS,
    "mem_free": REQUESTS, "s_vmem": REQUESTS, "-n": REQUESTS, "-pe": REQUESTS,
}  # fmt: skip


@dataclass(slots=True)
class _Asked:
    """What a header asks for; 0 where it does not say it."""

    nodes: int = 0
    each_node: int = 0
    total: int = 0
    gpus: int = 0
    """Of each machine."""
    name: str = ""
    directory: str = ""
    counted: tuple[int, str] = (0, "")
    """The line and the words that say the machines."""
    left: list[Left] = field(default_factory=list)

    def leave(self, line: int, option: str, name: str = "") -> None:
        self.left.append(Left(line, say(_SAID.get(name, NO_OPTION), option)))


def is_pbs(text: str) -> bool:
    return any(True for _ in _read_directives(text, _PBS))


def is_lsf(text: str) -> bool:
    return any(True for _ in _read_directives(text, _LSF))


def is_sge(text: str) -> bool:
    return any(True for _ in _read_directives(text, _SGE))


def read_pbs(text: str, place: Place = NOWHERE) -> Foreign:
    """Raises `NoProgram`."""
    return _read(text, place, _PBS, _take_pbs, {"PBS_O_WORKDIR": place.start or "."})


def read_lsf(text: str, place: Place = NOWHERE) -> Foreign:
    """Raises `NoProgram`."""
    return _read(text, place, _LSF, _take_lsf, {"LS_SUBCWD": place.start or "."})


def read_sge(text: str, place: Place = NOWHERE) -> Foreign:
    """Raises `NoProgram`."""
    return _read(text, place, _SGE, _take_sge, {"SGE_O_WORKDIR": place.start or "."})


def _read(
    text: str,
    place: Place,
    mark: re.Pattern[str],
    take: Callable[[_Asked, int, str, str], None],
    variables: Mapping[str, str],
) -> Foreign:
    asked = _Asked()
    for line, option, value in _read_directives(text, mark):
        take(asked, line, option, value)
    nodes = asked.nodes or (asked.total // asked.each_node if asked.each_node else 0)
    numbers = {"PBS_NUM_NODES": nodes, "PBS_NUM_PPN": asked.each_node, "LSB_DJOB_NUMPROC": asked.total}
    numbers |= {"NSLOTS": asked.total} if mark is _SGE else {}
    known = {name: str(number) for name, number in numbers.items() if number}
    made = choose(read_text(text, place, variables={**variables, **known}), Tasks(nodes, asked.each_node, asked.total))
    line, words = asked.counted
    if nodes > 1 and not made.workers:
        asked.left.append(Left(line, explain_alone(words, "mpirun", nodes)))
    elif asked.total > 1 and not made.starter and not made.workers:  # slots, which nothing starts ranks in
        asked.leave(line, words, words.partition(" ")[0])
    return replace(
        made, gpus=made.gpus or asked.gpus, name=asked.name,
        workdir=join_directories(asked.directory, made.workdir), left=(*asked.left, *made.left),
    )  # fmt: skip


def _read_directives(text: str, mark: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Line, option and value of each option; the value is empty for a flag."""
    for line, words in find_directives(text, mark):
        rest = iter(words)
        for word in rest:
            value = "" if word in _FLAGS[mark] else next(rest, "")
            yield line, word, f"{value} {next(rest, '')}" if word == "-pe" else value


def _take_pbs(asked: _Asked, line: int, option: str, value: str) -> None:
    if option == "-N":
        asked.name = value
    elif option in ("-d", "-w"):
        asked.directory = value
    elif option == "-l":
        for each in value.split(","):
            _take_resource(asked, line, each)
    elif option not in ("-S", "-V", "-k"):
        asked.leave(line, f"{option} {value}".strip(), option if option != "-W" and option != "-M" else "")


def _take_resource(asked: _Asked, line: int, text: str) -> None:
    """One of `select=2:ncpus=8:ngpus=4:mpiprocs=4`, `nodes=2:ppn=8:gpus=4`, `walltime=1:00:00`. A chunk is taken for a
    machine; of several kinds of chunks, joined by `+`, their numbers are added."""
    name, _, value = text.partition("=")
    if name in ("ngpus", "gpus", "ncpus", "place"):
        asked.gpus = read_number(value) if name.endswith("gpus") else asked.gpus
        return
    if name not in ("select", "nodes"):
        asked.leave(line, f"-l {text}", name)
        return
    asked.counted = (line, f"-l {text}")
    for chunk in value.split("+"):
        count, *parts = chunk.split(":")
        given = dict(each.partition("=")[::2] for each in (*parts, *(() if count.isdecimal() else (count,))))
        asked.nodes += read_number(count) or 1
        asked.each_node = max(asked.each_node, read_number(given.get("mpiprocs")), read_number(given.get("ppn")))
        asked.gpus = max(asked.gpus, read_number(given.get("ngpus")), read_number(given.get("gpus")))


def _take_sge(asked: _Asked, line: int, option: str, value: str) -> None:
    if option == "-N":
        asked.name = value
    elif option == "-wd":
        asked.directory = value
    elif option == "-pe":  # the name of an environment, and slots
        asked.total, asked.counted = read_number(value.partition(" ")[2]), (line, f"-pe {value}")
    elif option == "-l":
        for each in value.split(","):
            name, _, number = each.partition("=")
            if name in _GPUS_OF_SGE:
                asked.gpus = read_number(number) or 1
            else:
                asked.leave(line, f"-l {each}", name)
    elif option not in ("-cwd", "-S", "-V", "-j"):
        asked.leave(line, f"{option} {value}".strip(), option if option in ("-o", "-e") else "")


def _take_lsf(asked: _Asked, line: int, option: str, value: str) -> None:
    if option == "-J":
        asked.name = value.partition("[")[0]
    elif option == "-cwd":
        asked.directory = value
    elif option == "-n":
        asked.total, asked.counted = read_number(value.partition(",")[0]), (line, f"-n {value}")
    elif option == "-nnodes":
        asked.nodes, asked.counted = read_number(value), (line, f"-nnodes {value}")
    elif option == "-R" and (found := re.search(r"\bptile=(\d{1,4})", value)):
        asked.each_node = int(found[1])
    elif option == "-R" and re.search(r"\bspan\[hosts=1\]", value):
        asked.nodes = 1
    elif option == "-gpu":
        asked.gpus = read_number(dict(each.partition("=")[::2] for each in re.split(r"[:/]", value)).get("num"))
    elif option not in ("-L", "-N", "-B", "-K"):
        asked.leave(line, f"{option} {value}".strip(), option)
    if option == "-J" and "[" in value:
        asked.leave(line, f"-J {value}")
