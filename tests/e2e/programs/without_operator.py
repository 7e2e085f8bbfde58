"""A local cluster whose jobs wait for an operator from outside, as on Kubernetes: API, node and pods are as ever."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from paddock.app import local
from paddock.app.home import read_home

_SPAWN = local.LocalCluster._spawn


def spawn(cluster: local.LocalCluster, name: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    return _SPAWN(cluster, name, wait if name == "operator" else run)


async def wait() -> None:
    await asyncio.Event().wait()


local.LocalCluster._spawn = spawn  # type: ignore[method-assign]
home = read_home(os.environ)
home.root.mkdir(parents=True, exist_ok=True)
sys.exit(local.main(["--home", str(home.root), "--cache", str(home.cache), "--ready-fd", "1", *sys.argv[1:]]))
