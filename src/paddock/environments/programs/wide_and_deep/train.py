"""Wide & Deep with parameter servers: the program of every rank of the job; TRAINING_ROLE says which role.

Servers hold the parameters; each worker draws its own clicks, pulls parameters and pushes gradients. Worker 0 makes the
servers save the parameters, and a second program, evaluate.py, scores them on held-out clicks.

    PADDOCK_OUTPUT_DIR      where parameters are saved (default: ./output); one directory for all ranks
    PADDOCK_CHECKPOINT_DIR  where an interrupted job finds its last epoch (default: <output>/checkpoint)
    EPOCHS, STEPS, LEARNING_RATE   how long and how fast; LEARNING_RATE=0 is servers that never update
"""

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

# Sparse embeddings of the static graph need the older IR in PaddlePaddle 3.0.0.
os.environ.setdefault("FLAGS_enable_pir_api", "0")
# The servers log a line for each file that they save, so errors alone are shown.
os.environ.setdefault("GLOG_minloglevel", "2")
warnings.filterwarnings("ignore", module="paddle")
logging.disable(logging.INFO)

import clicks
import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import tables
from paddle.distributed.ps.utils.public import get_the_one_recv_context

EPOCHS = int(os.environ.get("EPOCHS", "3"))
STEPS = int(os.environ.get("STEPS", "400"))
BATCH = 128
LEARNING_RATE = float(os.environ.get("LEARNING_RATE", "0.01"))
OUTPUT = Path(os.environ.get("PADDOCK_OUTPUT_DIR", "output")).absolute()
CHECKPOINT = Path(os.environ.get("PADDOCK_CHECKPOINT_DIR", OUTPUT / "checkpoint")).absolute()
SHARDS = 8
PULL_EVERY = 5
"""Steps between two pulls of the dense parameters; the sparse ones are pulled by each step that looks them up."""


def build():
    """Builds the network; returns its inputs and its loss. evaluate.py finds parameters by these names."""
    ids = paddle.static.data("ids", [None, clicks.FIELDS], "int64")
    label = paddle.static.data("click", [None, 1], "float32")
    wide = paddle.static.nn.embedding(
        ids,
        [clicks.IDS, 1],
        is_sparse=True,
        param_attr=paddle.ParamAttr("wide", initializer=paddle.nn.initializer.Constant(0.0)),
    )
    deep = paddle.static.nn.embedding(
        ids,
        [clicks.IDS, 8],
        is_sparse=True,
        param_attr=paddle.ParamAttr("deep", initializer=paddle.nn.initializer.Uniform(-0.1, 0.1)),
    )
    hidden = paddle.static.nn.fc(
        paddle.reshape(deep, [-1, clicks.FIELDS * 8]),
        32,
        activation="relu",
        weight_attr="hidden.w",
        bias_attr="hidden.b",
    )
    score = paddle.static.nn.fc(hidden, 1, weight_attr="score.w", bias_attr="score.b")
    logit = score + paddle.sum(paddle.reshape(wide, [-1, clicks.FIELDS]), axis=1, keepdim=True)
    loss = paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(logit, label))
    return [ids, label], loss


@contextmanager
def quiet():
    """Redirects standard output to a file: during set-up Paddle prints its data structures among the progress."""
    with Path("paddle.log").open("a") as log, redirect_stdout(log):
        yield


def wait_for_servers():
    """Waits until all servers have opened their ports (8 s with gloo)."""
    # Paddle's own wait is a stub since 3.0, and a trainer that meets no server fails.
    deadline = time.monotonic() + 300
    for endpoint in fleet.server_endpoints():
        host, port = endpoint.rsplit(":", 1)
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    sys.exit(f"parameter server {endpoint} did not open its port in 300 s: {error}")
                time.sleep(0.2)


def finished_epochs():
    """The number of epochs that an earlier attempt saved."""
    try:
        return json.loads((CHECKPOINT / "latest.json").read_text())["epochs"]
    except (OSError, ValueError, KeyError):
        return 0


def save(executor, directory):
    """Worker 0 makes the servers write their tables. Every worker must call this."""
    # Paddle has a barrier in `save_persistables`.
    directory.mkdir(parents=True, exist_ok=True)
    fleet.save_persistables(executor, str(directory))


def checkpoint(executor, epochs):
    """Saves into a new directory, then renames the file that names it: a kill in between loses nothing."""
    save(executor, CHECKPOINT / f"epoch-{epochs}")
    if fleet.worker_index() != 0:
        return
    pending = CHECKPOINT / "latest.json.tmp"
    pending.write_text(json.dumps({"epochs": epochs}))
    pending.replace(CHECKPOINT / "latest.json")
    for old in CHECKPOINT.glob("epoch-*"):
        if old.name != f"epoch-{epochs}":
            shutil.rmtree(old, ignore_errors=True)


def load_dense(epochs):
    """Gives worker 0 the saved dense parameters; must be called before `fleet.init_worker()`."""
    # Worker 0 pushes its dense parameters to the servers in `init_worker()`, over those that were saved.
    for name, values in tables.read_dense(CHECKPOINT / f"epoch-{epochs}" / "002").items():
        variable = paddle.static.global_scope().find_var(name).get_tensor()
        variable.set(values.astype("float32"), paddle.CPUPlace())


def build_pull():
    """A function that pulls the servers' dense parameters into this worker."""
    # In asynchronous mode Paddle 3.0.0 does so only once, at the start (it starts no communicator): every worker would
    # train on the first values for ever.
    runtime, scopes = fleet.fleet._runtime_handle, [paddle.static.global_scope()]
    received = get_the_one_recv_context(runtime.context)
    return lambda: runtime._pull_all_dense(scopes, runtime._send_ctx, received)


def serve(epochs):
    with quiet():
        fleet.init_server(str(CHECKPOINT / f"epoch-{epochs}")) if epochs else fleet.init_server()
    # SIGTERM is a server's normal end; Paddle's handler would print a C++ stack trace for it.
    paddle.disable_signal_handler()
    print(f"server {fleet.server_index()} of {fleet.server_num()} serves", flush=True)
    fleet.run_server()


def train(inputs, loss, done):
    rank, world = fleet.worker_index(), fleet.worker_num()
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    if done:
        load_dense(done)
        print(f"resume after epoch {done}", flush=True)
    print(f"worker {rank} of {world} waits for {fleet.server_num()} servers", flush=True)
    wait_for_servers()
    with quiet():
        fleet.init_worker()
        pull_dense = build_pull()
    program, names = paddle.static.default_main_program(), [value.name for value in inputs]
    for epoch in range(done + 1, EPOCHS + 1):
        recent = []
        for step in range(1, STEPS + 1):
            if step % PULL_EVERY == 0:
                pull_dense()
            # A resumed attempt must draw what the interrupted one would have drawn, so the seed holds no time.
            ids, labels, _ = clicks.draw((epoch, rank, step), BATCH)
            (value,) = executor.run(program, feed=dict(zip(names, (ids, labels), strict=True)), fetch_list=[loss])
            recent.append(float(np.ravel(value)[0]))
            if step % 100 == 0:
                print(f"epoch {epoch}  step {step}/{STEPS}  loss {np.mean(recent[-100:]):.4f}", flush=True)
        # The last epoch is saved as the model.
        if epoch < EPOCHS:
            checkpoint(executor, epoch)
    save(executor, OUTPUT / "model")
    fleet.stop_worker()
    if rank == 0:
        evaluate()


def evaluate():
    """Runs evaluate.py as a separate program, which reads only the files that the servers wrote."""
    script = Path(__file__).with_name("evaluate.py")
    subprocess.run([sys.executable, str(script), str(OUTPUT / "model")], check=True)


def prepare():
    """Builds the distributed network; returns its inputs and its loss."""
    paddle.enable_static()
    paddle.seed(2021)
    fleet.init(is_collective=False)
    inputs, loss = build()
    strategy = fleet.DistributedStrategy()
    # Synchronous mode crashes in PaddlePaddle 3.0.0.
    strategy.a_sync = True
    # Each shard is a file when it is saved; the default of 1000 shards takes seconds.
    for name in ("deep", "wide"):
        strategy.sparse_table_configs.add(table_name=name, shard_num=SHARDS)
    fleet.distributed_optimizer(paddle.optimizer.Adam(LEARNING_RATE), strategy).minimize(loss)
    return inputs, loss


def main():
    with quiet():
        inputs, loss = prepare()
    done = finished_epochs()
    if fleet.is_server():
        serve(done)
    else:
        train(inputs, loss, done)


if __name__ == "__main__":
    main()
