"""The devices of PaddlePaddle's documents (003, 环境支持列表), and the names by which clusters offer them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paddock.environments.packages.devices import DEVICES, find_asked, find_device, is_part


def test_the_matrix_is_that_of_the_documents() -> None:
    assert {each.name: "/".join(each.modes) for each in DEVICES} == {
        "CPU": "PS/Collective", "GPU": "PS/Collective", "XPU": "PS/Collective", "DCU": "Collective",
        "NPU": "Collective",
    }  # fmt: skip
    assert [each.name for each in DEVICES if each.windows] == ["CPU", "GPU"]


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        ("nvidia.com/gpu", "GPU"),
        ("nvidia.com/gpu.shared", "GPU"),
        ("nvidia.com/mig-1g.5gb", "GPU"),
        ("nvidia.com/gpumem", "GPU"),
        ("baidu.com/v100_32g_cgpu", "GPU"),
        ("baidu.com/v100_32g_cgpu_memory", "GPU"),
        ("aliyun.com/gpu-mem", "GPU"),
        ("volcano.sh/gpu-mem.128Mi", "GPU"),
        ("volcano.sh/gpu-core.percentage", "GPU"),
        ("kunlunxin.com/xpu", "XPU"),
        ("kunlunxin.com/vxpu-memory", "XPU"),
        ("hygon.com/dcu", "DCU"),
        ("hygon.com/dcunum", "DCU"),
        ("hygon.com/dcumem", "DCU"),
        ("huawei.com/Ascend910", "NPU"),
        ("huawei.com/ascend-1980", "NPU"),
        ("huawei.com/ascend-310", "NPU"),
        ("nvidia.com/gpux", None),
        ("example.com/accelerator", None),
        ("rdma/hca", None),
        ("example.com/dcu-x", None),
        ("example.com/kunlun", None),
    ],
)
def test_which_device_a_resource_stands_for(resource: str, device: str | None) -> None:
    found = find_device(resource)
    assert (found.name if found else None) == device


@pytest.mark.parametrize(
    ("amounts", "asked"),
    [
        ({"cpu": Fraction(4), "nvidia.com/gpu": Fraction(2)}, ("GPU", 2)),
        ({"aliyun.com/gpu-mem": Fraction(8)}, ("GPU", 1)),
        ({"hygon.com/dcumem": Fraction(8), "hygon.com/dcunum": Fraction(2)}, ("DCU", 2)),
        ({"cpu": Fraction(4)}, None),
        ({"nvidia.com/gpu": Fraction(0)}, None),
        ({"example.com/x": Fraction(1)}, None),
    ],
)
def test_how_many_devices_are_asked_for(amounts: dict[str, Fraction], asked: tuple[str, int] | None) -> None:
    found = find_asked(amounts)
    assert (found and (found[0].name, found[1])) == asked


def test_memory_and_percents_are_parts_of_a_device() -> None:
    assert is_part("nvidia.com/gpumem") and not is_part("nvidia.com/gpu")
    assert is_part("huawei.com/Ascend910-memory") and not is_part("huawei.com/ascend-1980")
