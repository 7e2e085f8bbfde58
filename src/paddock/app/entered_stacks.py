"""The stacks of pods on a Kubernetes, by `exec`: nothing but what `kubectl exec` would need, and no right of the node.

Of each pod: a look around in its container, then a dump by py-spy, its own or else that of this machine, which is
copied through the input of the same command (`logs.entered_pods`). Eight pods at a time, each with deadlines; one that
fails costs its own line only.
"""

from __future__ import annotations

import asyncio
import gzip
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.client.pod_streams import open_exec
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.kube.pod_stacks import MOST_BYTES, MOST_PROCESSES, PodStacks, ProcessStacks, Trouble
from paddock.kube.pod_streams import STDERR, Ended, StreamRequest, is_not_started, read_not_started
from paddock.logs.entered_pods import (
    Dumped,
    Look,
    SeenProcess,
    UnreadableLook,
    build_copy,
    build_dump,
    build_look,
    build_stacks,
    read_dumps,
    read_look,
    read_machine,
)
from paddock.logs.entered_troubles import (
    Entered,
    Lack,
    Lacking,
    tell_copying,
    tell_entered,
    tell_no_shell,
    tell_silent,
)
from paddock.logs.stack_dumps import Dump, judge_py_spy
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_AT_ONCE = 8
_LOOK_SECONDS, _DUMP_SECONDS, _COPY_SECONDS = 20.0, 45.0, 90.0
"""Of one pod. A copy is three megabytes, and a cluster may be far."""
_MOST_OUT, _MOST_SAID = MOST_PROCESSES * (MOST_BYTES + 4096), 2**20


@dataclass(frozen=True, slots=True)
class Tool:
    """The py-spy of this machine."""

    data: bytes
    packed: bytes
    """By gzip."""
    machine: str


def load_tool(path: str) -> Tool | None:
    """None of what another system could not start. I/O."""
    try:
        data = Path(path).read_bytes() if path else b""
    except OSError:
        return None
    machine = read_machine(data)
    return Tool(data, gzip.compress(data, 6), machine) if machine else None


@dataclass(slots=True)
class Taken:
    """What there is of the pods, by rank."""

    entered: dict[str, Entered] = field(default_factory=dict)
    missed: dict[str, Phrase] = field(default_factory=dict)
    """Those that could not be looked into, and why."""

    @property
    def stacks(self) -> dict[str, PodStacks]:
        return {rank: each.stacks for rank, each in self.entered.items()}

    def tell(self, process: ProcessStacks, pod: PodStacks) -> Phrase:
        """Why a process has no stack."""
        return tell_entered(process, next(each for each in self.entered.values() if each.stacks is pod))


@dataclass(frozen=True, slots=True)
class Place:
    """A container that runs."""

    pod: Manifest
    container: str


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command has printed so far."""

    out: bytearray = field(default_factory=bytearray)
    said: bytearray = field(default_factory=bytearray)
    """To stderr."""

    @property
    def texts(self) -> tuple[str, str]:
        return self.out.decode(errors="replace"), self.said.decode(errors="replace")


class StackVisitor:
    """`find_tool`: the path of this machine's py-spy, empty without one; None where none is to be copied. `note` is
    told before the first copy."""

    def __init__(self, client: Client, find_tool: Callable[[], str] | None, note: Callable[[Phrase], None]) -> None:
        self._client, self._find_tool, self._note = client, find_tool, note
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._loading = asyncio.Lock()
        self._tool: Tool | None = None
        self._is_loaded = self._has_noted = False

    async def take(self, places: Mapping[str, Place]) -> Taken:
        """`places`: by rank. Raises `Forbidden` where no pod at all may be entered."""
        found = await asyncio.gather(*(self._visit(each) for each in places.values()))
        refused = [each for each in found if isinstance(each, Forbidden)]
        if refused and len(refused) == len(found):
            raise refused[0]
        taken = Taken()
        for rank, each in zip(places, found, strict=True):
            if isinstance(each, Entered):
                taken.entered[rank] = each
            else:
                taken.missed[rank] = each if isinstance(each, Phrase) else _tell_error(each)
        return taken

    async def _visit(self, place: Place) -> Entered | Phrase | ApiError:
        async with self._room:
            try:
                return await self._enter(place)
            except ApiError as error:
                return error
            except TimeoutError:
                return tell_silent(_LOOK_SECONDS, str(place.pod.get("spec", {}).get("nodeName") or "?"))

    async def _enter(self, place: Place) -> Entered | Phrase:
        token = f"paddock{secrets.token_hex(8)}"
        async with asyncio.timeout(_LOOK_SECONDS):
            printed = Printed()
            ended = await self._run(place, build_look(token, copies=self._find_tool is not None), printed)
            if is_not_started(ended):
                return await self._enter_without_shell(place, ended)
        out, said = printed.texts
        try:
            look = read_look(out, token)
        except UnreadableLook as error:
            why = said.strip() or ended.message or str(error) or f"exit code {ended.code}"
            return phrase("looking around in its container failed: {why}", why=Foreign(why))
        return await self._dump(place, look)

    async def _enter_without_shell(self, place: Place, ended: Ended) -> Entered | Phrase:
        """py-spy may be there all the same; which processes there are is not known but for the first."""
        command = ("py-spy", "dump", "--json", "--nonblocking", "--pid", "1")
        printed = Printed()
        found = await self._run(place, command, printed)
        if is_not_started(found):
            return tell_no_shell(ended.message)
        look = Look(processes=(SeenProcess(1),))
        dumps = {1: judge_py_spy(found.code, *printed.texts)}
        return Entered(build_stacks(name_of(place.pod), place.container, look, dumps, Trouble.NO_ANSWER), look)

    async def _dump(self, place: Place, look: Look) -> Entered:
        def build(dumps: Mapping[int, Dump], trouble: Trouble, lacking: Lacking | None = None) -> Entered:
            stacks = build_stacks(name_of(place.pod), place.container, look, dumps, trouble)
            return Entered(stacks, look, lacking)

        pids, token = [each.pid for each in look.chosen], f"paddock{secrets.token_hex(8)}"
        if not pids:
            return build({}, Trouble.NO_ANSWER)
        if look.guards.tool:
            command, data, seconds = build_dump(token, look.guards.tool, pids), b"", _DUMP_SECONDS
        else:
            found = await self._choose_tool(look)
            if isinstance(found, Lacking):
                return build({}, Trouble.NO_TOOL, found)
            data, seconds = found.packed if look.guards.packs else found.data, _COPY_SECONDS
            command = build_copy(token, look.guards, len(data), pids)
        printed, ended = Printed(), None
        with suppress(TimeoutError):  # what has come until then is told
            async with asyncio.timeout(seconds):
                ended = await self._run(place, command, printed, data, f"{token} failed".encode())
        dumped = read_dumps(*printed.texts, token)
        lacking = _read_lacking(dumped, printed.texts[1], ended) if data and ended is not None else None
        return build(dumped.dumps, Trouble.NO_TOOL if lacking else Trouble.NO_ANSWER, lacking)

    async def _choose_tool(self, look: Look) -> Tool | Lacking:
        if self._find_tool is None:
            return Lacking(Lack.NO_COPY)
        async with self._loading:
            if not self._is_loaded:
                self._tool, self._is_loaded = await asyncio.to_thread(load_tool, self._find_tool()), True
        if self._tool is None:
            return Lacking(Lack.NONE_HERE)
        if self._tool.machine != look.guards.machine:
            return Lacking(Lack.OTHER_MACHINE, self._tool.machine)
        if not look.guards.directory:
            return Lacking(Lack.FULL, look.guards.full) if look.guards.full else Lacking(Lack.NOWHERE)
        if not self._has_noted:
            self._has_noted = True
            self._note(tell_copying(len(self._tool.data)))
        return self._tool

    async def _run(
        self, place: Place, command: tuple[str, ...], printed: Printed, data: bytes = b"", until: bytes = b""
    ) -> Ended:
        """Its end; `printed` has what it prints, as far as it is read, as it comes. `until`: what says that its input
        is not read any more, which some nodes wait for without an end. Raises `ApiError`."""
        request = StreamRequest(place.container, command, stdin=bool(data))
        session = await open_exec(self._client, namespace_of(place.pod), name_of(place.pod), request)
        out, said = printed.out, printed.said
        feeding = asyncio.create_task(session.write(data))
        try:
            while (output := await session.read()) is not None:
                channel, text = output
                (said if channel == STDERR else out).extend(text)
                if len(out) > _MOST_OUT or len(said) > _MOST_SAID or (until and until in out):
                    return Ended(1)
            return read_not_started(await session.wait())
        finally:
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(feeding, return_exceptions=True)
            await session.close()


def _read_lacking(dumped: Dumped, said: str, ended: Ended) -> Lacking | None:
    """Why a copy did not serve. Pure."""
    if dumped.dumps and not dumped.failed:
        return None
    return Lacking(Lack.FAILED, said.strip() or ended.message or f"exit code {ended.code}")


def _tell_error(error: ApiError) -> Phrase:
    return phrase("its container could not be entered: {why}", why=Foreign(error.message))
