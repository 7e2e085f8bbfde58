"""Builds the directory of an environment, once for all clusters of a user. I/O.

Of two processes that need the same key, one builds; the other waits for the lock and finds the complete directory. The
layout on disk is in `environments.directories`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from paddock.environments.definition import Definition, build_key
from paddock.environments.directories import (
    Built,
    check_stamp,
    forget_pythons,
    measure,
    publish,
    read_directory,
    read_pythons,
    write_pythons,
)
from paddock.environments.disk import UNPACK_RATIOS, DiskWatch, find_ratios
from paddock.environments.failures import (
    BuildFailed,
    Fault,
    explain_check,
    explain_check_timeout,
    explain_os_error,
    redact,
)
from paddock.environments.late_builds import build_flags
from paddock.environments.libraries import KNOWN, Catalogue, add_libraries, find_missing
from paddock.environments.managed_pythons import fetch_python
from paddock.environments.packages.torch import TORCH
from paddock.environments.progress import (
    INSTALLED,
    RESOLVED,
    Progress,
    Screen,
    TransferRate,
    build_progress,
    read_screen,
)
from paddock.environments.pythons import (
    Python,
    choose_python,
    fetch_pythons,
    match_version,
    running_python,
    this_platform,
)
from paddock.environments.pytorch.builds import explain_mismatch, read_variable
from paddock.environments.pytorch.hook import add_hook
from paddock.environments.pytorch.resolution import Resolved, read_versions, resolve
from paddock.environments.requirement_inputs import write_inputs
from paddock.environments.resolving.causes import error_line
from paddock.environments.stacks.hook import add_stacks
from paddock.environments.terminal import plain_text, run_on_terminal
from paddock.environments.uv import Machine, Report, Uv, UvRuns, this_machine
from paddock.words.phrases import phrase

# The first import of a large framework from a cold disk takes tens of seconds.
_CHECK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Builder:
    """What builds Environments on this machine."""

    root: Path
    """`<cache>/environments`."""
    environ: Mapping[str, str]
    """The environment variables of uv."""
    program: str
    """The path of uv."""
    home: Path = field(default_factory=Path.home)
    preferred: Python = field(default_factory=running_python)
    machine: Machine = field(default_factory=this_machine)
    libraries: Catalogue = KNOWN
    unpack_ratios: Mapping[str, float] = field(default_factory=lambda: UNPACK_RATIOS)
    """As in `environments.disk`."""

    @property
    def uv(self) -> Uv:
        return Uv(self.program, self.environ, self.root, self.home, self.machine)

    async def find_python(self, definition: Definition) -> Python | None:
        """The interpreter of this machine to build with, preferably the running one; None if none suits."""
        wanted = self._specifier(definition)
        if match_version(wanted, self.preferred.version):
            return self.preferred
        return choose_python(wanted, await fetch_pythons(self.program, self.environ)) if self.program else None

    def _specifier(self, definition: Definition) -> str:
        """The definition's specifier together with the one that an earlier build found for its packages."""
        return ",".join(filter(None, (definition.python, read_pythons(self.root, definition))))

    def _key(self, definition: Definition, python: Python) -> str:
        backend = read_variable(definition, self.environ, self.machine.gpu)
        return build_key(definition, python.version, this_platform(), gpu=self.machine.gpu, backend=backend)

    def forget(self, definition: Definition) -> None:
        """Removes the interpreters that earlier builds noted, so that a requested build checks again."""
        forget_pythons(self.root, definition)

    def read_built(self, definition: Definition, python: Python) -> Built | None:
        """The directory on disk, if complete and if it passed this definition's check. Costs a few system calls."""
        built = read_directory(self.root, self._key(definition, python))
        if built is None or (definition.verify and not check_stamp(Path(built.path), definition).exists()):
            return None
        return built

    async def build(self, definition: Definition, report: Report) -> Built:
        """Returns the complete, checked directory; raises `BuildFailed` with a sentence. Cancellation cleans up.

        If the packages have no wheels for the interpreter, the build is repeated with one that they have wheels for:
        one of this machine, or one that uv downloads.
        """
        if not self.program:
            said = phrase(
                "the program uv, which builds environments, was not found: {command}", command="pip install uv"
            )
            raise BuildFailed(said, Fault.MACHINE)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            # uv names the allowed interpreters of one package at a time, so each try may narrow the choice.
            while True:
                try:
                    return await self._build(definition, report)
                except BuildFailed as failed:
                    noted = [term for term in read_pythons(self.root, definition).split(",") if term]
                    new = [term for term in failed.pythons.split(",") if term and term not in noted]
                    # Nothing was learnt: the next build would fail in the same way.
                    if not new:
                        raise
                    write_pythons(self.root, definition, ",".join((*noted, *new)))
        except OSError as error:
            raise BuildFailed(explain_os_error(error, str(self.root)), Fault.MACHINE) from error

    async def _build(self, definition: Definition, report: Report) -> Built:
        python = await self.find_python(definition) or await self._fetch_python(definition, report)
        key = self._key(definition, python)
        build = _Build(self, definition, python, key, report)
        async with self._lock(key, build):
            return await build.run()

    async def _fetch_python(self, definition: Definition, report: Report) -> Python:
        found = (self.preferred, *await fetch_pythons(self.program, self.environ))
        runs = UvRuns(self.uv, definition, self.preferred, report)
        try:
            return await fetch_python(runs, self._specifier(definition), found)
        finally:
            (self.root / "pythons.log").write_text(redact("\n".join(runs.log)))

    @contextlib.asynccontextmanager
    async def _lock(self, key: str, build: _Build) -> AsyncIterator[None]:
        # The lock is polled five times a second: flock has no asynchronous form.
        with (self.root / f"{key}.lock").open("w") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    build.report_phase("waiting", 0)
                    await asyncio.sleep(0.2)
            yield


@dataclass(slots=True)
class _Build:
    """One build, while it holds the lock of its key."""

    builder: Builder
    definition: Definition
    python: Python
    key: str
    report: Report
    versions: dict[str, str] = field(default_factory=dict)
    build: str = ""
    runs: UvRuns = field(init=False)

    def __post_init__(self) -> None:
        report, self.report = self.report, lambda progress: report(replace(progress, key=self.key))
        self.runs = UvRuns(self.builder.uv, self.definition, self.python, self.report, save=self._save_log)

    @property
    def root(self) -> Path:
        return self.builder.root

    def report_phase(self, phase: str, percent: int) -> None:
        self.report(Progress(phase, percent, self.definition.subject, build=self.build))

    async def run(self) -> Built:
        final = self.root / self.key
        built = read_directory(self.root, self.key)
        if built is not None and not await self._interpreter_runs(final):
            built = None
        try:
            if built is None:
                # An interrupted build leaves at most a `.building-` directory; the lock's holder may remove it.
                for leftover in (final, *self.root.glob(f"{self.key}.building-*")):
                    await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)
                built = await self._make(final)
            await self._check(final)
        except BuildFailed as failed:
            where = phrase("{what} (log: {path})", what=failed.message, path=f"{self.root / self.key}.log")
            raise BuildFailed(where, failed.fault, failed.pythons) from failed
        return built

    async def _interpreter_runs(self, directory: Path) -> bool:
        """Whether the interpreter in `directory` runs and has the version of the build."""
        code = f"import sys; assert sys.version_info[:2] == {tuple(self.python.version[:2])}"
        status, _ = await run_on_terminal(
            [str(directory / "bin/python"), "-I", "-c", code], self.builder.environ, self.root
        )
        return status == 0

    async def _make(self, final: Path) -> Built:
        directory = Path(tempfile.mkdtemp(prefix=f"{self.key}.building-", dir=self.root))
        # mkdtemp makes the directory private, but pods may run as another user.
        directory.chmod(0o755)
        try:
            await self._install(directory)
            await self._check(directory)
            size = await asyncio.to_thread(measure, directory)
            built = Built(self.key, ".".join(map(str, self.python.version)), self.versions, size, build=self.build)
            return publish(directory, built, final)
        finally:
            self._save_log()
            if directory.exists():
                await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    def _save_log(self) -> None:
        """While the build runs too: somebody may watch it."""
        # Index URLs in uv's output may contain passwords and tokens.
        (self.root / f"{self.key}.log").write_text(redact("\n".join(self.runs.log)))

    async def _install(self, directory: Path) -> None:
        """Creates the venv, resolves versions, adds missing libraries, and downloads the (large) packages last."""
        self.report_phase("resolving", 0)
        interpreter = str(directory / "bin/python")
        run = self.runs.run
        # The scripts of a relocatable venv find their interpreter beside themselves, so one rename can publish it.
        await run("venv", "--allow-existing", "--relocatable", "--python", str(self.python.path), str(directory))
        add_stacks(directory)
        if not self.definition.requirements:
            return
        resolved = await resolve(self.runs, directory)
        self.versions, self.build = resolved.versions, resolved.build
        # A library that cannot be had must fail the build before anything large is downloaded.
        libraries = self.builder.libraries
        missing = await find_missing(self.python.path, libraries.find_needed(self.versions))
        await add_libraries(self.runs, directory, missing, libraries.providers)
        screen, rate = Screen(), TransferRate()
        disk = DiskWatch(self.root, self.definition.subject, find_ratios(self.builder.unpack_ratios, self.versions))
        now = asyncio.get_running_loop().time

        def on_text(text: str) -> None:
            nonlocal screen
            screen = read_screen(screen, text)
            disk.check(screen.bars)
            speed = rate.add(now(), screen.bytes[0])
            shown = build_progress(screen, self.definition.subject, self.versions, speed)
            self.report(replace(shown, build=self.build))

        self.report_phase("downloading", RESOLVED)
        # torch==2.13.0+cpu is on PyTorch's index alone, which the resolved file does not name.
        install = ("pip", "install", "--python", interpreter, *resolved.flags, "-r", str(resolved.file))
        await run(*install, on_text=on_text, variables=resolved.variables)
        if resolved.late:
            await self._install_late(directory, resolved)
        if TORCH in self.versions:
            add_hook(directory)
        for name in resolved.doubtful:
            await self._check_doubtful(directory, name)

    async def _install_late(self, directory: Path, resolved: Resolved) -> None:
        self.report_phase("installing", INSTALLED)
        interpreter, run = str(directory / "bin/python"), self.runs.run
        *words, file = write_inputs(directory, replace(self.definition, requirements=resolved.late))
        install = ("pip", "install", "--python", interpreter, *resolved.flags, *build_flags(resolved.late))
        await run(*install, *words, "-r", file, variables=resolved.variables)
        self.versions = read_versions(await run("pip", "freeze", "--python", interpreter))

    async def _check_doubtful(self, directory: Path, name: str) -> None:
        """Imports a package that may be built for another torch than the one beside it."""
        command = [str(directory / "bin/python"), "-I", "-c", f"import {name}"]
        status, output = await run_on_terminal(command, self.builder.environ, directory)
        if status != 0:
            why = error_line(plain_text(output))
            raise BuildFailed(explain_mismatch(self.definition, self.versions, name, why), Fault.MACHINE)

    async def _check(self, directory: Path) -> None:
        """Runs `verify` unless this directory passed it before; then puts the stamp file into the directory."""
        passed = check_stamp(directory, self.definition)
        if not self.definition.verify or passed.exists():
            return
        self.report_phase("verifying", INSTALLED)
        command = [str(directory / "bin/python"), "-c", self.definition.verify]
        # The user's PYTHONPATH or PYTHONHOME would add packages that the environment does not have.
        inherited = {name: value for name, value in self.builder.environ.items() if not name.startswith("PYTHON")}
        environ = inherited | dict(self.definition.environment)
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                status, output = await run_on_terminal(command, environ, directory)
        except TimeoutError as error:
            raise BuildFailed(explain_check_timeout(self.definition, _CHECK_SECONDS)) from error
        self.runs.log.append(f"$ python -c {self.definition.verify!r}\n{plain_text(output)}")
        if status != 0:
            raise BuildFailed(explain_check(plain_text(output), self.definition))
        passed.touch()
