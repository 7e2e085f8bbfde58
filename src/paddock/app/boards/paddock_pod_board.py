"""Runs in the pod of a board on a cluster, by the Python of the job's image, as old as 3.6, and with nothing of
Paddock's beside it: the text of this file is the argument of `python3 -c`.

    python3 -c TEXT WANTED FIRST PREFIX LANGUAGE IDLE STEP DIRECTORY

It starts TensorBoard or VisualDL on a free port of the pod's loopback, which `port-forward` reaches and no other pod
does, and ends it after IDLE seconds without a connection, looked for every STEP seconds. WANTED: which of them, or
`any`: the one that the files below DIRECTORY are of and the image has; FIRST where there is no file yet. PREFIX: the
path below which all of its pages lie.

What it has to tell is a line of `paddock-board` and JSON. Exit codes: 0 after IDLE seconds and after SIGTERM, 3 where
the image lacks the program, 4 where that has ended by itself.
"""
# ruff: noqa: UP006, UP035, UP045 - Python 3.6

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

LACKS, ENDED = 3, 4
START_SECONDS = 300.0
MOST_ENTRIES = 50000
PATTERNS = {"tensorboard": r"(?:^|\.)tfevents\.", "visualdl": r"^vdl(?:records|graph)\..*\.log$"}
MODULES = {"tensorboard": "tensorboard.main", "visualdl": "visualdl.server.app"}
PLACES = ("/opt/conda/bin/python", "/usr/local/bin/python3", "/usr/bin/python3")
LISTENS, ENDED_STATE = "0A", "06"
LOOPBACK = ("0100007F", "00000000000000000000000001000000")


def count_files(directory: str) -> Dict[str, int]:
    """How many files of each program lie below a directory. Links are not followed."""
    found = dict.fromkeys(PATTERNS, 0)
    entries = 0
    for _, directories, files in os.walk(directory):
        directories[:] = [each for each in directories if not each.startswith(".")]
        entries += len(files) + len(directories)
        for name, pattern in PATTERNS.items():
            found[name] += sum(1 for each in files if re.search(pattern, each))
        if entries > MOST_ENTRIES:
            break
    return found


def list_wanted(wanted: str, first: str, files: Dict[str, int]) -> List[str]:
    """The programs that would do, the better one first."""
    if wanted in PATTERNS:
        return [wanted]
    order = sorted(PATTERNS, key=lambda name: (-files[name], name != first))
    return [name for name in order if files[name]] or order


def list_pythons() -> List[str]:
    """An image may have several, and the one that trains need not be called python3."""
    named = [sys.executable, shutil.which("python"), shutil.which("python3"), *PLACES]
    return [each for each in dict.fromkeys(named) if each and os.access(each, os.X_OK)]


def find_python(module: str) -> str:
    """The Python that has a module; empty for none."""
    text = "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec(sys.argv[1]) else 1)"
    for python in list_pythons():
        try:
            code = subprocess.call(
                [python, "-c", text, module], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if code == 0:
            return python
    return ""


def build_command(python: str, name: str, port: int, prefix: str, language: str, directory: str) -> List[str]:
    words = [python, "-m", MODULES[name], "--logdir=" + directory, "--host=127.0.0.1", f"--port={port}"]
    if name == "tensorboard":
        return [*words, "--path_prefix=" + prefix]
    # Without a language it asks the browser, and fails where that wants neither English nor Chinese.
    return [*words, "--public-path=" + prefix, "--language=" + language, "--disable-telemetry"]


def choose_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def list_connections(table: str, port: int) -> Dict[str, bool]:
    """The connections of this port in a table of /proc/net/tcp, by their ends, and whether each has ended: those stay
    for a minute, at the side that has ended them first. Both sides are in this pod."""
    found = {}
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) > 3 and words[3] != LISTENS:
            (_, here), (there, remote) = words[1].split(":"), words[2].split(":")
            if int(here, 16) == port or (int(remote, 16) == port and there.endswith(LOOPBACK)):
                found[words[1] + " " + words[2]] = words[3] == ENDED_STATE
    return found


def look(port: int) -> Optional[Dict[str, bool]]:
    """The connections; None where that cannot be known."""
    found, tables = {}, 0
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path) as file:  # noqa: PTH123
                found.update(list_connections(file.read(), port))
            tables += 1
        except OSError:
            pass
    return found if tables else None


def is_looked_at(before: Optional[Dict[str, bool]], now: Optional[Dict[str, bool]]) -> bool:
    """Whether there is a connection, or was one since `before`. Where nobody knows, the deadline alone ends it."""
    if before is None or now is None:
        return True
    return any(not ended or ends not in before for ends, ended in now.items())


def tell(**told: Any) -> None:
    sys.stdout.write("paddock-board " + json.dumps(told, sort_keys=True) + "\n")
    sys.stdout.flush()


def end(child: "subprocess.Popen[bytes]") -> None:
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def find_program(wanted: str, first: str, files: Dict[str, int]) -> Tuple[str, str]:
    """A program and the Python that has it. Ends where there is none."""
    names = list_wanted(wanted, first, files)
    for name in names:
        python = find_python(MODULES[name])
        if python:
            return name, python
    tell(lacks=names, says="the image has no " + " and no ".join(names))
    sys.exit(LACKS)


def wait_for(child: "subprocess.Popen[bytes]", port: int) -> bool:
    """Whether the program listens."""
    deadline = time.monotonic() + START_SECONDS
    while not listens(port):
        if child.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def watch(child: "subprocess.Popen[bytes]", port: int, idle: float, step: float) -> int:
    last, before = time.monotonic(), look(port)
    while True:
        try:
            child.wait(step)
        except subprocess.TimeoutExpired:
            pass
        else:
            tell(ended=child.returncode)
            return ENDED
        now = look(port)
        if is_looked_at(before, now):
            last = time.monotonic()
        elif time.monotonic() - last >= idle:
            tell(idle=idle, says="nobody has looked for so many seconds")
            return 0
        before = now


def main(wanted: str, first: str, prefix: str, language: str, idle: str, step: str, directory: str) -> int:
    files = count_files(directory)
    name, python = find_program(wanted, first, files)
    port = choose_port()
    child = subprocess.Popen(build_command(python, name, port, prefix, language, directory), stdin=subprocess.DEVNULL)
    try:
        if not wait_for(child, port):
            tell(ended=child.poll())
            return ENDED
        tell(name=name, port=port, files=files[name], others=sum(files.values()) - files[name])
        return watch(child, port, float(idle), float(step))
    finally:
        end(child)


def leave(*_: Any) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, leave)  # the first process of a container has no default for it
    sys.exit(main(*sys.argv[1:]))
