"""Checks the devices of a job against the devices and modes that PaddlePaddle supports.

Source: PaddlePaddle's documents, 分布式训练快速开始, 环境支持列表. A job outside of the table gets a warning, not an
error: the manifest is valid, and a custom build of PaddlePaddle may support more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from paddock.jobs.preflight.parts import Container, Part, mapping, mappings
from paddock.jobs.text.phrases import phrase
from paddock.jobs.text.problems import Problem
from paddock.jobs.text.sentences import join_path, told

PS, COLLECTIVE = "PS", "Collective"
_SHARED = "/dev/shm"  # noqa: S108 (a place within a container)


class Device(NamedTuple):
    """A row of the table. `resource`: a pattern of the extended resource's name."""

    name: str
    resource: str
    modes: tuple[str, ...]


DEVICES = (
    Device("CPU", r"cpu", (PS, COLLECTIVE)),
    Device("GPU", r"nvidia\.com/(gpu|mig-).*", (PS, COLLECTIVE)),
    Device("XPU", r"(kunlunxin|baidu)\.com/xpu.*|.*/kunlun.*", (PS, COLLECTIVE)),
    Device("DCU", r"hygon\.com/dcu.*|.*/dcu.*", (COLLECTIVE,)),
    Device("NPU", r"huawei\.com/(Ascend|npu).*", (COLLECTIVE,)),
)


def find_device(resource: str) -> Device | None:
    return next((device for device in DEVICES if re.fullmatch(device.resource, resource)), None)


def check_devices(parts: Sequence[Part], kind: str) -> Iterator[Problem]:
    serves = [part for part in parts if part.name.casefold() in ("ps", "pserver") and part.replicas > 0]
    mode = PS if serves else COLLECTIVE
    for part in parts:
        for container in part.containers():
            if kind == "PaddleJob":
                yield from _check_mode(container, mode)
            if mode == COLLECTIVE:
                yield from _check_shared_memory(part, container)


def _check_mode(container: Container, mode: str) -> Iterator[Problem]:
    for key in ("limits", "requests"):
        for name in container.amounts(key):
            device = find_device(str(name))
            if device is None or mode in device.modes:
                continue
            said = phrase(
                "{device} trains in {modes} mode alone, and this job is of {mode} mode, which PaddlePaddle has on "
                "{devices}",
                device=device.name,
                modes=device.modes,
                mode=mode,
                devices=tuple(each.name for each in DEVICES if mode in each.modes),
            )
            path = join_path(f"{container.path}.resources.{key}", name)
            yield told(path, said, name, severity="warning", about_key=True)
            return


def _check_shared_memory(part: Part, container: Container) -> Iterator[Problem]:
    """Warns of a default /dev/shm: a container has 64 MiB of it, and DataLoader's workers and NCCL transfer their data
    through it. A pod with `hostIPC` has its node's, which the kubelet mounts."""
    asked: Mapping[str, object] = {**container.amounts("limits"), **container.amounts("requests")}
    device = next((found for name in asked if (found := find_device(str(name))) and found.name != "CPU"), None)
    mounts = mappings(container.value.get("volumeMounts"), "")
    if (
        device is None
        or part.spec.get("hostIPC") is True
        or any(_SHARED in (str(value).rstrip("/") for value in mount.values()) for _, mount in mounts)
    ):
        return
    volume = next(
        (each for _, each in mappings(part.spec.get("volumes"), "") if mapping(each.get("emptyDir")).get("medium")), {}
    )
    said = phrase(
        "nothing is mounted at /dev/shm: Kubernetes gives 64 MiB of it, and DataLoader's workers and NCCL want more; "
        "mount a volume {volume} at /dev/shm, with emptyDir: medium: Memory",
        volume=str(volume.get("name") or "dshm"),
    )
    yield told(f"{container.path}.volumeMounts", said, severity="warning", about_key=True)
