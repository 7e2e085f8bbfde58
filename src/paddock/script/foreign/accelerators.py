"""Accelerators of other vendors than NVIDIA, by the names that SkyPilot and dstack have for them. Pure.

`--gpus` asks for nvidia.com/gpu alone. Names: SkyPilot 0.14 (`sky show-gpus --all`) and dstack 0.22 (gpuhunt).
Resources: the device plug-ins of AMD, of AWS's Neuron, of Habana and of Huawei, and GKE's page "About TPUs in GKE".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of one vendor."""

    title: str
    """As people call it."""
    resource: str
    """By which name a cluster offers it."""
    names: str
    """A pattern of what the tools call it, in small letters."""
    is_slice: bool = False
    """Whether the number behind a name counts cores or chips of several machines, not those of one."""


_ACCELERATORS = (
    Accelerator("AMD", "amd.com/gpu", r"amd|mi\d{2,3}\w?|radeon.*"),
    Accelerator("TPU", "google.com/tpu", r"google|tpu|(tpu-)?v\d(e|p|x|litepod)?-\d+(-.*)?", is_slice=True),
    Accelerator("Trainium, Inferentia", "aws.amazon.com/neuron", r"(trainium|inferentia|trn|inf)\d?"),
    Accelerator("Gaudi", "habana.ai/gaudi", r"intel|gaudi.*"),
    Accelerator("Ascend", "huawei.com/Ascend910", r"ascend.*"),
)


def find_accelerator(value: Any) -> Accelerator | None:
    """What `MI300X:8`, `gpu:mi300x:8`, `{MI300X: 8}`, `{vendor: amd, count: 8}` and the first of a list ask for; None
    for GPUs of NVIDIA, and for a name that no row knows."""
    names = [each.lower() for each in _list_names(value)]
    return next((row for row in _ACCELERATORS if any(re.fullmatch(row.names, each) for each in names)), None)


def _list_names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from _list_names(value[0]) if value else ()
    elif isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            if name in ("name", "vendor"):
                yield from _list_names(each)
    elif isinstance(value, str):
        yield from (part.strip() for part in value.split(":"))


def explain_accelerator(option: str, found: Accelerator) -> Phrase:
    return phrase(
        "{option} is left out: --gpus asks for GPUs of NVIDIA; for {kind}, resources.limits of the manifest's "
        "container names {resource}, and --image an image for it",
        option=option, kind=found.title, resource=found.resource,
    )  # fmt: skip
