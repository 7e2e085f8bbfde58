"""Heterogeneous parameter servers with PaddlePaddle 3.0.0 or 2.6.2: the program of every rank.

    paddock run examples/heter/job.yaml

Workers read samples and look up the embedding on the parameter servers (first stage). Heter ranks compute the dense
layers and the loss (second stage) and send the gradient back. TRAINING_ROLE says which role a rank has,
HETER_DEVICE_TYPE where the second stage runs. At the end worker 0 pulls all parameters from the servers, shows how far
both kinds have moved, and scores them on samples that nobody trained on (proof.py).
"""

import argparse
import math
import tempfile
import threading
from pathlib import Path

import chatter
import meeting
import mended
import numpy as np
import paddle
import proof
import samples
from paddle.distributed import fleet
from paddle.distributed.fleet.base import role_maker

REPORT_EVERY = 20


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=300, help="that each worker trains on")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.01, help="0 makes the proof at the end fail")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


class Report:
    """Prints the loss of a heter rank, which computes it: the mean of the last steps, for all workers together."""

    def __init__(self, steps):
        self.steps, self.recent, self.count, self.lock = steps, [], 0, threading.Lock()

    def add(self, loss):
        """The program calls this at each step, in the threads that compute: one for each thread of a worker."""
        with self.lock:
            self.recent.append(float(np.array(loss).ravel()[0]))
            self.count += 1
            if self.count % REPORT_EVERY == 0 or self.count == self.steps:
                mean, self.recent = np.mean(self.recent), []
                print(f"step {self.count}/{self.steps}  loss {mean:.4f}", flush=True)


def build(report):
    """The network; returns its inputs and its loss. proof.py finds its parameters by their names."""
    ids = paddle.static.data("ids", [-1, samples.FIELDS], "int64")
    label = paddle.static.data("label", [-1, 1], "float32")
    # it begins at 0, so its length is how far it has moved; the servers make its rows, at the first look-up of each
    named = paddle.ParamAttr(proof.EMBEDDING, initializer=paddle.nn.initializer.Constant(0.0))
    found = paddle.static.nn.embedding(ids, [samples.IDS, proof.WIDTH], is_sparse=True, param_attr=named)
    joined = paddle.reshape(found, [-1, samples.FIELDS * proof.WIDTH])
    # "gpu" only marks the second stage
    with paddle.static.device_guard("gpu"):
        hidden = paddle.static.nn.fc(joined, 16, weight_attr="hidden.w", bias_attr="hidden.b", activation="tanh")
        score = paddle.static.nn.fc(hidden, 1, weight_attr="score.w", bias_attr="score.b")
        loss = paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(score, label))
        paddle.static.py_func(lambda value: report.add(value), loss, None)
    return [ids, label], loss


def prepare(options, report):
    """Builds this rank's part of the network; returns its inputs."""
    inputs, loss = build(report)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    fleet.distributed_optimizer(paddle.optimizer.Adam(options.learning_rate), strategy).minimize(loss)
    return inputs


def count_threads(role):
    """Threads of each worker. Thread t of all workers' computes with heter rank t modulo their number, so one thread
    for each worker would leave heter ranks without work if they are more than workers."""
    workers, heters = role._get_stage_trainers()
    return math.ceil(heters / workers)


def find_index(role):
    """The number of a heter rank among its kind; PaddlePaddle counts on after the workers."""
    return role._role_id() - role._get_stage_trainers()[0]


def count_batches(options, threads):
    """The batches of each thread of a worker."""
    return math.ceil(options.batches / threads)


def count_steps(options, role):
    """The steps that a heter rank computes."""
    workers, heters = role._get_stage_trainers()
    threads = count_threads(role)
    mine = [thread for thread in range(workers * threads) if thread % heters == find_index(role)]
    return len(mine) * count_batches(options, threads)


def serve():
    with chatter.hushed():
        fleet.init_server()
    print(f"server {fleet.server_index()} of {fleet.server_num()} serves", flush=True)
    fleet.run_server()


def start():
    """Gives this rank its first parameters and connects it; returns its executor and the first dense parameters."""
    executor = paddle.static.Executor(paddle.CPUPlace())
    with chatter.hushed():
        executor.run(paddle.static.default_startup_program())
        first = proof.read_dense()
        mended.wait_for(fleet.server_endpoints())
        fleet.init_worker()
    return executor, first


def compute(role, inputs):
    """A heter rank's work. It does not end: who started it ends it when the workers are done."""
    executor, _ = start()
    print(f"heter rank {find_index(role)} of {role._heter_worker_num()} computes", flush=True)
    with chatter.hushed():
        mended.keep_pulling(fleet.fleet._runtime_handle)
    executor.train_from_dataset(mended.part(), mended.build_dataset(inputs))


def train(options, role, inputs):
    """A worker's work. Returns what is wrong with the result, if anything is."""
    rank, workers = role._worker_index(), role._get_trainer_endpoints()
    executor, first = start()
    if rank == 0:
        host = meeting.Host(workers[0])
    else:
        meeting.wait(workers[0])
    print(f"worker {rank} of {len(workers)} trains on {options.batches} batches", flush=True)
    run(executor, options, rank, count_threads(role), inputs)
    if rank == 0:
        host.wait_for(range(1, len(workers)))
        fault = proof.prove(executor, first)
        host.dismiss()
    else:
        fault = meeting.report(workers[0], rank)
    fleet.stop_worker()
    print(f"worker {rank} is done", flush=True)
    return fault


def run(executor, options, rank, threads, inputs):
    """Trains on this worker's samples; the seed has the rank in it, so each worker has others."""
    data = mended.build_dataset(inputs)
    data.set_batch_size(options.batch_size)
    data.set_thread(threads)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "samples.txt")
        # PaddlePaddle deals samples // threads + 1 of them to each thread: whole batches if one sample is missing
        count = threads * count_batches(options, threads) * options.batch_size - 1
        samples.write(path, *samples.draw((options.seed, rank, 0), count))
        data.set_filelist([str(path)])
        data.load_into_memory()
    executor.train_from_dataset(mended.part(), data)


def main():
    options = read_options()
    mended.mend()
    # SIGTERM is the normal end of servers and heter ranks; PaddlePaddle's handler would print a C++ stack trace for it.
    paddle.disable_signal_handler()
    paddle.enable_static()
    paddle.seed(options.seed)
    role = role_maker.PaddleCloudRoleMaker()
    with chatter.hushed():
        fleet.init(role)
        inputs = prepare(options, Report(count_steps(options, role) if role._is_heter_worker() else 0))
    if fleet.is_server():
        serve()
    elif role._is_heter_worker():
        compute(role, inputs)
    else:
        mended.end(train(options, role, inputs))


if __name__ == "__main__":
    main()
