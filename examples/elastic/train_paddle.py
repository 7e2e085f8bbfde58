"""Data-parallel training with PaddlePaddle whose number of ranks may change while it trains.

    python -m paddle.distributed.launch train_paddle.py --samples 96000

A small network learns a curve, so it needs no GPU and no data set. When Paddock starts the gang again, with as many
ranks or with others, each rank reads the checkpoint and goes on behind its last sample.
"""

import argparse
import math
import os
import time
from pathlib import Path

import checkpoints
import paddle
import paddle.distributed as dist
from samples import BATCH, SIZE, Order, take_part


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=240_000, help="of all epochs and ranks, at least")
    parser.add_argument("--every", type=int, default=20, help="steps from one checkpoint to the next")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that each step takes longer, to watch it")
    parser.add_argument("--until", type=Path, help="go on until this file exists, beyond --samples")
    parser.add_argument("--record", type=Path, help="a directory in which each rank writes what it trained on")
    return parser.parse_args()


def build_data() -> tuple[paddle.Tensor, paddle.Tensor]:
    """The curve, with noise that is the same in each process."""
    paddle.seed(7)
    x = paddle.linspace(-1, 1, SIZE).reshape([SIZE, 1])
    return x, paddle.sin(math.pi * x) + 0.5 * x + 0.05 * paddle.randn([SIZE, 1])


def build_model() -> paddle.nn.Layer:
    paddle.seed(1)
    return paddle.nn.Sequential(paddle.nn.Linear(1, 32), paddle.nn.Tanh(), paddle.nn.Linear(32, 1))


class Record:
    """A line for each step: where it began, how many ranks there were, and the places that this one took."""

    def __init__(self, directory: Path | None, rank: int) -> None:
        self.file = None
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            name = f"attempt-{os.environ.get('PADDOCK_ATTEMPT', '0')}-rank-{rank}.txt"
            self.file = (directory / name).open("a", buffering=1)

    def write(self, position: int, world: int, places: list[int]) -> None:
        if self.file is not None:
            self.file.write(f"{position} {world} {' '.join(map(str, places))}\n")


def average(value: paddle.Tensor, world: int) -> paddle.Tensor:
    """The parts of a step are equally large, so the mean over the ranks is the mean over its samples."""
    if world > 1:
        dist.all_reduce(value)
    return value / world


def main() -> None:
    options = read_options()
    dist.init_parallel_env()
    rank, world = dist.get_rank(), dist.get_world_size()
    x, y = build_data()
    model, position, loss_before = build_model(), 0, math.nan
    # without momentum the parameters are the whole state of the optimizer
    optimizer = paddle.optimizer.SGD(options.lr, parameters=model.parameters())
    if (state := checkpoints.read(paddle.load)) is not None:
        model.set_state_dict(state["model"])
        position, loss_before = state["samples"], state["loss"]
    record, order = Record(options.record, rank), Order()
    if rank == 0:
        print(f"{world} ranks go on at sample {position}, loss {loss_before:.6f}", flush=True)
    total, steps = paddle.zeros([1]), 0
    while True:
        places = take_part(position, rank, world)
        chosen = paddle.to_tensor(list(order.look_up(places)))
        loss = paddle.nn.functional.mse_loss(model(x[chosen]), y[chosen])
        loss.backward()
        for parameter in model.parameters():
            parameter.grad.set_value(average(parameter.grad, world))
        optimizer.step()
        optimizer.clear_grad()
        record.write(position, world, places)
        time.sleep(options.pause)
        position, steps, total = position + BATCH, steps + 1, total + loss.detach()
        if steps % options.every:
            continue
        mean = average(total, world).item() / options.every
        total.set_value(paddle.zeros([1]))
        if rank == 0:
            checkpoints.write({"model": model.state_dict(), "samples": position, "loss": mean}, position, paddle.save)
            print(f"sample {position}, ranks {world}, loss: {mean:.6f}", flush=True)
        # Rank 0 says to all whether this was the last step, so nobody goes on before the checkpoint is whole.
        over = position >= options.samples and (options.until is None or options.until.exists())
        if average(paddle.to_tensor([float(over and rank == 0)]), world).item() > 0:
            break
    if rank == 0:
        print(f"trained on {position} samples", flush=True)


if __name__ == "__main__":
    main()
