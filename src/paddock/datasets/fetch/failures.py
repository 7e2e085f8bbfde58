"""What ends a fetch: a sentence for the user, and whose fault it is."""

from __future__ import annotations

import errno

from paddock.datasets.fetching import Fault
from paddock.words.phrases import Phrase, phrase

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FetchError(Exception):
    """`message`: one sentence, without passwords: what was found, and what to do. In English, as the API stores it."""

    def __init__(self, message: Phrase | str, fault: Fault = Fault.SOURCE) -> None:
        self.message, self.fault = str(message), fault
        super().__init__(self.message)


class NoProgram(FileNotFoundError):
    """A program that a source needs, as git, is not on this machine. `filename`: its name."""


def explain_os_error(error: OSError, target: str) -> FetchError:
    """The failure of a write: the machine's fault, always."""
    if isinstance(error, NoProgram):
        said = phrase("{path}: there is no program ({name})", path=target, name=str(error.filename))
        return FetchError(said, Fault.MACHINE)
    if error.errno in FULL:
        return FetchError(_explain_full(error.errno, target), Fault.MACHINE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        said = phrase("{path} cannot be written ({why}): make it writable", path=target, why=error.strerror or "")
        return FetchError(said, Fault.MACHINE)
    named = f" ({error.filename})" if error.filename else ""
    return FetchError(f"{target}: {error.strerror or error}{named}", Fault.MACHINE)


def _explain_full(number: int | None, target: str) -> Phrase:
    match number:
        case errno.ENOSPC:
            return phrase("{path}: the disk is full: free some space; what was fetched is kept", path=target)
        case errno.EDQUOT:
            return phrase(
                "{path}: the quota of the disk is used up: free some space; what was fetched is kept", path=target
            )
    return phrase(
        "{path}: a file is larger than this machine allows: raise the limit (ulimit -f), or use another disk; what was "
        "fetched is kept",
        path=target,
    )
