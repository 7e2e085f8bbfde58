"""The embedded API as a process of its own: what a laptop's cluster serves, without node, operator and console.

    python -m benchmarks.embedded_api DIRECTORY PORT [--scheduler]

With `--scheduler` the laptop's scheduler runs in the same process, as it does in a cluster. It ends by SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.node.scheduler.scheduler import Scheduler
from paddock.serving.garbage import collect_seldom
from paddock.serving.loop import run


async def serve(directory: Path, port: int, *, scheduler: bool) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    api = await LocalApi.open(directory)
    server = Server(api, directory)
    await server.start(port)
    placing = asyncio.create_task(_place(api)) if scheduler else None
    await ended.wait()
    if placing is not None:
        placing.cancel()
        await asyncio.gather(placing, return_exceptions=True)
    await server.stop()
    await api.close()


async def _place(api: LocalApi) -> None:
    await Scheduler(api).run()


if __name__ == "__main__":
    collect_seldom()  # as a cluster does
    run(serve(Path(sys.argv[1]), int(sys.argv[2]), scheduler="--scheduler" in sys.argv[3:]))
