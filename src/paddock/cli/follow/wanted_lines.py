"""Which lines of a log are printed, and how: --include, --exclude, --tail, --first-error, -o json."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import click
from rich.console import Console

from paddock.cli.output.language import localized
from paddock.cli.output.log_lines import Lines
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_line, write_json
from paddock.logs.first_error import find_first_error
from paddock.logs.folding import Folding
from paddock.words.phrases import phrase

_BATCH = 2_000
"""Lines that are printed at once."""
_TAIL_BYTES, _TAIL_STEP = 2**20, 8
"""How much is read at first for --tail, and how many times as much where that has too few lines."""
_LINES_BEFORE = 400
"""As many lines as a filter remembers of a log (`logs.folding`)."""


class PatternType(click.ParamType[re.Pattern[str]]):
    """The value of --include and --exclude: a regular expression of Python's `re`."""

    name = "pattern"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> re.Pattern[str]:
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(str(value))
        except (re.error, OverflowError, RecursionError) as error:
            why = error.msg if isinstance(error, re.error) else str(error)
            place = (error.pos or 0) + 1 if isinstance(error, re.error) else 1
            said = phrase(
                "{text} is no regular expression: {why}, at character {place}",
                text=repr(value), why=why, place=place,
            )  # fmt: skip
            self.fail(localized(said), parameter, context)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lines that are asked for."""

    include: tuple[re.Pattern[str], ...] = ()
    """One of these must match."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """None of these may match."""
    tail: int | None = None
    """Of what is left the last lines of each rank, None for all."""
    first_error: bool = False
    """In place of the first error, of a rank that failed and printed none: the last lines of its own."""

    def shows(self, line: str) -> bool:
        included = not self.include or any(each.search(line) for each in self.include)
        return included and not any(each.search(line) for each in self.exclude)

    @property
    def filters(self) -> bool:
        return bool(self.include or self.exclude)

    def choose(self, lines: list[str]) -> list[str]:
        """Lines that are searched for have an end each, as those of grep."""
        return [str(line) for line in lines if self.shows(line)] if self.filters else lines


@dataclass(frozen=True, slots=True)
class Source:
    """The log of one rank."""

    rank: str
    run: int | None
    """None where nobody counts them (a run on a cluster)."""
    attempt: int | None
    """None as `run`."""
    chunks: Iterable[bytes]


def read_lines(source: Source, folding: Folding | None = None, *, raw: bool = False) -> Iterator[list[str]]:
    """The lines of a log, in batches. `folding`: folds some of them; `raw`: a line has all states of its bar."""
    lines = Lines(raw=raw)
    for chunk in source.chunks:
        batch = lines.feed(chunk)
        yield batch if folding is None else folding.feed(batch)
    if folding is None:
        yield lines.end()
        return
    last, held = folding.feed(lines.end()), folding.end()
    yield [*map(str, last), *held] if held else last


def choose_lines(batches: Iterable[list[str]], wanted: Wanted) -> Iterator[list[str]]:
    """The lines that are wanted of one log, in batches. A log may be larger than the memory."""
    if wanted.first_error:
        yield [str(line) for line in find_first_error(chain.from_iterable(batches))]
        return
    chosen = map(wanted.choose, batches)
    if wanted.tail is None:
        yield from chosen
        return
    last: deque[str] = deque(maxlen=wanted.tail)
    for batch in chosen:
        last.extend(batch)
    yield list(last)


def find_last_lines(
    read: Callable[[int], Iterable[bytes]],
    size: int,
    wanted: Wanted,
    open_folding: Callable[[], Folding | None],
    *,
    raw: bool = False,
) -> list[str]:
    """The lines of --tail of a log of `size` bytes, of which `read` reads the last so many. Only as much is read as is
    needed. `open_folding`: a filter that has seen nothing of this log; None for none.

    What is folded may depend on lines before. So more lines are looked for than are wanted, and what is known of a log
    that is longer than what was read begins there: a traceback in it that was printed before is shown."""
    tail, most = wanted.tail or 0, _TAIL_BYTES
    while True:
        is_whole, folding = most >= size, open_folding()
        enough = tail if folding is None else tail + _LINES_BEFORE
        batches = read_lines(Source("", None, None, read(size if is_whole else most)), folding, raw=raw)
        if not is_whole:
            batches = _leave_out_first(batches)
        found = next(iter(choose_lines(batches, replace(wanted, tail=enough))), [])
        if is_whole or len(found) >= enough:
            return found[-tail:] if tail else []
        most *= _TAIL_STEP


def _leave_out_first(batches: Iterable[list[str]]) -> Iterator[list[str]]:
    """Without the first line, which is cut."""
    is_first = True
    for batch in batches:
        yield batch[1:] if batch and is_first else batch
        is_first = is_first and not batch


def print_log(
    source: Source,
    wanted: Wanted,
    show: Callable[[list[str]], None],
    folding: Folding | None = None,
    *,
    raw: bool = False,
) -> bool:
    """Prints what is wanted of a log; whether anything was."""
    printed = False
    for batch in choose_lines(read_lines(source, folding, raw=raw), wanted):
        for start in range(0, len(batch), _BATCH):
            show(batch[start : start + _BATCH])
            printed = True
    return printed


def build_json_line(run: int | None, attempt: int | None, rank: str, line: str) -> str:
    """`{"run": 3, "attempt": 0, "rank": "worker-0", "line": "…"}`; null where nobody counts."""
    return write_json({"run": run, "attempt": attempt, "rank": rank, "line": line}, indent=None)


class FilteredScreen(Screen):
    """The screen of a followed job that shows the wanted lines alone, as JSON where `as_json`. `run`: its number in
    JSON."""

    def __init__(
        self, wanted: Wanted, *, as_json: bool, language: str, out: Console | None = None, err: Console | None = None
    ) -> None:
        super().__init__(out, err, language=language)
        self._wanted, self._as_json = wanted, as_json
        self.run: int | None = None

    def rank_lines(self, name: str, width: int, lines: list[str], attempt: int | None = None) -> None:
        chosen = self._wanted.choose(lines)
        if not self._as_json:
            super().rank_lines(name, width, chosen, attempt)
            return
        for line in chosen:
            print_line(build_json_line(self.run, attempt, name, line), to=self._out.file, flush=True)
