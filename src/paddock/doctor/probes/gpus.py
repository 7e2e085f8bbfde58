"""The GPUs of this machine: what nvidia-smi, the PCI bus and the files of the driver say."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from paddock.doctor.host.gpus import SMI_PATIENCE
from paddock.doctor.host.values import Card, Gpus, Smi
from paddock.doctor.probes.programs import ask_program

_FIELDS: tuple[str, ...] = ("index", "uuid", "driver_version", "compute_mode", "compute_cap", "name")
"""The name stands last: it may contain anything. Drivers before 510 do not know compute_cap."""
_NVIDIA = "0x10de"
_CLASSES = ("0x0300", "0x0302")
"""Of the PCI bus: VGA and 3D controllers."""


async def find_gpus(environ: Mapping[str, str], root: Path = Path("/"), *, patience: float = SMI_PATIENCE) -> Gpus:
    on_bus, files = _count_cards(root), len(list((root / "dev").glob("nvidia[0-9]*")))
    compatible = any((root / "usr/local").glob("cuda*/compat/libcuda.so*"))
    program = shutil.which("nvidia-smi", path=environ.get("PATH"))
    if program is None:
        return Gpus(on_bus=on_bus, device_files=files, is_compatible=compatible)
    fields = _FIELDS
    try:
        code, said = await _ask(program, fields, environ, patience)
        if code and "compute_cap" in said:
            fields = tuple(each for each in _FIELDS if each != "compute_cap")
            code, said = await _ask(program, fields, environ, patience)
    except TimeoutError:
        return Gpus(Smi.SILENT, on_bus=on_bus, device_files=files)
    except OSError as error:
        return Gpus(Smi.FAILED, error.strerror or str(error), 126, on_bus=on_bus, device_files=files)
    cards, driver = read_cards(said, fields)
    # "No devices were found" is exit code 6.
    state = Smi.FAILED if code else Smi.WELL
    first = next((line.strip() for line in said.splitlines() if line.strip()), "") if code else ""
    return Gpus(state, first, code, driver, cards, on_bus, files, compatible)


async def _ask(program: str, fields: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> tuple[int, str]:
    """Its exit code, and what it said: failures are told on standard output, and by some drivers on the other one."""
    words = (program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    said = await ask_program(*words, environ=environ, seconds=seconds)
    return said.code, said.out + said.error


def read_cards(text: str, fields: tuple[str, ...] = _FIELDS) -> tuple[tuple[Card, ...], str]:
    """The cards in nvidia-smi's CSV, and the version of the driver; other lines are skipped."""
    cards, driver = [], ""
    for line in text.splitlines():
        parts = [each.strip() for each in line.split(",", len(fields) - 1)]
        row = dict(zip(fields, parts, strict=False))
        if len(parts) < len(fields) or not row["index"].isdecimal():
            continue
        driver = row["driver_version"]
        capability = _read_capability(row.get("compute_cap", ""))
        cards.append(Card(int(row["index"]), row["uuid"], row["name"], capability, row["compute_mode"]))
    return tuple(cards), driver


def _read_capability(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None


def _count_cards(root: Path) -> int:
    count = 0
    for path in (root / "sys/bus/pci/devices").glob("*"):
        try:
            vendor, kind = (path / "vendor").read_text().strip(), (path / "class").read_text().strip()
        except OSError:
            continue
        count += vendor == _NVIDIA and kind.startswith(_CLASSES)
    return count
