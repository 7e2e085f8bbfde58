"""A small data-parallel training with PaddlePaddle: every rank has its own batches, gradients are averaged over all.

    python -m paddle.distributed.launch train.py --epochs=10

It needs no GPU and no data set: a linear model learns y = 3x + 2 from numbers that it draws itself. The averaging is
written out, one all_reduce for each parameter, which is what `paddle.DataParallel` does behind the curtain.
"""

import argparse

import paddle
import paddle.distributed as dist

BATCHES = 100
BATCH_SIZE = 32
SLOPE, OFFSET = 3.0, 2.0


def build_batch():
    x = paddle.randn([BATCH_SIZE, 1])
    noise = 0.1 * paddle.randn([BATCH_SIZE, 1])
    return x, SLOPE * x + OFFSET + noise


def average_gradients(model, ranks):
    """Without a group there is nobody to average with."""
    if ranks == 1:
        return
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad.set_value(parameter.grad / ranks)


def train(epochs):
    dist.init_parallel_env()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    paddle.seed(1)
    model = paddle.nn.Linear(1, 1)  # the same on every rank
    paddle.seed(100 + rank)  # and from here on other batches
    optimizer = paddle.optimizer.SGD(learning_rate=0.01, parameters=model.parameters())
    for epoch in range(1, epochs + 1):
        for _ in range(BATCHES):
            x, y = build_batch()
            loss = paddle.nn.functional.mse_loss(model(x), y)
            loss.backward()
            average_gradients(model, ranks)
            optimizer.step()
            optimizer.clear_grad()
        print(f"Worker {rank}: Epoch {epoch}, Batch {BATCHES}, Loss {loss.item():.4f}", flush=True)
    print(f"Training completed. Learned y = {model.weight.item():.2f} x + {model.bias.item():.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    train(parser.parse_args().epochs)
