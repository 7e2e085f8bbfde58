"""The real clients of Kubeflow Trainer's progress protocol, on a laptop: they report without being configured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.commands import Cluster, open_cluster

TRANSFORMERS = """
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1, 1)
    def forward(self, x=None, labels=None):
        y = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}
data = [{"x": torch.randn(1), "labels": torch.randn(1)} for _ in range(32)]
arguments = TrainingArguments("out", max_steps=4, logging_steps=1, report_to=[], save_strategy="no", disable_tqdm=True)
Trainer(Model(), arguments, train_dataset=data).train()
"""
SDK = """
from kubeflow.trainer import update_trainjob_status
print("sent", update_trainjob_status(progress_percent=45, estimated_remaining_seconds=1200, metrics={"loss": 0.25}))
"""


@pytest.fixture(scope="module")
def laptop() -> Iterator[Cluster]:
    """What is asked here is the libraries': one sandbox is enough."""
    with open_cluster("auto") as opened:
        yield opened


def run(cluster: Cluster, name: str, text: str, *packages: str) -> list[str]:
    """What the program has printed."""
    directory = cluster.directory / name
    directory.mkdir()
    (directory / "t.py").write_text(text)
    (directory / "requirements.txt").write_text("\n".join(packages) + "\n")
    words = ("run", "--name", name, "-r", str(directory / "requirements.txt"), "--workdir", str(directory))
    ended = cluster.paddock(*words, "--", "python", "t.py", seconds=600)
    assert ended.code == 0, str(ended)
    return ended.lines


@pytest.mark.paddle
@pytest.mark.timeout(900)
def test_kubeflows_sdk_is_told_that_its_report_was_taken(laptop: Cluster) -> None:
    assert "sent True" in run(laptop, "sdk", SDK, "kubeflow>=0.4")


@pytest.mark.paddle
@pytest.mark.timeout(900)
def test_transformers_tells_how_far_it_is_without_a_line_of_code(laptop: Cluster) -> None:
    run(laptop, "trainer", TRANSFORMERS, "transformers>=5.4", "accelerate")
    found = laptop.read("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/trainer")["status"]
    progress = found["progress"]
    assert progress["percent"] == 100 and "remaining" not in progress, progress
    assert {"loss", "train_loss"} <= progress["metrics"].keys(), "the names are those of the callback"
