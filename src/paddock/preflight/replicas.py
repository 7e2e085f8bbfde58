"""Options of launchers that do not go with the number of pods: of a typed command and of a manifest alike. Pure.

An option of torchrun counts more than the variable by which the operator tells it the same (PET_NNODES …); of
PaddlePaddle's launcher the variable counts more (`launches.launchers`). An option whose value is not known is no
problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import PADDLE, TORCH_LAUNCH, TORCHRUN, Means
from paddock.launches.words import read_number
from paddock.words.phrases import Phrase, phrase

_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(:\d+)?")


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


def explain_replicas(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    """Why the pods would not train together as it is asked for, or why less is done than asked for."""
    if is_torchrun(launch):
        yield from _explain_torchrun(launch, pods)
    elif launch.launcher is PADDLE:
        yield from _explain_paddle(launch, pods)


def _explain_torchrun(launch: Launch, pods: Pods) -> Iterator[Phrase]:
    if any(option.text is None for option in _list_places(launch)):
        # a shell, or Kubernetes, fills in what each pod is told
        pods = replace(pods, is_typed=False)
    nodes = launch.text(Means.NODES)
    if nodes and nodes != str(pods.count) and not (pods.is_elastic or (":" in nodes and not pods.is_typed)):
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
    return pods.is_typed or _LOOPBACK.fullmatch(option.text or "") is not None


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
