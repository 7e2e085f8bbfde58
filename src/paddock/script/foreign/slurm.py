"""A batch script of Slurm -> the job that it means: `#SBATCH`, and the command behind srun. Pure.

Options are those of sbatch(1) of Slurm 25. sbatch reads them up to the first command. srun takes them over, and a
program without srun runs on the first node alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paddock.launches.launchers import SRUN
from paddock.script.foreign.accelerators import explain_accelerator, find_accelerator
from paddock.script.foreign.carried import join_directories, read_number
from paddock.script.foreign.containers import ENROOT, explain_file, read_image_of_enroot
from paddock.script.foreign.directives import find_directives
from paddock.script.foreign.draft import Tasks
from paddock.script.foreign.elsewhere import (
    LEAST,
    LOGS,
    NO_OPTION,
    NODE_SELECTOR,
    REQUESTS,
    RESTARTS,
    TIMEOUT,
    explain_alone,
    say,
)
from paddock.script.foreign.job import NOWHERE, Foreign, Left, Place
from paddock.script.foreign.kept_back import divide
from paddock.script.foreign.shell import choose, read_text
from paddock.script.foreign.task_launchers import read_gpus
from paddock.words.phrases import Phrase, phrase

_DIRECTIVE = re.compile(r"#SBATCH\b(.*)")
_SHORT = {
    "J": "job-name", "N": "nodes", "n": "ntasks", "G": "gpus", "o": "output", "e": "error", "t": "time", "D": "chdir",
    "p": "partition", "A": "account", "c": "cpus-per-task", "q": "qos", "C": "constraint", "a": "array",
    "w": "nodelist", "x": "exclude", "d": "dependency", "i": "input", "L": "licenses", "M": "clusters", "H": "hold",
    "Q": "quiet", "s": "oversubscribe", "k": "no-kill", "O": "overcommit", "v": "verbose", "W": "wait", "b": "begin",
}  # fmt: skip
_FLAGS = frozenset({
    "exclusive", "requeue", "no-requeue", "hold", "quiet", "oversubscribe", "no-kill", "overcommit", "verbose", "wait",
    "contiguous", "parsable", "spread-job", "use-min-nodes", "reboot", "test-only",
})  # fmt: skip
_CARRIED = frozenset({
    "job-name", "nodes", "ntasks", "ntasks-per-node", "gres", "gpus-per-node", "gpus", "gpus-per-task", "chdir",
    "container-image",
})  # fmt: skip
_OF_GPUS = frozenset({"gres", "gpus-per-node", "gpus", "gpus-per-task"})
_SAID: Mapping[str, Phrase] = {
    "output": LOGS,
    "error": LOGS,
    "time": TIMEOUT,
    "array": phrase("{option} is left out: a job is one run; start it once for each value, each with a --name"),
    "dependency": phrase("{option} is left out: `paddock wait NAME` ends when the job before has ended"),
    **dict.fromkeys(("cpus-per-task", "cpus-per-gpu", "mem", "mem-per-cpu", "mem-per-gpu"), REQUESTS),
    **dict.fromkeys(("constraint", "nodelist", "exclude"), NODE_SELECTOR),
    "requeue": RESTARTS,
}


def is_batch(text: str) -> bool:
    return any(True for _ in read_directives(text))


def read_directives(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, long name and value of each option; empty for a flag."""
    for line, words in find_directives(text, _DIRECTIVE):
        yield from ((line, *option) for option in _pair(words))


def _pair(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield name, value if equals or name in _FLAGS else next(rest, "")
        elif word.startswith("-") and len(word) > 1:
            name = _SHORT.get(word[1], word[1])
            yield name, word[2:].removeprefix("=") or ("" if name in _FLAGS else next(rest, ""))


def read_batch(text: str, place: Place = NOWHERE) -> Foreign:
    """The job of a batch script. Raises `NoProgram`."""
    options = {name: (line, value) for line, name, value in read_directives(text)}
    values = {name: value for name, (_, value) in options.items()}
    nodes = read_number(values.get("nodes"))
    tasks = Tasks(nodes, read_number(values.get("ntasks-per-node")), read_number(values.get("ntasks")))
    gpus = _count_gpus(values, tasks)
    others = [
        Left(line, explain_accelerator(f"--{name}={value}", found))
        for name, (line, value) in options.items()
        if name in _OF_GPUS and (found := find_accelerator(value)) is not None
    ]
    plain, secret = divide(dict(_read_export(values.get("export", ""))))
    variables = {"SLURM_SUBMIT_DIR": place.start or "."} | _list_variables(values, tasks, gpus) | plain
    made = choose(read_text(text, place, variables=variables), tasks)
    return replace(
        made,
        gpus=0 if others else made.gpus or gpus,
        has_others=bool(others),
        image=made.image or read_image_of_enroot(values.get("container-image", "")),
        name=values.get("job-name", ""),
        workdir=join_directories(values.get("chdir", ""), made.workdir),
        variables=(*secret.items(), *made.variables),
        left=(*_list_left(options), *others, *_explain_alone(options, nodes, made.workers), *made.left),
    )


def _count_gpus(values: Mapping[str, str], tasks: Tasks) -> int:
    """GPUs of each node."""
    for name in ("gpus-per-node", "gres"):
        parts = [each for each in values.get(name, "").split(",") if name != "gres" or each.startswith("gpu")]
        if parts and (found := read_gpus(parts[0].removeprefix("gres/"))):
            return found
    nodes = max(tasks.nodes, 1)
    each_node = tasks.each_node or max(tasks.total // nodes, 1)
    if "gpus-per-task" in values:
        return read_gpus(values["gpus-per-task"]) * each_node
    return read_gpus(values["gpus"]) // nodes if "gpus" in values else 0


def _list_variables(values: Mapping[str, str], tasks: Tasks, gpus: int) -> dict[str, str]:
    """What Slurm sets in a batch script, as far as the options say it."""
    nodes = max(tasks.nodes, 1)
    total = tasks.total or tasks.each_node * nodes
    numbers = {
        "SLURM_NNODES": tasks.nodes, "SLURM_JOB_NUM_NODES": tasks.nodes, "SLURM_NTASKS": total, "SLURM_NPROCS": total,
        "SLURM_NTASKS_PER_NODE": tasks.each_node, "SLURM_GPUS_ON_NODE": gpus, "SLURM_GPUS_PER_NODE": gpus,
        "SLURM_CPUS_PER_TASK": read_number(values.get("cpus-per-task")),
    }  # fmt: skip
    found = {name: str(number) for name, number in numbers.items() if number}
    return found | ({"SLURM_JOB_NAME": values["job-name"]} if values.get("job-name") else {})


def _read_export(text: str) -> Iterator[tuple[str, str]]:
    for each in text.split(","):
        name, equals, value = each.partition("=")
        if equals and name.isidentifier():
            yield name, value


def _list_left(options: Mapping[str, tuple[int, str]]) -> Iterator[Left]:
    for name, (line, value) in options.items():
        shown = f"--{name}={value}" if value else f"--{name}"
        if name == "nodes" and re.search(r"\d-\d", value):
            yield Left(line, say(LEAST, shown))
        elif name == "export" and {each for each in value.split(",") if "=" not in each} <= {"ALL", "NONE", "NIL", ""}:
            continue
        elif name == "container-image" and not read_image_of_enroot(value):
            yield Left(line, explain_file(value, ENROOT))
        elif name not in _CARRIED:
            yield Left(line, say(_SAID.get(name, NO_OPTION), shown))


def _explain_alone(options: Mapping[str, tuple[int, str]], nodes: int, workers: int) -> Iterator[Left]:
    if nodes > 1 and not workers:
        yield Left(options["nodes"][0], explain_alone(f"--nodes={options['nodes'][1]}", SRUN.name, nodes))
