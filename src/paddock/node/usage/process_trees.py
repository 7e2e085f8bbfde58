"""The processes of containers: their processor time and their memory. Linux only (/proc).

A container's processes are the one that is waited for, programs of exec, and the descendants of both, also those whose
parent has ended since they were first seen. What a process is known to belong to is kept from look to look, so a look
reads the few processes of containers and those that are new, whatever else the machine runs.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from paddock.node.runtime.processes import Process, is_alive

Owner = TypeVar("Owner")

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
_REMEMBERED_LOOKS = 20
"""Looks after which a process that is no container's is looked at again: its number may have been given anew."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What processes have used."""

    cpu: float
    """Seconds of all processes, with those that have ended and were waited for."""
    memory: int
    """Bytes that its processes have for themselves, and of what they share as much as the one with the most of it
    has."""
    resident: int = 0
    """Bytes of all its processes, of which shared ones count several times."""
    processes: tuple[int, ...] = ()
    """Those that live, by their numbers."""


@dataclass(frozen=True, slots=True)
class _Stat:
    """Of proc(5)'s stat."""

    parent: int
    birth: int
    cpu: float


class ProcessTrees(Generic[Owner]):
    """Not for two threads at once."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._owners: dict[int, Owner | None] = {}
        self._births: dict[int, int] = {}
        self._looks = 0

    def look(self, roots: Mapping[Owner, Process], beside: Mapping[Process, Owner] | None = None) -> dict[Owner, Spent]:
        """What each container has spent so far; nothing of one whose process is gone. `beside`: what else is of a
        container, with its descendants: programs of exec."""
        self._looks += 1
        present = {int(name) for name in os.listdir(self._proc) if name.isdecimal()}  # noqa: PTH208 - names alone
        all_roots = [(root, owner) for owner, root in roots.items()]
        # A number may be another process's by now, and no container's.
        all_roots += [(each, owner) for each, owner in (beside or {}).items() if owner in roots and is_alive(each)]
        self._forget(present, roots, all_roots)
        for root, owner in all_roots:
            self._owners[root.pid] = owner
            self._births[root.pid] = root.birth
        for pid in present - self._owners.keys():
            self._find_owner(pid, present)
        members: dict[Owner, list[int]] = {owner: [] for owner in roots}
        for pid, found in self._owners.items():
            if found is not None:
                members[found].append(pid)
        spent = {owner: self._add_up(pids) for owner, pids in members.items()}
        return {owner: found for owner, found in spent.items() if found is not None}

    def _forget(self, present: set[int], owners: Container[Owner], roots: Sequence[tuple[Process, Owner]]) -> None:
        """What has ended; and all that is no container's where it was looked at before its container was known."""
        unknown = any(self._owners.get(root.pid, owner) != owner for root, owner in roots)
        anew = unknown or self._looks % _REMEMBERED_LOOKS == 0
        for pid, owner in list(self._owners.items()):
            if pid not in present or (owner is None and anew) or (owner is not None and owner not in owners):
                del self._owners[pid]
                self._births.pop(pid, None)

    def _find_owner(self, pid: int, present: set[int]) -> None:
        """Finds the owner of a process that was not there before, and of its new ancestors."""
        chain: list[int] = []
        while pid in present and pid not in self._owners and pid not in chain:
            stat = self._read_stat(pid)
            if stat is None:
                break
            self._births[pid] = stat.birth
            chain.append(pid)
            pid = stat.parent
        owner = self._owners.get(pid)
        for each in chain:
            self._owners[each] = owner
            if owner is None:
                del self._births[each]

    def _add_up(self, pids: Iterable[int]) -> Spent | None:
        cpu, own, shared, everything = 0.0, 0, 0, 0
        living: list[int] = []
        for pid in pids:
            stat = self._read_stat(pid)
            if stat is None or stat.birth != self._births[pid]:
                continue
            living.append(pid)
            cpu += stat.cpu
            resident, common = self._read_memory(pid)
            everything += resident
            own += resident - common
            shared = max(shared, common)
        return Spent(cpu, own + shared, everything, tuple(living)) if living else None

    def add_up_held(self, processes: Iterable[int]) -> int | None:
        """The bytes of these processes that the kernel cannot take back: anonymous and shared memory, of which each
        page counts once among those that share it (proc(5), smaps_rollup). It takes a millisecond for each GiB. None
        where it cannot be read."""
        found = [self._read_held(pid) for pid in processes]
        known = [each for each in found if each is not None]
        return sum(known) if known else None

    def _read_held(self, pid: int) -> int | None:
        fields = dict(line.partition(b":")[::2] for line in self._read(pid, "smaps_rollup").splitlines())
        wanted = [fields.get(name) for name in (b"Pss_Anon", b"Pss_Shmem")]
        return sum(int(each.split()[0]) for each in wanted if each is not None) * 1024 if None not in wanted else None

    def _read_stat(self, pid: int) -> _Stat | None:
        # The program's name, in parentheses, may contain spaces and parentheses itself.
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        if len(fields) < 20:
            return None
        return _Stat(int(fields[1]), int(fields[19]), sum(map(int, fields[11:15])) / _TICK)

    def _read_memory(self, pid: int) -> tuple[int, int]:
        """Bytes in memory, and those of them that may be shared: pages of files and shared memory."""
        fields = self._read(pid, "statm").split()
        return (int(fields[1]) * _PAGE, int(fields[2]) * _PAGE) if len(fields) > 2 else (0, 0)

    def _read(self, pid: int, name: str) -> bytes:
        """Empty if the process is gone. By descriptor, as a `Path` takes three times as long."""
        try:
            file = os.open(f"{self._proc}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(file, 4096)
        except OSError:
            return b""
        finally:
            os.close(file)
