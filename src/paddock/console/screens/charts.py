"""What the ranks of a job printed of their training, as curves: loss, accuracy, learning rate, speed; and what they
used: cores, memory, GPUs. A table beside each."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import JOB, address_of_job, find_kind
from paddock.console.backend import KeptRun, Used
from paddock.console.charts.collect import Collected, collect, list_ranks
from paddock.console.charts.curves import Chart, Clock, RankAttempt, Segment, Summary, build_chart, find_first_time
from paddock.console.charts.numbers import MEASURED, METRICS, MOST_OWN, OWN
from paddock.console.charts.usage import USED, build_usage_chart, find_start
from paddock.console.feed import Topic
from paddock.console.heads import build_head
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.kube.errors import ApiError
from paddock.kube.meta import Resource, name_of, uid_of
from paddock.kube.times import format_duration
from paddock.logs.metric_lines import explain_metric_file
from paddock.logs.nearest_line import explain_nearest
from paddock.logs.printed_lines import EXAMPLES
from paddock.views.short_sentences import explain_briefly
from paddock.words.phrases import Foreign, Phrase, phrase

SHOWN_RANKS = 3
"""Ranks of the page as it is opened; those of a gang train in step."""
MOST_RANKS = 16
POINTS = 12_000
"""Of all curves of one chart: what a browser takes with each change."""
SECONDS = 3.0
SOON = 0.1
"""While a long log is being read."""

TITLES = {
    "loss": phrase("Loss"),
    "val_loss": phrase("Loss of evaluations"),
    "accuracy": phrase("Accuracy"),
    "val_accuracy": phrase("Accuracy of evaluations"),
    "lr": phrase("Learning rate"),
    "grad_norm": phrase("Norm of the gradients"),
    "speed": phrase("Speed"),
    MEASURED: phrase("Speed, measured while somebody looks"),
    "cpu": phrase("Cores in use"),
    "memory": phrase("Memory in use"),
    "gpu": phrase("GPUs at work"),
    "gpu_memory": phrase("GPU memory in use"),
}
_WITH_UNIT = ("speed", MEASURED, *USED)
_AXES = {
    "step": phrase("step"),
    "epoch": phrase("epoch"),
    "reading": phrase("reading"),
    "time": phrase("time since the start"),
}


def list_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    kind = find_kind(path["kind"])
    return [Topic(kind, path["namespace"], fields=f"metadata.name={path['name']}")] if kind else []


async def build(page: PageContext) -> Mapping[str, Any]:
    kind, name = find_kind(page.path["kind"]), page.path["name"]
    job = next((job for topic in _topics(page) for job in page.objects(topic) if name_of(job) == name), None)
    source = page.backend.logs(page.identity) if page.backend.logs else None
    run = None
    if kind and source:
        run = await source.find(kind, page.path["namespace"], name, uid_of(job) if job else "")
    if kind is None or (job is None and run is None):
        raise Missing(phrase("there is no job {name} in {namespace}", name=name, namespace=page.path["namespace"]))
    run = run or KeptRun()
    ranks = list_ranks(run.logs)
    shown = choose_ranks(ranks, page.query.get("rank", ""))
    by_time = page.query.get("by") == "time"
    read = partial(collect, times=by_time)
    found = await asyncio.to_thread(read, source, run, shown) if source else Collected({}, 0, 0)
    used, unknown = await _find_used(page, kind, uid_of(job) if job else "", shown)
    printed, measured = draw(found, used, by_time)
    address = address_of_job(kind, page.path["namespace"], name)
    return {
        "head": await build_head(page, kind, job),
        "ranks": ranks,
        "shown": shown,
        "found": found,
        "again": SECONDS if found.read >= found.lines else SOON,
        "pruned": run.pruned,
        "printed": [_build_chart(page, chart, run, shown, address) for chart in printed],
        "measured": [_build_chart(page, chart, run, shown, address) for chart in measured],
        "used": used,
        "unknown": unknown,
        "by_time": by_time,
        "of_step": _address_by(address, page.query, "step"),
        "of_time": _address_by(address, page.query, "time"),
        "untimed": by_time and any(log.series for place, log in found.logs.items() if place not in found.marks),
        "examples": EXAMPLES,
        "unwritten": _explain_unwritten(found),
        "unread": None if printed else _explain_unread(found),
    }


def _explain_unwritten(found: Collected) -> Phrase | None:
    """Which rank's PADDOCK_METRICS is not read whole."""
    wrong = ((place.rank, log.problem) for place, log in found.logs.items())
    return next((explain_metric_file(rank, why) for rank, why in wrong if why is not None), None)


def _explain_unread(found: Collected) -> Phrase | None:
    """Which line was nearest to a metric, where none was read."""
    nearest = next(filter(None, (log.find_nearest() for log in found.logs.values())), None)
    return explain_nearest(nearest) if nearest else None


def _address_by(address: str, query: Mapping[str, str], by: str) -> str:
    rank = {"rank": query["rank"]} if query.get("rank") else {}
    return f"{address}/charts?{urlencode({**rank, 'by': by})}"


async def _find_used(page: PageContext, kind: Resource, uid: str, ranks: Sequence[str]) -> tuple[Used | None, str]:
    """And why it is not known."""
    if page.backend.metrics is None:
        return None, ""
    try:
        metrics = page.backend.metrics(page.identity)
        return await metrics.find(kind, page.path["namespace"], page.path["name"], uid, ranks), ""
    except ApiError as error:
        return None, str(error)


def draw(found: Collected, used: Used | None, by_time: bool) -> tuple[list[Chart], list[Chart]]:
    """The charts of what was printed, and those of what was used: on one axis where both are by time. Pure."""
    ranks = used.ranks if used else ()
    # Who prints began before the first number: what was used is known from the first second on.
    start = find_start(ranks, find_first_time(found.logs, found.marks) if by_time else {})
    clock = Clock(start, found.marks) if by_time and found.marks else None
    most = POINTS // max(1, len(found.logs))
    printed = [build_chart(metric, found.logs, most, clock) for metric in _list_metrics(found)]
    measured = [build_usage_chart(metric, ranks, start, POINTS // max(1, len(ranks))) for metric in USED]
    shared = share_restarts([chart for chart in (*printed, *measured) if chart])
    return [each for each in shared if each.metric not in USED], [each for each in shared if each.metric in USED]


def _list_metrics(found: Collected) -> Sequence[str]:
    """Speed is what the program prints, else what is measured."""
    printed = any("speed" in log.series for log in found.logs.values())
    own = sorted({name for log in found.logs.values() for name in log.series if name.startswith(OWN)})
    return (*METRICS, *own[:MOST_OWN]) if printed else (*METRICS, *own[:MOST_OWN], MEASURED)


def write_id(metric: str) -> str:
    """A name for the page: a program may call its numbers as it likes."""
    return "".join(each if each.isascii() and (each.isalnum() or each == "_") else f"-{ord(each):x}" for each in metric)


def share_restarts(charts: Sequence[Chart]) -> list[Chart]:
    """An attempt began where its first number of any name stands; a speed is measured some time later."""
    begun: dict[tuple[str, int], float] = {}
    for chart in charts:
        for attempt, x in chart.restarts.items():
            begun[chart.axis, attempt] = min(x, begun.get((chart.axis, attempt), x))
    return [
        replace(chart, restarts={attempt: begun[chart.axis, attempt] for attempt in chart.restarts}) for chart in charts
    ]


def _topics(page: PageContext) -> Sequence[Topic]:
    return list_topics(page.path, page.query)


def choose_ranks(ranks: Sequence[str], asked: str) -> list[str]:
    """The ranks that the address names and that exist; the first few if it names none."""
    named = [each.strip() for each in asked.split(",")]
    known = [rank for rank in ranks if rank in named]
    return known[:MOST_RANKS] or list(ranks[:SHOWN_RANKS])


def _build_chart(
    page: PageContext, chart: Chart, run: KeptRun, shown: Sequence[str], address: str
) -> Mapping[str, Any]:
    last = max(chart.restarts, default=0)
    data = {
        "axis": page.say(_AXES[chart.axis]),
        "time": chart.axis == "time",
        "from0": chart.metric in USED,
        "segments": [_build_segment(page, each, shown, last) for each in chart.segments],
        "restarts": [[x, _tell_restart(page, run, attempt)] for attempt, x in chart.restarts.items()],
    }
    return {
        "metric": write_id(chart.metric),
        "title": TITLES.get(chart.metric) or chart.metric.removeprefix(OWN),
        "axis": _AXES[chart.axis],
        "unit": next((each.unit for each in chart.summaries if each.unit), "") if chart.metric in _WITH_UNIT else "",
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
        "rows": [_build_row(each, address, chart.axis) for each in chart.summaries],
        "by_time": chart.axis == "time",
        "has_lines": any(each.line >= 0 for each in chart.summaries),
        "repeated": any(each.repeated for each in chart.segments),
        "earlier": last > 0,
        "restarts": [
            {"at": format_place(x, chart.axis), "attempt": attempt, "why": _explain(page, run, attempt)}
            for attempt, x in chart.restarts.items()
        ],
    }


def _tell_restart(page: PageContext, run: KeptRun, attempt: int) -> str:
    name, why = _name_attempt(attempt), _explain(page, run, attempt)
    return page.say(phrase("{said}: {message}", said=name, message=Foreign(why)) if why else name)


def _build_segment(page: PageContext, segment: Segment, shown: Sequence[str], last: int) -> Mapping[str, Any]:
    """`last`: the newest attempt; 0 where there is one alone. A rank has one colour, and its `earlier` attempts are
    paler."""
    place = segment.place
    return {
        "label": page.say(name_curve(place, segment.repeated, last > 0)),
        "lane": shown.index(place.rank) % 8,
        "earlier": max(0, last - place.attempt),
        "repeated": segment.repeated,
        "x": [_round(x) for x in segment.xs],
        "y": [None if y is None else _round(y) for y in segment.ys],
    }


def name_curve(place: RankAttempt, repeated: bool, attempts: bool) -> Phrase | str:
    if repeated:
        return phrase("{rank}, attempt {attempt}, repeated", rank=place.rank, attempt=place.attempt)
    return phrase("{rank}, attempt {attempt}", rank=place.rank, attempt=place.attempt) if attempts else place.rank


def _name_attempt(attempt: int) -> Phrase:
    return phrase("attempt {attempt}", attempt=attempt)


def _explain(page: PageContext, run: KeptRun, attempt: int) -> str:
    """Why the attempt was started; the seconds that it had to wait are over."""
    cause = run.causes.get(attempt)
    if cause is None:
        return ""
    args = {name: value for name, value in cause.args.items() if name != "delay"}
    return explain_briefly(replace(cause, args=args), page.language)


def format_place(x: float, axis: str) -> str:
    return format_duration(x) if axis == "time" else format_number(x)


def _build_row(summary: Summary, address: str, axis: str) -> Mapping[str, Any]:
    place = summary.place
    return {
        "rank": place.rank,
        "attempt": place.attempt,
        "count": summary.count,
        "last": format_number(summary.last),
        "at": format_place(summary.at, axis),
        "lowest": "" if summary.lowest is None else format_number(summary.lowest),
        "highest": "" if summary.highest is None else format_number(summary.highest),
        "wrong": summary.wrong,
        "line": summary.line + 1,
        "text": summary.text,
        "log": f"{address}/logs?at={place.attempt}#rank={place.rank}&line={summary.line + 1}",
    }


def format_number(value: float) -> str:
    """The number as people write it: four digits that count, whole numbers whole."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.4g}"


def _round(value: float) -> float | int:
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.6g}")


SCREEN = Screen("charts", f"{JOB}/charts", phrase("Charts"), list_topics, build, every=SECONDS)
