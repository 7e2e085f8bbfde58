"""The screen of a followed job: permanent lines, and on a terminal one live line below them.

The ranks' lines go to stdout and all that Paddock says itself to stderr, each written at once, so that their order is
right where both end in one place. Where that is a terminal, both are printed above the live line. Elsewhere nothing is
redrawn, and a rank's lines are as its program wrote them. All else is cleaned (`cli.output.terminal`), lines that
Paddock quotes included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from paddock.cli.output.local_times import localize_times
from paddock.cli.output.log_lines import Unended
from paddock.cli.output.streams import drop_output, print_log
from paddock.cli.output.terminal import pod_colour, stderr, stdout, styled
from paddock.kube.printable import show_line
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase, render


class Screen:
    """A context manager; its methods also work outside of the context. Phrases are rendered in `language`. `goes_on`:
    where nobody reads the ranks' lines any more (`| head`), or a disk is full, they are dropped, as a job is followed
    to its end all the same; else OSError is raised."""

    def __init__(
        self, out: Console | None = None, err: Console | None = None, *, language: str = "en", goes_on: bool = False
    ) -> None:
        self._goes_on = goes_on
        self._out, self._err, self.language = out or stdout(), err or stderr(), language
        self._is_one_place = are_one_place(self._out.file, self._err.file)
        self._draws = self._out.is_terminal and self._out.file.isatty()
        """Whether stdout is a terminal indeed: FORCE_COLOR makes one of a file, for colours alone."""
        is_live = self._draws and self._is_one_place and self._out.is_interactive
        self._live = Live(console=self._out, refresh_per_second=8, transient=True) if is_live else None
        self._own = self._out if self._live else self._err
        self._shown = ""
        self._heads: dict[str, str] = {}
        self._is_open = False
        """The last line of a rank has no end yet."""

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def rank_lines(self, name: str, width: int, lines: list[str], attempt: int | None = None) -> None:
        """`worker-0 │ …`, with a colour for each rank. `width`: of the names; 0 for lines without one.

        On a terminal colour codes are kept and other control sequences dropped, as they would damage the live line;
        what is left that a terminal acts on is shown.
        All lines are one print, so that the screen does not flicker. `attempt`: that of the pod that printed them.
        """
        if not lines:
            return
        head = f"{show_line(name):<{width}} │ " if width else ""
        if not self._draws:
            with self._guarded(self._out):
                text = join_lines(self._colour(head, name), lines)
                self._is_open = not text.endswith("\n")
                print_log(text, self._out.file)
            return
        shown = Text("\n").join(Text.assemble((head, pod_colour(name)), read_colours(line)) for line in lines)
        self._out.print(shown, soft_wrap=True)

    @contextmanager
    def _guarded(self, console: Console) -> Iterator[None]:
        """What is printed here may fail without an end of the command, if it `goes_on`."""
        try:
            yield
        except OSError as error:
            if not self._goes_on:
                raise
            drop_output(console.file)
            if console is self._out and not isinstance(error, BrokenPipeError):
                said = phrase("standard output takes no more ({why}): the logs keep all", why=explain_unreadable(error))
                self.notify(said)

    def _colour(self, head: str, name: str) -> str:
        """As FORCE_COLOR wants it in a pipe."""
        if head not in self._heads:
            with self._out.capture() as shown:
                self._out.print(styled(head, pod_colour(name)), end="")
            self._heads[head] = shown.get()
        return self._heads[head]

    def end_line(self) -> None:
        """Ends the line of a program that has left it without an end."""
        if self._is_open:
            self._is_open = False
            with self._guarded(self._out):
                print_log("\n", self._out.file)

    def answer(self, text: Phrase | str, style: str = "") -> None:
        """Prints to stdout what the command was asked for."""
        self._print(self._out, text, style)

    def line(self, text: Phrase | str, style: str = "") -> None:
        """Prints a sentence about the job to stderr."""
        self._print(self._own, text, style)

    def notify(self, text: Phrase | str) -> None:
        """Prints a notice to stderr, dimmed on a terminal."""
        self._print(self._own, text, "dim" if self._live else "")

    def _print(self, console: Console, text: Phrase | str, style: str) -> None:
        if self._is_one_place or console is self._out:
            self.end_line()
        with self._guarded(console):
            console.print(styled(localize_times(render(text, self.language)), style), soft_wrap=True)

    def notify_unless_live(self, text: str) -> None:
        """Printed only when there is no live line."""
        if not self._live:
            self._print(self._err, text, "")

    def status(self, text: str) -> None:
        """Sets the live line, if there is one."""
        if self._live and text != self._shown:
            self._shown = text
            self._live.update(styled(text, "bold", no_wrap=True, overflow="ellipsis"))


class Redrawn:
    """Lines in the place of those before. A context manager; what was drawn last stays."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, lines: Sequence[Text], tell_left: Callable[[int], str]) -> None:
        """As many as the terminal has room for, none longer than it is wide. `tell_left`: the last line, where so many
        are left out."""
        shown, left = cut_lines(len(lines), self.console.height)
        kept = [line.copy() for line in lines[:shown]] + ([styled(tell_left(left))] if left else [])
        for line in kept:
            line.truncate(self.console.width, overflow="ellipsis")
        self._live.update(Text("\n").join(kept), refresh=True)


def cut_lines(count: int, height: int) -> tuple[int, int]:
    """How many of so many lines a terminal of this height shows, and how many are left out: then its last line says so.
    One line stays free for the cursor."""
    room = max(2, height - 1)
    return (count, 0) if count <= room else (room - 1, count - room + 1)


_LINK = re.compile("\x1b\\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
"""OSC 8, which rich would keep: a link shows one address and opens another."""


def read_colours(line: str) -> Text:
    """A line of a log with the colours that its program gave it, and without its other control sequences. Pure."""
    return Text.from_ansi(_LINK.sub("", line))


def join_lines(head: str, lines: Sequence[str]) -> str:
    """Lines that begin with `head`. Without one, a line that its program has not ended is not ended. Pure."""
    if head:
        return "".join([f"{head}{line}\n" for line in lines])
    return "".join([line if isinstance(line, Unended) else f"{line}\n" for line in lines])


def are_one_place(one: IO[str], other: IO[str]) -> bool:
    """Whether two streams are written to the same terminal, file or pipe."""
    if one is other:
        return True
    try:
        return os.path.samestat(os.fstat(one.fileno()), os.fstat(other.fileno()))
    except (OSError, ValueError, AttributeError):  # no file, or one that is closed
        return False
