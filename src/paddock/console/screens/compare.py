"""Two to eight jobs, or runs of jobs, side by side: the arguments that differ, their numbers and how they went, their
curves in one chart, and where their code, their packages, their manifests and all else that is recorded differ.

/compare?job=NAMESPACE/KIND/NAME&run=NAMESPACE/KIND/NAME/3&…
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.addresses import address_of_job
from paddock.console.charts.choice import choose, is_exact
from paddock.console.charts.curves import Chart, Segment, Summary, build_chart
from paddock.console.charts.drawn import write_segment
from paddock.console.charts.numbers import OWN
from paddock.console.charts.overlay import overlay
from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Screen
from paddock.console.screens.charts import TITLES, write_id
from paddock.console.screens.compared_runs import (
    Run,
    Wanted,
    find_topic,
    list_manifests,
    name_jobs,
    read_recorded_manifest,
    read_run,
    read_wanted,
)
from paddock.history.comparison import FEWEST, MOST, compare
from paddock.history.records import RunRecord
from paddock.history.surroundings import read_nothing
from paddock.kube.meta import Manifest
from paddock.views.numbers import BEST, find_best, format_number
from paddock.views.run_comparison import PackageTable, compare_packages, list_differing
from paddock.views.short_sentences import explain_briefly
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, phrase

POINTS = 12_000
"""Of all curves of one chart."""
SECONDS, SOON = 5.0, 0.5
"""Until the page looks again while a run goes on; and while a long log is being read."""
MOST_DIFFERENCES = 200
"""Rows of arguments, and of fields: of eight runs they are 1,600 values, of which the page has 600 characters each."""
_LAST_TITLES = {"lr": phrase("Learning rate, last")}
"""Of what most programs lower as they go on: the last number is not the argument."""
_AXES = {"step": phrase("step"), "epoch": phrase("epoch"), "reading": phrase("reading")}


def list_topics(_path: Mapping[str, str], query: Mapping[str, str]) -> Sequence[Topic]:
    wanted = _read_query(query)[:MOST]
    return list(dict.fromkeys(find_topic(each) for each in wanted))


def _read_query(query: Mapping[str, str]) -> list[Wanted]:
    return read_wanted(query.get("job", ""), query.get("run", ""))


async def build(page: PageContext) -> Mapping[str, Any]:
    wanted = _read_query(page.query)
    if said := _refuse(page, len(wanted)):
        return {"said": page.say(said), "runs_are_kept": page.backend.runs is not None, "jobs": []}
    labels = name_jobs(wanted)
    runs = [await read_run(page, each, label) for each, label in zip(wanted, labels, strict=True)]
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
    manifests = list_manifests(runs)
    compared = compare([each for each in manifests if each is not None])
    arguments = [_build_fact(each.path, _place_values(manifests, each.values)) for each in compared.arguments]
    asked = [each for each in arguments if not _is_alike(each)]
    differences = [each for each in compared.fields if each.differs]
    facts, numbers = _list_facts(page, runs), _list_numbers(page, charts)
    has_best = any(each["best"] for each in numbers)
    reading = any(run.found.read < run.found.lines for run in runs)
    return {
        "said": "",
        "jobs": [_build_job(run, lane) for lane, run in enumerate(runs)],
        "asked": asked[:MOST_DIFFERENCES],
        "more_asked": max(0, len(asked) - MOST_DIFFERENCES),
        "numbers": numbers,
        "best": page.say(phrase("{sign} the best of its row", sign=BEST)) if has_best else "",
        "facts": [each for each in facts if not _is_alike(each)],
        "alike": [each for each in (*arguments, *facts) if _is_alike(each)][:MOST_DIFFERENCES],
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
        "gone": run.is_gone and not wanted.number,
        "deleted": run.is_gone and bool(wanted.number),
    }


def _list_facts(page: PageContext, runs: Sequence[Run]) -> list[Mapping[str, Any]]:
    """Each with a title and the value of each job."""
    views = [run.view for run in runs]
    rows: list[tuple[Phrase, list[str]]] = [
        (phrase("Status"), [view.end or "–" if view else "–" for view in views]),
        (phrase("Duration"), [_measure(page, run) for run in runs]),
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
    return {"title": title, "values": values, "is": "text", "best": ()}


def _is_alike(fact: Mapping[str, Any]) -> bool:
    """Whether a row may be folded away: how they ended, and when they began, is always shown."""
    return fact["is"] == "text" and len(set(fact["values"])) == 1


def _measure(page: PageContext, run: Run) -> str:
    if run.stored is not None:
        status = run.stored.shown_status
        return "–" if status.started is None else page.say_duration((status.finished or page.now) - status.started)
    took = run.view.measure(page.now) if run.view else None
    return "–" if took is None else page.say_duration(took)


def _count_ranks(run: Run) -> str:
    stored = run.stored
    if stored is None and (manifest := read_recorded_manifest(run)):
        stored = read_stored(run.wanted.resource, manifest)
    return str(stored.job.size) if stored and stored.job else "–"


def _list_numbers(page: PageContext, charts: Mapping[str, Sequence[Chart | None]]) -> list[Mapping[str, Any]]:
    """The last number of each kind that any of them printed, and the lowest loss; with the places of the best."""
    rows: list[tuple[Phrase | str, list[str], frozenset[int]]] = []
    for metric, own in charts.items():
        name = metric.removeprefix(OWN)
        if any(own):
            last = [_find_last(chart) for chart in own]
            best = find_best(name, [each.last if each else None for each in last])
            rows.append(
                (_LAST_TITLES.get(metric) or _title(metric), [_write_last(metric, each) for each in last], best)
            )
        if metric == "loss" and any(own):
            lowest = [_find_lowest(chart) for chart in own]
            written = ["–" if each is None else format_number(each) for each in lowest]
            rows.append((phrase("Lowest loss"), written, find_best(metric, lowest)))
    return [{**_build_fact(page.say(title), values), "best": sorted(best)} for title, values, best in rows]


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


def _find_last(chart: Chart | None) -> Summary | None:
    return max(chart.summaries, key=lambda each: each.place.attempt) if chart else None


def _write_last(metric: str, last: Summary | None) -> str:
    if last is None:
        return "–"
    return f"{format_number(last.last)} {last.unit}".strip() if metric == "speed" else format_number(last.last)


def _find_lowest(chart: Chart | None) -> float | None:
    lowest = [each.lowest for each in chart.summaries if each.lowest is not None] if chart else []
    return min(lowest, default=None)


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
    axis = {"axis": page.say(_AXES[found.axis]), "kind": found.axis, "exact": is_exact(metric)}
    data = {**axis, "segments": segments, "restarts": []}
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
