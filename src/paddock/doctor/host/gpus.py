"""GPUs: whether the driver answers, and what the variables of visible devices leave of them.

CUDA_VISIBLE_DEVICES is read as CUDA does: indices or beginnings of UUIDs, and the first entry that names no GPU ends
the list (CUDA C++ programming guide, environment variables).
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.values import Asked, Card, Host, Smi
from paddock.environments.packages.devices import DEVICES, Device
from paddock.words.phrases import Foreign, Names, counted, phrase

VISIBLE = "CUDA_VISIBLE_DEVICES"
SMI_PATIENCE = 15
"""Seconds. Without NVIDIA's persistence daemon, nvidia-smi needs most of them for eight GPUs."""
_READ = ("GPU", "XPU")
"""Devices whose variables launch reads, also with a wheel for CPUs (run: 3.0.0, 3.3.1)."""


def match_visible(host: Host) -> tuple[tuple[Card, ...], str]:
    """The visible GPUs, and the first entry that names none ('' if all do)."""
    cards, value = host.gpus.cards, host.environ.get(VISIBLE)
    if value is None:
        return cards, ""
    seen: list[Card] = []
    for entry in (each.strip() for each in value.split(",")):
        if entry.startswith("MIG-"):
            return cards, ""  # a part of a card: nvidia-smi's query does not list them
        found = [each for each in cards if _matches(entry, each)]
        if len(found) != 1:
            return tuple(seen), entry
        seen += [each for each in found if each not in seen]
    return tuple(seen), ""


def _matches(entry: str, card: Card) -> bool:
    return entry == str(card.index) or (entry.startswith("GPU-") and card.uuid.startswith(entry))


def count_visible(host: Host) -> int:
    return len(match_visible(host)[0])


def judge_gpus(host: Host, asked: Asked) -> Iterator[Finding]:
    gpus = host.gpus
    if gpus.smi is Smi.FAILED and _has_card(host):
        yield _explain_failure(host)
    elif gpus.smi is Smi.SILENT:
        yield Finding(
            "nvidia-smi-silent",
            Severity.WRONG,
            "nvidia-smi",
            phrase("nvidia-smi was asked for the GPUs, and did not answer within {seconds} s", seconds=SMI_PATIENCE),
            phrase("the driver hangs, mostly after a GPU fell off the bus: programs that use any of the GPUs hang too"),
            phrase("look for Xid lines of the driver, and boot the machine again"),
            "sudo dmesg | grep -iE 'nvrm|xid' | tail",
        )
    elif not gpus.cards and gpus.on_bus and not gpus.device_files:
        yield _explain_no_driver(host)
    elif gpus.smi is Smi.WELL and gpus.device_files > len(gpus.cards):
        yield Finding(
            "gpu-missing",
            Severity.WRONG,
            "nvidia-smi",
            phrase(
                "nvidia-smi lists {listed} GPUs, and this machine has device files of {files}",
                listed=len(gpus.cards),
                files=gpus.device_files,
            ),
            phrase("a GPU that is not listed cannot be used: the others get other numbers, and ranks have none"),
            phrase("look for Xid lines of the driver, and boot the machine again"),
            "sudo dmesg | grep -iE 'nvrm|xid' | tail",
        )
    yield from _judge_modes(host)
    yield from _judge_visible(host)


def _has_card(host: Host) -> bool:
    """Whether GPUs are to be expected; images with NVIDIA's programs also run where there is none."""
    gpus = host.gpus
    return bool(gpus.on_bus or gpus.device_files)


def _explain_failure(host: Host) -> Finding:
    gpus = host.gpus
    mismatch = "mismatch" in gpus.said
    return Finding(
        "nvidia-smi-fails",
        Severity.WRONG,
        "nvidia-smi",
        phrase("nvidia-smi ends with exit code {code}: {said}", code=gpus.code, said=Foreign(gpus.said)),
        phrase("programs find no GPU as long as the driver does not answer: PaddlePaddle and PyTorch train on the CPU"),
        phrase("the driver was renewed while it ran: boot the machine, or load the driver's modules again")
        if mismatch
        else phrase("load the driver, or install it for the kernel that runs; a container takes --gpus all"),
        "sudo reboot" if mismatch else "lsmod | grep nvidia || sudo modprobe nvidia",
    )


def _explain_no_driver(host: Host) -> Finding:
    wants = any(each.device == "GPU" for each in host.interpreter.wheels)
    return Finding(
        "gpu-without-driver",
        Severity.WRONG if wants else Severity.RISK,
        "this machine",
        phrase(
            "NVIDIA's cards on the bus: {count}; no driver offers them: there is no /dev/nvidia0",
            count=host.gpus.on_bus,
        ),
        phrase("programs find no GPU: PaddlePaddle and PyTorch train on the CPU"),
        phrase("give the container the GPUs of its machine")
        if host.container
        else phrase("install NVIDIA's driver for the kernel that runs"),
        "docker run --gpus all …" if host.container == "docker" else "lspci -nnk -d 10de:",
    )


def _judge_modes(host: Host) -> Iterator[Finding]:
    closed = [str(each.index) for each in host.gpus.cards if each.mode == "Prohibited"]
    if closed:
        yield Finding(
            "gpu-prohibited",
            Severity.WRONG,
            "nvidia-smi",
            phrase("the compute mode of GPU {indices} is Prohibited", indices=Names(tuple(closed))),
            phrase("no program may compute on it: CUDA answers that the device is busy or unavailable"),
            phrase("set the mode back"),
            f"sudo nvidia-smi -i {','.join(closed)} -c DEFAULT",
        )
    value = host.environ.get(VISIBLE, "")
    mixed = len({each.name for each in host.gpus.cards}) > 1
    if mixed and value and not value.startswith("GPU-") and host.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        yield Finding(
            "gpu-order",
            Severity.RISK,
            VISIBLE,
            phrase(
                "the GPUs differ ({names}), and {variable} is {value} without CUDA_DEVICE_ORDER",
                names=Names(tuple(dict.fromkeys(each.name for each in host.gpus.cards))),
                variable=VISIBLE,
                value=value,
            ),
            phrase("CUDA numbers the fastest first, nvidia-smi by the bus: the numbers mean other cards than it shows"),
            phrase("let CUDA number them as nvidia-smi does"),
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )


def _judge_visible(host: Host) -> Iterator[Finding]:
    value = host.environ.get(VISIBLE)
    seen, stray = match_visible(host)
    every = ",".join(str(each.index) for each in host.gpus.cards)
    if host.gpus.cards and value is not None and value.strip() in ("", "-1", "NoDevFiles"):
        yield Finding(
            "gpus-hidden",
            Severity.RISK,
            VISIBLE,
            counted(
                "{variable} is “{value}”, which hides the one GPU",
                "{variable} is “{value}”, which hides all {count} GPUs",
                variable=VISIBLE,
                value=value,
                count=len(host.gpus.cards),
            ),
            phrase("PaddlePaddle and PyTorch train on the CPU without a warning"),
            phrase("remove the variable, or name the GPUs that shall be used"),
            f"unset {VISIBLE}",
        )
    elif host.gpus.cards and stray:
        yield Finding(
            "unknown-visible-device",
            Severity.WRONG,
            VISIBLE,
            counted(
                "{variable} is {value}, and no GPU here is called {entry}: there is {known}; {count} GPU is visible",
                "{variable} is {value}, and no GPU here is called {entry}: there is {known}; {count} GPUs are visible",
                variable=VISIBLE,
                value=value or "",
                entry=stray or "“”",
                known=every,
                count=len(seen),
            ),
            phrase(
                "CUDA leaves out the first entry that it does not know and all that follow it: there are fewer ranks "
                "than "
                "were asked for, or launch ends with “Device not found”"
            ),
            phrase("name GPUs that nvidia-smi lists"),
            f"export {VISIBLE}={every}",
        )
    elif not host.gpus.cards and host.gpus.smi is not Smi.SILENT and not _has_card(host):
        yield from _judge_without(host)


def _judge_without(host: Host) -> Iterator[Finding]:
    """Launch counts the entries of the variable, whatever the machine has, and starts as many ranks (run)."""
    for device in DEVICES:
        value = host.environ.get(device.variable, "").strip() if device.name in _READ else ""
        if value in ("", "-1", "none", "void") or _may_have(host, device):
            continue
        yield Finding(
            "visible-devices-without-device",
            Severity.WRONG,
            device.variable,
            phrase(
                "{variable} is {value}, and nothing here offers a {device}",
                variable=device.variable,
                value=value,
                device=device.name,
            ),
            phrase(
                "PaddlePaddle's launch starts one rank for each entry, and none of them finds its device; they make no "
                "group: the first all_reduce fails, or each trains alone"
            ),
            phrase("remove the variable"),
            f"unset {device.variable}",
        )


def _may_have(host: Host, device: Device) -> bool:
    """GPUs are seen by their driver; of other devices only the wheel is known. PyTorch alone counts no entries."""
    paddles = [each.device for each in host.interpreter.wheels if each.package.startswith("paddle")]
    if host.interpreter.wheels and not paddles:
        return True
    if device.name == "GPU":
        return host.gpus.device_files > 0
    return device.name in paddles or not paddles
