"""`python -m paddock.datasets.fetch`: reads a `Request`, prints `Report`s, and exits with 0 (fetched) or 1."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.folded import fold, unfold
from paddock.datasets.fetch.requests import TERMINATION_VARIABLE, read_request
from paddock.datasets.fetch.run import find_secrets, hide_secrets, run
from paddock.datasets.fetching import REQUEST_VARIABLE, Failed, Fault, Fetched, Report, Request, build_line
from paddock.words.phrases import phrase

_PARENT_SECONDS = 1.0


def main() -> int:
    os.umask(0o022)
    # aiohttp and git send the passwords of ~/.netrc to whatever host a source leads to.
    os.environ["NETRC"] = os.devnull
    is_pod = REQUEST_VARIABLE in os.environ
    secrets: tuple[str, ...] = ()
    try:
        request = read_request(os.environ)
        secrets = find_secrets(request)
        if is_pod:
            unfold(request.target)
        end = asyncio.run(_run(request, 0 if is_pod else os.getppid()))
        if is_pod and isinstance(end, Fetched):
            fold(request.target)
    except FetchError as problem:
        end = Failed(message=problem.message, fault=problem.fault)
    except Exception as error:
        with suppress(OSError, ValueError):
            sys.stderr.write(hide_secrets(secrets, traceback.format_exc()))
        said = hide_secrets(secrets, str(error))[:300]
        fault = phrase("a fault of Paddock: {why}; its log has where", why=f"{type(error).__name__}: {said}")
        end = Failed(message=str(fault), fault=Fault.MACHINE)
    _say(end)
    _leave_message(end)
    return 0 if isinstance(end, Fetched) else 1


async def _run(request: Request, parent: int) -> Fetched | Failed:
    """Ends at SIGTERM, SIGINT and its parent's end: what has come is kept, and nothing more is asked for."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _end)
    if parent:
        loop.call_later(_PARENT_SECONDS, _watch, loop, parent)
    return await run(request, _say)


def _watch(loop: asyncio.AbstractEventLoop, parent: int) -> None:
    """Looks whether the controller that started this process is there; the next one starts another process."""
    if os.getppid() != parent:
        _end()
    loop.call_later(_PARENT_SECONDS, _watch, loop, parent)


def _end() -> None:
    """At once: all that is there may be left at any moment, and a thread may be reading a large file."""
    said = phrase("the fetch was ended; what has come is kept, and it goes on from there")
    end = Failed(message=str(said), fault=Fault.MACHINE)
    _say(end)
    _leave_message(end)
    os._exit(1)


def _say(report: Report) -> None:
    # Nobody may read any more; the end of the controller is noticed by `_watch`.
    with suppress(OSError, ValueError):
        sys.stdout.buffer.write(build_line(report))
        sys.stdout.buffer.flush()


def _leave_message(end: Report) -> None:
    if path := os.environ.get(TERMINATION_VARIABLE):
        with suppress(OSError, ValueError):
            Path(path).write_bytes(build_line(end))


if __name__ == "__main__":
    code = main()
    sys.stdout = None
    os._exit(code)
