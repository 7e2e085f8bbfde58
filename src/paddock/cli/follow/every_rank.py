"""A program in every pod of a job, and its lines with the rank before each: `paddock exec --all`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from paddock.cli.follow.sessions import UNREAD, explain_end, suggest_words
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.log_lines import Lines
from paddock.cli.output.own_terminal import has_input
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_notice
from paddock.cli.output.terminal import stderr
from paddock.kube.errors import ApiError, Forbidden
from paddock.kube.pod_streams import STDERR, STDOUT, Ended, StreamRequest, is_not_started, read_not_started
from paddock.words.phrases import Foreign, counted, phrase

if TYPE_CHECKING:
    from paddock.cli.follow.one_rank import EveryRank, OneRank
    from paddock.client.client import Client

MOST_AT_ONCE = 64


async def run_everywhere(client: Client, every: EveryRank, command: tuple[str, ...]) -> int:
    """Runs a command in all pods, without input; the highest of their exit codes, and 1 at least where one was left out
    or its connection was lost. Raises `Forbidden` where none may be entered."""
    if has_input():
        print_notice(localized(phrase("the input is not passed on: with --all the command has none")))
    for said in every.absent:
        print_notice(localized(said))
    if (waiting := len(every.ones) - MOST_AT_ONCE) > 0:
        said = counted(
            "{most} at a time: {count} pod waits until another has ended",
            "{most} at a time: {count} pods wait until others have ended",
            count=waiting, most=MOST_AT_ONCE,
        )  # fmt: skip
        print_notice(localized(said))
    width = max(len(str(one.rank)) for one in every.ones) if len(every.ones) + len(every.absent) > 1 else 0
    work, room = _Everywhere(client, command, width), asyncio.Semaphore(MOST_AT_ONCE)

    async def run(one: OneRank) -> int | Forbidden:
        async with room:
            return await work.run(one)

    tasks = [asyncio.create_task(run(one)) for one in every.ones]
    try:
        found = await asyncio.gather(*tasks)
    except BrokenPipeError:
        return UNREAD
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    refused = [each for each in found if isinstance(each, Forbidden)]
    if refused and len(refused) == len(found):
        raise refused[0]
    for one, each in zip(every.ones, found, strict=True):
        if isinstance(each, Forbidden):
            _note_error(one, each)
    codes = [1 if isinstance(each, Forbidden) else each for each in found]
    return max((*codes, 1 if every.absent else 0))


class _Everywhere:
    def __init__(self, client: Client, command: tuple[str, ...], width: int) -> None:
        self._client, self._command, self._width = client, command, width
        language = readers_language()
        self._advice = suggest_words(command)
        self._screens = {STDOUT: Screen(language=language), STDERR: Screen(stderr(), language=language)}

    async def run(self, one: OneRank) -> int | Forbidden:
        """Its exit code. Raises OSError where our output takes no more."""
        try:
            ended = await self._run(one)
        except Forbidden as error:
            return error
        except ApiError as error:
            _note_error(one, error)
            return 1
        if ended.message:
            program = self._command[0] if is_not_started(ended) else ""
            print_notice(localized(explain_end(ended, program, str(one.rank))))
            if program and self._advice is not None:  # once, for all ranks
                print_notice(localized(self._advice))
                self._advice = None
        elif ended.code and self._width:
            print_notice(localized(phrase("{rank}: exit code {code}", rank=str(one.rank), code=ended.code)))
        return ended.code

    async def _run(self, one: OneRank) -> Ended:
        from paddock.client.pod_streams import open_exec

        session = await open_exec(self._client, one.namespace, one.name, StreamRequest(one.container, self._command))
        lines = {STDOUT: Lines(), STDERR: Lines()}
        try:
            while (output := await session.read()) is not None:
                channel, data = output
                self._print(one, channel, lines[channel].feed(data))
            return read_not_started(await session.wait())
        finally:
            for channel, each in lines.items():
                self._print(one, channel, each.end())
            await session.close()

    def _print(self, one: OneRank, channel: int, lines: list[str]) -> None:
        """Each with its end, also where the program has printed none: another rank's may follow."""
        self._screens[channel].rank_lines(str(one.rank), self._width, [str(line) for line in lines])


def _note_error(one: OneRank, error: ApiError) -> None:
    print_notice(localized(phrase("{rank}: {why}", rank=str(one.rank), why=Foreign(error.message))))
