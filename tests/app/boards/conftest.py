"""The real TensorBoard and VisualDL, and files that their writers wrote."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.app.boards.serve import build_packages
from paddock.app.boards.tools import Tool
from paddock.app.home import Home
from paddock.environments.failures import BuildFailed, Fault
from support.programs import lack

WRITE = {
    "tensorboard": """
import sys, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1])
value = Summary.Value(tag="loss", simple_value=0.5)
writer.add_event(Event(wall_time=time.time(), step=1, summary=Summary(value=[value])))
writer.close()
""",
    "visualdl": """
import sys
from visualdl import LogWriter
with LogWriter(logdir=sys.argv[1]) as writer:
    writer.add_scalar("loss", 0.5, 1)
""",
}


@pytest.fixture
def build(tmp_path: Path) -> Callable[[Tool], Path]:
    """The real packages, in the user's own cache of environments; skips where they cannot be had."""

    def built(tool: Tool) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddock"
        try:
            return Path(asyncio.run(build_packages(Home(tmp_path, cache), tool, lambda _: None)).path)
        except BuildFailed as failed:
            if failed.fault is Fault.MACHINE:
                lack("uv", f"cannot fetch {tool.title}: {failed.message}")
            raise

    return built


@pytest.fixture
def written(build: Callable[[Tool], Path], tmp_path: Path) -> Callable[[Tool], tuple[Path, Path]]:
    """The environment of a tool, and a directory with a loss in it that a real writer wrote."""

    def write(tool: Tool) -> tuple[Path, Path]:
        environment, out = build(tool), tmp_path / "out"
        out.mkdir(exist_ok=True)
        subprocess.run([environment / "bin/python", "-c", WRITE[tool.name], out], check=True, timeout=120)
        return environment, out

    return write
