"""Commands behind torchrun and other launchers of torch -> the job that they mean. Pure.

Launchers with options of their own (accelerate, Fabric, Composer) stay, as these options are part of how a program
trains. DeepSpeed's becomes torchrun where there are several machines: it cannot be told where they are.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from paddock.launches.launch import Option
from paddock.launches.launchers import ACCELERATE, COMPOSER, DEEPSPEED, FABRIC, TORCH_LAUNCH, TORCHRUN, Means
from paddock.launches.programs import is_python
from paddock.script.foreign.carried import count_listed, read_number
from paddock.script.foreign.draft import Draft, name_python, rename
from paddock.script.foreign.elsewhere import LOGS
from paddock.script.foreign.launcher_options import (
    count_devices,
    keep,
    keep_all,
    keep_processes,
    leave,
    line_of,
    read_count,
    take_usual,
)
from paddock.words.phrases import phrase

_STARTER = "deepspeed_multinode_launcher"


def take_torch(draft: Draft) -> None:
    """torchrun, and launchers of torch with options of their own: these stay, as `script.told_launchers` puts the
    places of the machines into the command."""
    launch, launcher = draft.launch, draft.launch.launcher
    assert launcher is not None
    draft.framework = "pytorch"
    kept, counting, total = _sort_options(draft)
    if launcher in (TORCHRUN, TORCH_LAUNCH):
        counted = [each for option in counting for each in keep_processes(draft, option)]
        draft.before = (*_name_launcher(draft), *counted, *keep_all(draft, kept))
    elif launcher is DEEPSPEED and draft.workers != 1 and (launch.find(Means.NODES) or launch.find(Means.HOSTS)):
        _take_deepspeed(draft, kept, counting)
    else:
        stays = {id(each) for each in (*kept, *counting, *total)}
        stay = [each for each in launch.options if id(each) in stays]
        draft.before = (*_name_launcher(draft), *keep_all(draft, stay))
        _count_told(draft)


def _take_deepspeed(draft: Draft, kept: Sequence[Option], counting: Sequence[Option]) -> None:
    """torchrun in place of DeepSpeed's launcher, whose variables the same programs read (deepspeed 0.17,
    `comm.init_distributed`)."""
    launch = draft.launch
    processes = sum(read_count(draft, option) for option in counting[-1:]) or draft.gpus or draft.slots
    counted = f"--nproc_per_node={processes or 'gpu'}"  # without a number, one for each GPU
    program = ("--no_python",) if launch.find(Means.PROGRAM) else ()
    draft.before = ("torchrun", counted, *program, *(("-m",) if launch.find(Means.MODULE) else ()))
    said = phrase(
        "{launcher} starts the processes of all machines by itself, by ssh or a host file, which pods do not have: it "
        "becomes torchrun, and the program finds its place in RANK, LOCAL_RANK and WORLD_SIZE, and no --local_rank",
        launcher=DEEPSPEED.name,
    )
    draft.ledger.note(launch.line, said)
    lost = [each.typed for each in kept if each.spec is None or each.spec.means is Means.OTHER]
    if lost := [each for each in lost if each != "--no_local_rank"]:
        said = phrase("{options}: left out, as torchrun has no such option", options=" ".join(lost))
        draft.ledger.note(launch.line, said)


def _count_told(draft: Draft) -> None:
    """What launchers that stay say of their machines, beside the options that count them."""
    launch = draft.launch
    if launch.launcher is COMPOSER and not draft.workers:
        each, total = launch.text(Means.PROCESSES) or "", launch.text(Means.ALL_PROCESSES) or ""
        draft.workers = read_number(total) // read_number(each) if read_number(each) else 0
    devices = launch.find(Means.PROCESSES)
    if launch.launcher is FABRIC and devices is not None and "," in (devices.text or ""):
        draft.gpus = count_listed(devices.text or "") or draft.gpus
    if launch.launcher is ACCELERATE:
        _explain_accelerate(draft)


def _explain_accelerate(draft: Draft) -> None:
    """Of several machines it starts DeepSpeed by pdsh; with `standard`, each machine starts its own processes
    (accelerate 1.15, `prepare_deepspeed_cmd_env` of utils/launch.py)."""
    launch, configuration = draft.launch, draft.launch.named("config_file")
    if configuration is not None and launch.find(Means.NODES) is None:
        said = phrase("{option}: it is not read, and --workers N says how many machines", option=configuration.typed)
        draft.ledger.note(line_of(draft, configuration), said)
    starter = launch.named(_STARTER)
    if draft.workers < 2 or launch.named("use_deepspeed") is None or (starter and starter.text == "standard"):
        return
    kept = [word for each in ((starter,) if starter else ()) for word in keep(draft, each)]
    draft.before = (*(each for each in draft.before if each not in kept), f"--{_STARTER}", "standard")
    said = phrase(
        "{option} is put into the command: otherwise accelerate starts DeepSpeed of other machines by ssh, which pods "
        "do not have",
        option=f"--{_STARTER} standard",
    )
    draft.ledger.note(launch.line, said)


def _name_launcher(draft: Draft) -> tuple[str, ...]:
    before = [word.usual or word.typed for word in draft.launch.before]
    if is_python(before[0]):
        return (name_python(draft, before[0]), *before[1:])
    return (rename(draft, before[0], posixpath.basename(before[0])), *before[1:])


def _sort_options(draft: Draft) -> tuple[list[Option], list[Option], list[Option]]:
    """The options that stay; those that count the processes of a machine; those that count all of them."""
    kept: list[Option] = []
    counting: list[Option] = []
    total: list[Option] = []
    for option in draft.launch.options:
        means = option.spec.means if option.spec is not None else None
        if means is Means.PROCESSES:
            counting.append(option)
        elif means is Means.ALL_PROCESSES:
            total.append(option)
        elif means is Means.DEVICES:
            draft.gpus = count_devices(draft, option) or draft.gpus
        elif means in (None, Means.OTHER, Means.MODULE, Means.PROGRAM):
            kept.append(option)
        elif means is Means.LOGS:
            leave(draft, option, LOGS)
        else:
            take_usual(draft, option)
    return kept, counting, total
