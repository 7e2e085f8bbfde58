"""The files of a run, from a pod into a directory. A connection that is lost is no error of a file: whoever calls again
goes on where it stopped."""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from paddock.app.claimed.conversation import Conversation
from paddock.app.claimed.files import BadAnswer, ClaimedFile, explain_path, read_time, show_path
from paddock.app.claimed.target import Target
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Foreign, Phrase, phrase

_AT_ONCE = 32
"""Requests that are sent before their answers are read: small files would cost a round trip each."""
MOST_PROBLEMS = 8
"""That are told one by one."""
DAMAGED = phrase("came damaged twice: its digest is another one than where it was sent")
CUT = phrase("was made shorter while it was read, twice")
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@dataclass(slots=True)
class Fetched:
    """How far it is."""

    wanted: int = 0
    """Bytes of all files."""
    bytes: int = 0
    """Of those, the ones that are here, also from an earlier command."""
    received: int = 0
    """Bytes that came over the network."""
    files: int = 0
    """Files that are here and whole."""
    there: int = 0
    """Of those, the ones that were here already."""
    changed: dict[str, int] = field(default_factory=dict)
    """Files that are here as they were when they were read: their size was another one when they were listed, or they
    were being written meanwhile. Their sizes here, by their paths."""
    failed: int = 0
    problems: list[Phrase] = field(default_factory=list)
    """The first of them."""

    def fail(self, why: Phrase) -> None:
        self.failed += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(why)


class Fetch:
    """The files that are still to come. `show`: is called after each block."""

    def __init__(
        self, files: Iterable[ClaimedFile], below: str, target: Target, show: Callable[[Fetched], None]
    ) -> None:
        self._below, self._target, self._show = below, target, show
        self.fetched = Fetched()
        self._left: deque[ClaimedFile] = deque()
        self._anew: set[str] = set()
        """Files that came damaged once, which are begun again."""
        for each in files:
            self._sort_in(each)

    @property
    def is_done(self) -> bool:
        return not self._left

    def _sort_in(self, file: ClaimedFile) -> None:
        self.fetched.wanted += file.size
        if why := explain_path(file.path):
            self.fetched.fail(why)
        elif self._target.has(file):
            self.fetched.files += 1
            self.fetched.there += 1
            self.fetched.bytes += file.size
        else:
            self._left.append(file)

    async def run(self, conversation: Conversation) -> None:
        """Until all is here. Raises OSError where the disk takes no more, and what `Conversation` raises."""
        asked = asyncio.Semaphore(_AT_ONCE)
        sent: asyncio.Queue[tuple[ClaimedFile, int]] = asyncio.Queue()
        asking = asyncio.create_task(self._ask(conversation, list(self._left), sent, asked))
        try:
            for _ in range(len(self._left)):
                await self._receive(conversation, *await sent.get())
                asked.release()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _ask(
        self, conversation: Conversation, files: list[ClaimedFile], sent: asyncio.Queue[tuple[ClaimedFile, int]],
        asked: asyncio.Semaphore,
    ) -> None:  # fmt: skip
        for file in files:
            await asked.acquire()
            begin = 0 if file.path in self._anew else self._target.begun(file)
            sent.put_nowait((file, begin))
            path = f"{self._below}/{file.path}" if self._below else file.path
            await conversation.ask(get=path, **{"from": begin})

    async def _receive(self, conversation: Conversation, file: ClaimedFile, asked: int) -> None:
        """`asked`: the bytes of it that are here; what comes begins there, or anew."""
        facts = await conversation.read_line()
        if "end" in facts:
            self._left.popleft()
            why = phrase("{file}: {why}", file=show_path(file.path), why=Foreign(str(facts.get("problem"))))
            self.fetched.fail(why)
            return
        size, begin, time = facts.get("size"), facts.get("from"), read_time(facts, "time")
        if not isinstance(size, int) or not isinstance(begin, int) or begin not in (0, asked) or begin > size:
            raise BadAnswer(str(facts)[:200])
        before = self.fetched.bytes
        self.fetched.wanted += size - file.size
        try:
            whole = await self._write(conversation, file, size, begin, time)
        except BaseException:
            self.fetched.bytes = before
            self.fetched.wanted += file.size - size
            raise
        self._left.popleft()
        if whole is None:
            self.fetched.files += 1
            return
        self.fetched.bytes = before
        if whole in (DAMAGED, CUT) and file.path not in self._anew:
            self._anew.add(file.path)
            self.fetched.wanted += file.size - size
            self._left.append(file)
            return
        self.fetched.fail(phrase("{file}: {why}", file=show_path(file.path), why=whole))

    async def _write(
        self, conversation: Conversation, file: ClaimedFile, size: int, begin: int, time: float
    ) -> Phrase | str | None:
        """Why the file is not here now; None if it is. What is sent is read to its end, whatever becomes of it."""
        rest, told = size - begin, dict[str, object]()
        try:
            with self._target.write(file.path, begin) as part:
                await asyncio.to_thread(part.read_begun)
                self.fetched.bytes += part.size
                async for block in conversation.read_bytes(rest):
                    rest -= len(block)
                    self.fetched.received += len(block)
                    self.fetched.bytes += len(block)
                    part.write(block)
                    self._show(self.fetched)
                told = await conversation.read_line()
                if part.finish(str(told.get("sha256")), time):
                    if told.get("changed") is True or size != file.size:
                        self.fetched.changed[file.path] = size
                    return None
                if why := told.get("problem"):
                    return phrase("{why}", why=Foreign(str(why)))
                return CUT if told.get("changed") is True else DAMAGED
        except OSError as error:
            if error.errno in FULL:
                raise
            problem = explain_unreadable(error)
        if not told:
            async for _ in conversation.read_bytes(rest):
                pass
            await conversation.read_line()
        return problem
