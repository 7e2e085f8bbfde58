"""System libraries that a machine lacks: detected before large downloads, taken from a wheel, loaded by name."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from environments.packages import Index, make_builder, run
from paddock.environments.builder import Builder
from paddock.environments.definition import Definition
from paddock.environments.distributions import LIBGOMP, read_distribution
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.libraries import KNOWN, Catalogue, Provider, find_missing, rename_library
from paddock.environments.progress import Progress
from paddock.environments.uv import Machine

ABSENT = "libq.so"
"""A library that no machine has. Its name is shorter than that of the library used in its place."""
TINY = Definition("tiny", requirements=("tiny==1.0",), verify=f"import ctypes; ctypes.CDLL('{ABSENT}').cos")
PROVIDER = Provider("carrier==1.0", "carrier.libs/libm.so*")
DEBIAN = Machine(read_distribution("ID=debian\nPRETTY_NAME='Debian GNU/Linux 13 (trixie)'"), root=True)


def read_loaded(name: str) -> bytes:
    """The content of a library that this process has loaded."""
    ctypes.CDLL(name)
    maps = Path("/proc/self/maps").read_text().split()
    return Path(next(word for word in maps if Path(word).name.startswith(name.partition(".")[0]))).read_bytes()


def build_with(directory: Path, index: Index, providers: dict[str, Provider]) -> Builder:
    catalogue = Catalogue({"tiny": (ABSENT,)}, providers)
    return replace(make_builder(directory, index.url), libraries=catalogue, machine=DEBIAN)


@pytest.mark.skipif(sys.platform != "linux", reason="shared libraries are Linux's here")
async def test_a_library_that_the_machine_lacks_comes_from_a_wheel(tmp_path: Path, index: Index) -> None:
    """Each Python of the environment loads it, with any LD_LIBRARY_PATH."""
    index.add("tiny")
    index.add("carrier", files={"carrier.libs/libm.so.6": read_loaded("libm.so.6")})
    builder = build_with(tmp_path, index, {ABSENT: PROVIDER})
    built = await builder.build(TINY, lambda progress: None)
    assert "carrier" not in built.packages
    code = f"import ctypes; print(ctypes.CDLL('{ABSENT}').cos is not None)"
    assert await run(f"{built.path}/bin/python", "-c", code, LD_LIBRARY_PATH="/nowhere") == "True\n"
    assert not list(Path(built.path).glob(".fetched"))


@pytest.mark.parametrize("providers", [{}, {ABSENT: Provider("absent==9", "*")}], ids=["no wheel", "not in the index"])
async def test_without_a_wheel_the_error_has_the_install_command_before_packages_are_downloaded(
    tmp_path: Path, index: Index, providers: dict[str, Provider]
) -> None:
    index.add("tiny")
    seen: list[Progress] = []
    with pytest.raises(BuildFailed) as raised:
        await build_with(tmp_path, index, providers).build(TINY, seen.append)
    assert raised.value.message.startswith(f"tiny 1.0 needs the library {ABSENT}, which this machine lacks")
    assert "install the package of Debian GNU/Linux 13 (trixie) that has libq.so" in raised.value.message
    assert raised.value.fault is Fault.MACHINE
    assert "downloading" not in {progress.phase for progress in seen}


async def test_a_library_that_the_interpreter_can_load_is_not_missing() -> None:
    assert await find_missing(Path(sys.executable), ["libc.so.6", ABSENT]) == (ABSENT,)
    assert await find_missing(Path("/nowhere"), []) == ()


def test_renaming_a_library_keeps_its_size() -> None:
    content = b"\x7fELF..libgomp-870cb1d0.so.1.0.0\0rest"
    renamed = rename_library(content, "libgomp-870cb1d0.so.1.0.0", "libgomp.so.1")
    assert len(renamed) == len(content)
    assert b"..libgomp.so.1\0\0" in renamed and renamed.endswith(b"\0rest")
    for name, wanted in (("other.so", "l.so"), ("libgomp-870cb1d0.so.1.0.0", "x" * 60)):
        with pytest.raises(ValueError, match="cannot be called"):
            rename_library(content, name, wanted)


def test_each_library_of_the_catalogue_has_a_provider() -> None:
    assert KNOWN.find_needed(["numpy", "paddlepaddle", "lightgbm"]) == (LIBGOMP,)
    assert {library for libraries in KNOWN.needs.values() for library in libraries} <= KNOWN.providers.keys()
