"""The screen of a followed job: lines that stay, and on a terminal one live line below them.

Lines of ranks and the end go to stdout, talk to stderr. Nothing is redrawn when stdout is no terminal.
"""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from paddock.cli.terminal import pod_colour, stderr, stdout
from paddock.jobs.phrases import Phrase, render


class Screen:
    """Use as a context; `line` may be called at any time, also outside of it. What is said in phrases is said in
    `language`, which the one who follows a job asks for causes as well."""

    def __init__(self, out: Console | None = None, err: Console | None = None, *, language: str = "en") -> None:
        self._out, self._err, self.language = out or stdout(), err or stderr(), language
        self._one_terminal = self._out.is_terminal and self._err.is_terminal
        self._live = Live(console=self._out, refresh_per_second=8, transient=True) if self._out.is_interactive else None
        self._shown = ""

    def __enter__(self) -> Screen:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def rank_lines(self, name: str, width: int, lines: list[str]) -> None:
        """`worker-0 │ …`, the rank in its own colour, or without a name the line alone, as the program wrote it.

        On a terminal its colours are kept, and whatever else it says to the terminal is dropped, as it would damage
        the live line. All lines are one print: a job that prints much must not make the screen flicker.
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
        self._out.print(Text(render(text, self.language), style=style), soft_wrap=True)

    def talk(self, text: Phrase | str) -> None:
        """To stderr; above the live line where both are one terminal."""
        said = render(text, self.language)
        if self._live and self._one_terminal:
            self._out.print(Text(said, style="dim"), soft_wrap=True)
        else:
            self._err.print(said)

    def note(self, text: str) -> None:
        """Talk that a live line makes needless."""
        if not self._live:
            self._err.print(text)

    def status(self, text: str) -> None:
        """The live line; nothing where there is none."""
        if self._live and text != self._shown:
            self._shown = text
            self._live.update(Text(text, style="bold", no_wrap=True, overflow="ellipsis"))
