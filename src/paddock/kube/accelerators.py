"""Which resources of Kubernetes are accelerators, by the names that device plug-ins of vendors have for them. Pure.

An allow-list, for what is counted and kept for long (`operator.resource_time`, `views.usage`): who writes a manifest
may write any name of a resource. A name that counts memory, cores or percents of a device is not in it.

Sources, read 2026-11: the device plug-ins of NVIDIA (also MIG), AMD, Intel, Habana, Huawei, Kunlunxin, Hygon,
Cambricon, Iluvatar, Moore Threads, Enflame and MetaX; GKE's page "About TPUs in GKE"; AWS's Neuron; docs/devices.md.
"""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"nvidia\.com/(gpu|gpu\.shared|mig-\d{1,2}g\.\d{1,3}gb(\.shared)?)|amd\.com/gpu|gpu\.intel\.com/(i915|xe)|"
    r"habana\.ai/gaudi|google\.com/tpu|aws\.amazon\.com/neuron(core|device)?|"
    r"huawei\.com/([Aa]scend-?\w{1,16}|npu)|(kunlunxin|baidu)\.com/v?xpu|baidu\.com/cgpu|hygon\.com/dcu(num)?|"
    r"cambricon\.com/v?mlu\w{0,8}|iluvatar\.(ai|com)/v?gpu|mthreads\.com/v?gpu|enflame\.com/v?gcu|metax-tech\.com/v?gpu",
    re.ASCII,
)

PLAIN = frozenset({"cpu", "memory", "pods"})
"""What is counted of every pod beside its accelerators: cores, bytes, and itself as one."""


def is_accelerator(resource: str) -> bool:
    """Whether `resource` (`nvidia.com/gpu`) counts whole devices, or slices of one that are devices to a program."""
    return _NAMES.fullmatch(resource) is not None


def is_counted(resource: str) -> bool:
    """Whether what pods hold of it is added up."""
    return resource in PLAIN or is_accelerator(resource)
