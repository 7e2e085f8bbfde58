"""Ranks, attempts and roles of a job as its page shows them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from paddock.console.heads import Advice, Head
from paddock.console.page_context import PageContext
from paddock.console.pod_words import say_why
from paddock.console.rank_table import RankTable
from paddock.console.step_buttons import Of
from paddock.kube.times import Moment
from paddock.views.exec_command import exec_command
from paddock.views.ranks import RankRow, RoleRow
from paddock.views.short_sentences import explain_start
from paddock.views.timeline import AttemptRow
from paddock.words.phrases import phrase

_BAR = 100.0
"""Units of the longest attempt in the drawing of attempts."""
_LEAST = 1.0
"""Units of a part that took any time, so that it is seen."""


def point_at_error(page: PageContext, head: Head, table: RankTable) -> Sequence[Advice]:
    """The head's advice, in which the log of the rank that failed first is opened at its error, in its attempt."""
    first = table.first
    if first is None or first.error is None:
        return head.advice
    logs = f"{head.address}/logs"
    line = first.error.line + 1
    title = page.say(phrase("Open the log of {rank} at line {line}", rank=first.rank, line=line))
    there = f"{logs}?{urlencode({'rank': first.rank, 'at': table.attempt, 'line': line})}"
    return [
        replace(each, title=title, address=there)
        if each.address in (logs, f"{logs}?{urlencode({'rank': first.rank})}")
        else each
        for each in head.advice
    ]


def show_rank(page: PageContext, job: Of, latest: int, row: RankRow, *, may_enter: bool) -> Mapping[str, Any]:
    """`latest`: the job's last attempt, whose logs need no number. `enter`: the command that runs another one beside
    its program; empty where that does not run, or the reader may not (`may_enter`)."""
    said = page.say(row.said) if row.said else ""
    query = {"rank": row.rank, **({"at": row.attempt} if row.attempt not in (None, latest) else {})}
    address = f"{job.address}/logs"
    return {
        "row": row,
        "state": row.pod.state if row.pod else row.state,
        "why": say_why(page, row.pod) if row.pod else said,
        "log": f"{address}?{urlencode(query)}",
        "download": f"{address}/download?{urlencode(query)}",
        "enter": _write_exec(page, job, row) if may_enter else "",
    }


def _write_exec(page: PageContext, job: Of, row: RankRow) -> str:
    role, _, index = row.rank.rpartition("-")
    if row.pod is None or row.old or row.pod.state != "Running" or not index.isdigit():
        return ""
    return exec_command(
        job.resource, job.namespace, job.name, ["bash"], role=role, index=int(index), options=page.backend.options
    )


def show_attempts(page: PageContext, rows: Sequence[AttemptRow]) -> list[Mapping[str, Any]]:
    """With `bar`: (what it did, where it begins, how wide it is), in parts of the longest attempt."""
    longest = max((_find_length(each, page.now) for each in rows), default=0.0)
    return [_show_attempt(page, each, longest) for each in rows]


def _show_attempt(page: PageContext, row: AttemptRow, longest: float) -> Mapping[str, Any]:
    why = explain_start(row.cause, page.language) if row.cause else ""
    return {"row": row, "why": why, "bar": draw_bar(row, longest), "since": _find_since(row, page.now)}


def _find_length(row: AttemptRow, now: Moment) -> float:
    if row.begun is None:
        return 0.0
    return max(0.0, (now if row.ended is None else row.ended) - row.begun)


def _find_since(row: AttemptRow, now: Moment) -> Moment | None:
    """When what it does now began; None of an attempt that is over."""
    passed = {"queued": row.queued, "prepared": row.prepared, "ran": row.ran}.get(row.now)
    return None if passed is None else now - passed


def draw_bar(row: AttemptRow, longest: float) -> list[tuple[str, float, float]]:
    """(name of the part, x, width) for each part of an attempt that took time, of 100 units in all. `longest`: seconds
    of the longest attempt. Pure."""
    parts = (("queued", row.queued), ("prepared", row.prepared), ("ran", row.ran))
    if longest <= 0:
        return []
    found, at = list[tuple[str, float, float]](), 0.0
    for name, seconds in parts:
        if seconds:
            width = min(_BAR - at, max(_LEAST, _BAR * seconds / longest))
            found.append((name, round(at, 2), round(width, 2)))
            at += width
    return found


def show_role(row: RoleRow) -> Mapping[str, Any]:
    """The command in one line, and a script that stands in it with its lines."""
    scripts = [word for word in row.command if "\n" in word.strip()]
    typed = shlex.join(word for word in row.command if word not in scripts)
    return {"row": row, "typed": typed, "scripts": scripts, "lines": sum(len(each.splitlines()) for each in scripts)}
