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
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paddock.environments.definition import Definition, build_key, requirement_name
from paddock.environments.directories import Built, measure, proof_of, publish, read_directory
from paddock.environments.failures import (
    BuildFailed,
    Failure,
    explain_check,
    explain_failure,
    explain_no_time,
    explain_os_error,
    redact,
)
from paddock.environments.indexes import (
    UvSettings,
    pip_files,
    plan_uv_settings,
    read_pip_settings,
    read_texts,
    read_uv_keys,
    uv_files,
)
from paddock.environments.progress import INSTALLED, RESOLVED, Progress, Screen, build_progress, read_screen
from paddock.environments.pythons import (
    Python,
    choose_python,
    explain_no_python,
    fetch_pythons,
    match_version,
    running_python,
    this_platform,
)
from paddock.environments.terminal import plain_text, run_on_terminal

Report = Callable[[Progress], None]
_CHECK_LIMIT = 300.0  # seconds; the first import of a large framework from a cold disk takes tens


def find_uv() -> str:
    """The uv that was installed with Paddock, else the one in PATH; empty where there is none."""
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        return shutil.which("uv") or ""


@dataclass(frozen=True, slots=True)
class Builder:
    """`root` is `<cache>/environments`; `environ` the variables that uv starts with; `uv` its program."""

    root: Path
    environ: Mapping[str, str]
    uv: str
    home: Path = field(default_factory=Path.home)
    preferred: Python = field(default_factory=running_python)

    async def find_python(self, definition: Definition) -> Python:
        """The interpreter to build with: the running one where it suits. Raises `BuildFailed`."""
        if not self.uv:
            raise BuildFailed("the program uv, which builds environments, was not found: pip install uv")
        if match_version(definition.python, self.preferred.version):
            return self.preferred
        found = await fetch_pythons(self.uv, self.environ)
        chosen = choose_python(definition.python, found)
        if chosen is None:
            raise BuildFailed(explain_no_python(definition.subject, definition.python, (self.preferred, *found)))
        return chosen

    def read_built(self, definition: Definition, python: Python) -> Built | None:
        """What is there and has passed this definition's check. Costs a few system calls."""
        built = read_directory(self.root, build_key(definition, python.version, this_platform()))
        if built is None or (definition.verify and not proof_of(Path(built.path), definition).exists()):
            return None
        return built

    async def build(self, definition: Definition, python: Python, report: Report) -> Built:
        """Returns the complete, checked directory; raises `BuildFailed` with a sentence. Cancelling it cleans up."""
        key = build_key(definition, python.version, this_platform())
        job = _Job(self, definition, python, key, report)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            async with self._lock(key, job):
                return await job.run()
        except OSError as error:
            raise BuildFailed(explain_os_error(error, str(self.root))) from error

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

    def settings(self, definition: Definition) -> UvSettings:
        """Read for each build, as people mend their settings while we run."""
        pip = read_pip_settings(read_texts(pip_files(self.environ, self.home)), self.environ)
        keys = read_uv_keys(read_texts(uv_files(self.environ, self.home)))
        return plan_uv_settings(definition, pip, self.environ, keys)


@dataclass(slots=True)
class _Job:
    """One build, under its lock."""

    builder: Builder
    definition: Definition
    python: Python
    key: str
    report: Report
    versions: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

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
        if built is None:
            for leftover in (final, *self.root.glob(f"{self.key}.building-*")):
                await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)
            built = await self._make(final)
        await self._check(final)
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
            (self.root / f"{self.key}.log").write_text(redact("\n".join(self.log)))
            if directory.exists():
                await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    async def _install(self, directory: Path) -> None:
        """Three runs of uv: the venv, the exact versions, the packages."""
        self.tell("resolving", 0)
        interpreter = str(directory / "bin/python")
        await self._uv("venv", "--allow-existing", "--relocatable", "--python", str(self.python.path), str(directory))
        if not self.definition.requirements:
            return
        wanted, exact = directory / "requirements.in", directory / "requirements.txt"
        wanted.write_text("".join(f"{each}\n" for each in self.definition.requirements))
        compile_ = ("pip", "compile", "--python", interpreter, "--no-header", "--no-annotate")
        await self._uv(*compile_, "--output-file", str(exact), str(wanted))
        self.versions = _read_versions(exact.read_text())
        screen = Screen()

        def on_text(text: str) -> None:
            nonlocal screen
            screen = read_screen(screen, text)
            self.report(build_progress(screen, self.definition.subject, self.versions))

        self.tell("downloading", RESOLVED)
        await self._uv("pip", "install", "--python", interpreter, "-r", str(exact), on_text=on_text)

    async def _uv(self, *arguments: str, on_text: Callable[[str], None] | None = None) -> None:
        settings = self.builder.settings(self.definition)
        flags = settings.flags if arguments[0] == "pip" else ()
        command = [self.builder.uv, *arguments, *flags]
        self.log.append(f"$ uv {' '.join([*arguments, *flags])}")
        status, output = await run_on_terminal(command, settings.environment, self.root, on_text)
        text = plain_text(output)
        self.log.append(text)
        if status != 0:
            failure = Failure(text, self.definition, self.python, str(self.root))
            raise BuildFailed(self._with_log(explain_failure(failure)))

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
        self.log.append(f"$ python -c {self.definition.verify!r}\n{plain_text(output)}")
        if status != 0:
            raise BuildFailed(self._with_log(explain_check(plain_text(output), self.definition)))
        passed.touch()

    def _with_log(self, sentence: str) -> str:
        return f"{sentence} (log: {self.root / self.key}.log)"


def _read_versions(lock: str) -> dict[str, str]:
    """`name==version` lines of uv's output; a requirement by URL has no version there."""
    pairs = (line.split(";")[0].partition("==") for line in lock.splitlines() if "==" in line and line[:1].isalnum())
    return {requirement_name(name): version.strip().rstrip("\\").strip() for name, _, version in pairs}
