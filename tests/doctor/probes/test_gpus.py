"""nvidia-smi as real drivers answer it: programs that print what they print, with their exit codes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.probes.fakes import write_program
from paddock.doctor.host.values import Card, Gpus, Smi
from paddock.doctor.probes.gpus import find_gpus, read_cards
from support.waiting import until

H200 = "0, GPU-8f3c0a11-0000-0000-0000-000000000000, 570.86.15, Default, 9.0, NVIDIA H200"
GB10 = "1, GPU-8f77d7ab-0000-0000-0000-000000000000, 570.86.15, Exclusive_Process, [N/A], NVIDIA GB10, rev 2"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running."
)


async def find(directory: Path, script: str, **more: float) -> Gpus:
    root = directory / "root"
    root.mkdir(exist_ok=True)
    return await find_gpus(write_program(directory, script), root, **more)


async def test_cards_are_read_whatever_their_name_contains(tmp_path: Path) -> None:
    gpus = await find(tmp_path, f"cat <<'END'\n{H200}\n{GB10}\nEND")
    assert (gpus.smi, gpus.driver) == (Smi.WELL, "570.86.15")
    assert gpus.cards == (
        Card(0, "GPU-8f3c0a11-0000-0000-0000-000000000000", "NVIDIA H200", (9, 0)),
        Card(1, "GPU-8f77d7ab-0000-0000-0000-000000000000", "NVIDIA GB10, rev 2", None, "Exclusive_Process"),
    )


async def test_an_old_driver_is_asked_again_without_what_it_does_not_know(tmp_path: Path) -> None:
    script = """case "$*" in
*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
esac
echo '0, GPU-aa, 470.256.02, Default, Tesla V100-SXM2-32GB'"""
    gpus = await find(tmp_path, script)
    assert gpus.smi is Smi.WELL
    assert gpus.cards == (Card(0, "GPU-aa", "Tesla V100-SXM2-32GB", None),)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (f'echo "{NO_DRIVER}"; exit 9', 9, NO_DRIVER),
        (
            "echo 'Failed to initialize NVML: Driver/library version mismatch'; echo 'NVML library version: 560.35'; "
            "exit 18",
            18,
            "Failed to initialize NVML: Driver/library version mismatch",
        ),
        ("echo 'No devices were found'; exit 6", 6, "No devices were found"),
        (
            "echo 'nvidia-smi: error while loading shared libraries' >&2; exit 127",
            127,
            "nvidia-smi: error while loading shared libraries",
        ),
        ("exit 3", 3, ""),
    ],
)
async def test_a_failure_is_kept_as_it_was_said(tmp_path: Path, script: str, code: int, said: str) -> None:
    gpus = await find(tmp_path, script)
    assert (gpus.smi, gpus.code, gpus.said, gpus.cards) == (Smi.FAILED, code, said, ())


async def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    started = time.monotonic()
    gpus = await find(tmp_path, f"sleep 60 & echo $! > {tmp_path}/child; wait", patience=3.0)  # in which it has begun
    assert gpus.smi is Smi.SILENT
    assert time.monotonic() - started < 30, "its child sleeps for a minute"
    child = int((tmp_path / "child").read_text())

    def has_ended() -> bool:
        try:
            return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    await until(has_ended, 30)  # it was killed, and on a busy machine it ends a moment later


async def test_one_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    environ = write_program(tmp_path, "")
    (tmp_path / "nvidia-smi").write_bytes(b"\x7fELF-of-another-machine")
    assert (await find_gpus(environ, tmp_path / "none")).smi is Smi.FAILED


async def test_cards_on_the_bus_and_files_of_the_driver_are_counted(tmp_path: Path) -> None:
    rows = {
        "01": ("0x10de", "0x030200"),
        "02": ("0x10de", "0x040300"),
        "03": ("0x8086", "0x030000"),
        "04": ("0x10de", "0x030000"),
    }
    for name, (vendor, kind) in rows.items():
        device = tmp_path / f"sys/bus/pci/devices/0000:{name}:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    (tmp_path / "usr/local/cuda-12.6/compat").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-12.6/compat/libcuda.so.1").touch()
    gpus = await find_gpus({"PATH": str(tmp_path)}, tmp_path)
    assert gpus == Gpus(Smi.MISSING, on_bus=2, device_files=1, is_compatible=True)


@pytest.mark.parametrize("text", ["", "garbage", "0, GPU-aa", "x, GPU-aa, 1, Default, 9.0, name"])
def test_other_lines_are_no_cards(text: str) -> None:
    assert read_cards(text) == ((), "")
