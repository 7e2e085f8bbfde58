"""Why a container cannot be started although nothing is wrong with its manifest: a fault of the machine. Pure.

A full disk or a limit on files is no mistake of whoever wrote the manifest, so it has a reason of its own and says what
to do. The start is tried again in any case.
"""

from __future__ import annotations

import errno
from pathlib import Path

from paddock.node.runtime.container_env import ContainerWaiting
from paddock.words.phrases import Phrase, phrase

CREATE_ERROR = "CreateContainerError"
MACHINE_FAULT = "MachineFault"
"""A reason of ours, as Kubernetes has none for it."""


def explain_os_error(error: OSError, directory: Path) -> ContainerWaiting:
    """Why the container waits: the fault with its path, and what to do. `directory`: where the path is if the error
    names none."""
    if (said := _explain_fault(error.errno or 0, str(error.filename or directory))) is not None:
        return ContainerWaiting(said, MACHINE_FAULT)
    where = f": {error.filename}" if error.filename else ""
    return ContainerWaiting(f"{error.strerror or error}{where}", CREATE_ERROR)


def refuse_fault(error: OSError, path: Path) -> None:
    """Raises `ContainerWaiting` for a fault of the machine; what is none is the caller's to tell."""
    if (said := _explain_fault(error.errno or 0, str(error.filename or path))) is not None:
        raise ContainerWaiting(said, MACHINE_FAULT) from error


def _explain_fault(number: int, path: str) -> Phrase | None:
    """None for what is no fault of the machine."""
    match number:
        case errno.ENOSPC:
            return phrase("the disk of {path} is full: make room on it; it is tried again by itself", path=path)
        case errno.EDQUOT:
            return phrase(
                "the quota of the disk of {path} is used up: make room or raise it; it is tried again by itself",
                path=path,
            )
        case errno.EROFS:
            return phrase(
                "{path} is on a disk that is mounted read-only: mount it writable (see dmesg for why); it is tried "
                "again by itself",
                path=path,
            )
        case errno.EIO:
            return phrase(
                "the disk of {path} fails with an input/output error: see dmesg; it is tried again by itself", path=path
            )
        case errno.EMFILE:
            return phrase(
                "the cluster has as many files open as it may: raise the limit (ulimit -n) and restart it; it is tried "
                "again by itself"
            )
        case errno.ENFILE:
            return phrase(
                "this machine has as many files open as it may: raise fs.file-max (sysctl); it is tried again by itself"
            )
    return None
