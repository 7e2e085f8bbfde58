"""Options of launchers that do not go with the number of pods: of a typed command and of a manifest alike. Pure.

An option of torchrun counts more than the variable by which the operator tells it the same (PET_NNODES …); of
PaddlePaddle's launcher the variable counts more (`launches.launchers`). An option whose value is not known is no
problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import (
    ACCELERATE,
    COMPOSER,
    FABRIC,
    PADDLE,
    TORCH_LAUNCH,
    TORCHRUN,
    Launcher,
    Means,
    is_loopback,
)
from paddock.launches.programs import Kind
from paddock.launches.words import read_number
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Pods:
    """What a command is compared with."""

    count: int
    """Pods that train together."""
    same: int = 0
    """Those of them that have this very command."""
    is_typed: bool = False
    """`paddock run -- …`, whose options are --workers and the like; else a manifest."""
    is_elastic: bool = False
    """The job has an elasticPolicy."""


def is_torchrun(launch: Launch) -> bool:
    return launch.launcher in (TORCHRUN, TORCH_LAUNCH)


TOLD = (ACCELERATE, FABRIC, COMPOSER)
"""Launchers that are told of other machines by their own options alone."""
_OF_EACH = (Means.NODE_RANK, Means.MASTER_ADDRESS, Means.HOSTS)
"""What differs between machines, or says where they meet: of a typed command all workers have the same."""


def explain_told(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    """Why the pods of a launcher of `TOLD` would not train together."""
    launcher = launch.launcher
    if launcher not in TOLD or launcher is None or launch.command.is_conditional:
        return
    nodes = launch.text(Means.NODES)
    if nodes and read_number(nodes) not in (None, pods.count):
        yield _explain_machines(launch, launcher, nodes, pods)
    if pods.count == 1:
        return
    yield from _explain_typed_places(launch, launcher, pods) if pods.is_typed else _explain_places(launch, pods)
    processes = launch.text(Means.ALL_PROCESSES) or ""
    number = read_number(processes)
    if pods.is_typed and number is not None and (number % pods.count or not number):
        yield phrase(
            "{launcher}'s {option} {processes} counts the processes of all {count} workers: a multiple of {count} is "
            "wanted",
            launcher=launcher.name, option=_mark(launch, Means.ALL_PROCESSES), processes=processes, count=pods.count,
        )  # fmt: skip


_OF_ONE_MACHINE = {
    ACCELERATE.name: ("num_machines", "machine_rank", "main_process_ip", "main_process_port"),
    FABRIC.name: ("num_nodes", "node_rank", "main_address", "main_port"),
}
"""Launchers that start the processes of one machine unless they are told of more -> their options for this: how many
there are, which one it is, the address and the port of the first."""


def explain_untold(launch: Launch, pods: Pods, devices: int) -> Phrase | None:
    """Of a launcher in several pods of a PyTorchJob that nothing tells of the others; None where something does, or
    may. `devices`: those of a pod; 0 where that is not known."""
    launcher = launch.launcher
    names = _OF_ONE_MACHINE.get(launcher.name) if launcher is not None else None
    if launcher is None or names is None or pods.count < 2 or launch.is_open or launch.program.kind is Kind.NONE:
        return None
    if any(launch.find(each) is not None for each in (Means.NODES, *_OF_EACH)) or _has_file(launch):
        return None
    variables = (f"${name}" if launch.line else f"$({name})" for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"))
    told = [f"--{name} {value}" for name, value in zip(names, (pods.count, *variables), strict=True)]
    if launcher is ACCELERATE:
        told.append(f"--num_processes {pods.count * max(devices, 1)}")
    return phrase(
        "no option of {launcher} says that there are other pods, and without a configuration file that does each of "
        "the {count} pods may train alone: add `{options}`",
        launcher=launcher.name, count=pods.count, options=" ".join(told),
    )  # fmt: skip


def _has_file(launch: Launch) -> bool:
    """A configuration of accelerate."""
    return any(launch.named(name) is not None for name in ("config_file", "config-file"))


def _explain_machines(launch: Launch, launcher: Launcher, nodes: str, pods: Pods) -> Phrase:
    option = _mark(launch, Means.NODES)
    if pods.is_typed:
        return phrase(
            "{launcher}'s {option} {nodes} is another number than that of the workers, {count}: leave it out, or "
            "--workers {nodes}",
            launcher=launcher.name, option=option, nodes=nodes, count=pods.count,
        )  # fmt: skip
    return phrase(
        "{launcher}'s {option} {nodes} is another number than that of the pods, {count}: write {count}, or ask for "
        "{nodes} replicas",
        launcher=launcher.name, option=option, nodes=nodes, count=pods.count,
    )  # fmt: skip


def _explain_typed_places(launch: Launch, launcher: Launcher, pods: Pods) -> Iterator[Phrase]:
    given = [option for means in _OF_EACH if (option := launch.find(means)) is not None]
    if any(option.text is None for option in given):
        return  # what a shell fills in may be what each worker is told
    for option in given:
        yield phrase(
            "{launcher}'s {option} would keep the {count} workers apart: leave it out, as each worker is told "
            "where the others are",
            launcher=launcher.name, option=option.mark, count=pods.count,
        )  # fmt: skip


def _explain_places(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    """A manifest may tell each pod in its own way; one number for several pods, or their own address, is none."""
    rank, address = launch.find(Means.NODE_RANK), launch.find(Means.MASTER_ADDRESS)
    if rank is not None and pods.same > 1 and (rank.text or "").isdecimal():
        yield phrase(
            "{option} is the same in {count} pods, which then do not meet: write {option_name} $(RANK), or $RANK in a "
            "text for a shell, as the operator tells each pod its number",
            option=rank.typed, count=pods.same, option_name=rank.mark,
        )  # fmt: skip
    if address is not None and is_loopback(address.text or ""):
        yield phrase(
            "{option} is each pod itself, and the {count} pods do not meet: write {option_name} $(MASTER_ADDR), or "
            "$MASTER_ADDR in a text for a shell",
            option=address.typed, count=pods.count, option_name=address.mark,
        )  # fmt: skip


def _mark(launch: Launch, means: Means) -> str:
    option = launch.find(means)
    return option.mark if option is not None else ""


def explain_replicas(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    """Why the pods would not train together as it is asked for, or why less is done than asked for; nothing of a
    command on which a condition decides, as each pod may have its own."""
    if launch.command.is_conditional:
        return
    if is_torchrun(launch):
        yield from _explain_torchrun(launch, pods)
    elif launch.launcher is PADDLE:
        yield from _explain_paddle(launch, pods)


def _explain_torchrun(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    if any(option.text is None for option in _list_places(launch)):
        # a shell, or Kubernetes, fills in what each pod is told
        pods = replace(pods, is_typed=False)
    nodes = launch.text(Means.NODES)
    # `$NNODES` that no shell reads is told where it stands (`commands`)
    if (
        nodes
        and "$" not in nodes
        and nodes != str(pods.count)
        and not (pods.is_elastic or (":" in nodes and not pods.is_typed))
    ):
        yield _explain_nodes(nodes, pods)
    if pods.count == 1:
        return
    for name, is_apart in _APART.items():
        option = launch.named(name)
        if option is not None and is_apart(option, pods):
            yield phrase(
                "{launcher}'s {option} would keep the {count} workers apart: leave it out, as each worker is told "
                "where the others are",
                launcher="torchrun", option=option.words[0].partition("=")[0].typed, count=pods.count,
            )  # fmt: skip


def _explain_nodes(nodes: str, pods: Pods) -> Phrase:
    if not read_number(nodes):
        return phrase(
            "torchrun's --nnodes {nodes}: a number of workers that changes is elasticPolicy of a manifest (`paddock "
            "init` writes one); leave --nnodes out, and --workers says how many",
            nodes=nodes,
        )
    if pods.is_typed:
        return phrase(
            "torchrun's --nnodes {nodes} waits for {nodes} workers, and the job has {count}: `--workers {nodes}`, or "
            "leave --nnodes out",
            nodes=nodes, count=pods.count,
        )  # fmt: skip
    if (read_number(nodes) or 0) > pods.count:
        return phrase(
            "torchrun's --nnodes {nodes} waits for {nodes} pods, and the job has {count}: ask for {nodes}, or leave "
            "--nnodes out, as each pod is told",
            nodes=nodes, count=pods.count,
        )  # fmt: skip
    return phrase(
        "torchrun's --nnodes {nodes}, and the job has {count} pods: they train apart, in groups of {nodes}; leave it "
        "out, as each pod is told",
        nodes=nodes, count=pods.count,
    )  # fmt: skip


def _list_places(launch: Launch) -> Iterator[Option]:
    """The options by which a pod is told its number, or where the others are."""
    found = (launch.find(each) for each in (Means.NODE_RANK, Means.MASTER_ADDRESS, Means.MASTER))
    yield from (option for option in found if option is not None)


def _is_given(option: Option, pods: Pods) -> bool:
    """In a typed command the operator sets each of these; a manifest may have its own way to tell them."""
    return pods.is_typed


def _is_standalone(option: Option, pods: Pods) -> bool:
    return True


def _is_one_number(option: Option, pods: Pods) -> bool:
    return pods.is_typed or (pods.same > 1 and (option.text or "").isdecimal())


def _is_loopback(option: Option, pods: Pods) -> bool:
    return pods.is_typed or is_loopback(option.text or "")


_APART: dict[str, Callable[[Option, Pods], bool]] = {
    "standalone": _is_standalone,
    "node_rank": _is_one_number,
    "master_addr": _is_loopback,
    "rdzv_endpoint": _is_loopback,
    "rdzv_backend": _is_given,
    "rdzv_id": _is_given,
    "local_addr": _is_given,
}
"""Options that differ between pods, or that name the place where they meet -> whether they keep the pods apart."""


def _explain_paddle(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    master = launch.named("master")
    if master is not None and (master.value is None or "etcd" in master.value.beginning or master.text is None):
        return  # the ranks meet at an etcd of the user's own, or nobody knows where
    nodes, hosts = launch.text(Means.NODES) or "", launch.text(Means.HOSTS) or ""
    number = read_number(nodes)
    asked = number if number is not None else len([each for each in hosts.split(",") if each.strip()])
    if asked in (0, pods.count):
        return
    option = f"--nnodes {nodes}" if number is not None else "--ips"
    if pods.is_typed:
        yield phrase(
            "{option} asks for {asked} workers, and the job has {count}: `--workers {asked}`, or leave it out",
            option=option, asked=asked, count=pods.count,
        )  # fmt: skip
    else:
        yield phrase(
            "{option} asks for {asked} pods, and the job has {count}: it is not in effect, as Paddock tells each pod "
            "of the others by variables, which count more; ask for {asked} replicas, or leave it out",
            option=option, asked=asked, count=pods.count,
        )  # fmt: skip
