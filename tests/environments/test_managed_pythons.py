"""Interpreters that the packages have wheels for: a real uv downloads them from a mirror on loopback."""

from __future__ import annotations

import io
import json
import platform
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from environments.packages import Index, make_builder
from paddock.environments.builder import Builder
from paddock.environments.definition import Definition
from paddock.environments.distributions import read_distribution
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.managed_pythons import Download, choose_download, explain_remedy
from paddock.environments.progress import Progress
from paddock.environments.pythons import Python, running_python
from paddock.environments.uv import Machine

RUNNING = running_python()
TINY = Definition("tiny", requirements=("tiny==1.0",), verify="import tiny", python=f"=={RUNNING.short}.*")


SETTINGS = b"# system configuration generated and used by the sysconfig module\nbuild_time_vars = {}\n"
"""The content of a file into which uv writes its own paths."""


def make_archive(python: Python) -> bytes:
    """An archive of an interpreter: its program runs this machine's interpreter."""
    script = f'#!/bin/sh\nexec {python.path} "$@"\n'.encode()
    files = {
        f"bin/python{python.short}": script,
        "bin/python3": script,
        f"lib/python{python.short}/_sysconfigdata__linux_{platform.machine()}-linux-gnu.py": SETTINGS,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"python/{name}")
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def make_builder_with_mirror(directory: Path, index: Index, **more: str) -> Builder:
    """A builder on a machine whose only interpreter is too new. uv's mirror has the running interpreter."""
    version = ".".join(map(str, RUNNING.version))
    release = f"https://github.com/astral-sh/python-build-standalone/releases/download/1/{version}.tar.gz"
    index.pythons[f"{version}.tar.gz"] = make_archive(RUNNING)
    listing = directory / "downloads.json"
    machine = platform.machine()
    listing.write_text(json.dumps({f"cpython-{version}-linux-{machine}-gnu": {
        "name": "cpython", "arch": {"family": machine, "variant": None}, "os": "linux", "libc": "gnu",
        "major": RUNNING.version[0], "minor": RUNNING.version[1], "patch": RUNNING.version[2], "prerelease": "",
        "url": release, "sha256": None, "variant": None, "build": "1",
    }}))  # fmt: skip
    builder = make_builder(
        directory,
        index.url,
        PATH="/usr/bin/nowhere",
        UV_PYTHON_DOWNLOADS_JSON_URL=str(listing),
        UV_PYTHON_INSTALL_MIRROR=index.url.replace("/simple", "/pythons"),
        **more,
    )
    return replace(builder, preferred=Python(Path("/nowhere/python3.99"), (3, 99, 0)))


async def test_an_interpreter_is_downloaded_once_and_with_progress(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    seen: list[Progress] = []
    builder = make_builder_with_mirror(tmp_path, index)
    assert await builder.find_python(TINY) is None
    built = await builder.build(TINY, seen.append)
    assert built.packages == {"tiny": "1.0"}
    version = ".".join(map(str, RUNNING.version))
    assert seen[0].explain() == f"fetching Python {version} for tiny 1.0, from 127.0.0.1, 0 %"
    found = await builder.find_python(TINY)
    assert found is not None and found.path.is_relative_to(tmp_path)
    index.pythons.clear()
    assert await builder.build(replace(TINY, name="other"), seen.append) == built


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"UV_PYTHON_INSTALL_MIRROR": "http://127.0.0.1:9/pythons"}, "Connection refused"),
        pytest.param({"UV_PYTHON_DOWNLOADS": "never"}, "Python downloads are not allowed", marks=pytest.mark.slow),
        pytest.param({"UV_OFFLINE": "1"}, "Network connectivity is disabled", marks=pytest.mark.slow),
    ],
    ids=["cut off", "not allowed", "offline"],
)
async def test_the_error_of_a_failed_download_says_what_to_install(
    tmp_path: Path, index: Index, variables: dict[str, str], why: str
) -> None:
    builder = make_builder_with_mirror(tmp_path, index)
    builder = replace(builder, environ={**builder.environ, **variables})
    with pytest.raises(BuildFailed) as raised:
        await builder.build(TINY, lambda progress: None)
    said = raised.value.message
    version = ".".join(map(str, RUNNING.version))
    assert said.startswith(
        f"Python 3.99 is too new for tiny 1.0, and Python {version} could not be fetched from 127.0.0.1"
    )
    assert why in said and f": install Python {RUNNING.short} (" in said and "UV_PYTHON_INSTALL_MIRROR" in said
    assert raised.value.fault is Fault.MACHINE


async def test_the_interpreter_follows_from_the_wheels_of_the_packages(tmp_path: Path, index: Index) -> None:
    """The definition names none: the build finds and notes the allowed ones, and the next build reads the note."""
    index.add("tiny", tag="cp38-cp38-linux_x86_64")
    builder = make_builder(tmp_path, index.url, PATH="/usr/bin/nowhere", UV_PYTHON_DOWNLOADS="never")
    definition = Definition("tiny", requirements=("tiny==1.0",))
    for _ in range(2):
        with pytest.raises(BuildFailed) as raised:
            await builder.build(definition, lambda progress: None)
        assert raised.value.message.startswith(f"Python {RUNNING.short} is too new for tiny 1.0, and ")
        assert "install Python 3.8 (" in raised.value.message
    assert [note.read_text() for note in builder.root.glob("*.pythons")] == [">=3.8,<3.9"]


@pytest.mark.slow
async def test_the_interpreters_that_each_package_allows_are_noted(tmp_path: Path, index: Index) -> None:
    index.add("older", tag="cp38-cp38-linux_x86_64")
    index.add("tiny", tag=f"cp{RUNNING.short.replace('.', '')}-none-any")
    builder = make_builder(tmp_path, index.url, PATH="/usr/bin/nowhere", UV_PYTHON_DOWNLOADS="never")
    definition = Definition("both", requirements=("tiny==1.0", "older==1.0"))
    with pytest.raises(BuildFailed):
        await builder.build(definition, lambda progress: None)
    assert [note.read_text() for note in builder.root.glob("*.pythons")] == [">=3.8,<3.9"]
    builder.forget(definition)
    assert not list(builder.root.glob("*.pythons"))


def row(version: str, implementation: str = "cpython", variant: str = "default") -> dict[str, object]:
    major, minor, patch = version.partition("rc")[0].split(".")
    parts = {"major": int(major), "minor": int(minor), "patch": int(patch)}
    url = f"https://releases.example/builds/{version}.tar.gz"
    return {
        "version": version,
        "version_parts": parts,
        "url": url,
        "implementation": implementation,
        "variant": variant,
    }


def test_the_newest_matching_release_of_cpython_is_chosen() -> None:
    listing = [
        row("3.14.2"), row("3.13.9"), row("3.13.10rc1"), row("3.13.99", "pypy"), row("3.13.98", variant="freethreaded"),
        row("3.12.12"),
    ]  # fmt: skip
    assert choose_download(listing, ">=3.9,<3.14", "") == Download((3, 13, 9), "releases.example")
    assert choose_download(listing, ">=3.9,<3.14", "https://mirror.example/x") == Download((3, 13, 9), "mirror.example")
    assert choose_download(listing, ">=3.40", "") is None


@pytest.mark.parametrize(
    ("release", "root", "remedy"),
    [
        (
            "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=questing",
            False,
            "install Python 3.9 to 3.13 (`sudo apt-get install python3.13`, or pyenv)",
        ),
        ("ID=fedora", True, "install Python 3.9 to 3.13 (`dnf install python3.13`, or pyenv)"),
        ("ID=nixos", True, "install Python 3.9 to 3.13 (with your system's packages, or pyenv)"),
    ],
)
def test_the_remedy_is_the_distributions_install_command(release: str, root: bool, remedy: str) -> None:
    assert str(explain_remedy(">=3.9,<3.14", Machine(read_distribution(release), root))).startswith(remedy)
