"""Builds the directory of an environment, once for all clusters of a user. I/O.

Two processes that want the same key build it once: the second waits for the lock and finds it done. A build that was
interrupted leaves at most a `.building-` directory, which the next one removes under the lock. What lies where is in
`environments.directories`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paddock.environments.definition import Definition, build_key, requirement_name
from paddock.environments.directories import (
    Built,
    forget_pythons,
    measure,
    proof_of,
    publish,
    read_directory,
    read_pythons,
    write_pythons,
)
from paddock.environments.disk import UNPACKED, DiskWatch
from paddock.environments.failures import (
    BuildFailed,
    Fault,
    explain_check,
    explain_no_time,
    explain_os_error,
    redact,
)
from paddock.environments.libraries import KNOWN, Catalogue, add_libraries, find_missing
from paddock.environments.managed_pythons import fetch_python
from paddock.environments.progress import INSTALLED, RESOLVED, Pace, Progress, Screen, build_progress, read_screen
from paddock.environments.pythons import (
    Python,
    choose_python,
    fetch_pythons,
    match_version,
    running_python,
    this_platform,
)
from paddock.environments.terminal import plain_text, run_on_terminal
from paddock.environments.uv import Machine, Report, Uv, UvRuns, this_machine

_CHECK_LIMIT = 300.0  # seconds; the first import of a large framework from a cold disk takes tens


@dataclass(frozen=True, slots=True)
class Builder:
    """`root` is `<cache>/environments`; `environ` the variables that uv starts with; `program` is uv; `unpacked` as in
    `environments.disk`."""

    root: Path
    environ: Mapping[str, str]
    program: str
    home: Path = field(default_factory=Path.home)
    preferred: Python = field(default_factory=running_python)
    here: Machine = field(default_factory=this_machine)
    libraries: Catalogue = KNOWN
    unpacked: Mapping[str, float] = field(default_factory=lambda: UNPACKED)

    @property
    def uv(self) -> Uv:
        return Uv(self.program, self.environ, self.root, self.home, self.here)

    async def find_python(self, definition: Definition) -> Python | None:
        """The interpreter of this machine to build with, the running one where it suits; None where none does."""
        wanted = self._specifier(definition)
        if match_version(wanted, self.preferred.version):
            return self.preferred
        return choose_python(wanted, await fetch_pythons(self.program, self.environ)) if self.program else None

    def _specifier(self, definition: Definition) -> str:
        """What the definition asks for, and what an earlier build has found that its packages allow."""
        return ",".join(filter(None, (definition.python, read_pythons(self.root, definition))))

    def forget(self, definition: Definition) -> None:
        """What earlier builds have found out, as somebody asks for another one."""
        forget_pythons(self.root, definition)

    def read_built(self, definition: Definition, python: Python) -> Built | None:
        """What is there and has passed this definition's check. Costs a few system calls."""
        built = read_directory(self.root, build_key(definition, python.version, this_platform()))
        if built is None or (definition.verify and not proof_of(Path(built.path), definition).exists()):
            return None
        return built

    async def build(self, definition: Definition, report: Report) -> Built:
        """Returns the complete, checked directory; raises `BuildFailed` with a sentence. Cancelling it cleans up.

        Where the packages turn out to have no wheels for the interpreter, it is built with one that they have wheels
        for: of this machine, else one that uv fetches.
        """
        if not self.program:
            raise BuildFailed("the program uv, which builds environments, was not found: pip install uv", Fault.MACHINE)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            while True:  # once for each package that allows fewer interpreters than were known
                try:
                    return await self._build(definition, report)
                except BuildFailed as failed:
                    noted = [term for term in read_pythons(self.root, definition).split(",") if term]
                    new = [term for term in failed.pythons.split(",") if term and term not in noted]
                    if not new:  # the next build would fail alike
                        raise
                    write_pythons(self.root, definition, ",".join((*noted, *new)))
        except OSError as error:
            raise BuildFailed(explain_os_error(error, str(self.root)), Fault.MACHINE) from error

    async def _build(self, definition: Definition, report: Report) -> Built:
        python = await self.find_python(definition) or await self._fetch_python(definition, report)
        key = build_key(definition, python.version, this_platform())
        job = _Job(self, definition, python, key, report)
        async with self._lock(key, job):
            return await job.run()

    async def _fetch_python(self, definition: Definition, report: Report) -> Python:
        found = (self.preferred, *await fetch_pythons(self.program, self.environ))
        runs = UvRuns(self.uv, definition, self.preferred, report)
        try:
            return await fetch_python(runs, self._specifier(definition), found)
        finally:
            (self.root / "pythons.log").write_text(redact("\n".join(runs.log)))

    @contextlib.asynccontextmanager
    async def _lock(self, key: str, job: _Job) -> AsyncIterator[None]:
        """flock has no asynchronous form: it is asked for five times a second."""
        with (self.root / f"{key}.lock").open("w") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    job.tell("waiting", 0)
                    await asyncio.sleep(0.2)
            yield


@dataclass(slots=True)
class _Job:
    """One build, under its lock."""

    builder: Builder
    definition: Definition
    python: Python
    key: str
    report: Report
    versions: dict[str, str] = field(default_factory=dict)
    runs: UvRuns = field(init=False)

    def __post_init__(self) -> None:
        self.runs = UvRuns(self.builder.uv, self.definition, self.python, self.report)

    @property
    def root(self) -> Path:
        return self.builder.root

    def tell(self, phase: str, percent: int) -> None:
        self.report(Progress(phase, percent, self.definition.subject))

    async def run(self) -> Built:
        final = self.root / self.key
        built = read_directory(self.root, self.key)
        if built is not None and not await self._starts(final):
            built = None
        try:
            if built is None:
                for leftover in (final, *self.root.glob(f"{self.key}.building-*")):
                    await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)
                built = await self._make(final)
            await self._check(final)
        except BuildFailed as failed:
            where = f"{failed.message} (log: {self.root / self.key}.log)"
            raise BuildFailed(where, failed.fault, failed.pythons) from failed
        return built

    async def _starts(self, directory: Path) -> bool:
        """Whether its interpreter runs and has the version it was built for."""
        code = f"import sys; assert sys.version_info[:2] == {tuple(self.python.version[:2])}"
        status, _ = await run_on_terminal(
            [str(directory / "bin/python"), "-I", "-c", code], self.builder.environ, self.root
        )
        return status == 0

    async def _make(self, final: Path) -> Built:
        directory = Path(tempfile.mkdtemp(prefix=f"{self.key}.building-", dir=self.root))
        directory.chmod(0o755)  # mkdtemp makes it private, but pods may run as somebody else
        try:
            await self._install(directory)
            await self._check(directory)
            size = await asyncio.to_thread(measure, directory)
            built = Built(self.key, ".".join(map(str, self.python.version)), self.versions, size)
            return publish(directory, built, final)
        finally:
            (self.root / f"{self.key}.log").write_text(redact("\n".join(self.runs.log)))
            if directory.exists():
                await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    async def _install(self, directory: Path) -> None:
        """The venv, the exact versions, what the machine lacks for them; the packages, which are large, come last."""
        self.tell("resolving", 0)
        interpreter = str(directory / "bin/python")
        run = self.runs.run
        await run("venv", "--allow-existing", "--relocatable", "--python", str(self.python.path), str(directory))
        if not self.definition.requirements:
            return
        wanted, exact = directory / "requirements.in", directory / "requirements.txt"
        wanted.write_text("".join(f"{each}\n" for each in self.definition.requirements))
        compile_ = ("pip", "compile", "--python", interpreter, "--no-header", "--no-annotate")
        await run(*compile_, "--output-file", str(exact), str(wanted))
        self.versions = _read_versions(exact.read_text())
        libraries = self.builder.libraries
        missing = await find_missing(self.python.path, libraries.find_needed(self.versions))
        await add_libraries(self.runs, directory, missing, libraries.providers)
        screen, pace = Screen(), Pace()
        disk = DiskWatch(self.root, self.definition.subject, self.builder.unpacked)
        now = asyncio.get_running_loop().time

        def on_text(text: str) -> None:
            nonlocal screen
            screen = read_screen(screen, text)
            disk.look(screen.bars)
            speed = pace.note(now(), screen.bytes[0])
            self.report(build_progress(screen, self.definition.subject, self.versions, speed))

        self.tell("downloading", RESOLVED)
        await run("pip", "install", "--python", interpreter, "-r", str(exact), on_text=on_text)

    async def _check(self, directory: Path) -> None:
        """Runs `verify` unless this directory has passed it; the proof is kept inside the directory."""
        passed = proof_of(directory, self.definition)
        if not self.definition.verify or passed.exists():
            return
        self.tell("verifying", INSTALLED)
        command = [str(directory / "bin/python"), "-c", self.definition.verify]
        inherited = {name: value for name, value in self.builder.environ.items() if not name.startswith("PYTHON")}
        environ = inherited | dict(self.definition.environment)
        try:
            async with asyncio.timeout(_CHECK_LIMIT):
                status, output = await run_on_terminal(command, environ, directory)
        except TimeoutError as error:
            raise BuildFailed(explain_no_time(self.definition, _CHECK_LIMIT)) from error
        self.runs.log.append(f"$ python -c {self.definition.verify!r}\n{plain_text(output)}")
        if status != 0:
            raise BuildFailed(explain_check(plain_text(output), self.definition))
        passed.touch()


def _read_versions(lock: str) -> dict[str, str]:
    """`name==version` lines of uv's output; a requirement by URL (`name @ https://…`) has no version there."""
    found = {}
    for line in lock.splitlines():
        if line[:1].isalnum() and ("==" in line or " @ " in line):
            pinned = line.split(";")[0].partition("==") if " @ " not in line else (line.partition(" @ ")[0], "", "")
            found[requirement_name(pinned[0])] = pinned[2].strip().rstrip("\\").strip()
    return found
