"""PyTorch's packages among requirements and installed packages. Pure.

PyTorch's wheels do not require NumPy, and `import torch` warns without it: `Failed to initialize NumPy`. So every
environment with PyTorch among its requirements gets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from paddock.environments.requirements import requirement_name

TORCH = "torch"
"""The requirement of environments that name no version."""
FAMILY = frozenset({"torch", "torchvision", "torchaudio"})
"""Packages that exist in one build for each accelerator: download.pytorch.org has the same version as +cpu, +cu128."""
PYTORCH_INDEX = "download.pytorch.org"
"""PyTorch's own package index: one for each accelerator."""

_COMPANIONS = ("numpy",)
_CUDA = re.compile(r"nvidia-|cuda-|triton$")


def find_torch(requirements: Iterable[str]) -> str:
    """The first requirement that is torch itself; else the first of its family; empty without one."""
    found = [each for each in requirements if requirement_name(each) in FAMILY]
    return next((each for each in found if requirement_name(each) == TORCH), found[0] if found else "")


def add_companions(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, and what torch warns of if it is among them and they do not name it themselves."""
    if not find_torch(requirements):
        return tuple(requirements)
    named = {requirement_name(each) for each in requirements}
    return (*requirements, *(each for each in _COMPANIONS if each not in named))


def find_cuda(versions: Mapping[str, str]) -> tuple[str, ...]:
    """The packages of CUDA that a build of torch requires; empty without torch, and beside a torch for CPUs: there
    another package requires them, as xgboost does nvidia-nccl-cu12."""
    if TORCH not in versions or is_for_cpu(versions[TORCH]):
        return ()
    return tuple(each for each in versions if _CUDA.match(each))


def is_for_cpu(version: str) -> bool:
    return version.partition("+")[2].startswith("cpu")
