"""examples/elastic: its checkpoints survive a kill at any moment, and its order of samples knows no number of ranks."""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.chaos.gang import EXAMPLES, Gang, build_job
from e2e.chaos.record import assert_each_once, assert_it_goes_on, list_consumed, read_losses, read_steps
from e2e.commands import Cluster, open_cluster


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"elastic_{name}", EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKPOINTS, SAMPLES = load("checkpoints"), load("samples")


def save(state: Any, path: str) -> None:
    Path(path).write_bytes(pickle.dumps(state))


def read() -> Any:
    return CHECKPOINTS.read(lambda path: pickle.loads(Path(path).read_bytes()))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PADDOCK_CHECKPOINT_DIR", str(tmp_path / "checkpoint"))
    return tmp_path / "checkpoint"


def test_without_a_checkpoint_it_begins_and_with_some_it_takes_the_newest(directory: Path) -> None:
    assert read() is None
    for samples in (480, 960, 1440):
        CHECKPOINTS.write({"samples": samples}, samples, save)
    assert read() == {"samples": 1440}
    assert len(list(directory.iterdir())) == CHECKPOINTS.KEPT


@pytest.mark.parametrize("torn", [b"", b"\x80", b"not a checkpoint", pickle.dumps(["samples"])])
def test_a_torn_checkpoint_gives_way_to_the_one_before(
    directory: Path, torn: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    for samples in (480, 960):
        CHECKPOINTS.write({"samples": samples}, samples, save)
    CHECKPOINTS.list_all()[-1].write_bytes(torn)
    assert read() == {"samples": 480}


def test_a_kill_in_the_middle_of_a_write_leaves_what_was_there(directory: Path) -> None:
    CHECKPOINTS.write({"samples": 480}, 480, save)

    def die(_: Any, path: str) -> None:
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CHECKPOINTS.write({"samples": 960}, 960, die)
    assert read() == {"samples": 480}


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_parts_of_a_step_are_equal_and_make_up_the_whole(step: int, world: int) -> None:
    position = step * SAMPLES.BATCH
    parts = [SAMPLES.take_part(position, rank, world) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    assert sorted(place for part in parts for place in part) == list(range(position, position + SAMPLES.BATCH))


def test_an_epoch_has_each_sample_once_and_the_next_has_another_order() -> None:
    order, size = SAMPLES.Order(), SAMPLES.SIZE
    first, second = list(order.look_up([*range(size)])), list(order.look_up([*range(size, 2 * size)]))
    assert sorted(first) == sorted(second) == list(range(size))
    assert first != second
    assert list(SAMPLES.Order().look_up([size - 1, size])) == [first[-1], second[0]]


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    with open_cluster("none") as opened:
        yield opened


@pytest.mark.paddle
@pytest.mark.timeout(600)
def test_a_gang_of_pytorch_begins_with_the_ranks_that_have_room_and_grows(laptop: Cluster) -> None:
    record, stop = laptop.directory / "record", laptop.directory / "stop"
    words = ["--samples", "4800", "--pause", "0.03", "--every", "10", "--record", str(record), "--until", str(stop)]
    gang = Gang(laptop, "torch", record, "pytorchjobs")
    gang.make_room(2)
    job = build_job("torch", 0, words, "pytorch.yaml")
    run = laptop.start("run", laptop.write(job), "--workdir", str(EXAMPLES))
    gang.wait_for_training(-1, 2, 300)
    gang.make_room(4)
    gang.wait_for_training(int(gang.status["attempt"]), 4)
    stop.touch()
    ended = run.end(120)
    assert ended.code == 0, str(ended)
    assert "begins again with 2 of 1 to 4 workers: there was no room for all 4 within 10 s" in ended.err
    assert "begins again with 4 of 1 to 4 workers: there is room for them now" in ended.err
    assert gang.sizes() == {2, 4} and gang.restarts == 0
    lines = [line for line in ended.lines if line.startswith("worker-0 │ ")]
    end = max(samples for samples, _ in read_losses(lines))
    assert_each_once(list_consumed(read_steps(record), end), end)
    assert_it_goes_on(lines)
