"""Two to eight jobs side by side: how they went, their curves in one chart, and where their manifests differ.

/compare?job=NAMESPACE/KIND/NAME&job=…
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.console.addresses import address_of_job, find_kind
from paddock.console.backend import KeptRun, Logs
from paddock.console.charts.collect import collect, list_ranks
from paddock.console.charts.curves import Chart, RankAttempt, Segment, build_chart
from paddock.console.charts.numbers import METRICS, LogNumbers
from paddock.console.feed import Topic
from paddock.console.forms.changes import take_editable
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.console.screens.charts import TITLES, format_number
from paddock.jobs.model import Status
from paddock.kube.meta import Resource, name_of, uid_of
from paddock.kube.times import Moment, format_duration
from paddock.views.comparison import find_differences
from paddock.views.phases import show_phase
from paddock.views.short_sentences import explain_briefly
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

FEWEST, MOST = 2, 8
POINTS = 12_000
"""Of all curves of one chart."""
SECONDS = 5.0
_LANES = 8
_AXES = {"step": phrase("step"), "epoch": phrase("epoch"), "reading": phrase("reading")}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job as the address names it."""

    resource: Resource
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Run:
    """A job with what it printed."""

    wanted: Wanted
    label: str
    stored: StoredJob | None  # None for one that was deleted, of which logs are kept
    logs: Mapping[RankAttempt, LogNumbers]  # of its rank 0, by attempt
    over: bool


def read_wanted(text: str) -> list[Wanted]:
    """`ns/paddlejobs/a,ns/paddlejobs/b`, each once. What names no job is left out."""
    found = []
    for each in dict.fromkeys(text.split(",")):
        namespace, _, rest = each.partition("/")
        kind, _, name = rest.partition("/")
        if namespace and name and (resource := find_kind(kind)) is not None:
            found.append(Wanted(resource, namespace, name))
    return found[:MOST]


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    return [_topic(each) for each in read_wanted(query.get("job", ""))]


def _topic(wanted: Wanted) -> Topic:
    return Topic(wanted.resource, wanted.namespace, fields=f"metadata.name={wanted.name}")


async def build(page: PageContext) -> Mapping[str, Any]:
    wanted = read_wanted(page.query.get("job", ""))
    if len(wanted) < FEWEST:
        said = phrase("choose {fewest} to {most} jobs in the list to compare them", fewest=FEWEST, most=MOST)
        return {"said": page.say(said), "jobs": [], "facts": [], "differences": [], "charts": []}
    labels = name_jobs(wanted)
    runs = [await _read_run(page, each, label) for each, label in zip(wanted, labels, strict=True)]
    charts = {metric: [_build_own(metric, run) for run in runs] for metric in METRICS}
    known = [run.stored.manifest for run in runs if run.stored]
    return {
        "said": "",
        "jobs": [_build_job(run, lane) for lane, run in enumerate(runs)],
        "facts": [*_list_facts(page, runs), *_list_numbers(page, charts)],
        "differences": [
            {"path": each.path, "values": _place_values(runs, each.values)}
            for each in find_differences([take_editable(manifest) for manifest in known])
        ],
        "charts": [found for metric in METRICS if (found := _build_chart(page, metric, charts[metric], runs))],
        "again": 0.0 if all(run.over for run in runs) else SECONDS,
    }


def name_jobs(wanted: Sequence[Wanted]) -> list[str]:
    """The jobs by name; with the namespace, and then the kind, where that is not enough."""
    for form in ("{0.name}", "{0.namespace}/{0.name}", "{0.namespace}/{0.resource.qualified}/{0.name}"):
        labels = [form.format(each) for each in wanted]
        if len(set(labels)) == len(labels):
            break
    return labels


async def _read_run(page: PageContext, wanted: Wanted, label: str) -> Run:
    job = next((each for each in page.objects(_topic(wanted)) if name_of(each) == wanted.name), None)
    source = page.backend.logs(page.identity) if page.backend.logs else None
    kept = None
    if source:
        kept = await source.find(wanted.resource, wanted.namespace, wanted.name, uid_of(job) if job else "")
    if job is None and kept is None:
        raise Missing(phrase("there is no job {name} in {namespace}", name=wanted.name, namespace=wanted.namespace))
    logs = await asyncio.to_thread(_collect, source, kept) if source and kept else {}
    stored = read_stored(wanted.resource, job) if job else None
    return Run(wanted, label, stored, logs, kept is None or kept.over)


def _collect(source: Logs, kept: KeptRun) -> Mapping[RankAttempt, LogNumbers]:
    ranks = list_ranks(kept.logs)[:1]
    return collect(source, kept, ranks).logs if ranks else {}


def _build_own(metric: str, run: Run) -> Chart | None:
    """On the axis of this job alone: two jobs may count their steps otherwise."""
    return build_chart(metric, run.logs, POINTS // MOST)


def _build_job(run: Run, lane: int) -> Mapping[str, Any]:
    wanted = run.wanted
    return {
        "label": run.label,
        "lane": lane,
        "address": address_of_job(wanted.resource, wanted.namespace, wanted.name),
        "kind": wanted.resource.kind,
        "gone": run.stored is None,
    }


def _list_facts(page: PageContext, runs: Sequence[Run]) -> list[Mapping[str, Any]]:
    """Each with a title and the value of each job."""
    status = [run.stored.shown_status if run.stored else None for run in runs]
    rows: list[tuple[Phrase, list[str]]] = [
        (phrase("Status"), [show_phase(each) if each else "–" for each in status]),
        (phrase("Duration"), [measure(each, page.now) for each in status]),
        (phrase("Ranks"), [str(run.stored.job.size) if run.stored and run.stored.job else "–" for run in runs]),
        (phrase("Number of attempts"), [str(each.attempt + 1) if each else "–" for each in status]),
        (phrase("Restarts"), [str(each.restarts) if each else "–" for each in status]),
        (phrase("Why"), [_explain(each, page.language) for each in status]),
    ]
    return [{"title": page.say(title), "values": values} for title, values in rows]


def measure(status: Status | None, now: Moment) -> str:
    """The duration of a job from its start to its end, or until now."""
    if status is None or status.started is None:
        return "–"
    return format_duration((status.finished or now) - status.started)


def _explain(status: Status | None, language: str) -> str:
    return explain_briefly(status.cause, language) if status and status.cause else ""


def _list_numbers(page: PageContext, charts: Mapping[str, Sequence[Chart | None]]) -> list[Mapping[str, Any]]:
    """The last number of each kind that any of them printed, and the lowest loss."""
    rows: list[tuple[Phrase, list[str]]] = []
    for metric, own in charts.items():
        if any(own):
            rows.append((TITLES[metric], [_write_last(chart) for chart in own]))
        if metric == "loss" and any(own):
            rows.append((phrase("Lowest loss"), [_write_lowest(chart) for chart in own]))
    return [{"title": page.say(title), "values": values} for title, values in rows]


def _write_last(chart: Chart | None) -> str:
    if chart is None:
        return "–"
    last = max(chart.summaries, key=lambda each: each.place.attempt)
    return f"{format_number(last.last)} {last.unit}".strip() if chart.metric == "speed" else format_number(last.last)


def _write_lowest(chart: Chart | None) -> str:
    lowest = [each.lowest for each in chart.summaries if each.lowest is not None] if chart else []
    return format_number(min(lowest)) if lowest else "–"


def _place_values(runs: Sequence[Run], values: Sequence[str | None]) -> list[str]:
    """A column for each job; those of deleted ones have no manifest."""
    left = iter(values)
    return [(next(left) or "–") if run.stored else "–" for run in runs]


def _build_chart(
    page: PageContext, metric: str, charts: Sequence[Chart | None], runs: Sequence[Run]
) -> Mapping[str, Any] | None:
    """The curves of all jobs whose axis is the one that most have."""
    axes = Counter(chart.axis for chart in charts if chart)
    if not axes:
        return None
    axis = axes.most_common(1)[0][0]
    drawn = [(lane, run, chart) for lane, (run, chart) in enumerate(zip(runs, charts, strict=True))
             if chart and chart.axis == axis]  # fmt: skip
    segments = [
        _build_segment(page, run.label, lane, each, max(chart.restarts, default=0))
        for lane, run, chart in drawn for each in chart.segments if not each.repeated
    ]  # fmt: skip
    data = {"axis": page.say(_AXES[axis]), "segments": segments, "restarts": []}
    left_out = [run.label for run, chart in zip(runs, charts, strict=True) if chart and chart.axis != axis]
    return {
        "metric": metric,
        "title": page.say(TITLES[metric]),
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
        "left_out": ", ".join(left_out),
    }


def _build_segment(page: PageContext, label: str, lane: int, segment: Segment, last: int) -> Mapping[str, Any]:
    attempt = segment.place.attempt
    return {
        "label": page.say(phrase("{job}, attempt {attempt}", job=label, attempt=attempt)) if last else label,
        "lane": lane % _LANES,
        "earlier": max(0, last - attempt),
        "repeated": False,
        "x": [float(f"{x:.6g}") for x in segment.xs],
        "y": [None if y is None else float(f"{y:.6g}") for y in segment.ys],
    }


SCREEN = Screen("compare", "/compare", phrase("Compare"), list_topics, build)
