"""examples/heter trains with servers, workers and heter ranks, and says so where it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from e2e.commands import Cluster, until
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX, pytest.mark.paddle]

HETER = Path(__file__).parents[2] / "examples" / "heter"
RUN = ("run", str(HETER / "job.yaml"), "--workdir", str(HETER))


def test_the_loss_falls_and_both_kinds_of_parameters_change(cluster: Cluster) -> None:
    ended = cluster.paddock(*RUN, seconds=300)
    assert ended.code == 0, str(ended)
    assert "heterogeneous parameter servers are in PaddlePaddle 2.3 to 3.0 alone" in ended.err
    found = re.findall(r"^(heter-[01]) +│ step \d+/\d+  loss (\d\.\d+)$", ended.out, re.MULTILINE)
    # The ranks train the same parameters, each at its own speed: the first line of the slower one may be low already.
    assert float(found[0][1]) > 0.6, str(ended)
    assert {rank for rank, _ in found} == {"heter-0", "heter-1"}
    assert all(float(loss) < 0.4 for loss in dict(found).values()), str(ended)
    moved = re.search(r"embedding moved by (\S+), dense layers moved by (\S+) ", ended.out)
    assert moved and min(map(float, moved.groups())) > 1, str(ended)
    right = re.search(r"held-out accuracy (\d\.\d+) \(chance (\d\.\d+)\)", ended.out)
    assert right and float(right[1]) > float(right[2]) + 0.3, str(ended)


def test_a_run_in_which_nothing_learns_fails(cluster: Cluster) -> None:
    job = yaml.safe_load((HETER / "job.yaml").read_text())
    job["spec"]["runPolicy"]["backoffLimit"] = 0
    run = ("run", cluster.write(job), "--workdir", str(HETER))
    ended = cluster.paddock(*run, "--", "--learning-rate", "0", "--batches", "40", seconds=300)
    assert ended.code == 1, str(ended)
    assert "the servers' parameters did not train" in str(ended)


@pytest.mark.parametrize("rank", ["heter-1", "ps-0"])
def test_a_killed_rank_starts_all_again_and_they_train(cluster: Cluster, rank: str) -> None:
    """`restartPolicy: OnFailure` and a limit stand in the example's job."""
    run = cluster.start(*RUN)
    run.until_it_prints("heter-1  │ step 40/", 200)
    cluster.kill_program(cluster.pods("heter")[rank], "train.py")
    # The others end in the same second, by signal 6, and finish times are whole seconds: then two are named.
    blamed = re.compile(rf"restart 1 of 3 in 10 s: .*\b{rank}\b.* killed by signal [69]")
    until("the restart", lambda: blamed.search(run.err), 60, tell=lambda: f"{run.err}\n{run.out[-4000:]}")
    ended = run.end(300)
    assert ended.code == 0, str(ended)
    assert cluster.job("heter")["status"]["attempt"] == 1
