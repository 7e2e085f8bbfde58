"""Where the local cluster of one user lives, and whether it is up.

    <home>/lock            held (flock) by the cluster's process while it lives, the only proof that it is up; contains
                           its process id
    <home>/cluster.json    the serving process: id, address, start; written when ready, removed at a clean stop
    <home>/pinned          if present, the cluster does not stop by itself
    <home>/cluster.log     the log of the cluster's process
    <home>/api  node  outputs    directories of the API server, of the node, and of the jobs' outputs
    <home>/datasets        the files of datasets (`paddock.datasets.directories`)
    <home>/history         the records of what ran (`paddock.history`); its logs lie in <home>/node/pods

<home> is $PADDOCK_HOME, else $XDG_STATE_HOME/paddock, else ~/.local/state/paddock. Caches are $XDG_CACHE_HOME/paddock;
<cache>/homes has a file for each home whose cluster has used them, named by a digest, with the home's path.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from paddock.words.phrases import Phrase, phrase

UNSANDBOXED = "none"
"""The sandbox of plain processes, in `Running.sandbox`."""


class HomeError(Exception):
    """The home directory cannot be used, for a reason of the user's machine; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Running:
    """The content of cluster.json."""

    pid: int
    url: str
    started: float
    """Seconds since the epoch."""
    version: str
    machine: str
    sandbox: str
    problem: str = ""
    """Why pods do not run in bubblewrap, unless that is what was asked for."""
    console: str = ""


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one local cluster. The constructor creates no file."""

    root: Path
    cache: Path

    @property
    def pod_logs(self) -> Path:
        """The store of the logs of its pods (`kube.pod_logs`)."""
        return self.node / "pods"

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
    def rights_told(self) -> Path:
        """Is there once it was said what programs may do that have no sandbox."""
        return self.root / "rights-told"

    @property
    def enforced(self) -> Path:
        """Is there where containers above their limit of memory are ended that no control group bounds."""
        return self.root / "enforce-limits"

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
    def datasets(self) -> Path:
        return self.root / "datasets"

    @property
    def history(self) -> Path:
        return self.root / "history"

    @property
    def kubeconfig(self) -> Path:
        return self.api / "kubeconfig"


def read_home(environment: Mapping[str, str]) -> Home:
    """The home that the environment variables name."""
    user = Path(environment.get("HOME") or Path.home())
    state = Path(environment.get("XDG_STATE_HOME") or user / ".local" / "state")
    cache = Path(environment.get("XDG_CACHE_HOME") or user / ".cache")
    return Home(Path(environment.get("PADDOCK_HOME") or state / "paddock").absolute(), (cache / "paddock").absolute())


def create(home: Home) -> None:
    """Creates the directory, private to the user. Raises `HomeError` if it cannot be written."""
    import tempfile  # late: only a start needs it

    try:
        home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.root.chmod(0o700)
        with tempfile.TemporaryFile(dir=home.root) as probe:
            probe.write(b"x")
            probe.flush()
    except OSError as error:
        raise _explain_unwritable(home, error) from error


def note_home(home: Home) -> None:
    """Notes in the cache that this home uses it: who cleans up there asks each of them what it needs."""
    from hashlib import sha256  # late: only a start needs it

    note = home.cache / "homes" / sha256(os.fsencode(home.root)).hexdigest()[:16]
    with suppress(OSError):  # a full disk, or a cache that is read-only, starts a cluster too
        if not note.exists():
            note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            note.write_bytes(os.fsencode(home.root))
        for each in note.parent.iterdir():
            if not Path(os.fsdecode(each.read_bytes())).exists():  # the home was removed
                each.unlink()


def list_homes(home: Home) -> list[Path]:
    """The homes that have noted themselves in the cache."""
    with suppress(OSError):
        return [Path(os.fsdecode(each.read_bytes())) for each in (home.cache / "homes").iterdir()]
    return []


def explain_full_disk(home: Home) -> Phrase | None:
    """Which disk of the home takes no record: it is full, or read-only; None without one."""
    from paddock.app.full_disk import find_full_disk  # late: few commands look at disks

    return find_full_disk((home.root, home.api, home.node), home.outputs)


def _explain_unwritable(home: Home, error: OSError) -> HomeError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and (full := explain_full_disk(home)) is not None:
        return HomeError(full)
    return HomeError(
        phrase(
            "{path} cannot be written ({why}): free or repair it, or name another directory in PADDOCK_HOME",
            path=str(home.root), why=str(error.strerror),
        )
    )  # fmt: skip


class Lock:
    """The lock of a home, held until `release` or the end of the process. A cluster writes its process id into it."""

    def __init__(self, home: Home) -> None:
        self._path = home.lock
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Whether this process now holds the lock; False if another process holds it. Raises OSError."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def write_pid(self) -> None:
        """Writes the process id into the held lock: `find_running` compares it with the one in cluster.json."""
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_up(home: Home) -> bool:
    """Whether a process holds the lock. The cluster may still be starting: `find_running` returns it once ready.

    Raises `HomeError` if the lock cannot be opened: on a disk that is mounted read-only, for example.
    """
    if not home.lock.exists():
        return False
    # The lock is the only proof: it ends with its process, while a kill leaves the record and the lock's file.
    lock = Lock(home)
    try:
        held = not lock.acquire()
    except OSError as error:
        raise _explain_unwritable(home, error) from error
    lock.release()
    return held


def may_answer(home: Home) -> bool:
    """As `is_up`, without a cluster that was killed and whose last threads still hold the lock: nothing will answer.

    Raises `HomeError` as `is_up` does."""
    if not is_up(home):
        return False
    try:
        pid = int(home.lock.read_text())
    except (OSError, ValueError):
        # A cluster that starts for the first time has the lock before it writes its process id.
        return True
    return not _is_ending(pid)


def read_running(home: Home) -> Running | None:
    """The record of the last cluster that became ready. A clean stop removes the record, a kill leaves it."""
    try:
        return Running(**json.loads(home.record.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def find_running(home: Home) -> Running | None:
    """The cluster that is up and ready now, or None."""
    running = read_running(home)
    if running is None or not is_up(home):
        return None
    try:
        # After a kill the next cluster holds the lock while the old record is still there: the process ids differ.
        serves = home.lock.read_text() == str(running.pid)
    except OSError:
        return None
    return running if serves and not _is_ending(running.pid) else None


def _is_ending(pid: int) -> bool:
    """Whether the process was killed, and some of its threads have yet to end: only with the last one the lock is
    free, up to 0.1 s later on a busy machine."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        # A process of another PID namespace, which cannot be looked at, still holds the lock.
        return False
    return state in "ZX"


def write_running(home: Home, running: Running) -> None:
    pending = home.record.with_suffix(".tmp")
    pending.touch(mode=0o600)
    pending.write_text(json.dumps(asdict(running)) + "\n")
    # A rename is atomic: a reader never sees half a record.
    pending.replace(home.record)
