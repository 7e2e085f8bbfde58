"""examples/pytorch, which `make demo-pytorch` runs: real data, three ranks, one of which is killed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import Cluster, Ended, open_cluster

EXAMPLE = Path(__file__).parents[2] / "examples/pytorch"
EPOCH = re.compile(r"master-0 │ Epoch \[(\d+)/6\], Loss: ([\d.]+)")


def read_losses(ended: Ended) -> list[tuple[int, str]]:
    return [(int(found[1]), found[2]) for line in ended.lines if (found := EPOCH.fullmatch(line))]


def read_end(ended: Ended) -> tuple[set[str], float]:
    """The hashes of the parameters of all ranks, and the accuracy in percent, which the last line says."""
    (parameters,) = (line for line in ended.lines if "parameters of 3 ranks:" in line)
    found = re.search(r"Test accuracy: ([\d.]+)% of 300 digits", ended.lines[-1])
    assert found, ended.lines
    hashes = parameters.partition("ranks: ")[2].split()
    assert len(hashes) == 3
    return set(hashes), float(found[1])


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    """What is asked here is PyTorch's: one sandbox is enough."""
    with open_cluster("none") as opened:
        yield opened


@pytest.mark.paddle
@pytest.mark.timeout(1200)
def test_a_killed_rank_changes_nothing_in_what_three_ranks_learn(laptop: Cluster) -> None:
    typed = ("run", str(EXAMPLE / "job.yaml"), "--workdir", str(EXAMPLE), "--", "--epochs", "6")
    killed = laptop.paddock(*typed, "--kill-rank", "1", "--at-epoch", "4", seconds=600)
    assert killed.code == 0, str(killed)
    assert any("restart 1 of 1" in line and "worker-0 was killed by signal 9" in line for line in killed.said)
    assert "master-0 │ goes on after epoch 3" in killed.lines
    losses = read_losses(killed)
    assert [epoch for epoch, _ in losses] == [1, 2, 3, 4, 5, 6], "each epoch once"
    whole = laptop.paddock(*typed, seconds=300)
    assert whole.code == 0, str(whole)
    assert read_losses(whole) == losses, "the loss goes on as if nothing had happened"
    for each in (killed, whole):
        hashes, accuracy = read_end(each)
        # not the same in both runs: PyTorch sums the gradients of its first step in another order than those after it
        assert len(hashes) == 1, "the same parameters in every rank"
        assert accuracy > 90
