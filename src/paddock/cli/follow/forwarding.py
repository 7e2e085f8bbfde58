"""Ports of this machine that lead to ports of a pod: each connection becomes one to the pod."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.cli.cluster.errors import UserError
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import PODS, name_of, namespace_of, uid_of
from paddock.kube.pod_streams import read_port
from paddock.words.phrases import Foreign, Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.client.pod_streams import RemotePort
    from paddock.kube.meta import Manifest

Note = Callable[[Phrase], None]
_READ = 32 << 10
_HALF_CLOSED_SECONDS = 30.0
"""How long the pod may be silent after our side has sent all: a WebSocket cannot tell it of that, so a program that has
hung up looks as one that waits for the rest of an answer."""
_NOBODY = re.compile(r".*connection refused.*|nothing in pod \S+ listens on port \d+", re.IGNORECASE | re.DOTALL)
"""In the words of a container runtime, and of a laptop's node, which may say more: who else holds the port."""
_INTRODUCTION = re.compile(r"error forwarding port \d+ to pod \S+, uid [^:]*: (\[Errno \d+\] )?")
"""Of a kubelet's sentence (k8s.io/kubelet, portforward); what follows is the reason."""


@dataclass(frozen=True, slots=True)
class Forward:
    """A port here and one in the pod."""

    local: int
    """0: any that is free."""
    remote: int
    fixed: bool = False
    """The local one was named, so no other will do."""


def read_forward(text: str, named: Mapping[str, int]) -> Forward | None:
    """`8080`, `9000:8080`, `0:8080`, `http`; `named`: the names of the pod's ports. None for another form. Pure."""
    local, colon, remote = text.rpartition(":")
    wanted = named.get(remote) or read_port(remote)
    if not wanted:
        return None
    if not colon:
        return Forward(wanted, wanted)
    own = 0 if local in ("", "0") else read_port(local)
    return None if own is None else Forward(own, wanted, fixed=bool(own))


def list_declared(pod: Mapping[str, Any]) -> dict[int, str]:
    """The TCP ports that the containers of a pod declare, and their names. Pure."""
    return {
        int(port["containerPort"]): str(port.get("name") or "")
        for container in (pod.get("spec") or {}).get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("protocol", "TCP") == "TCP" and port.get("containerPort")
    }


def choose_forwards(texts: Sequence[str], declared: Mapping[int, str], job: str, rank: str) -> list[Forward]:
    """Raises `UserError` for what names no port, and where none is named and the pod does not declare one alone.
    `job`: as commands name it, with the options that find it. Pure."""
    if not texts and len(declared) == 1:
        return [Forward(port, port) for port in declared]
    if not texts and declared:
        names = Names(tuple(f"{port} ({name})" if name else str(port) for port, name in declared.items()))
        raise UserError(phrase("{rank} declares the ports {names}: name one, as in `{command}`", rank=rank, names=names,
                               command=f"paddock forward {job} {min(declared)}"))  # fmt: skip
    if not texts:
        raise UserError(
            phrase("{rank} declares no port: name the one on which its program listens, as in `{command}`",
                   rank=rank, command=f"paddock forward {job} 8080")
        )  # fmt: skip
    named = {name: port for port, name in declared.items() if name}
    found = []
    for text in texts:
        forward = read_forward(text, named)
        if forward is None:
            raise UserError(
                phrase("{text} names no port: 8080, LOCAL:PORT as 9000:8080, or 0:8080 for any that is free here",
                       text=repr(text))
            )  # fmt: skip
        found.append(forward)
    return found


def listen(address: str, forward: Forward, note: Note) -> socket.socket:
    """A socket on the port here, or, where that is taken and was not named, on another. Raises `UserError`."""
    try:
        return _bind(address, forward.local)
    except OSError as error:
        why = Foreign(error.strerror or str(error))
        if not forward.local or not _is_of_port(error):
            raise UserError(phrase("cannot listen on {address}: {why}", address=address, why=why)) from None
        if forward.fixed:
            raise UserError(
                phrase("cannot listen on port {port} of {address}: {why}; 0:{remote} takes any that is free",
                       port=forward.local, address=address, why=why, remote=forward.remote)
            ) from None  # fmt: skip
        note(phrase("port {port} of {address} cannot be taken ({why}), so another is",
                    port=forward.local, address=address, why=why))  # fmt: skip
    return listen(address, Forward(0, forward.remote), note)


def _is_of_port(error: OSError) -> bool:
    """Whether another port may do: this one is taken, or is root's."""
    return error.errno in (errno.EADDRINUSE, errno.EACCES)


def _bind(address: str, port: int) -> socket.socket:
    """Raises OSError, for an address that is none too."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(128)
    except BaseException:
        found.close()
        raise
    return found


def is_open_to_others(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address != "localhost"


class Forwarder:
    """Takes connections to ports of one pod. `run` ends only by an error that each further one would meet too."""

    def __init__(self, client: Client, namespace: str, pod: str, rank: str, note: Note) -> None:
        self._client = client
        self._namespace, self._pod, self._rank = namespace, pod, rank
        self._note = note
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, sockets: Sequence[tuple[socket.socket, int]]) -> None:
        """`sockets`: that listen, each with the port of the pod. Raises `ApiError`: the right is missing, or the pod
        is gone."""
        async with contextlib.AsyncExitStack() as held:
            for listening, remote in sockets:
                await held.enter_async_context(self._serve(listening, remote))
            await self._failed

    @contextlib.asynccontextmanager
    async def _serve(self, listening: socket.socket, remote: int) -> AsyncIterator[None]:
        tasks = set[asyncio.Task[None]]()

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await self._take(reader, writer, remote)
            finally:
                tasks.discard(task)
                writer.close()

        server = await asyncio.start_server(take, sock=listening)
        try:
            yield
        finally:
            server.close()
            for task in tuple(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, remote: int) -> None:
        from paddock.client.pod_streams import open_port

        try:
            port = await open_port(self._client, self._namespace, self._pod, remote)
        except (Forbidden, Unauthorized, NotFound) as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            return
        except ApiError as error:
            self._note(explain_port(self._rank, remote, error.message))
            return
        try:
            await join(port, reader, writer)
        except ConnectionError:  # of our side, which has hung up
            pass
        except OSError as error:
            self._note(explain_port(self._rank, remote, str(error)))
        finally:
            await port.close()


def explain_port(rank: str, port: int, why: str) -> Phrase:
    """Why a connection to the pod came to nothing; `why`: the node's words. Pure."""
    reason = _INTRODUCTION.sub("", why, count=1)
    if _NOBODY.fullmatch(reason):
        return phrase("port {port} of {rank}: nobody listens there", port=port, rank=rank)
    return phrase("port {port} of {rank}: {why}", port=port, rank=rank, why=Foreign(reason))


async def join(port: RemotePort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes both ways until the pod has ended the connection, or has nothing to say to who has sent all. Raises
    OSError."""
    sent = asyncio.create_task(_send(port, reader))
    try:
        while data := await _read(port, sent):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    finally:
        sent.cancel()
        await asyncio.gather(sent, return_exceptions=True)


async def _read(port: RemotePort, sent: asyncio.Task[None]) -> bytes:
    """The next bytes; empty at the end."""
    reading = asyncio.ensure_future(port.read())
    try:
        await asyncio.wait([reading, sent], return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await asyncio.wait([reading], timeout=_HALF_CLOSED_SECONDS)
        return reading.result() if reading.done() else b""
    finally:
        reading.cancel()


async def _send(port: RemotePort, reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ):
            await port.write(data)
    port.write_eof()


async def watch_end(client: Client, pod: Manifest, rank: str) -> Phrase:
    """Returns when the pod has ended: what is to be said of it."""
    uid, is_there = uid_of(pod), False
    async for event in client.follow(PODS, namespace_of(pod), fields=f"metadata.name={name_of(pod)}"):
        is_there = (event.type != "DELETED" and uid_of(event.object) == uid) or (event.type == "SYNCED" and is_there)
        if not is_there:
            return phrase("{rank} is gone: nothing is forwarded any more", rank=rank)
        if (event.object.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return phrase("{rank} has ended: nothing is forwarded any more", rank=rank)
    raise AssertionError("a watch ends by an error alone")
