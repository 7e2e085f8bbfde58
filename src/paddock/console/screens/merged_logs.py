"""The ranks of one attempt as one log, by time: a part of the page of logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from paddock.console.backend import Logs
from paddock.console.logs.lanes import Lane
from paddock.console.logs.lines import ShownLine, show_line, write_lines
from paddock.console.logs.look import Look, use_files
from paddock.console.logs.merged import MOST, MergedPart, read_merged
from paddock.console.page_context import Answer, PageContext
from paddock.history.log_index import LONGEST
from paddock.kube.times import Moment
from paddock.words.phrases import counted, phrase

ON_A_PAGE = 200
_IN_A_PIECE = 2_000
"""Lines of a download that are read at once."""
_MOST_NAMED = 8
COLOURS = 8
"""Of lanes, in the stylesheet; the ranks have their names beside them."""


async def build_merged(page: PageContext, source: Logs, seen: Look, address: str) -> Mapping[str, Any]:
    """What the page shows before a script comes."""
    lanes, left = _choose(page, seen)
    begin = read_number(page.query.get("from", ""))
    async with use_files():
        part = await asyncio.to_thread(read_merged, source, lanes, begin - 1 if begin else -ON_A_PAGE, ON_A_PAGE)
    colours = _colour(seen)
    ranks = ",".join(lane.rank for lane in lanes) if left else ",".join(read_ranks(page))
    query = {"merged": "1", "at": seen.attempt, "rank": ranks}
    written = urlencode({name: text for name, text in query.items() if text != ""}, safe=",")
    return {
        "part": part,
        "lines": [
            (lane.rank, colours[lane.rank], _write_time(time), show_line(line)) for lane, line, time in part.lines
        ],
        "address": address,
        "query": written,
        "ranks": ranks,
        "download": f"{address}/download?{written}",
        "title": _write_title(page, lanes),
        "told": [page.say(said) for said in _tell(part, len(left))],
        "others": [(_name_part(each), ",".join(lane.rank for lane in each)) for each in _divide(left)],
    }


async def answer_merged(page: PageContext, source: Logs, seen: Look, begin: int, count: int) -> Answer:
    """As `answer_lines`; each line has its rank, its number there, its colour and its time behind."""
    async with use_files():
        part = await asyncio.to_thread(read_merged, source, _choose(page, seen)[0], begin, count)
    colours = _colour(seen)
    most = LONGEST if page.query.get("whole") else None
    lines: Sequence[ShownLine] = [show_line(line, most) if most else show_line(line) for _, line, _ in part.lines]
    behind = [[lane.rank, line.number + 1, colours[lane.rank], time] for lane, line, time in part.lines]
    written = [[*line, *more] for line, more in zip(write_lines(lines), behind, strict=True)]
    told = {"from": part.begin + 1, "count": part.count, "over": seen.is_over, "lost": False, "lines": written}
    return Answer(json.dumps(told).encode())


async def read_all_merged(page: PageContext, source: Logs, seen: Look) -> AsyncIterator[bytes]:
    """What a download has: `RANK TIME LINE`, as far as it is written now; `-` for a time that is not known."""
    lanes, _ = _choose(page, seen)
    begin, end = 0, 1
    while begin < end:
        async with use_files():
            part = await asyncio.to_thread(read_merged, source, lanes, begin, _IN_A_PIECE)
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


def _choose(page: PageContext, seen: Look) -> tuple[list[Lane], list[Lane]]:
    """(those that are merged, those that are left out) of the ranks that are named, else of all. Where they are too
    many, the ones with trouble are merged. Each by role and index, so that a rank keeps its place."""
    ranks = set(read_ranks(page))
    troubled = [*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest]
    merged = {lane.rank for lane in [each for each in troubled if _is_wanted(each, ranks)][:MOST]}
    wanted = [lane for lane in _list_all(seen) if _is_wanted(lane, ranks)]
    return [lane for lane in wanted if lane.rank in merged], [lane for lane in wanted if lane.rank not in merged]


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


def _write_time(time: Moment | None) -> str:
    """In the console's time zone; the script writes the reader's."""
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%H:%M:%S") if time is not None else ""


def read_ranks(page: PageContext) -> list[str]:
    return [rank for rank in page.query.get("rank", "").split(",") if rank]


def read_number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None
