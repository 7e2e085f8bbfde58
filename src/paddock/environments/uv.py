"""Runs uv with the user's settings, on a terminal, and retries after network errors. I/O.

uv caches complete downloads, so a retry continues where the try before ended. A partial wheel is downloaded again from
its beginning.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from paddock.environments.definition import Definition
from paddock.environments.distributions import (
    Distribution,
    explain_install,
    install_command,
    read_distribution,
)
from paddock.environments.failures import BuildFailed, Failure, Fault, explain_tries, read_failure
from paddock.environments.indexes import (
    UvSettings,
    pip_files,
    plan_uv_settings,
    read_pip_settings,
    read_texts,
    read_uv_keys,
    uv_files,
)
from paddock.environments.progress import RESOLVED, Progress
from paddock.environments.pythons import Python
from paddock.environments.terminal import plain_text, run_on_terminal
from paddock.words.phrases import Phrase, phrase

Report = Callable[[Progress], None]

TRIES = 3
# Pauses before the second and the third try.
_BACKOFF_SECONDS = (0.5, 1.5)


def find_uv() -> str:
    """The path of the uv installed with Paddock, else of the one in PATH; empty if there is none."""
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        return shutil.which("uv") or ""


@dataclass(frozen=True, slots=True)
class Machine:
    """What install commands and builds of torch depend on: the distribution, whether the user is root, and whether
    there is a GPU."""

    distribution: Distribution
    root: bool
    gpu: bool = False

    def explain_install(self, thing: str) -> str:
        return explain_install(self.distribution, thing, self.root)

    def install_command(self, thing: str) -> str:
        return install_command(self.distribution, thing, self.root)


def this_machine() -> Machine:
    return Machine(
        read_distribution("".join(read_texts([Path("/etc/os-release")]))), os.geteuid() == 0, has_gpu(Path("/"))
    )


def has_gpu(root: Path) -> bool:
    """Whether NVIDIA's driver runs below `root`, also the one of Windows below WSL."""
    # uv's `--torch-backend auto` asks the same file.
    return any((root / each).exists() for each in ("proc/driver/nvidia/version", "usr/lib/wsl/lib/nvidia-smi"))


@dataclass(frozen=True, slots=True)
class Uv:
    """uv with this user's settings."""

    program: str  # its path; empty if there is none
    environ: Mapping[str, str]  # its environment variables
    root: Path  # its working directory, on the disk of the environments
    home: Path = field(default_factory=Path.home)
    machine: Machine = field(default_factory=this_machine)

    def settings(self, definition: Definition) -> UvSettings:
        """uv's settings, read anew for each run."""
        # Users correct settings while Paddock runs.
        pip = read_pip_settings(read_texts(pip_files(self.environ, self.home)), self.environ)
        keys = read_uv_keys(read_texts(uv_files(self.environ, self.home)))
        return plan_uv_settings(definition, pip, self.environ, keys)


@dataclass(slots=True)
class UvRuns:
    """The runs of uv in one build."""

    uv: Uv
    definition: Definition
    python: Python
    report: Report  # called before a retry, with the activity in `doing`
    log: list[str] = field(default_factory=list)  # their commands and output
    doing: str = ""
    save: Callable[[], None] = lambda: None  # called when the log has grown

    async def run(
        self,
        *arguments: str,
        on_text: Callable[[str], None] | None = None,
        variables: Mapping[str, str | None] | None = None,
        tries: int = TRIES,
    ) -> str:
        """uv's output. `variables` are set for this run, or removed (None). Raises `BuildFailed`; for a network error,
        after `tries` tries."""
        for number in range(1, tries + 1):
            status, text = await self._run_once(arguments, on_text, variables or {})
            if status == 0:
                return text
            install = self.uv.machine.explain_install
            failed = read_failure(Failure(text, self.definition, self.python, str(self.uv.root), install))
            # Without any network a retry only takes time; an index on loopback needs none.
            if failed.fault is Fault.NETWORK and not (is_on_network() or _is_loopback_index(text)):
                raise BuildFailed(explain_no_network(self.definition.subject), Fault.MACHINE)
            if failed.fault is not Fault.NETWORK or number == tries:
                said = explain_tries(failed.message, number)
                raise BuildFailed(said, failed.fault, failed.pythons, number)
            doing = self.doing or str(phrase("building ({subject})", subject=self.definition.subject))
            self.report(Progress("retrying", RESOLVED, doing, tries=(number, tries)))
            await asyncio.sleep(_BACKOFF_SECONDS[number - 1])
        raise AssertionError("the last try returns or raises")

    async def _run_once(
        self, arguments: tuple[str, ...], on_text: Callable[[str], None] | None, variables: Mapping[str, str | None]
    ) -> tuple[int, str]:
        settings = self.uv.settings(self.definition)
        flags = settings.flags if arguments[0] == "pip" else ()
        self.log.append(f"$ uv {' '.join([*arguments, *flags])}")
        self.save()
        environment = {
            name: value for name, value in {**settings.environment, **variables}.items() if value is not None
        }
        # uv leaves the locks of its builds in TMPDIR.
        with tempfile.TemporaryDirectory(prefix="paddock-uv-") as temporary:
            command = [self.uv.program, *arguments, *flags]
            status, output = await run_on_terminal(command, {**environment, "TMPDIR": temporary}, self.uv.root, on_text)
        text = plain_text(output)
        self.log.append(text)
        self.save()
        return status, text


def explain_no_network(subject: str) -> Phrase:
    return phrase(
        "this machine is on no network, and {subject} has to be fetched once: connect it, then ask again",
        subject=subject,
    )


def is_on_network() -> bool:
    """Whether any interface other than loopback is up."""
    return any(state.isup and "loopback" not in state.flags for state in psutil.net_if_stats().values())


def _is_loopback_index(text: str) -> bool:
    return bool(re.search(r"://(127\.|localhost|\[::1])", text))
