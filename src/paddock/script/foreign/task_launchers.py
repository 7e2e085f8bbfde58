"""Tasks that srun, mpirun, horovodrun and jsrun start -> the machines and ranks of a job. Pure.

jsrun is that of IBM's Job Step Manager 10 (jsrun(1)): of `-n 4 -a 2 -g 2 -r 2` each of four resource sets has two tasks
and two GPUs, and each machine two of the sets; all sets are tasks on as many machines where nothing says more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paddock.launches.launch import Launch, Option, Wrapper
from paddock.launches.launchers import Means
from paddock.script.foreign.carried import read_number
from paddock.script.foreign.containers import pair_options, take_image_of_enroot
from paddock.script.foreign.draft import Draft
from paddock.script.foreign.hostfiles import Hosts
from paddock.script.foreign.launcher_options import explain_number, find_hosts, is_file, line_of, read_count
from paddock.words.phrases import phrase

TASKS = frozenset({"srun", "mpirun", "horovodrun"})
"""Launchers whose tasks run a whole command: each task is a rank where that has no launcher itself."""
JSRUN = "jsrun"
_OF_SETS = {
    "-n": "sets", "--nrs": "sets", "-a": "tasks", "--tasks_per_rs": "tasks", "-g": "gpus", "--gpu_per_rs": "gpus",
    "-r": "of host", "--rs_per_host": "of host", "-p": "all tasks", "--np": "all tasks",
}  # fmt: skip
"""jsrun's options that count."""


def take_tasks(draft: Draft, launch: Launch, *, starts_ranks: bool) -> None:
    """What srun and mpirun say. `starts_ranks`: whether each of their tasks is a rank, as no launcher stands behind."""
    counts: dict[Means, int] = {}
    hosts = Hosts(0)
    left: list[str] = []
    for option in launch.options:
        means = option.spec.means if option.spec is not None else None
        if means in (Means.NODES, Means.ALL_PROCESSES, Means.PROCESSES):
            counts[means] = read_count(draft, option)
        elif means is Means.HOSTS:
            hosts = find_hosts(draft, option)
            left += [option.typed] if is_file(option) and hosts.count else []
        elif not _take_of_task(draft, option):
            left.append(option.typed)
    if left:
        said = phrase("{options}: left out, as Paddock starts the ranks", options=" ".join(left))
        draft.ledger.note(launch.line or draft.launch.line, said)
    _count_tasks(draft, counts, hosts, starts_ranks=starts_ranks)
    draft.starter = launch.launcher.name if starts_ranks and launch.launcher is not None else ""


def _take_of_task(draft: Draft, option: Option) -> bool:
    """What one option of srun or mpirun says beside numbers of machines and ranks; False where that is nothing here."""
    if (option.spec is not None and option.spec.means is Means.DEVICES) or option.name in ("gres", "gpus"):
        if option.value is not None and option.value.usual is None:
            draft.ledger.note(line_of(draft, option), explain_number(option.typed, "--gpus N"))
        elif option.value is not None:
            draft.gpus = read_gpus(draft.ledger.take(option.value) or "") or draft.gpus
    elif option.name == "x" and "=" in (option.text or ""):
        name, _, text = (option.text or "").partition("=")
        draft.variables[name] = text
    elif option.name == "container_image" and option.value is not None:
        take_image_of_enroot(draft, option.value, line_of(draft, option))
    else:
        return False
    return True


def _count_tasks(draft: Draft, counts: Mapping[Means, int], hosts: Hosts, *, starts_ranks: bool) -> None:
    """Machines, and the ranks of each, of what the command says and of its batch job."""
    given = draft.tasks
    total, each_node = counts.get(Means.ALL_PROCESSES, 0), counts.get(Means.PROCESSES, 0)
    nodes = counts.get(Means.NODES, 0) or hosts.count or given.nodes
    all_tasks, of_each = total or given.total, each_node or given.each_node
    nodes = nodes or (all_tasks // of_each if of_each else 0)
    draft.workers = max(draft.workers, nodes)
    if starts_ranks:
        of_node = each_node or (total // max(nodes, 1)) or hosts.slots or of_each or all_tasks // max(nodes, 1)
        draft.processes = of_node if of_node > 1 else 0


def take_resource_sets(draft: Draft, wrapper: Wrapper, line: int) -> None:
    """What jsrun says. A resource set is a machine where nothing says how many machines there are."""
    counts: dict[str, int] = {}
    left: list[str] = []
    for option, value in pair_options(wrapper.words[1:], wrapper.spec):
        name = _OF_SETS.get(option, "")
        text = draft.ledger.take(value) if name and value is not None else None
        if name and (number := read_number(text)):
            counts[name] = number
        elif name:
            typed = f"{option} {value.typed}" if value is not None else option
            draft.ledger.note(line, explain_number(typed, "--gpus N" if name == "gpus" else "--workers N"))
        else:
            left.append(f"{option} {value.typed}" if value is not None else option)
    if left:
        said = phrase("{options}: left out, as Paddock starts the ranks", options=" ".join(left))
        draft.ledger.note(line, said)
    _count_sets(draft, counts)


def _count_sets(draft: Draft, counts: Mapping[str, int]) -> None:
    tasks = counts.get("tasks", 1)
    sets = counts.get("sets") or counts.get("all tasks", 0) // tasks
    of_host = counts.get("of host", 0)
    machines = (sets // of_host if of_host else 0) or draft.tasks.nodes or sets
    each = of_host or max(sets // max(machines, 1), 1)
    draft.workers = max(draft.workers, machines)
    draft.gpus = counts.get("gpus", 0) * each or draft.gpus
    if draft.launch.launcher is None:
        draft.processes = tasks * each if tasks * each > 1 else 0
        draft.starter = JSRUN


def read_gpus(text: str) -> int:
    """The GPUs of Slurm's `gpu:8`, `gpu:a100:8`, `a100:8` and `8`; of a name alone, one."""
    last = text.partition(",")[0].rpartition(":")[2]
    found = re.match(r"(\d{1,4})(\(.*)?$", last)
    return int(found[1]) if found else 1 if last else 0
