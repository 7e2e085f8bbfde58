"""Lines of launchers and libraries that say what went wrong, as a table: name -> texts, one of which is in the line.

The lines are those of PaddlePaddle 3.0.0 and 3.3.1, PyTorch 2.13 and etcd3 0.12, as they were printed in the runs of
tests/doctor/logs; PaddlePaddle 2.6.2 has the same lines about servers. `checks` look at names; no other module
knows the texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

COMPATIBLE = "compatible"
OLD_BLOCK = "old block"
DEVICE_NOT_FOUND = "device not found"
MASTER_NOT_READY = "master not ready"
PUT_FAILED = "put failed"
WAITING = "waiting"
NOT_PARALLEL = "not parallel"
NO_GROUP = "no group"
NO_ETCD3 = "no etcd3"
ETCD_PROTOBUF = "etcd protobuf"
ETCD_UNREACHABLE = "etcd unreachable"
NAME_UNKNOWN = "name unknown"
PEER_NAME = "peer name"
LOOPBACK = "loopback"
STORE_TIMEOUT = "store timeout"
PEER_TIMEOUT = "peer timeout"
NO_ROUTE = "no route"
CLOSED = "rendezvous closed"
ADDRESS_IN_USE = "address in use"
STORE_UNBOUND = "store unbound"
NO_CUDA = "no cuda"
NO_DRIVER = "no driver"
OLD_DRIVER = "old driver"
NO_SERVERS = "no servers"
SERVER_LOST = "server lost"
NUMBER_OF_NO_WORKER = "number of no worker"
NO_TRAINER_ID = "no trainer id"
NEW_PROTOBUF = "new protobuf"
HETER_BARRIER = "heter barrier"
HETER_SPLIT = "heter split"
WHOLE_NET = "whole net"
HETER_DATASET = "heter dataset"
HETER_UNREACHED = "heter unreached"
STORE_SERVED = "store served"
SHARED_MEMORY = "shared memory"
COLLECTIVE_TIMEOUT = "collective timeout"
FAILED = "failed"
COMPLETED = "completed"

SIGNS: dict[str, tuple[str, ...]] = {
    COMPATIBLE: ("Compatible mode enable with args",),
    OLD_BLOCK: ("Configuration Arguments",),
    DEVICE_NOT_FOUND: ("Device not found ",),
    MASTER_NOT_READY: ("master not ready",),
    PUT_FAILED: ("put value failed",),
    WAITING: ("Waiting peer start", "Waiting peer ready"),
    NOT_PARALLEL: ("Currently not a parallel execution environment",),
    NO_GROUP: ("The global group is not initialized", "Default process group has not been initialized"),
    NO_ETCD3: ("No module named 'etcd3'",),
    ETCD_PROTOBUF: ("Descriptors cannot be created directly", "Descriptors cannot not be created directly"),
    ETCD_UNREACHABLE: ("etcd3.exceptions.ConnectionFailedError", "etcd3.exceptions.ConnectionTimeoutError"),
    NAME_UNKNOWN: ("cannot be obtained. Details:",),
    PEER_NAME: ("cannot be retrieved (gai error",),
    LOOPBACK: ("connect [127.", "remote=[127.", "Using the loopback address as fallback"),
    STORE_TIMEOUT: ("The client socket has timed out after",),
    PEER_TIMEOUT: ("] TIMEOUT self_rank",),
    NO_ROUTE: ("No route to host", "Host is unreachable"),
    CLOSED: ("RendezvousClosedError",),
    ADDRESS_IN_USE: ("EADDRINUSE", "Address already in use", "address already in use"),
    STORE_UNBOUND: ("Bind network on IP_ANY", "uv__finish_close"),
    NO_CUDA: (
        "addle is not compiled with CUDA", "Torch not compiled with CUDA enabled", "doesn't have NCCL built in",
        "'torch._C' has no attribute '_cuda_", "have installed CPU version PaddlePaddle",
    ),
    NO_DRIVER: ("Found no NVIDIA driver", "libcuda.so.1: cannot open", "your CUDA device is not set properly"),
    OLD_DRIVER: ("CUDA driver version is insufficient", "The NVIDIA driver on your system is too old"),
    NO_SERVERS: ("has no attribute 'DistFleetWrapper'", "cannot import name 'CommContext'"),
    SERVER_LOST: ("[E112]Not connected to",),
    NUMBER_OF_NO_WORKER: ("trainer_endpoints.split(',')[trainer_id]",),
    NO_TRAINER_ID: ("KeyError: 'PADDLE_TRAINER_ID'",),
    NEW_PROTOBUF: ("a_sync_configs is not a attribute",),
    HETER_BARRIER: ("self._worker_comm.barrier()",),
    HETER_SPLIT: ("'tuple' object has no attribute 'merged_var'",),
    WHOLE_NET: ("hogwild_worker.cc", "HogwildWorker"),
    HETER_DATASET: ("dataset is need and should be initialized", "has no attribute '_prepare_to_run'"),
    HETER_UNREACHED: ("HeterClient::SendAndRecv meets brpc error",),
    STORE_SERVED: ("create libuv server at port: ", "The server starts to listen on "),
    SHARED_MEMORY: (
        "Unexpected BUS error", "killed by signal: Bus error", "out of shared memory", "insufficient shared memory",
    ),
    COLLECTIVE_TIMEOUT: ("Watchdog caught collective operation timeout",),
    FAILED: (
        "LAUNCH ERROR", "Container failed !!!", "ChildFailedError", "Pod failed", "failed (exitcode: ",
        "ABORT!!! Out of all ",
    ),
    COMPLETED: ("Pod completed", "all parameter server are killed"),
}  # fmt: skip

OF_LAUNCHERS = ("LAUNCH ", "torch/distributed", "torch.distributed.", "[c10d]", "Setting OMP_NUM_THREADS")
"""Words in all lines that launchers print of themselves."""
_OF_TORCH = re.compile(
    r"\[?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ .*(?:torch/distributed|\[c10d\]|ProcessGroup)"
    r"|  File \".*torch/distributed/|torch\.distributed\.[\w.]+(?:Error|Exception)"
    r"|Setting OMP_NUM_THREADS environment variable for each process to be \d"
)

_WORDS = tuple(dict.fromkeys((*OF_LAUNCHERS, *(word for words in SIGNS.values() for word in words), "Exit code ")))
_LONGEST = 500


def may_tell(text: str) -> bool:
    """Whether some line of a text may be a sign, or a launcher's own. Most lines of a log are neither."""
    return any(word in text for word in _WORDS)


def is_of_torch(text: str) -> bool:
    """Whether torchrun, or PyTorch's part for distributed training, printed the line."""
    return _OF_TORCH.match(text) is not None


@dataclass(frozen=True, slots=True)
class Sign:
    """Lines of one kind."""

    text: str  # the first one, cut
    line: int  # the number of the first one
    last: int  # the number of the last one
    count: int = 1  # how many there are

    def again(self, line: int) -> Sign:
        return replace(self, last=line, count=self.count + 1)


def find_signs(text: str) -> list[str]:
    """The names of the signs of one line."""
    return [name for name, words in SIGNS.items() if any(word in text for word in words)]


def cut_text(text: str) -> str:
    return text.strip()[:_LONGEST]


_ADDRESS = re.compile(r"\[?(\d{1,3}(?:\.\d{1,3}){3})\]?[:,]? ?(\d{2,5})?")


def find_address(text: str) -> str:
    """`10.77.0.1:29400`, the first address of a line; empty without one."""
    found = _ADDRESS.search(text)
    return ":".join(filter(None, found.groups())) if found else ""
