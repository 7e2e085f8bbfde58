"""Finds the GPUs of this machine and assigns them to pods.

GPUs are counted whole, as `nvidia.com/gpu` of NVIDIA's device plugin. Indices are those of nvidia-smi (PCI bus order),
and CUDA_DEVICE_ORDER sets that order for programs too.
A machine where nvidia-smi is missing or fails has no GPU. `paddock.node.scheduler.placement` reads a pod's request.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

GPU_RESOURCE: Final = "nvidia.com/gpu"
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


def plan_gpus(count: int, gpus: Iterable[Gpu], taken: Mapping[str, Collection[int]]) -> tuple[int, ...]:
    """The indices of the `count` lowest free GPUs; `taken`: GPUs of other pods, by pod UID. Raises `NotEnoughGpus`."""
    held = {index for indices in taken.values() for index in indices}
    indices = sorted(gpu.index for gpu in gpus)
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
