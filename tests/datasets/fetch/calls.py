"""Fetching in a test: in this process with short waits, or as the child process that a controller starts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from paddock.datasets.fetch.run import run
from paddock.datasets.fetch.tries import Patience
from paddock.datasets.fetching import Failed, Fetched, Progress, Report, Request, read_report

HASTE = Patience(most=4, first=0.01, longest=0.02)


async def fetch(request: Request, said: list[Report] | None = None) -> Fetched | Failed:
    return await run(request, (said if said is not None else []).append, HASTE)


async def must_fetch(request: Request, said: list[Report] | None = None) -> Fetched:
    end = await fetch(request, said)
    assert isinstance(end, Fetched), end
    return end


async def must_fail(request: Request) -> Failed:
    end = await fetch(request)
    assert isinstance(end, Failed), end
    return end


def read_tree(directory: Path) -> dict[str, bytes]:
    """Every file of a dataset, by its path."""
    files = (each for each in directory.rglob("*") if each.is_file() or each.is_symlink())
    paths = {str(each.relative_to(directory)): each for each in files}
    return {name: each.read_bytes() for name, each in paths.items() if not name.startswith(".paddock/")}


@dataclass
class Child:
    """`python -m paddock.datasets.fetch` with a request on its standard input."""

    process: Process
    reports: list[Report] = field(default_factory=list)
    other: list[bytes] = field(default_factory=list)

    async def read_until(self, wanted: Callable[[Report], bool]) -> Report:
        """The first report that is wanted."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            if (report := read_report(line)) is None:
                self.other.append(line)
                continue
            self.reports.append(report)
            if wanted(report):
                return report
        raise AssertionError(f"it ended: {self.reports[-3:]} {self.other}")

    async def end(self) -> tuple[int, Report]:
        """Its exit code and its last report."""
        report = await self.read_until(lambda each: not isinstance(each, Progress))
        return await self.process.wait(), report

    async def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return await self.process.wait()


async def start(request: Request | None, environ: Mapping[str, str] | None = None, *, code: str = "") -> Child:
    """`code`: a Python program that is run instead of the module."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *(["-c", code] if code else ["-m", "paddock.datasets.fetch"])),
        stdin=PIPE,
        stdout=PIPE,
        env={**os.environ, **(environ or {})},
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(request) if request else b"")
    process.stdin.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()
    return Child(process)
