"""Real training goes on while its ranks and nodes are lost and come back (examples/elastic with PaddlePaddle).

`CHAOS_SECONDS` says for how long (60 by default, `make chaos` takes five minutes), `CHAOS_SEED` in which order.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice

import pytest

from e2e.chaos.gang import EXAMPLES, Gang, build_job
from e2e.chaos.record import (
    Step,
    assert_each_once,
    assert_it_falls,
    assert_it_goes_on,
    list_consumed,
    read_losses,
    read_steps,
)
from e2e.chaos.schedule import BEGINNING, MOST, Blow, Disturbance, build_schedule
from e2e.commands import Cluster, open_cluster

SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
KILLS = 3
"""The restarts that the job may use, and as many ranks are killed at most."""


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    """What is asked here is of the operator: one sandbox is enough."""
    with open_cluster("none") as opened:
        yield opened


@pytest.mark.paddle
@pytest.mark.timeout(600 + 3 * int(SECONDS))
def test_training_loses_nothing_while_ranks_and_nodes_are_lost_and_come_back(laptop: Cluster) -> None:
    record, stop = laptop.directory / "record", laptop.directory / "stop"
    words = ["--samples", "20000", "--pause", "0.03", "--every", "10", "--record", str(record), "--until", str(stop)]
    gang = Gang(laptop, "chaos", record)
    gang.make_room(MOST)
    run = laptop.start("run", laptop.write(build_job("chaos", KILLS, words)), "--workdir", str(EXAMPLES))
    gang.wait_for_training(-1, MOST, 300)
    begun, told, size = time.monotonic(), list[tuple[Disturbance, int, float]](), MOST
    for number, done in enumerate(build_schedule(SEED, KILLS)):
        if number >= len(BEGINNING) and time.monotonic() - begun >= SECONDS:
            break
        time.sleep(4)  # so that there is something to lose
        attempt = int(gang.status["attempt"])
        gang.strike(done)
        size = done.room if done.blow in (Blow.LOSE, Blow.RETURN) else size
        told.append((done, size, gang.wait_for_training(attempt, size)))
        if done == BEGINNING[0]:
            explained = laptop.paddock("explain", "chaos").out
            assert "runs with 1 of 1 to 4 workers, since a node was lost; grows when " in explained
    stop.touch()
    ended = run.end(200)
    print(tell(told))
    assert ended.code == 0, str(ended)
    status = gang.status
    kills = sum(done.blow is Blow.KILL for done, _, _ in told)
    assert status["phase"] == "Completed"
    assert gang.restarts <= kills <= KILLS, "never more restarts than allowed, and only for what failed"
    assert {1, MOST} <= gang.sizes() <= set(range(1, MOST + 1))
    lines = [line for line in ended.lines if line.startswith("worker-0 │ ")]
    end = max(samples for samples, _ in read_losses(lines))
    assert_each_once(list_consumed(read_steps(record), end), end)
    assert_it_goes_on(lines)
    assert_it_falls(read_losses(lines))


def tell(told: list[tuple[Disturbance, int, float]]) -> str:
    """How long it took from each blow until the gang trained again."""
    lines = [f"{seconds:6.1f} s   {done.blow}; {ranks} ranks train" for done, ranks, seconds in told]
    return "\n".join(["from a disturbance to training again:", *lines])


def test_a_schedule_follows_from_its_seed_and_leaves_room_for_a_rank() -> None:
    for seed in range(50):
        blows = list(islice(build_schedule(seed, KILLS), 100))
        assert blows == list(islice(build_schedule(seed, KILLS), 100))
        assert sum(each.blow is Blow.KILL for each in blows) <= KILLS
        assert all(1 <= each.room <= MOST and each.rank < MOST for each in blows)


def step(attempt: int, position: int, *places: int, world: int = 2, rank: int = 0) -> Step:
    return Step(attempt, rank, position, world, places)


def test_what_no_checkpoint_has_does_not_count() -> None:
    """Attempt 0 trained on 4 to 7 in vain, as attempt 1 began at 4."""
    first = [step(0, 0, 0, 2), step(0, 0, 1, 3, rank=1), step(0, 4, 4, 6)]
    again = [step(1, 4, 4, 5, 6, 7, world=1)]
    assert_each_once(list_consumed([*first, *again], 8), 8)
    for steps, said in (
        ([*first, *again, step(2, 8, 8)], "left out"),
        ([*first, step(1, 0, 0, 1, 2, 3), step(1, 4, 4, 5, 6, 7), step(1, 4, 7, rank=1)], "twice"),
        (first, "left out"),
    ):
        end = 12 if any(each.attempt == 2 for each in steps) else 8
        with pytest.raises(AssertionError, match=said):
            assert_each_once(list_consumed(steps, end), end)


def test_a_loss_that_rises_or_begins_anew_is_found_out() -> None:
    falling = [f"sample {samples}, ranks 2, loss: {1 / samples:.6f}" for samples in range(10, 200, 10)]
    assert_it_falls(read_losses(falling))
    assert_it_goes_on([*falling, "2 ranks go on at sample 190, loss 0.005263"])
    with pytest.raises(AssertionError, match="does not fall"):
        assert_it_falls([(samples, -loss + 1) for samples, loss in read_losses(falling)])
    for begun in ("2 ranks go on at sample 0, loss nan", "1 ranks go on at sample 180, loss 0.5"):
        with pytest.raises(AssertionError):
            assert_it_goes_on([*falling, begun])
    with pytest.raises(AssertionError, match="again"):
        assert_it_goes_on([*falling, "sample 190, ranks 1, loss: 0.900000"])
