"""Connections to a port of a pod: only to a socket that a process of the pod has open (`node.streams.listeners`)."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from paddock.kube.meta import Manifest, name_of
from paddock.node.runtime import processes
from paddock.node.streams.channels import PIECE
from paddock.node.streams.listeners import Found, Listener, fetch_listeners, find_address
from paddock.words.phrases import phrase

_CONNECT_SECONDS = 10.0
_GOODBYE_SECONDS = 3.0
"""For a pod to read what was sent before the end; what it has not read then is dropped."""
_SOCKET = "socket:["


class PodConnection:
    """A `Connection` of `kube.pod_streams`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, forget: Callable[[], None]) -> None:
        self._reader, self._writer, self._forget = reader, writer, forget

    async def read(self) -> bytes:
        return await self._reader.read(PIECE)

    async def write(self, data: bytes) -> None:
        # In pieces: the transport keeps whatever it is given at once.
        for start in range(0, len(data), PIECE):
            self._writer.write(data[start : start + PIECE])
            await self._writer.drain()

    def write_eof(self) -> None:
        with suppress(OSError):  # the other side has gone
            self._writer.write_eof()

    async def close(self) -> None:
        """It counts until its descriptor is closed."""
        self._writer.close()
        closed = asyncio.create_task(self._writer.wait_closed())
        try:
            await asyncio.wait({closed}, timeout=_GOODBYE_SECONDS)
        finally:
            self._writer.transport.abort()  # without effect where it is closed
            try:
                with suppress(OSError):  # the other side has gone
                    await closed
            finally:
                self._forget()


@dataclass(frozen=True, slots=True)
class Ask:
    """Whose a port is."""

    uid: str
    """The pod's."""
    address: str
    port: int
    roots: frozenset[int]
    """The first processes of the pod's containers."""


class Answer(NamedTuple):
    found: Found
    holder: str
    """What is known of the process that listens in the pod's place."""


async def open_connection(pod: Manifest, ask: Ask, looks: Looks, forget: Callable[[], None]) -> PodConnection:
    """Raises OSError with a sentence."""
    port = ask.port
    found, holder = await looks.find(ask)
    if not found.address:
        raise build_refusal(pod, port, found.foreign, holder)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(found.address, port, limit=PIECE)
    except TimeoutError:
        said = phrase("{address}:{port} does not take connections", address=found.address, port=port)
        raise TimeoutError(errno.ETIMEDOUT, str(said)) from None
    writer.transport.set_write_buffer_limits(PIECE)
    return PodConnection(reader, writer, forget)


def build_refusal(pod: Manifest, port: int, foreign: Listener | None, holder: str) -> OSError:
    """Why nobody is connected. `holder`: what is known of the process that listens in the pod's place."""
    name = name_of(pod)
    if foreign is None:
        said = phrase("nothing in pod {name} listens on port {port}", name=name, port=port)
        return ConnectionRefusedError(errno.ECONNREFUSED, str(said))
    where = f"[{foreign.address}]:{port}" if ":" in foreign.address else f"{foreign.address}:{port}"
    if holder:
        said = phrase(
            "nothing in pod {name} listens on port {port}: {where} of this machine is held by {holder}",
            name=name, port=port, where=where, holder=holder,
        )  # fmt: skip
    else:
        said = phrase(
            "nothing in pod {name} listens on port {port}: {where} of this machine is held by a program that is not "
            "the pod's",
            name=name, port=port, where=where,
        )  # fmt: skip
    return PermissionError(errno.EACCES, str(said))


class Looks:
    """Looks whose a port is. One look at a time, for all who asked before it began: so many who ask at once cost two
    looks at the machine, and each answer is younger than its question."""

    def __init__(self) -> None:
        self._asked: list[tuple[Ask, asyncio.Future[Answer]]] = []
        self._looking: asyncio.Task[None] | None = None

    async def find(self, ask: Ask) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((ask, answer))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await answer

    async def _look(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, []
            try:
                found = await asyncio.to_thread(look, {ask for ask, _ in asked})
            except Exception as error:
                for _, answer in asked:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for ask, answer in asked:
                if not answer.done():  # who asked may have gone
                    answer.set_result(found[ask])


def look(asks: Collection[Ask]) -> dict[Ask, Answer]:
    """Reads /proc/net/tcp once, and the descriptors of each process at most twice, however many ask."""
    listeners: dict[int, list[Listener]] = {ask.port: [] for ask in asks}
    for each in fetch_listeners():
        if each.port in listeners:
            listeners[each.port].append(each)
    own = _find_own(asks, {port: {each.socket for each in there} for port, there in listeners.items()})
    found = {ask: find_address(listeners[ask.port], ask.port, ask.address, own.get(ask.uid, ())) for ask in asks}
    holders = _find_holders({each.foreign.socket for each in found.values() if each.foreign is not None})
    return {ask: Answer(each, holders.get(each.foreign.socket, "") if each.foreign else "")
            for ask, each in found.items()}  # fmt: skip


def _find_own(asks: Iterable[Ask], sockets: Mapping[int, Collection[int]]) -> dict[str, set[int]]:
    """By pod, those of the `sockets` of the ports that a process of the pod has open: a descendant of a first process,
    whatever it has made of its environment, or one that has the pod's mark."""
    wanted, roots = dict[str, set[int]](), dict[str, set[int]]()
    for ask in asks:
        if sockets[ask.port]:
            wanted.setdefault(ask.uid, set()).update(sockets[ask.port])
            roots.setdefault(ask.uid, set()).update(ask.roots)
    trees = {uid: {pid for root in roots[uid] for pid in (root, *processes.find_descendants(root))} for uid in wanted}
    found = {uid: _list_open(trees[uid], wanted[uid]) for uid in wanted}
    unfound = [uid for uid in wanted if found[uid] != wanted[uid]]
    for uid, marked in (processes.find_pod_processes(unfound) if unfound else {}).items():
        found[uid] |= _list_open({pid for pid, _ in marked} - trees[uid], wanted[uid])
    return found


def _list_open(pids: Iterable[int], wanted: Collection[int]) -> set[int]:
    return {socket for pid in pids for socket in _list_sockets(pid) if socket in wanted}


def _find_holders(sockets: set[int]) -> dict[int, str]:
    """The process that has each open, in words; those that are nobody's to see are left out."""
    found: dict[int, str] = {}
    for pid in (*processes.list_processes(), os.getpid()):
        if found.keys() == sockets:
            break
        for socket in (_list_sockets(pid) & sockets) - found.keys():
            with suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
                found[socket] = str(phrase("process {number} ({name})", number=pid, name=name))
    return found


def _list_sockets(pid: int) -> set[int]:
    """The inodes of its sockets; empty where nobody may see them, or where it has ended."""
    found = set()
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                target = os.readlink(entry.path)  # noqa: PTH115 - text alone, of many
                if target.startswith(_SOCKET):
                    found.add(int(target[len(_SOCKET) : -1]))
    return found
