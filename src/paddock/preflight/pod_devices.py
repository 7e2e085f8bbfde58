"""Warns of more processes, or more devices, than a pod is given. Pure.

PaddlePaddle's launcher gives each process a device of its own (collective.py, 3.3.1): a device that is not there is a
ValueError, and a process too many an IndexError. torchrun's programs take the device of their LOCAL_RANK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.environments.packages.devices import find_device, is_part
from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import Means
from paddock.manifests.parts import Container
from paddock.words.phrases import Phrase, phrase

_WHOLE = re.compile(r"0*([1-9][0-9]{0,5})")


def count_devices(container: Container) -> int:
    """The whole devices that a container is given; 0 without one, and where that is not known."""
    given = 0
    for name, amount in container.amounts("limits").items():
        device = find_device(str(name))
        if device is not None and device.name != "CPU" and not is_part(str(name)):
            given += _read(str(amount))
    return given


def explain_devices(launch: Launch, given: int) -> Iterator[Phrase]:
    """`given`: devices of a pod; 0 where that is not known."""
    processes, devices = launch.find(Means.PROCESSES), launch.find(Means.DEVICES)
    if launch.launcher is None or launch.launcher.takes_command or launch.elsewhere:
        return
    asked = _read(processes.text or "") if processes is not None else 0
    named = _count(devices) if devices is not None else 0
    if given and devices is not None and named > given:
        yield phrase(
            "{option} names {named} devices, and the pod has {given}: name {given}, or ask for {named}",
            option=devices.typed, named=named, given=given,
        )  # fmt: skip
    elif processes is not None and devices is not None and named and asked > named:
        yield phrase(
            "{option} starts more processes than {devices} names devices: each process needs one of its own",
            option=processes.typed, devices=devices.typed,
        )  # fmt: skip
    elif given and processes is not None and asked > given:
        yield phrase(
            "{option} starts {asked} processes, and the pod has {given} devices: start {given}, or ask for {asked}",
            option=processes.typed, asked=asked, given=given,
        )  # fmt: skip


def _count(devices: Option) -> int:
    """The devices of a list of numbers; 0 for anything else."""
    names = [each.strip() for each in (devices.text or "").split(",")]
    return len(names) if all(each.isdecimal() for each in names) else 0


def _read(text: str) -> int:
    found = _WHOLE.fullmatch(text)
    return int(found[1]) if found else 0
