"""Where the ranks of a job are: equal stacks folded, and the place of each in one line. Pure.

The place of a stack is the user's own line that is nearest to its end, with what is called there: `all_reduce,
train.py:88`. Frames of the standard library and of packages are passed over, as all ranks of a framework end in
the same ones. What launchers, data loaders and helpers of multiprocessing do is no place of a rank, and is told apart.

`logs.stack_dumps` reads what tools print; `kube.pod_stacks` has the values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from shlex import quote

from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks, Trouble
from paddock.words.phrases import NOTHING, Names, Phrase, counted, phrase

_PACKAGES = re.compile(r"/(?:site|dist)-packages/")
_STANDARD = re.compile(r"/lib(?:64)?/(?:python|pypy)\d[\d.]*t?/|\.zip/|^<frozen |^<__array_function__")
_FRAMEWORK = re.compile(r"/(?:site|dist)-packages/(?:torch|paddle|numpy|jax|tensorflow|paddock_\w+)[/.]")
_PROGRAM = re.compile(r"/s?bin/[^/.]+$")
"""The program of a package (`bin/torchrun`), seldom a script of the user."""
_DISTRIBUTED = re.compile(r"/distributed/|/communication/|/parallel\.py$|/fleet/")
_LOADER = re.compile(r"/utils/data/dataloader\.py$|/dataloader/dataloader_iter\.py$|/io/(?:reader|dataloader/\w+)\.py$")
_LAUNCHER = re.compile(r"/torch/distributed/(?:run|launch|launcher/\w+|elastic/.*)\.py$|/paddle/distributed/launch/")
_LOADER_WORKER = re.compile(r"/utils/data/_utils/worker\.py$|/dataloader/worker\.py$")
_HELPER = re.compile(
    r"/multiprocessing/(?:resource_tracker|forkserver|managers|semaphore_tracker)\.py$|/compile_worker/|/_inductor/"
)
COLLECTIVES = frozenset(
    {"all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_coalesced", "reduce"}
    | {"reduce_scatter", "reduce_scatter_tensor", "broadcast", "broadcast_object_list", "barrier", "monitored_barrier"}
    | {"all_to_all", "all_to_all_single", "alltoall", "alltoall_single", "gather", "gather_object", "scatter"}
    | {"scatter_object_list", "send", "recv", "batch_isend_irecv", "init_process_group", "init_parallel_env"}
    | {"new_group", "init_rpc", "barrier_worker", "sync_params_buffers"}
)
"""Functions of torch.distributed and paddle.distributed in which a rank waits for others."""
DATA_LOADER = "DataLoader"
_WRAPPERS = frozenset({"wrapper", "inner", "_wrapper", "wrapped", "_fn", "decorate_context", "__impl__", "<lambda>"})


class Work(StrEnum):
    """What a process is there for."""

    TRAINS = "trains"
    LAUNCHES = "launches"
    """It waits for the processes that it has started: torchrun, paddle.distributed.launch."""
    LOADS = "loads"
    """It reads data for another process."""
    HELPS = "helps"
    """Of multiprocessing or of a compiler."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stack is."""

    function: str
    """What is called there; empty for a line that calls nothing, at the top of a file."""
    file: str
    """Its name alone: `train.py`."""
    line: int
    collective: bool = False
    """The rank waits there for others."""


@dataclass(frozen=True, slots=True)
class Located:
    """A process with its stack."""

    label: str
    """`worker-0`; with several processes of one pod `worker-0 rank 3`, or `worker-0 pid 4711`."""
    rank: str
    """Of the job: `worker-0`."""
    process: ProcessStacks
    frames: tuple[Frame, ...]
    """Of its main thread."""
    work: Work
    place: Place


@dataclass(frozen=True, slots=True)
class Group:
    """Processes whose main threads have the same stack."""

    place: Place
    frames: tuple[Frame, ...]
    members: tuple[Located, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(each.label for each in self.members)


@dataclass(frozen=True, slots=True)
class Folded:
    """The stacks of a job."""

    groups: tuple[Group, ...] = ()
    """Of what trains, the largest first, then by name."""
    helpers: tuple[Group, ...] = ()
    """Of launchers, data loaders and helpers."""
    without: tuple[tuple[str, Phrase], ...] = ()
    """What has no stack, and why: the label and the sentence."""

    @property
    def loaders(self) -> tuple[Group, ...]:
        """The data loaders, where something that trains waits for one."""
        if not any(each.place.function == DATA_LOADER for each in self.groups):
            return ()
        return tuple(each for each in self.helpers if each.members[0].work is Work.LOADS)

    @property
    def located(self) -> frozenset[str]:
        """The ranks with a stack."""
        return frozenset(each.rank for group in (*self.groups, *self.helpers) for each in group.members)


def fold(pods: Mapping[str, PodStacks]) -> Folded:
    """`pods`: by rank (`worker-0`)."""
    located = [each for rank, pod in pods.items() for each in _locate(rank, pod)]
    without = [each for rank, pod in pods.items() for each in _list_without(rank, pod)]
    trains = [each for each in located if each.work is Work.TRAINS]
    return Folded(_group(trains), _group([each for each in located if each.work is not Work.TRAINS]), tuple(without))


def _locate(rank: str, pod: PodStacks) -> list[Located]:
    found = []
    for process in pod.processes:
        frames = main_frames(process)
        if not process.trouble and frames:
            found.append((process, frames, read_work(frames)))
    # What a rank has started itself has its RANK too.
    trains = Counter(process.rank for process, _, work in found if work is Work.TRAINS)
    shared, several = {rank for rank, count in trains.items() if count > 1}, trains.total() > 1
    return [
        Located(
            _label(rank, replace(process, rank="") if process.rank in shared else process, work, several=several),
            rank, process, frames, work, find_place(frames),
        )
        for process, frames, work in found
    ]  # fmt: skip


def _label(rank: str, process: ProcessStacks, work: Work, *, several: bool) -> str:
    """A launcher has the RANK of its pod, which is none of its processes'."""
    if work is Work.LAUNCHES or (work is Work.TRAINS and not several):
        return rank
    return f"{rank} rank {process.rank}" if process.rank and several else f"{rank} pid {process.pid}"


def main_frames(process: ProcessStacks) -> tuple[Frame, ...]:
    """Of its main thread; of another where that has none."""
    main = next((each.frames for each in process.threads if each.main), ())
    return main or next((each.frames for each in process.threads if each.frames), ())


def _group(located: Iterable[Located]) -> tuple[Group, ...]:
    by_frames: dict[tuple[Frame, ...], list[Located]] = {}
    for each in located:
        by_frames.setdefault(each.frames, []).append(each)
    groups = [
        Group(members[0].place, frames, tuple(sorted(members, key=lambda each: natural(each.label))))
        for frames, members in by_frames.items()
    ]
    return tuple(sorted(groups, key=lambda each: (-len(each.members), natural(each.labels[0]))))


def natural(label: str) -> tuple[tuple[str, int], ...]:
    """The order in which people count: worker-2 before worker-10."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d{0,18})", label))


def read_work(frames: Sequence[Frame]) -> Work:
    """What a process with this main thread is there for."""
    if any(_LOADER_WORKER.search(each.file) for each in frames):
        return Work.LOADS
    if any(is_own(each.file) and not _PROGRAM.search(each.file) for each in frames):
        return Work.TRAINS
    if any(_LAUNCHER.search(each.file) for each in frames):
        return Work.LAUNCHES
    return Work.HELPS if any(_HELPER.search(each.file) for each in frames) else Work.TRAINS


def is_own(file: str) -> bool:
    """Whether a file is the user's: none of the standard library or of a package."""
    return bool(file) and not _PACKAGES.search(file) and not _STANDARD.search(file)


def find_place(frames: Sequence[Frame]) -> Place:
    """Of a stack, the most recent call last. Of one without the user's lines, that of the nearest package which is no
    framework; else its end."""
    if not frames:
        return Place("", "", 0)
    at = next((found for holds in _NEAREST if (found := _find_last(frames, holds)) is not None), len(frames) - 1)
    called, own = frames[at + 1 :], frames[at]
    file, line = own.file.rpartition("/")[2], own.line
    for each in called:
        if each.function in COLLECTIVES and _DISTRIBUTED.search(each.file):
            return Place(each.function, file, line, collective=True)
        if _LOADER.search(each.file):
            return Place(DATA_LOADER, file, line)
    names = [each.function for each in called if each.function not in _WRAPPERS]
    return Place(names[0] if names else "" if own.function == "<module>" else own.function, file, line)


_NEAREST: tuple[Callable[[str], bool], ...] = (
    lambda file: is_own(file) and not _PROGRAM.search(file),
    lambda file: bool(_PACKAGES.search(file)) and not _FRAMEWORK.search(file),
    is_own,
)
"""Which files a place is taken from: the first of these that a stack has."""


def _find_last(frames: Sequence[Frame], holds: Callable[[str], bool]) -> int | None:
    return next((at for at in range(len(frames) - 1, -1, -1) if holds(frames[at].file)), None)


# Sentences


_MOST_PLACES = 20
"""That are told in one sentence; each stack stands below it."""


def tell_places(groups: Sequence[Group]) -> Phrase:
    """`3 ranks in all_reduce, train.py:88; worker-2 in read_batch, data.py:41`. NOTHING without a group."""
    places = merge_places(groups)
    said = [_tell_place(place, labels) for place, labels in places[:_MOST_PLACES]]
    if left := len(places) - len(said):
        said.append(counted("{count} other place", "{count} other places", count=left))
    return (
        reduce(lambda first, second: phrase("{first}; {second}", first=first, second=second), said) if said else NOTHING
    )


def merge_places(groups: Sequence[Group]) -> list[tuple[Place, tuple[str, ...]]]:
    """The places of groups, each once, those of most processes first."""
    found: dict[Place, tuple[str, ...]] = {}
    for group in groups:
        found[group.place] = (*found.get(group.place, ()), *group.labels)
    named = [(place, tuple(sorted(labels, key=natural))) for place, labels in found.items()]
    return sorted(named, key=lambda each: (-len(each[1]), natural(each[1][0])))


def _tell_place(place: Place, labels: tuple[str, ...]) -> Phrase:
    return (
        phrase("{who} in {place}", who=_tell_who(labels), place=show_place(place))
        if place.function
        else phrase("{who} at {place}", who=_tell_who(labels), place=show_place(place))
    )


def _tell_who(labels: tuple[str, ...]) -> Phrase | Names:
    return counted("{count} rank", "{count} ranks", count=len(labels)) if len(labels) > 2 else Names(labels)


def show_place(place: Place) -> str:
    """`all_reduce, train.py:88`; the same in every language."""
    line = f"{place.file}:{place.line}" if place.line else place.file
    return f"{place.function}, {line}" if place.function else line


def tell_waiting(groups: Sequence[Group]) -> Phrase | None:
    """What the places tell together, where they tell something: who waits for whom. A rank that is in no collective
    while others are is the one that they wait for; so are two collectives for each other."""
    merged = merge_places(groups)
    inside = [(place, labels) for place, labels in merged if place.collective]
    outside = [label for place, labels in merged if not place.collective for label in labels]
    if not inside:
        return None
    waiting = tuple(label for _, labels in inside for label in labels)
    if outside:
        return phrase(
            "the collective of {waiting} lacks {others}", waiting=_tell_who(waiting), others=Names(tuple(outside))
        )
    if len(inside) > 1:
        return phrase("the ranks are in different collectives, and wait for each other")
    return phrase(
        "all are in the same collective: one that is not among them is missing, or the network between them is cut off"
    )


def list_labels(groups: Sequence[Group]) -> tuple[str, ...]:
    """All that have a stack, in the order in which people count."""
    return tuple(sorted((label for group in groups for label in group.labels), key=natural))


def find_suspects(groups: Sequence[Group]) -> tuple[str, ...]:
    """Those that others wait for: in no collective while others are in one. All, where the places do not tell it."""
    outside = tuple(label for group in groups if not group.place.collective for label in group.labels)
    everyone = list_labels(groups)
    return tuple(sorted(outside, key=natural)) if 0 < len(outside) < len(everyone) else everyone


def _list_without(rank: str, pod: PodStacks) -> list[tuple[str, Phrase]]:
    several = len(pod.processes) > 1
    found = [
        (_label(rank, each, Work.TRAINS, several=several), tell_trouble(each, pod.tool))
        for each in pod.processes
        if each.trouble or not main_frames(each)
    ]
    if not pod.processes:
        found.append((rank, tell_no_python(pod)))
    if pod.left_out:
        said = counted(
            "{count} more process is not looked at: {most} at a time are",
            "{count} more processes are not looked at: {most} at a time are",
            count=pod.left_out, most=len(pod.processes),
        )  # fmt: skip
        found.append((rank, said))
    return found


def tell_no_python(pod: PodStacks) -> Phrase:
    """Why a pod has no process with a stack."""
    if not pod.others:
        return phrase("it has no process that runs")
    return phrase("it runs no Python, but {programs}", programs=Names(pod.others))


def tell_trouble(process: ProcessStacks, tool: str = "") -> Phrase:
    """Why a process has no stack, and what to do. `tool`: the path of py-spy, as PATH may not have it."""
    show = f"{quote(tool) if tool else 'py-spy'} dump --pid {process.pid}"
    command = f"sudo {show}"
    match process.trouble:
        case Trouble.NOT_ALLOWED:
            return phrase(
                "the system lets nobody look into process {pid} (kernel.yama.ptrace_scope, or a container's limits), "
                "and its Python does not tell its stack itself, as those of environments that Paddock builds do: "
                "`{command}` shows it",
                pid=process.pid, command=command,
            )  # fmt: skip
        case Trouble.NO_TOOL:
            return phrase(
                "py-spy is not installed with this Paddock, and the Python of process {pid} does not tell its stack "
                "itself, as those of environments that Paddock builds do: after `pip install py-spy`, `{command}` "
                "shows it",
                pid=process.pid, command=command,
            )  # fmt: skip
        case Trouble.ENDED:
            return phrase("process {pid} has ended meanwhile", pid=process.pid)
        case Trouble.STOPPED:
            return phrase(
                "process {pid} is stopped, by a signal or a debugger: `kill -CONT {pid}` lets it go on",
                pid=process.pid,
            )  # fmt: skip
        case Trouble.NO_ANSWER:
            return phrase(
                "process {pid} has not answered in time; it may wait in the kernel: `cat /proc/{pid}/wchan` says for "
                "what",
                pid=process.pid,
            )  # fmt: skip
        case Trouble.TOO_LONG:
            return phrase(
                "the stacks of process {pid} are too long to be read here: `{command}` shows them",
                pid=process.pid, command=show,
            )  # fmt: skip
        case Trouble.NO_PYTHON | "":
            return phrase("process {pid} runs no line of Python: {program}", pid=process.pid, program=process.command)
    return phrase(
        "py-spy failed for process {pid}: {said}; `{command}` tries again as root",
        pid=process.pid, said=process.said, command=command,
    )  # fmt: skip
