"""Warns of a PyTorchJob whose command starts a launcher that signs in to other pods: no pod has an SSH server or keys.

mpirun, mpiexec and horovodrun sign in to the hosts that they are given; DeepSpeed's launcher to those of its hostfile
(`deepspeed/launcher/runner.py`), and without one it starts processes in its own pod alone.
"""

from __future__ import annotations

import posixpath
import re

from paddock.launches.launch import Launch
from paddock.launches.launchers import ACCELERATE, DEEPSPEED, HOROVODRUN, MPIRUN, Means
from paddock.launches.programs import Kind
from paddock.words.phrases import Phrase, phrase

_SIGNING_IN = (MPIRUN, HOROVODRUN, DEEPSPEED, ACCELERATE)
_ALONE = frozenset({"no_ssh", "node_rank"})
"""Options of DeepSpeed by which each pod starts its own processes."""
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?")


def explain_launcher(launch: Launch, pods: int) -> Phrase | None:
    """Why a command does not reach the other pods; None where it need not, or where that is not known. `pods`: of the
    job."""
    launcher = launch.launcher
    if launcher is None or launcher not in _SIGNING_IN or launch.program.kind is Kind.NONE:
        return None
    if any(option.name in _ALONE for option in launch.options):
        return None
    name = posixpath.basename(launch.before[-1].typed)
    hosts = launch.find(Means.HOSTS)
    if hosts is not None:
        if hosts.text is None or all(map(_LOCAL.fullmatch, hosts.text.split(","))):
            return None
        return phrase(
            "{launcher} {option} starts processes in other pods by SSH, which no pod serves: start the program in "
            "each pod with torchrun, which is told of the others",
            launcher=name, option=hosts.words[0].beginning.partition("=")[0],
        )  # fmt: skip
    if launcher is DEEPSPEED and pods > 1 and not launch.is_open:
        return phrase(
            "{launcher} without a hostfile starts processes in its own pod alone, and each of the {count} pods trains "
            "apart: start the program in each pod with torchrun, which is told of the others",
            launcher=name, count=pods,
        )  # fmt: skip
    return None
