"""Installs system libraries that packages need and a bare machine lacks: from a wheel, without root.

PaddlePaddle's and LightGBM's wheels need GCC's OpenMP runtime (libgomp.so.1) from the machine. Other wheels contain it
under another name (auditwheel: `libgomp-<hash>.so.1.0.0`). Such a wheel is downloaded, and its library is put into the
environment under the system's name. Every Python of the environment loads it at start, so that the loader finds it
loaded when a package needs it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.distributions import LIBGOMP
from paddock.environments.failures import BuildFailed, Fault, root_cause
from paddock.environments.terminal import read_output
from paddock.environments.uv import Machine, UvRuns
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Provider:
    """A wheel that contains a library. `files`: its glob pattern below site-packages."""

    requirement: str
    files: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Which package needs which library of the machine."""

    needs: Mapping[str, tuple[str, ...]]  # package -> libraries that it loads from the machine
    providers: Mapping[str, Provider]  # library -> a wheel with it

    def find_needed(self, packages: Iterable[str]) -> tuple[str, ...]:
        """The libraries that these packages load from the machine."""
        return tuple(dict.fromkeys(library for package in packages for library in self.needs.get(package, ())))


KNOWN = Catalogue(
    needs={"paddlepaddle": (LIBGOMP,), "paddlepaddle-gpu": (LIBGOMP,), "lightgbm": (LIBGOMP,)},
    # 0.5 MB, for this one file; scikit-learn contains the same library in 9 MB.
    providers={LIBGOMP: Provider("pykdtree==1.4.3", "pykdtree.libs/libgomp-*.so*")},
)

_PROBE = """
import ctypes, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        print(name)
"""
_PACKAGE = "paddock_libraries"
_LOADER = '''"""Loads the libraries beside it before a package asks for them: the machine lacks them (Paddock)."""
import ctypes
import os

_here = os.path.dirname(__file__)
for _name in sorted(os.listdir(_here)):
    if ".so" in _name:
        ctypes.CDLL(os.path.join(_here, _name))
'''


def rename_library(content: bytes, name: str, wanted: str) -> bytes:
    """The shared library with `wanted` as its SONAME, in place of the longer `name`. Pure.

    Raises `ValueError` if `name` is not in the file.
    """
    # The loader identifies a loaded library by its SONAME. Zeros fill it up, as the file must keep its size.
    old = name.encode() + b"\0"
    if len(wanted) > len(name) or old not in content:
        said = phrase("{name} does not call itself so, and cannot be called {wanted}", name=name, wanted=wanted)
        raise ValueError(str(said))
    return content.replace(old, wanted.encode().ljust(len(old), b"\0"))


def explain_missing(library: str, subject: str, why: str, machine: Machine) -> Phrase:
    """The sentence for a library that neither the machine nor a downloaded wheel has. Pure."""
    return phrase(
        "{subject} needs the library {library}, which this machine lacks, and no wheel with it was fetched ({why}): "
        "{remedy}",
        subject=subject, library=library, why=why, remedy=machine.explain_install(library),
    )  # fmt: skip


async def find_missing(python: Path, libraries: Sequence[str]) -> tuple[str, ...]:
    """The libraries that this interpreter cannot load."""
    if not libraries:
        return ()
    # Pods have their own LD_LIBRARY_PATH, so a library that only ours finds is missing.
    environ = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    output = await read_output([str(python), "-I", "-c", _PROBE, *libraries], environ)
    return tuple(output.decode().split())


async def add_libraries(
    runs: UvRuns, directory: Path, libraries: Sequence[str], providers: Mapping[str, Provider]
) -> None:
    """Adds the libraries to the environment in `directory`. Raises `BuildFailed` with the install command."""
    for library in libraries:
        try:
            await _add(runs, directory, library, providers.get(library))
        except (BuildFailed, ValueError) as error:
            why = root_cause(runs.log[-1]) if isinstance(error, BuildFailed) else str(error)
            said = explain_missing(library, runs.definition.subject, why, runs.uv.machine)
            raise BuildFailed(said, Fault.MACHINE) from error


async def _add(runs: UvRuns, directory: Path, library: str, provider: Provider | None) -> None:
    if provider is None:
        raise ValueError(str(phrase("none is known")))
    fetched = directory / ".fetched"
    # The library is the same in the wheels of every Python version; wheels for 3.12 exist.
    await runs.run("pip", "install", "--python", str(directory / "bin/python"), "--python-version", "3.12", "--no-deps",
                   "--only-binary", ":all:", "--target", str(fetched), provider.requirement)  # fmt: skip
    file = next(iter(sorted(fetched.glob(provider.files))), None)
    if file is None:
        raise ValueError(str(phrase("{package} brings none", package=provider.requirement)))
    site = next((directory / "lib").glob("python*/site-packages"))
    package = site / _PACKAGE
    package.mkdir(exist_ok=True)
    (package / library).write_bytes(rename_library(file.read_bytes(), file.name, library))
    (package / "__init__.py").write_text(_LOADER)
    # LD_LIBRARY_PATH instead of a .pth file would not do: a manifest that sets its own would hide the library.
    (site / f"{_PACKAGE}.pth").write_text(f"import {_PACKAGE}\n")
    shutil.rmtree(fetched)
