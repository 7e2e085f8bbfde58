"""Clusters that are killed at a step of a start. Both sides: the program that forks them, and how tests ask it.

`dying_clusters.py` reads one line of its input for each.

A line: DIRECTORY SANDBOX STEP SCRIPT, in JSON. The cluster runs pods that see DIRECTORY/shared, one for each
SCRIPT. It is killed with -9 before step STEP of its first start. A step is whatever this process asks the operating
system for that Python tells of (audit events): it opens, makes or renames a file, locks one, makes a process. What is
in between changes nothing that the next cluster could see. Where the first pod runs before, the cluster ends with 0.
STEP 0: it goes on.

Each is forked: it prints its pid, and its exit status when it has ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from node.cluster import PYTHON, open_cluster, pod, seeing, shell
from paddock.node.runtime.sandbox import Sandbox, choose_sandbox


class Clusters:
    """How a test asks for clusters, one after the other."""

    def __init__(self, server: asyncio.subprocess.Process) -> None:
        self._server = server

    async def begin(self, directory: Path, sandbox: Sandbox, step: int, scripts: list[str]) -> int:
        """The pid of a new cluster."""
        shared = directory / "shared"
        shared.mkdir(parents=True)
        words = [script.format(shared=shared, pod=number) for number, script in enumerate(scripts)]
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([str(directory), sandbox.name, step, words]).encode() + b"\n")
        return await self._read()

    async def wait(self) -> int:
        """How it has ended."""
        return await self._read()

    async def _read(self) -> int:
        assert self._server.stdout is not None
        return int(await self._server.stdout.readline())


@asynccontextmanager
async def open_clusters() -> AsyncIterator[Clusters]:
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    server = await asyncio.create_subprocess_exec(
        PYTHON,
        __file__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=where,
    )
    try:
        yield Clusters(server)
    finally:
        assert server.stdin is not None
        server.stdin.close()
        await server.wait()


# The program

_STEPS = ("open", "os.", "fcntl.", "subprocess.", "shutil.")


def die_at(step: int, directory: str) -> None:
    counted = 0

    def look(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal counted
        if not event.startswith(_STEPS):
            return
        # The first of a start: the pod's own directory.
        if counted or (event == "os.mkdir" and str(arguments[0]).startswith(f"{directory}/node/scratch/")):
            counted += 1
        if counted == step:
            os.kill(os.getpid(), signal.SIGKILL)

    if step:
        sys.addaudithook(look)


async def live(directory: str, sandbox: str, step: int, scripts: list[str]) -> None:
    async with open_cluster(Path(directory), choose_sandbox(sandbox)) as cluster:
        for number, script in enumerate(scripts):
            manifest = pod(shell(script), name=f"p-{number}", policy="OnFailure")
            await cluster.create(seeing(manifest, Path(directory) / "shared"))
        if step:
            await cluster.see("p-0", lambda found: found["status"].get("phase") in ("Running", "Succeeded"))
            os._exit(0)
        await asyncio.Event().wait()


def main() -> None:
    for line in sys.stdin:
        directory, sandbox, step, scripts = json.loads(line)
        pid = os.fork()
        if pid == 0:
            die_at(step, directory)
            asyncio.run(live(directory, sandbox, step, scripts))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
