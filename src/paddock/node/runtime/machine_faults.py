"""Why a container cannot be started although nothing is wrong with its manifest: a fault of the machine. Pure.

A full disk or a limit on files is no mistake of whoever wrote the manifest, so it has a reason of its own and says what
to do. The start is tried again in any case.
"""

from __future__ import annotations

import errno
from pathlib import Path

from paddock.node.runtime.container_env import ContainerWaiting

CREATE_ERROR = "CreateContainerError"
MACHINE_FAULT = "MachineFault"
"""A reason of ours, as Kubernetes has none for it."""
_AGAIN = "it is tried again by itself"
_SENTENCES = {
    errno.ENOSPC: f"the disk of {{path}} is full: make room on it; {_AGAIN}",
    errno.EDQUOT: f"the quota of the disk of {{path}} is used up: make room or raise it; {_AGAIN}",
    errno.EROFS: f"{{path}} is on a disk that is mounted read-only: mount it writable (see dmesg for why); {_AGAIN}",
    errno.EIO: f"the disk of {{path}} fails with an input/output error: see dmesg; {_AGAIN}",
    errno.EMFILE: f"the cluster has as many files open as it may: raise the limit (ulimit -n) and restart it; {_AGAIN}",
    errno.ENFILE: f"this machine has as many files open as it may: raise fs.file-max (sysctl); {_AGAIN}",
}


def explain_os_error(error: OSError, directory: Path) -> ContainerWaiting:
    """Why the container waits: the fault with its path, and what to do. `directory`: where the path is if the error
    names none."""
    sentence = _SENTENCES.get(error.errno or 0)
    if sentence is not None:
        return ContainerWaiting(sentence.format(path=error.filename or directory), MACHINE_FAULT)
    where = f": {error.filename}" if error.filename else ""
    return ContainerWaiting(f"{error.strerror or error}{where}", CREATE_ERROR)
