"""One job as one HTML file, to print and to send: it needs no console, no network and no script.

Why it is as it is, its ranks and attempts, what it asks for, its loss, and the last lines of the log that says most. A
file has nothing to click on: no address of a session is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.backend import KeptLog, KeptRun, Printing, Spark
from paddock.console.charts.sparks import draw_spark
from paddock.console.logs.lines import show_line
from paddock.console.logs.look import read_part
from paddock.console.page_context import Answer, PageContext
from paddock.console.pages import STATIC, render_notice
from paddock.console.rank_table import RankTable
from paddock.views.stored import StoredJob

LINES = 80
"""Of the log, up to its first error or its end."""
_LONGEST = 500
"""Characters of a line."""
_STYLES = ("console.css", "job.css")


async def write_share(page: PageContext, built: Mapping[str, Any], printed: Mapping[str, Any]) -> Answer:
    """`built`: the names of the page of the job; `printed`: as of `read_printed`."""
    styles = "\n".join((STATIC / name).read_text("utf-8") for name in _STYLES)
    text = render_notice("share.html", page, {**built, **printed, "styles": styles})
    return Answer(text.encode(), "text/html", f"{page.path['name']}.html")


async def read_printed(page: PageContext, stored: StoredJob, run: KeptRun, table: RankTable) -> Mapping[str, Any]:
    """The end of the log of the rank that failed first, else of the first rank; and the loss as a line."""
    log = table.first.log if table.first else _find_first(run, table.attempt)
    error = table.first.error if table.first else None
    return {
        "log": log,
        "lines": await asyncio.to_thread(_read_lines, page, log, error.line if error else None),
        "error": error.line + 1 if error else 0,
        "spark": _draw(_find_spark(page, stored)),
    }


def _find_first(run: KeptRun, attempt: int) -> KeptLog | None:
    """Of rank 0 of the role that is named first, which tells of the training most often."""
    return next((log for log in run.logs if log.attempt == attempt and log.size), None)


def _read_lines(page: PageContext, log: KeptLog | None, error: int | None) -> Sequence[tuple[int, str]]:
    """(number, text) of each line."""
    if log is None or page.backend.logs is None:
        return ()
    begin = -LINES if error is None else max(0, error - LINES + 10)
    shown = [show_line(line, _LONGEST) for line in read_part(page.backend.logs(page.identity), log, begin, LINES).lines]
    return [(line.number, "".join(piece.text for piece in line.pieces)) for line in shown]


def _find_spark(page: PageContext, stored: StoredJob) -> Spark | None:
    """None too where it is not read yet: a file does not wait for it."""
    if page.backend.sparks is None:
        return None
    over = stored.status.phase.terminal
    job = Printing(stored.resource, *stored.key, stored.uid, over)
    return page.backend.sparks(page.identity).look([job]).get(stored.uid)


def _draw(spark: Spark | None) -> Mapping[str, str]:
    if spark is None:
        return {}
    return {"points": draw_spark(spark.values), "first": f"{spark.values[0]:.4g}", "last": f"{spark.last:.4g}"}
