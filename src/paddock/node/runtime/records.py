"""The node's records of pods, and the layout of a pod's files. Survives a `kill -9` of the daemon.

DIRECTORY/records/UID.json                       the state of a pod (`PodState`); 0600, replaced atomically
DIRECTORY/scratch/UID/hosts, volumes/NAME/       the pod's own files; removed with the pod object
DIRECTORY/paddock-copies/HASH/                   files that several pods may have (`paddock.node.runtime.mounts`)
DIRECTORY/scratch/UID/tmp/                       its /tmp in bubblewrap; removed when it has ended
DIRECTORY/scratch/UID/provided/                  what it gets besides its manifest (`containers.Provision`)
DIRECTORY/scratch/UID/CONTAINER-N/               working directory of run N
DIRECTORY/scratch/UID/CONTAINER-N.exit           what run N tells of itself (`paddock.node.runtime.run_files`)
DIRECTORY/scratch/UID/CONTAINER-N.stdin          its input, with `stdin: true` (`paddock.node.runtime.inputs`)
DIRECTORY/scratch/UID/CONTAINER-N.message        its termination message
DIRECTORY/scratch/UID/CONTAINER-N.program        what it was started with, of a pod that may be held (`held`)
DIRECTORY/pods/NAMESPACE_POD_UID/CONTAINER/N.log kubelet's layout; outlives the pod (`paddock.node.runtime.logs`)
                                         N.times when it was printed (`paddock.node.runtime.log_times`)
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from paddock.kube.log_marks import SUFFIX
from paddock.kube.pod_logs import LogDirectory
from paddock.node.runtime.mounts import COPIES, PREFIX, remove_links, remove_memory
from paddock.node.runtime.pod_files import open_for_writing, remove_tree
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.run_files import naming

_log = logging.getLogger(__name__)


class Records:
    """The records of one node directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._records = directory / "records"

    def load(self) -> dict[str, PodState]:
        """Loads all records, by pod UID. An unreadable one (cut by a full disk) is renamed, with a warning."""
        found = {}
        for path in sorted(self._records.glob("*.json")) if self._records.is_dir() else ():
            try:
                state = msgspec.json.decode(path.read_bytes(), type=PodState)
            except (OSError, msgspec.MsgspecError) as error:
                _log.warning("the record of a pod, %s, cannot be read and is put aside: %s", path, error)
                path.replace(path.with_suffix(".unreadable"))
                continue
            found[state.uid] = state
        return found

    def save(self, state: PodState, *, durable: bool = False) -> None:
        """`durable`: it also survives that the machine goes down. Raises OSError, which names the path."""
        self._records.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._records / f"{state.uid}.json"
        # Written aside and renamed: a `kill -9` of the daemon must not leave half a record.
        fresh = path.with_suffix(".new")
        with naming(fresh), os.fdopen(open_for_writing(fresh, os.O_TRUNC), "wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            if durable:
                os.fsync(file.fileno())
        fresh.replace(path)
        if durable:
            _sync_directory(self._records)

    def try_save(self, state: PodState) -> None:
        """Saves, or warns on error: for a change that has already happened and must not fail because of a full disk."""
        try:
            self.save(state)
        except OSError as error:
            _log.warning("the record of pod %s/%s cannot be written: %s", state.namespace, state.name, error)

    def remove(self, state: PodState) -> None:
        """Removes a pod's scratch directory and record. Its logs stay."""
        remove_tree(self.scratch(state.uid))
        (self._records / f"{state.uid}.json").unlink(missing_ok=True)

    def remove_run(self, state: PodState, run: Run) -> None:
        """Removes all files of one run, including its log."""
        remove_tree(self.work_directory(state.uid, run))
        for path in (self.run_file, self.termination_file, self.input_file, self.program_file):
            path(state.uid, run).unlink(missing_ok=True)
        for log in (self.log_file(state, run), self.log_file(state, run).with_suffix(SUFFIX)):
            log.unlink(missing_ok=True)

    def remove_programs(self, state: PodState) -> None:
        """What the containers of a pod could be entered with again, once nobody may any more."""
        for run in (*state.runs.values(), *state.earlier.values()):
            self.program_file(state.uid, run).unlink(missing_ok=True)

    def remove_outside(self, state: PodState, kept: frozenset[str] = frozenset()) -> None:
        """Removes a pod's paths in shared places, except those that other pods still use (`kept`)."""
        self.remove_links(state, kept)
        self.remove_temporary(state)

    def remove_links(self, state: PodState, kept: frozenset[str]) -> None:
        """The part of `remove_outside` that other pods may share. Quick."""
        remove_links(path for path in state.outside if path not in kept)

    def remove_temporary(self, state: PodState) -> None:
        """The part of `remove_outside` that is the pod's own. Slow, if it wrote many files."""
        self.remove_memory(state)
        remove_tree(temporary_directory(state.uid))
        remove_tree(self.private_tmp(state.uid))

    def remove_memory(self, state: PodState) -> None:
        remove_memory(state.outside, state.uid)

    def remove_copies(self, paths: Iterable[str], kept: frozenset[str]) -> None:
        """Removes the shared files among the paths, except those that other pods have (`kept`)."""
        for path in paths:
            if path not in kept and Path(path).parent == self.copies:
                remove_tree(Path(path))

    @property
    def copies(self) -> Path:
        return self.directory / COPIES

    def scratch(self, uid: str) -> Path:
        return self.directory / "scratch" / uid

    def private_tmp(self, uid: str) -> Path:
        """What a pod with mounts has at /tmp."""
        return self.scratch(uid) / "tmp"

    def provided(self, uid: str) -> Path:
        """Seen at this path in every sandbox."""
        return self.scratch(uid) / "provided"

    def hosts(self, uid: str) -> Path:
        return self.scratch(uid) / "hosts"

    def work_directory(self, uid: str, run: Run) -> Path:
        return self.scratch(uid) / f"{run.container}-{run.number}"

    def log_file(self, state: PodState, run: Run) -> Path:
        logs = log_directory(self.directory, state.namespace, state.name, state.uid)
        return logs / run.container / f"{run.number}.log"

    def run_file(self, uid: str, run: Run) -> Path:
        return self.scratch(uid) / f"{run.container}-{run.number}.exit"

    def input_file(self, uid: str, run: Run) -> Path:
        return self.scratch(uid) / f"{run.container}-{run.number}.stdin"

    def program_file(self, uid: str, run: Run) -> Path:
        return self.scratch(uid) / f"{run.container}-{run.number}.program"

    def termination_file(self, uid: str, run: Run) -> Path:
        return self.scratch(uid) / f"{run.container}-{run.number}.message"


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def temporary_directory(uid: str) -> Path:
    """The TMPDIR of a pod without mounts. A short path outside its scratch directory: a Unix socket's path has at most
    107 characters."""
    return Path(tempfile.gettempdir()) / f"{PREFIX}{uid}"


def log_directory(directory: Path, namespace: str, name: str, uid: str) -> Path:
    """The directory of a pod's logs, in the store of the node's `directory`."""
    return directory / "pods" / LogDirectory(namespace, name, uid).name
