"""The screen of a followed job: lines that stay, and on a terminal one live line below them.

Lines of ranks and the end go to stdout, talk to stderr. Nothing is redrawn when stdout is no terminal.
"""

from __future__ import annotations

from types import TracebackType

from rich.live import Live
from rich.text import Text

from paddock.cli.terminal import pod_colour, stderr, stdout


class Screen:
    """Use as a context; `line` may be called at any time, also outside of it."""

    def __init__(self) -> None:
        self._out, self._err = stdout(), stderr()
        self._live = Live(console=self._out, refresh_per_second=8, transient=True) if self._out.is_terminal else None

    @property
    def is_live(self) -> bool:
        return self._live is not None

    def __enter__(self) -> Screen:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def rank_line(self, name: str, width: int, text: str) -> None:
        """`worker-0 │ …`, the rank in its own colour; what the program wrote stands as it wrote it."""
        line = Text(f"{name:<{width}} │ ", style=pod_colour(name))
        line.append(text, style="default")
        self._out.print(line, soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        self._out.print(Text(text, style=style), soft_wrap=True)

    def talk(self, text: str) -> None:
        """To stderr; above the live line where both are one terminal."""
        if self._live and self._err.is_terminal:
            self._out.print(Text(text, style="dim"), soft_wrap=True)
        else:
            self._err.print(text)

    def status(self, text: str) -> None:
        """The live line; nothing where there is none."""
        if self._live:
            self._live.update(Text(text, style="bold", no_wrap=True, overflow="ellipsis"))
