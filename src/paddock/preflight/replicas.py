"""Options of torchrun that do not go with the number of pods: of a typed command, a manifest and a script alike. Pure.

An option that is typed counts more than PET_<OPTION>, by which the operator tells torchrun where the other workers are.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launches.launch import Launch
from paddock.launches.launchers import TORCH_LAUNCH, TORCHRUN, Means
from paddock.words.phrases import Phrase, phrase

_OWN = ("node_rank", "master_addr", "rdzv_endpoint", "rdzv_backend", "rdzv_id", "local_addr")
"""Options that differ between workers, or that name the place where they meet: the operator sets them."""


def is_torchrun(launch: Launch) -> bool:
    return launch.launcher in (TORCHRUN, TORCH_LAUNCH)


def explain_apart(launch: Launch, workers: int) -> Iterator[Phrase]:
    """The options of a typed torchrun with which the workers would not find each other."""
    nodes = launch.text(Means.NODES)
    if nodes and nodes != str(workers):
        yield _explain_nodes(nodes, workers)
    if workers == 1:
        return
    for name in ("standalone", *_OWN):
        if launch.named(name) is not None:
            yield phrase(
                "torchrun's --{option} would keep the {count} workers apart: leave it out, as each worker is told "
                "where the others are",
                option=name.replace("_", "-"), count=workers,
            )  # fmt: skip


def _explain_nodes(nodes: str, workers: int) -> Phrase:
    if nodes.isdecimal() and int(nodes):
        return phrase(
            "torchrun's --nnodes {nodes} waits for {nodes} workers, and the job has {count}: `--workers {nodes}`, or "
            "leave --nnodes out",
            nodes=nodes, count=workers,
        )  # fmt: skip
    return phrase(
        "torchrun's --nnodes {nodes}: a number of workers that changes is elasticPolicy of a manifest (`paddock init` "
        "writes one); leave --nnodes out, and --workers says how many",
        nodes=nodes,
    )
