"""The rows of a table of runs, for the page of one job and for that of all.

What costs more than a look at a record is done in a thread, and for the rows of one page: what changed since the run
before, which may read two sets of packages. The best numbers are in the logs, and are read behind the page.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import address_of_job, name_kind
from paddock.console.backend import Extent, RunList
from paddock.console.charts.numbers import OWN
from paddock.console.feed import Topic
from paddock.console.page_context import PageContext
from paddock.console.screens.listed import link_to
from paddock.history.changes import SHOWN
from paddock.history.keeper import SETTLING
from paddock.history.records import Damaged, RunRecord
from paddock.history.settings import find_run_changes
from paddock.history.since import find_earlier
from paddock.history.surroundings import ReadPackages, read_nothing, tell_dataset, tell_machine
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import Manifest, Resource
from paddock.views.commands import printed_name
from paddock.views.listing import Part, choose_part, cut_part
from paddock.views.numbers import choose_best, format_number, list_metrics, read_last_place, write_number
from paddock.views.runs import (
    Choices,
    RunFilter,
    RunView,
    list_choices,
    list_commands,
    list_files,
    name_code,
    read_sort,
    sort_runs,
    view_job,
    view_run,
)
from paddock.views.short_sentences import explain_briefly
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, phrase

ON_A_PAGE = 100
SECONDS, SOON = 5.0, 1.0
"""Until the page looks again while a run goes on; and while logs are being read."""
_MOST_ATTEMPTS = 20
"""Of one row, the newest."""
_MOST_CHANGES = 60
_MOST_DAMAGED = 5
_COLUMNS: Sequence[tuple[str, Sequence[tuple[str, Phrase]]]] = (
    ("run", (("name", phrase("Run")),)),
    ("end", (("end", phrase("End, and why")),)),
    ("time", (("began", phrase("Began")), ("took", phrase("Took")), ("restarts", phrase("Restarts")))),
    ("metrics", (("loss", phrase("Loss")),)),
    ("changed", ()),
    ("code", (("code", phrase("Code")), ("environment", phrase("Environment")))),
    ("note", (("tags", phrase("Tags")), ("owner", phrase("Owner")))),
)
"""Of the table, each with the orders that its head offers."""
_DOWN_FIRST = frozenset({"began", "took", "restarts"})


@dataclass(frozen=True, slots=True)
class Found:
    """What there is, before a filter."""

    runs: Sequence[RunView] = ()
    damaged: Sequence[Damaged] = ()
    earlier: Mapping[str, RunRecord] = field(default_factory=dict)
    """The run before each, by UID."""
    gone: frozenset[str] = frozenset()
    """The UIDs of last runs whose job is deleted: that an earlier one is, goes without saying."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one page shows."""

    runs: Sequence[RunView]
    changes: Mapping[str, Sequence[str]]
    """Since the run before, by UID; none of a first run."""
    part: Part
    total: int
    choices: Choices


async def list_runs(page: PageContext, topics: Sequence[Topic], namespace: str = "", name: str = "") -> Found:
    """The runs that are kept; on a cluster, of which none are, the jobs that there are."""
    if page.backend.runs is None:
        for topic in topics:
            await page.read_ahead(topic, read_job_view)
        jobs = [job for topic in topics for job in page.read(topic, read_job_view)]
        return Found([job for job in jobs if name in ("", job.name)])
    listed = await page.backend.runs(page.identity).read(namespace, name)

    def view() -> Found:
        records = [record for record, _ in listed.runs]
        runs = [view_run(record, note) for record, note in listed.runs]
        return Found(runs, listed.damaged, find_earlier(records), find_gone(records))

    return await asyncio.to_thread(view)


def find_gone(records: Iterable[RunRecord]) -> frozenset[str]:
    """The last runs of their names, of which the job is deleted."""
    last = dict[tuple[str, str, str, str], RunRecord]()
    for record in records:
        if record.identity not in last or last[record.identity].run < record.run:
            last[record.identity] = record
    return frozenset(record.uid for record in last.values() if record.deleted is not None)


def read_job_view(resource: Resource, job: Manifest) -> RunView:
    return view_job(read_stored(resource, job))


async def choose(page: PageContext, found: Found, wanted: RunFilter) -> Chosen:
    """The rows of the page that the address names, in its order."""
    read = page.backend.runs(page.identity).read_packages if page.backend.runs else read_nothing

    def arrange() -> Chosen:
        fitting = [run for run in found.runs if wanted.matches(run)]
        shown = sort_runs(fitting, page.query.get("sort", ""), page.now)
        part = choose_part(page.query.get("page", ""), len(shown), ON_A_PAGE)
        runs = cut_part(shown, part)
        changes = {run.uid: list_changes(run, found.earlier.get(run.uid), read) for run in runs}
        return Chosen(runs, changes, part, len(shown), list_choices(found.runs))

    return await asyncio.to_thread(arrange)


def list_changes(run: RunView, before: RunRecord | None, read: ReadPackages) -> list[str]:
    if run.record is None or before is None:
        return []
    return find_run_changes(before, run.record, read)[:_MOST_CHANGES]


def build_table(page: PageContext, found: Found, chosen: Chosen, *, names: bool) -> Mapping[str, Any]:
    """What `run_table.html` shows. `names`: runs of several jobs."""
    source = page.backend.runs(page.identity) if page.backend.runs else None
    extents = source.look(_list_readable(chosen.runs)) if source else {}
    reading = source is not None and source.reading
    going_on = source is not None and any(may_print(run, page.now) for run in chosen.runs)
    link = link_to(page.query)
    return {
        "rows": [
            {
                **_build_row(page, run, chosen.changes.get(run.uid, ()), extents.get(run.uid, {})),
                "deleted": run.uid in found.gone,
                "before": _compare_with(run, found.earlier.get(run.uid)),
            }
            for run in chosen.runs
        ],
        "columns": _build_columns(page, link),
        "names": names,
        "kept": source is not None,
        "reading": reading,
        "again": SOON if reading else SECONDS if going_on else 0.0,
        "part": chosen.part,
        "total": chosen.total,
        "link": link,
        "choices": chosen.choices,
        "troubles": [page.say(each) for each in (page.backend.list_troubles or tuple)()],
        "damaged": [{"path": str(each.path), "why": each.why} for each in found.damaged[:_MOST_DAMAGED]],
        "more_damaged": max(0, len(found.damaged) - _MOST_DAMAGED),
    }


def may_print(run: RunView, now: float) -> bool:
    """Whether its numbers may change: it goes on, or has ended so lately that its ranks may print their last lines."""
    if not run.is_over:
        return True
    is_settled = run.record is None or run.record.settled or run.ended is None
    return not is_settled and now - (run.ended or 0.0) < SETTLING[-1] + SECONDS


def _build_columns(page: PageContext, link: Any) -> list[Mapping[str, Any]]:
    sort, down = read_sort(page.query.get("sort", ""))
    return [
        {
            "name": name,
            "aria": ("descending" if down else "ascending") if any(key == sort for key, _ in orders) else "",
            "orders": [
                {
                    "title": page.say(title),
                    "address": link(sort=_turn(key, sort, down)),
                    "sign": ("↓" if down else "↑") if key == sort else "",
                }
                for key, title in orders
            ],
        }
        for name, orders in _COLUMNS
    ]


def _turn(key: str, sort: str, down: bool) -> str:
    """The order that a click on a head gives: the other direction of the one that is shown."""
    downwards = not down if key == sort else key in _DOWN_FIRST
    return f"-{key}" if downwards else key


def _list_readable(runs: Iterable[RunView]) -> list[RunRecord]:
    """The runs whose logs are there."""
    return [run.record for run in runs if run.record is not None and not run.record.logs_pruned]


def find_view(listed: RunList, resource: Resource, number: int = 0, uid: str = "") -> RunView | None:
    """The run of this kind with this number, or with this UID; without both the last one. None where none is kept."""
    for record, note in reversed(listed.runs):
        is_kind = (record.api_version, record.kind) == (resource.api_version, resource.kind)
        if is_kind and number in (0, record.run) and uid in ("", record.uid):
            return view_run(record, note)
    return None


def find_resource(run: RunView) -> Resource | None:
    """None for a kind that another Paddock recorded."""
    return next((each for each in KINDS if (each.api_version, each.kind) == (run.api_version, run.kind)), None)


def name_run(resource: Resource, namespace: str, name: str, number: int) -> str:
    """As `/compare` takes it: `default/paddlejobs/resnet/3`. `number`: 0 for a job of which no run is kept."""
    return f"{namespace}/{name_kind(resource)}/{name}" + (f"/{number}" if number else "")


def _compare_with(run: RunView, before: RunRecord | None) -> Mapping[str, Any] | None:
    """The page of this run beside the one before it; None of a first run."""
    resource = find_resource(run)
    if before is None or resource is None:
        return None
    names = [name_run(resource, run.namespace, run.name, number) for number in (before.run, run.number)]
    return {"number": before.run, "address": f"/compare?{urlencode([('run', name) for name in names], safe='/')}"}


def _build_row(
    page: PageContext, run: RunView, changes: Sequence[str], extents: Mapping[str, Extent]
) -> Mapping[str, Any]:
    resource, language = find_resource(run), page.language
    address = address_of_job(resource, run.namespace, run.name) if resource else ""
    code = name_code(run.code)
    return {
        "id": f"run-{run.uid}",
        "name": run.name,
        "namespace": "" if page.backend.local and run.namespace == "default" else run.namespace,
        "number": run.number,
        "compared": name_run(resource, run.namespace, run.name, run.number) if resource else "",
        "address": address,
        "note_address": _address_note(page, run, address),
        "end": run.end,
        "bad": run.has_failed_rank,
        "why": explain_briefly(run.cause, language) if run.cause else "",
        "why_whole": explain(run.cause, language) if run.cause else "",
        "began": run.began,
        "took": _tell_duration(page, run),
        "attempts": run.attempts,
        "restarts": run.restarts,
        "metrics": _build_metrics(run, extents),
        "place": " ".join(f"{name} {number}" for name, number in read_last_place(run.metrics)),
        "changes": changes,
        "first_changes": changes[:SHOWN],
        "code": page.say(code) if code else "",
        "files": list_files(run.code),
        "environment": run.environment,
        "note": run.note,
        "owner": run.owner,
        **_build_details(page, run, printed_name(resource, run.name) if resource else run.name),
    }


def _address_note(page: PageContext, run: RunView, address: str) -> str:
    """Where its note is written; empty where it cannot be: on a cluster a note stands on the job, which may be gone."""
    if not address or (not page.backend.local and run.record is not None and run.record.deleted is not None):
        return ""
    return f"{address}/note?run={run.number}" if run.number and page.backend.local else f"{address}/note"


def _tell_duration(page: PageContext, run: RunView) -> str:
    took = run.measure(page.now)
    return "" if took is None else page.say_duration(took)


def _build_metrics(run: RunView, extents: Mapping[str, Extent]) -> list[Mapping[str, str]]:
    """The last numbers, with the best where the logs were read. A run that goes on has none in its record."""
    known = {name.removeprefix(OWN): extent for name, extent in extents.items()}
    recorded = list_metrics(run.metrics) or list_metrics({"": {name: each.last for name, each in known.items()}})
    return [
        {"name": name, "last": write_number(last), "place": place, "best": _tell_best(name, known.get(name))}
        for name, last, place in recorded
    ]


def _tell_best(name: str, extent: Extent | None) -> str:
    if extent is None or extent.lowest is None or extent.highest is None:
        return ""
    best = choose_best(name, extent.lowest, extent.highest)
    return "" if best is None else format_number(best)


def _build_details(page: PageContext, run: RunView, word: str) -> Mapping[str, Any]:
    """What is folded away below a row. `word`: the job in a command."""
    record = run.record
    if record is None:
        return {"commands": [], "starts": [], "more_starts": 0, "directory": "", "machine": "", "datasets": [],
                "logs_command": ""}  # fmt: skip
    starts = [
        {"number": each.number, "begun": each.begun, "why": _explain_start(each.cause, page.language)}
        for each in record.attempts[-_MOST_ATTEMPTS:]
    ]
    surroundings = record.surroundings
    space = "" if run.namespace == "default" else f" -n {shlex.quote(run.namespace)}"
    where = space + page.backend.options
    return {
        "commands": list_commands(record.spec),
        "starts": starts if len(record.attempts) > 1 else [],
        "more_starts": max(0, len(record.attempts) - _MOST_ATTEMPTS),
        "directory": record.directory,
        "machine": tell_machine(surroundings.machine) if surroundings.machine else "",
        "datasets": [f"{name} {tell_dataset(state)}" for name, state in (surroundings.datasets or {}).items()],
        "logs_command": "" if record.logs_pruned else f"paddock logs {shlex.quote(word)} --run {run.number}{where}",
    }


def _explain_start(cause: Any, language: str) -> str:
    return explain(CauseRecord(cause.reason, dict(cause.args), cause.since), language) if cause else ""
