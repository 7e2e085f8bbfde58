"""Where the ranks of a job are: equal stacks folded. Pure.

`logs.stack_dumps` reads what tools print; `logs.stack_places` finds the place of each; `logs.stack_sentences` tells
what they say together, `logs.stack_troubles` why a process has none; `kube.pod_stacks` has the values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks
from paddock.logs.stack_places import DATA_LOADER, Place, Work, find_place, read_work
from paddock.logs.stack_troubles import tell_no_python, tell_trouble
from paddock.words.phrases import Phrase, counted


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


def tell_of_node(process: ProcessStacks, pod: PodStacks) -> Phrase:
    """Why a process of this machine has no stack."""
    return tell_trouble(process, pod.tool)


def fold(pods: Mapping[str, PodStacks], tell: Callable[[ProcessStacks, PodStacks], Phrase] = tell_of_node) -> Folded:
    """`pods`: by rank (`worker-0`). `tell`: why a process has no stack."""
    located = [each for rank, pod in pods.items() for each in _locate(rank, pod)]
    without = [each for rank, pod in pods.items() for each in _list_without(rank, pod, tell)]
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


def merge_places(groups: Sequence[Group]) -> list[tuple[Place, tuple[str, ...]]]:
    """The places of groups, each once, those of most processes first."""
    found: dict[Place, tuple[str, ...]] = {}
    for group in groups:
        found[group.place] = (*found.get(group.place, ()), *group.labels)
    named = [(place, tuple(sorted(labels, key=natural))) for place, labels in found.items()]
    return sorted(named, key=lambda each: (-len(each[1]), natural(each[1][0])))


def list_labels(groups: Sequence[Group]) -> tuple[str, ...]:
    """All that have a stack, in the order in which people count."""
    return tuple(sorted((label for group in groups for label in group.labels), key=natural))


def find_suspects(groups: Sequence[Group]) -> tuple[str, ...]:
    """Those that others wait for: in no collective while others are in one. All, where the places do not tell it."""
    outside = tuple(label for group in groups if not group.place.collective for label in group.labels)
    everyone = list_labels(groups)
    return tuple(sorted(outside, key=natural)) if 0 < len(outside) < len(everyone) else everyone


def _list_without(
    rank: str, pod: PodStacks, tell: Callable[[ProcessStacks, PodStacks], Phrase]
) -> list[tuple[str, Phrase]]:
    several = len(pod.processes) > 1
    found = [
        (_label(rank, each, Work.TRAINS, several=several), tell(each, pod))
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
