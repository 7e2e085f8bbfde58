"""GPUs, visible devices and wheels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from doctor.host.hosts import CPU, GPU, LAPTOP, NODE, TORCH, TWO_CARDS, TWO_GPUS, ask, checks
from paddock.doctor.findings import Severity
from paddock.doctor.host.values import Card, Gpus, Host, Interpreter, Smi, Wheel
from paddock.doctor.host.wheels import read_version


def visible(value: str, variable: str = "CUDA_VISIBLE_DEVICES", host: Host = NODE, **more: str) -> Host:
    return replace(host, environ={variable: value, **more})


def with_gpus(host: Host = NODE, **changes: Any) -> Host:
    return replace(host, gpus=replace(host.gpus, **changes))


def with_wheels(host: Host, *wheels: Wheel) -> Host:
    return replace(host, interpreter=Interpreter("/opt/venv/bin/python", "3.12.4", wheels))


@pytest.mark.parametrize(
    ("sentence", "host", "expected"),
    [
        ("a machine without GPUs", LAPTOP, []),
        ("a machine with two", NODE, []),
        (
            "the driver does not answer",
            with_gpus(smi=Smi.FAILED, cards=(), code=9, said="NVIDIA-SMI has failed"),
            ["nvidia-smi-fails"],
        ),
        ("the driver hangs", with_gpus(smi=Smi.SILENT, cards=()), ["nvidia-smi-silent"]),
        ("one card has fallen off the bus", with_gpus(cards=TWO_CARDS[:1]), ["gpu-missing"]),
        (
            "cards without a driver, and a wheel for GPUs",
            with_gpus(smi=Smi.MISSING, cards=(), device_files=0),
            ["gpu-without-driver"],
        ),
        (
            "NVIDIA's programs in an image, on a machine without GPUs",
            replace(LAPTOP, gpus=Gpus(Smi.FAILED, "couldn't communicate with the driver", 9)),
            [],
        ),
        (
            "a card that may not compute",
            with_gpus(cards=(replace(TWO_CARDS[0], mode="Prohibited"), TWO_CARDS[1])),
            ["gpu-prohibited"],
        ),
    ],
)
def test_drivers(sentence: str, host: Host, expected: list[str]) -> None:
    assert checks(host) == expected, sentence


def test_cards_without_a_driver_are_a_risk_where_no_wheel_wants_them() -> None:
    host = with_gpus(with_wheels(NODE, CPU), smi=Smi.MISSING, cards=(), device_files=0)
    assert [each.severity for each in ask(host)] == [Severity.RISK]


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "sudo reboot"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "lsmod | grep nvidia || sudo modprobe nvidia",
        ),
    ],
)
def test_each_failure_of_the_driver_has_its_command(said: str, command: str) -> None:
    [finding] = ask(with_gpus(smi=Smi.FAILED, cards=(), code=18, said=said))
    assert finding.command == command and said in str(finding.what)


@pytest.mark.parametrize(
    ("sentence", "host", "expected"),
    [
        ("all by their numbers", visible("0,1"), []),
        ("one by its UUID", visible("GPU-b"), []),
        ("a part of a card", visible("MIG-aaaa"), []),
        ("none", visible(""), ["gpus-hidden"]),
        ("none, written as -1", visible("-1"), ["gpus-hidden"]),
        ("a number that is not there", visible("0,2"), ["unknown-visible-device"]),
        ("labels of another machine", visible("6,7"), ["unknown-visible-device"]),
        ("no GPU, a wheel for CPUs", visible("0,1", host=with_wheels(LAPTOP, CPU)), ["visible-devices-without-device"]),
        ("no GPU, no framework known", visible("0,1", host=LAPTOP), ["visible-devices-without-device"]),
        (
            "no GPU, and PyTorch, which counts no entries",
            visible("0", host=with_wheels(LAPTOP, Wheel("torch", "2.13.0+cpu", "CPU"))),
            [],
        ),
        ("no GPU, and nothing is visible", visible("", host=with_wheels(LAPTOP, CPU)), []),
        (
            "XPUs with a wheel for CPUs",
            visible("0,1", "XPU_VISIBLE_DEVICES", with_wheels(LAPTOP, CPU)),
            ["visible-devices-without-device"],
        ),
        (
            "XPUs with their wheel",
            visible("0,1", "XPU_VISIBLE_DEVICES", with_wheels(LAPTOP, Wheel("paddlepaddle-xpu", "3.3.0", "XPU"))),
            [],
        ),
    ],
)
def test_visible_devices(sentence: str, host: Host, expected: list[str]) -> None:
    assert checks(host) == expected, sentence


def test_what_is_said_of_a_number_that_is_not_there() -> None:
    [finding] = ask(visible("2,0"))
    assert (
        str(finding.what)
        == "CUDA_VISIBLE_DEVICES is 2,0, and no GPU here is called 2: there is 0,1; 0 GPUs are visible"
    )
    assert finding.command == "export CUDA_VISIBLE_DEVICES=0,1"


def test_numbers_of_different_cards_need_the_order_of_the_bus() -> None:
    mixed = with_gpus(cards=(TWO_CARDS[0], Card(1, "GPU-cc", "NVIDIA L4", (8, 9))))
    assert checks(visible("1", host=mixed)) == ["gpu-order"]
    assert checks(visible("1", host=mixed, CUDA_DEVICE_ORDER="PCI_BUS_ID")) == []
    assert checks(visible("GPU-cc", host=mixed)) == []


NO_GPUS = replace(LAPTOP, gpus=Gpus())


@pytest.mark.parametrize(
    ("sentence", "host", "expected"),
    [
        ("a wheel for CPUs beside GPUs", with_wheels(NODE, CPU), ["cpu-wheel-on-gpu-machine"]),
        ("a wheel for CPUs where the GPUs are hidden", visible("", host=with_wheels(NODE, CPU)), ["gpus-hidden"]),
        (
            "PyTorch's wheel for CPUs beside GPUs",
            with_wheels(NODE, Wheel("torch", "2.13.0+cpu", "CPU")),
            ["cpu-wheel-on-gpu-machine"],
        ),
        (
            "PaddlePaddle's plug-in for another device",
            with_wheels(NODE, CPU, Wheel("paddle-custom-npu", "3.2.0", "NPU")),
            [],
        ),
        ("a wheel for GPUs without any", with_wheels(NO_GPUS, GPU), ["gpu-wheel-without-gpu"]),
        ("PyPI's PyTorch, which has CUDA everywhere", with_wheels(NO_GPUS, TORCH), []),
        (
            "a PyTorch that was asked for with CUDA",
            with_wheels(NO_GPUS, Wheel("torch", "2.13.0+cu126", "GPU", (12, 6))),
            ["gpu-wheel-without-gpu"],
        ),
        ("both wheels of PaddlePaddle", with_wheels(NODE, CPU, GPU), ["two-paddle-wheels"]),
        ("a driver that is too old for CUDA 12", with_gpus(driver="470.256.02"), ["driver-too-old"]),
        ("the oldest driver for CUDA 12", with_gpus(driver="525.60.13"), []),
        ("an old driver with NVIDIA's compatibility package", with_gpus(driver="470.256.02", is_compatible=True), []),
        (
            "CUDA 13 with a driver for 12",
            with_wheels(NODE, Wheel("torch", "2.15.0", "GPU", (13, 0))),
            ["driver-too-old"],
        ),
        ("a CUDA that nothing tells", with_wheels(NODE, Wheel("paddlepaddle-gpu", "2.6.2", "GPU")), []),
        (
            "a card that CUDA 12.6 does not know",
            with_gpus(cards=(Card(0, "GPU-a", "NVIDIA B200", (10, 0)),), device_files=1),
            ["card-newer-than-wheel"],
        ),
    ],
)
def test_wheels(sentence: str, host: Host, expected: list[str]) -> None:
    assert checks(host) == expected, sentence


def test_an_interpreter_that_is_asked_for_must_have_a_framework() -> None:
    assert checks(with_wheels(LAPTOP), "python3") == ["no-framework"]
    assert checks(with_wheels(LAPTOP)) == []
    broken = replace(LAPTOP, interpreter=Interpreter("/opt/bad/python", error="No module named 'encodings'"))
    assert checks(broken, "/opt/bad/python") == ["interpreter-fails"]
    assert checks(broken) == []


def test_the_command_for_a_cpu_wheel_has_paddles_own_index() -> None:
    [finding] = ask(with_wheels(NODE, CPU))
    assert finding.command == (
        "/opt/venv/bin/python -m pip uninstall -y paddlepaddle && /opt/venv/bin/python -m pip install "
        "paddlepaddle-gpu -i https://www.paddlepaddle.org.cn/packages/stable/cu126/"
    )
    assert TWO_GPUS.cards[0].name in str(finding.what)


@pytest.mark.parametrize(
    ("text", "version"), [("535.104.05", (535, 104, 5)), ("570", (570,)), ("", ()), ("[N/A]", ()), ("550.x", (550,))]
)
def test_versions_of_drivers(text: str, version: tuple[int, ...]) -> None:
    assert read_version(text) == version
