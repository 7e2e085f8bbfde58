"""Checks the devices of a job against those that PaddlePaddle supports, and their modes (`packages.devices`).

A job outside of the table gets a warning, not an error: the manifest is valid, and a custom build of PaddlePaddle may
support more. A resource that the table does not know is a vendor's own, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from paddock.environments.packages.devices import COLLECTIVE, DEVICES, PS, find_device
from paddock.manifests.parts import Container, Part, mapping, mappings
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import join_path, told

_SHARED = "/dev/shm"  # noqa: S108 (a place within a container)
_WINDOWS = "kubernetes.io/os"
_READ = ("CUDA_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES")
"""The variables of devices that PaddlePaddle's launcher reads (3.3.1)."""


def check_devices(parts: Sequence[Part], *, paddle: bool) -> Iterator[Problem]:
    """`paddle`: whether the program trains with PaddlePaddle."""
    if paddle:
        yield from _check_windows(parts)
    serves = [part for part in parts if part.name.casefold() in ("ps", "pserver") and part.replicas > 0]
    mode = PS if serves else COLLECTIVE
    for part in parts:
        for container in part.containers():
            if paddle:
                yield from _check_mode(container, mode)
                yield from _check_visible(container)
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


def _check_windows(parts: Sequence[Part]) -> Iterator[Problem]:
    """PaddlePaddle trains on Windows on one machine alone (环境支持列表)."""
    if sum(part.replicas for part in parts) < 2:
        return
    for part in parts:
        for place, value in (
            (join_path("nodeSelector", _WINDOWS), mapping(part.spec.get("nodeSelector")).get(_WINDOWS)),
            ("os.name", mapping(part.spec.get("os")).get("name")),
        ):
            if value == "windows" and part.replicas:
                said = phrase(
                    "PaddlePaddle trains on Windows on one machine, with {devices}; this job has several ranks, which "
                    "need Linux",
                    devices=tuple(each.name for each in DEVICES if each.windows),
                )  # fmt: skip
                yield told(f"{part.spec_path}.{place}", said, value, severity="warning")


def _check_visible(container: Container) -> Iterator[Problem]:
    """Warns of a variable that says which devices a program sees, beside a resource that says how many: the device
    plug-in sets it, and labels of devices that are not there end the launcher (`Device not found`)."""
    asked = [device for key in ("limits", "requests") for name in container.amounts(key)
             if (device := find_device(str(name))) is not None and device.variable]  # fmt: skip
    for path, entry in mappings(container.value.get("env"), f"{container.path}.env"):
        device = next((each for each in asked if each.variable == entry.get("name") in _READ), None)
        if device is not None and "value" in entry:
            said = phrase(
                "{name} is set by the device plug-in to the devices that the pod is given; other labels end the "
                "launcher, and an empty value leaves one process: remove the entry",
                name=device.variable,
            )  # fmt: skip
            yield told(f"{path}.value", said, entry["value"], severity="warning")


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
