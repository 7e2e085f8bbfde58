"""Where the local cluster of one user lives, and whether it is up.

    <home>/lock            held (flock) by the cluster's process for as long as it lives: the only sign of life trusted;
                           holds its process id
    <home>/cluster.json    who serves: process id, address, since when; written when ready, removed at a clean stop
    <home>/pinned          there: the cluster does not stop by itself
    <home>/cluster.log     what the cluster's process says
    <home>/api  node  outputs    of the API server, the node, and the jobs' own directories

<home> is $PADDOCK_HOME, else $XDG_STATE_HOME/paddock, else ~/.local/state/paddock. Caches are $XDG_CACHE_HOME/paddock.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


class HomeError(Exception):
    """The home directory cannot be used; the message says why and what to do. The user's machine's fault."""


@dataclass(frozen=True, slots=True)
class Running:
    """What cluster.json says of the cluster that is up. `started` in seconds since the epoch."""

    pid: int
    url: str
    started: float
    version: str
    machine: str
    sandbox: str


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one local cluster. Nothing is created by making one."""

    root: Path
    cache: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def record(self) -> Path:
        return self.root / "cluster.json"

    @property
    def pinned(self) -> Path:
        return self.root / "pinned"

    @property
    def log(self) -> Path:
        return self.root / "cluster.log"

    @property
    def api(self) -> Path:
        return self.root / "api"

    @property
    def node(self) -> Path:
        return self.root / "node"

    @property
    def outputs(self) -> Path:
        return self.root / "outputs"

    @property
    def kubeconfig(self) -> Path:
        return self.api / "kubeconfig"


def read_home(environment: Mapping[str, str]) -> Home:
    """The home that the environment variables name."""
    user = Path(environment.get("HOME") or Path.home())
    state = Path(environment.get("XDG_STATE_HOME") or user / ".local" / "state")
    cache = Path(environment.get("XDG_CACHE_HOME") or user / ".cache")
    return Home(Path(environment.get("PADDOCK_HOME") or state / "paddock").absolute(), (cache / "paddock").absolute())


def make(home: Home) -> None:
    """Make the directory, private to the user. `HomeError` when it cannot be written."""
    try:
        home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.root.chmod(0o700)
        with tempfile.TemporaryFile(dir=home.root) as probe:
            probe.write(b"x")
            probe.flush()
    except OSError as error:
        raise HomeError(
            f"{home.root} cannot be written ({error.strerror}): free or repair it, "
            "or name another directory in PADDOCK_HOME"
        ) from error


class Lock:
    """The lock of a home, for the life of the process that takes it. Whoever holds it for long signs it."""

    def __init__(self, home: Home) -> None:
        self._path = home.lock
        self._descriptor: int | None = None

    def take(self) -> bool:
        """True when it is ours now; False when another process has it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def sign(self) -> None:
        """Write this process's number into the lock that it holds: `find_running` goes by it."""
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_up(home: Home) -> bool:
    """Whether a process holds the lock. It may still be starting: `find_running` says when it is ready."""
    if not home.lock.exists():
        return False
    lock = Lock(home)
    if lock.take():
        lock.release()
        return False
    return True


def read_running(home: Home) -> Running | None:
    """What the last cluster recorded when it became ready; a clean stop removes it, a kill leaves it there."""
    try:
        return Running(**json.loads(home.record.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def find_running(home: Home) -> Running | None:
    """The cluster that is up and ready now. A record that a killed one has left is not taken for it."""
    running = read_running(home)
    if running is None or not is_up(home):
        return None
    try:
        return running if home.lock.read_text() == str(running.pid) else None
    except OSError:
        return None


def write_running(home: Home, running: Running) -> None:
    pending = home.record.with_suffix(".tmp")
    pending.touch(mode=0o600)
    pending.write_text(json.dumps(asdict(running)) + "\n")
    pending.replace(home.record)
