"""The logs of a job: its ranks as lanes, the one that failed first opened at its error; search over all of them.

?at=1&rank=worker-1,worker-0     the attempt, and the ranks that are opened side by side
&line=5120  or  #rank=worker-1&line=5120
&q=TEXT&regex=1&level=error      what is searched for
&after=worker-1:5120             in this rank alone, behind this line
&merged=1                        all ranks, or those that are named, as one log by time
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import LOGS, address_of_job, find_kind
from paddock.console.backend import KeptRun, LeftOut, Logs
from paddock.console.feed import Topic
from paddock.console.heads import build_head
from paddock.console.logs.lanes import MOST_OPEN, Lane
from paddock.console.logs.levels import LEVELS
from paddock.console.logs.lines import name_classes, show_line, write_lines
from paddock.console.logs.look import Look, Part, Search, find, look, read_part
from paddock.console.logs.wanted import Wanted, WrongPattern
from paddock.console.page_context import Answer, Missing, PageContext, Screen
from paddock.console.screens.merged_logs import (
    ON_A_PAGE,
    answer_merged,
    build_merged,
    read_all_merged,
    read_number,
    read_ranks,
)
from paddock.history.log_index import LONGEST
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.model import Phase, Rank, Status
from paddock.kube.meta import name_of, uid_of
from paddock.kube.times import format_time
from paddock.views.commands import printed_name
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, counted, phrase

MOST_LINES = 1_000
"""That a script gets at once."""
ABOVE = 20
"""Lines above the one that a link names."""
_CHUNK = 2**18
_KEPT = ("at", "rank", "q", "regex", "level", "merged")
"""What a link to another part of the page keeps of its address."""


def list_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    kind = find_kind(path["kind"])
    return [Topic(kind, path["namespace"], fields=f"metadata.name={path['name']}")] if kind else []


async def build(page: PageContext) -> Mapping[str, Any]:
    source, job, seen = await _look(page, errors=True)
    lanes, chosen = seen.lanes, _read_ranks(page)
    first = lanes.first
    opened = [lane for rank in chosen if (lane := lanes.find(rank))] or ([first] if first else [])
    is_merged = _is_merged(page) and bool(opened)
    panes = [] if is_merged else [await _build_pane(page, source, seen, lane) for lane in opened[:MOST_OPEN]]
    kind = find_kind(page.path["kind"])
    assert kind is not None
    return {
        "head": await build_head(page, kind, job.manifest if job else None),
        "look": seen,
        "gone": job is None,
        "panes": panes,
        "left_out": _tell_left_out(page, seen, [pane["lane"] for pane in panes]),
        "merged": await build_merged(page, source, seen, f"{_address_of_job(page)}/logs") if is_merged else None,
        "opened": chosen if is_merged else [pane["rank"] for pane in panes],
        "link": lambda **changes: _link(page, changes),
        "before": ON_A_PAGE - 1,
        "command": _write_command(page, seen, panes),
        "classes": name_classes,
        "size": _write_size,
        "wanted": _read_wanted(page),
        "found": await _search_all(page, source, seen),
        "words": {name: page.say(said) for name, said in _WORDS.items()},
    }


async def _look(page: PageContext, *, errors: bool = False) -> tuple[Logs, StoredJob | None, Look]:
    """Raises `Missing` where neither the job nor a log of it is there."""
    topics = list_topics(page.path, page.query)
    name, namespace = page.path["name"], page.path["namespace"]
    missing = Missing(
        phrase("there is no job {name} in {namespace}, and no log of one", name=name, namespace=namespace)
    )
    if not topics:
        raise missing
    kept = page.backend.logs
    if kept is None:
        raise Missing(phrase("this console keeps no logs"))
    manifest = next((each for each in page.objects(topics[0]) if name_of(each) == name), None)
    job = read_stored(topics[0].resource, manifest) if manifest else None
    logs = kept(page.identity)
    run = await logs.find(topics[0].resource, namespace, name, uid_of(manifest) if manifest else "")
    if run is None and job is None:
        raise missing
    at = read_number(page.query.get("at", ""))
    status = job.status if job else None
    current = status.attempt if status else None
    ranks = _list_ranks(job) if at in (None, current) else ()
    failed = {status.attempt: rank} if status and (rank := _name_failed(status)) else {}
    seen = await look(logs, run or KeptRun(), at, current, ranks, failed, _read_ranks(page), errors)
    return logs, job, seen


def _list_ranks(job: StoredJob | None) -> tuple[Rank, ...]:
    return tuple(rank for role in job.job.roles for rank in role.ranks()) if job and job.job else ()


def _name_failed(status: Status) -> str:
    """In other phases the cause names a rank that something waits for, or that was too late."""
    has_failed = status.phase in (Phase.FAILED, Phase.RESTARTING) or has_failed_rank(status.phase, status.cause)
    ranks = (status.cause.args.get("failed") or status.cause.args.get("ranks")) if status.cause else None
    return str(ranks[0]) if has_failed and isinstance(ranks, list | tuple) and ranks else ""


async def _build_pane(page: PageContext, source: Logs, seen: Look, lane: Lane) -> Mapping[str, Any]:
    """What a lane shows before a script comes: the lines around the one that is asked for, or its first error, or its
    last ones."""
    line = read_number(page.query.get("line", ""))
    if line is None and "from" not in page.query and lane.error is not None:
        line = lane.error.line + 1
    begin = read_number(page.query.get("from", ""))
    start = begin - 1 if begin else max(0, line - 1 - ABOVE) if line else -ON_A_PAGE
    part = await asyncio.to_thread(read_part, source, lane.log, start, ON_A_PAGE)
    query = {"rank": lane.rank, "at": seen.attempt}
    return {
        "lane": lane,
        "rank": lane.rank,
        "part": part,
        "lines": [show_line(each) for each in part.lines],
        "line": line,
        "address": f"{_address_of_job(page)}/logs",
        "query": urlencode(query),
        "download": f"{_address_of_job(page)}/logs/download?{urlencode(query)}",
        "empty": _explain_empty(page, seen, lane, part),
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
    for since, until in lacks.gaps:
        yield phrase(
            "{rank}: lines between {since} and {until} are missing: there was no room to copy them, and the cluster "
            "did not have them any more when there was",
            rank=rank, since=format_time(since), until=format_time(until),
        )  # fmt: skip


def _explain_empty(page: PageContext, seen: Look, lane: Lane, part: Part) -> str:
    if part.lost or lane.is_removed:
        return page.say(phrase("the log of {rank} cannot be read any more: it was removed", rank=lane.rank))
    if part.count:
        return ""
    over = phrase("{rank} printed nothing in attempt {attempt}", rank=lane.rank, attempt=seen.attempt)
    return page.say(over if seen.is_over else phrase("{rank} has printed nothing yet", rank=lane.rank))


async def _search_all(page: PageContext, source: Logs, seen: Look) -> Mapping[str, Any] | None:
    """What the search form asks for; None where nothing is searched for."""
    wanted = _read_wanted(page)
    if not wanted:
        return None
    lanes = [*seen.lanes.open, *seen.lanes.echoes, *seen.lanes.rest]
    rank, _, line = page.query.get("after", "").rpartition(":")
    what, only = Search(wanted), seen.lanes.find(rank)
    if only is not None:
        lanes, what = [only], Search(wanted, read_number(line) or 0)
    try:
        found = await find(source, lanes, what)
    except WrongPattern as wrong:
        return {"wrong": page.say(wrong.said), "hits": [], "partly": "", "total": ""}
    hits = [
        (each.lane.rank, [show_line(line, 300) for line in each.lines], len(each.lines) >= what.most)
        for each in found
        if each.lines
    ]
    more = any(not each.is_whole for each in found)
    said = phrase("not all was searched: the first lines of each rank are shown, or time ran out")
    count = sum(len(lines) for _, lines, _ in hits)
    total = counted("{count} line", "{count} lines", count=count)
    return {"wrong": "", "hits": hits, "partly": page.say(said) if more else "", "total": page.say(total)}


# -- what the script asks for


async def answer_lines(page: PageContext) -> Answer:
    """`?rank=&at=&from=&n=` -> `{"from", "count", "over", "lost", "lines"}`; `from` counts from 1, and below 0 from the
    end. `whole=1`: as much of a line as is read at all."""
    source, _, seen = await _look(page)
    begin = read_number(page.query.get("from", "")) or 1
    count = min(MOST_LINES, max(0, read_number(page.query.get("n", "")) or 0))
    if _is_merged(page):
        return await answer_merged(page, source, seen, begin - 1 if begin > 0 else begin, count)
    lane = _find_lane(page, seen)
    part = await asyncio.to_thread(read_part, source, lane.log, begin - 1 if begin > 0 else begin, count)
    most = LONGEST if page.query.get("whole") else None
    lines = [show_line(each, most) if most else show_line(each) for each in part.lines]
    told = {"from": part.begin + 1, "count": part.count, "over": seen.is_over, "lost": part.lost}
    return Answer(json.dumps({**told, "lines": write_lines(lines)}).encode())


async def answer_find(page: PageContext) -> Answer:
    """`?rank=&at=&q=…&from=&before=&last=1` -> `{"lines": [5120], "whole": true}`, or `{"wrong": "…"}`."""
    source, _, seen = await _look(page)
    begin, end = (read_number(page.query.get(name, "")) for name in ("from", "before"))
    last = page.query.get("last") == "1"
    what = Search(_read_wanted(page), max(0, (begin or 1) - 1), end - 1 if end else None, 1, last)
    try:
        found = await find(source, [_find_lane(page, seen)], what)
    except WrongPattern as wrong:
        return Answer(json.dumps({"wrong": page.say(wrong.said)}).encode())
    lines = [line.number + 1 for each in found for line in each.lines]
    return Answer(json.dumps({"lines": lines, "whole": all(each.is_whole for each in found)}).encode())


async def answer_download(page: PageContext) -> Answer:
    source, _, seen = await _look(page)
    if _is_merged(page):
        name = f"{page.path['name']}-merged-attempt-{seen.attempt}.log"
        return Answer(read_all_merged(page, source, seen), "text/plain", name)
    lane = _find_lane(page, seen)
    name = f"{page.path['name']}-{lane.rank}-attempt-{seen.attempt}.log"
    return Answer(_read_all(source, lane), "text/plain", name)


async def _read_all(source: Logs, lane: Lane) -> AsyncIterator[bytes]:
    """As far as it is written now."""
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


def _find_lane(page: PageContext, seen: Look) -> Lane:
    ranks = _read_ranks(page)
    lane = seen.lanes.find(ranks[0]) if ranks else seen.lanes.first
    if lane is None:
        raise Missing(phrase("{job} has no rank {rank}", job=page.path["name"], rank=ranks[0] if ranks else "?"))
    return lane


# -- the address


def _is_merged(page: PageContext) -> bool:
    return page.query.get("merged") == "1"


def _read_ranks(page: PageContext) -> list[str]:
    return read_ranks(page)[: None if _is_merged(page) else MOST_OPEN]


def _read_wanted(page: PageContext) -> Wanted:
    level = page.query.get("level", "")
    return Wanted(page.query.get("q", ""), page.query.get("regex") == "1", level if level in LEVELS else "")


def _address_of_job(page: PageContext) -> str:
    kind = find_kind(page.path["kind"])
    assert kind is not None
    return address_of_job(kind, page.path["namespace"], page.path["name"])


def _link(page: PageContext, changes: Mapping[str, Any]) -> str:
    """This page with another part of its query; what places it in a log is dropped with the log."""
    kept = {name: text for name, text in page.query.items() if name in _KEPT}
    query = {name: text for name, text in {**kept, **changes}.items() if text not in ("", None)}
    return f"{_address_of_job(page)}/logs" + (f"?{urlencode(query, safe=',')}" if query else "")


def _write_command(page: PageContext, seen: Look, panes: Sequence[Mapping[str, Any]]) -> str:
    """What prints the same in a terminal."""
    kind = find_kind(page.path["kind"])
    job = printed_name(kind, page.path["name"]) if kind else page.path["name"]
    words = ["paddock", "logs", job, "--namespace", page.path["namespace"]]
    if not _is_merged(page) and len(panes) == 1 and (log := panes[0]["lane"].log) is not None:
        words += ["--role", log.role, "--rank", str(log.index)]
    if seen.attempts:
        words += ["--attempt", str(seen.attempt)]
    return shlex.join(words) + page.backend.options


def _write_size(size: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


_WORDS: Mapping[str, Phrase] = {
    "follow": phrase("Follow"),
    "next": phrase("Next"),
    "previous": phrase("Previous"),
    "end": phrase("End"),
    "error": phrase("First error"),
    "detail": phrase("The whole line"),
    "none": phrase("not found"),
    "partly": phrase("not found in the time there was"),
    "lost": phrase("the console does not answer; it is asked again"),
}
"""What the script writes."""

SCREEN = Screen(
    "logs", LOGS, phrase("Logs"), list_topics, build, live=False,
    answers={"lines": answer_lines, "find": answer_find, "download": answer_download},
)  # fmt: skip
