"""A small ResNet, data-parallel over the ranks that `python -m paddle.distributed.launch` starts. CPU or GPU.

The pictures are generated: ten classes, a fixed random 16 x 16 template for each, noise on top, so nothing is
downloaded and the accuracy to expect is known (about 0.98 after three epochs).

    PADDOCK_OUTPUT_DIR, PADDOCK_CHECKPOINT_DIR   where the model and the last epoch are saved (default: ./output)
    EPOCHS, BATCHES                              how long
"""

import os
import time
from pathlib import Path

import numpy as np
import paddle
import paddle.distributed as dist
from paddle import nn

EPOCHS = int(os.environ.get("EPOCHS", "3"))
BATCHES = int(os.environ.get("BATCHES", "100"))
BATCH = 32
CLASSES, SIDE, NOISE = 10, 16, 2.5
OUTPUT = Path(os.environ.get("PADDOCK_OUTPUT_DIR", "output")).absolute()
CHECKPOINT = Path(os.environ.get("PADDOCK_CHECKPOINT_DIR", OUTPUT / "checkpoint")).absolute()

_templates = np.random.default_rng(2015).normal(size=(CLASSES, 1, SIDE, SIDE)).astype("float32")


def pictures(seed, count):
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, size=count)
    noise = random.normal(0.0, NOISE, size=(count, 1, SIDE, SIDE)).astype("float32")
    return paddle.to_tensor(_templates[labels] + noise), paddle.to_tensor(labels.astype("int64"))


class Block(nn.Layer):
    """Two convolutions with a residual connection."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2D(inputs, outputs, 3, stride=stride, padding=1, bias_attr=False),
            nn.BatchNorm2D(outputs),
            nn.ReLU(),
            nn.Conv2D(outputs, outputs, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(outputs),
        )
        self.around = nn.Conv2D(inputs, outputs, 1, stride=stride, bias_attr=False) if stride > 1 else nn.Identity()

    def forward(self, picture):
        return nn.functional.relu(self.path(picture) + self.around(picture))


def build():
    return nn.Sequential(
        nn.Conv2D(1, 16, 3, padding=1, bias_attr=False),
        nn.BatchNorm2D(16),
        nn.ReLU(),
        Block(16, 16, 1),
        Block(16, 32, 2),
        Block(32, 64, 2),
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
        nn.Linear(64, CLASSES),
    )


def save(path, state):
    """Saves atomically."""
    # A kill during a save is normal.
    path.parent.mkdir(parents=True, exist_ok=True)
    pending = path.with_suffix(".tmp")
    paddle.save(state, str(pending))
    pending.replace(path)


def resume(net, optimizer):
    """The number of epochs that an earlier attempt finished. Every rank reads it before training starts."""
    path = CHECKPOINT / "latest.pdparams"
    if not path.exists():
        return 0
    state = paddle.load(str(path))
    net.set_state_dict(state["net"])
    optimizer.set_state_dict(state["optimizer"])
    return state["epoch"]


def accuracy(net):
    net.eval()
    data, labels = pictures(99_991, 1000)
    with paddle.no_grad():
        return float((net(data).argmax(axis=1) == labels).astype("float32").mean().item())


def main():
    dist.init_parallel_env()
    rank, started = dist.get_rank(), time.monotonic()
    paddle.seed(2015)
    net = build()
    optimizer = paddle.optimizer.Adam(2e-3, parameters=net.parameters())
    done = resume(net, optimizer)
    if done:
        print(f"Worker {rank}: resume after epoch {done}", flush=True)
    model = paddle.DataParallel(net) if dist.get_world_size() > 1 else net
    for epoch in range(done + 1, EPOCHS + 1):
        model.train()
        for batch in range(1, BATCHES + 1):
            data, labels = pictures((epoch, rank, batch), BATCH)
            loss = nn.functional.cross_entropy(model(data), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if batch % 50 == 0:
                print(f"Worker {rank}: Epoch {epoch}, Batch {batch}, Loss {loss.item():.4f}", flush=True)
        if rank == 0:
            save(
                CHECKPOINT / "latest.pdparams",
                {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
            )
    if rank == 0:
        save(OUTPUT / "model.pdparams", net.state_dict())
        line = f"Held-out accuracy {accuracy(net):.2f} (chance 0.10)"
        print(f"Training completed. {line} in {time.monotonic() - started:.1f} s", flush=True)
        if last_words := os.environ.get("PADDOCK_TERMINATION_LOG"):
            Path(last_words).write_text(line)


if __name__ == "__main__":
    main()
