"""Sessions of ssh: one that asks a machine something, and one that runs a rank as long as its input is open."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from paddock.places.bare.remote import CONNECT_SECONDS, build_ssh

_TAIL = 1 << 14
"""Bytes of a rank's output that are kept to find its error."""
_END = b"paddock-end "


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str


def has_ssh() -> bool:
    return shutil.which("ssh") is not None


async def ask(host: str, command: str, text: str) -> Answer:
    """Runs a text for sh on a machine, with `text` as its input."""
    process = await _open(host, command)
    out, err = await process.communicate(text.encode())
    return Answer(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


async def answers(host: str) -> bool:
    """Whether a machine answers now; it has a moment more than ssh takes to connect."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS + 2):
            return (await ask(host, "exit 0", "")).code == 0
    except TimeoutError:
        return False


async def _open(host: str, command: str) -> Process:
    # A session of its own: Ctrl-C of a terminal is for Paddock, which stops ranks in their order.
    return await asyncio.create_subprocess_exec(
        *build_ssh(host, command), stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )


@dataclass
class RankSession:
    """A rank that runs."""

    process: Process
    code: int | None = None
    """Of its program; None until its last line has told it, and for good where the machine was lost."""
    tail: bytearray = field(default_factory=bytearray)
    errors: str = ""
    """What ssh says."""
    is_stopped: bool = False

    @classmethod
    async def open(cls, host: str, command: str, values: str) -> RankSession:
        process = await _open(host, command)
        assert process.stdin is not None
        process.stdin.write(values.encode())
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        return cls(process)

    async def read(self, rank: str) -> AsyncIterator[bytes]:
        """What the rank prints, in pieces as they come, without the last line of its script."""
        assert self.process.stdout is not None and self.process.stderr is not None
        errors = asyncio.ensure_future(self.process.stderr.read())
        last, rest = _END + rank.encode() + b" ", b""
        while chunk := await self.process.stdout.read(1 << 16):
            whole, rest = _split(rest + chunk, last)
            if whole:
                self._keep(whole)
                yield whole
        if rest.startswith(last):
            self.code = _read_code(rest[len(last) :])
        elif rest:
            self._keep(rest)
            yield rest
        self.errors = (await errors).decode(errors="replace")
        await self.process.wait()

    def stop(self) -> None:
        """Ends the input, which stops the rank on its machine."""
        self.is_stopped = True
        assert self.process.stdin is not None
        self.process.stdin.close()

    def kill(self) -> None:
        """Ends the session without waiting for its machine."""
        self.is_stopped = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def _keep(self, chunk: bytes) -> None:
        self.tail += chunk
        del self.tail[:-_TAIL]


def _split(text: bytes, last: bytes) -> tuple[bytes, bytes]:
    """What can be shown, and what may be the script's last line: a line that begins as it does, to the end."""
    start = 0 if text.startswith(last[: len(text)]) else text.find(b"\n" + last) + 1 or -1
    if start >= 0:
        return text[:start], text[start:]
    begun = text.rfind(b"\n") + 1
    if begun and last.startswith(text[begun:]) and text[begun:]:
        return text[:begun], text[begun:]
    return text, b""


def _read_code(text: bytes) -> int | None:
    word = text.split()[:1]
    return int(word[0]) if word and word[0].isdigit() else None
