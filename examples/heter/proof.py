"""Proves by the servers' parameters that a job has trained: how far both kinds have moved, and a held-out accuracy."""

import chatter
import mended
import numpy as np
import paddle
import samples
from paddle.distributed import fleet

EMBEDDING, WIDTH = "embedding", 8
DENSE = ("hidden.w", "hidden.b", "score.w", "score.b")
SEED, COUNT = 99_991, 20_000
"""Of the held-out samples. Training seeds have three numbers."""
_LEAST = 1e-3
"""A shorter movement is none."""


def prove(executor, first):
    """Worker 0 calls this after training; `first` are its dense parameters before. Returns what is wrong, or None."""
    with chatter.hushed():
        embedding, dense = pull(executor)
    moved = {
        "embedding": np.linalg.norm(embedding),
        "dense layers": np.linalg.norm([np.linalg.norm(dense[name] - first[name]) for name in DENSE]),
    }
    told = ", ".join(f"{name} moved by {length:.2f}" for name, length in moved.items())
    print(f"{told} (L2, from the initial values)", flush=True)
    ids, labels = samples.draw(SEED, COUNT)
    right, chance = np.mean((predict(embedding, dense, ids) > 0) == (labels > 0)), max(labels.mean(), 1 - labels.mean())
    print(f"held-out accuracy {right:.3f} (chance {chance:.3f})", flush=True)
    # NaN is no movement either
    still = [name for name, length in moved.items() if not length > _LEAST]
    return f"the servers' parameters did not train: {' and '.join(still)} did not move" if still else None


def pull(executor):
    """The parameters that the servers have: the whole embedding, and the dense ones by name."""
    runtime = fleet.fleet._runtime_handle
    runtime._worker.client_flush()
    table = next(each.table_id() for each in runtime._send_ctx.values() if each.is_sparse())
    embedding = look_up(executor, table)
    runtime._communicator.pull_dense(mended.list_dense(runtime))
    return embedding, read_dense()


def look_up(executor, table):
    """All rows of the embedding, by a program of one operator."""
    program, ids = paddle.static.Program(), np.arange(samples.IDS)[:, None]
    with paddle.static.program_guard(program):
        asked = paddle.static.data("asked", ids.shape, "int64")
        block = program.global_block()
        shape = [samples.IDS, WIDTH]
        weight = block.create_var(name=EMBEDDING, shape=shape, dtype="float32", persistable=True)
        rows = block.create_var(name="rows", dtype="float32")
        block.append_op(
            type="distributed_lookup_table",
            inputs={"Ids": [asked], "W": weight},
            outputs={"Outputs": [rows]},
            attrs={"table_id": table, "lookup_table_version": "lookup_table_v2"},
        )
    (found,) = executor.run(program, feed={"asked": ids}, fetch_list=[rows])
    return np.reshape(found, shape)


def read_dense():
    """This rank's dense parameters by name."""
    scope = paddle.static.global_scope()
    return {name: np.array(scope.find_var(name).get_tensor()) for name in DENSE}


def predict(embedding, dense, ids):
    """The network's log-odds, as train.py builds it, with numpy alone."""
    hidden = np.tanh(embedding[ids].reshape(len(ids), -1) @ dense["hidden.w"] + dense["hidden.b"])
    return hidden @ dense["score.w"] + dense["score.b"]
