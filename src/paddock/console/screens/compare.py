"""Two to eight jobs, or runs of jobs, side by side: how they went, their curves in one chart, and where their
manifests, their code, their packages and all else that is recorded differ.

/compare?job=NAMESPACE/KIND/NAME&run=NAMESPACE/KIND/NAME/3&…
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.console.addresses import address_of_job, find_kind
from paddock.console.backend import KeptRun, Logs
from paddock.console.charts.choice import choose
from paddock.console.charts.collect import Collected, collect, list_ranks
from paddock.console.charts.curves import Chart, RankAttempt, Segment, build_chart
from paddock.console.charts.drawn import write_segment
from paddock.console.charts.numbers import OWN, LogNumbers
from paddock.console.charts.overlay import overlay
from paddock.console.feed import Topic
from paddock.console.forms.changes import take_editable
from paddock.console.page_context import Missing, PageContext, Screen
from paddock.console.screens.charts import TITLES, format_number, write_id
from paddock.console.screens.run_rows import find_resource
from paddock.history.notes import NOTE_ANNOTATION, TAGS_ANNOTATION
from paddock.history.records import RunRecord
from paddock.history.settings import read_spec
from paddock.history.surroundings import read_nothing
from paddock.kube.code_annotation import CODE_ANNOTATION
from paddock.kube.meta import Manifest, Resource, annotations_of, name_of, uid_of
from paddock.kube.rehearsals import without_random_names
from paddock.kube.times import Moment, format_duration
from paddock.views.comparison import find_differences
from paddock.views.run_comparison import PackageTable, compare_packages, list_differing
from paddock.views.runs import RunView, view_job, view_run
from paddock.views.short_sentences import explain_briefly
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Phrase, phrase

FEWEST, MOST = 2, 8
POINTS = 12_000
"""Of all curves of one chart."""
SECONDS, SOON = 5.0, 0.5
"""Until the page looks again while a run goes on; and while a long log is being read."""
MOST_DIFFERENCES = 500
_LONGEST_NUMBER = 9
_OURS = "paddock.dev/"
_SHOWN_ELSEWHERE = (
    CODE_ANNOTATION,
    NOTE_ANNOTATION,
    TAGS_ANNOTATION,
    "paddock.dev/requirements-digest",
    "paddock.dev/working-directory",
)
"""Annotations that have rows of their own."""
_AXES = {"step": phrase("step"), "epoch": phrase("epoch"), "reading": phrase("reading")}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job as the address names it, or one of its runs."""

    resource: Resource
    namespace: str
    name: str
    number: int = 0
    """Of the run; 0 for the job as it is now."""


@dataclass(frozen=True, slots=True)
class Run:
    """A job or a run with what it printed."""

    wanted: Wanted
    label: str
    view: RunView | None
    """None for a job that was deleted, of which nothing but logs is kept."""
    stored: StoredJob | None
    """The job as it is now; None for one that is gone, and where a run of it was named."""
    found: Collected
    """Of its rank 0, by attempt."""
    is_over: bool

    @property
    def logs(self) -> Mapping[RankAttempt, LogNumbers]:
        return self.found.logs


def read_wanted(jobs: str, runs: str = "") -> list[Wanted]:
    """`ns/paddlejobs/a,ns/paddlejobs/b` and `ns/paddlejobs/a/3`, each once. What names no job is left out."""
    found = [_read_one(each, with_number=False) for each in jobs.split(",")]
    found += [_read_one(each, with_number=True) for each in runs.split(",")]
    return list(dict.fromkeys(each for each in found if each is not None))


def _read_one(text: str, *, with_number: bool) -> Wanted | None:
    parts = text.split("/")
    if len(parts) != 3 + with_number or not all(parts) or (resource := find_kind(parts[1])) is None:
        return None
    number = parts[3] if with_number else "0"
    if not (number.isascii() and number.isdecimal() and len(number) <= _LONGEST_NUMBER):
        return None
    return Wanted(resource, parts[0], parts[2], int(number))


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    wanted = _read_query(query)[:MOST]
    return list(dict.fromkeys(_topic(each) for each in wanted))


def _read_query(query: Mapping[str, str]) -> list[Wanted]:
    return read_wanted(query.get("job", ""), query.get("run", ""))


def _topic(wanted: Wanted) -> Topic:
    return Topic(wanted.resource, wanted.namespace, fields=f"metadata.name={wanted.name}")


async def build(page: PageContext) -> Mapping[str, Any]:
    wanted = _read_query(page.query)
    if said := _refuse(page, len(wanted)):
        return {"said": page.say(said), "runs_are_kept": page.backend.runs is not None, "jobs": []}
    labels = name_jobs(wanted)
    runs = [await _read_run(page, each, label) for each, label in zip(wanted, labels, strict=True)]
    return await asyncio.to_thread(_build, page, runs)


def _refuse(page: PageContext, count: int) -> Phrase | None:
    """What to do where there are too few or too many; None where there are neither."""
    if FEWEST <= count <= MOST:
        return None
    if count > MOST:
        return phrase("at most {most} stand side by side, here are {count}: choose fewer", most=MOST, count=count)
    if page.backend.runs is None:
        return phrase("choose {fewest} to {most} jobs in the list to compare them", fewest=FEWEST, most=MOST)
    return phrase(
        "choose {fewest} to {most} jobs in the list, or runs on the page of runs, to compare them",
        fewest=FEWEST, most=MOST,
    )  # fmt: skip


def _build(page: PageContext, runs: Sequence[Run]) -> Mapping[str, Any]:
    """In a thread: eight manifests of megabytes take a second."""
    charts = {metric: [_build_own(metric, run) for run in runs] for metric in _choose_metrics(runs)}
    drawn = [found for metric, own in charts.items() if (found := _build_chart(page, metric, own, runs))]
    manifests = _list_manifests(runs)
    differences = find_differences([each for each in manifests if each is not None])
    reading = any(run.found.read < run.found.lines for run in runs)
    return {
        "said": "",
        "jobs": [_build_job(run, lane) for lane, run in enumerate(runs)],
        "facts": [*_list_facts(page, runs), *_list_numbers(page, charts)],
        "beginnings": _list_beginnings(page, runs),
        "packages": _compare_packages(page, runs),
        "differences": [
            {"path": each.path, "values": _place_values(manifests, each.values)}
            for each in differences[:MOST_DIFFERENCES]
        ],
        "more_differences": max(0, len(differences) - MOST_DIFFERENCES),
        "charts": drawn,
        "reading": reading,
        "again": SOON if reading else 0.0 if all(run.is_over for run in runs) else SECONDS,
    }


def _choose_metrics(runs: Sequence[Run]) -> Sequence[str]:
    """Those that the page of charts draws of a job, of any of them."""
    return [*choose((log for run in runs for log in run.logs.values()), (), ()).drawn]


def name_jobs(wanted: Sequence[Wanted]) -> list[str]:
    """The jobs by name, runs with their number (`resnet:3`); with the namespace, and then the kind, where that is not
    enough."""
    for form in ("{0.name}", "{0.namespace}/{0.name}", "{0.namespace}/{0.resource.qualified}/{0.name}"):
        labels = [form.format(each) + (f":{each.number}" if each.number else "") for each in wanted]
        if len(set(labels)) == len(labels):
            break
    return labels


async def _read_run(page: PageContext, wanted: Wanted, label: str) -> Run:
    job = next((each for each in page.objects(_topic(wanted)) if name_of(each) == wanted.name), None)
    view = await _find_view(page, wanted, uid_of(job) if job else "")
    if wanted.number and view is None:
        raise Missing(phrase("no run {run} of {job} is kept", run=wanted.number, job=wanted.name))
    if wanted.number:
        job = None
    source = page.backend.logs(page.identity) if page.backend.logs else None
    kept = None
    if source:
        uid = view.uid if view else uid_of(job) if job else ""
        kept = await source.find(wanted.resource, wanted.namespace, wanted.name, uid)
    if job is None and view is None and kept is None:
        raise Missing(phrase("there is no job {name} in {namespace}", name=wanted.name, namespace=wanted.namespace))
    found = await asyncio.to_thread(_collect, source, kept) if source and kept else Collected({}, 0, 0)
    stored = read_stored(wanted.resource, job) if job else None
    return Run(wanted, label, _join(view, stored), stored, found, kept is None or kept.over)


async def _find_view(page: PageContext, wanted: Wanted, uid: str) -> RunView | None:
    """The run of this number, of this job, or the last one of the name; None where none is kept."""
    if page.backend.runs is None:
        return None
    listed = await page.backend.runs(page.identity).read(wanted.namespace, wanted.name)
    views = [view for view in (view_run(*each) for each in listed.runs) if find_resource(view) == wanted.resource]
    if wanted.number:
        return next((view for view in views if view.number == wanted.number), None)
    return next((view for view in reversed(views) if uid in ("", view.uid)), None)


def _join(view: RunView | None, stored: StoredJob | None) -> RunView | None:
    """A job as it is now, with what is recorded of its run."""
    if stored is None:
        return view
    return replace(view_job(stored), record=view.record) if view else view_job(stored)


def _collect(source: Logs, kept: KeptRun) -> Collected:
    ranks = list_ranks(kept.logs)[:1]
    return collect(source, kept, ranks) if ranks else Collected({}, 0, 0)


def _build_own(metric: str, run: Run) -> Chart | None:
    """On the axis of this job alone: two jobs may count their steps otherwise."""
    return build_chart(metric, run.logs, POINTS // MOST)


def _build_job(run: Run, lane: int) -> Mapping[str, Any]:
    wanted = run.wanted
    address = address_of_job(wanted.resource, wanted.namespace, wanted.name)
    return {
        "label": run.label,
        "lane": lane,
        "address": f"{address}/runs" if wanted.number else address,
        "kind": wanted.resource.kind,
        "gone": run.stored is None and not wanted.number,
        "deleted": bool(wanted.number) and run.view is not None and run.view.is_deleted,
    }


def _list_facts(page: PageContext, runs: Sequence[Run]) -> list[Mapping[str, Any]]:
    """Each with a title and the value of each job."""
    views = [run.view for run in runs]
    rows: list[tuple[Phrase, list[str]]] = [
        (phrase("Status"), [view.end or "–" if view else "–" for view in views]),
        (phrase("Duration"), [_measure(run, page.now) for run in runs]),
        (phrase("Ranks"), [_count_ranks(run) for run in runs]),
        (phrase("Number of attempts"), [str(view.attempts) if view else "–" for view in views]),
        (phrase("Restarts"), [str(view.restarts) if view else "–" for view in views]),
        (phrase("Why"), [explain_briefly(view.cause, page.language) if view and view.cause else "" for view in views]),
    ]
    if any(view and (view.note.tags or view.note.text) for view in views):
        rows.append((phrase("Tags"), [", ".join(view.note.tags) if view else "" for view in views]))
        rows.append((phrase("Note"), [view.note.text if view else "" for view in views]))
    facts: list[Mapping[str, Any]] = [_build_fact(page.say(title), values) for title, values in rows]
    moments = [view.began if view else None for view in views]
    facts[0] = {**facts[0], "is": "phase"}
    facts.insert(1, {**_build_fact(page.say(phrase("Began")), moments), "is": "moment"})
    return facts


def _build_fact(title: str, values: Sequence[Any]) -> Mapping[str, Any]:
    return {"title": title, "values": values, "is": "text"}


def _measure(run: Run, now: Moment) -> str:
    if run.stored is not None:
        status = run.stored.shown_status
        return "–" if status.started is None else format_duration((status.finished or now) - status.started)
    took = run.view.measure(now) if run.view else None
    return "–" if took is None else format_duration(took)


def _count_ranks(run: Run) -> str:
    stored = run.stored
    if stored is None and (manifest := _recorded_manifest(run)):
        stored = read_stored(run.wanted.resource, manifest)
    return str(stored.job.size) if stored and stored.job else "–"


def _recorded_manifest(run: Run) -> Manifest | None:
    """The manifest of a run as it was recorded last; None where none was."""
    record = run.view.record if run.view else None
    if record is None or not record.spec:
        return None
    head = {"name": record.name, "namespace": record.namespace, "annotations": dict(record.annotations)}
    return {"apiVersion": record.api_version, "kind": record.kind, "metadata": head, "spec": dict(read_spec(record))}


def _list_numbers(page: PageContext, charts: Mapping[str, Sequence[Chart | None]]) -> list[Mapping[str, Any]]:
    """The last number of each kind that any of them printed, and the lowest loss."""
    rows: list[tuple[Phrase | str, list[str]]] = []
    for metric, own in charts.items():
        if any(own):
            rows.append((_title(metric), [_write_last(chart) for chart in own]))
        if metric == "loss" and any(own):
            rows.append((phrase("Lowest loss"), [_write_lowest(chart) for chart in own]))
    return [_build_fact(page.say(title), values) for title, values in rows]


def _title(metric: str) -> Phrase | str:
    """A name that a program chose is shown as it is."""
    return TITLES.get(metric) or metric.removeprefix(OWN)


def _list_beginnings(page: PageContext, runs: Sequence[Run]) -> list[Mapping[str, Any]]:
    """What differs of what they began with, of runs that are recorded; a column for each job."""
    places, records = _find_records(runs)
    if len(records) < FEWEST:
        return []
    rows = list_differing(records, page.language)
    return [{"title": page.say(title), "values": _spread(values, places, len(runs))} for title, values in rows]


def _compare_packages(page: PageContext, runs: Sequence[Run]) -> Mapping[str, Any]:
    places, records = _find_records(runs)
    read = page.backend.runs(page.identity).read_packages if page.backend.runs else read_nothing
    surroundings = [each.surroundings for each in records]
    found = compare_packages(surroundings, read) if len(records) >= FEWEST else PackageTable()
    rows = [
        {
            "role": row.role,
            "name": row.name,
            "values": _spread([each or "–" for each in row.versions], places, len(runs)),
        }
        for row in found.rows
    ]
    unknown = [runs[places[place]].label for place in found.unknown]
    is_partly_known = len(unknown) < len(records)
    return {"rows": rows, "left_out": found.left_out, "unknown": ", ".join(unknown) if is_partly_known else ""}


def _find_records(runs: Sequence[Run]) -> tuple[list[int], list[RunRecord]]:
    """The records, each with the place of its run."""
    known = [(place, run.view.record) for place, run in enumerate(runs) if run.view and run.view.record]
    return [place for place, _ in known], [record for _, record in known]


def _spread(values: Sequence[str], places: Sequence[int], count: int) -> list[str]:
    """A value for each run; `–` for those that are not recorded."""
    found = dict(zip(places, values, strict=True))
    return [found.get(place, "–") for place in range(count)]


def _list_manifests(runs: Sequence[Run]) -> list[Manifest | None]:
    """What is compared: whole manifests of jobs as they are now; where one is gone or a run is named, of all of them
    what a record has of a manifest. None of what nobody recorded."""
    stored = [run.stored for run in runs]
    if all(stored):
        return [take_editable(each.manifest) for each in stored if each]
    return [_reduce(run) for run in runs]


def _reduce(run: Run) -> Manifest | None:
    """The parts of a manifest that a record has, of a job as it is now too."""
    manifest = _recorded_manifest(run)
    if manifest is None and run.stored is not None:
        stored = run.stored.manifest
        manifest = {**stored, "spec": without_random_names(run.wanted.name, stored.get("spec") or {})}
    if manifest is None:
        return None
    annotations = {name: value for name, value in annotations_of(manifest).items() if name.startswith(_OURS)}
    shown = {name: value for name, value in annotations.items() if name not in _SHOWN_ELSEWHERE}
    return {
        "apiVersion": manifest.get("apiVersion"),
        "kind": manifest.get("kind"),
        **({"metadata": {"annotations": shown}} if shown else {}),
        "spec": manifest.get("spec"),
    }


def _write_last(chart: Chart | None) -> str:
    if chart is None:
        return "–"
    last = max(chart.summaries, key=lambda each: each.place.attempt)
    return f"{format_number(last.last)} {last.unit}".strip() if chart.metric == "speed" else format_number(last.last)


def _write_lowest(chart: Chart | None) -> str:
    lowest = [each.lowest for each in chart.summaries if each.lowest is not None] if chart else []
    return format_number(min(lowest)) if lowest else "–"


def _place_values(manifests: Sequence[Manifest | None], values: Sequence[str | None]) -> list[str]:
    """A column for each job; those of which no manifest is known have none."""
    left = iter(values)
    return [(next(left) or "–") if each is not None else "–" for each in manifests]


def _build_chart(
    page: PageContext, metric: str, charts: Sequence[Chart | None], runs: Sequence[Run]
) -> Mapping[str, Any] | None:
    """The curves of all runs whose axis is the one that most have."""
    found = overlay(charts)
    if found is None:
        return None
    last = [max(chart.restarts, default=0) if chart else 0 for chart in charts]
    segments = [_build_segment(page, runs[place].label, place, each, last[place]) for place, each in found.segments]
    data = {"axis": page.say(_AXES[found.axis]), "kind": found.axis, "segments": segments, "restarts": []}
    return {
        "metric": write_id(metric),
        "title": page.say(_title(metric)),
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
        "left_out": ", ".join(runs[place].label for place in found.left_out),
    }


def _build_segment(page: PageContext, label: str, lane: int, segment: Segment, last: int) -> Mapping[str, Any]:
    attempt = segment.place.attempt
    said = page.say(phrase("{job}, attempt {attempt}", job=label, attempt=attempt)) if last else label
    return write_segment(segment, label, said, lane, max(0, last - attempt))


SCREEN = Screen("compare", "/compare", phrase("Compare"), list_topics, build)
