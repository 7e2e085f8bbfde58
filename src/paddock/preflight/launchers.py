"""Warns of a PyTorchJob whose command starts a launcher that signs in to other pods: no pod has an SSH server or keys.

mpirun, mpiexec and horovodrun sign in to the hosts that they are given; DeepSpeed's launcher to those of its hostfile
(`deepspeed/launcher/runner.py`), and without one it starts processes in its own pod alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from paddock.jobs.reading.commands import read_commands
from paddock.manifests.parts import Part
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

DEEPSPEED = "deepspeed"
_MPI = frozenset({"-H", "-host", "--host", "-hosts", "--hosts", "-hostfile", "--hostfile", "-machinefile",
                  "--machinefile", "-f"})  # fmt: skip
_HOSTS: Mapping[str, frozenset[str]] = {
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "horovodrun": frozenset({"-H", "--hosts", "-hostfile", "--hostfile"}),
    DEEPSPEED: frozenset({"-H", "-hostfile", "--hostfile"}),
}
"""Launcher -> its options that name other hosts: Open MPI's, MPICH's, Horovod's and DeepSpeed's."""
_ALONE = frozenset({"--no_ssh", "--help", "-h", "--version"})
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?")
_PROGRAM = re.compile(r"(.*/)?(python[\d.]*|\S+\.py|bash|sh)")


def check_launchers(parts: Sequence[Part], kind: str) -> Iterator[Problem]:
    pods = sum(part.replicas for part in parts)
    for part in parts if kind == "PyTorchJob" else ():
        containers = part.containers()
        trains = next((each for each in containers if each.name == "pytorch"), containers[0] if containers else None)
        if trains is None:
            continue
        said = next(filter(None, (explain_launcher(words, pods) for words in read_commands(trains.value))), None)
        if said is not None:
            key = "command" if trains.value.get("command") else "args"
            yield told(f"{trains.path}.{key}", said, severity="warning", about_key=True)


def explain_launcher(words: Sequence[str], pods: int) -> Phrase | None:
    """Why a command does not reach the other pods; None where it need not. `pods`: of the job."""
    name = posixpath.basename(words[0]) if words else ""
    if name not in _HOSTS:
        return None
    options = list(_read_options(words[1:]))
    if not _ALONE.isdisjoint(option for option, _ in options):
        return None
    for option, value in options:
        if option in _HOSTS[name] and not all(map(_LOCAL.fullmatch, value.split(","))):
            return phrase(
                "{launcher} {option} starts processes in other pods by SSH, which no pod serves: start the program in "
                "each pod with torchrun, which is told of the others",
                launcher=name, option=option,
            )  # fmt: skip
    if name == DEEPSPEED and pods > 1:
        return phrase(
            "{launcher} without a hostfile starts processes in its own pod alone, and each of the {count} pods trains "
            "apart: start the program in each pod with torchrun, which is told of the others",
            launcher=name, count=pods,
        )  # fmt: skip
    return None


def _read_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A launcher's own options, each with what may be its value; those of the program that it starts follow it."""
    for index, word in enumerate(words):
        if _PROGRAM.fullmatch(word):
            return
        if word.startswith("-"):
            option, is_joined, value = word.partition("=")
            following = words[index + 1] if index + 1 < len(words) else ""
            yield option, value if is_joined else following
