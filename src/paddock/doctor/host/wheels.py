"""The wheel of a framework against the devices and the driver of this machine.

Source: NVIDIA's release notes of the CUDA toolkit ("minor version compatibility", and compute capabilities), for CUDA
11, 12 and 13. No GPU was there to try them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.gpus import VISIBLE, count_visible
from paddock.doctor.host.values import Asked, Host, Smi, Wheel
from paddock.environments.packages.devices import DEVICES
from paddock.words.phrases import Names, phrase

OLDEST_DRIVER: Mapping[int, tuple[int, ...]] = {11: (450, 80, 2), 12: (525, 60, 13), 13: (580, 65, 6)}
FIRST_CUDA: Mapping[tuple[int, int], tuple[int, int]] = {
    (8, 0): (11, 0),
    (8, 6): (11, 1),
    (8, 9): (11, 8),
    (9, 0): (11, 8),
    (10, 0): (12, 8),
    (12, 0): (12, 8),
}
"""From which CUDA on a compute capability is known: A100, RTX 30, RTX 40, H100 and H200, B200, RTX 50."""
_PADDLES = tuple(
    dict.fromkeys(each for device in DEVICES for each in device.packages if each.startswith("paddlepaddle"))
)


def judge_wheels(host: Host, asked: Asked) -> Iterator[Finding]:
    python = host.interpreter
    if python.error and asked.interpreter:
        yield Finding(
            "interpreter-fails",
            Severity.WRONG,
            python.path,
            phrase("{python} does not tell its packages: {error}", python=python.path, error=python.error),
            phrase("training starts with this interpreter, and would fail as it does"),
            phrase("name another one, or make its environment anew"),
            f"{python.path} --version",
        )
        return
    if asked.interpreter and not python.wheels:
        yield Finding(
            "no-framework",
            Severity.WRONG,
            python.path,
            phrase("{python} has neither PaddlePaddle nor PyTorch", python=python.path),
            phrase("the training ends as it imports one of them"),
            phrase("install one for this interpreter, or name the interpreter of the right environment"),
            f"{python.path} -m pip install paddlepaddle",
        )
    yield from _judge_twice(host)
    for wheel in python.wheels:
        yield from _judge_wheel(host, wheel)


def _judge_twice(host: Host) -> Iterator[Finding]:
    """Wheels for different devices install the same files: the last one wins in part."""
    found = [each.package for each in host.interpreter.wheels if each.package in _PADDLES]
    if len(found) > 1:
        python = host.interpreter.path
        yield Finding(
            "two-paddle-wheels",
            Severity.WRONG,
            python,
            phrase("{python} has {packages} at the same time", python=python, packages=Names(tuple(found))),
            phrase("both install the same folder, paddle: which files are of which is chance, and so is the device"),
            phrase("remove all of them, then install the one that is wanted"),
            f"{python} -m pip uninstall -y {' '.join(found)}",
        )


def _judge_wheel(host: Host, wheel: Wheel) -> Iterator[Finding]:
    gpus = host.gpus
    if wheel.device == "CPU" and count_visible(host) and not _has_other(host, wheel):
        yield _explain_cpu_wheel(host, wheel)
    if wheel.device != "GPU":
        return
    if not gpus.cards and not gpus.device_files and not gpus.on_bus and gpus.smi is Smi.MISSING:
        if wheel.package in _PADDLES or "+cu" in wheel.version:
            yield _explain_no_gpu(host, wheel)
        return
    if not gpus.cards or wheel.cuda is None:
        return
    oldest = OLDEST_DRIVER.get(wheel.cuda[0])
    if oldest and gpus.driver and read_version(gpus.driver) < oldest and not gpus.is_compatible:
        yield _explain_old_driver(host, wheel, oldest)
    yield from _judge_cards(host, wheel)


def read_version(text: str) -> tuple[int, ...]:
    """`535.104.05` -> (535, 104, 5); it ends at the first part that is no number."""
    numbers: list[int] = []
    for part in text.split("."):
        if not (part.isascii() and part.isdecimal()):
            break
        numbers.append(int(part))
    return tuple(numbers)


def _has_other(host: Host, wheel: Wheel) -> bool:
    """Whether a wheel of the same framework for devices, or PaddlePaddle's plug-in for one, is there too."""
    return any(
        each is not wheel and each.device not in ("CPU", "") and each.package.startswith("paddle")
        for each in host.interpreter.wheels
        if wheel.package.startswith("paddle")
    )


def _explain_cpu_wheel(host: Host, wheel: Wheel) -> Finding:
    python, cards = host.interpreter.path, host.gpus.cards
    index = next((each.index for each in DEVICES if each.name == "GPU"), None)
    command = (
        f"{python} -m pip uninstall -y {wheel.package} && {python} -m pip install paddlepaddle-gpu -i {index}"
        if wheel.package in _PADDLES
        else f"{python} -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126"
    )
    return Finding(
        "cpu-wheel-on-gpu-machine",
        Severity.WRONG,
        python,
        phrase(
            "{package} {version} is a wheel for CPUs, and this machine has {count} visible GPUs ({name})",
            package=wheel.package,
            version=wheel.version,
            count=count_visible(host),
            name=cards[0].name,
        ),
        phrase(
            "training runs on the CPU; with {variable} set, PaddlePaddle's launch starts one rank for each entry, "
            "which "
            "make no group",
            variable=VISIBLE,
        ),
        phrase("install the wheel for GPUs, or hide the GPUs if the CPU is meant: export CUDA_VISIBLE_DEVICES="),
        command,
    )


def _explain_no_gpu(host: Host, wheel: Wheel) -> Finding:
    python = host.interpreter.path
    return Finding(
        "gpu-wheel-without-gpu",
        Severity.RISK,
        python,
        phrase(
            "{package} {version} is a wheel for GPUs, and this machine has none",
            package=wheel.package,
            version=wheel.version,
        ),
        phrase(
            "training runs on the CPU at best; what names a GPU fails, and some versions do not start without a driver"
        ),
        phrase("install the wheel for CPUs, or train on a machine with GPUs"),
        f"{python} -m pip uninstall -y {wheel.package} && {python} -m pip install paddlepaddle"
        if wheel.package in _PADDLES
        else f"{python} -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cpu",
    )


def _explain_old_driver(host: Host, wheel: Wheel, oldest: tuple[int, ...]) -> Finding:
    assert wheel.cuda is not None
    return Finding(
        "driver-too-old",
        Severity.WRONG,
        host.interpreter.path,
        phrase(
            "{package} {version} has CUDA {cuda}, which needs driver {oldest} or later, and this machine has {driver}",
            package=wheel.package,
            version=wheel.version,
            cuda=_dotted(wheel.cuda),
            oldest=_driver(oldest),
            driver=host.gpus.driver,
        ),
        phrase("CUDA does not start: “CUDA driver version is insufficient for CUDA runtime version”"),
        phrase("renew the driver, or install a wheel of an older CUDA"),
        "nvidia-smi",
    )


def _judge_cards(host: Host, wheel: Wheel) -> Iterator[Finding]:
    """A card of which no wheel of this CUDA can have code. The table's last row before a card's capability counts."""
    for card in host.gpus.cards:
        first = FIRST_CUDA.get(card.capability) if card.capability else None
        if first and wheel.cuda and wheel.cuda < first:
            yield Finding(
                "card-newer-than-wheel",
                Severity.RISK,
                host.interpreter.path,
                phrase(
                    "{card} is known to CUDA {first} and later, and {package} {version} has CUDA {cuda}",
                    card=card.name,
                    first=_dotted(first),
                    package=wheel.package,
                    version=wheel.version,
                    cuda=_dotted(wheel.cuda),
                ),
                phrase("programs end with “no kernel image is available”, or compile for minutes at each start"),
                phrase("install a wheel of a newer CUDA"),
                "nvidia-smi --query-gpu=name,compute_cap --format=csv",
            )
            return


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _driver(version: tuple[int, ...]) -> str:
    return ".".join(f"{each:02d}" for each in version)
