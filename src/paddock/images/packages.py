"""The packages of a requirements file for the Python and the machines of an image, as files of a layer. I/O.

uv installs into a folder (`uv pip install --target`) that has the metadata of the base image's packages, so that it
leaves in place what the image has already, as pip does, and installs anew only what clashes. Nothing is compiled: this
machine is another one than the nodes.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paddock.environments.definition import Definition
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.progress import Progress, Screen, TransferRate, build_progress, read_screen
from paddock.environments.pythons import Python
from paddock.environments.requirement_files import Requirements
from paddock.environments.requirement_inputs import write_inputs
from paddock.environments.uv import Uv, UvRuns
from paddock.images.contents import Package
from paddock.images.errors import ImageError
from paddock.images.layers import Entry
from paddock.images.package_failures import explain_packages
from paddock.images.platforms import Wheels
from paddock.words.phrases import phrase

PLACE = "paddock/packages"
"""In the image, without a slash at its begin."""
_FROM_IMAGE = "base image\n"
"""INSTALLER of the metadata that the folder begins with."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is installed, and for what."""

    requirements: Requirements
    file: str
    """The file's name, for sentences."""
    python: str
    """`3.11`."""
    wheels: Wheels
    there: tuple[Package, ...] = field(default=(), repr=False)
    """What the base image has."""

    @property
    def definition(self) -> Definition:
        return Definition(
            self.file, requirements=tuple(self.requirements.packages), index_url=self.requirements.index_url,
            extra_index_urls=tuple(self.requirements.extra_index_urls), options=tuple(self.requirements.options),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Installed:
    """What uv has done."""

    entries: tuple[Entry, ...]
    """The files of the layer."""
    names: tuple[str, ...]
    """`numpy 2.1.0`: what was installed, sorted."""
    replaced: tuple[str, ...]
    """`numpy 1.26.4`: what of the base image another version hides."""


async def install(wanted: Wanted, folder: Path, uv: Uv, report: Callable[[Progress], None]) -> Installed:
    """Installs into `folder`, which is new and empty. Raises `ImageError`, OSError."""
    if not uv.program:
        raise ImageError(phrase("uv is missing, which installs the packages: pip install uv"))
    if not wanted.wheels.uv:
        raise ImageError(
            phrase("packages for {platform} are not known to uv: name nodes of another architecture by the job's "
                   "nodeSelector, or put the packages into the base image", platform=str(wanted.wheels.platform)),
            is_mistake=True,
        )  # fmt: skip
    for package in wanted.there:
        _lay_out(package, folder)
    major, _, minor = wanted.python.partition(".")
    runs = UvRuns(uv, wanted.definition, Python(Path(sys.executable), (int(major), int(minor))), report)
    try:
        with tempfile.TemporaryDirectory(prefix="paddock-requirements-") as inputs:
            words = build_words(wanted, folder, write_inputs(Path(inputs), wanted.definition))
            await runs.run(*words, on_text=_Watched(wanted.definition.subject, report).add)
    except BuildFailed as error:
        said = explain_packages(
            runs.log[-1], wanted.file, wanted.requirements.packages, wanted.python, wanted.wheels, error.message
        )
        raise ImageError(said, is_mistake=error.fault is Fault.DEFINITION) from error
    return read_installed(wanted, folder)


def build_words(wanted: Wanted, folder: Path, inputs: Sequence[str]) -> list[str]:
    """uv's arguments. `inputs`: as of `write_inputs`. Pure."""
    return [
        "pip", "install", "--target", str(folder), "--python", sys.executable, "--python-version", wanted.python,
        "--python-platform", wanted.wheels.uv, "--no-build", "--link-mode", "copy", "--no-compile-bytecode",
        *inputs[:-1], "-r", inputs[-1],
    ]  # fmt: skip


class _Watched:
    """What uv shows, as progress."""

    def __init__(self, subject: str, report: Callable[[Progress], None]) -> None:
        self._screen, self._rate, self._subject, self._report = Screen(), TransferRate(), subject, report

    def add(self, text: str) -> None:
        import time

        self._screen = read_screen(self._screen, text)
        speed = self._rate.add(time.monotonic(), self._screen.bytes[0])
        self._report(build_progress(self._screen, self._subject, {}, speed))


def _lay_out(package: Package, folder: Path) -> None:
    """The metadata alone, as uv finds it of an installed package."""
    name = re.sub(r"[^\w.]+", "_", package.name)
    place = folder / f"{name}-{re.sub(r'[^A-Za-z0-9.+!_]', '_', package.version)}.dist-info"
    if place.exists():
        return
    place.mkdir()
    (place / "METADATA").write_text(package.metadata, encoding="utf-8")
    (place / "INSTALLER").write_text(_FROM_IMAGE)
    files = ("METADATA", "INSTALLER", "RECORD")
    (place / "RECORD").write_text("".join(f"{place.name}/{file},,\n" for file in files))


def read_installed(wanted: Wanted, folder: Path) -> Installed:
    """What is in the folder that the base image does not have. The metadata of what it has is removed."""
    left = set()
    for installer in folder.glob("*.dist-info/INSTALLER"):
        if installer.read_text() == _FROM_IMAGE:
            left.add(_read_label(installer.parent))
            shutil.rmtree(installer.parent)
    names = sorted(_read_label(each) for each in folder.glob("*.dist-info"))
    replaced = sorted(label for each in wanted.there if (label := f"{each.name} {each.version}") not in left)
    return Installed(tuple(_list(folder, sys.executable)), tuple(names), tuple(replaced))


def _read_label(directory: Path) -> str:
    head = (directory / "METADATA").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    fields = dict(re.findall(r"^(Name|Version):\s*(\S+)", head, re.MULTILINE))
    return f"{re.sub(r'[-_.]+', '-', fields.get('Name', '')).lower()} {fields.get('Version', '')}"


def _list(folder: Path, python: str) -> Iterator[Entry]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" in path.parts or name == ".lock" or path.name in ("direct_url.json", "uv_cache.json"):
            continue  # they have paths and times of this machine
        if path.is_symlink():
            yield Entry(f"{PLACE}/{name}", link=str(path.readlink()))
        elif path.is_file():
            executable = bool(path.stat().st_mode & 0o100)
            if name.startswith("bin/") and (content := start_by_name(path.read_bytes(), python)) is not None:
                yield Entry(f"{PLACE}/{name}", content=content, executable=executable)
            else:
                yield Entry(f"{PLACE}/{name}", source=path, executable=executable)


def start_by_name(script: bytes, python: str) -> bytes | None:
    """A program that names this machine's interpreter, begun anew by the image's; None for any other. Pure.

    uv writes `#!PYTHON`, and where that is too long or has a space, a text that sh and Python both read."""
    named = re.escape(python.encode())
    head = re.compile(rb"#!\s*" + named + rb"[^\n]*\n|#!/bin/sh\n'''exec' [\"']?" + named + rb"[^\n]*\n' '''\n")
    match = head.match(script)
    return b"#!/usr/bin/env python3\n" + script[match.end() :] if match else None


def describe(names: Sequence[str]) -> str:
    """`numpy 2.1.0, pandas 2.2.0 and 12 more`, in the history of the image."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
