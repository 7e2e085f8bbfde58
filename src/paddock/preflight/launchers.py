"""Warns of a job whose command starts a launcher that signs in to other pods: no pod has an SSH server or keys.

mpirun, mpiexec and horovodrun sign in to the hosts that they are given; DeepSpeed's launcher to those of its hostfile
(`deepspeed/launcher/runner.py`), srun asks Slurm. Without hosts they start processes in their own pod alone.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from paddock.launches.launch import Launch
from paddock.launches.launchers import (
    ACCELERATE,
    DEEPSPEED,
    HOROVODRUN,
    MPIRUN,
    SRUN,
    TORCHRUN,
    Launcher,
    Means,
    is_loopback,
)
from paddock.launches.programs import Kind
from paddock.words.phrases import Phrase, phrase

_SIGNING_IN = (MPIRUN, HOROVODRUN, DEEPSPEED, ACCELERATE)
BY_ITSELF = (DEEPSPEED, HOROVODRUN, MPIRUN, SRUN)
"""Launchers that start the processes of all machines by themselves: nobody tells them of other pods."""
_ALONE = frozenset({"no_ssh", "node_rank"})
"""Options of DeepSpeed by which each pod starts its own processes."""


def explain_launcher(launch: Launch, pods: int, told: Launcher = TORCHRUN) -> Phrase | None:
    """Why a command does not reach the other pods; None where it need not, or where that is not known. `pods`: of the
    job; `told`: the launcher to write in its place."""
    launcher = launch.launcher
    if launcher is None or launch.program.kind is Kind.NONE:
        return None
    if any(option.name in _ALONE for option in launch.options):
        return None
    name = posixpath.basename(launch.before[-1].typed)
    hosts = launch.find(Means.HOSTS)
    is_known = hosts is None or hosts.text is not None
    is_local = hosts is None or all(map(is_loopback, (hosts.text or "").split(",")))
    if launcher in _SIGNING_IN and hosts is not None and is_known and not is_local:
        return phrase(
            "{launcher} {option} starts processes in other pods by SSH, which no pod serves: start the program in "
            "each pod with {told}, which is told of the others",
            launcher=name, option=hosts.mark, told=told.name,
        )  # fmt: skip
    if launcher not in BY_ITSELF or pods == 1 or not is_known or launch.is_open:
        return None
    if launcher is DEEPSPEED:
        return phrase(
            "{launcher} without a hostfile starts processes in its own pod alone, and each of the {count} pods trains "
            "apart: start the program in each pod with {told}, which is told of the others",
            launcher=name, count=pods, told=told.name,
        )  # fmt: skip
    return phrase(
        "{launcher} reaches no other pod and starts processes in its own, and each of the {count} pods trains apart: "
        "start the program in each pod with {told}, which is told of the others",
        launcher=name, count=pods, told=told.name,
    )  # fmt: skip


_NODES = (Means.NODES, Means.MASTER, Means.MASTER_ADDRESS, Means.HOSTS, Means.BACKEND)
_NAMES = {"paddle": "PaddlePaddle", "pytorch": "PyTorch"}


def explain_foreign(launch: Launch, kind: str, told: Launcher) -> Iterator[Phrase]:
    """Of a launcher of another framework than the job's, in several pods. `told`: the job's own. Nothing is said where
    the command says by itself where the others are, or may."""
    launcher = launch.launcher
    if launcher is None or launch.is_open or any(launch.find(means) is not None for means in _NODES):
        return
    variables = {spec.variable for spec in launcher.options.values() if spec.means in _NODES}
    if not variables.isdisjoint(launch.environment):
        return
    yield phrase(
        "{launcher} is of {other}, and a {kind} tells its pods by variables of {own}: each pod would train apart; "
        "write {told}, or the job as a {right}",
        launcher=launcher.name, other=_NAMES[launcher.family], kind=kind, own=_NAMES[told.family], told=told.name,
        right="PaddleJob" if launcher.family == "paddle" else "PyTorchJob",
    )  # fmt: skip
