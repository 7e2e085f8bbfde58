"""What PaddlePaddle's own Python has broken for heterogeneous parameter servers, mended. Call `mend()` first.

The C++ of this mode works: HeterPipelineTrainer, HeterSectionWorker, HeterClient. The Python that prepares it does not,
in 2.6.2 and 3.0.0 alike (where a mend is for one of them, it says so): `fleet` alone fails, or trains without the heter
ranks and says nothing. A mend that does not find what it mends ends the program with a sentence.
"""

import os
import socket
import sys
import threading
import time

import paddle
from paddle.framework import core

_HERE = f"PaddlePaddle {paddle.__version__}"
_PULL_EVERY = 0.02
"""Seconds between two pulls of the dense parameters on a heter rank."""


def mend():
    """All mends but `keep_pulling`, which needs a rank that runs."""
    check_version()
    wait_for_ports_again()
    remove_nothing()
    name_tables_once()
    hand_over_parts()


def check_version():
    """PaddlePaddle's wheels after 3.0 have no heterogeneous parameter servers, so nothing can be mended there."""
    if not hasattr(core, "HeterClient"):
        sys.exit(f"{_HERE} has no heterogeneous parameter servers (its core has no HeterClient): use 2.6.2 or 3.0.0")


def take(module, *names):
    """What a mend works on: the object `names` of `module`, and the last one's owner."""
    try:
        owner = found = __import__(module, fromlist=["_"])
        for name in names:
            owner, found = found, getattr(found, name)
        return owner, found
    except (ImportError, AttributeError):
        sys.exit(f"{_HERE} has no {'.'.join((module, *names))}, which this program mends: use 2.6.2 or 3.0.0")


def wait_for_ports_again():
    """`wait_server_ready` (distributed/fleet/base/private_helper_function.py) returns at once in 3.0.0. A worker that
    trains before the port of a heter rank is open gets SIGABRT: `HeterClient::SendAndRecv meets brpc error`.

    This one waits. PaddlePaddle calls it for the servers, and on a worker for the heter ranks. That of 2.6.2 waits too,
    3 s at a time.
    """
    for module in ("paddle.distributed.ps.the_one_ps", _BUILDER):
        owner, _ = take(module, "wait_server_ready")
        owner.wait_server_ready = wait_for


def wait_for(endpoints, seconds=300):
    """Waits until each `host:port` accepts connections."""
    deadline = time.monotonic() + seconds
    for endpoint in endpoints:
        host, port = endpoint.rsplit(":", 1)
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=2).close()
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    sys.exit(f"{endpoint} did not open its port in {seconds} s: {error}")
                time.sleep(0.1)


def remove_nothing():
    """`SplitTrainerOpsPass._remove_var_pair_by_grad` (distributed/passes/ps_trainer_pass.py) takes lists of pairs for
    pairs: a worker ends with AttributeError, 'tuple' object has no attribute 'merged_var'.

    It wants to forget the dense parameters of the heter ranks, which a worker needs: worker 0 gives the servers their
    first values. So nothing is removed.
    """
    owner, _ = take(_PASSES, "SplitTrainerOpsPass", "_remove_var_pair_by_grad")
    owner._remove_var_pair_by_grad = lambda self, name, attrs: None


def name_tables_once():
    """`DistributedOpsPass._get_pull_sparse_ops` (same file) adds a letter to an embedding's name in heterogeneous mode
    when it looks for what is pulled, and not when it looks for what is pushed. It finds nothing to push, so no
    embedding is trained, without any message.

    The letter is not added if the mode is another one.
    """
    owner, find = take(_PASSES, "DistributedOpsPass", "_get_pull_sparse_ops")
    owner._get_pull_sparse_ops = lambda self, program, attrs: find(self, program, {**attrs, "is_heter_ps_mode": False})


def hand_over_parts():
    """Both passes that split the program (same file) assign the part that they made to a local variable, which is lost.
    Each rank then trains the whole program by itself, a heter rank on nothing, and ends with exit code 0.

    The function that fills the part is wrapped, and keeps it; `part()` is what to train.
    """
    for kind, name, place in (
        ("SplitHeterWorkerOpsPass", "_create_heter_program", 2),
        ("SplitTrainerOpsPass", "_create_trainer_program", 0),
    ):
        owner, create = take(_PASSES, kind, name)
        setattr(owner, name, _keep_part(create, place))
    owner, build = take(_BUILDER, "HeterAsyncPsProgramBuilder", "_build_programs")
    owner._build_programs = lambda self: (build(self), _finish_part(self))


def part():
    """The part of the program that this rank trains: the argument of `train_from_dataset`."""
    return _parts[-1]


def _keep_part(create, place):
    def created(self, *arguments):
        create(self, *arguments)
        _parts.append(arguments[place])

    return created


def _finish_part(builder):
    """The options of the pipeline lie on the whole program; the part gets them, with itself as what is run."""
    if _parts:
        options = {**builder.cloned_main._heter_pipeline_opt, "section_program": part()}
        part()._heter_pipeline_opt = options
        restore_slots(part())
        # the start-up program without the embedding, which a worker need not hold
        paddle.base.framework.switch_startup_program(builder.cloned_startup)


def restore_slots(program):
    """`block_append_op` (distributed/ps/utils/public.py) copies `distributed_push_sparse` without its attribute
    `slots`, one number for each input: the worker gets SIGABRT at the first push.

    The numbers only label statistics, so they are 0.
    """
    for op in (op for block in program.blocks for op in block.ops if op.type == "distributed_push_sparse"):
        op._set_attr("slots", [0] * len(op.input("Ids")))


def build_dataset(inputs):
    """`train_from_dataset` (base/executor.py) wants a dataset on a heter rank too, which reads nothing: AttributeError,
    'NoneType' object has no attribute '_prepare_to_run'.

    A worker loads its samples into this one; for a heter rank it stays empty.
    """
    data = paddle.base.DatasetFactory().create_dataset("InMemoryDataset")
    data.set_use_var(inputs)
    data.set_pipe_command("cat")
    return data


def keep_pulling(runtime):
    """Nothing brings the servers' dense parameters to a heter rank while it trains (`Communicator` has a thread that
    sends and none that receives): it would compute with the first values for ever.

    A thread pulls them; `runtime` is `fleet.fleet._runtime_handle` after `init_worker()`.
    """
    wanted = list_dense(runtime)

    def pull():
        while True:
            runtime._communicator.pull_dense(wanted)
            time.sleep(_PULL_EVERY)

    threading.Thread(target=pull, daemon=True).start()


def end(fault):
    """A worker that has done all may not end: at exit the destructors of PaddlePaddle's C++ (brpc's bvar::Sampler) can
    wait for ever for a lock, while threads of the same library go on. Seen now and then, with both versions.

    This ends the process without them; `fault` is a sentence for standard error, or None if all is well.
    """
    if fault:
        print(fault, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if fault else 0)


def list_dense(runtime):
    """The tables of the dense parameters, as `pull_dense` wants them."""
    _, build = take("paddle.distributed.ps.utils.public", "get_the_one_recv_context")
    return build(runtime.context, split_dense_table=True)


_PASSES = "paddle.distributed.passes.ps_trainer_pass"
_BUILDER = "paddle.distributed.ps.utils.ps_program_builder"
_parts = []
