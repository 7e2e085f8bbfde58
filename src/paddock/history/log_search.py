"""Searching logs within a time: in this process for what takes linear time, in one of its own for a regular expression,
which may take for ever and would hold every other thread meanwhile.

    python -m paddock.history.log_search      reads a `_Task` as JSON; a line of JSON for each log that it has searched
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from paddock.history.log_index import Hints, LineIndex

SLICE = 2**22
"""Bytes between two looks at the clock, whether they are many lines or a few."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search has found so far."""

    lines: tuple[int, ...] = ()
    """Numbers of lines in which the pattern is."""
    upto: int = 0
    """Before this line all were searched."""


@dataclass(frozen=True, slots=True)
class Span:
    """Which lines of an open log are searched."""

    file: int
    begin: int
    end: int
    most: int
    """Hits that are wanted."""
    last: bool = False
    """The last ones, instead of the first."""


def search(
    index: LineIndex, span: Span, pattern: re.Pattern[bytes], deadline: float, hints: Hints | None = None
) -> Searched:
    """`deadline`: of `time.monotonic`; it may be missed by the time that `SLICE` takes."""
    lines: deque[int] = deque(maxlen=span.most)
    at, step = span.begin, index.lines_of(SLICE)
    while at < span.end and time.monotonic() < deadline:
        upto = min(at + step, span.end)
        found = index.find(span.file, pattern, at, upto, hints)
        lines.extend(found if span.last else islice(found, span.most - len(lines)))
        at = upto
        if not span.last and len(lines) == span.most:
            at = lines[-1] + 1
            break
    return Searched(tuple(lines), at)


async def search_apart(spans: Sequence[Span], pattern: re.Pattern[bytes], seconds: float) -> list[Searched]:
    """The same for each span, in a process that is killed after `seconds`; for spans that it had not come to, nothing
    was searched."""
    task = {
        "pattern": pattern.pattern.decode("utf-8", "surrogateescape"),
        "flags": pattern.flags,
        "seconds": seconds,
        "spans": [[span.file, span.begin, span.end, span.most, span.last] for span in spans],
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, pass_fds=[span.file for span in spans],
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    found: list[Searched] = []
    try:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(seconds):
                await _exchange(process, json.dumps(task).encode(), found)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return found + [Searched((), span.begin) for span in spans[len(found) :]]


async def _exchange(process: asyncio.subprocess.Process, task: bytes, found: list[Searched]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(task)
    process.stdin.close()
    async for line in process.stdout:
        lines, upto = json.loads(line)
        found.append(Searched(tuple(lines), upto))


def _serve() -> None:
    task = json.loads(sys.stdin.buffer.read())
    pattern = re.compile(task["pattern"].encode("utf-8", "surrogateescape"), task["flags"])
    deadline = time.monotonic() + task["seconds"]
    for each in task["spans"]:
        span, index = Span(*each), LineIndex()
        index.update(span.file)
        searched = search(index, span, pattern, deadline)
        sys.stdout.write(json.dumps([searched.lines, searched.upto]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
