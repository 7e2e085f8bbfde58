"""One stack -> what the process is there for, and its place in one line. Pure.

The place of a stack is the user's own line that is nearest to its end, with what is called there: `all_reduce,
train.py:88`. Frames of the standard library and of packages are passed over, as all ranks of a framework end in
the same ones. What launchers, data loaders and helpers of multiprocessing do is no place of a rank, and is told apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from paddock.kube.pod_stacks import Frame

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


def show_place(place: Place) -> str:
    """`all_reduce, train.py:88`; the same in every language."""
    line = f"{place.file}:{place.line}" if place.line else place.file
    return f"{place.function}, {line}" if place.function else line
