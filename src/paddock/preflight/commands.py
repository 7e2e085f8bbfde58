"""What is wrong with the commands of a job's pods: options of launchers, also beside the number of replicas. Pure.

The command of the container that trains is read once, by `launches`, for all of these checks. A place has one problem,
which joins what is told of the first command that has any.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.launches.containers import count_restarts, meets_elsewhere, restarts_in_place
from paddock.launches.launch import Launch
from paddock.launches.launchers import PADDLE, TORCHRUN, Means
from paddock.launches.reading import Reading, list_arguments, read_container, read_variables
from paddock.launches.words import Word
from paddock.manifests.parts import Container, Part
from paddock.preflight.command_words import explain_launch_words, explain_words, list_endings
from paddock.preflight.graces import explain_grace
from paddock.preflight.group_variables import explain_variables, list_set
from paddock.preflight.launchers import explain_foreign, explain_launcher
from paddock.preflight.paddle_options import Told, explain_launch, is_paddle
from paddock.preflight.pod_devices import count_devices, explain_devices
from paddock.preflight.replicas import Pods, explain_replicas, explain_told, explain_untold, is_torchrun
from paddock.words.phrases import Names, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_TRAINERS = {"PaddleJob": "paddle", "PyTorchJob": "pytorch"}
"""The name of the container that trains; without one of this name it is the first."""
_OF_SHELL = re.compile(r"(?<!\$)\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})|`")
"""Not `$$HOME`, which Kubernetes makes `$HOME`, and not `${now:%Y}`, which OmegaConf reads."""
_MOST_JOINED = 10
"""What is told of one command."""
_SERVING = frozenset({"ps", "heter"})


@dataclass(frozen=True, slots=True)
class Command:
    """The command of a role."""

    part: Part
    container: Container
    reading: Reading
    limits: Mapping[str, Any]
    """The container's amounts."""
    devices: int
    """Those that it is given; 0 where that is not known."""

    @property
    def path(self) -> str:
        return f"{self.container.path}.{'command' if self.container.value.get('command') else 'args'}"


@dataclass(frozen=True, slots=True)
class _Group:
    """The pods of a job that train together, counted once: by what they are told, as each launch asks for it."""

    count: int
    by_rank: Mapping[str | None, int]
    """Those with a launch of this --node_rank; None for one that is not known."""
    by_settings: Mapping[frozenset[tuple[str, str | None]], int]
    """Those with a launch for which these variables of a group are set; servers too."""
    is_elastic: bool

    def find(self, launch: Launch) -> Pods:
        return Pods(self.count, self.by_rank.get(launch.text(Means.NODE_RANK), 0), is_elastic=self.is_elastic)


def check_commands(
    parts: Sequence[Part], kind: str, spec: Mapping[str, Any], *, is_filled_in: bool = False
) -> Iterator[Problem]:
    """`spec`: of the job; `is_filled_in`: envsubst is yet to replace `$NAME` in it."""
    commands = list(_read_commands(parts, kind))
    has_master = any(part.name == "Master" for part in parts)
    group = _count_pods(commands, kind, has_master=has_master, spec=spec)
    for command in commands:
        words, given = list_arguments(command.container.value), read_variables(command.container.value)
        found = [Told(said) for said in explain_words(words, command.reading)]
        is_cut = bool(list_endings(words))
        for launch in command.reading.launches:
            pods = group.find(launch)
            of_launch = [Told(said) for said in explain_launch_words(launch, in_list=not launch.line, is_cut=is_cut)]
            of_launch += _explain_variables(launch, given, group)
            of_launch += _explain(launch, command, kind, pods, spec)
            of_launch += _explain_literal(launch) if not is_filled_in else ()
            found += of_launch
            if of_launch:
                break
        if (said := explain_grace(command.part, command.container)) is not None:
            found.append(Told(said))
        if found:
            worst = "error" if any(each.severity == "error" for each in found) else "warning"
            yield told(command.path, _join(found), severity=worst, about_key=True)


def _read_commands(parts: Sequence[Part], kind: str) -> Iterator[Command]:
    name = _TRAINERS.get(kind)
    for part in parts if name else ():
        containers = part.containers()
        trains = next((each for each in containers if each.name == name), containers[0] if containers else None)
        if trains is not None:
            limits, devices = trains.amounts("limits"), count_devices(trains)
            yield Command(part, trains, read_container(trains.value), limits, devices)


def _count_pods(commands: Sequence[Command], kind: str, *, has_master: bool, spec: Mapping[str, Any]) -> _Group:
    """Of a PaddleJob the workers train together: a Master of kubeflow.org is a parameter server."""
    serving = _SERVING | {"Master"} if kind == "PaddleJob" and has_master else _SERVING
    training = [each for each in commands if each.part.name not in serving]
    by_rank: Counter[str | None] = Counter()
    by_settings: Counter[frozenset[tuple[str, str | None]]] = Counter()
    for each in training:
        by_rank.update(dict.fromkeys((one.text(Means.NODE_RANK) for one in each.reading.launches), each.part.replicas))
    for each in commands:
        by_settings.update(dict.fromkeys(map(list_set, each.reading.launches), each.part.replicas))
    is_elastic = isinstance(spec.get("elasticPolicy"), Mapping)
    return _Group(sum(each.part.replicas for each in training), by_rank, by_settings, is_elastic)


def _explain_variables(launch: Launch, given: Mapping[str, Word], group: _Group) -> Iterator[Told]:
    own = list_set(launch)
    same = group.by_settings[own] if own else 0
    yield from (Told(said) for said in explain_variables(launch, given, group.count, same))


def _explain_literal(launch: Launch) -> Iterator[Told]:
    """`$NAME` in words that no shell reads: Kubernetes replaces `$(NAME)` alone."""
    if launch.line or launch.launcher is None:
        return
    literal = tuple(dict.fromkeys(word.typed for word in launch.words if _OF_SHELL.search(word.text or "")))
    if literal:
        said = phrase(
            "{words}: no shell reads this command, and $ stays as it is; write $(NAME), which Kubernetes replaces by "
            "the container's variable, or start it by a shell, as in [bash, -c, TEXT]",
            words=Names(literal),
        )
        yield Told(said)


def _explain(launch: Launch, command: Command, kind: str, pods: Pods, spec: Mapping[str, Any]) -> Iterator[Told]:
    if kind == "PaddleJob" and is_paddle(launch):
        yield from explain_launch(launch, has_master="PADDLE_MASTER" in launch.environment, in_job=True)
    told = TORCHRUN if kind == "PyTorchJob" else PADDLE
    is_ours = launch.launcher is not None and launch.launcher.family in ("", told.family)
    if is_ours and (said := explain_launcher(launch, pods.count, told)) is not None:
        yield Told(said)
    if launch.elsewhere or not pods.count:
        return
    if launch.launcher is not None and not is_ours and pods.count > 1:
        yield from (Told(said) for said in explain_foreign(launch, kind, told))
    if is_ours and kind == "PyTorchJob" and (said := explain_untold(launch, pods, command.devices)) is not None:
        yield Told(said)
    yield from (Told(said) for said in explain_told(launch, pods))
    yield from (Told(said) for said in explain_devices(launch, command.devices))
    distributed = command.reading.distributed
    # `torchrun --standalone prepare.py && torchrun train.py`: each pod prepares by itself
    is_local = launch.named("standalone") is not None and any(each.named("standalone") is None for each in distributed)
    if not is_local:
        yield from (Told(said) for said in explain_replicas(launch, pods))
    if is_torchrun(launch):
        yield from (Told(said) for said in _explain_processes(launch, command, spec))
    if kind == "PyTorchJob" and launch.launcher is TORCHRUN and (said := _explain_restarts(launch, command, pods)):
        yield Told(said)


def _explain_processes(launch: Launch, command: Command, spec: Mapping[str, Any]) -> Iterator[Phrase]:
    """`auto` counts the CPUs of the machine, not those of the container (torch/distributed/run.py)."""
    option, field = launch.find(Means.PROCESSES), spec.get("nprocPerNode")
    if option is not None and option.text and field is not None and str(field) != option.text:
        yield phrase("{option} counts more than nprocPerNode, which is {field}: leave one of them out",
                     option=option.typed, field=str(field))  # fmt: skip
    asked = option.text if option is not None else str(field or "auto")
    limits = command.limits
    if asked not in ("auto", "cpu") or not limits.get("cpu") or any("/" in str(name) for name in limits):
        return  # of devices like nvidia.com/gpu, `auto` counts these
    yield phrase(
        "torchrun starts a process for each CPU of the machine, as {field} is {asked}, and limits.cpu is {cpus}: say "
        'how many processes there are, as in nprocPerNode: "1"',
        field="--nproc-per-node" if option is not None else "nprocPerNode", asked=asked, cpus=str(limits["cpu"]),
    )  # fmt: skip


def _explain_restarts(launch: Launch, command: Command, pods: Pods) -> Phrase | None:
    """Of --max-restarts with which the pods do not meet again (`launches.containers.restarts_in_place`)."""
    is_alone = pods.count < 2 or pods.is_elastic or launch.command.is_conditional or meets_elsewhere(launch)
    if is_alone or not count_restarts(launch) or restarts_in_place(command.container.value):
        return None
    return phrase(
        "--max-restarts starts a failed process again in its own pod, and the others do not meet it: they do where "
        "torchrun is the one command of the container, or with an elasticPolicy"
    )


def _join(found: Sequence[Told]) -> Phrase:
    joined = found[0].said
    for each in found[1:_MOST_JOINED]:
        joined = phrase("{first}; {second}", first=joined, second=each.said)
    if len(found) > _MOST_JOINED:
        more = phrase("{count} more like it are not told", count=len(found) - _MOST_JOINED)
        joined = phrase("{first}; {second}", first=joined, second=more)
    return joined
