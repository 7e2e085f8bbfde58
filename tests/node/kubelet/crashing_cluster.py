"""A cluster in a process of its own, to be killed with -9: `crashing_cluster.py DIRECTORY SANDBOX SCRIPT`.

Runs one pod, which sees DIRECTORY/shared, prints its UID when the pod is running, and goes on.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.cluster import open_cluster, pod, seeing, shell
from paddock.kube.meta import uid_of
from paddock.node.runtime.sandbox import choose_sandbox


async def main(directory: str, sandbox: str, script: str) -> None:
    async with open_cluster(Path(directory), choose_sandbox(sandbox)) as cluster:
        await cluster.create(seeing(pod(shell(script)), Path(directory) / "shared"))
        found = await cluster.see("p", lambda found: found["status"].get("phase") == "Running")
        print(uid_of(found), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
