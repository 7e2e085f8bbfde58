"""A control group for each run of a container: its memory is limited, its processes are counted, and an end by the
kernel for want of memory is known for certain. Linux only, cgroup v1 and v2.

It is there where this process may make groups: root, mostly, and a user whose systemd has delegated its own part of the
tree, where this process was started in that part. It is tried once (`find_cgroups`), as no setting tells it. Elsewhere
there are none (`NO_CGROUPS`), and `node.usage` watches.

    <base>/paddock-DIGEST/UID-CONTAINER-NUMBER      base: where this process is itself, or above it
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from paddock.node.runtime.pod_state import Run
from paddock.words.phrases import phrase

_log = logging.getLogger(__name__)

_JOIN = (
    'said=$1; shift; while [ "$1" != -- ]; do { echo 0 >"$1"; } 2>/dev/null || printf "%s: %s\\n" "$said" "$1" >&2; '
    'shift; done; shift; exec "$@"'
)
"""A shell puts itself into the groups, and becomes the program: nothing of it has run before. Where it cannot, it says
so in the program's log."""
_TELL = 'printf "%s\\n" "$1" >&2; shift; exec "$@"'
_LEAST, _FOR_EACH_CORE = 4096, 512
_CONTROLLERS = ("memory", "pids")
_DOORS = {1: "tasks", 2: "cgroup.procs"}
"""By version: where a process that has one thread writes 0 to join a group. In version 1 `cgroup.procs` moves it too,
but stops all forks of the machine first and waits for that, 10 ms each (cgroup_attach_lock, Linux since 5.5); version 2
has no other."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Where groups of some controllers are made."""

    version: int  # of cgroups: 1 or 2
    path: Path
    controllers: frozenset[str]


@dataclass(frozen=True, slots=True)
class MemoryEnd:
    """What the kernel tells of the memory of a run that has ended. Bytes."""

    kills: int  # processes of it that were killed for want of memory
    used: int  # the most at one time
    limit: int | None  # None without one


def count_most_processes(cores: float) -> int:
    """How many processes and threads a container may have: more than programs that train have, of which each takes as
    many threads as there are cores some times over; few enough that the machine goes on."""
    return max(_LEAST, round(_FOR_EACH_CORE * cores))


def find_trees(mounts: str, own: str) -> list[Tree]:
    """The directories in which groups may be made, the nearest to this process first. `mounts`: proc(5)'s mountinfo of
    this process, `own`: its cgroup. Pure; whether one can be written is not known here."""
    found: list[Tree] = []
    paths = dict(_read_own(own))
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), (*after.split(), "", "", "")[:3]
        if kind == "cgroup":
            for controller in set(_CONTROLLERS) & set(options.split(",")):
                path = _place(fields[3], fields[4], paths.get(controller, ""))
                found += [Tree(1, path, frozenset({controller}))] if path is not None else []
        elif kind == "cgroup2" and (path := _place(fields[3], fields[4], paths.get("", ""))) is not None:
            above = [path, *path.parents]
            mount = Path(_unescape(fields[4]))
            found += [Tree(2, each, frozenset(_CONTROLLERS)) for each in above if each.is_relative_to(mount)]
    return sorted(found, key=lambda tree: tree.version)


def _read_own(own: str) -> Iterator[tuple[str, str]]:
    """The path by controller; by an empty name that of version 2."""
    for line in own.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        yield from ((controller, path) for controller in controllers.split(","))


def _place(root: str, mount: str, path: str) -> Path | None:
    """The directory of a group in a file system of which `root` is mounted; None where it is not in that part."""
    root = _unescape(root).rstrip("/")
    if not path.startswith("/") or not (path == root or path.startswith(f"{root}/")):
        return None
    return Path(_unescape(mount)) / path[len(root) :].lstrip("/")


def _unescape(text: str) -> str:
    return text.replace("\\040", " ").replace("\\134", "\\")


@dataclass(slots=True)
class Cgroups:
    """The groups of one node directory."""

    trees: Sequence[Tree] = ()
    """In which this node's directory is, with the controllers that work there."""
    most: int = _LEAST
    """Processes and threads of a container."""
    _left: set[str] = field(default_factory=set)
    """Groups that had a process when they were to be removed."""

    @property
    def limits_memory(self) -> bool:
        return any("memory" in tree.controllers for tree in self.trees)

    @property
    def counts_processes(self) -> bool:
        return any("pids" in tree.controllers for tree in self.trees)

    def enclose(self, command: Sequence[str], uid: str, run: Run, memory: int | None) -> list[str]:
        """The command that joins the run's groups, which are made, before it becomes `command`. `memory`: the limit in
        bytes. Without groups it is `command` alone; where they cannot be made or joined, what runs says so first, and
        is watched as if there were none (`has`)."""
        if not self.trees:
            return list(command)
        self._remove_left()
        name = name_group(uid, run)
        try:
            joined = [str(self._make(tree, name, memory) / _DOORS[tree.version]) for tree in self.trees]
        except OSError as error:
            _log.warning("%s of pod %s starts without a control group: %s", run.container, uid, error)
            self.remove(uid, run)
            return ["/bin/sh", "-c", _TELL, "sh", f"{explain_outside()}: {error}", *command]
        return ["/bin/sh", "-c", _JOIN, "sh", explain_outside(), *joined, "--", *command]

    def _make(self, tree: Tree, name: str, memory: int | None) -> Path:
        group = tree.path / name
        group.mkdir(exist_ok=True)
        if "memory" in tree.controllers:
            _limit_memory(tree.version, group, memory)
        if "pids" in tree.controllers:
            (group / "pids.max").write_text(str(self.most))
        return group

    def has(self, uid: str, run: Run, controller: str) -> bool:
        """Whether the run is in a group of this controller: one that it could not join is there, and empty."""
        name = name_group(uid, run)
        return any(controller in tree.controllers and _is_joined(tree.path / name) for tree in self.trees)

    def list_doors(self, uid: str, run: Run) -> tuple[str, ...]:
        """The files by which a process that has one thread joins the groups of a run."""
        doors = (tree.path / name_group(uid, run) / _DOORS[tree.version] for tree in self.trees)
        return tuple(str(door) for door in doors if door.exists())

    def read_end(self, uid: str, run: Run) -> MemoryEnd | None:
        """None where nothing is known. Before `remove`."""
        for tree in self.trees:
            group = tree.path / name_group(uid, run)
            if "memory" in tree.controllers and group.is_dir():
                with suppress(OSError, ValueError):
                    return _read_end(tree.version, group)
        return None

    def remove(self, uid: str, run: Run) -> None:
        """The run has ended. A process of it may still be ending: then the group is removed with a later one."""
        if self.trees:
            self._left.add(name_group(uid, run))
            self._remove_left()

    def sweep(self, running: Collection[tuple[str, Run]]) -> None:
        """Removes what an earlier kubelet has left."""
        kept = {name_group(uid, run) for uid, run in running}
        for tree in self.trees:
            with suppress(OSError):
                self._left |= {each.name for each in tree.path.iterdir() if each.is_dir()} - kept
        self._remove_left()

    def close(self) -> None:
        """Removes this node's own directories, where nothing is in them any more."""
        self._remove_left()
        for tree in self.trees:
            with suppress(OSError):
                tree.path.rmdir()

    def _remove_left(self) -> None:
        for name in list(self._left):
            if all(_is_removed(tree.path / name) for tree in self.trees):
                self._left.discard(name)


NO_CGROUPS = Cgroups()


def name_group(uid: str, run: Run) -> str:
    """One name of a directory, whatever the names in it are."""
    return quote(f"{uid}-{run.container}-{run.number}", safe="", errors="backslashreplace")


def explain_outside() -> str:
    """What is said of a run that is in no control group; why follows it."""
    return str(
        phrase(
            "paddock: this container is in no control group: its memory and its processes are watched, "
            "and not limited by the kernel"
        )
    )


def _is_joined(group: Path) -> bool:
    try:
        return bool((group / "cgroup.procs").read_text())
    except OSError:
        return False


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _limit_memory(version: int, group: Path, limit: int | None) -> None:
    """Swap is no memory that a limit leaves, as on a cluster; a kernel may count none."""
    if version == 2:
        (group / "memory.max").write_text("max" if limit is None else str(limit))
        if limit is not None:
            with suppress(OSError):
                (group / "memory.swap.max").write_text("0")
        with suppress(OSError):  # before Linux 4.19; all processes end, as on a cluster
            (group / "memory.oom.group").write_text("1")
    elif limit is not None:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        with suppress(OSError):
            (group / "memory.memsw.limit_in_bytes").write_text(str(limit))


def _read_end(version: int, group: Path) -> MemoryEnd:
    if version == 2:
        kills = _read_count(group / "memory.events", "oom_kill")
        text = (group / "memory.max").read_text().strip()
        limit = None if text == "max" else int(text)
        try:
            used = int((group / "memory.peak").read_text())
        except FileNotFoundError:  # before Linux 5.19
            used = limit or 0
        return MemoryEnd(kills, used, limit)
    kills = _read_count(group / "memory.oom_control", "oom_kill")
    bytes_ = int((group / "memory.limit_in_bytes").read_text())
    used = int((group / "memory.max_usage_in_bytes").read_text())
    return MemoryEnd(kills, used, bytes_ if bytes_ < 2**60 else None)  # the kernel's "none" is near 2**63


def _read_count(path: Path, name: str) -> int:
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(words[1]) for words in lines if words[:1] == [name]), 0)


# What works here


def find_cgroups(directory: Path, cores: float) -> Cgroups:
    """Those of the node with this directory; `NO_CGROUPS` where none can be made. Tries it, which takes some ms."""
    try:
        mounts, own = Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
    except OSError:
        return NO_CGROUPS
    name = f"paddock-{hashlib.sha256(os.fsencode(directory.absolute())).hexdigest()[:12]}"
    return try_trees(find_trees(mounts, own), name, count_most_processes(cores))


def try_trees(candidates: Sequence[Tree], name: str, most: int) -> Cgroups:
    """The first that work, at most one for each controller. `name`: of the directory in them."""
    chosen: list[Tree] = []
    for tree in candidates:
        wanted = tree.controllers - {each for known in chosen for each in known.controllers}
        if wanted and (made := _try(tree, wanted, name, most)) is not None:
            chosen.append(made)
    return Cgroups(tuple(chosen), most) if chosen else NO_CGROUPS


def _try(tree: Tree, wanted: frozenset[str], name: str, most: int) -> Tree | None:
    """The node's own directory in this tree, with the controllers that work; None if none does."""
    path = tree.path / name
    try:
        if tree.version == 2:
            wanted &= set((tree.path / "cgroup.subtree_control").read_text().split())
            if not wanted:
                return None
        path.mkdir(exist_ok=True)
        if tree.version == 2:
            (path / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in sorted(wanted)))
        made = Tree(tree.version, path, wanted)
        if _works(Cgroups((made,), most)):
            return made
    except OSError as error:
        _log.debug("no control groups in %s: %s", tree.path, error)
    with suppress(OSError):
        path.rmdir()
    return None


def _works(groups: Cgroups) -> bool:
    """Whether a program ends in a group of its own: a kernel may refuse that to who can make one."""
    run = Run("try", 0, 0.0)
    command = groups.enclose(["/bin/cat", "/proc/self/cgroup"], str(os.getpid()), run, 2**28)
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        groups.remove(str(os.getpid()), run)
    return name_group(str(os.getpid()), run) in answer.stdout
