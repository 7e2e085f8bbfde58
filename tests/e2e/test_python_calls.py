"""`paddock.train` and `paddock.run`, as a notebook calls them: with an event loop that runs already."""

from __future__ import annotations

from e2e.commands import Cluster

CALLS = """
import asyncio
from pathlib import Path

import paddock


def learn(lr):
    import os

    print(f"Epoch 3, Loss {lr}")
    Path = os.environ["PADDOCK_OUTPUT_DIR"]
    open(f"{Path}/model", "w").write(str(lr))
    if lr > 1:
        raise ValueError("lr is too large")


async def notebook():
    trained = paddock.train(learn, kwargs={"lr": 0.5}, name="python-call", image="python:3", env={"LEVEL": "1"})
    assert trained.succeeded and (trained.name, trained.phase) == ("python-call", "Completed"), trained
    assert trained.metrics["worker-0"].loss == 0.5, trained
    assert (trained.outputs / "model").read_text() == "0.5", trained
    assert "Epoch 3, Loss 0.5" in trained.log(), trained.log()
    try:
        paddock.train(learn, args=[2], name="python-call", image="python:3")
    except paddock.JobFailed as failed:
        assert failed.result.phase == "Failed" and "exit code 1" in str(failed), failed
    else:
        raise AssertionError("it completed")
    try:
        paddock.run("nowhere.py", name="python-call", image="python:3")
    except paddock.PaddockError as error:
        assert "nowhere.py is not in" in str(error), error
    print("all as it should be")


asyncio.run(notebook())
"""


def test_a_function_is_trained_and_its_end_returned_or_raised(shared: Cluster) -> None:
    ended = shared.python(CALLS)
    assert ended.code == 0, str(ended)
    assert ended.lines[-1] == "all as it should be"
    assert "Epoch 3, Loss 0.5" in ended.lines
    assert any(line.startswith("Completed in ") for line in ended.lines)
