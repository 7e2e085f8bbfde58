"""What is asked of the program in a pod, over one session of exec, and what it answers (`paddock_pod_files`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from paddock.app.claimed.files import (
    LONGEST_LINE,
    MOST_RUNS,
    BadAnswer,
    ClaimedFile,
    ClaimedRun,
    Listing,
    read_file,
    read_line,
    read_run,
    sort_runs,
)
from paddock.kube.pod_streams import STDERR, Ended, Session, read_not_started

SILENT_SECONDS = 120
"""How long a pod may say nothing. The program in it gives a sign where an answer is long in coming."""
_MOST_SAID = 4096


class ProgramEnded(Exception):
    """The program in the pod has ended, or was never started. `said`: what it printed as its error."""

    def __init__(self, ended: Ended, said: str) -> None:
        super().__init__(ended.message or said)
        self.ended, self.said = ended, said


class Silent(Exception):
    """Nothing has come from the pod for `SILENT_SECONDS`."""


class Conversation:
    """Each method raises `ProgramEnded`, `Unavailable` where the connection is lost, `Silent`, `BadAnswer`."""

    def __init__(self, session: Session, seconds: float = SILENT_SECONDS) -> None:
        self._session, self._seconds = session, seconds
        self._left = bytearray()
        self._said = bytearray()

    async def begin(self, program: str) -> None:
        """Sends the program, which comes before the first request."""
        await self._session.write(program.encode())

    async def ask(self, **request: object) -> None:
        await self._session.write(json.dumps(request).encode("ascii") + b"\n")

    async def list_runs(self) -> list[ClaimedRun]:
        """The oldest first."""
        await self.ask(runs="")
        found = list[ClaimedRun]()
        while "end" not in (facts := await self.read_line()):
            found.append(read_run(facts))
            if len(found) > MOST_RUNS:
                raise BadAnswer(str(MOST_RUNS))
        return sort_runs(found)

    async def list_files(self, below: str, most: int) -> Listing:
        """Of a run, at most so many, in the order in which its directories are walked. `below`: the run's directory,
        empty where it is the only one that is mounted."""
        await self.ask(list=below, most=most)
        found = list[ClaimedFile]()
        while "end" not in (facts := await self.read_line()):
            found.append(read_file(facts, below))
            if len(found) > most:
                raise BadAnswer(str(most))
        others = facts.get("others")
        return Listing(found, others if isinstance(others, int) else 0, facts.get("more") is True)

    async def read_line(self) -> dict[str, object]:
        while (end := self._left.find(b"\n")) < 0:
            if len(self._left) > LONGEST_LINE:
                raise BadAnswer(bytes(self._left[:200]).decode(errors="replace"))
            await self._read()
        line = bytes(self._left[:end])
        del self._left[: end + 1]
        return read_line(line)

    async def read_bytes(self, count: int) -> AsyncIterator[bytes]:
        """The next bytes of the answer, in blocks."""
        while count:
            if not self._left:
                await self._read()
            block = bytes(self._left[:count])
            del self._left[: len(block)]
            count -= len(block)
            if block:
                yield block

    async def close(self) -> None:
        await self._session.close()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                read = await self._session.read()
        except TimeoutError:
            raise Silent from None
        if read is None:
            ended = read_not_started(await self._session.wait())
            raise ProgramEnded(ended, self._said.decode(errors="replace").strip())
        channel, data = read
        if channel == STDERR:
            self._said = (self._said + data)[-_MOST_SAID:]
        else:
            self._left += data
