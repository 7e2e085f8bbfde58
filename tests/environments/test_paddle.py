"""The default environments with real PaddlePaddle wheels, from the machine's package index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from environments.packages import run
from paddock.environments.builder import Builder
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import read_definition
from paddock.environments.progress import Progress
from paddock.environments.uv import find_uv

DEFAULTS = {each.name: each for each in map(read_definition, build_defaults())}


@pytest.mark.paddle
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "version"), [("paddle-ps", "3.0.0"), ("paddle", "3.3.1")])
async def test_the_environment_is_built_and_checked(tmp_path: Path, name: str, version: str) -> None:
    builder = Builder(tmp_path, dict(os.environ), find_uv())
    definition = DEFAULTS[name]
    seen: list[Progress] = []
    built = await builder.build(definition, seen.append)
    assert built.packages["paddlepaddle"] == version
    assert {"resolving", "downloading", "verifying"} <= {each.phase for each in seen}
    python = f"{built.path}/bin/python3"
    shown = await run(python, "-c", "import paddle; print(paddle.__version__)", **dict(definition.environment))
    assert shown.split()[-1] == version
