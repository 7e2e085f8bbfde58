"""The screen of a followed job: permanent lines, and on a terminal one live line below them.

Lines of ranks and the result go to stdout, notices to stderr. Nothing is redrawn if stdout is no terminal.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from paddock.cli.output.local_times import localize_times
from paddock.cli.output.terminal import pod_colour, stderr, stdout
from paddock.jobs.text.phrases import Phrase, render


class Screen:
    """A context manager; its methods also work outside of the context. Phrases are rendered in `language`."""

    def __init__(self, out: Console | None = None, err: Console | None = None, *, language: str = "en") -> None:
        self._out, self._err, self.language = out or stdout(), err or stderr(), language
        self._one_terminal = self._out.is_terminal and self._err.is_terminal
        self._live = Live(console=self._out, refresh_per_second=8, transient=True) if self._out.is_interactive else None
        self._shown = ""

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
        """`worker-0 │ …`, with a colour for each rank; without a name the line as the program wrote it.

        On a terminal colour codes are kept and other control sequences dropped, as they would damage the live line.
        All lines are one print, so that the screen does not flicker. `attempt`: that of the pod that printed them.
        """
        head = f"{name:<{width}} │ " if name else ""
        if not lines:
            return
        if not self._out.is_terminal:
            print("\n".join(head + line for line in lines), file=self._out.file, flush=True)
            return
        text = Text("\n").join(Text.assemble((head, pod_colour(name)), Text.from_ansi(line)) for line in lines)
        self._out.print(text, soft_wrap=True)

    def line(self, text: Phrase | str, style: str = "") -> None:
        self._out.print(Text(localize_times(render(text, self.language)), style=style), soft_wrap=True)

    def notify(self, text: Phrase | str) -> None:
        """Prints a notice to stderr; above the live line if stdout and stderr are one terminal."""
        said = localize_times(render(text, self.language))
        if self._live and self._one_terminal:
            self._out.print(Text(said, style="dim"), soft_wrap=True)
        else:
            self._err.print(said)

    def notify_unless_live(self, text: str) -> None:
        """Printed only when there is no live line."""
        if not self._live:
            self._err.print(text)

    def status(self, text: str) -> None:
        """Sets the live line, if there is one."""
        if self._live and text != self._shown:
            self._shown = text
            self._live.update(Text(text, style="bold", no_wrap=True, overflow="ellipsis"))
