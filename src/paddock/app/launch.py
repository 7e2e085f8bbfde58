"""Starts and stops the local cluster's process (`app.local`) from another process: the command line.

Of two starts at once, the process that acquires the lock serves, and the other waits for it. A killed cluster leaves
the processes of its pods; `stop` ends them too.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from paddock.app import home as homes
from paddock.words.phrases import Foreign, Phrase, phrase

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_EXIT_SECONDS = 20.0


class StartError(Exception):
    """The cluster did not start; the message says why and what to do."""


class StopError(Exception):
    """The cluster did not stop in time; the message names the process."""


@dataclass(frozen=True, slots=True)
class Started:
    """A cluster that is up."""

    running: homes.Running
    seconds: float
    """The duration of the start; 0 if it was up already."""
    fresh: bool
    """It was not up before."""


def start(home: homes.Home, *, port: int = 0, sandbox: str = "auto", idle: float = 600.0) -> Started:
    """Returns the cluster once it is up and ready; starts it if needed. Raises `HomeError`, `StartError`."""
    begun = time.monotonic()
    killed = homes.read_running(home)
    # After a kill `auto` means the killed cluster's sandbox: its pods still run in it.
    if killed is not None and sandbox == "auto":
        sandbox = killed.sandbox
    while True:
        running = wait_until_ready(home, begun) if homes.is_up(home) else None
        if running is not None:
            return Started(running, 0.0, fresh=False)
        homes.create(home)
        message, said = _spawn(home, port, sandbox, idle)
        # "taken": another start acquired the lock first, so the loop waits for its cluster.
        if "taken" not in message:
            break
    if "ready" not in message and (full := homes.explain_full_disk(home)) is not None:
        raise StartError(phrase("the cluster did not start: {full}", full=full))
    if "error" in message:
        raise StartError(phrase("{said}", said=Foreign(str(message["error"]))))
    running = homes.read_running(home)
    if not message or running is None:
        raise StartError(phrase("the cluster ended while it started: {why} (see {path})", why=said, path=str(home.log)))
    return Started(running, time.monotonic() - begun, fresh=True)


def _spawn(home: homes.Home, port: int, sandbox: str, idle: float) -> tuple[dict[str, object], Phrase | Foreign]:
    """What it tells of itself when it is ready or cannot be, nothing where it ended before; and why it ended, as far as
    is known."""
    reader, writer = os.pipe()
    command = [
        sys.executable, "-m", "paddock.app.local", "--home", str(home.root), "--cache", str(home.cache),
        "--ready-fd", str(writer), "--port", str(port), "--sandbox", sandbox, "--idle", str(idle),
    ]  # fmt: skip
    with home.log.open("ab") as log:
        begin = log.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writer,),
            # Ctrl-C in the terminal must not reach the cluster.
            start_new_session=True,
            cwd="/",
        )
    # The pipe ends with the child only if this process does not hold its other end.
    os.close(writer)
    with os.fdopen(reader) as answer:
        ready, _, _ = select.select([answer], [], [], START_SECONDS)
        line = answer.readline() if ready else ""
    message: dict[str, object] = json.loads(line) if line else {}
    code = None if "ready" in message else _wait_for_exit(process)
    return message, explain_exit(code, _read_log(home, begin))


def _wait_for_exit(process: subprocess.Popen[bytes]) -> int | None:
    """Waits until the lock is free, so that the user can start again at once. The exit code, negative of a signal."""
    # A process that hangs is left: `paddock down` ends it.
    with suppress(subprocess.TimeoutExpired):
        return process.wait(_EXIT_SECONDS)
    return None


def wait_until_ready(home: homes.Home, begun: float) -> homes.Running | None:
    """The cluster that another process is starting, once it is ready; None if it ended. Raises `StartError`."""
    while homes.is_up(home):
        running = homes.find_running(home)
        if running is not None:
            return running
        if time.monotonic() - begun > START_SECONDS:
            said = phrase(
                "the cluster has not become ready in {seconds} s: see {path}",
                seconds=f"{START_SECONDS:.0f}", path=str(home.log),
            )  # fmt: skip
            raise StartError(said)
        time.sleep(0.05)
    return None


_SETTINGS = re.compile(
    r"((HTTPS?|ALL|NO)_PROXY|(PIP|UV|SSL|REQUESTS|CURL)_\w+|XDG_(CACHE|CONFIG)_HOME|LD_LIBRARY_PATH)", re.IGNORECASE
)


def find_other_settings(pid: int, environ: Mapping[str, str]) -> list[str]:
    """Names of the variables that builds of environments read, and that differ in process `pid`."""
    import psutil

    try:
        theirs = psutil.Process(pid).environ()
    except psutil.Error:
        return []
    names = {name for name in {*theirs, *environ} if _SETTINGS.fullmatch(name)}
    return sorted(name for name in names if theirs.get(name) != environ.get(name))


_OTHER_MATTER = re.compile(r"\S+ \S+ (INFO|DEBUG) ")


def explain_exit(code: int | None, log: str) -> Phrase | Foreign:
    """Why the cluster's process ended, by its exit code and by what it logged since its start; a line of INFO is about
    another matter. Pure."""
    if code is not None and code < 0:
        return phrase("signal {number} killed it", number=-code)
    reasons = [line for line in log.splitlines() if line.strip() and not _OTHER_MATTER.match(line)]
    return Foreign(reasons[-1]) if reasons else phrase("it said nothing")


def _read_log(home: homes.Home, begin: int) -> str:
    with suppress(OSError), home.log.open("rb") as log:
        log.seek(begin)
        return log.read().decode(errors="replace")
    return ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A cluster that was ended."""

    was_up: bool
    """A cluster was running."""
    leftovers: int
    """The number of a killed cluster's processes that were ended."""


def stop(home: homes.Home) -> Stopped:
    """Ends the cluster and all processes it started. Raises `StopError`."""
    home.pinned.unlink(missing_ok=True)
    was_up = homes.is_up(home) and _stop_process(home)
    return Stopped(was_up, _end_leftovers(home))


def _stop_process(home: homes.Home) -> bool:
    """Whether a cluster was running. The one that holds the lock may have ended by itself meanwhile, or have been
    killed, with threads that have yet to end."""
    deadline = time.monotonic() + STOP_SECONDS
    running = wait_until_ready(home, time.monotonic())
    if running is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    while homes.is_up(home):
        if time.monotonic() > deadline:
            raise StopError(
                phrase(
                    "the cluster (process {pid}) has not ended in {seconds} s: see {path}",
                    pid=running.pid, seconds=f"{STOP_SECONDS:.0f}", path=str(home.log),
                )
            )  # fmt: skip
        time.sleep(0.03)
    return True


def _end_leftovers(home: homes.Home) -> int:
    if not home.node.exists():
        return 0
    from paddock.node.runtime.orphans import end_leftovers

    lock = homes.Lock(home)
    # Another process is starting the cluster, which adopts these processes.
    if not lock.acquire():
        return 0
    lock.write_pid()
    try:
        ended = end_leftovers(home.node, 5.0)
        home.record.unlink(missing_ok=True)
        return ended
    finally:
        lock.release()
