"""What a process may use here: shared memory, limits, cores and memory."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.findings import Finding, Severity
from paddock.doctor.host.gpus import count_visible
from paddock.doctor.host.values import Asked, Host
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, phrase

SMALL_SHM = 2**30
FULL_SHM = 2**26
"""Bytes. Docker gives a container 64 MiB in all."""
FEW_FILES, SOME_FILES = 1024, 4096
SMALL_LOCKED = 2**30
SMALL_STACK = 2**23
MEMORY_OF_RANK = 2**30
"""Bytes: a rank with PaddlePaddle or PyTorch has 300 MB before it has a model."""
_SHM = "/dev/shm"  # noqa: S108 - it is looked at


def judge_shm(host: Host, asked: Asked) -> Iterator[Finding]:
    shm = host.shm
    why = phrase(
        "workers of data loaders hand over batches there, and NCCL and gloo talk there on one machine; a full one ends "
        "a process with “Bus error” or “unable to open shared memory object”"
    )
    if shm is None or not shm.is_writable:
        what = (
            phrase("there is no {path} on this machine", path=_SHM)
            if shm is None
            else phrase("nothing can be written to {path}", path=_SHM)
        )
        mend = phrase("mount it, or give the pod or container one")
        yield Finding("no-shm", Severity.WRONG, _SHM, what, why, mend, _build_mount(host, "mount"))
    elif shm.is_own and shm.size < SMALL_SHM:
        yield Finding(
            "small-shm",
            Severity.RISK,
            _SHM,
            phrase(
                "{path} has {size}, {free} of it free",
                path=_SHM,
                size=format_bytes(shm.size),
                free=format_bytes(shm.free),
            ),
            why,
            _explain_larger(host),
            _build_mount(host, "remount"),
        )
    elif shm.free < FULL_SHM:
        yield Finding(
            "full-shm",
            Severity.WRONG,
            _SHM,
            phrase(
                "{path} is full: {free} of {size} are free",
                path=_SHM,
                free=format_bytes(shm.free),
                size=format_bytes(shm.size),
            ),
            why,
            phrase("delete what ended programs have left there: files that no process holds"),
            f"ls -lS {_SHM}; sudo lsof {_SHM}",
        )


def _explain_larger(host: Host) -> Phrase:
    match host.container:
        case "docker":
            return phrase("start the container with a larger one; its program cannot change it")
        case "kubernetes":
            return phrase("mount an emptyDir of medium Memory at /dev/shm in the pod; paddock validate says where")
    return phrase("make it larger, here until the next boot, and in /etc/fstab for good")


def _build_mount(host: Host, how: str) -> str:
    match host.container:
        case "docker":
            return "docker run --shm-size=8g …"
        case "kubernetes":
            return "kubectl explain pod.spec.volumes.emptyDir.medium"
    return f"sudo mount -o remount,size=8G {_SHM}" if how == "remount" else f"sudo mount -t tmpfs -o size=8G shm {_SHM}"


def judge_limits(host: Host, asked: Asked) -> Iterator[Finding]:
    yield from _judge_files(host)
    limits = host.limits
    if limits.stack is not None and limits.stack < SMALL_STACK:
        yield Finding(
            "small-stack",
            Severity.RISK,
            "ulimit -s",
            phrase("the stack of a process is limited to {size}", size=format_bytes(limits.stack)),
            phrase(
                "PaddlePaddle's threads and large graphs need 8 MiB, the usual limit: a smaller one ends in a SIGSEGV"
            ),
            phrase("raise the limit in the shell that starts the training"),
            "ulimit -s 8192",
        )
    if host.rdma and limits.locked is not None and limits.locked < SMALL_LOCKED:
        yield Finding(
            "small-memlock",
            Severity.RISK,
            "ulimit -l",
            phrase(
                "{devices} is there, and a process may lock {size} of memory",
                devices=", ".join(host.rdma),
                size=format_bytes(limits.locked),
            ),
            phrase(
                "NCCL registers its buffers with the network card, which locks them: “Cannot allocate memory” otherwise"
            ),
            phrase("let processes lock memory without a limit; a container takes --ulimit memlock=-1:-1"),
            "ulimit -l unlimited",
        )


def _judge_files(host: Host) -> Iterator[Finding]:
    files, most = host.limits.open_files, host.limits.most_open_files
    is_large = count_visible(host) >= 4 or len({each.endpoint.host for each in host.others}) >= 8
    wanted = SOME_FILES if is_large else FEW_FILES
    if files is None or files >= wanted:
        return
    can_raise = most is None or most >= wanted
    yield Finding(
        "few-open-files",
        Severity.RISK,
        "ulimit -n",
        phrase("a process may have {count} files open; {wanted} are wanted here", count=files, wanted=wanted),
        phrase(
            "each tensor that a data loader hands over and each connection to another rank is an open file: training "
            "ends "
            "with “Too many open files”, or “received 0 items of ancdata”, after a while"
        ),
        phrase("raise the limit in the shell that starts the training")
        if can_raise
        else phrase(
            "the hard limit is {most}: raise it in /etc/security/limits.conf, then log in again", most=most or 0
        ),
        f"ulimit -n {wanted if most is None else min(most, 65536)}"
        if can_raise
        else "echo '* - nofile 65536' | sudo tee -a /etc/security/limits.conf",
    )


def judge_amounts(host: Host, asked: Asked) -> Iterator[Finding]:
    """One rank for each GPU is the usual way; a rank has at least a core and a GiB."""
    gpus = count_visible(host)
    ranks = max(1, gpus)
    if host.cores < gpus:
        yield Finding(
            "few-cores",
            Severity.RISK,
            "this machine",
            phrase("a process may use {cores} cores, and {gpus} GPUs are visible", cores=f"{host.cores:g}", gpus=gpus),
            phrase("each GPU has a rank, which prepares data and starts work with a core of its own: the GPUs wait"),
            phrase("give the container or the group of processes more cores, or train with fewer GPUs"),
            "nproc; cat /sys/fs/cgroup/cpu.max",
        )
    if host.memory < ranks * MEMORY_OF_RANK:
        yield Finding(
            "little-memory",
            Severity.RISK,
            "this machine",
            phrase(
                "a process may use {memory} of memory, for {ranks} ranks",
                memory=format_bytes(host.memory),
                ranks=ranks,
            ),
            phrase(
                "a rank takes 300 MB before it has a model, and its launcher as much: the kernel ends one with SIGKILL"
            ),
            phrase("give the container more memory, or start fewer ranks"),
            "free -h; cat /sys/fs/cgroup/memory.max",
        )
