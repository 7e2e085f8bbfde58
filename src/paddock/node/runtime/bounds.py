"""What a container may have where the system does not bound it, and what is too much. Pure.

Where control groups do it (`node.runtime.cgroups`), nothing is watched.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """None: nothing is watched."""

    memory: int | None = None  # bytes
    processes: int | None = None


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Excess:
    """What a container has more of than it may."""

    memory: int | None = None  # bytes that it holds; None where that is not too much
    processes: int | None = None


def is_near(bounds: Bounds, resident: float) -> bool:
    """Whether its memory is to be looked at closely. `resident`: the cheap sum over its processes, which is never less:
    it counts pages several times that processes share, and files that the kernel can drop."""
    return bounds.memory is not None and resident > bounds.memory


def find_excess(bounds: Bounds, held: float | None, processes: int) -> Excess | None:
    """None where all is well. `held`: bytes that the kernel cannot take back; None where they were not looked at."""
    memory = round(held) if bounds.memory is not None and held is not None and held > bounds.memory else None
    too_many = processes if bounds.processes is not None and processes > bounds.processes else None
    return None if memory is None and too_many is None else Excess(memory, too_many)
