"""Real training in trouble: a failed rank, a killed server, a killed worker, a killed cluster."""

from __future__ import annotations

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_wide_and_deep
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX, pytest.mark.paddle]

LONG = {"EPOCHS": "1", "STEPS": "100000"}
FIRST_LINE = "worker-0 │ epoch 1  step 100/100000"
FAIL_ONCE = """
python3 train.py &
if [ "$PADDOCK_ATTEMPT" = 0 ] && [ "$PADDLE_TRAINER_ID" = 1 ]; then
  while ! [ -e "$PADDOCK_CHECKPOINT_DIR/latest.json" ]; do sleep 0.05; done
  echo I give up
  exit 3
fi
wait $!
"""
"""Worker 1 of the first attempt ends with 3 as soon as an epoch is saved."""


def test_a_failed_rank_fails_the_job_and_is_named(cluster: Cluster) -> None:
    job = build_wide_and_deep("fails", {"EPOCHS": "9", "STEPS": "50"}, worker=FAIL_ONCE)
    ended = cluster.paddock("run", cluster.write(job), seconds=200)
    assert ended.code == 1, str(ended)
    assert "worker-1 │ I give up" in ended.out
    assert "worker-1 ended with exit code 3" in ended.err


def test_a_restarted_job_goes_on_from_its_checkpoint(cluster: Cluster) -> None:
    job = build_wide_and_deep(
        "again", {"EPOCHS": "3", "STEPS": "50"}, worker=FAIL_ONCE, restart="OnFailure", clean="Never"
    )
    ended = cluster.paddock("run", cluster.write(job), seconds=280)
    assert ended.code == 0, str(ended)
    assert "restart 1 in 10 s: worker-1 ended with exit code 3" in ended.err
    assert "worker-0 │ resume after epoch " in ended.out
    assert {pod["metadata"]["labels"]["paddock.dev/attempt"] for pod in cluster.pods("again").values()} == {"1"}
    status = cluster.job("again")["status"]
    assert (status["attempt"], status["restarts"]) == (1, 1)


@pytest.mark.parametrize("rank", ["ps-1", "worker-1"])
def test_a_killed_rank_fails_the_job_and_is_named_with_its_signal(cluster: Cluster, rank: str) -> None:
    run = cluster.start("run", cluster.write(build_wide_and_deep("struck", LONG)))
    run.until_it_prints(FIRST_LINE, 120)
    cluster.kill_program(cluster.pods("struck")[rank], "train.py")
    ended = run.end()
    assert ended.code == 1, str(ended)
    assert f"{rank} was killed by signal 9 (exit code 137)" in ended.err
    if rank == "ps-1":
        assert "what they learned since is lost" in ended.err


def test_training_does_not_notice_that_the_cluster_was_killed(cluster: Cluster) -> None:
    run = cluster.start(
        "run", cluster.write(build_wide_and_deep("calm", {"EPOCHS": "1", "STEPS": "600"}, clean="Never"))
    )
    run.until_it_prints("worker-0 │ epoch 1  step 100/600", 120)
    before = {rank: pod["metadata"]["uid"] for rank, pod in cluster.pods("calm").items()}
    cluster.kill_cluster()
    until("the announcement of a new cluster", lambda: "the cluster was killed; " in run.err)
    ended = run.end(200)
    assert ended.code == 0, str(ended)
    # the last line is about its servers, which cleanPodPolicy Never keeps
    assert "Held-out AUC" in ended.said[-3]
    assert {rank: pod["metadata"]["uid"] for rank, pod in cluster.pods("calm").items()} == before
    assert cluster.job("calm")["status"].get("attempt", 0) == 0
