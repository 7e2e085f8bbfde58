"""What the GPUs do, told by one `nvidia-smi` that goes on while a pod has some: to start it each time takes seconds."""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from paddock.node.usage.rates import SECONDS

_QUERY = ("--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits", f"--loop={SECONDS:.0f}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GpuUse:
    """How a GPU is used. NaN where it is not told (MIG)."""

    percent: float  # of the time in which it worked, of 100
    memory: float  # bytes


def read_gpu_use(line: str) -> tuple[int, GpuUse] | None:
    """The index of a GPU and what it does (`0, 97, 1234`: memory in MiB); None of another line. `[N/A]` is NaN."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 3 or not parts[0].isdecimal():
        return None
    percent, memory = (float(part) if part.isdecimal() else math.nan for part in parts[1:])
    return int(parts[0]), GpuUse(percent, memory * 2**20)


def add_up(gpus: Iterable[GpuUse]) -> GpuUse:
    """The mean and the sum of several GPUs. NaN of none."""
    found = list(gpus)
    if not found:
        return GpuUse(math.nan, math.nan)
    return GpuUse(sum(each.percent for each in found) / len(found), sum(each.memory for each in found))


class GpuMeter:
    """`now`: what each GPU, by nvidia-smi's index, does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._reading: asyncio.Task[None] | None = None
        self._now: dict[int, GpuUse] = {}

    def want(self, wanted: bool) -> None:
        """Begins, or ends. Call it from the event loop."""
        if wanted and self._reading is None:
            self._reading = asyncio.create_task(self._read())
        elif not wanted and self._reading is not None:
            self._reading.cancel()
            self._reading, self._now = None, {}

    def read(self, indices: Iterable[int]) -> GpuUse:
        return add_up(self._now[each] for each in indices if each in self._now)

    async def _read(self) -> None:
        """Ends with nvidia-smi; it is not tried again, as it would fail each second."""
        program = shutil.which("nvidia-smi", path=self._environment.get("PATH"))
        if program is None:
            return
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                program, *_QUERY, env=self._environment, stdout=pipe, stderr=nothing
            )
        except OSError as error:
            _log.warning("%s does not start, so nothing is told of the GPUs: %s", program, error)
            return
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                if (found := read_gpu_use(line.decode(errors="replace"))) is not None:
                    self._now[found[0]] = found[1]
            _log.warning("%s has ended, so nothing is told of the GPUs until no pod has any", program)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            self._now = {}
