"""What the script of the page of logs asks for, and what is downloaded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from paddock.console.backend import Logs
from paddock.console.logs.lanes import Lane
from paddock.console.logs.lines import write_lines
from paddock.console.logs.look import Part, Search, find, read_part, read_some
from paddock.console.logs.wanted import WrongPattern
from paddock.console.page_context import Answer, PageContext
from paddock.console.screens.looked_logs import find_lane, is_merged, look_at_logs, read_number, read_wanted, tell_state
from paddock.console.screens.merged_logs import answer_merged, find_merged, read_all_merged, show_asked

MOST_LINES, MOST_WHOLE = 1_000, 10
"""That a script gets at once, and those of which it gets all that is read."""
MOST_HITS = 10_000
"""Numbers of lines with a hit that a script gets at once: 70 kB."""
_CHUNK = 2**18


async def answer_lines(page: PageContext) -> Answer:
    """`?rank=&at=&from=&n=` -> `{"from", "count", "over", "live", "newest", "lost", "lines", "times"}`; `from` counts
    from 1, and below 0 from the end. `numbers=5,90`: these lines instead. `whole=1`: as much of a line as is read at
    all, of `MOST_WHOLE` lines. `times=1`: with times. `newest`: the last attempt that has printed; `live`: the job
    goes on."""
    looked = await look_at_logs(page)
    begin = read_number(page.query.get("from", "")) or 1
    most = MOST_WHOLE if page.query.get("whole") else MOST_LINES
    count = min(most, max(0, read_number(page.query.get("n", "")) or 0))
    numbers = _read_numbers(page, most)
    if is_merged(page):
        return await answer_merged(page, looked, begin - 1 if begin > 0 else begin, count, numbers)
    lane, timed = find_lane(page, looked.seen), page.query.get("times") == "1"
    part = await asyncio.to_thread(_read, looked.source, lane, begin - 1 if begin > 0 else begin, count, numbers, timed)
    lines = await asyncio.to_thread(show_asked, page, part.lines)
    told = {"from": part.begin + 1, "count": part.count, "lost": part.lost, **tell_state(page, looked.seen)}
    return Answer(json.dumps({**told, "lines": write_lines(lines), "times": list(part.times)}).encode())


def _read_numbers(page: PageContext, most: int) -> list[int] | None:
    """The places of the lines that are named, from 0; None where none are."""
    if "numbers" not in page.query:
        return None
    found = [read_number(each) for each in page.query["numbers"].split(",")[:most]]
    return [each - 1 for each in found if each is not None and each > 0]


def _read(logs: Logs, lane: Lane, begin: int, count: int, numbers: Sequence[int] | None, timed: bool) -> Part:
    if numbers is not None:
        return read_some(logs, lane.log, numbers, timed)
    return read_part(logs, lane.log, begin, count, timed)


async def answer_find(page: PageContext) -> Answer:
    """`?rank=&at=&q=…&from=&before=&last=1&most=` -> `{"lines": [5120], "upto", "more", "whole"}`, or `{"wrong": "…"}`.
    `upto`: all lines up to this one were searched; `more`: there are hits behind the last of these; `whole`: the time
    was enough."""
    looked = await look_at_logs(page)
    begin, end, most = (read_number(page.query.get(name, "")) for name in ("from", "before", "most"))
    last, most = page.query.get("last") == "1", min(MOST_HITS, max(1, most or 1))
    begin = max(0, (begin or 1) - 1)
    # One more than is told, to know whether there are more.
    what = Search(read_wanted(page), begin, end - 1 if end else None, most + (not last), last, reads=False)
    try:
        if is_merged(page):
            return await find_merged(page, looked, what, most)
        hits = await find(looked.source, [find_lane(page, looked.seen)], what)
    except WrongPattern as wrong:
        return Answer(json.dumps({"wrong": page.say(wrong.said)}).encode())
    lines = [number + 1 for each in hits for number in each.numbers]
    more = not last and len(lines) > most
    upto = lines[most - 1] if more else max((each.upto for each in hits), default=0)
    whole = more or all(each.is_whole for each in hits)
    return Answer(json.dumps({"lines": lines[:most], "upto": upto, "more": more, "whole": whole}).encode())


async def answer_download(page: PageContext) -> Answer:
    """The log, or with `merged=1` all of them, as far as it is written now."""
    looked = await look_at_logs(page)
    if is_merged(page):
        name = f"{page.path['name']}-merged-attempt-{looked.seen.attempt}.log"
        return Answer(read_all_merged(page, looked), "text/plain", name)
    lane = find_lane(page, looked.seen)
    name = f"{page.path['name']}-{lane.rank}-attempt-{looked.seen.attempt}.log"
    return Answer(_read_all(looked.source, lane), "text/plain", name)


async def _read_all(source: Logs, lane: Lane) -> AsyncIterator[bytes]:
    if lane.log is None:
        return
    with ExitStack() as held:
        try:
            log = await asyncio.to_thread(held.enter_context, source.open(lane.log))
        except OSError:  # removed meanwhile, as the page says
            return
        place = 0
        while chunk := await asyncio.to_thread(log.read_bytes, place, _CHUNK):
            place += len(chunk)
            yield chunk
