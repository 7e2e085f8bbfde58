"""Programs that go on when their starter has ended, known by process id and start time.

`state.json` in a control plane's folder remembers who runs and on which ports. What runs where is decided in
`control_plane` and `node`; a process that this file does not name is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

START_SECONDS = 90
STOP_SECONDS = 5  # etcd holds the data, so an API server that still waits for its watchers to leave may be killed

State = dict[str, Any]
Process = dict[str, Any]


class Failure(Exception):
    """Something that the caller can act on; printed without a traceback."""


def read_start_time(pid: int) -> str | None:
    """The kernel's start time of a live process, or None. With it a reused pid is never taken for ours."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def is_alive(process: Process | None) -> bool:
    return process is not None and read_start_time(process["pid"]) == process["started"]


def start(home: Path, state: State, name: str, argv: Sequence[object]) -> None:
    if is_alive(state["processes"].get(name)):
        return
    log = home / "logs" / f"{name}.log"
    with log.open("ab") as out:
        child = subprocess.Popen(
            [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=home, start_new_session=True
        )
    state["processes"][name] = {"pid": child.pid, "started": read_start_time(child.pid), "argv": [str(a) for a in argv]}
    save(home, state)


def stop(process: Process) -> None:
    for sign, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5)):
        if not is_alive(process):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process["pid"], sign)
        deadline = time.monotonic() + seconds
        while is_alive(process) and time.monotonic() < deadline:
            time.sleep(0.05)


def save(home: Path, state: State) -> None:
    new = home / "state.json.new"
    new.write_text(json.dumps(state, indent=1))
    new.chmod(0o600)
    new.replace(home / "state.json")


def load(home: Path) -> State:
    file = home / "state.json"
    return json.loads(file.read_text()) if file.exists() else {"processes": {}, "ports": {}, "users": {}}


_FIRST_PORT, _LAST_PORT = 20_000, 30_000


def choose_ports(state: State, names: Sequence[str]) -> None:
    """A free port for every name; a port of an earlier `up` is kept, so that kubeconfigs stay good.

    Below those that Linux gives to who wants any (ip_local_port_range): the process that is to listen there starts
    seconds later, and nobody has got its port by then."""
    for name in names:
        while name not in state["ports"]:
            port = secrets.choice(range(_FIRST_PORT, _LAST_PORT))
            with contextlib.suppress(OSError), socket.socket() as free:
                free.bind(("127.0.0.1", port))
                if port not in state["ports"].values():
                    state["ports"][name] = port


def wait(what: str, check: Callable[[], object], process: Process, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if check():
            return
        if not is_alive(process):
            raise Failure(f"{what} ended at once; the end of {log}:\n{tail(log)}")
        time.sleep(0.1)
    raise Failure(f"{what} was not ready after {START_SECONDS} s; the end of {log}:\n{tail(log)}")


def tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
