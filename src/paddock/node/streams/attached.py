"""attach: what a container prints from now on, until its run ends.

The program writes its log itself (`node.runtime.records`), stdout and stderr together, so this reads the file from its
present end. Nothing is kept: who reads late finds it in the file. The program has an input only where its container
asks for one (`node.runtime.inputs`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from paddock.kube.pod_streams import STDERR, STDOUT, Ended, Size, StreamRequest
from paddock.node.runtime.log_bounds import read_on
from paddock.node.runtime.pod_files import open_regular
from paddock.node.runtime.pod_state import Run
from paddock.node.streams.channels import PIECE, Input
from paddock.words.phrases import phrase

_POLL_SECONDS = 0.1
"""Between two looks at the file, and at the kubelet's memory of the run, as `node.runtime.logs` has it."""


class Attached:
    """A container that is watched: a `Session` of `kube.pod_streams`. `recall`: the run, also when it has ended.
    `input`: the program's, if the client gets it, which is closed by this; `has_input`: whether its container asks for
    one."""

    def __init__(
        self,
        run: Run,
        log: Path,
        request: StreamRequest,
        recall: Callable[[], Run | None],
        forget: Callable[[], None],
        *,
        input: Input | None = None,
        has_input: bool = False,
    ) -> None:
        """Raises OSError where the log cannot be read; then `input` is not closed."""
        self._recall, self._forget, self._tells, self._tty = recall, forget, request.stdout, request.tty
        self._file: int | None = open_regular(log)
        os.lseek(self._file, 0, os.SEEK_END)
        self._input, self._echo = input, b""
        untold = input is None and request.stdin
        said = _say_no_input(run.container, has_input)
        self._first = [(STDOUT if request.tty else STDERR, said)] if untold else []
        self._closed = asyncio.Event()

    async def read(self) -> tuple[int, bytes] | None:
        if self._first:
            return self._first.pop()
        while self._file is not None:
            if self._echo:
                echo, self._echo = self._echo, b""
                return STDOUT, echo
            # Asked before the read: what was printed last is read still.
            ended = self._has_ended()
            if self._tells and (piece := read_on(self._file, PIECE // 2)):
                # A client's terminal is raw, and nothing between it and the program has done this.
                return STDOUT, piece.replace(b"\n", b"\r\n") if self._tty else piece
            if ended or self._closed.is_set():
                break
            await self._pause()
        return None

    async def write(self, data: bytes) -> None:
        """Waits for the program to read. Without an input it is dropped."""
        if self._input is None:
            return
        if not self._tty:
            await self._input.write(data)
            return
        # The client's terminal is raw, and the program has none that would do this: Enter, Ctrl-D, Ctrl-C and the echo.
        before, interrupt, _ = data.partition(b"\x03")
        typed, end, _ = before.replace(b"\r", b"\n").partition(b"\x04")
        if typed:
            self._echo = (self._echo + typed.replace(b"\n", b"\r\n"))[-PIECE:]
            await self._input.write(typed)
        if end:
            self._input.close()
        if interrupt:  # who has typed it would have no other way out
            self._input.close()
            self._closed.set()

    def close_input(self) -> None:
        if self._input is not None:
            self._input.close()

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> Ended:
        while not self._closed.is_set() and not self._has_ended():
            await self._pause()
        if (run := self._recall()) is None:
            return Ended(1, str(phrase("the container has ended; its exit code is not known")))
        return Ended() if run.running else Ended(run.exit_code)

    async def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._forget()
        if self._input is not None:
            self._input.drop()
        self._closed.set()

    def _has_ended(self) -> bool:
        run = self._recall()
        return run is None or not run.running

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS):
                await self._closed.wait()


def _say_no_input(container: str, has_input: bool) -> bytes:
    if has_input:
        said = phrase(
            "the input of container {name} is for one client (stdinOnce), and has ended or is another's: what you type "
            "does not reach it",
            name=container,
        )
    else:
        said = phrase(
            "the program of container {name} has no input, as its container has no `stdin: true`: what you type does "
            "not reach it",
            name=container,
        )
    return f"{said}\r\n".encode()
