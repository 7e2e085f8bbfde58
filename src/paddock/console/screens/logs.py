"""The logs of a job: its ranks as lanes, the one that failed first opened at its error; search over all of them.

`looked_logs` says what the address names.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import LOGS, find_kind
from paddock.console.backend import LeftOut
from paddock.console.heads import build_head
from paddock.console.logs.lanes import MOST_OPEN, Lane
from paddock.console.logs.lines import ShownLine, name_classes, show_line, show_lines
from paddock.console.logs.look import MOST_LOGS, Hits, Look, Part, Search, find, read_part
from paddock.console.logs.wanted import WrongPattern
from paddock.console.page_context import PageContext, Screen
from paddock.console.screens.log_answers import answer_download, answer_find, answer_lines
from paddock.console.screens.looked_logs import (
    Looked,
    address_of_logs,
    is_merged,
    link,
    list_topics,
    look_at_logs,
    read_number,
    read_open_ranks,
    read_wanted,
)
from paddock.console.screens.merged_logs import ABOVE, ON_A_PAGE, build_merged
from paddock.history.holes import explain_holes
from paddock.kube.times import Moment, read_time
from paddock.views.commands import printed_name
from paddock.views.short_sentences import explain_start
from paddock.words.phrases import Phrase, counted, phrase

_MOST_FOUND, _MOST_SHOWN = 50, 500
"""Lines of each rank in the table of what was found, and of all ranks: of many, each has fewer."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MOST_ATTEMPTS = 12
"""Links to attempts in a row: a job may start again for ever."""


async def build(page: PageContext) -> Mapping[str, Any]:
    looked = await look_at_logs(page, errors=True)
    lanes, chosen = looked.seen.lanes, read_open_ranks(page)
    first = lanes.first
    opened = [lane for rank in chosen if (lane := lanes.find(rank))] or ([first] if first else [])
    merged = await build_merged(page, looked) if is_merged(page) and opened else None
    panes = [] if merged else [await _build_pane(page, looked, lane) for lane in opened[:MOST_OPEN]]
    kind = find_kind(page.path["kind"])
    assert kind is not None
    return {
        "head": await build_head(page, kind, looked.manifest),
        "look": looked.seen,
        "gone": looked.manifest is None,
        "panes": panes,
        "left_out": [*map(split_times, _tell_left_out(page, looked.seen, [pane["lane"] for pane in panes]))],
        "merged": merged,
        "opened": chosen if merged else [pane["rank"] for pane in panes],
        "link": lambda **changes: link(page, changes),
        "before": ON_A_PAGE - 1,
        "command": _write_command(page, looked.seen, panes),
        "classes": name_classes,
        "size": _write_size,
        "wanted": read_wanted(page),
        "found": await _search_all(page, looked),
        "words": {name: page.say(said) for name, said in _WORDS.items()},
        "why": _explain_start(page, looked.seen),
        "attempts": _list_attempts(looked.seen),
    }


def _explain_start(page: PageContext, seen: Look) -> str:
    return "" if seen.cause is None else explain_start(seen.cause, page.language, None)


def _list_attempts(seen: Look) -> Mapping[str, Sequence[int]]:
    """`near`: those that are linked in a row, with the one that is shown. `more`: the others, which are folded."""
    near = seen.attempts[-_MOST_ATTEMPTS:]
    if seen.attempts and seen.attempt not in near:
        near = (seen.attempt, *near[1:])
    return {"near": near, "more": [each for each in seen.attempts if each not in near]}


async def _build_pane(page: PageContext, looked: Looked, lane: Lane) -> Mapping[str, Any]:
    """What a lane shows before a script comes: the lines around the one that is asked for, or its first error, or its
    last ones."""
    line = read_number(page.query.get("line", ""))
    if line is None and "from" not in page.query and lane.error is not None:
        line = lane.error.line + 1
    begin = read_number(page.query.get("from", ""))
    start = begin - 1 if begin else max(0, line - 1 - ABOVE) if line else -ON_A_PAGE
    count = 0 if page.query.get("bare") else ON_A_PAGE
    part = await asyncio.to_thread(read_part, looked.source, lane.log, start, count)
    lines = await asyncio.to_thread(show_lines, part.lines)
    query = urlencode({"rank": lane.rank, "at": looked.seen.attempt})
    address = address_of_logs(page)
    return {
        "lane": lane,
        "rank": lane.rank,
        "part": part,
        "lines": lines,
        "line": line,
        "address": address,
        "query": query,
        "download": f"{address}/download?{query}",
        "empty": _explain_empty(page, looked.seen, lane, part),
    }


def _tell_left_out(page: PageContext, seen: Look, opened: Sequence[Lane]) -> list[str]:
    """What the copies of the opened logs lack; of a merged one, of all."""
    lanes = opened or [*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest]
    found = [(lane.rank, lane.log.left_out) for lane in lanes if lane.log is not None and lane.log.left_out is not None]
    said = [page.say(each) for rank, lacks in found[:MOST_OPEN] for each in _tell_lacks(page, rank, lacks)]
    more = len(found) - MOST_OPEN
    if more > 0:
        said.append(page.say(counted(
            "the copy of {count} more log is not whole", "the copies of {count} more logs are not whole", count=more
        )))  # fmt: skip
    return said


def split_times(said: str) -> list[tuple[str, Moment | None]]:
    """A sentence with times of Kubernetes' form -> (text, the time behind it), as a page shows times in the zone of its
    reader. Pure."""
    texts = _TIME.split(said)
    return [(text, read_time(stamp) if stamp else None) for text, stamp in zip_longest(texts, _TIME.findall(said))]


def _tell_lacks(page: PageContext, rank: str, lacks: LeftOut) -> Iterator[Phrase]:
    words = ["logs", lacks.pod, "--namespace", page.path["namespace"], "--container", lacks.container]
    command = f"{page.backend.kubectl} {shlex.join(words)}"
    if lacks.removed:
        yield phrase(
            "{rank}: the copy of this log was removed, as there is a bound for the copies of logs. The log itself, as "
            "long as its pod is there: {command}",
            rank=rank, command=command,
        )  # fmt: skip
    elif lacks.stopped is not None:
        yield phrase(
            "{rank}: the copy of this log stopped at {size}, as there is a bound for the copies of logs. It goes on "
            "when there is room. The whole log, as long as its pod is there: {command}",
            rank=rank, size=_write_size(lacks.stopped), command=command,
        )  # fmt: skip
    yield from explain_holes(rank, lacks.gaps, lacks.missed)


def _explain_empty(page: PageContext, seen: Look, lane: Lane, part: Part) -> str:
    if part.lost or lane.is_removed:
        return page.say(phrase("the log of {rank} cannot be read any more: it was removed", rank=lane.rank))
    if part.count:
        return ""
    if lane.is_missed:
        return page.say(phrase("nothing is kept of what {rank} printed in attempt {attempt}",
                               rank=lane.rank, attempt=seen.attempt))  # fmt: skip
    over = phrase("{rank} printed nothing in attempt {attempt}", rank=lane.rank, attempt=seen.attempt)
    return page.say(over if seen.is_over else phrase("{rank} has printed nothing yet", rank=lane.rank))


async def _search_all(page: PageContext, looked: Looked) -> Mapping[str, Any] | None:
    """What the search form asks for; None where nothing is searched for."""
    wanted, seen = read_wanted(page), looked.seen
    if not wanted or page.query.get("bare"):
        return None
    lanes = [*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest]
    rank, _, line = page.query.get("after", "").rpartition(":")
    # One more than is shown, to know whether there are more.
    what, only = Search(wanted, most=_MOST_FOUND + 1), seen.lanes.find(rank)
    if only is not None:
        lanes, what = [only], replace(what, begin=read_number(line) or 0)
    try:
        found = [each for each in await find(looked.source, lanes, what) if each.lines or not each.is_whole]
    except WrongPattern as wrong:
        return {"wrong": page.say(wrong.said), "hits": [], "partly": "", "total": ""}
    most = _choose_most(found)
    hits = await asyncio.to_thread(_show_hits, found, most)
    partly = any(not each.is_whole and not _has_more(each) for each in found) or len(lanes) > MOST_LOGS
    return {
        "wrong": "",
        "hits": hits,
        "partly": page.say(_PARTLY) if partly else "",
        "total": _count_hits(page, found, most),
    }


def _choose_most(found: Sequence[Hits]) -> int:
    """Lines of each rank that are shown."""
    ranks = sum(bool(each.lines) for each in found)
    return min(_MOST_FOUND, max(1, _MOST_SHOWN // max(1, ranks)))


def _show_hits(found: Sequence[Hits], most: int) -> list[tuple[str, list[ShownLine], bool]]:
    return [
        (each.lane.rank, [show_line(line, 300) for line in each.lines[:most]], _has_more(each, most))
        for each in found
        if each.lines
    ]


def _has_more(found: Hits, most: int = _MOST_FOUND) -> bool:
    return len(found.lines) > most


def _count_hits(page: PageContext, found: Sequence[Hits], most: int) -> str:
    """A number that was cut is no total."""
    count = sum(len(each.lines[:most]) for each in found)
    if any(_has_more(each, most) for each in found):
        return page.say(phrase("the first {count}; more than {count}", count=count))
    return page.say(counted("{count} line", "{count} lines", count=count))


def _write_command(page: PageContext, seen: Look, panes: Sequence[Mapping[str, Any]]) -> str:
    """What prints the same in a terminal."""
    kind = find_kind(page.path["kind"])
    job = printed_name(kind, page.path["name"]) if kind else page.path["name"]
    words = ["paddock", "logs", job, "--namespace", page.path["namespace"]]
    if not is_merged(page) and len(panes) == 1 and (log := panes[0]["lane"].log) is not None:
        words += ["--role", log.role, "--rank", str(log.index)]
    if seen.attempts:
        words += ["--attempt", str(seen.attempt)]
    return shlex.join(words) + page.backend.options


def _write_size(size: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


_PARTLY = phrase("not all was searched: the first lines of each rank are shown, or time ran out")

_WORDS: Mapping[str, Phrase] = {
    "follow": phrase("Follow"),
    "end": phrase("End"),
    "error": phrase("First error"),
    "wrap": phrase("Wrap"),
    "time": phrase("Time"),
    "smaller": phrase("Smaller text"),
    "larger": phrase("Larger text"),
    "detail": phrase("The whole line"),
    "close": phrase("Close"),
    "copy": phrase("Copy"),
    "none": phrase("not found"),
    "partly": phrase("not found in the time there was"),
    "hit": phrase("{place} of {count}"),
    "many": phrase("{place} of more than {count}"),
    "hits": phrase("{count} found"),
    "untimed": phrase("when these lines were printed was not noted"),
    "selected": phrase("it goes on when nothing is selected"),
    "lost": phrase("the console does not answer; it is asked again"),
    "silent": phrase("the cluster's API does not answer: newer lines come when it does"),
    "out": phrase("you are signed out"),
    "forbidden": phrase("you may not read this log any more, or it is gone: load this page again"),
}
"""What the script writes."""

SCREEN = Screen(
    "logs", LOGS, phrase("Logs"), list_topics, build, live=False,
    answers={"lines": answer_lines, "find": answer_find, "download": answer_download},
)  # fmt: skip
