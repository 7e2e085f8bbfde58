"""Start and stop the local cluster's process from another one: the command line's side of `app.local`.

Two starts at once end in one cluster: the lock decides who serves, and the other waits for it. A cluster that was
killed left pods behind, as processes; `end` finds and ends them without it.
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

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_END_SECONDS = 5.0


class StartError(Exception):
    """The cluster did not start; the message says why and what to do."""


class StopError(Exception):
    """The cluster did not stop in time; the message names the process."""


@dataclass(frozen=True, slots=True)
class Started:
    """`seconds` it took to be ready; 0 when it was up already (`fresh` is False)."""

    running: homes.Running
    seconds: float
    fresh: bool


def start(home: homes.Home, *, port: int = 0, sandbox: str = "auto", idle: float = 600.0) -> Started:
    """Make sure that the cluster is up and ready. Raises `HomeError`, `StartError`.

    After a kill `auto` means the sandbox that the killed one had: its pods live on in it.
    """
    begun = time.monotonic()
    killed = homes.read_running(home)
    if killed is not None and sandbox == "auto":
        sandbox = killed.sandbox
    while True:
        running = _await_running(home, begun) if homes.is_up(home) else None
        if running is not None:
            return Started(running, 0.0, fresh=False)
        homes.make(home)
        message = _spawn(home, port, sandbox, idle)
        if "taken" not in message:  # else somebody was faster: look again
            break
    if "error" in message:
        raise StartError(f"{message['error']}")
    running = homes.read_running(home)
    if not message or running is None:
        raise StartError(f"the cluster ended while it started: {last_words(home)}")
    return Started(running, time.monotonic() - begun, fresh=True)


def _spawn(home: homes.Home, port: int, sandbox: str, idle: float) -> dict[str, object]:
    reader, writer = os.pipe()
    command = [
        sys.executable, "-m", "paddock.app.local", "--home", str(home.root), "--cache", str(home.cache),
        "--ready-fd", str(writer), "--port", str(port), "--sandbox", sandbox, "--idle", str(idle),
    ]  # fmt: skip
    with home.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writer,),
            start_new_session=True,
            cwd="/",
        )
    os.close(writer)
    with os.fdopen(reader) as answer:
        ready, _, _ = select.select([answer], [], [], START_SECONDS)
        line = answer.readline() if ready else ""
    message: dict[str, object] = json.loads(line) if line else {}
    if "ready" not in message:
        _await_end(process)
    return message


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """So that the lock is free when the failure is told. One that hangs is left to `down`."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)


def _await_running(home: homes.Home, begun: float) -> homes.Running | None:
    """The cluster that another process is starting, once it is ready; None if it is gone. Raises `StartError`."""
    while homes.is_up(home):
        running = homes.find_running(home)
        if running is not None:
            return running
        if time.monotonic() - begun > START_SECONDS:
            raise StartError(f"the cluster has not become ready in {START_SECONDS:.0f} s: see {home.log}")
        time.sleep(0.05)
    return None


_SETTINGS = re.compile(
    r"((HTTPS?|ALL|NO)_PROXY|(PIP|UV|SSL|REQUESTS|CURL)_\w+|XDG_(CACHE|CONFIG)_HOME|LD_LIBRARY_PATH)", re.IGNORECASE
)


def find_other_settings(pid: int, environ: Mapping[str, str]) -> list[str]:
    """Names of the variables, of those that the building of environments heeds, that process `pid` has otherwise."""
    import psutil

    try:
        theirs = psutil.Process(pid).environ()
    except psutil.Error:
        return []
    names = {name for name in {*theirs, *environ} if _SETTINGS.fullmatch(name)}
    return sorted(name for name in names if theirs.get(name) != environ.get(name))


def last_words(home: homes.Home) -> str:
    """The last line of the cluster's log, and where the rest is: for a message."""
    try:
        lines = home.log.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    return f"{lines[-1] if lines else 'it said nothing'} (see {home.log})"


@dataclass(frozen=True, slots=True)
class Stopped:
    """`was_up`: a cluster was serving. `leftovers`: processes of a killed cluster that were ended."""

    was_up: bool
    leftovers: int


def stop(home: homes.Home) -> Stopped:
    """End the cluster and every process it started. Raises `StopError`."""
    home.pinned.unlink(missing_ok=True)
    was_up = homes.is_up(home)
    if was_up:
        _stop_process(home)
    return Stopped(was_up, _end_leftovers(home))


def _stop_process(home: homes.Home) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    running = _await_running(home, time.monotonic())
    if running is None:  # it has ended by itself meanwhile
        return
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    while homes.is_up(home):
        if time.monotonic() > deadline:
            raise StopError(
                f"the cluster (process {running.pid}) has not ended in {STOP_SECONDS:.0f} s: see {home.log}"
            )
        time.sleep(0.03)


def _end_leftovers(home: homes.Home) -> int:
    if not home.node.exists():
        return 0
    from paddock.node.endings import end_leftovers

    lock = homes.Lock(home)
    if not lock.take():  # somebody starts it again at this very moment: these processes are theirs
        return 0
    lock.sign()
    try:
        ended = end_leftovers(home.node, 5.0)
        home.record.unlink(missing_ok=True)
        return ended
    finally:
        lock.release()
