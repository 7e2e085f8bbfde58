"""Wheels by their metadata: folders with a .dist-info, as installers write them, and interpreters that fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.probes.fakes import install
from paddock.doctor.host.values import Wheel
from paddock.doctor.probes.wheels import ask_interpreter, find_interpreter, read_cuda


@pytest.mark.parametrize(
    ("wheel", "requires"),
    [
        (Wheel("paddlepaddle", "3.3.1", "CPU"), ["numpy>=1.21"]),
        (
            Wheel("paddlepaddle-gpu", "3.3.1", "GPU", (12, 6)),
            ["nvidia-cuda-runtime-cu12==12.6.77 ; platform_system == 'Linux'"],
        ),
        (Wheel("paddlepaddle-gpu", "2.2.2.post112", "GPU", (11, 2)), []),
        (Wheel("paddlepaddle-xpu", "3.3.0", "XPU"), []),
        (Wheel("torch", "2.13.0+cpu", "CPU"), []),
        (Wheel("torch", "2.13.0+cu126", "GPU", (12, 6)), ["nvidia-cuda-runtime-cu12==12.6.77"]),
        (
            Wheel("torch", "2.15.0", "GPU", (13, 0)),
            ["typing-extensions", "cuda-toolkit[cublas,cudart]==13.0.2; platform_system == 'Linux'"],
        ),
        (Wheel("torch", "2.13.0", ""), []),
    ],
    ids=lambda value: f"{value.package} {value.version}" if isinstance(value, Wheel) else "",
)
async def test_a_wheel_is_known_by_its_metadata(tmp_path: Path, wheel: Wheel, requires: list[str]) -> None:
    environ = install(tmp_path, wheel.package, wheel.version, *requires)
    told = await ask_interpreter(sys.executable, environ)
    assert (told.wheels, told.error) == ((wheel,), "")
    assert told.version == sys.version.split()[0]


async def test_nothing_of_the_directory_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    told = await ask_interpreter(sys.executable, install(tmp_path, "torch", "2.13.0+cpu"))
    assert [each.package for each in told.wheels] == ["torch"] and told.error == ""


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo 'python: broken link' >&2; exit 127", "python: broken link"),
        ("exit 4", "exit code 4"),
        ("echo hello", "it answered 'hello'"),
        ("echo '[]'", "it answered '[]'"),
    ],
)
async def test_an_interpreter_that_fails_says_so(tmp_path: Path, script: str, error: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert (await ask_interpreter(str(program), {"PATH": "/usr/bin:/bin"})).error == error


def test_the_interpreter_of_the_training(tmp_path: Path) -> None:
    for name in ("venv/bin/python", "bin/python3"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    path = {"PATH": str(tmp_path / "bin")}
    assert find_interpreter("", path) == str(tmp_path / "bin/python3")
    assert find_interpreter("", {**path, "VIRTUAL_ENV": str(tmp_path / "venv")}) == str(tmp_path / "venv/bin/python")
    assert find_interpreter("", {**path, "VIRTUAL_ENV": str(tmp_path / "gone")}) == str(tmp_path / "bin/python3")
    assert find_interpreter("python3", path) == str(tmp_path / "bin/python3")
    assert find_interpreter(str(tmp_path / "venv/bin/python"), path) == str(tmp_path / "venv/bin/python")
    assert find_interpreter("nopython", path) == ""
    assert find_interpreter("", {"PATH": str(tmp_path)}) == ""


@pytest.mark.parametrize(
    ("version", "requires", "cuda"),
    [
        ("2.6.2", [], None),
        ("2.6.2.post120", [], (12, 0)),
        ("3.0.0", ["nvidia-cuda-runtime-cu11 (==11.8.89)"], (11, 8)),
        ("1.0.post1", [], None),
        ("2.13.0+rocm6.4", [], None),
    ],
)
def test_cuda_of_a_wheel(version: str, requires: list[str], cuda: tuple[int, int] | None) -> None:
    assert read_cuda(version, requires) == cuda
