"""Warns of a PyTorchJob whose command starts a launcher that signs in to other pods: no pod has an SSH server or keys.

mpirun, mpiexec and horovodrun sign in to the hosts that they are given; DeepSpeed's launcher to those of its hostfile
(`deepspeed/launcher/runner.py`), and without one it starts processes in its own pod alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from paddock.launches.launch import Launch
from paddock.launches.launchers import ACCELERATE, DEEPSPEED, HOROVODRUN, MPIRUN, Means
from paddock.launches.programs import Kind
from paddock.launches.reading import read_container
from paddock.manifests.parts import Part
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_SIGNING_IN = (MPIRUN, HOROVODRUN, DEEPSPEED, ACCELERATE)
_ALONE = frozenset({"no_ssh", "node_rank"})
"""Options of DeepSpeed by which each pod starts its own processes."""
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?")


def check_launchers(parts: Sequence[Part], kind: str) -> Iterator[Problem]:
    pods = sum(part.replicas for part in parts)
    for part in parts if kind == "PyTorchJob" else ():
        containers = part.containers()
        trains = next((each for each in containers if each.name == "pytorch"), containers[0] if containers else None)
        if trains is None:
            continue
        launches = read_container(trains.value).distributed
        said = next(filter(None, (explain_launcher(launch, pods) for launch in launches)), None)
        if said is not None:
            key = "command" if trains.value.get("command") else "args"
            yield told(f"{trains.path}.{key}", said, severity="warning", about_key=True)


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
