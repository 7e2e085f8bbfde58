"""A program in a pod and this command's own streams: its bytes, its terminal, its end."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.cli.output.interrupts import Signalled, until_signalled
from paddock.cli.output.language import localized
from paddock.cli.output.own_terminal import (
    find_output,
    find_stdin,
    is_terminal,
    raw,
    read_some,
    resized,
    write_all,
)
from paddock.cli.output.streams import print_notice
from paddock.kube.pod_streams import STDERR, Ended, StreamRequest, is_not_started, read_not_started
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddock.cli.follow.one_rank import OneRank
    from paddock.client.client import Client
    from paddock.client.pod_streams import RemoteSession

UNREAD = 128 + signal.SIGPIPE
"""The exit code of a program whose output nobody reads any more, as a shell tells it."""
_QUIET_SECONDS = 5.0
"""After the end of the input, on a connection that cannot tell it, before that is said: most programs end before."""


@dataclass(frozen=True, slots=True)
class Streams:
    """How this command's own streams are joined with the program's."""

    stdin: int | None
    """The descriptor whose bytes are passed; None: the program has no input."""
    terminal: bool
    """The program gets a terminal, and ours is handed over to it."""

    def request(self, container: str, command: tuple[str, ...]) -> StreamRequest:
        return StreamRequest(container, command, stdin=self.stdin is not None, tty=self.terminal)


def choose_streams(*, interactive: bool, terminal: bool | None) -> Streams:
    """`interactive`: the input is passed even from a terminal. `terminal`: None for one where both ends are ours."""
    stdin = find_stdin()
    ours = stdin is not None and is_terminal(stdin)
    both = ours and is_terminal(find_output())
    if terminal is None:
        terminal = both
    has_terminal = terminal and ours
    return Streams(stdin if interactive or has_terminal or not ours else None, has_terminal)


async def carry(session: RemoteSession, streams: Streams, note: Callable[[Phrase], None]) -> Ended:
    """Until the program has ended. The session is closed, and the terminal as before, however it ends. Raises
    `Unavailable` where the connection is lost, OSError where our output takes no more."""
    try:
        if not streams.terminal or streams.stdin is None:
            return await _carry(session, streams, note)
        return await until_signalled(_hand_over(session, streams, streams.stdin, note))
    except Signalled as by:
        return Ended(by.code)
    finally:
        await session.close()


async def _hand_over(session: RemoteSession, streams: Streams, stdin: int, note: Callable[[Phrase], None]) -> Ended:
    with raw(stdin), resized(stdin, session.resize):
        return await _carry(session, streams, note)


async def _carry(session: RemoteSession, streams: Streams, note: Callable[[Phrase], None]) -> Ended:
    out, error = find_output(), find_output(error=True)
    feeding = asyncio.create_task(_feed(session, streams.stdin, note)) if streams.stdin is not None else None
    try:
        while (output := await session.read()) is not None:
            channel, data = output
            await write_all(error if channel == STDERR else out, data)
        return await session.wait()
    except BrokenPipeError:
        return Ended(UNREAD)
    finally:
        if feeding is not None:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)


async def _feed(session: RemoteSession, stdin: int, note: Callable[[Phrase], None]) -> None:
    while data := await read_some(stdin):
        await session.write(data)
    session.close_input()
    if not session.can_close_input:
        await asyncio.sleep(_QUIET_SECONDS)
        note(
            phrase(
                "this Kubernetes (before 1.30) cannot tell a program that its input has ended: one that reads to the "
                "end waits until Ctrl-C"
            )
        )


async def run_in(client: Client, one: OneRank, command: tuple[str, ...], streams: Streams) -> int:
    """Runs a command in a pod with this command's own streams; its exit code. Why it could not be started is said."""
    from paddock.client.pod_streams import open_exec

    request = streams.request(one.container, command)
    session = await open_exec(client, one.namespace, one.name, request)
    ended = read_not_started(await carry(session, streams, lambda said: print_notice(localized(said))))
    if ended.message:
        program = command[0] if is_not_started(ended) else ""
        print_notice(localized(explain_end(ended, program, str(one.rank))))
        if program and (hint := suggest_words(command)) is not None:
            print_notice(localized(hint))
    return ended.code


def suggest_words(command: Sequence[str]) -> Phrase | None:
    """For a whole line in quotes, which stands for one program of that name: a shell reads it, or it is given as words.
    None where it is none. Pure."""
    if len(command) != 1 or len(command[0].split()) < 2:
        return None
    return phrase("one word in quotes is one program: leave the quotes out, or `-- sh -c {line}`",
                  line=shlex.quote(command[0]))  # fmt: skip


def explain_end(ended: Ended, program: str, rank: str) -> Phrase:
    """`program`: the one that could not be started; empty where it has. Pure."""
    if program:
        return phrase("{program} cannot be started in {rank}: {why}",
                      program=program, rank=rank, why=Foreign(ended.message))  # fmt: skip
    return phrase("{rank}: {why}", rank=rank, why=Foreign(ended.message))
