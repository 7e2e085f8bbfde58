"""Finds the GPUs of this machine and assigns them to pods.

A pod asks for whole GPUs, as `nvidia.com/gpu` of NVIDIA's device plugin; pods that say so share one
(`kube.gpu_shares`). Which are a pod's is the scheduler's choice; only for a pod that came to this node without it, one
is made here. Indices are those of nvidia-smi (PCI bus order),
and CUDA_DEVICE_ORDER sets that order for programs too.
A machine where nvidia-smi is missing or fails has no GPU. `paddock.node.scheduler.placement` reads a pod's request.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from paddock.kube.gpu_shares import GPU

GPU_RESOURCE: Final = GPU
_QUERY = ("--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader")
# Seconds. Without NVIDIA's persistence daemon, nvidia-smi needs most of them for eight GPUs.
_TIMEOUT = 15.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as nvidia-smi lists it; `memory` in bytes, 0 if not reported (memory shared with the CPU)."""

    index: int
    uuid: str = ""
    name: str = "GPU"
    memory: int = 0


class NotEnoughGpus(Exception):
    """A pod requests more GPUs than are free; the message is for its status."""


def read_gpus(text: str) -> tuple[Gpu, ...]:
    """The GPUs in nvidia-smi's CSV (`0, GPU-8f…, NVIDIA H200, 143771 MiB`); other lines are skipped."""
    return tuple(gpu for line in text.splitlines() if (gpu := _read_line(line)) is not None)


def _read_line(line: str) -> Gpu | None:
    head = [part.strip() for part in line.split(",", 2)]
    if len(head) < 3 or not head[0].isdecimal():
        return None
    # The memory is the last column, whatever the name contains.
    name, _, memory = head[2].rpartition(",")
    amount, _, unit = memory.strip().partition(" ")
    size = int(amount) * 2**20 if amount.isdecimal() and unit == "MiB" else 0
    return Gpu(int(head[0]), head[1], name.strip() or memory.strip(), size)


def match_visible(gpus: Iterable[Gpu], visible: str | None) -> tuple[Gpu, ...]:
    """The GPUs visible under CUDA_VISIBLE_DEVICES: None (not set) is all, empty is none.

    Entries are indices or UUID prefixes; the first entry that matches no GPU ends the list (CUDA C++
    Programming Guide, "Environment Variables"), so `-1` is none.
    """
    found = tuple(gpus)
    if visible is None:
        return found
    kept: set[int] = set()
    for entry in (part.strip() for part in visible.split(",")):
        indices = {gpu.index for gpu in found if _matches(entry, gpu)}
        if len(indices) != 1:
            break
        kept |= indices
    return tuple(gpu for gpu in found if gpu.index in kept)


def _matches(entry: str, gpu: Gpu) -> bool:
    return entry == str(gpu.index) or (entry.startswith("GPU-") and gpu.uuid.startswith(entry))


@dataclass(frozen=True, slots=True)
class Holding:
    """The GPUs of another pod."""

    indices: Sequence[int]
    shares: int = 0
    """Into how many shares its GPU is divided; 0 for GPUs that are its alone."""
    is_chosen: bool = True
    """Whether the scheduler has chosen them."""


def plan_gpus(
    count: int, gpus: Iterable[Gpu], others: Iterable[Holding], chosen: Sequence[int] = (), shares: int = 0
) -> tuple[int, ...]:
    """The indices of a pod's GPUs: those that were `chosen` for it, else the `count` lowest that are free. Raises
    `NotEnoughGpus`.

    Where others still have what was chosen, it waits for them: they are ending. For one that came to the node without a
    choice it does not wait, and takes what is free; unless it shares, as it would have a GPU alone for which the
    scheduler counts a share.
    """
    holdings = list(others)
    indices = sorted(gpu.index for gpu in gpus)
    if len(chosen) == count and set(chosen) <= set(indices):
        beside = [each for each in holdings if not set(chosen).isdisjoint(each.indices)]
        if not beside or (shares and all(each.shares == shares for each in beside) and len(beside) < shares):
            return tuple(chosen)
        if shares or all(each.is_chosen for each in beside):
            taken = ", ".join(str(index) for index in chosen if any(index in each.indices for each in beside))
            raise NotEnoughGpus(f"{GPU_RESOURCE}: {taken} of another pod, which has not ended yet")
    held = {index for each in holdings for index in each.indices}
    free = [index for index in indices if index not in held]
    if count > len(free):
        raise NotEnoughGpus(f"{GPU_RESOURCE}: {count} asked for, {len(free)} of {len(indices)} free")
    return tuple(free[:count])


def build_environment(indices: Iterable[int]) -> dict[str, str]:
    """The variables that make exactly these GPUs visible; without indices all are hidden, as on a cluster."""
    visible = ",".join(str(index) for index in indices)
    # CUDA's own order differs from nvidia-smi's on machines with different GPUs.
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible}


def find_gpus(environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """This machine's GPUs that `environment` (of this process) leaves visible in CUDA_VISIBLE_DEVICES. Blocks."""
    program = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if program is None:
        return ()
    try:
        answer = subprocess.run([program, *_QUERY], capture_output=True, text=True, timeout=_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("%s does not answer, so this machine counts as one without GPUs: %s", program, error)
        return ()
    return match_visible(read_gpus(answer.stdout), environment.get("CUDA_VISIBLE_DEVICES"))
