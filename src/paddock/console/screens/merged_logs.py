"""The ranks of one attempt as one log, by time: a part of the page of logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from paddock.console.backend import Logs
from paddock.console.logs.lanes import Lane
from paddock.console.logs.lines import ShownLine, show_line, show_lines, write_lines
from paddock.console.logs.look import Hits, Look, Search, find, use_files
from paddock.console.logs.merged import MOST, MergedPart, order_hits, place_lines, read_merged, read_merged_some
from paddock.console.page_context import Answer, PageContext
from paddock.console.screens.looked_logs import Looked, address_of_logs, read_number, read_ranks, tell_state
from paddock.history.log_index import LONGEST, Line
from paddock.kube.times import Moment
from paddock.words.phrases import counted, phrase

ON_A_PAGE = 200
ABOVE = 20
"""Lines above the one that a link names."""
_IN_A_PIECE = 2_000
"""Lines of a download that are read at once."""
_MOST_NAMED = 8
COLOURS = 8
"""Of lanes, in the stylesheet; the ranks have their names beside them."""


async def build_merged(page: PageContext, looked: Looked) -> Mapping[str, Any]:
    """What the page shows before a script comes: the lines around the first error, or the last ones."""
    chosen, address = _choose(page, looked.seen), address_of_logs(page)
    error = await _place_error(looked, chosen.merged)
    line = read_number(page.query.get("line", "")) or (error if "from" not in page.query else None)
    begin = read_number(page.query.get("from", ""))
    start = begin - 1 if begin else max(0, line - 1 - ABOVE) if line else -ON_A_PAGE
    count = 0 if page.query.get("bare") else ON_A_PAGE
    async with use_files():
        part = await asyncio.to_thread(read_merged, looked.source, chosen.merged, start, count)
    lines = await asyncio.to_thread(_show, looked.seen, part)
    ranks = ",".join(lane.rank for lane in chosen.merged) if chosen.is_part else ",".join(read_ranks(page))
    query = {"merged": "1", "at": looked.seen.attempt, "rank": ranks}
    written = urlencode({name: text for name, text in query.items() if text != ""}, safe=",")
    return {
        "part": part,
        "lines": lines,
        "line": line,
        "error": error,
        "address": address,
        "query": written,
        "ranks": ranks,
        "download": f"{address}/download?{written}",
        "title": _write_title(page, chosen.merged),
        "told": [page.say(said) for said in _tell(part, len(chosen.left))],
        "others": [(_name_part(each), ",".join(lane.rank for lane in each)) for each in _divide(chosen.left)],
        "echoes": len(chosen.echoes),
        "timed": len(part.unknown) < len(chosen.merged),
    }


def _show(seen: Look, part: MergedPart) -> list[tuple[str, int, Moment | None, ShownLine]]:
    colours, shown = _colour(seen), show_lines([line for _, line, _ in part.lines])
    return [
        (lane.rank, colours[lane.rank], time, line) for (lane, _, time), line in zip(part.lines, shown, strict=True)
    ]


async def _place_error(looked: Looked, lanes: Sequence[Lane]) -> int | None:
    """The merged number, from 1, of the error of the rank that failed first; of no such rank, of the first of all."""
    errors = {lane.rank: [lane.error.line] for lane in lanes if lane.error is not None and not lane.error.is_echo}
    first = next((lane for lane in lanes if lane.is_first and lane.error is not None), None)
    if first is not None and first.error is not None:
        errors = {first.rank: [first.error.line]}
    if not errors:
        return None
    async with use_files():
        placed = await asyncio.to_thread(place_lines, looked.source, lanes, errors)
    return min((number + 1 for numbers in placed.values() for number in numbers), default=None)


async def answer_merged(
    page: PageContext, looked: Looked, begin: int, count: int, numbers: Sequence[int] | None
) -> Answer:
    """As `answer_lines`; each line has its rank, its number there, its colour and its time behind."""
    lanes = _choose(page, looked.seen).merged
    async with use_files():
        if numbers is not None:
            part = await asyncio.to_thread(read_merged_some, looked.source, lanes, numbers)
        else:
            part = await asyncio.to_thread(read_merged, looked.source, lanes, begin, count)
    colours, only = _colour(looked.seen), [line for _, line, _ in part.lines]
    lines = await asyncio.to_thread(show_asked, page, only)
    behind = [[lane.rank, line.number + 1, colours[lane.rank], time] for lane, line, time in part.lines]
    written = [[*line, *more] for line, more in zip(write_lines(lines), behind, strict=True)]
    told = {"from": part.begin + 1, "count": part.count, "lost": False, "lines": written}
    return Answer(json.dumps({**told, **tell_state(page, looked.seen)}).encode())


def show_asked(page: PageContext, lines: Sequence[Line]) -> list[ShownLine]:
    """With `whole=1` as much of each as is read at all. In a thread: a line may have thousands of colours."""
    return [show_line(line, LONGEST) for line in lines] if page.query.get("whole") else show_lines(lines)


async def find_merged(page: PageContext, looked: Looked, what: Search, most: int) -> Answer:
    """As `answer_find`, by merged numbers. Raises `WrongPattern`."""
    lanes = _choose(page, looked.seen).merged
    everywhere = replace(what, begin=0, end=None, most=most + 1, last=False)
    hits = await find(looked.source, lanes, everywhere)
    async with use_files():
        return await asyncio.to_thread(_tell_hits, looked.source, lanes, hits, what, most)


def _tell_hits(logs: Logs, lanes: Sequence[Lane], hits: Sequence[Hits], what: Search, most: int) -> Answer:
    """In a thread: a hundred ranks may have a million hits."""
    placed = place_lines(logs, lanes, {each.lane.rank: each.numbers for each in hits})
    found, is_cut = order_hits(placed, most)
    whole = all(each.is_whole or len(each.numbers) > most for each in hits)
    wanted = [each + 1 for each in found if each >= what.begin and (what.end is None or each < what.end)]
    lines = wanted[-most:] if what.last else wanted[:most]
    more = not what.last and (is_cut or len(wanted) > most)
    told = {"lines": lines, "upto": lines[-1] if lines else 0, "more": more, "whole": whole}
    return Answer(json.dumps(told).encode())


async def read_all_merged(page: PageContext, looked: Looked) -> AsyncIterator[bytes]:
    """What a download has: `RANK TIME LINE`, as far as it is written now; `-` for a time that is not known."""
    lanes = _choose(page, looked.seen).merged
    begin, end = 0, 1
    while begin < end:
        async with use_files():
            part = await asyncio.to_thread(read_merged, looked.source, lanes, begin, _IN_A_PIECE)
        end = part.count if not begin else min(end, part.count)
        begin += len(part.lines) or _IN_A_PIECE
        yield b"".join(
            b"%s %s %s\n" % (lane.rank.encode(), _write_moment(time).encode(), line.data.rstrip(b"\r\n"))
            for lane, line, time in part.lines
        )


def _write_moment(time: Moment | None) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds") if time is not None else "-"


def _list_all(seen: Look) -> list[Lane]:
    lanes = [*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest]
    return sorted(lanes, key=lambda lane: (lane.log is None, lane.log and (lane.log.role, lane.log.index), lane.rank))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Of the ranks that are named, else of all; each by role and index, so that a rank keeps its place."""

    merged: Sequence[Lane]
    left: Sequence[Lane]  # they are too many: the ones with trouble are merged
    echoes: Sequence[Lane]  # they only lost a peer, and nobody asked for them

    @property
    def is_part(self) -> bool:
        """Whether the address has to name those that are merged."""
        return bool(self.left or self.echoes)


def _choose(page: PageContext, seen: Look) -> _Chosen:
    ranks = set(read_ranks(page))
    folded = () if ranks or page.query.get("echoes") == "1" else seen.lanes.echoes
    hidden = {lane.rank for lane in folded}
    troubled = [each for each in (*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest) if each.rank not in hidden]
    merged = {lane.rank for lane in [each for each in troubled if _is_wanted(each, ranks)][:MOST]}
    wanted = [lane for lane in _list_all(seen) if _is_wanted(lane, ranks) and lane.rank not in hidden]
    return _Chosen(
        [lane for lane in wanted if lane.rank in merged], [lane for lane in wanted if lane.rank not in merged], folded
    )


def _is_wanted(lane: Lane, ranks: Collection[str]) -> bool:
    return lane.log is not None and (not ranks or lane.rank in ranks)


def _divide(lanes: Sequence[Lane]) -> list[Sequence[Lane]]:
    return [lanes[begin : begin + MOST] for begin in range(0, len(lanes), MOST)]


def _name_part(lanes: Sequence[Lane]) -> str:
    return lanes[0].rank if len(lanes) == 1 else f"{lanes[0].rank} … {lanes[-1].rank}"


def _write_title(page: PageContext, lanes: Sequence[Lane]) -> str:
    """Empty where it is of all ranks."""
    if not read_ranks(page) and len(lanes) < MOST:
        return ""
    if len(lanes) <= _MOST_NAMED:
        return page.say(phrase(", ")).join(lane.rank for lane in lanes)
    return page.say(counted("{count} rank", "{count} ranks", count=len(lanes)))


def _colour(seen: Look) -> dict[str, int]:
    return {lane.rank: place % COLOURS for place, lane in enumerate(_list_all(seen))}


def _tell(part: MergedPart, left: int) -> list[Any]:
    """What the reader has to know of the order."""
    said: list[Any] = []
    if part.unknown:
        named = ", ".join(part.unknown[:_MOST_NAMED]) + (", …" if len(part.unknown) > _MOST_NAMED else "")
        said.append(phrase("when these printed was not noted, so their lines stand at the end: {ranks}", ranks=named))
    if left:
        said.append(
            counted(
                "{count} rank is left out of this page, which has those with trouble:",
                "{count} ranks are left out of this page, which has those with trouble:",
                count=left,
            )
        )
    return said
