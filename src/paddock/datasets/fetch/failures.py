"""What ends a fetch: a sentence for the user, and whose fault it is."""

from __future__ import annotations

import errno

from paddock.datasets.fetching import Fault

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FetchError(Exception):
    """`message`: one sentence, without passwords: what was found, and what to do."""

    def __init__(self, message: str, fault: Fault = Fault.SOURCE) -> None:
        super().__init__(message)
        self.message, self.fault = message, fault


def explain_os_error(error: OSError, target: str) -> FetchError:
    """The failure of a write: the machine's fault, always."""
    if error.errno in FULL:
        return FetchError(f"{target}: {_FULL[error.errno]}; what was fetched is kept", Fault.MACHINE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FetchError(f"{target} cannot be written ({error.strerror}): make it writable", Fault.MACHINE)
    named = f" ({error.filename})" if error.filename else ""
    return FetchError(f"{target}: {error.strerror or error}{named}", Fault.MACHINE)


_FULL = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the quota of the disk is used up: free some space",
    errno.EFBIG: "a file is larger than this machine allows: raise the limit (ulimit -f), or use another disk",
}
