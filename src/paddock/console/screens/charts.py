"""What the ranks of a job printed of their training, as curves: loss, accuracy, learning rate, speed; and what they
used: cores, memory, GPUs. A table beside each."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import JOB, address_of_job, find_kind
from paddock.console.backend import KeptRun, Used
from paddock.console.charts.asked import ASKED, Asked, read_asked
from paddock.console.charts.choice import Choice, choose, is_exact
from paddock.console.charts.collect import Collected, collect, list_ranks
from paddock.console.charts.curves import Chart, Clock, RankAttempt, Segment, Summary, build_chart, find_first_time
from paddock.console.charts.drawn import round_number, write_segment
from paddock.console.charts.numbers import MEASURED, OWN
from paddock.console.charts.usage import USED, build_usage_chart, find_start
from paddock.console.feed import Topic
from paddock.console.heads import build_head
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, Resource, name_of, uid_of
from paddock.kube.times import format_duration
from paddock.logs.metric_lines import explain_metric_file
from paddock.logs.nearest_line import explain_nearest
from paddock.logs.printed_lines import EXAMPLES
from paddock.views.numbers import format_number
from paddock.views.short_sentences import explain_start
from paddock.views.stored import read_stored
from paddock.words.phrases import Foreign, Phrase, phrase

SHOWN_RANKS = 3
"""Ranks of the page as it is opened; those of a gang train in step."""
MOST_RANKS = 16
POINTS = 12_000
"""Of all curves of one chart: what a browser takes with each change."""
CURVE = 4_000
"""Points of one curve at most: two for each column of a large screen, as a curve is thinned to its extremes."""
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
_SCALES = {"GiB": 2**30, "MiB": 2**20}
_PLAIN = re.compile("[A-Za-z0-9_]")
NEWEST = 12
"""Attempts in tables and lists: each of a job that restarts for days has its curve and its flag, and the page stays
small."""
_SUMMED_UP = 3
"""Ranks whose last number is shown above the folded table."""
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
    asked = page.query.get("metric", "").split(",")
    choice = choose_by_ids(found, used, asked)
    address = address_of_job(kind, page.path["namespace"], name)

    def build_charts() -> tuple[list[Chart], list[Mapping[str, Any]]]:
        charts = draw(found, used, by_time, choice)
        lines = _read_lines(kind, job, shown) if any(chart.metric in ASKED for chart in charts) else {}
        return charts, [_build_chart(page, each, run, shown, address, lines.get(each.metric, ())) for each in charts]

    charts, built = await asyncio.to_thread(build_charts)
    restarts = _list_restarts(page, charts, run)
    return {
        "head": await build_head(page, kind, job),
        "ranks": ranks,
        "shown": shown,
        "found": found,
        "again": SECONDS if found.read >= found.lines else SOON,
        "pruned": run.pruned,
        "printed": [each for each in built if not each["used"]],
        "measured": [each for each in built if each["used"]],
        "restarts": restarts[-NEWEST:],
        "all_restarts": len(restarts),
        "repeated": any(each.repeated for chart in charts for each in chart.segments),
        "metrics": [_build_option(page, metric, choice) for metric in choice.known],
        "is_usual": choice.is_usual,
        "has_numbers": any(log.series for log in found.logs.values()),
        "has_measured": any(metric in USED for metric in choice.known),
        "used": used,
        "unknown": unknown,
        "by_time": by_time,
        "of_step": _address_by(address, page.query, "step"),
        "of_time": _address_by(address, page.query, "time"),
        "usual": _address_by(address, {**page.query, "metric": ""}, "time" if by_time else "step"),
        "untimed": by_time and any(log.series for place, log in found.logs.items() if place not in found.marks),
        "examples": EXAMPLES,
        "unwritten": _explain_unwritten(found),
        "unread": _explain_unread(found),
    }


def choose_by_ids(found: Collected, used: Used | None, asked: Sequence[str]) -> Choice:
    """The numbers that are drawn. `asked`: of the address, as `write_id` writes them."""
    logs = list(found.logs.values())
    ids = set(asked)
    names = {name for log in logs for name in log.series} | {*USED}
    having = {each for each in USED for rank in (used.ranks if used else ()) if _has_any(rank.columns.get(each, ()))}
    return choose(logs, having, {name for name in names if write_id(name) in ids})


def _has_any(values: Sequence[float]) -> bool:
    return any(value == value for value in values)


def _build_option(page: PageContext, metric: str, choice: Choice) -> Mapping[str, Any]:
    """Of the list of all numbers."""
    return {"id": write_id(metric), "title": page.say(_name(metric)), "drawn": metric in choice.drawn}


def _name(metric: str) -> Phrase | str:
    return TITLES.get(metric) or metric.removeprefix(OWN)


def _read_lines(kind: Resource, job: Manifest | None, ranks: Sequence[str]) -> Mapping[str, Sequence[Asked]]:
    stored = read_stored(kind, job).job if job else None
    return read_asked(stored.roles, ranks) if stored else {}


def _explain_unwritten(found: Collected) -> Phrase | None:
    """Which rank's PADDOCK_METRICS is not read whole."""
    wrong = ((place.rank, log.problem) for place, log in found.logs.items())
    return next((explain_metric_file(rank, why) for rank, why in wrong if why is not None), None)


def _explain_unread(found: Collected) -> Phrase | None:
    """Which line was nearest to a metric, where none was read."""
    nearest = next(filter(None, (log.find_nearest() for log in found.logs.values())), None)
    return explain_nearest(nearest) if nearest else None


def _address_by(address: str, query: Mapping[str, str], by: str) -> str:
    kept = {name: query[name] for name in ("rank", "metric") if query.get(name)}
    return f"{address}/charts?{urlencode({**kept, 'by': by})}"


async def _find_used(page: PageContext, kind: Resource, uid: str, ranks: Sequence[str]) -> tuple[Used | None, str]:
    """And why it is not known."""
    if page.backend.metrics is None:
        return None, ""
    try:
        metrics = page.backend.metrics(page.identity)
        return await metrics.find(kind, page.path["namespace"], page.path["name"], uid, ranks), ""
    except ApiError as error:
        return None, str(error)


def draw(found: Collected, used: Used | None, by_time: bool, choice: Choice) -> list[Chart]:
    """The charts of what was printed, then those of what was used: on one axis where both are by time. Pure."""
    ranks = used.ranks if used else ()
    # Who prints began before the first number: what was used is known from the first second on.
    start = find_start(ranks, find_first_time(found.logs, found.marks) if by_time else {})
    clock = Clock(start, found.marks) if by_time and found.marks else None
    most, most_used = (min(CURVE, POINTS // max(1, count)) for count in (len(found.logs), len(ranks)))
    charts = [
        build_usage_chart(metric, ranks, start, most_used)
        if metric in USED
        else build_chart(metric, found.logs, most, clock)
        for metric in choice.drawn
    ]
    return share_restarts([chart for chart in charts if chart])


def write_id(metric: str) -> str:
    """A name for the page and its address: a program may call its numbers as it likes. No two have one."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each == "_") else f"-{ord(each):x}-" for each in metric
    )


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
    page: PageContext, chart: Chart, run: KeptRun, shown: Sequence[str], address: str, asked: Sequence[Asked]
) -> Mapping[str, Any]:
    last = max(chart.restarts, default=0)
    unit = next((each.unit for each in chart.summaries if each.unit), "") if chart.metric in _WITH_UNIT else ""
    data = {
        "axis": page.say(_AXES[chart.axis]),
        "at": page.say(_tell_place(chart.axis, "{x}")),
        "kind": chart.axis,
        "from0": chart.metric in USED,
        "exact": is_exact(chart.metric),
        "segments": [_build_segment(page, each, shown, last) for each in chart.segments],
        "restarts": [[x, _tell_restart(page, run, attempt), attempt] for attempt, x in chart.restarts.items()],
        "lines": [_build_line(page, each, unit, asked) for each in asked],
    }
    return {
        "metric": write_id(chart.metric),
        "title": page.say(_name(chart.metric)),
        "axis": _AXES[chart.axis],
        "unit": unit,
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
        "rows": [
            _build_row(each, address, chart.axis) for each in chart.summaries if each.place.attempt > last - NEWEST
        ],
        "earlier": max(0, last + 1 - NEWEST),
        "newest": sum_up(chart.summaries),
        "by_time": chart.axis == "time",
        "used": chart.metric in USED,
        "has_lines": any(each.line >= 0 for each in chart.summaries),
    }


def sum_up(summaries: Sequence[Summary]) -> str:
    """The last number of the first ranks, each in its newest attempt: `worker-0 0.25 · worker-1 0.31`."""
    newest = {each.place.rank: format_number(each.last) for each in summaries}  # attempts stand in their order
    said = [f"{rank} {last}" for rank, last in newest.items()][:_SUMMED_UP]
    return " · ".join([*said, "…"] if len(newest) > len(said) else said)


def _build_line(page: PageContext, asked: Asked, unit: str, beside: Sequence[Asked]) -> Mapping[str, Any]:
    """A level that the curves are held against. `beside`: all of its chart."""
    y = asked.amount / _SCALES.get(unit, 1)
    amount = f"{format_number(y)} {unit}".strip()
    said = phrase("limit {amount}", amount=amount) if asked.is_limit else phrase("request {amount}", amount=amount)
    if len({each.roles for each in beside}) > 1:
        said = phrase("{said}: {message}", said=", ".join(asked.roles), message=said)
    return {"label": page.say(said), "y": round_number(y)}


def _list_restarts(page: PageContext, charts: Sequence[Chart], run: KeptRun) -> list[Mapping[str, Any]]:
    """Each attempt after the first, with where it began on each axis that is shown."""
    places: dict[int, dict[str, float]] = {}
    for chart in charts:
        for attempt, x in chart.restarts.items():
            places.setdefault(attempt, {})[chart.axis] = x
    return [
        {
            "attempt": attempt,
            "places": ", ".join(
                page.say(_tell_place(axis, format_place(x, axis))) for axis, x in places[attempt].items()
            ),
            "why": _explain(page, run, attempt),
        }
        for attempt in sorted(places)
    ]


def _tell_place(axis: str, place: str) -> Phrase:
    if axis == "time":
        return phrase("{time} after the start", time=place)
    return phrase("at {axis} {place}", axis=_AXES[axis], place=place)


def _tell_restart(page: PageContext, run: KeptRun, attempt: int) -> str:
    name, why = _name_attempt(attempt), _explain(page, run, attempt)
    return page.say(phrase("{said}: {message}", said=name, message=Foreign(why)) if why else name)


def _build_segment(page: PageContext, segment: Segment, shown: Sequence[str], last: int) -> Mapping[str, Any]:
    """`last`: the newest attempt; 0 where there is one alone. A rank has one colour and one entry in the legend, and
    its `earlier` attempts are paler."""
    place = segment.place
    label = page.say(name_curve(place, segment.repeated, last > 0))
    return write_segment(segment, place.rank, label, shown.index(place.rank), max(0, last - place.attempt))


def name_curve(place: RankAttempt, repeated: bool, attempts: bool) -> Phrase | str:
    if repeated:
        return phrase("{rank}, attempt {attempt}, repeated", rank=place.rank, attempt=place.attempt)
    return phrase("{rank}, attempt {attempt}", rank=place.rank, attempt=place.attempt) if attempts else place.rank


def _name_attempt(attempt: int) -> Phrase:
    return phrase("attempt {attempt}", attempt=attempt)


def _explain(page: PageContext, run: KeptRun, attempt: int) -> str:
    cause = run.causes.get(attempt)
    return "" if cause is None else explain_start(cause, page.language)


def format_place(x: float, axis: str) -> str:
    """Of an epoch the whole number that its lines say: how far it was in it is reckoned."""
    if axis == "time":
        return format_duration(x)
    return format_number(math.floor(x) if axis == "epoch" else x)


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


SCREEN = Screen("charts", f"{JOB}/charts", phrase("Charts"), list_topics, build, every=SECONDS)
