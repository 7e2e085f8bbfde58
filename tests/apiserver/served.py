"""An API server in a process of its own, which a test may attack: its memory and its longest stall are told.

`python -m apiserver.served DIRECTORY FILES` serves until its input ends. The process may take `MEMORY` bytes, so that a
request that grows without bound ends this process and not the machine.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType

from apiserver.echoes import Echoes
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi

MEMORY = 3 * 2**30
_BEAT_SECONDS = 0.02


async def _serve(directory: Path) -> None:
    api = await LocalApi.open(directory)
    echoes = Echoes()
    server = Server(api, directory, logs=echoes, streams=echoes)
    await server.start()
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before, waited = time.monotonic(), _read_waits()
            await asyncio.sleep(_BEAT_SECONDS)
            late = time.monotonic() - before - _BEAT_SECONDS
            longest = max(longest, late - (_read_waits() - waited))

    beating = asyncio.create_task(beat())
    print(json.dumps({"url": server.url, "token": server.token, "ca": str(server.certificate_authority)}), flush=True)
    while await commands.readline():
        print(json.dumps(longest), flush=True)
        longest = 0.0
    beating.cancel()
    await server.stop()
    await api.close()


def _read_waits() -> float:
    """Seconds for which this thread could have run, and the machine gave the cores to others."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class Served:
    """The process, for the time of a `with`."""

    def __init__(
        self, directory: Path, environment: dict[str, str], files: int = 0, errors: Path | None = None
    ) -> None:
        """`files`: that it may have open, where it is not what this process may. `errors`: where what it says of its
        own faults goes, in place of standard error."""
        self._directory = directory
        self._errors = errors
        self._environment = environment
        self._files = files

    def __enter__(self) -> Served:
        command: Sequence[str] = [sys.executable, "-m", "apiserver.served", str(self._directory), str(self._files)]
        with self._errors.open("ab") if self._errors is not None else nullcontext() as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self.url, self.token, self.certificate_authority = ready["url"], ready["token"], Path(ready["ca"])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def count_files(self) -> int:
        """That it has open."""
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def begin(self) -> None:
        """The measures begin anew."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")
        self.take_longest_stall()
        self._resident = self._read("VmRSS")

    def take_longest_stall(self) -> float:
        """Seconds for which the loop ran nothing else, at most, since the last call. Waits for the loop."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def read_growth(self) -> int:
        """MiB of memory that the process has taken since `begin`, at its height."""
        return (self._read("VmHWM") - self._resident) // 1024

    def _read(self, name: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition(f"{name}:")[2].split()[0])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if files := int(sys.argv[2]):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(Path(sys.argv[1])))
