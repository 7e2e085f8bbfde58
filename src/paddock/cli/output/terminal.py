"""Consoles and tables: data goes to stdout, notices to stderr; a pod always has the same colour.

rich honours NO_COLOR, FORCE_COLOR, TERM=dumb, pipes and the width of the terminal. Text of others is cleaned here
(`kube.printable`): whatever a console prints, and before that what is measured, as a cleaned character is wider.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from paddock.cli.output.language import readers_language
from paddock.cli.output.streams import GAP, drop_output
from paddock.cli.output.table_words import say_table
from paddock.kube.printable import show, show_line

_POD_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")
_STATUS_COLOURS = {
    "Completed": "green",
    "Succeeded": "green",
    "Ready": "green",
    "Running": "cyan",
    "Failed": "red",
    "Error": "red",
    "Invalid": "red",
    "Restarting": "yellow",
    "Pending": "yellow",
    "Starting": "yellow",
    "Building": "yellow",
}
_NARROW = 100
"""Columns below which a table shows sentences under their row."""
_SENTENCES = frozenset({"WHY", "WHAT", "DIRECTORY", "METRICS", "CHANGED"})
LEAST_ROOM = 60
"""Columns that a cause needs beside its row: with less it stands under it, on any terminal."""
_WRAPPING = Console(width=_NARROW)
_LEAST = 10
"""Characters that the last column keeps on the narrowest terminal."""


class PlainConsole(Console):
    """A console on which no text acts: each character that a terminal acts on is shown, and styles and cursor are ours.

    It drops what nobody reads any more (`| head`), where rich would end the command with exit code 1: what the command
    does, and its exit code, stay the same. A stderr that cannot be written ends no command either."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(show(text), **options)  # `Text` drops some of them without a trace

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever is printed comes by here; segments of control are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else _clean(segment)

    def on_broken_pipe(self) -> None:
        drop_output(self.file)

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:
            if not self.stderr:
                raise
            drop_output(self.file)


def _clean(segment: Segment) -> Segment:
    shown = show(segment.text)
    return segment if shown == segment.text else Segment(shown, segment.style)


def styled(text: str, style: str = "", **options: Any) -> Text:
    """A text of rich that is measured and wrapped as it is shown. All of the command line's are made here, as `Text`
    drops some characters without a trace. `options`: of `Text`."""
    return Text(show(text), style, **options)


def stdout() -> Console:
    """Width is unlimited in a pipe, where a program reads it."""
    return PlainConsole(highlight=False, markup=False, emoji=False, soft_wrap=True)


def stderr() -> Console:
    return PlainConsole(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def pod_colour(pod: str) -> str:
    """The colour by a hash of the pod's name: the same in every run and on every screen."""
    return _POD_COLOURS[zlib.crc32(pod.encode()) % len(_POD_COLOURS)]


def print_table(
    console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool, red: Collection[int] = ()
) -> None:
    """kubectl's layout: capitals, no borders, three spaces between. `cut`: the last column is cut to the terminal; on a
    narrow one WHY, WHAT, METRICS and CHANGED stand in lines of their own, and so they do on any where CHANGED does not
    fit. `red`: the numbers of rows of which STATUS and WHY are red, whatever their words are."""
    header, rows = _clean_row(header), [_clean_row(row) for row in rows]
    width, language = console.width if cut and console.is_terminal else None, readers_language()
    stacks = width is not None and (
        width < _NARROW
        or header[-1] == "CHANGED"
        or (header[-1] in ("WHY", "WHAT") and _room(header, rows, width) < LEAST_ROOM)
    )
    lines = build_stacked(header, rows, width, red, language) if width is not None and stacks else None
    for line in build_table(header, rows, width, red, language) if lines is None else lines:
        console.print(line, soft_wrap=True)


def _clean_row(row: Sequence[str]) -> list[str]:
    """A cell is one line: a line end in it would begin what looks like another row."""
    return [show_line(cell) for cell in row]


def is_narrow(console: Console) -> bool:
    """A terminal on which sentences stand under their row."""
    return console.is_terminal and console.width < _NARROW


def find_room(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """The columns that `print_table` leaves the last column; None where it is not cut: in a pipe, or under its row."""
    if not console.is_terminal or is_narrow(console):
        return None
    room = _room(header, rows, console.width)
    return room if room >= LEAST_ROOM else None


def _room(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    table = [_clean_row(row) for row in say_table(header, rows, readers_language())]
    return width - sum(max(cell_len(row[column]) for row in table) + len(GAP) for column in range(len(header) - 1))


def build_stacked(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    red: Collection[int] = (),
    language: str = "en",
) -> list[Text] | None:
    """A table whose last columns, if they are sentences, stand under each row, indented and wrapped; None if they fit
    beside it. Where even the first ones do not fit, names have a line of their own."""
    whole = build_table(header, rows, language=language)
    count = next((place for place, name in enumerate(reversed(header)) if name not in _SENTENCES), len(header))
    if not count or max(map(_columns, whole)) <= width:
        return None
    indent, shown = "    ", [row[:-count] for row in rows]
    lines = build_table(header[:-count], shown, red=red, language=language)
    if max(map(_columns, lines)) > width:
        names = say_table(header[:1], [row[:1] for row in rows], language)
        rest = build_table(header[1:-count], [row[1:] for row in shown], width - len(indent), red, language)
        lines = [Text("\n").join((Text(name), Text(indent).append_text(line)))
                 for (name,), line in zip(names, rest, strict=True)]  # fmt: skip
    stacked = lines[:1]
    for number, (line, row) in enumerate(zip(lines[1:], rows, strict=True)):
        stacked.append(line)
        for cell in filter(None, row[-count:]):
            wrapped = Text(cell, style="red" if number in red else "").wrap(_WRAPPING, max(_LEAST, width - len(indent)))
            stacked += [Text(indent).append_text(part) for part in wrapped]
    return stacked


def _columns(line: Text) -> int:
    return cell_len(line.plain)


def build_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    max_width: int | None = None,
    red: Collection[int] = (),
    language: str = "en",
) -> list[Text]:
    """The lines of a table. `max_width`: in characters; only the last column is shortened to it. `red`: as in
    `print_table`."""
    table = say_table(header, rows, language)
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(header))]
    if max_width is not None:
        widths[-1] = min(widths[-1], max(_LEAST, max_width - sum(width + len(GAP) for width in widths[:-1])))
    lines = []
    reddened = [place for place, name in enumerate(header) if name in ("STATUS", "ENDED", "WHY")]
    for number, (row, told) in enumerate(zip(table, (header, *rows), strict=True), -1):
        styles = [_STATUS_COLOURS.get(cell, "") for cell in told]
        for place in reddened if number in red else ():
            styles[place] = "red"
        cells = [Text(cell, style=style) for cell, style in zip(row, styles, strict=True)]
        for cell, width in zip(cells, widths, strict=True):
            cell.truncate(width, overflow="ellipsis", pad=True)
        line = Text(GAP).join(cells)
        line.rstrip()
        lines.append(line)
    return lines
