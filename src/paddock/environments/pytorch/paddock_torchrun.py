"""Tells torchrun the exception that ended one of its processes, as torch's `@record` does, and what a program said by
`sys.exit`, as a parser of options does. Written by Paddock.

It runs inside of a job's environment, in each Python that has TORCHELASTIC_ERROR_FILE: torchrun sets it for every
process that it starts, and prints what is in that file in its report, the last lines of its log. Without the file the
report has an exit code alone. The exception goes on as it would have, and the file of a program with `@record` stays as
it is. The module imports nothing of torch or of Paddock, and needs Python 3.9.

Source: torch 2.13, `torch/distributed/elastic/multiprocessing/errors/error_handler.py`.
"""

from __future__ import annotations

import os
import sys

# Each process of a torchrun reads this module at its start: what it imports is imported at its end.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]

SWITCH = "TORCHELASTIC_ERROR_FILE"
OWNER = "PADDOCK_ERROR_FILE_OF"
LARGEST = 1_200
"""Bytes of a traceback in the report: with the 400 of the report's other lines they fit into the 2,048 that a kubelet
keeps of a failed container's log."""
_LARGEST_MESSAGE = 500
LOST_PEER = (
    "Connection closed by peer", "Connection reset by peer", "Broken pipe", "remote process exited", "failed to recv",
    "Connection was likely closed", "clients joined", "client socket has",
)  # fmt: skip
"""Of errors that follow from the end of another process, and are not told: of several that it is told of torchrun takes
the earliest for the cause, and a process that exits or is killed tells it nothing."""
_RUN = "TORCHELASTIC_RUN_ID"
_HEADER = "Traceback (most recent call last):\n"


def install() -> None:
    """Once in each process that a torchrun has started, not in those that such a process starts itself: their errors
    may be caught."""
    path, own = os.environ.get(SWITCH, ""), str(os.getpid())
    owner, _, owned = os.environ.get(OWNER, "").partition(" ")
    # Without a run the file is the user's own, for torchrun itself.
    if not (path and os.environ.get(_RUN)) or (owned == path and owner != own):
        return
    os.environ[OWNER] = f"{own} {path}"
    sys.excepthook = _recording(path, sys.excepthook)
    sys.exit = _telling(path, sys.exit)  # type: ignore[assignment]


def _recording(path: str, before: Hook) -> Hook:
    process = os.getpid()

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            # A fork has its own errors. KeyboardInterrupt is no Exception.
            if issubclass(kind, Exception) and os.getpid() == process and not is_lost_peer(error):
                _write(path, kind, error, trace)
        except Exception as failed:
            sys.stderr.write(f"paddock: torchrun is not told of this error: {failed!r}\n")
        before(kind, error, trace)

    return excepthook


_exits: list[str] = []
"""What was written of an exit: a program may catch it, and end by something else later."""


def _telling(path: str, before: Callable[..., object]) -> Callable[..., object]:
    """`sys.exit` that tells its text first."""
    import _thread  # what `threading` is made of, and imported already

    process, thread = os.getpid(), _thread.get_ident()

    def exit(status: object = None, /) -> object:
        try:
            if os.getpid() == process and _thread.get_ident() == thread:
                _tell(path, find_said(status))
        except Exception as failed:
            sys.stderr.write(f"paddock: torchrun is not told of this exit: {failed!r}\n")
        return before(status)

    return exit


def _tell(path: str, said: str) -> None:
    if said and not (_is_written(path) and not _exits):
        _put(path, said, said)
        _exits[:] = [said]


def find_said(status: object) -> str:
    """The text of an exit; empty where it has none, or is a good one: that of `sys.exit("…")`, what argparse prints
    before it exits with 2, and the exception that is handled."""
    if not status:
        return ""
    if not isinstance(status, int):
        return _cut(str(status), _LARGEST_MESSAGE)
    # 0 is `find_said`, 1 `_telling`'s exit, 2 the caller of `sys.exit`.
    caller = sys._getframe(2)
    if caller.f_globals.get("__name__") == "argparse":
        return _cut(str(caller.f_locals.get("message") or "").strip(), _LARGEST_MESSAGE)
    error = sys.exc_info()[1]
    if not isinstance(error, Exception) or is_lost_peer(error):
        return ""
    return _cut(f"{type(error).__name__}: {error}", _LARGEST_MESSAGE)


def is_lost_peer(error: BaseException) -> bool:
    text = str(error)
    return any(each in text for each in LOST_PEER)


def _write(path: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if _is_written(path) and not _exits:
        return
    _put(path, f"{kind.__name__}: {error}", explain(kind, error, trace))


def _is_written(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0  # noqa: PTH113, PTH202 - pathlib would be imported


def _put(path: str, message: str, stack: str) -> None:
    import json
    import time

    said = {"py_callstack": stack, "timestamp": str(int(time.time()))}
    whole = json.dumps({"message": {"message": message, "extraInfo": said}})
    # torchrun fails by a piece of a file, and may end this process at any time.
    piece = f"{path}.{os.getpid()}"
    with open(piece, "w") as stream:  # noqa: PTH123
        stream.write(whole)
    os.replace(piece, path)  # noqa: PTH105


def explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """The traceback as Python prints it; of one that is too long the last calls and the beginning of the message."""
    import traceback

    whole = "".join(traceback.format_exception(kind, error, trace))
    if _size(whole) <= LARGEST:
        return whole
    message = _cut("".join(traceback.format_exception_only(kind, error)), _LARGEST_MESSAGE)
    room, calls = LARGEST - _size(_HEADER) - _size(message), []
    for call in reversed(traceback.format_tb(trace)):
        room -= _size(call)
        if room < 0:
            break
        calls.append(call)
    return "".join((_HEADER, *reversed(calls), message))


def _size(text: str) -> int:
    """In torchrun's report, which indents each line by two."""
    return len(text.encode(errors="replace")) + 2 * text.count("\n")


def _cut(text: str, largest: int) -> str:
    if _size(text) <= largest:
        return text
    return text.encode(errors="replace")[:largest].decode(errors="ignore").rstrip() + " …\n"
