"""Reads the options of a typed torchrun: its own words end at the script, whose arguments follow. Pure.

torchrun takes each option with `-` or `_` between its words, and a value after `=` or as the next word (argparse; torch
2.13, `torch.distributed.run`). An option that is typed counts more than PET_<OPTION>, by which the operator tells it
where the other workers are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from paddock.jobs.reading.scripts import read_launch
from paddock.words.phrases import Phrase, phrase

FLAGS = frozenset({"standalone", "module", "no-python", "run-path", "use-env", "virtual-local-rank", "help"})
"""Options without a value."""
_SHORT = {"-m": "module", "-r": "redirects", "-t": "tee", "-h": "help"}
_OWN = ("node-rank", "master-addr", "rdzv-endpoint", "rdzv-backend", "rdzv-id", "local-addr")
"""Options that differ between workers, or that name the place where they meet: the operator sets them."""


def read_torchrun(words: Sequence[str]) -> Mapping[str, str]:
    """The options of `torchrun …` or `python -m torch.distributed.run …`: name with `-` -> value, empty for a flag."""
    rest = iter(read_launch(words) or ())
    found: dict[str, str] = {}
    for word in rest:
        if not word.startswith("-"):
            break
        option, equals, value = word.partition("=")
        name = name_option(option)
        found[name] = value if equals or name in FLAGS else next(rest, "")
    return found


def name_option(option: str) -> str:
    """`--nproc_per_node`, `-m` -> the name with `-` and without dashes before it."""
    return _SHORT.get(option, option.lstrip("-").replace("_", "-"))


def count_processes(options: Mapping[str, str], gpus: int) -> str:
    """`nprocPerNode` of a job of this torchrun. The field's default, `auto`, is a process for each CPU of a machine
    without GPUs, and torchrun's own is 1."""
    return options.get("nproc-per-node") or str(max(gpus, 1))


def explain_apart(options: Mapping[str, str], workers: int) -> Iterator[Phrase]:
    """The options with which the workers would not find each other."""
    nodes = options.get("nnodes")
    if nodes is not None and nodes != str(workers):
        yield _explain_nodes(nodes, workers)
    if workers == 1:
        return
    for name in ("standalone", *_OWN):
        if name in options:
            yield phrase(
                "torchrun's --{option} would keep the {count} workers apart: leave it out, as each worker is told "
                "where the others are",
                option=name, count=workers,
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
