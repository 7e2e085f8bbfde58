"""The devices that PaddlePaddle trains on: in which mode, by which names a cluster offers them, which wheels know them.

Sources, read 2026-11: PaddlePaddle's documents (分布式训练快速开始, 环境支持列表; hardware_support of each device); the
vendors' device plug-ins and the clouds' pages, named in docs/devices.md; PyPI and www.paddlepaddle.org.cn/packages.
Only CPUs were there to run on. A resource that no row knows is the user's own, and never corrected: vendors have many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

PS, COLLECTIVE = "PS", "Collective"
_INDEX = "https://www.paddlepaddle.org.cn/packages/stable/"


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    modes: tuple[str, ...]  # in which PaddlePaddle trains on it, on Linux
    resources: str  # patterns of the names of whole devices in Kubernetes
    parts: str  # patterns of names that count memory or percents of one
    variable: str  # which devices a process sees
    packages: tuple[str, ...]  # what pip installs
    index: str | None  # from where; None: PyPI
    docker: tuple[str, ...]  # options of `docker run` for all devices of the machine
    windows: bool = False  # whether PaddlePaddle trains on it on Windows, on one machine


DEVICES = (
    Device("CPU", (PS, COLLECTIVE), r"cpu", r"(?!)", "", ("paddlepaddle",), None, (), windows=True),
    Device(
        "GPU", (PS, COLLECTIVE),
        r"nvidia\.com/(gpu|gpu\.shared|mig-.+)|baidu\.com/(?!xpu).+_cgpu|baidu\.com/cgpu",
        r"nvidia\.com/(gpumem|gpucores|gpumem-percentage)|baidu\.com/.+_cgpu_(core|memory)|aliyun\.com/gpu-.+|"
        r"volcano\.sh/gpu-.+",
        "CUDA_VISIBLE_DEVICES", ("paddlepaddle-gpu",), f"{_INDEX}cu126/", ("--gpus", "all"), windows=True,
    ),
    Device(
        "XPU", (PS, COLLECTIVE), r"kunlunxin\.com/v?xpu|baidu\.com/xpu[^-]*", r"(kunlunxin|baidu)\.com/v?xpu-.+",
        "XPU_VISIBLE_DEVICES", ("paddlepaddle-xpu",), f"{_INDEX}xpu-p800/", ("--privileged",),
    ),
    Device(
        "DCU", (COLLECTIVE,), r"hygon\.com/(dcu|dcunum)", r"hygon\.com/(dcumem|dcucores)",
        "HIP_VISIBLE_DEVICES", ("paddlepaddle-dcu",), f"{_INDEX}dcu/",
        ("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video", "-v", "/opt/hyhal:/opt/hyhal"),
    ),
    Device(
        "NPU", (COLLECTIVE,), r"huawei\.com/([Aa]scend-?\w+|npu)", r"huawei\.com/([Aa]scend-?\w+|npu)-.+",
        "ASCEND_RT_VISIBLE_DEVICES", ("paddlepaddle", "paddle-custom-npu"), f"{_INDEX}npu/", ("--privileged",),
    ),
)  # fmt: skip

SHARED_BY_FRACTION = "nvidia.com/gpu"
"""Huawei's CCE takes a fraction of it (xGPU; cce_10_0345); Kubernetes itself refuses fractions of any device."""


def find_device(resource: str) -> Device | None:
    """The device that a resource's name stands for, whole or in part; None for a name that no row knows."""
    return next(
        (each for each in DEVICES if re.fullmatch(each.resources, resource) or re.fullmatch(each.parts, resource)),
        None,
    )


def is_part(resource: str) -> bool:
    """Whether a name counts memory or percents of a device, not devices."""
    return any(re.fullmatch(each.parts, resource) for each in DEVICES)


def find_asked(amounts: Mapping[str, Fraction]) -> tuple[Device, Fraction] | None:
    """The device, other than the CPU, that requests or limits ask for, and how many: whole devices, where it
    asks for these, and else one for parts of one. None where
    they ask for none that is known."""
    for name, amount in sorted(amounts.items(), key=lambda each: is_part(each[0])):
        device = find_device(name)
        if device is not None and device.name != "CPU" and amount > 0:
            return device, Fraction(1) if is_part(name) else amount
    return None
