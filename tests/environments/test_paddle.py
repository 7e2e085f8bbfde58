"""The default environments with real PaddlePaddle wheels, from the machine's package index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from environments.packages import run
from paddock.environments.builder import Builder
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import Definition, read_definition
from paddock.environments.progress import Progress
from paddock.environments.uv import find_uv

DEFAULTS = {each.name: each for each in map(read_definition, build_defaults())}
OLD = Definition("old", requirements=("paddlepaddle==2.6.2", "numpy"))
"""As a requirements file has it; the versions that it leaves open are Paddock's to bound."""
_TRAINS = """
import paddle, paddle.distributed.fleet as fleet
strategy = fleet.DistributedStrategy()
strategy.a_sync_configs = {"k_steps": 0}
model = paddle.Model(paddle.nn.Linear(4, 2))
model.prepare(paddle.optimizer.Adam(parameters=model.parameters()), paddle.nn.CrossEntropyLoss())
model.fit(paddle.io.TensorDataset([paddle.randn([8, 4]), paddle.randint(0, 2, [8, 1])]), batch_size=4, verbose=0)
one = paddle.to_tensor([3])
assert (float(one), list(range(one))) == (3.0, [0, 1, 2])
print(paddle.__version__)
"""


@pytest.mark.paddle
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("definition", "version"), [(DEFAULTS["paddle-ps"], "3.0.0"), (DEFAULTS["paddle"], "3.3.1"), (OLD, "2.6.2")]
)
async def test_the_environment_is_built_and_trains(tmp_path: Path, definition: Definition, version: str) -> None:
    builder = Builder(tmp_path, dict(os.environ), find_uv())
    seen: list[Progress] = []
    built = await builder.build(definition, seen.append)
    assert built.packages["paddlepaddle"] == version
    assert {"resolving", "downloading"} <= {each.phase for each in seen}
    shown = await run(f"{built.path}/bin/python3", "-c", _TRAINS, **dict(definition.environment))
    assert shown.split()[-1] == version
